//! The five scenarios a web terminal has to pass, as a browser goes through them: reconnect, closing, jitter, a restart of
//! the server, several clients.

use trl_testkit::websocket::Arrived;
use trl_testkit::{
    Attached, Daemon, Http, Value, WebSocket, eventually, json, memmem, procs_matching, sleeper, wait_gone,
};

use crate::cuts::cut_after;
use crate::terminals::{attach, create};
use crate::{daemon, operator};

fn info(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/terminals/{id}")).json()
}

/// As a page opens it: no subprotocol, raw bytes.
fn open_plain(daemon: &Daemon, id: &str) -> WebSocket {
    let auth = format!("Bearer {}", daemon.operator_token());
    WebSocket::open(&daemon.http(), &format!("/ws/terminal/{id}"), &[("Authorization", &auth)]).unwrap()
}

fn until(ws: &mut WebSocket, wanted: &str) -> Vec<u8> {
    let mut all = Vec::new();
    while !memmem(&all, wanted.as_bytes()) {
        match ws.arrive() {
            Arrived::Binary(bytes) => all.extend(bytes),
            other => panic!("{other:?} before {wanted:?}"),
        }
    }
    all
}

#[test]
fn scenario_1_a_reload_shows_the_output_before_it_and_goes_on() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"shell": "/bin/sh", "env": {"PS1": "$ "}}));
    let pid = info(&http, &id)["pid"].clone();
    let mut page = open_plain(&daemon, &id);
    page.write_binary(b"X=kept; echo first$((1+1))\r".to_vec()).unwrap();
    until(&mut page, "first2");
    drop(page);
    eventually("nobody is there", || info(&http, &id)["clients"] == 0);
    assert_eq!(info(&http, &id)["pid"], pid, "the program does not notice");
    let mut page = open_plain(&daemon, &id);
    until(&mut page, "first2");
    page.write_binary(b"echo $X$((2+2))\r".to_vec()).unwrap();
    until(&mut page, "kept4");
    // The same for a client that knows offsets: it may come as a new one, or go on where it was.
    let mut fresh = attach(&daemon, &id, "client=page");
    fresh.until_text("kept4");
    let (generation, seen) = (fresh.generation().to_string(), fresh.next());
    drop(fresh);
    let mut again = attach(&daemon, &id, &format!("client=page&gen={generation}&since={seen}"));
    again.input(b"echo again$((3+3))\r");
    again.until_text("again6");
    assert!(!memmem(&again.bytes, b"kept4"), "nothing it has seen comes twice");
}

#[test]
fn scenario_2_closing_the_panel_leaves_no_process_behind() {
    let daemon = daemon();
    let http = operator(&daemon);
    let (front, back, apart) = (sleeper(), sleeper(), sleeper());
    let script = format!("trap '' HUP; {back} & setsid {apart} & {front}");
    let id = create(&http, &json!({"argv": ["/bin/sh", "-c", script]}));
    let all = || [&front, &back, &apart].map(|sleep| procs_matching(sleep)).concat();
    eventually("all of them run", || [&front, &back, &apart].iter().all(|s| !procs_matching(s).is_empty()));
    let (shell, processes) = (info(&http, &id)["pid"].as_i64().expect("a pid"), all());
    let mut page = attach(&daemon, &id, "client=page");
    let gone = http.ask("DELETE", &format!("/api/terminals/{id}"), &[], b"");
    assert_eq!(gone.status, 200, "{}", gone.text());
    // It answers when nothing is left.
    assert_eq!(all(), [0; 0]);
    for pid in processes.into_iter().chain([i32::try_from(shell).expect("a pid")]) {
        wait_gone(pid);
    }
    while page.closed.is_none() {
        page.take();
    }
    assert_eq!(page.closed.expect("closed").0, 1000);
    assert_eq!(http.get(&format!("/api/terminals/{id}")).status, 404);
    assert_eq!(http.get("/api/terminals").json()["terminals"], json!([]));
}

