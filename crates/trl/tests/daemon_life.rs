//! The daemon's own life and death: whatever ends it, nothing of it stays; whatever ends its helpers, it goes on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Stdio};

use rustix::process::Signal;
use trl_testkit::daemon::pid_namespace;
use trl_testkit::process::{self, Process, below, pidfd, signal, zombies_below};
use trl_testkit::{
    Builder, Daemon, Rounds, Session, Shell, Value, available, descendants, eventually, json, procs_matching,
    sleeper,
};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

/// Sessions busy in every way that has outlived a daemon before: asleep, spinning, deaf, detached, in the background.
fn busy_sessions(daemon: &Daemon) -> Vec<Session> {
    let nap = sleeper();
    let commands = [
        format!("echo up; {nap}"),
        "echo up; while :; do :; done".to_string(),
        "trap '' TERM HUP INT; echo up; while :; do :; done".to_string(),
        format!("setsid {nap} & (setsid sh -c '{nap}; {nap}' &); echo up; {nap}"),
        format!("trap '' TERM; nohup {nap} >/dev/null & echo up; {nap} | {nap}"),
        "echo up; exec sh -c 'kill -STOP $$'".to_string(),
    ];
    let mut sessions = Vec::new();
    for (i, command) in commands.iter().enumerate() {
        let shell = [Shell::Dash, Shell::Bash][i % 2];
        let mut session = daemon.session(shell);
        session.stream(command, json!({"timeout_s": 0})).wait_stdout("up\n");
        sessions.push(session);
    }
    // And one that is idle, with a job behind it.
    let mut idle = daemon.session(Shell::Bash);
    idle.run(&format!("{nap} & disown"));
    sessions.push(idle);
    sessions
}

/// Handles on everything below the daemon, taken while it lives.
fn handles(daemon: &Daemon) -> Vec<(Process, OwnedFd)> {
    let found = below(daemon.pid()).into_iter().filter(|p| !p.is_zombie());
    found.filter_map(|p| pidfd(p.pid).map(|fd| (p, fd))).collect()
}

fn assert_all_end(handles: &[(Process, OwnedFd)]) {
    for (process, fd) in handles {
        assert!(process::ends(fd), "outlived the daemon: {process:?}");
    }
}

fn fifos_below(dir: &Path) -> usize {
    use std::os::unix::fs::FileTypeExt;
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let count = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => fifos_below(&entry.path()),
        Ok(kind) => usize::from(kind.is_fifo()),
        Err(_) => 0,
    };
    entries.map(count).sum()
}

#[test]
fn killed_in_the_middle_it_leaves_no_process() {
    let mut daemon = builder().start();
    let _sessions = busy_sessions(&daemon);
    let handles = handles(&daemon);
    assert!(handles.len() > 12, "there is something to lose: {handles:?}");
    daemon.kill9();
    assert_all_end(&handles);
    daemon.assert_nothing_left();
}

#[test]
fn after_a_crash_it_starts_clean() {
    let mut daemon = builder().start();
    let sessions = busy_sessions(&daemon);
    assert!(fifos_below(daemon.runtime_dir()) > 0, "session directories are below the runtime directory");
    daemon.kill9();
    daemon.relaunch();
    assert_eq!(fifos_below(daemon.runtime_dir()), 0, "what the dead one left is gone");
    let mut client = daemon.client();
    assert_eq!(client.ok("system.stats", json!({}))["active_sessions"], 0);
    let old = &sessions[0].id;
    assert!(client.call("exec.run", json!({"session_id": old, "command": "true"})).is_err());
    assert_eq!(daemon.session(Shell::Dash).run("echo fine").out(), "fine\n");
}

#[test]
fn told_to_end_it_takes_everything_along() {
    let mut daemon = builder().start();
    let _sessions = busy_sessions(&daemon);
    let handles = handles(&daemon);
    let status = daemon.stop();
    assert!(status.success(), "{status}");
    assert_all_end(&handles);
    daemon.assert_nothing_left();
    assert!(!daemon.socket().exists(), "the socket is removed");
    assert_eq!(fifos_below(daemon.runtime_dir()), 0, "session directories are removed");
}

/// A daemon that is ending has removed its socket and still holds the lock.
#[test]
fn next_daemon_waits_for_the_lock() {
    let mut daemon = builder().start();
    daemon.stop();
    let socket = daemon.socket();
    let lock = std::fs::File::open(socket.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let mut next = daemon.command();
    next.args(["serve", "--socket"]).arg(&socket).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut next = next.spawn().unwrap();
    let fds = format!("/proc/{}/fd", next.id());
    eventually("it is at the lock", || {
        let entries = std::fs::read_dir(&fds).into_iter().flatten().flatten();
        entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|at| at.ends_with("trl.lock"))
    });
    assert!(next.try_wait().unwrap().is_none());
    lock.unlock().unwrap();
    let mut ready = String::new();
    BufReader::new(next.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("ready on"), "{ready}");
    signal(next.id().cast_signed(), Signal::TERM);
    assert!(next.wait().unwrap().success());
}

#[test]
fn interrupted_at_a_terminal_it_ends_as_well() {
    let mut daemon = builder().start();
    daemon.session(Shell::Dash).run("sleep 1000 &");
    signal(daemon.pid(), Signal::INT);
    daemon.reap();
    daemon.assert_nothing_left();
}

#[test]
fn the_process_table_says_whose_keeper_is_whose() {
    let daemon = builder().start();
    let mut sessions = [daemon.session(Shell::Dash), daemon.session(Shell::Bash)];
    for session in &mut sessions {
        let keeper = session.run("echo $PPID").out().trim().parse::<i32>().expect("a pid");
        let shown: Vec<String> =
            below(daemon.pid()).into_iter().filter(|p| p.pid == keeper).map(|p| p.cmdline).collect();
        assert_eq!(shown, [format!("trl-keeper {}", session.id)]);
    }
}

