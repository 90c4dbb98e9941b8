//! Who may ask for what, and what is said of it.

use trl_testkit::{Shell, json};

use crate::{builder, daemon};

#[test]
fn nonsense_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    for limits in
        [json!({"memory_bytes": 10}), json!({"cpu": -1}), json!({"pids": "many"}), json!({"memory": 1})]
    {
        client.refused("INVALID_PARAMS", "session.create", json!({"limits": limits}));
    }
}

#[test]
fn a_quota_that_nobody_can_hold_to_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let limits = json!({"disk_bytes": 1 << 30});
    for (method, params) in [
        ("session.create", json!({"limits": limits})),
        ("terminal.create", json!({"argv": ["/bin/true"], "limits": limits})),
        ("exec.start", json!({"argv": ["/bin/true"], "limits": limits})),
    ] {
        let refused = client.refused("INVALID_PARAMS", method, params);
        assert!(refused.message.contains("cannot be enforced"), "{refused:?}");
        assert_eq!(refused.json["data"]["limit"], "disk_bytes", "{refused:?}");
    }
    let found = client.ok("system.doctor", json!({}));
    let row = found["rows"].as_array().unwrap().iter().find(|row| row["id"] == "disk_quota").unwrap();
    assert!(row["value"].as_str().unwrap().contains("disk_bytes"), "{row}");
}

#[test]
fn a_closed_session_keeps_its_limits() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Dash, json!({"limits": {"open_files": 64}}));
    let id = session.id.clone();
    session.client().ok("session.close", json!({"session_id": id}));
    let opened = session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(opened["limits"]["open_files"], 64);
    assert_eq!(session.run("ulimit -n").out(), "64\n");
}

/// Not for remote runtimes: the settings are those of the remote engine too, and not even operators go beyond an
/// engine's own.
mod local {
    use super::*;

    #[test]
    fn the_settings_hold_for_everybody_and_only_operators_go_beyond() {
        let daemon = builder().set("limits", "pids", 50).set("limits", "wall_s", "\"20s\"").start();
        let mut agent = daemon.client();
        let made = agent.ok("session.create", json!({}));
        assert_eq!(
            (&made["limits"]["pids"], &made["limits"]["wall_s"]),
            (&json!(50), &json!(20.0)),
            "{made}"
        );
        let narrow =
            agent.ok("terminal.create", json!({"argv": ["/bin/sleep", "60"], "limits": {"pids": 7}}));
        assert_eq!(
            (&narrow["limits"]["pids"], &narrow["limits"]["wall_s"]),
            (&json!(7), &json!(20.0)),
            "{narrow}"
        );
        for wide in [json!({"pids": 51}), json!({"pids": 0}), json!({"wall_s": 21})] {
            agent.refused("FORBIDDEN", "session.create", json!({"limits": wide}));
            agent.refused("FORBIDDEN", "terminal.create", json!({"argv": ["/bin/true"], "limits": wide}));
            for tty in [true, false] {
                agent.refused(
                    "FORBIDDEN",
                    "exec.start",
                    json!({"argv": ["/bin/true"], "tty": tty, "limits": wide}),
                );
            }
        }
        let mut operator = daemon.operator();
        let wide = operator.ok("session.create", json!({"limits": {"pids": 500, "wall_s": 0}}));
        assert_eq!((&wide["limits"]["pids"], wide["limits"].get("wall_s")), (&json!(500), None), "{wide}");
        // A command without a session has one of its own.
        let run = agent.ok("exec.run", json!({"command": "true"}));
        assert_eq!(run["usage"]["scope"], "session", "{run}");
    }
}

/// A control group matters to these tests: a virtual machine with cgroup v2 repeats them.
mod groups {
    use super::*;

    #[test]
    fn what_was_asked_for_is_shown_with_what_came_of_it() {
        let daemon = daemon();
        let mut client = daemon.client();
        let made = client.ok("session.create", json!({"limits": {"pids": 50, "wall_s": 9.5, "cpu": 0}}));
        let limits = &made["limits"];
        assert_eq!((&limits["pids"], &limits["wall_s"]), (&json!(50), &json!(9.5)), "{made}");
        assert_eq!(limits["enforced"], json!(["pids", "wall_s"]));
        assert_eq!(limits["not_enforced"], json!([]));
        assert!(
            ["cgroup1", "cgroup2", "rlimits"].contains(&limits["backend"].as_str().expect("a name")),
            "{made}"
        );
        let plain = client.ok("session.create", json!({}));
        assert!(plain.get("limits").is_none(), "{plain}");
        let run = client.ok("exec.run", json!({"session_id": plain["session_id"], "command": "true"}));
        assert!(run.get("usage").is_none(), "{run}");
    }
}
