//! A message from its beginning to its end.

use serde_json::json;
use trl_testkit::agent::{Telling, case, tell};
use trl_testkit::procs_matching;

use super::{agent_state, builder, daemon, info, session, state, subscribe};

#[test]
fn a_message_is_answered_and_everything_on_the_way_is_told() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    assert_eq!(
        (state(&mut client, &session).as_str(), &info(&mut client, &session)["agent"]["state"]),
        ("ready", &json!("absent"))
    );
    let told =
        tell(&mut client, &session, "say hello there\nthink hm\nplan\ntool Change x\nmode careful\nodd");
    assert_eq!((told.reason(), told.text().as_str()), ("end_turn", "hello there"));
    let started = told.of("started")[0];
    assert_eq!(started["agent"], json!({"name": "fake-agent", "title": "Fake", "version": "0.1"}));
    assert_eq!(
        (&started["warm"], &started["resumed"], &started["own_shell"]),
        (&json!(false), &json!("new"), &json!("unknown"))
    );
    assert_eq!(told.of("thought")[0]["text"], "hm");
    assert_eq!(
        told.of("plan")[0]["entries"][1],
        json!({"content": "leap", "priority": "low", "status": "pending"})
    );
    let calls = told.of("tool_call");
    assert_eq!(
        (&calls[0]["title"], &calls[0]["tool_kind"], &calls[0]["status"]),
        (&json!("Change x"), &json!("edit"), &json!("pending"))
    );
    assert_eq!(
        calls[1]["content"][0],
        json!({"type": "diff", "path": "/x", "old_text": "a", "new_text": "b"})
    );
    assert_eq!(told.of("mode")[0]["mode_id"], "careful");
    assert_eq!(told.of("commands")[0]["commands"][0]["name"], "help");
    assert_eq!(told.of("other")[0]["name"], "dream");
    assert_eq!(told.done["seq"], told.updates.len() + 1);
    assert_eq!(
        (state(&mut client, &session).as_str(), agent_state(&mut client, &session).as_str()),
        ("idle", "warm")
    );
    assert_eq!(info(&mut client, &session)["agent"]["message_id"], told.message_id);
}

#[test]
fn the_session_is_busy_with_a_message_and_its_shell_is_for_the_agent_alone() {
    let daemon = daemon();
    let (mut client, mut other) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let id = &session["session_id"];
    let mut telling = Telling::send(&mut client, &session, "hang");
    telling.wait(&mut client, "text");
    assert_eq!(other.event("agent.started")["message_id"], telling.message_id);
    assert_eq!(state(&mut other, &session), "running");
    let busy =
        other.refused("SESSION_BUSY", "agent.send_message", json!({"session_id": id, "message": "say no"}));
    assert_eq!(busy.detail("message_id"), &telling.message_id);
    other.refused("SESSION_BUSY", "exec.run", json!({"session_id": id, "command": "true"}));
    let stopped = other.ok("agent.stop", json!({"session_id": id}));
    assert_eq!((&stopped["stopped"], &stopped["message_id"]), (&json!(true), &json!(telling.message_id)));
    let told = telling.finish(&mut client);
    assert_eq!(told.reason(), "cancelled");
    assert_eq!(other.event("agent.finished")["stop_reason"], "cancelled");
    // Whoever hears of the end can go on.
    assert_eq!(tell(&mut client, &session, "say next").text(), "next");
    assert_eq!(other.ok("agent.stop", json!({"session_id": id}))["stopped"], false);
    let run = other.ok("exec.run", json!({"session_id": id, "command": "echo mine"}));
    assert_eq!(run["stdout"], "mine\n");
}

