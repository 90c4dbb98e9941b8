//! Terminals over HTTP: REST, and clients that come, go, lag, type and watch.

use trl_testkit::websocket::Arrived;
use trl_testkit::{Attached, Daemon, Http, Value, WebSocket, eventually, json, memmem};

use crate::{builder, daemon, operator, with_role};

pub(crate) fn create(http: &Http, params: &Value) -> String {
    let made = http.post("/api/terminals", params);
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["terminal_id"].as_str().expect("an id").to_string()
}

pub(crate) fn attach(daemon: &Daemon, terminal: &str, query: &str) -> Attached {
    Attached::open(&daemon.http(), &daemon.operator_token(), terminal, query)
}

/// A shell without a prompt or echo to get in the way.
fn quiet_shell(http: &Http) -> String {
    create(http, &json!({"argv": ["sh", "-c", "stty -echo -onlcr; PS1=; export PS1; echo ready; exec sh"]}))
}

#[test]
fn rest_makes_lists_shows_and_destroys() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["sleep", "1000"], "workspace_id": "w1", "cols": 91, "rows": 17}));
    let other = create(&http, &json!({"argv": ["sleep", "1000"]}));
    let ids = |path: &str| -> Vec<String> {
        let list = http.get(path).json()["terminals"].clone();
        list.as_array().unwrap().iter().map(|t| t["terminal_id"].as_str().unwrap().into()).collect()
    };
    assert_eq!(ids("/api/terminals"), [id.clone(), other.clone()]);
    assert_eq!(ids("/api/workspaces/w1/terminals"), [id.as_str()]);
    assert_eq!(ids("/api/workspaces/none/terminals"), [""; 0]);
    let one = http.get(&format!("/api/terminals/{id}")).json();
    assert_eq!((&one["cols"], &one["rows"], &one["state"]), (&json!(91), &json!(17), &json!("running")));
    let gone = http.ask("DELETE", &format!("/api/terminals/{id}"), &[], b"");
    assert_eq!((gone.status, gone.json()["signal"].as_str()), (200, Some("HUP")));
    assert_eq!(http.get(&format!("/api/terminals/{id}")).status, 404);
    assert_eq!(http.get("/api/terminals/t-nosuch00").code(), "TERMINAL_NOT_FOUND");
    assert_eq!(http.post("/api/terminals", &json!({"argv": ["/no/such"]})).status, 400);
    assert_eq!(http.post("/api/terminals", &json!({"colour": 1})).status, 400);
    assert_eq!(http.ask("PUT", "/api/terminals", &[], b"").status, 405);
}

#[test]
fn a_workspace_lists_live_terminals() {
    let daemon = daemon();
    let http = operator(&daemon);
    let live = create(&http, &json!({"argv": ["sleep", "1000"], "workspace_id": "w"}));
    let over = create(&http, &json!({"argv": ["true"], "workspace_id": "w"}));
    eventually("it has ended", || http.get(&format!("/api/terminals/{over}")).json()["state"] == "exited");
    let ids = |path: &str| -> Vec<String> {
        let list = http.get(path).json()["terminals"].clone();
        list.as_array().unwrap().iter().map(|t| t["terminal_id"].as_str().unwrap().into()).collect()
    };
    assert_eq!(ids("/api/workspaces/w/terminals"), [live.as_str()]);
    assert_eq!(ids("/api/workspaces/w/terminals?all=false"), [live.as_str()]);
    assert_eq!(ids("/api/workspaces/w/terminals?all=true"), [live.clone(), over.clone()]);
    assert_eq!(ids("/api/terminals"), [live, over]);
    assert_eq!(http.get("/api/workspaces/w/terminals?all=perhaps").status, 400);
}

#[test]
fn a_runtime_nobody_has_is_not_our_failure() {
    let daemon = daemon();
    let http = operator(&daemon);
    for (runtime, status, code) in [
        (json!({"any": {"gpu": "yes"}}), 503, "RUNTIME_UNAVAILABLE"),
        (json!("no-such-runtime"), 404, "RUNTIME_NOT_FOUND"),
    ] {
        let reply = http.post("/api/terminals", &json!({"argv": ["true"], "runtime": runtime}));
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{runtime}");
        assert!(reply.json()["error"]["message"].as_str().is_some_and(|text| text.len() > 10));
    }
    let reply = http.post("/api/terminals", &json!({"argv": ["true"], "case_id": "none"}));
    assert_eq!((reply.status, reply.code().as_str()), (404, "CASE_NOT_FOUND"));
}

