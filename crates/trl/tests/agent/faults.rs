//! Agents that do not do as they should: each is an outcome, and none is a hang.

use serde_json::{Value, json};
use trl_testkit::agent::{case, tell};

use super::{agent_state, builder, daemon, session, state};

/// What a message to an agent with these flags comes to.
fn failed(flags: &[&str], message: &str) -> Value {
    let daemon = builder().set("agents", "start_s", 5).start();
    case(&daemon, "coder", flags, "");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, message);
    assert_eq!(told.reason(), "error", "{:?}", told.done);
    assert_eq!(told.done["error"]["code"], "AGENT_UNAVAILABLE");
    assert_eq!(state(&mut client, &session), "idle");
    assert_eq!(agent_state(&mut client, &session), "absent");
    told.done["error"].clone()
}

#[test]
fn one_that_dies_at_its_start_leaves_its_last_words() {
    let error = failed(&["--die"], "say hi");
    assert_eq!(
        (&error["stage"], &error["stderr"]),
        (&json!("initialize"), &json!("I cannot live like this"))
    );
}

#[test]
fn one_that_never_answers_is_given_up() {
    assert_eq!(failed(&["--silent"], "say hi")["stage"], "initialize");
}

#[test]
fn one_of_another_version_or_that_wants_a_login_is_told_apart() {
    assert_eq!(failed(&["--version", "2"], "say hi")["stage"], "version");
    let error = failed(&["--auth"], "say hi");
    assert_eq!(error["stage"], "auth");
    assert!(error["message"].as_str().unwrap().contains("please log in"));
}

#[test]
fn one_that_dies_in_the_middle_or_writes_nonsense_ends_the_message() {
    let error = failed(&[], "say on my way\ndie 7 I am done");
    assert_eq!((&error["stage"], &error["stderr"]), (&json!("prompt"), &json!("I am done")));
    assert!(error["message"].as_str().unwrap().contains("code 7"), "{error}");
    let error = failed(&[], "garbage\nhang");
    assert_eq!(error["stage"], "protocol");
    assert!(error["message"].as_str().unwrap().contains("this is no message"));
    assert_eq!(failed(&[], "long 17000000\nhang")["stage"], "protocol");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let daemon = builder().start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/coder.yaml", "agent: {command: [/nonexistent/agent, acp]}\n");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "say hi");
    assert_eq!((told.reason(), &told.done["error"]["stage"]), ("error", &json!("spawn")));
    assert!(told.done["error"]["message"].as_str().unwrap().contains("/nonexistent/agent"));
}

#[test]
fn noise_before_its_first_word_does_not_matter() {
    let daemon = builder().start();
    case(&daemon, "coder", &["--noise"], "");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    assert_eq!(tell(&mut client, &session, "say hi").text(), "hi");
}

#[test]
fn a_message_that_it_gives_up_leaves_it_alive() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "error the model is not there");
    assert_eq!((told.reason(), &told.done["error"]["stage"]), ("error", &json!("prompt")));
    assert!(told.done["error"]["message"].as_str().unwrap().contains("the model is not there"));
    assert_eq!(tell(&mut client, &session, "say hi").of("started")[0]["warm"], true);
    for reason in ["max_tokens", "max_turn_requests", "refusal"] {
        assert_eq!(tell(&mut client, &session, &format!("stop {reason}")).reason(), reason);
    }
}

#[test]
fn a_flood_is_cut_and_counted() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "flood 50 500000\nsay over");
    let last = &told.updates.last().unwrap()["update"];
    assert_eq!(last["kind"], "omitted");
    let (omitted, kept) = (last["updates"].as_u64().unwrap(), told.of("mode").len() as u64);
    assert_eq!((kept, omitted), (33, 17), "16 MiB of them are kept");
    assert_eq!(told.text(), "over", "what is small still finds room");
    assert_eq!(told.reason(), "end_turn");
}

/// It asks for a large file again and again, and takes no answer: that is not kept for it without an end.
#[test]
fn one_that_takes_nothing_of_what_it_asks_for_is_given_up() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    daemon.dir().file("work/large", "a".repeat(16 << 20));
    let told = tell(&mut client, &session, "gorge 12 large");
    assert_eq!(
        (told.reason(), &told.done["error"]["stage"]),
        ("error", &json!("protocol")),
        "{:?}",
        told.done
    );
}
