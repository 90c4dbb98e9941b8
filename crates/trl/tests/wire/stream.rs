//! `exec.stream`: order, exact bytes, honest gaps.

use trl_testkit::{Random, Shell, Value, bytes_of, json};

use crate::{builder, daemon};

const TWENTY_MB: usize = 20_000_000;

#[test]
fn twenty_megabytes_arrive_byte_for_byte() {
    let daemon = builder().set("output", "stream_bytes", 64 << 20).start();
    let bytes = Random::seeded(20).bytes(TWENTY_MB);
    let file = daemon.dir().file("bytes", &bytes);
    let mut session = daemon.session(Shell::Dash);
    let run = session.stream(&format!("cat {file}; cat {file} >&2"), json!({})).finish();
    assert!(
        run.stdout == bytes && run.stderr == bytes,
        "{} and {} bytes",
        run.stdout.len(),
        run.stderr.len()
    );
    assert_eq!(
        (&run.json["stdout_bytes"], &run.json["stderr_bytes"]),
        (&json!(TWENTY_MB), &json!(TWENTY_MB))
    );
    assert!(run.json.get("stdout").is_none(), "the end carries no text");
}

/// With little memory a reader may miss a part, but is told exactly which.
#[test]
fn what_is_missed_is_named() {
    let daemon = daemon();
    let bytes = Random::seeded(21).bytes(TWENTY_MB);
    let file = daemon.dir().file("bytes", &bytes);
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let client = session.client();
    client.ok("exec.stream", json!({"session_id": id, "command": format!("cat {file}")}));
    let mut at = 0;
    loop {
        let message = client.recv();
        let push = &message["params"];
        if message["method"] == "exec.exit" {
            break;
        }
        if let Some(gap) = push.get("gap").filter(|gap| !gap.is_null()) {
            assert_eq!(gap["from"], at);
            at = usize::try_from(gap["to"].as_u64().expect("to")).expect("small");
        }
        assert_eq!(push["offset"], at);
        let data = bytes_of(push, "data");
        assert!(bytes[at..at + data.len()] == data, "wrong bytes at {at}");
        at += data.len();
    }
    assert_eq!(at, TWENTY_MB);
}

#[test]
fn the_reply_comes_first_and_the_end_last() {
    let daemon = daemon();
    let session = daemon.session(Shell::Dash);
    let mut client = daemon.client();
    let params = json!({"session_id": session.id, "command": "echo a; echo b >&2; exit 3"});
    let request = client.send("exec.stream", params);
    let first = client.recv();
    assert_eq!(first["id"], request, "{first}");
    let (stream, execution) = (&first["result"]["stream_id"], &first["result"]["execution_id"]);
    let mut seen = Vec::new();
    loop {
        let push = client.recv();
        assert_eq!((&push["params"]["stream_id"], &push["params"]["execution_id"]), (stream, execution));
        seen.push(push["method"].as_str().expect("a push").to_string());
        if push["method"] == "exec.exit" {
            assert_eq!(push["params"]["exit_code"], 3);
            break;
        }
    }
    assert_eq!(seen.iter().filter(|m| *m == "exec.exit").count(), 1);
    client.ok("system.ping", json!({}));
}

#[test]
fn the_plain_envelope_streams_flat_events() {
    let daemon = daemon();
    let mut client = daemon.client();
    let started = client.plain_call("exec.stream", json!({"command": "echo hi"})).expect("a stream");
    let mut output = String::new();
    loop {
        let push = client.recv();
        assert_eq!(push["stream_id"], started["stream_id"], "{push}");
        match push["event"].as_str() {
            Some("exec.output") => output.push_str(push["data"].as_str().expect("text")),
            Some("exec.exit") => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(output, "hi\n");
}

#[test]
fn no_push_splits_a_character() {
    let daemon = builder().set("output", "stream_bytes", 64 << 20).start();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let client = session.client();
    let text = "\u{20ac}\u{1f980}\u{e9}".repeat(100_000);
    let file = daemon.dir().file("text", &text);
    // In crumbs of seven bytes, so that the pieces rarely end where a character does.
    let command = format!("dd if={file} bs=7 count=500 status=none; tail -c +3501 {file}");
    client.ok("exec.stream", json!({"session_id": id, "command": command}));
    let mut seen = String::new();
    loop {
        let message = client.recv();
        if message["method"] == "exec.exit" {
            break;
        }
        assert_eq!(message["params"]["encoding"], "utf-8", "at {}", message["params"]["offset"]);
        seen.push_str(message["params"]["data"].as_str().expect("text"));
    }
    assert!(seen == text, "{} of {} bytes", seen.len(), text.len());
}

#[test]
fn output_is_pushed_while_the_command_runs() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut cat = session.stream("cat", json!({"open_stdin": true}));
    let mut expected = String::new();
    for i in 0..50 {
        let line = format!("line {i}\n");
        cat.input(&line);
        expected.push_str(&line);
        cat.wait_stdout(&line);
    }
    cat.close_input();
    assert_eq!(cat.finish().out(), expected);
}

#[test]
fn two_streams_of_one_connection_stay_apart() {
    let daemon = daemon();
    let (a, b) = (daemon.session(Shell::Dash), daemon.session(Shell::Dash));
    let mut client = daemon.client();
    let start = |client: &mut trl_testkit::Client, id: &str, word: &str| {
        let command = format!("i=0; while [ $i -lt 200 ]; do echo {word}; i=$((i+1)); done");
        client.ok("exec.stream", json!({"session_id": id, "command": command}))["stream_id"].take()
    };
    let streams = [start(&mut client, &a.id, "aaa"), start(&mut client, &b.id, "bbb")];
    let mut texts = [String::new(), String::new()];
    let mut ended = 0;
    while ended < 2 {
        let push = client.recv_where(|m| m.get("method").is_some());
        let params: &Value = &push["params"];
        let which = usize::from(params["stream_id"] == streams[1]);
        if push["method"] == "exec.exit" {
            ended += 1;
        } else {
            texts[which].push_str(params["data"].as_str().expect("text"));
        }
    }
    assert_eq!(texts, ["aaa\n".repeat(200), "bbb\n".repeat(200)]);
}
