//! A recording, played on a fresh screen, leads to the picture the terminal shows.

use trl_screen::Screen;
use trl_testkit::{Daemon, Http, Reply, Terminal, Value, bytes_of, eventually, json};

use crate::{builder, daemon};

/// A recording as a player has it.
struct Cast {
    header: Value,
    events: Vec<Recorded>,
}

#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    seconds: f64,
    code: String,
    data: String,
}

impl Cast {
    fn read(lines: impl IntoIterator<Item = String>) -> Self {
        let mut lines = lines.into_iter().filter(|line| !line.starts_with('#'));
        let header = serde_json::from_str(&lines.next().expect("a header")).expect("JSON");
        let event = |line: String| -> Recorded {
            let (seconds, code, data) = serde_json::from_str(&line).expect("three values");
            Recorded { seconds, code, data }
        };
        Self { header, events: lines.map(event).collect() }
    }

    /// The data of all events of a kind.
    fn all(&self, code: &str) -> Vec<&str> {
        self.events.iter().filter(|e| e.code == code).map(|e| e.data.as_str()).collect()
    }

    /// What a player shows at its end.
    fn play(&self) -> Screen {
        let number = |value: &Value| u16::try_from(value.as_u64().expect("a number")).expect("a size");
        let term = &self.header["term"];
        let mut screen = Screen::new(number(&term["cols"]), number(&term["rows"]), 1 << 20);
        for event in &self.events {
            match event.code.as_str() {
                "o" => drop(screen.feed(event.data.as_bytes())),
                "r" => {
                    let (cols, rows) = event.data.split_once('x').expect("a size");
                    screen.resize(cols.parse().expect("columns"), rows.parse().expect("rows"));
                }
                _ => {}
            }
        }
        screen
    }
}

fn ask(daemon: &Daemon, terminal: &Terminal, query: &str) -> Reply {
    let http = Http::to(&format!("unix:{}", daemon.socket().display()));
    let reply = http.send("GET", &format!("/api/terminals/{}/recording{query}", terminal.id), &[], b"");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/x-asciicast"));
    reply
}

fn record(daemon: &Daemon, terminal: &Terminal) -> Cast {
    let mut reply = ask(daemon, terminal, "");
    Cast::read(std::iter::from_fn(|| reply.line()))
}

/// Every cell, the cursor, modes: all that a picture without its history is.
fn assert_same_picture(cast: &Cast, terminal: &mut Terminal) {
    let played = cast.play();
    let shown = terminal.ok("terminal.screen", json!({"format": "json"}));
    assert_eq!(played.text(), terminal.screen());
    assert_eq!(serde_json::to_value(&played.cells().lines).expect("JSON"), shown["lines"]);
    let state = bytes_of(&terminal.ok("terminal.snapshot", json!({"history_lines": 0})), "data");
    let (played, state) = (played.snapshot_with(0).bytes, state);
    assert_eq!(String::from_utf8_lossy(&played), String::from_utf8_lossy(&state));
}

#[test]
fn it_is_what_was_shown_to_the_exit_code() {
    let daemon = daemon();
    let script = r"stty -echo; printf '\033]0;hello\007\033[1;31mred\033[0m \344\275\240 \033[5;10Hthere\r\n'
        printf 'a\342\202'; read x; printf '\254\377\300b\n'; exit 7";
    let argv = ["/bin/sh", "-c", script];
    let mut terminal = daemon.terminal(json!({"argv": argv, "name": "demo", "cols": 60, "rows": 10}));
    // 44 bytes to the end of the first line, and three
    eventually("half a character came", || terminal.info()["head"].as_u64() >= Some(47));
    let half = record(&daemon, &terminal);
    assert_same_picture(&half, &mut terminal);
    assert!(half.all("x").is_empty(), "it has not ended");
    terminal.enter("");
    terminal.ended();
    let cast = record(&daemon, &terminal);
    assert_eq!(cast.header["version"], 3);
    assert_eq!(cast.header["term"], json!({"cols": 60, "rows": 10, "type": "xterm-256color"}));
    assert_eq!((&cast.header["title"], &cast.header["command"]), (&json!("demo"), &json!("/bin/sh")));
    assert!(cast.header.get("env").is_none());
    assert!(cast.header["timestamp"].as_u64() > Some(1_700_000_000));
    let text = cast.all("o").concat();
    assert!(text.contains("\u{1b}[1;31mred") && text.contains("a\u{20ac}b"), "{text:?}");
    assert_same_picture(&cast, &mut terminal);
    assert_eq!(cast.events.last().map(|e| (e.code.as_str(), e.data.as_str())), Some(("x", "7")));
    assert!(cast.events.iter().all(|e| e.seconds >= 0.0));
}