#[test]
fn a_destroy_with_a_grace_can_be_taken_back() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["sleep", "1000"]}));
    let going = http.ask("DELETE", &format!("/api/terminals/{id}?grace_s=600"), &[], b"").json();
    assert_eq!(going["state"], "running");
    let pending = || http.get(&format!("/api/terminals/{id}")).json()["destroy_in_s"].clone();
    eventually("it is to go", || pending().is_number());
    http.ok("terminal.keep", json!({"terminal_id": id}));
    eventually("it stays", || pending().is_null());
    http.ask("DELETE", &format!("/api/terminals/{id}?grace_s=0.05"), &[], b"");
    eventually("it went", || http.get(&format!("/api/terminals/{id}")).json()["state"] == "exited");
}

#[test]
fn a_terminal_that_is_not_there_is_told_by_a_close_code() {
    let daemon = daemon();
    for id in ["t-nosuch00", "nonsense"] {
        let auth = format!("Bearer {}", daemon.operator_token());
        let mut ws =
            WebSocket::open(&daemon.http(), &format!("/ws/terminal/{id}"), &[("Authorization", &auth)])
                .unwrap();
        assert_eq!(ws.read().unwrap_err().0, 4004, "{id}");
    }
}

#[test]
fn a_plain_client_gets_raw_bytes_types_and_resizes() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let auth = format!("Bearer {}", daemon.operator_token());
    let open = || {
        WebSocket::open(&daemon.http(), &format!("/ws/terminal/{id}"), &[("Authorization", &auth)]).unwrap()
    };
    let until = |ws: &mut WebSocket, wanted: &str| {
        let mut all = Vec::new();
        while !memmem(&all, wanted.as_bytes()) {
            match ws.arrive() {
                Arrived::Binary(bytes) => all.extend(bytes),
                other => panic!("{other:?}"),
            }
        }
        all
    };
    let mut first = open();
    until(&mut first, "ready");
    first.write(&json!({"type": "resize", "cols": 101, "rows": 33}).to_string()).unwrap();
    eventually("it has another size", || {
        operator(&daemon).get(&format!("/api/terminals/{id}")).json()["cols"] == 101
    });
    first.write_binary(b"stty size; echo one$((1+1))\n".to_vec()).unwrap();
    assert!(memmem(&until(&mut first, "one2"), b"33 101"));
    drop(first);
    let mut second = open();
    let replayed = until(&mut second, "one2");
    assert!(memmem(&replayed, b"ready"), "the whole past, byte for byte");
    second.write("exit 7\n").unwrap();
    loop {
        if let Arrived::Closed(code, _) = second.arrive() {
            assert_eq!(code, 1000);
            break;
        }
    }
    assert_eq!(operator(&daemon).get(&format!("/api/terminals/{id}")).json()["exit_code"], 7);
}

#[test]
fn a_client_that_comes_back_gets_exactly_what_it_missed() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut first = attach(&daemon, &id, "client=a");
    first.until_text("ready");
    let (generation, seen) = (first.generation().to_string(), first.next());
    drop(first);
    operator(&daemon).ok("terminal.input", json!({"terminal_id": id, "data": "echo missed; echo more\n"}));
    eventually("it was said", || {
        operator(&daemon).get(&format!("/api/terminals/{id}")).json()["head"].as_u64().unwrap() >= seen + 12
    });
    let mut again = attach(&daemon, &id, &format!("client=a&gen={generation}&since={seen}"));
    assert_eq!(again.resume["kind"], "delta");
    again.until_text("more");
    assert_eq!(again.bytes, b"missed\nmore\n");
    let mut other = attach(&daemon, &id, &format!("gen=0000&since={seen}"));
    assert_eq!(other.resume["kind"], "snapshot", "another generation's offsets mean nothing");
    // the picture may be older than what was said last, which follows then
    other.until(|c| {
        let shown = c.picture.as_ref().is_some_and(|(_, picture)| memmem(picture, b"missed"));
        shown || c.picture.is_some() && memmem(&c.bytes, b"missed")
    });
}

