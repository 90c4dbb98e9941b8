//! What is kept of messages.

use serde_json::json;
use trl_testkit::agent::{Telling, tell};

use super::{daemon, session};

#[test]
fn history_has_every_message_with_what_came_of_it() {
    let daemon = daemon();
    let (mut client, mut other) = (daemon.client(), daemon.client());
    let session = session(&daemon, &mut client);
    let id = &session["session_id"];
    let ids: Vec<String> = ["one", "two", "three"]
        .map(|word| tell(&mut client, &session, &format!("say {word}")).message_id)
        .into();
    let page = other.ok("agent.history", json!({"session_id": id, "limit": 2}));
    let texts: Vec<&str> =
        page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap()).collect();
    assert_eq!((texts, &page["more"]), (vec!["say two", "say three"], &json!(true)));
    let last = &page["messages"][1];
    assert_eq!((&last["state"], &last["stop_reason"]), (&json!("done"), &json!("end_turn")));
    assert_eq!(
        last["updates"].as_array().unwrap().last().unwrap()["update"],
        json!({"kind": "text", "text": "three"})
    );
    assert_eq!(last["last_seq"], last["updates"].as_array().unwrap().len());
    let before = other.ok("agent.history", json!({"session_id": id, "before": ids[1]}));
    assert_eq!((before["messages"].as_array().unwrap().len(), &before["more"]), (1, &json!(false)));
}

#[test]
fn a_message_is_followed_from_any_update_while_it_runs_and_after() {
    let daemon = daemon();
    let (mut client, mut other) = (daemon.client(), daemon.client());
    let session = session(&daemon, &mut client);
    let id = &session["session_id"];
    let mut telling = Telling::send(&mut client, &session, "mode one\nmode two\nhang");
    telling.wait(&mut client, "text");
    let whole = Telling::follow(&mut other, json!({"session_id": id}));
    assert_eq!(whole.message_id, telling.message_id);
    let seen = telling.updates.last().unwrap()["seq"].as_u64().unwrap();
    let mut third = daemon.client();
    let rest = Telling::follow(
        &mut third,
        json!({"session_id": id, "message_id": telling.message_id, "since": seen}),
    );
    let running = third.ok("agent.history", json!({"session_id": id}));
    assert_eq!(
        (&running["messages"][0]["state"], &running["messages"][0]["last_seq"]),
        (&json!("running"), &json!(seen))
    );
    daemon.client().ok("agent.stop", json!({"session_id": id}));
    let told = telling.finish(&mut client);
    assert_eq!(whole.finish(&mut other).updates.len(), told.updates.len());
    let rest = rest.finish(&mut third);
    assert_eq!((rest.updates.len() as u64, rest.reason()), (told.updates.len() as u64 - seen, "cancelled"));
    let kept = Telling::follow(&mut other, json!({"session_id": id, "since": 2})).finish(&mut other);
    assert_eq!(kept.updates[0]["seq"], 3);
    assert_eq!((kept.updates.len() + 2, &kept.done["seq"]), (told.updates.len(), &told.done["seq"]));
}

#[test]
fn a_killed_daemon_leaves_an_interrupted_message_and_the_agent_goes_on_with_its_conversation() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let id = session["session_id"].clone();
    let first = tell(&mut client, &session, "recall");
    let mut telling = Telling::send(&mut client, &session, "say half\nhang");
    telling.wait(&mut client, "text");
    let history = client.ok("agent.history", json!({"session_id": id}));
    let kept = history["messages"][1]["last_seq"].clone();
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    let told = Telling::follow(&mut client, json!({"session_id": id})).finish(&mut client);
    assert_eq!((told.reason(), &told.message_id), ("interrupted", &telling.message_id));
    assert_eq!(told.updates.last().unwrap()["seq"], kept);
    let next = tell(&mut client, &session, "recall");
    assert_eq!(next.of("started")[0]["resumed"], "loaded");
    assert_eq!(next.of("started")[0]["agent_session_id"], first.of("started")[0]["agent_session_id"]);
    let history = client.ok("agent.history", json!({"session_id": id}));
    assert_eq!(history["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn secrets_are_not_kept_even_when_they_come_in_crumbs() {
    let daemon = daemon();
    let mut client = daemon.client();
    let dir = daemon.dir().dir("work").display().to_string();
    let params =
        json!({"case_id": "coder", "working_dir": dir, "secret_env": {"API_PASS": "correct-horse-battery"}});
    let session = client.ok("session.create", params);
    let told = tell(
        &mut client,
        &session,
        "env API_PASS\nsay  \ncrumbs it is correct-horse-battery indeed\nsay correct-horse-battery",
    );
    assert!(told.text().contains("API_PASS=correct-horse-battery"), "what is pushed is what was said");
    let history = client.ok("agent.history", json!({"session_id": session["session_id"]}));
    assert!(!history.to_string().contains("correct-horse"), "{history}");
    assert!(history.to_string().contains("indeed"));
    client.ok("session.delete", json!({"session_id": session["session_id"]}));
    client.refused("SESSION_NOT_FOUND", "agent.history", json!({"session_id": session["session_id"]}));
}

/// A case has no other place for an agent's key than the agent's variables.
#[test]
fn a_key_of_the_agents_is_not_kept() {
    let mut daemon = daemon();
    let path = daemon.dir().join("config/trl/cases/coder.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let key = r#"{"MODEL_API_KEY": "hunter2-model-key", "FAKE_AGENT_STORE""#;
    std::fs::write(&path, text.replacen("{\"FAKE_AGENT_STORE\"", key, 1)).unwrap();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "env MODEL_API_KEY");
    assert_eq!(told.text(), "MODEL_API_KEY=hunter2-model-key", "who talks to it hears all it says");
    daemon.stop();
    daemon.relaunch();
    let history = daemon.client().ok("agent.history", json!({"session_id": session["session_id"]}));
    assert!(history.to_string().contains("MODEL_API_KEY="), "{history}");
    assert!(!history.to_string().contains("hunter2"), "{history}");
}
