//! Signals that we are sent are the command's.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout};

use rustix::process::Signal;
use trl_testkit::process::{signal, wait_gone};
use trl_testkit::{Daemon, eventually, procs_matching, sleeper};

use super::{bash, daemon};

/// One that runs, and has said so.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn start(daemon: &Daemon, text: &str) -> Self {
        let mut child = bash(daemon, text).process_group(0).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        Self { child, out }
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// What it still said, its code and its signal.
    fn end(mut self) -> (String, Option<i32>, Option<i32>) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        (rest, status.code(), status.signal())
    }
}

#[test]
fn a_signal_ends_the_command_and_us_the_same_way() {
    let daemon = daemon();
    for (number, then) in [
        (Signal::INT, "; echo not here"),
        (Signal::TERM, "; echo not here"),
        (Signal::HUP, "; echo not here"),
        (Signal::USR1, "; echo not here"),
        // which bash itself is deaf to
        (Signal::QUIT, ""),
    ] {
        let sleep = sleeper();
        let running = Running::start(&daemon, &format!("echo up; {sleep}{then}"));
        eventually("it sleeps", || !procs_matching(&sleep).is_empty());
        signal(running.pid(), number);
        assert_eq!(running.end(), (String::new(), None, Some(number.as_raw())));
        procs_matching(&sleep).into_iter().for_each(wait_gone);
    }
}

#[test]
fn a_signal_that_is_trapped_is_the_commands_own_business() {
    let daemon = daemon();
    let running =
        Running::start(&daemon, "trap 'echo heard; exit 3' TERM; echo up; while :; do sleep 0.05; done");
    signal(running.pid(), Signal::TERM);
    assert_eq!(running.end(), ("heard\n".into(), Some(3), None));
}

/// The whole group, as agents do.
#[test]
fn what_is_killed_takes_everything_with_it() {
    let daemon = daemon();
    let sleep = sleeper();
    let running = Running::start(&daemon, &format!("{sleep} & echo up; {sleep}"));
    eventually("both sleep", || procs_matching(&sleep).len() >= 2);
    let group = rustix::process::Pid::from_raw(running.pid()).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    assert_eq!(running.end().2, Some(9));
    eventually("both are gone", || procs_matching(&sleep).is_empty());
}

#[test]
fn what_is_ignored_stays_ignored() {
    let daemon = daemon();
    let mut nohup = super::there(&daemon, "/usr/bin/nohup");
    nohup.arg(super::links(&daemon).join("bash")).args(["-c", "echo up; read line; echo on"]);
    let (read, write) = std::io::pipe().unwrap();
    let mut child = nohup.stdin(read).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    signal(child.id().cast_signed(), Signal::HUP);
    drop(write);
    out.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), child.wait().unwrap().code()), ("up\non\n", Some(0)));
}

/// ^Z and `fg`.
#[test]
fn stopping_us_stops_it_and_it_goes_on_with_us() {
    let daemon = daemon();
    let running = Running::start(&daemon, "echo up; while :; do sleep 0.01; done");
    let pid = running.pid();
    let state = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').map(|(_, rest)| rest.trim_start()[..1].to_string()).unwrap_or_default()
    };
    let list = || daemon.client().ok("session.list", trl_testkit::json!({}));
    let shell = list()["sessions"][0]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let shell = shell.unwrap_or_else(|| procs_matching("while :; do sleep 0.01; done")[0]);
    signal(pid, Signal::TSTP);
    eventually("we stand still", || state(pid) == "T");
    eventually("it stands still", || state(shell) == "T");
    signal(pid, Signal::CONT);
    eventually("it goes on", || state(shell) != "T");
    signal(pid, Signal::TERM);
    assert_eq!(running.end().2, Some(15));
}