#[test]
fn numbered_input_is_typed_once() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut client = attach(&daemon, &id, "client=me");
    client.until_text("ready");
    let acks =
        |c: &Attached, n: u64| c.said.iter().filter(|m| m["type"] == "input_ack" && m["iseq"] == n).count();
    client.input_as(1, b"echo a$((1+1))\n");
    client.until(|c| acks(c, 1) == 1);
    drop(client);
    let mut again = attach(&daemon, &id, "client=me");
    again.input_as(1, b"echo a$((1+1))\n");
    again.input_as(2, b"echo b$((1+1))\n");
    again.until(|c| acks(c, 2) == 1 && memmem(&c.bytes, b"b2"));
    let screen = operator(&daemon).ok("terminal.screen", json!({"terminal_id": id}))["text"].clone();
    assert_eq!(screen.as_str().unwrap().matches("a2").count(), 1, "{screen}");
}

#[test]
fn sizes_come_where_they_happened_and_the_last_typist_decides() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut desk = attach(&daemon, &id, "client=desk&cols=120&rows=40");
    desk.until_text("ready");
    desk.until(|c| c.sizes.iter().any(|s| (s.1, s.2) == (120, 40)));
    let mut phone = attach(&daemon, &id, "client=phone&cols=50&rows=20");
    phone.input(b"stty size\n");
    phone.until_text("20 50");
    desk.until_text("20 50");
    let (at, ..) = *desk.sizes.iter().find(|s| (s.1, s.2) == (50, 20)).expect("the phone's size");
    let said = desk.start + desk.bytes.windows(5).position(|w| w == b"20 50").unwrap() as u64;
    assert!(at <= said, "the size comes before what was written for it");
    desk.tell(json!({"type": "claim"}));
    desk.until(|c| c.sizes.iter().filter(|s| (s.1, s.2) == (120, 40)).count() == 2);
}

#[test]
fn a_second_window_does_not_confuse_the_focus() {
    let daemon = daemon();
    let http = operator(&daemon);
    let script = "stty raw -echo; printf '\\033[?1004h'; echo ready; head -c 8 | od -An -c; printf '\\033[?1004l'; echo off; \
                  head -c 1 | od -An -c; sleep 1000";
    let id = create(&http, &json!({"argv": ["sh", "-c", script]}));
    let mut desk = attach(&daemon, &id, "client=desk&cols=120&rows=40");
    desk.until_text("ready");
    desk.input(b"\x1b[I");
    // The snapshot brings the mode, and a window that is opened in the background says that it has no focus.
    let mut other = attach(&daemon, &id, "client=other&cols=60&rows=20");
    other.until_text("?1004h");
    let said = other.input(b"\x1b[O");
    let taken = |c: &Attached, n: u64| c.said.iter().any(|m| m["type"] == "input_ack" && m["iseq"] == n);
    other.until(|c| taken(c, said));
    let info = http.get(&format!("/api/terminals/{id}")).json();
    assert_eq!((&info["cols"], &info["rows"]), (&json!(120), &json!(40)), "to look is not to drive");
    // It leaves without the focus, then the first one with it: that is told. In between somebody types.
    drop(other);
    let said = desk.input(b"ab");
    desk.until(|c| taken(c, said));
    drop(desk);
    let mut desk = attach(&daemon, &id, "client=late");
    desk.until_text("off");
    let screen = http.ok("terminal.screen", json!({"terminal_id": id}))["text"].as_str().unwrap().to_string();
    assert!(screen.contains("033   [   I   a   b 033   [   O"), "{screen}");
    // A program that does not ask for it is not typed at.
    let said = desk.input(b"\x1b[I");
    desk.until(|c| taken(c, said));
    desk.input(b"x");
    desk.until_text("   x");
}

#[test]
fn a_viewer_sees_and_may_not_type() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let token = daemon.token("viewer", json!({}))["token"].as_str().unwrap().to_string();
    let mut viewer = Attached::open(&daemon.http(), &token, &id, "cols=20&rows=10");
    viewer.until_text("ready");
    assert_eq!(viewer.hello["drives"], false);
    viewer.input(b"echo no\n");
    viewer.until(|c| c.said.iter().any(|m| m["type"] == "error"));
    let info = operator(&daemon).get(&format!("/api/terminals/{id}")).json();
    assert_eq!((&info["cols"], &info["rows"]), (&json!(80), &json!(24)), "nor has it a say in the size");
    let http = with_role(&daemon, "viewer");
    assert_eq!(http.post("/api/terminals", &json!({})).status, 403);
    assert_eq!(http.ask("DELETE", &format!("/api/terminals/{id}"), &[], b"").status, 403);
    let agent = with_role(&daemon, "agent");
    assert_eq!(agent.get(&format!("/api/terminals/{id}")).status, 403, "another's");
    assert_eq!(agent.get("/api/terminals").json()["terminals"], json!([]));
}

