//! What holds wherever a session lives. Each takes a daemon whose runtime `there` is that place.

use trl_testkit::{Client, Daemon, Session, json, merged};

use crate::{create, create_with};

type Check = fn(&Daemon);

/// All of it, by name, one after the other: what is slow is getting there.
pub(crate) fn everything(daemon: &Daemon) {
    let checks: [(&str, Check); 9] = [
        ("state_persists_and_is_rolled_back", state_persists_and_is_rolled_back),
        ("a_timeout_ends_a_command", a_timeout_ends_a_command),
        ("a_cancel_ends_a_command", a_cancel_ends_a_command),
        ("a_background_child_holds_nothing_up", a_background_child_holds_nothing_up),
        ("much_goes_in", much_goes_in),
        ("much_comes_out", much_comes_out),
        ("two_sessions_at_once", two_sessions_at_once),
        ("a_terminal_lives_there", a_terminal_lives_there),
        ("files_are_those_of_there", files_are_those_of_there),
    ];
    for (name, check) in checks {
        eprintln!("- {name}");
        check(daemon);
    }
}

fn session(daemon: &Daemon) -> Session {
    create(daemon.client())
}

fn state_persists_and_is_rolled_back(daemon: &Daemon) {
    let mut session = session(daemon);
    assert_eq!(session.info()["runtime"], "there");
    assert_eq!(session.run("cd /tmp; WHO=me; echo out; echo err >&2; false").code, 1);
    assert_eq!(session.run("echo \"$WHO in $PWD\"").out(), "me in /tmp\n");
    let ended = session.run("WHO=nobody; exit 3");
    assert_eq!((ended.code, ended.shell_state.as_str()), (3, "rolled_back"));
    assert_eq!(session.run("echo $WHO").out(), "me\n");
    session.destroy();
}

fn a_timeout_ends_a_command(daemon: &Daemon) {
    let mut session = session(daemon);
    let run = session.run_with("echo part; sleep 1000", json!({"timeout_s": 0.5}));
    assert!(run.timed_out && !run.cancelled, "{:?}", run.json);
    assert_eq!(run.out(), "part\n");
    assert_eq!(session.run("echo on").out(), "on\n");
    session.destroy();
}

fn a_cancel_ends_a_command(daemon: &Daemon) {
    let mut session = session(daemon);
    let mut running = session.stream("echo there; sleep 1000", json!({}));
    running.wait_stdout("there");
    running.cancel();
    let run = running.finish();
    assert!(run.cancelled && !run.timed_out, "{:?}", run.json);
    session.destroy();
}

fn a_background_child_holds_nothing_up(daemon: &Daemon) {
    let mut session = session(daemon);
    let run = session.run("sleep 1000 & echo not held up");
    assert_eq!((run.out().as_str(), run.code), ("not held up\n", 0));
    assert_eq!(session.run("kill -0 $! && echo alive").out(), "alive\n");
    session.destroy();
}

fn much_goes_in(daemon: &Daemon) {
    const BYTES: usize = 10 << 20;
    let mut session = session(daemon);
    let given: String = lines(BYTES);
    let seq = format!("seq 1 10000000 | head -c {BYTES} | sha256sum");
    let run = session.run_with(&format!("sha256sum; {seq}"), json!({"stdin": given}));
    let sums: Vec<String> = run.out().lines().map(String::from).collect();
    assert!(sums.len() == 2 && sums[0] == sums[1], "{:?}", run.json);
    session.destroy();
}

/// As `seq` prints them, cut off at so many bytes.
fn lines(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut number = 0u64;
    while text.len() < bytes {
        number += 1;
        text += &format!("{number}\n");
    }
    text.truncate(bytes);
    text
}

fn much_comes_out(daemon: &Daemon) {
    // Many times what a link and a log hold.
    const BYTES: usize = 10_000_000;
    let mut session = session(daemon);
    let run = session.stream(&format!("seq 1 10000000 | head -c {BYTES}"), json!({"timeout_s": 0})).finish();
    assert_eq!((run.code, run.stdout.len()), (0, BYTES), "{:?}", run.json);
    assert!(run.stdout == lines(BYTES).into_bytes(), "not the bytes that were written");
    session.destroy();
}

fn two_sessions_at_once(daemon: &Daemon) {
    let clients: [Client; 2] = [daemon.client(), daemon.client()];
    let [mut one, mut other] = clients.map(create);
    let mut waits = one.stream("echo waiting; read line; echo \"got $line\"", json!({"open_stdin": true}));
    waits.wait_stdout("waiting");
    assert_eq!(other.run("echo meanwhile").out(), "meanwhile\n");
    waits.input("this\n");
    assert_eq!(waits.finish().out(), "waiting\ngot this\n");
    one.destroy();
    other.destroy();
}

fn a_terminal_lives_there(daemon: &Daemon) {
    let script = "echo begun; read line; echo \"got $line\"; read line";
    let mut terminal = daemon.terminal(json!({"runtime": "there", "argv": ["/bin/sh", "-c", script]}));
    terminal.wait("begun");
    terminal.enter("this");
    terminal.wait("got this");
    terminal.destroy();
}

fn files_are_those_of_there(daemon: &Daemon) {
    let mut session = create_with(daemon.client(), json!({"working_dir": "/tmp"}));
    let name = format!("file-{}", session.id);
    let at = json!({"session_id": session.id, "path": name});
    let written = merged(at.clone(), json!({"data": "written from here\n"}));
    session.client().ok("fs.write", written);
    assert_eq!(session.run(&format!("cat {name}; rm {name}")).out(), "written from here\n");
    session.client().refused("FILE_NOT_FOUND", "fs.read", at);
    session.destroy();
}
