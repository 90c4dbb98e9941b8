//! Finding a daemon, and what is said when there is none, or none that answers.

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Daemon, Shell, Terminal, eventually, json};

use crate::{command, daemon, heard, ok, said, trl};

#[test]
fn a_daemon_that_does_not_answer_is_not_waited_for() {
    let daemon = daemon();
    signal(daemon.pid(), Signal::STOP);
    let calls = [vec!["ping"], vec!["session", "ls"], vec!["run", "true"], vec!["call", "system.stats"]];
    let calls = calls.map(|args| command(&daemon, &args).spawn().expect("the binary runs"));
    let heard = calls.map(|child| heard(child.wait_with_output().expect("our child")));
    signal(daemon.pid(), Signal::CONT);
    for said in heard {
        assert!(matches!(said.code, 1 | 125), "{said:?}");
        assert!(said.err.contains("has not answered"), "{said:?}");
        assert!(said.err.contains(&daemon.pid().to_string()), "{said:?}");
    }
    ok(&daemon, &["ping"]);
}

#[test]
fn without_a_daemon_the_way_out_is_one_that_works() {
    let mut daemon = daemon();
    daemon.stop();
    for args in [vec!["ping"], vec!["run", "--no-autostart", "true"]] {
        let said = trl(&daemon, &args);
        assert!(said.err.contains("no daemon is running at"), "{said:?}");
        assert!(said.err.contains("hint: start one with `trl serve`\n"), "{said:?}");
    }
}

#[test]
fn a_path_no_socket_can_have_is_refused_by_both_sides() {
    let daemon = daemon();
    let dir = daemon.dir().join(&"d".repeat(110));
    let socket = dir.join("trl.sock");
    for args in [vec!["serve"], vec!["ping"], vec!["run", "true"]] {
        let said = said(daemon.command().arg("--socket").arg(&socket).args(&args));
        assert!(said.code != 0 && said.err.contains("a Unix socket may have 107"), "{said:?}");
    }
    assert!(!dir.exists(), "nothing was made for it");
}

/// A session has none of the variables that say where the daemon is.
#[test]
fn inside_a_session_the_daemon_must_be_named() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let binary = env!("CARGO_BIN_EXE_trl");
    for args in ["ping", "run true"] {
        let run = session.run_with(&format!("{binary} {args}"), json!({"env": {"TMPDIR": "/nonexistent"}}));
        assert!(run.code == 1 || run.code == 125, "{}", run.json);
        assert!(
            run.err().contains("inside a session") && run.err().contains("TRL_SOCKET_PATH"),
            "{}",
            run.err()
        );
    }
    let socket = daemon.socket();
    let env = json!({"TRL_SOCKET_PATH": socket.to_str().expect("UTF-8")});
    let run = session.run_with(&format!("{binary} ping"), json!({"env": env}));
    assert_eq!(run.code, 0, "{}", run.err());
}

#[test]
fn stopping_counts_its_sessions_well() {
    for (sessions, words) in [(0, "0 sessions"), (1, "1 session"), (2, "2 sessions")] {
        let mut daemon = daemon();
        for _ in 0..sessions {
            ok(&daemon, &["session", "new"]);
        }
        assert_eq!(ok(&daemon, &["stop"]), format!("stopped; {words} ended"));
        daemon.reap();
    }
}

#[test]
fn a_file_where_the_socket_should_be_is_left_alone() {
    let daemon = daemon();
    let dir = daemon.socket().parent().expect("a directory").to_path_buf();
    let file = dir.join("notes.txt");
    std::fs::write(&file, "mine").expect("a file");
    let said = said(daemon.command().arg("--socket").arg(&file).arg("serve"));
    assert!(said.code != 0, "{said:?}");
    assert!(
        said.err.contains("notes.txt is no socket") && said.err.contains("hint: choose another"),
        "{said:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "mine");
    assert!(!dir.join("notes.lock").exists(), "nothing was made for it");
}

#[test]
fn a_removed_lock_file_comes_back_with_the_daemons_pid() {
    let daemon = daemon();
    let lock = daemon.socket().with_extension("lock");
    let pid = format!("{}\n", daemon.pid());
    let holds = || std::fs::read_to_string(&lock).is_ok_and(|text| text == pid);
    assert!(holds());
    std::fs::remove_file(&lock).expect("a lock file");
    let said = said(daemon.command().arg("--socket").arg(daemon.socket()).arg("serve"));
    assert!(said.err.contains(&format!("process id {}", daemon.pid())), "{said:?}");
    assert!(holds(), "the one that came second has made it anew");
    std::fs::remove_file(&lock).expect("a lock file");
    trl_testkit::eventually("the daemon has made it anew", holds);
    ok(&daemon, &["ping"]);
}

#[test]
fn parameters_of_a_call_are_judged_by_the_daemon() {
    let daemon = daemon();
    let said = trl(&daemon, &["call", "session.list", r#"{"label":"a","label":"b"}"#]);
    assert!(said.code != 0 && said.err.contains("duplicate"), "{said:?}");
    ok(&daemon, &["call", "session.list", "{\n}\n"]);
}

/// `trl stop` on a real terminal: that of a second daemon.
fn stop(there: &Daemon, daemon: &Daemon, more: &[&str]) -> Terminal {
    let socket = daemon.socket().to_string_lossy().into_owned();
    let argv: Vec<&str> = [&[env!("CARGO_BIN_EXE_trl"), "--socket", &socket, "stop"][..], more].concat();
    let token = json!({"TRL_AUTH_TOKEN": daemon.operator_token()});
    there.terminal(json!({"argv": argv, "cols": 90, "secret_env": token}))
}

#[test]
fn stopping_asks_while_something_lives() {
    let there = daemon();
    let mut daemon = daemon();
    ok(&daemon, &["session", "new"]);
    ok(&daemon, &["term", "new", "--", "sleep", "1000"]);
    let mut person = stop(&there, &daemon, &[]);
    let question = "1 session and 1 terminal will end with the daemon. Stop it? [y/N]";
    eventually("it asks", || person.screen().contains(question));
    person.input("\r");
    eventually("it is left alone", || {
        person.info()["exit_code"] == 1 && person.screen().contains("not stopped")
    });
    ok(&daemon, &["ping"]);
    let mut person = stop(&there, &daemon, &[]);
    eventually("it asks again", || person.screen().contains(question));
    person.input("y\r");
    eventually("it stops", || person.info()["exit_code"] == 0);
    daemon.reap();
}

#[test]
fn stopping_asks_nobody_without_need() {
    let there = daemon();
    for (live, more) in [(true, &["--yes"][..]), (false, &[])] {
        let mut daemon = daemon();
        if live {
            ok(&daemon, &["session", "new"]);
        }
        let mut person = stop(&there, &daemon, more);
        eventually("it stops", || person.info()["exit_code"] == 0);
        assert!(!person.screen().contains("[y/N]"), "{}", person.screen());
        daemon.reap();
    }
}