#[test]
fn whoever_may_look_may_have_a_recording() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let path = format!("/api/terminals/{id}/recording");
    for role in ["viewer", "operator"] {
        assert_eq!(with_role(&daemon, role).get(&path).status, 200, "{role}");
    }
    let agent = with_role(&daemon, "agent");
    assert_eq!((agent.get(&path).status, agent.get(&path).code().as_str()), (403, "FORBIDDEN"));
    let own = create(&agent, &json!({"argv": ["sleep", "1000"]}));
    assert_eq!(agent.get(&format!("/api/terminals/{own}/recording")).status, 200);
    assert_eq!(daemon.http().get(&path).status, 401);
    let http = operator(&daemon);
    assert_eq!(http.get("/api/terminals/t-nosuch00/recording").status, 404);
    assert_eq!(http.get("/api/terminals/nonsense/recording").status, 400);
    assert_eq!(http.get(&format!("{path}?follow=perhaps")).status, 400);
    for verb in ["HEAD", "POST"] {
        assert_eq!(http.send(verb, &path, &[], b"").status, 405, "{verb}");
    }
    let made = daemon.token("viewer", json!({}));
    let mut live = daemon.http().with_token(made["token"].as_str().unwrap()).send(
        "GET",
        &format!("{path}?follow=1"),
        &[],
        b"",
    );
    while !live.line().unwrap().contains("ready") {}
    http.ok("token.revoke", json!({"token_id": made["token_id"]}));
    while live.line().is_some() {}
}

#[test]
fn presence_title_bell_and_exit_are_told() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut client = attach(&daemon, &id, "client=one");
    client.until_text("ready");
    let other = attach(&daemon, &id, "client=two&mode=view");
    client.until(|c| {
        c.said.iter().any(|m| m["type"] == "presence" && m["clients"].as_array().unwrap().len() == 2)
    });
    drop(other);
    client.input(br"printf '\033]0;hello\007\007\033]133;A\007'; kill -9 $$");
    client.input(b"\n");
    client.until(|c| c.exit.is_some());
    assert!(client.said.iter().any(|m| m["type"] == "state" && m["title"] == "hello"), "{:?}", client.said);
    let exit = client.exit.clone().unwrap();
    assert_eq!((&exit["code"], &exit["signal"]), (&json!(137), &json!("KILL")));
    assert_eq!(exit["at"], client.next());
    client.take();
    assert_eq!(client.closed.as_ref().unwrap().0, 1000);
}

#[test]
fn a_client_that_does_not_acknowledge_holds_nobody_up_and_gets_a_picture() {
    // The lazy one gives no sign of life either, however long the others take.
    let daemon = builder().set("terminals", "ring_bytes", 300_000).set("http", "keep_alive_s", 3600).start();
    let http = operator(&daemon);
    let id = quiet_shell(&http);
    let mut lazy = attach(&daemon, &id, "client=lazy");
    lazy.until_text("ready");
    let mut keen = attach(&daemon, &id, "client=keen");
    keen.input(b"i=0; while [ $i -lt 40000 ]; do echo line number $i; i=$((i+1)); done; echo done$((1+1))\n");
    keen.until_text("done2");
    // It has its window full and not a byte more; then it says so, and the rest has fallen off the ring.
    while lazy.next() < lazy.start + 256 * 1024 {
        lazy.take();
    }
    lazy.ack();
    lazy.until(|c| c.pictures == 2);
    assert!(lazy.said.iter().any(|m| m["type"] == "resync"));
    // The picture is of what the model knew by then; the bytes go on from there.
    lazy.until_text("done2");
    let screen = http.ok("terminal.screen", json!({"terminal_id": id}))["text"].clone();
    assert!(screen.as_str().unwrap().contains("done2"));
}

