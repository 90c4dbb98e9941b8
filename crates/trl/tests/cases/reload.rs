//! A file is read when somebody asks: an edit is seen at once, and what lives keeps what it was created with.

use std::fs;

use trl_testkit::json;

use crate::{case, daemon, output};

#[test]
fn an_edit_is_seen_by_the_next_session_and_not_by_those_there_are() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "a", "description: one\nenv: {V: first}\ntimeout_s: 7\n");
    let old = client.ok("session.create", json!({"case_id": "a"}));
    assert_eq!((&old["case_id"], &old["timeout_s"]), (&json!("a"), &json!(7)));
    for round in 0..20 {
        let text = format!("description: one\nenv: {{V: n{round:04}}}\ntimeout_s: 8\n");
        case(&daemon, "a", &text);
        let new = client.ok("session.create", json!({"case_id": "a"}));
        assert_eq!(output(&mut client, &new, "echo $V"), format!("n{round:04}"));
        assert_ne!(new["case_digest"], old["case_digest"]);
        client.ok("session.destroy", json!({"session_id": new["session_id"], "force": true}));
    }
    assert_eq!(output(&mut client, &old, "echo $V"), "first");
    // closed, reset and opened again it is still that
    client.ok("session.reset", json!({"session_id": old["session_id"]}));
    assert_eq!(output(&mut client, &old, "echo $V"), "first");
    client.ok("session.close", json!({"session_id": old["session_id"]}));
    fs::remove_file(daemon.dir().join("config/trl/cases/a.yaml")).unwrap();
    let opened = client.ok("session.get", json!({"session_id": old["session_id"]}));
    assert_eq!((&opened["case_id"], &opened["case_digest"]), (&json!("a"), &old["case_digest"]));
    assert_eq!(output(&mut client, &old, "echo $V $AGENT_CASE_ID"), "first a");
    client.refused("CASE_NOT_FOUND", "session.create", json!({"case_id": "a"}));
}

#[test]
fn a_file_that_breaks_is_reported_with_its_line_until_it_is_mended() {
    let daemon = daemon();
    let mut client = daemon.client();
    let path = case(&daemon, "a", "id: a\nlimits:\n  pids: 50\n");
    case(&daemon, "b", "id: b\n");
    let live = client.ok("session.create", json!({"case_id": "a"}));
    case(&daemon, "a", "id: a\nlimits:\n  pidz: 50\n");
    for method in ["session.create", "case.get", "terminal.create"] {
        let error = client.refused("CASE_INVALID", method, json!({"case_id": "a"}));
        let said = format!("{path}:3:3: unknown field `pidz`; did you mean `pids`?");
        assert_eq!(error.message, said, "{method}");
        assert_eq!(error.detail("errors")[0]["line"], 3);
        assert_eq!(error.detail("errors")[0]["column"], 3);
    }
    let list = client.ok("case.list", json!({}));
    let cases = list["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2, "{list}");
    assert_eq!((&cases[0]["case_id"], &cases[0]["errors"][0]["line"]), (&json!("a"), &json!(3)));
    assert!(cases[1].get("errors").is_none(), "{list}");
    client.ok("session.create", json!({"case_id": "b"}));
    assert_eq!(output(&mut client, &live, "echo $AGENT_CASE_ID"), "a");
    case(&daemon, "a", "id: a\nlimits:\n  pids: 40\n");
    let mended = client.ok("session.create", json!({"case_id": "a"}));
    assert_eq!(mended["limits"]["pids"], 40);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let daemon = daemon();
    let mut client = daemon.client();
    let text = "argv: []\ntimeout_s: -4\nworking_dir: here\n";
    let checked = client.ok("case.validate", json!({"text": text}));
    assert_eq!(checked["valid"], false);
    let lines: Vec<_> = checked["errors"].as_array().unwrap().iter().map(|e| e["line"].clone()).collect();
    assert_eq!(lines, [json!(1), json!(3), json!(2)], "{checked}");
    assert_eq!(client.ok("case.validate", json!({"text": "id: x\n", "case_id": "x"}))["valid"], true);
    assert_eq!(client.ok("case.validate", json!({"text": "id: x\n", "case_id": "y"}))["valid"], false);
}

#[test]
fn a_thousand_files_are_listed_and_each_is_found() {
    let daemon = daemon();
    let mut client = daemon.client();
    for n in 0..1000 {
        let text = if n == 500 {
            "nope: 1\n".into()
        } else {
            format!("description: number {n}\nenv: {{N: '{n}'}}\n")
        };
        case(&daemon, &format!("c{n:04}"), &text);
    }
    let list = client.ok("case.list", json!({}));
    let cases = list["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1000);
    assert_eq!(cases.iter().filter(|case| case.get("errors").is_some()).count(), 1);
    let made = client.ok("session.create", json!({"case_id": "c0999"}));
    assert_eq!(output(&mut client, &made, "echo $N"), "999");
    let error = client.refused("CASE_NOT_FOUND", "session.create", json!({"case_id": "c10000"}));
    assert!(error.hint.unwrap().starts_with("did you mean c"));
}
