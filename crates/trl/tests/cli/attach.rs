//! `trl attach` on a real terminal: that of a second daemon.

use trl_testkit::{Daemon, Terminal, eventually, json};

use crate::daemon;

/// A terminal of `there` in which a person attaches to one of `daemon`.
fn attach(there: &Daemon, daemon: &Daemon, terminal: &str, more: &[&str]) -> Terminal {
    let (trl, socket) = (env!("CARGO_BIN_EXE_trl"), daemon.socket().to_string_lossy().into_owned());
    let argv: Vec<&str> = [&[trl, "--socket", &socket, "attach", terminal][..], more].concat();
    there.terminal(json!({"argv": argv, "cols": 90, "rows": 30}))
}

#[test]
fn a_person_types_sees_detaches_and_comes_back() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"name": "work"}));
    let mut person = attach(&there, &daemon, "work", &[]);
    eventually("the window decides", || work.info()["cols"] == 90 && work.info()["rows"] == 30);
    person.enter("echo $((6*7)); stty size");
    eventually("it is seen", || person.screen().contains("42") && person.screen().contains("30 90"));
    assert!(work.screen().contains("42"));
    person.ok("terminal.resize", json!({"cols": 70, "rows": 20}));
    eventually("a resize is passed on", || work.info()["cols"] == 70);
    person.input("\x1cd");
    eventually("detached", || person.info()["exit_code"] == 0);
    assert_eq!(work.info()["state"], "running");
    let mut again = attach(&there, &daemon, &work.id.clone(), &[]);
    eventually("the past is there again", || again.screen().contains("42"));
    again.enter("exit 5");
    eventually("its code is ours", || again.info()["exit_code"] == 5);
}

#[test]
fn a_full_screen_program_is_shown_as_it_is() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"argv": ["vim", "-u", "NONE"], "cols": 90, "rows": 30}));
    eventually("vim is up", || work.screen().contains("~"));
    work.input("ihello there\x1b");
    eventually("typed", || work.screen().contains("hello there"));
    let mut person = attach(&there, &daemon, &work.id.clone(), &[]);
    eventually("the same picture", || person.screen() == work.screen());
    assert_eq!(person.ok("terminal.screen", json!({}))["alternate"], true);
    person.input(":q!\r");
    eventually("it has ended", || person.info()["exit_code"] == 0);
}

#[test]
fn a_watcher_types_nothing_and_nothing_there_is_an_error() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({}));
    work.enter("echo seen");
    let mut watcher = attach(&there, &daemon, &work.id.clone(), &["--read-only"]);
    eventually("it is seen", || watcher.screen().contains("seen"));
    watcher.enter("echo typed");
    assert_eq!(work.info()["cols"], 80);
    watcher.input("\x1cd");
    eventually("detached", || watcher.info()["exit_code"] == 0);
    assert!(!work.screen().contains("typed"));
    let mut lost = attach(&there, &daemon, "nobody", &[]);
    eventually("it says so", || lost.info()["exit_code"] == 1 && lost.screen().contains("no terminal"));
}