#[test]
fn a_ring_that_has_wrapped_is_played_from_a_right_picture() {
    let daemon = builder().set("terminals", "ring_bytes", "\"256KiB\"").start();
    // The first row was written once, long before the oldest byte there is; the rest scrolls below it.
    let script = r"stty -echo; printf '\033[?1049h\033[44mkept on top\033[0m\033[3;20r\033[20;1H\033[32m'
        seq -f 'line %.0f of a long output' 1 40000; printf 'done'; read x; printf '\nlast'; read x";
    let mut terminal = daemon.terminal(json!({"argv": ["/bin/sh", "-c", script], "cols": 90, "rows": 30}));
    terminal.wait("done");
    assert!(terminal.info()["ring_start"].as_u64() > Some(0));
    let cast = record(&daemon, &terminal);
    let played = cast.play().text();
    assert!(played.contains("kept on top") && played.contains("done"), "{played}");
    assert_same_picture(&cast, &mut terminal);
    let bytes: usize = cast.all("o").iter().map(|data| data.len()).sum();
    assert!(bytes >= 128 * 1024, "{bytes} bytes of a ring of 256 KiB");
    assert!(cast.all("m").is_empty(), "nothing is missing");
    terminal.enter("");
    terminal.wait("last");
    assert_same_picture(&record(&daemon, &terminal), &mut terminal);
}

#[test]
fn sizes_come_where_they_happened() {
    let daemon = daemon();
    let mut terminal =
        daemon.terminal_running("stty -echo; printf one; read x; printf two; read x; printf three; read x");
    terminal.wait("one");
    terminal.ok("terminal.resize", json!({"cols": 100, "rows": 30}));
    terminal.enter("");
    terminal.wait("two");
    terminal.ok("terminal.resize", json!({"cols": 40, "rows": 12}));
    let cast = record(&daemon, &terminal);
    let order: Vec<&str> = cast.events.iter().map(|e| e.data.trim()).collect();
    assert_eq!(order, ["one", "100x30", "two", "40x12"]);
    assert_eq!(cast.header["term"]["cols"], 80, "the size it began with");
    assert_same_picture(&cast, &mut terminal);
}

#[test]
fn a_follower_gets_what_comes_until_the_end() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("stty -echo; echo ready; read x; echo got $x; read x; exit 3");
    let mut reply = ask(&daemon, &terminal, "?follow=1&idle_limit_s=1.5");
    let mut lines = Vec::new();
    let mut until = |text: &str| {
        while !lines.last().is_some_and(|line: &String| line.contains(text)) {
            lines.push(reply.line().expect("it goes on"));
        }
    };
    until("ready");
    terminal.enter("this");
    until("got this");
    terminal.enter("");
    until("\"x\"");
    assert_eq!(reply.line(), None, "there it ends");
    let cast = Cast::read(lines);
    assert_eq!(cast.header["idle_time_limit"], 1.5);
    assert_eq!(cast.all("x"), ["3"]);
    assert_same_picture(&cast, &mut terminal);
}

#[test]
fn a_silent_follower_hears_a_sign_of_life() {
    let daemon = builder().set("http", "keep_alive_s", 1).start();
    let mut terminal = daemon.terminal_running("stty -echo; echo ready; read x; echo more; read x");
    terminal.wait("ready");
    let mut reply = ask(&daemon, &terminal, "?follow=1");
    while reply.line().expect("it goes on") != "#" {}
    terminal.enter("");
    while !reply.line().expect("it goes on").contains("more") {}
}

#[test]
fn a_follower_that_falls_behind_is_told_and_gets_a_picture() {
    let daemon = builder().set("terminals", "ring_bytes", "\"256KiB\"").start();
    let script =
        "stty -echo; echo ready; read x; seq -f 'line %.0f of a flood' 1 200000; echo over; read x; exit 0";
    let mut terminal = daemon.terminal_running(script);
    terminal.wait("ready");
    let mut reply = ask(&daemon, &terminal, "?follow=1");
    terminal.enter("");
    // It reads nothing while more comes than ring and sockets hold.
    terminal.wait("over");
    terminal.ok("terminal.resize", json!({"cols": 70, "rows": 20}));
    terminal.enter("");
    terminal.ended();
    let cast = Cast::read(std::iter::from_fn(|| reply.line()));
    let missed = cast.all("m");
    assert!(!missed.is_empty() && missed.iter().all(|m| m.ends_with("bytes are missing here")), "{missed:?}");
    assert_eq!(cast.all("x"), ["0"]);
    assert_same_picture(&cast, &mut terminal);
}

#[test]
fn the_end_of_the_daemon_ends_a_recording() {
    let mut daemon = daemon();
    let mut terminal = daemon.terminal_running("stty -echo; echo ready; read x");
    terminal.wait("ready");
    let mut reply = ask(&daemon, &terminal, "?follow=1");
    while !reply.line().expect("it goes on").contains("ready") {}
    daemon.stop();
    while reply.line().is_some() {}
}
