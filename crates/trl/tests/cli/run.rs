//! `trl run`: codes, notes on stderr, and ^C.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

use rustix::process::Signal;
use trl_testkit::process::{signal, wait_gone};
use trl_testkit::{Daemon, Shell, eventually, json, procs_matching, sleeper};

use crate::{builder, command, daemon, ok, trl};

const ROLLED_BACK: &str = "trl: the shell ended; its state from before this command is back\n";

#[test]
fn a_lost_shell_is_told_where_the_session_goes_on() {
    let daemon = daemon();
    ok(&daemon, &["session", "new", "--name", "work"]);
    let said = trl(&daemon, &["run", "-s", "work", "echo out; echo err >&2; exit 3"]);
    assert_eq!((said.code, said.out.as_str()), (3, "out\n"));
    assert_eq!(said.err, format!("err\n{ROLLED_BACK}"));
    let quiet = trl(&daemon, &["run", "-q", "-s", "work", "exit 3"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (3, ""));
    let kept = trl(&daemon, &["run", "-s", "work", "false"]);
    assert_eq!((kept.code, kept.err.as_str()), (1, ""));
    let thrown_away = trl(&daemon, &["run", "exit 3"]);
    assert_eq!((thrown_away.code, thrown_away.err.as_str()), (3, ""));
    let reset = trl(&daemon, &["run", "-s", "work", "kill -9 $PPID; sleep 1000"]);
    assert!(reset.err.contains("a fresh one took its place"), "{reset:?}");
}

#[test]
fn a_timeout_says_which_limit() {
    let daemon = daemon();
    let said = trl(&daemon, &["run", "--timeout", "300ms", "sleep 1000"]);
    assert_eq!(said.code, 124);
    assert!(
        said.err.starts_with("trl: timed out after ") && said.err.ends_with("(limit 0.3 s)\n"),
        "{said:?}"
    );
    ok(&daemon, &["session", "new", "--name", "short", "--timeout", "300ms"]);
    let said = trl(&daemon, &["run", "-s", "short", "sleep 1000"]);
    assert!(said.err.contains("(the default limit; --timeout sets another)\n"), "{said:?}");
    assert!(said.err.ends_with(ROLLED_BACK), "{said:?}");
}

#[test]
fn a_timeout_has_the_range_of_the_wire() {
    let daemon = daemon();
    assert_eq!(ok(&daemon, &["run", "--timeout", "366d", "echo up"]), "up");
    let said = trl(&daemon, &["run", "--timeout", "367d", "echo up"]);
    assert!(said.code == 2 && said.err.contains("longer than 366 days"), "{said:?}");
}

/// A `trl run` in the foreground of somebody's terminal.
struct Typed {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Typed {
    fn start(daemon: &Daemon, args: &[&str]) -> Self {
        let mut child = command(daemon, args).spawn().expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_string()
    }

    fn press_ctrl_c(&self) {
        signal(self.pid(), Signal::INT);
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn code(mut self) -> i32 {
        wait_gone(self.pid());
        self.child.wait().expect("our child").code().expect("it exits")
    }
}

/// Whether that very program runs: its shell, and `trl run`, have the words in their own arguments.
fn asleep(sleep: &str) -> bool {
    procs_matching(sleep)
        .into_iter()
        .any(|pid| std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == b"sleep\n"))
}

/// The loops here start no process: dash forgets a signal that comes while it starts one.
#[test]
fn the_first_interrupt_is_the_commands_own() {
    let daemon = daemon();
    let text = "trap 'echo got; exit 7' INT; echo up; while :; do :; done";
    let mut typed = Typed::start(&daemon, &["run", text]);
    assert_eq!(typed.line(), "up");
    typed.press_ctrl_c();
    assert_eq!(typed.line(), "got");
    assert_eq!(typed.code(), 7);
    let sleep = sleeper();
    let mut typed = Typed::start(&daemon, &["run", &format!("{sleep}; echo not reached")]);
    eventually("it sleeps", || asleep(&sleep));
    typed.press_ctrl_c();
    assert_eq!((typed.line().as_str(), typed.code()), ("", 130));
}

#[test]
fn the_second_interrupt_cancels() {
    let daemon = daemon();
    let text = "trap 'echo int' INT; echo up; while :; do :; done";
    let mut typed = Typed::start(&daemon, &["run", text]);
    assert_eq!(typed.line(), "up");
    typed.press_ctrl_c();
    assert_eq!(typed.line(), "int");
    typed.press_ctrl_c();
    assert_eq!(typed.code(), 130);
    let list = daemon.client().ok("exec.list", json!({}));
    assert_eq!(list["executions"][0]["status"], "done");
}

#[test]
fn the_third_interrupt_leaves() {
    let mut daemon = builder().set("exec", "grace_s", 1000).start();
    let text = "trap 'echo int' INT; trap 'echo term' TERM; echo up; while :; do :; done";
    let mut typed = Typed::start(&daemon, &["run", text]);
    for heard in ["up", "int", "term"] {
        assert_eq!(typed.line(), heard);
        typed.press_ctrl_c();
    }
    assert_eq!(typed.code(), 130);
    daemon.kill9();
}

#[test]
fn an_interrupt_takes_a_waiting_command_out_of_the_queue() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Dash, json!({"name": "work"}));
    let running = session.start("sleep 1000", json!({}));
    let execution = session.running();
    let typed = Typed::start(&daemon, &["run", "-s", "work", "--queue", "echo not reached"]);
    let mut client = daemon.client();
    eventually("it waits", || client.ok("exec.list", json!({}))["executions"][1]["status"] == "queued");
    typed.press_ctrl_c();
    assert_eq!(typed.code(), 130);
    client.ok("exec.cancel", json!({"execution_id": execution}));
    assert!(session.finish(running).expect("a result").cancelled);
}