/// The one process the shell depends on, killed by the command itself.
#[test]
fn a_session_survives_the_loss_of_its_keeper() {
    let daemon = builder().start();
    let alone = descendants(daemon.pid()).len();
    for shell in [Shell::Dash, Shell::Bash] {
        let mut session = daemon.session_with(shell, json!({"env": {"GIVEN": "yes"}}));
        session.run("cd /usr");
        let nap = sleeper();
        let run = session.run(&format!("{nap} & kill -9 $PPID; {nap}"));
        assert_eq!(run.shell_state, "reset", "{}", run.json);
        assert!(!run.timed_out, "it is noticed at once");
        eventually("nothing of the old shell is left", || procs_matching(&nap).is_empty());
        assert_eq!(session.run("echo $GIVEN").out(), "yes\n");
        assert_eq!(session.state(), "idle");
        let run = session.run("exit 3");
        assert_eq!((run.code, run.shell_state.as_str()), (3, "rolled_back"));
        session.destroy();
    }
    eventually("no more than an empty daemon is left", || descendants(daemon.pid()).len() == alone);
}

#[test]
fn a_session_survives_its_keeper_while_idle() {
    let daemon = builder().start();
    let mut session = daemon.session(Shell::Bash);
    let keeper = session.run("echo $PPID").out().trim().parse::<i32>().expect("a pid");
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["shell.replaced"]}));
    signal(keeper, Signal::KILL);
    assert_eq!(watcher.event("shell.replaced")["shell_state"], "reset");
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

/// Commands run as the daemon's user and can signal any of its processes but must not take the other sessions along.
#[test]
fn a_command_that_kills_all_it_can_see_of_its_own_session_hurts_no_other() {
    let daemon = builder().start();
    let mut other = daemon.session(Shell::Dash);
    other.run("keep=kept");
    let mut session = daemon.session(Shell::Bash);
    session.run("for p in $PPID $$ $(cat /proc/$PPID/task/*/children); do kill -9 $p; done; sleep 5");
    assert_eq!(session.run("echo fine").out(), "fine\n");
    assert_eq!(other.run("echo $keep").out(), "kept\n");
}

struct Engine {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Engine {
    fn call(&mut self, method: &str, params: Value) -> Value {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{line}").expect("the engine reads");
        let mut reply = String::new();
        self.output.read_line(&mut reply).expect("the engine answers");
        serde_json::from_str::<Value>(&reply).expect("JSON")["result"].take()
    }
}

/// Every keeper comes from the zygote, so a command that stops it must not stop the daemon from making sessions.
#[test]
fn a_stopped_zygote_is_woken() {
    let daemon = builder().start();
    let mut session = daemon.session(Shell::Bash);
    let run = session.run("kill -STOP $(sed 's/.*) . //' /proc/$PPID/stat | cut -d' ' -f1)");
    assert_eq!(run.code, 0, "{}", run.err());
    for _ in 0..3 {
        assert_eq!(daemon.session(Shell::Dash).run("echo up").out(), "up\n");
    }
}

#[test]
fn a_private_engine_ends_with_its_input() {
    process::adopt_orphans();
    let daemon = builder().start(); // only for its environment: the engine is another
    let mut child = daemon
        .command()
        .arg("stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut engine =
        Engine { input: child.stdin.take(), output: BufReader::new(child.stdout.take().expect("piped")) };
    let nap = sleeper();
    let run = engine.call("exec.run", json!({"command": "echo hello"}));
    assert_eq!(run["stdout"], "hello\n");
    let made = engine.call("session.create", json!({}));
    let params = json!({"session_id": made["session_id"], "command": format!("setsid {nap} & echo up")});
    assert_eq!(engine.call("exec.run", params)["stdout"], "up\n");
    eventually("the child is up", || !procs_matching(&nap).is_empty());
    let handles: Vec<OwnedFd> = descendants(child.id().cast_signed()).into_iter().filter_map(pidfd).collect();
    drop(engine.input.take());
    assert!(child.wait().expect("our child").success());
    assert!(handles.iter().all(process::ends));
    assert!(procs_matching(&nap).is_empty());
    assert_eq!(
        daemon.client().ok("system.stats", json!({}))["active_sessions"],
        0,
        "the daemon was not involved"
    );
}

mod soak {
    use super::*;

    #[test]
    fn told_to_end_while_sessions_start_it_leaves_none() {
        for _ in Rounds::new(5) {
            let mut daemon = builder().start();
            let mut client = daemon.client();
            for _ in 0..8 {
                client.send("session.create", json!({"shell": "/bin/sh"}));
            }
            let status = daemon.stop();
            assert!(status.success(), "{status}");
            daemon.assert_nothing_left();
        }
    }

    #[test]
    fn as_process_1_it_reaps_what_falls_to_it() {
        if !available("a pid namespace (unshare)", pid_namespace().is_some()) {
            return;
        }
        let daemon = builder().as_pid_1().start();
        let mut session = daemon.session(Shell::Dash);
        assert_eq!(daemon.client().ok("system.info", json!({}))["pid"], 1);
        for _ in Rounds::new(20) {
            session.run("for i in 1 2 3 4 5; do (setsid sh -c 'sh -c : & exit 0' &); done");
        }
        eventually("no zombie stays", || zombies_below(daemon.pid()).is_empty());
        session.run("kill -9 $$");
        session.run("(sh -c 'sleep 0.01 &' &)");
        eventually("but the reserved pid of a lost shell", || zombies_below(daemon.pid()).len() <= 1);
        session.destroy();
        eventually("and that goes with the session", || zombies_below(daemon.pid()).is_empty());
    }
}
