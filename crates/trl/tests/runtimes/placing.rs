//! Which runtime a session gets.

use trl_testkit::{Client, Value, json};

use crate::{builder, daemon, get, output, session_in};

fn dead(client: &mut Client, name: &str, extra: Value) {
    let base = json!({"name": name, "kind": "command", "argv": ["sh", "-c", "echo nobody home >&2; exit 1"]});
    client.ok("runtime.add", trl_testkit::merged(base, extra));
}

#[test]
fn labels_weights_and_places_decide() {
    let daemon = daemon();
    daemon.add_relay("large", json!({"labels": {"zone": "a", "gpu": "yes"}, "weight": 3.0}));
    daemon.add_relay("small", json!({"labels": {"zone": "a"}, "max_sessions": 1}));
    let mut client = daemon.client();
    let mut placed = |wanted: Value| session_in(&mut client, json!({"any": wanted}))["runtime"].clone();
    assert_eq!(placed(json!({"gpu": "yes"})), "large");
    let four: Vec<Value> = (0..4).map(|_| placed(json!({"zone": "a"}))).collect();
    assert_eq!(four, ["large", "large", "small", "large"]);
    let refused =
        client.refused("RUNTIME_UNAVAILABLE", "session.create", json!({"runtime": {"any": {"zone": "b"}}}));
    assert_eq!((refused.detail("stage"), refused.detail("began")), (&json!("choose"), &json!(false)));
    client.refused("MAX_SESSIONS_REACHED", "session.create", json!({"runtime": "small", "working_dir": "/"}));
}

#[test]
fn a_burst_spreads() {
    let daemon = daemon();
    for name in ["a", "b", "c"] {
        daemon.add_relay(name, json!({"labels": {"zone": "a"}}));
    }
    let mut client = daemon.client();
    let wish = json!({"runtime": {"any": {"zone": "a"}}, "working_dir": "/"});
    let asked: Vec<u64> = (0..6).map(|_| client.send("session.create", wish.clone())).collect();
    for id in asked {
        client.reply(id).unwrap();
    }
    for name in ["a", "b", "c"] {
        assert_eq!(get(&mut client, name)["sessions"], 2, "{name}");
    }
}

#[test]
fn the_next_is_tried_when_one_is_not_there() {
    let daemon = builder().set("runtimes", "connect_s", 2).start();
    let mut operator = daemon.operator();
    dead(&mut operator, "a-dead", json!({"labels": {"zone": "a"}, "weight": 9.0}));
    daemon.add_relay("b-live", json!({"labels": {"zone": "a"}}));
    let session = session_in(&mut operator, json!({"any": {"zone": "a"}}));
    assert_eq!(session["runtime"], "b-live");
    assert_eq!(get(&mut operator, "a-dead")["sessions"], 0);
    // One that was named is not replaced by another.
    let refused = operator.refused(
        "RUNTIME_UNAVAILABLE",
        "session.create",
        json!({"runtime": "a-dead", "working_dir": "/"}),
    );
    assert_eq!((refused.detail("runtime"), refused.detail("began")), (&json!("a-dead"), &json!(false)));
    assert_eq!(refused.message, "nobody home");
}

#[test]
fn of_many_that_are_not_there_three_are_tried() {
    let daemon = builder().set("runtimes", "connect_s", 1).start();
    let mut operator = daemon.operator();
    for name in ["a", "b", "c"] {
        dead(&mut operator, name, json!({"labels": {"zone": "a"}, "weight": 9.0}));
    }
    daemon.add_relay("d", json!({"labels": {"zone": "a"}}));
    let wish = json!({"runtime": {"any": {"zone": "a"}}, "working_dir": "/"});
    let refused = operator.refused("RUNTIME_UNAVAILABLE", "session.create", wish);
    assert_eq!(refused.detail("runtime"), &json!("c"));
}

#[test]
fn throw_away_commands_are_placed_too_and_commands_of_sessions_are_not() {
    let daemon = daemon();
    daemon.add_relay("box", json!({"labels": {"zone": "a"}}));
    let mut client = daemon.operator();
    // Children of the engine there have another ancestor than those here.
    let engine = |client: &mut Client| get(client, "box")["engine"]["pid"].clone();
    let there = "p=$$; while [ \"$p\" -gt 1 ]; do echo $p; p=$(cut -d ' ' -f 4 /proc/$p/stat); done";
    for wish in [json!("box"), json!({"any": {"zone": "a"}})] {
        let run = client.ok("exec.run", json!({"command": there, "runtime": wish, "working_dir": "/"}));
        let line = engine(&mut client).to_string();
        assert!(run["stdout"].as_str().unwrap().lines().any(|pid| pid == line), "{line} in {run}");
        let run = client.ok("exec.start", json!({"command": there, "runtime": wish, "working_dir": "/"}));
        assert!(run["stdout"].as_str().unwrap().lines().any(|pid| pid == line), "{line} in {run}");
    }
    let session = session_in(&mut client, json!("host"));
    for method in ["exec.run", "exec.stream", "exec.start"] {
        let params = json!({"session_id": session["session_id"], "command": "true", "runtime": "host"});
        client.refused("INVALID_PARAMS", method, params);
    }
}

#[test]
fn a_gateway_may_keep_everything_off_its_own_machine() {
    let daemon = builder().set("runtimes", "host", false).start();
    daemon.add_relay("box", json!({}));
    let mut operator = daemon.operator();
    for here in [json!({}), json!({"runtime": "host"})] {
        for method in ["session.create", "terminal.create"] {
            let refused = operator.refused("RUNTIME_UNAVAILABLE", method, here.clone());
            assert_eq!(
                (refused.detail("stage"), refused.detail("runtime")),
                (&json!("admit"), &json!("host"))
            );
        }
    }
    for method in ["exec.run", "exec.start"] {
        operator.refused("RUNTIME_UNAVAILABLE", method, json!({"command": "true"}));
    }
    let session = session_in(&mut operator, json!("box"));
    assert_eq!(output(&mut operator, &session, "echo there"), "there");
    operator.ok("exec.start", json!({"session_id": session["session_id"], "command": "true"}));
}