#[test]
fn scenario_3_jitter_interrupts_neither_the_program_nor_what_is_typed() {
    let daemon = daemon();
    let http = operator(&daemon);
    let script = "stty -echo; echo ready; while read -r n; do echo \"<$n>\"; done";
    let id = create(&http, &json!({"argv": ["/bin/sh", "-c", script]}));
    let pid = info(&http, &id)["pid"].clone();
    let mut first = attach(&daemon, &id, "client=page");
    first.until_text("ready\r\n");
    let (generation, mut seen) = (first.generation().to_string(), first.next());
    let mut all = Vec::new();
    drop(first);
    // Each number is typed until it is answered; the connection holds for a little more than its greeting.
    let lines = 40;
    for n in 1..=lines {
        let answer = format!("<{n}>\r\n");
        let mut allowance = 900;
        while !all.ends_with(answer.as_bytes()) {
            let door = Http::to(&format!("http://{}", cut_after(http.authority(), allowance)));
            allowance += 40;
            let query = format!("client=page&gen={generation}&since={seen}");
            let Some(mut page) = Attached::try_open(&door, &daemon.operator_token(), &id, &query) else {
                continue;
            };
            assert_eq!(page.resume["kind"], "delta");
            page.input_as(n, format!("{n}\r").as_bytes());
            while page.closed.is_none() && !memmem(&page.bytes, answer.as_bytes()) {
                page.take();
            }
            seen = page.next();
            all.extend(page.bytes);
        }
    }
    let expected: String = (1..=lines).map(|n| format!("<{n}>\r\n")).collect();
    assert_eq!(String::from_utf8_lossy(&all), expected);
    assert_eq!(info(&http, &id)["pid"], pid);
}

#[test]
fn scenario_4_after_a_restart_the_old_id_is_unknown_and_a_new_one_takes_its_place() {
    let mut daemon = daemon();
    let params = json!({"shell": "/bin/sh", "workspace_id": "w1"});
    let old = create(&operator(&daemon), &params);
    let mut page = attach(&daemon, &old, "client=page");
    let (generation, seen) = (page.generation().to_string(), page.next());
    daemon.stop();
    while page.closed.is_none() {
        page.take();
    }
    daemon.relaunch();
    // With offsets or without, in either form, the page is told that this terminal is not there, and makes another.
    let auth = format!("Bearer {}", daemon.operator_token());
    let query = format!("/ws/terminal/{old}?client=page&gen={generation}&since={seen}");
    for headers in [
        &[("Authorization", auth.as_str())][..],
        &[("Authorization", auth.as_str()), ("Sec-WebSocket-Protocol", "trl.term.1")],
    ] {
        let mut ws = WebSocket::open(&daemon.http(), &query, headers).expect("a web socket");
        assert_eq!(ws.read().expect_err("closed").0, 4004);
    }
    let http = operator(&daemon);
    assert_eq!(http.get("/api/workspaces/w1/terminals").json()["terminals"], json!([]));
    let new = create(&http, &params);
    assert_ne!(new, old);
    let mut page = attach(&daemon, &new, &format!("client=page&gen={generation}&since={seen}"));
    page.input(b"echo new$((1+1))\r");
    page.until_text("new2");
    assert_eq!(http.get("/api/workspaces/w1/terminals").json()["terminals"][0]["terminal_id"], new.as_str());
}

#[test]
fn scenario_5_two_clients_see_the_same_and_either_may_type() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"shell": "/bin/sh", "env": {"PS1": "$ "}}));
    let (mut left, mut right) = (attach(&daemon, &id, "client=left"), attach(&daemon, &id, "client=right"));
    let mut plain = open_plain(&daemon, &id);
    left.input(b"echo left$((1+1))\r");
    right.until_text("left2");
    right.input(b"echo right$((2+2))\r");
    left.until_text("right4");
    plain.write_binary(b"echo plain$((3+3))\r".to_vec()).unwrap();
    for client in [&mut left, &mut right] {
        client.until_text("plain6");
    }
    let raw = until(&mut plain, "plain6");
    assert!(memmem(&raw, b"left2") && memmem(&raw, b"right4"));
    // Byte for byte the same, wherever each of them began.
    let from = left.start.max(right.start);
    let to = left.next().min(right.next());
    let part = |c: &Attached| {
        let at = |offset: u64| usize::try_from(offset - c.start).expect("a length");
        c.bytes[at(from)..at(to)].to_vec()
    };
    assert!(to > from && part(&left) == part(&right));
    drop(left);
    right.input(b"echo alone$((4+4))\r");
    right.until_text("alone8");
    until(&mut plain, "alone8");
}