#[test]
fn a_hundred_viewers_with_one_stalled_all_see_everything() {
    // Viewers are read one after the other here, and the last ones answer no ping until then.
    let daemon = builder().set("http", "keep_alive_s", 3600).start();
    let id = quiet_shell(&operator(&daemon));
    let mut viewers: Vec<Attached> =
        (0..100).map(|i| attach(&daemon, &id, &format!("client=v{i}&mode=view"))).collect();
    let mut typist = attach(&daemon, &id, "client=typist");
    typist.until_text("ready");
    typist
        .input(b"i=0; while [ $i -lt 2000 ]; do echo line number $i; i=$((i+1)); done; echo done$((1+1))\n");
    typist.until_text("done2");
    // the first of them has not read a byte so far
    for viewer in viewers.iter_mut().skip(1) {
        viewer.until_text("done2");
    }
    drop(viewers);
    eventually("they are gone", || {
        operator(&daemon).get(&format!("/api/terminals/{id}")).json()["clients"] == 1
    });
}

#[test]
fn a_client_that_says_nothing_is_let_go_of() {
    let daemon = builder().set("http", "keep_alive_s", 0.2).start();
    let id = quiet_shell(&operator(&daemon));
    let client = attach(&daemon, &id, "client=dead");
    let clients = || operator(&daemon).get(&format!("/api/terminals/{id}")).json()["clients"].clone();
    // It does not even answer pings: nobody reads its socket.
    eventually("it is gone", || clients() == 0);
    drop(client);
}

#[test]
fn the_end_of_the_daemon_is_told() {
    let daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut client = attach(&daemon, &id, "client=x");
    client.until_text("ready");
    operator(&daemon).ok("system.shutdown", json!({}));
    while client.closed.is_none() {
        client.take();
    }
    let code = client.closed.unwrap().0;
    assert!(code == 1000 || code == 4013, "{code}");
}

#[test]
fn a_terminal_that_ends_with_the_daemon_is_told_apart_from_one_that_ended() {
    let mut daemon = daemon();
    let id = quiet_shell(&operator(&daemon));
    let mut client = attach(&daemon, &id, "client=a");
    client.until_text("ready");
    let status = daemon.stop();
    assert!(status.success(), "{status}");
    client.until(|c| c.closed.is_some());
    assert_eq!(client.closed.as_ref().map(|(code, _)| *code), Some(4013));

    daemon.relaunch();
    let id = quiet_shell(&operator(&daemon));
    let mut client = attach(&daemon, &id, "client=a");
    client.until_text("ready");
    client.input(b"exit 3\r");
    client.until(|c| c.closed.is_some());
    assert_eq!(client.exit.as_ref().map(|exit| exit["code"].clone()), Some(json!(3)));
    assert_eq!(client.closed.as_ref().map(|(code, _)| *code), Some(1000));
}

#[test]
fn the_smallest_window_counts_until_it_leaves() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["sleep", "1000"], "size_policy": "smallest"}));
    let size = || {
        let info = http.get(&format!("/api/terminals/{id}")).json();
        (info["cols"].as_u64().unwrap(), info["rows"].as_u64().unwrap())
    };
    let _large = attach(&daemon, &id, "client=a&cols=100&rows=30");
    let small = attach(&daemon, &id, "client=b&cols=60&rows=40");
    eventually("both fit", || size() == (60, 30));
    drop(small);
    eventually("it grows again", || size() == (100, 30));
}

#[test]
fn an_ended_terminal_is_forgotten_after_its_grace_and_can_be_kept() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["true"]}));
    let state = || http.get(&format!("/api/terminals/{id}"));
    eventually("it has ended", || state().json()["state"] == "exited");
    http.ok("terminal.destroy", json!({"terminal_id": id, "grace_s": 600}));
    assert!(state().json()["destroy_in_s"].is_number());
    http.ok("terminal.keep", json!({"terminal_id": id}));
    assert!(state().json()["destroy_in_s"].is_null());
    http.ok("terminal.destroy", json!({"terminal_id": id, "grace_s": 0.01}));
    eventually("it is forgotten", || state().status == 404);
}

#[test]
fn what_an_address_asks_for_must_mean_something() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["sleep", "1000"]}));
    let auth = format!("Bearer {}", daemon.operator_token());
    let open = |query: &str| {
        let path = format!("/ws/terminal/{id}?{query}");
        WebSocket::open(&daemon.http(), &path, &[("Authorization", &auth)]).err()
    };
    for bad in ["mode=veiw", "since=abc&gen=x", "client=%ff"] {
        assert_eq!(open(bad), Some(400), "{bad}");
    }
    assert_eq!(open("mode=drive&something=else"), None);
    let named = attach(&daemon, &id, "client=J%C3%B6%20B");
    assert_eq!(named.hello["presence"][0]["name"], "Jö B");
}