#[test]
fn the_next_message_finds_the_agent_warm_and_a_new_process_is_given_its_conversation() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let first = tell(&mut client, &session, "recall");
    let conversation = first.of("started")[0]["agent_session_id"].as_str().unwrap().to_string();
    assert_eq!(first.text(), format!("message 1 of {conversation}"));
    let second = tell(&mut client, &session, "recall");
    assert_eq!(
        (&second.of("started")[0]["warm"], &second.of("started")[0]["resumed"]),
        (&json!(true), &json!("same"))
    );
    assert_eq!(second.text(), format!("message 2 of {conversation}"));
    // It dies between two messages: nobody is told but by the next one.
    let died = tell(&mut client, &session, "die 3 goodbye");
    assert_eq!((died.reason(), &died.done["error"]["stderr"]), ("error", &json!("goodbye")));
    let third = tell(&mut client, &session, "recall");
    assert_eq!(
        (&third.of("started")[0]["warm"], &third.of("started")[0]["resumed"]),
        (&json!(false), &json!("loaded"))
    );
    assert_eq!(
        third.text(),
        format!("message 3 of {conversation}"),
        "what is replayed of the past is not said again"
    );
}

#[test]
fn an_agent_that_cannot_load_begins_anew_and_says_so() {
    let daemon = builder().set("agents", "linger_s", 0).start();
    case(&daemon, "coder", &["--no-load"], "");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    tell(&mut client, &session, "say one");
    let again = tell(&mut client, &session, "say two");
    assert_eq!(
        (&again.of("started")[0]["warm"], &again.of("started")[0]["resumed"]),
        (&json!(false), &json!("new"))
    );
}

#[test]
fn no_more_agents_are_kept_than_may_be() {
    let daemon = builder().set("agents", "max_warm", 1).start();
    case(&daemon, "coder", &[], "");
    let mut client = daemon.client();
    let (one, two) = (session(&daemon, &mut client), session(&daemon, &mut client));
    tell(&mut client, &one, "say one");
    tell(&mut client, &two, "say two");
    trl_testkit::eventually("the first is let go of", || agent_state(&mut client, &one) == "absent");
    assert_eq!(agent_state(&mut client, &two), "warm");
    let program = daemon.dir().text("fake-agent");
    trl_testkit::eventually("one process is left", || procs_matching(&program).len() == 1);
}

#[test]
fn closing_the_session_ends_the_agent_and_a_message_opens_it_again() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let program = daemon.dir().text("fake-agent");
    tell(&mut client, &session, "recall");
    assert_eq!(procs_matching(&program).len(), 1);
    client.ok("session.close", json!({"session_id": session["session_id"]}));
    assert_eq!(procs_matching(&program), Vec::<i32>::new());
    let told = tell(&mut client, &session, "recall");
    assert_eq!(told.of("started")[0]["resumed"], "loaded");
    assert!(told.text().starts_with("message 2 of"), "{}", told.text());
    // Also in the middle of a message.
    let mut telling = Telling::send(&mut client, &session, "hang");
    telling.wait(&mut client, "text");
    client.ok("session.destroy", json!({"session_id": session["session_id"]}));
    assert_eq!(telling.finish(&mut client).reason(), "cancelled");
    assert_eq!(procs_matching(&program), Vec::<i32>::new());
}

#[test]
fn what_has_no_agent_says_what_is_missing() {
    let daemon = daemon();
    let mut client = daemon.client();
    let plain = client.ok("session.create", json!({}));
    assert!(plain.get("agent").is_none());
    let send = json!({"session_id": plain["session_id"], "message": "say hi"});
    let refused = client.refused("AGENT_UNAVAILABLE", "agent.send_message", send);
    assert!(refused.hint.unwrap().contains("docs/agents.md"));
    let coder = session(&daemon, &mut client);
    for bad in [json!(""), json!("  \n"), json!(3)] {
        let send = json!({"session_id": coder["session_id"], "message": bad});
        client.refused("INVALID_PARAMS", "agent.send_message", send);
    }
    let follow = json!({"session_id": coder["session_id"]});
    client.refused("MESSAGE_NOT_FOUND", "agent.follow", follow);
}
