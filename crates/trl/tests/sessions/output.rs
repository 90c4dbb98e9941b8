//! Reading output by offset: exact bytes, counted gaps, whole characters.

use trl_testkit::{Session, Shell, Value, bytes_of, json};

use crate::{builder, daemon};

/// What `seq 1 N` prints.
fn seq(end: u32) -> Vec<u8> {
    (1..=end).flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

fn slice(session: &mut Session, execution: &str, extra: Value) -> Value {
    let params = trl_testkit::merged(json!({"execution_id": execution}), extra);
    session.client().ok("exec.output", params)
}

/// A stream read from its start to its end.
#[derive(Default)]
struct Whole {
    /// What was there, by offset.
    pieces: Vec<(usize, Vec<u8>)>,
    /// What was missing, from and to.
    gaps: Vec<(u64, u64)>,
}

fn read_all(session: &mut Session, execution: &str) -> Whole {
    let (mut whole, mut since) = (Whole::default(), 0);
    loop {
        let part = slice(session, execution, json!({"since": since, "limit": 100_000}));
        let offset = part["offset"].as_u64().expect("an offset");
        let data = bytes_of(&part, "data");
        match part.get("gap") {
            Some(gap) if !gap.is_null() => {
                let (from, to) = (gap["from"].as_u64().expect("from"), gap["to"].as_u64().expect("to"));
                assert_eq!((from, to), (since, offset), "{gap}");
                whole.gaps.push((from, to));
            }
            _ => assert_eq!(offset, since),
        }
        let next = part["next"].as_u64().expect("next");
        assert_eq!(next, offset + data.len() as u64);
        assert!(data.len() <= 100_000);
        whole.pieces.push((usize::try_from(offset).expect("small"), data));
        since = next;
        if part["done"] == true {
            return whole;
        }
    }
}

#[test]
fn five_megabytes_leave_head_tail_and_a_counted_gap() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("seq 1 700000");
    let whole = seq(700_000);
    assert_eq!(run.json["stdout_bytes"], whole.len());
    let cut = &run.json["omitted"]["stdout"];
    let (from, to) = (cut["from"].as_u64().expect("from"), cut["to"].as_u64().expect("to"));
    let (head, tail) = (usize::try_from(from).expect("small"), usize::try_from(to).expect("small"));
    assert_eq!(run.stdout, [&whole[..head], &whole[tail..]].concat());
    assert!(run.json["omitted"].get("stderr").is_none_or(Value::is_null));
    let read = read_all(&mut session, &run.execution_id);
    assert_eq!(read.gaps, [(from, to)]);
    for (offset, data) in read.pieces {
        assert_eq!(data, whole[offset..offset + data.len()], "at {offset}");
    }
    let middle = slice(&mut session, &run.execution_id, json!({"since": from + 1000, "limit": 10}));
    assert_eq!(middle["gap"], json!({"from": from + 1000, "to": to}));
    assert_eq!(middle["offset"], to);
}

#[test]
fn with_a_spill_directory_nothing_is_missing() {
    let spill = trl_testkit::Scratch::new();
    let daemon = builder().set("output", "spill_dir", format!("{:?}", spill.path())).start();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("seq 1 700000");
    let read = read_all(&mut session, &run.execution_id);
    assert!(read.gaps.is_empty(), "{:?}", read.gaps);
    let whole: Vec<u8> = read.pieces.into_iter().flat_map(|(_, data)| data).collect();
    assert_eq!(whole, seq(700_000));
    let visible = std::fs::read_dir(spill.path()).expect("the directory").count();
    assert_eq!(visible, 0, "spilled output has no name");
}

#[test]
fn less_can_be_kept_on_request() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run_with("seq 1 10000", json!({"max_output_bytes": 2000}));
    assert!(run.stdout.len() <= 2000, "{} bytes", run.stdout.len());
    assert_eq!(run.json["stdout_bytes"], seq(10_000).len());
    assert!(run.json["omitted"]["stdout"]["to"].as_u64() > run.json["omitted"]["stdout"]["from"].as_u64());
}

#[test]
fn a_slice_never_splits_a_character() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let text = "a\u{e9}\u{20ac}\u{1f980}".repeat(50);
    let run = session.run_with("cat", json!({"stdin": text}));
    let (mut since, mut seen) = (0, String::new());
    loop {
        let part = slice(&mut session, &run.execution_id, json!({"since": since, "limit": 7}));
        assert_eq!(part["encoding"], "utf-8", "{part}");
        seen.push_str(part["data"].as_str().expect("text"));
        since = part["next"].as_u64().expect("next");
        if part["done"] == true {
            break;
        }
    }
    assert_eq!(seen, text);
}

#[test]
fn the_streams_and_the_end_are_told_apart() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("echo out; echo err >&2");
    let read = |session: &mut Session, extra: Value| slice(session, &run.execution_id, extra);
    assert_eq!(read(&mut session, json!({}))["data"], "out\n");
    assert_eq!(read(&mut session, json!({"stream": "stderr"}))["data"], "err\n");
    assert_eq!(read(&mut session, json!({"since": 2}))["data"], "t\n");
    let end = read(&mut session, json!({"since": 4}));
    assert_eq!((&end["data"], &end["next"], &end["done"]), (&json!(""), &json!(4), &json!(true)));
    let beyond =
        session.client().call("exec.output", json!({"execution_id": run.execution_id, "since": 1000}));
    assert!(beyond.map_or(true, |part| part["data"] == ""), "nothing is beyond the end");
}

#[test]
fn a_stream_is_not_done_while_a_child_can_still_write() {
    let daemon = daemon();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let run = session.run(&format!("(read x <{gate}; echo late) & echo now"));
    let part = slice(&mut session, &run.execution_id, json!({}));
    assert_eq!((&part["data"], &part["done"]), (&json!("now\n"), &json!(false)));
    let _open = daemon.dir().open_gate("gate");
    trl_testkit::eventually("the stream is done", || {
        let part = slice(&mut session, &run.execution_id, json!({"since": 4}));
        part["done"] == true && part["data"] == "late\n"
    });
}
