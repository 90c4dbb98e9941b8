//! Honest clients are outside, however they were started. Those of which that cannot be proven hear why.

use std::fs;
use std::process::Command;

use trl_testkit::daemon::pid_namespace;
use trl_testkit::process::adopt_orphans;
use trl_testkit::shell::SYSTEM_PATH;
use trl_testkit::{Daemon, Scratch, Value, available, eventually, json};

use crate::builder;

/// Runs `how` with a shell, in which `ASK` is a program that asks the daemon who it is; the answer.
fn ask(daemon: &Daemon, how: &str) -> String {
    adopt_orphans();
    let dir = Scratch::new();
    let (program, out) = (env!("CARGO_BIN_EXE_trl"), dir.text("answer"));
    let socket = daemon.socket();
    let script = format!(
        "#!/bin/sh\n{program} --socket {} call system.info >{out}.new 2>&1\nmv {out}.new {out}\n",
        socket.display()
    );
    let asker = dir.program("ask", &script);
    let how = how.replace("ASK", &asker).replace("DIR", &dir.text(""));
    let mut shell = Command::new("sh");
    shell.args(["-c", &how]).env_clear().env("PATH", SYSTEM_PATH).env("HOME", dir.path());
    // tmux runs commands by it, and some users have none that runs any
    shell.env("SHELL", "/bin/sh");
    assert!(shell.status().expect("sh").success(), "{how}");
    eventually("it has asked", || dir.join("answer").exists());
    fs::read_to_string(&out).expect("an answer")
}

fn assert_outside(how: &str, answer: &str) {
    let info: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{how}: {answer}"));
    assert_eq!((&info["role"], &info["pinned_to"]), (&json!("agent"), &Value::Null), "{how}");
}

/// As a shell, cron or a service manager, and a terminal multiplexer start programs.
const WAYS: [&str; 4] = [
    "ASK",
    "setsid sh -c 'ASK; :'",
    "( ( while kill -0 $$ 2>/dev/null; do :; done; exec setsid ASK ) & )",
    "tmux -S DIR/tmux -f /dev/null new-session -d ASK",
];

#[test]
fn honest_clients_are_let_in() {
    let daemon = builder().start();
    for how in WAYS {
        if !how.starts_with("tmux") || available("tmux", fs::exists("/usr/bin/tmux").is_ok_and(|here| here)) {
            assert_outside(how, &ask(&daemon, how));
        }
    }
}

/// The words that run a program where the daemon is process 1, as `docker exec` does.
fn entering(daemon: &Daemon) -> String {
    let pid = daemon.pid();
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).expect("a namespace");
    let own = namespace("self") == namespace(&pid.to_string());
    let user = if own { "" } else { "-U --preserve-credentials " };
    format!("nsenter -t {pid} {user}-m -p")
}

#[test]
fn container_exec_is_let_in() {
    if !available("pid namespaces", pid_namespace().is_some()) {
        return;
    }
    let daemon = builder().as_pid_1().start();
    let enter = entering(&daemon);
    for how in [format!("{enter} ASK"), format!("{enter} sh -c 'ASK; :'")] {
        assert_outside(&how, &ask(&daemon, &how));
    }
}

#[test]
fn orphans_of_a_container_hear_why_not() {
    if !available("pid namespaces", pid_namespace().is_some()) {
        return;
    }
    let daemon = builder().as_pid_1().start();
    let how =
        format!("{} sh -c '( while kill -0 $$ 2>/dev/null; do :; done; exec ASK ) & :'", entering(&daemon));
    let answer = ask(&daemon, &how);
    assert!(answer.contains("may belong to a session") && answer.contains("--init"), "{answer}");
}

/// Root can be anybody, and mount.
mod as_root {
    use std::os::unix::fs::chown;

    use trl_testkit::Sshd;

    use super::*;
    use crate::on_an_older_kernel;

    const NOBODY: u32 = 65534;

    #[test]
    fn logins_are_let_in() {
        let daemon = builder().start();
        let how = "su root -s /bin/sh -c 'ASK; :'";
        assert_outside(how, &ask(&daemon, how));
        let Some(sshd) = Sshd::start() else { return };
        let how = format!("ssh {} {} ASK", sshd.options().join(" "), sshd.target());
        assert_outside(&how, &ask(&daemon, &how));
    }

    /// What a client hears that is below a process of root's, where /proc hides those; and what `trl doctor` says.
    fn where_processes_are_hidden(through: &[String]) -> (String, String) {
        let dir = Scratch::new();
        for name in ["home", "config", "run"] {
            dir.dir(name);
        }
        fs::copy(env!("CARGO_BIN_EXE_trl"), dir.join("trl")).expect("a copy that everybody may run");
        dir.fifo("ready");
        let own = |name: &str| chown(dir.join(name), Some(NOBODY), Some(NOBODY)).expect("chown");
        ["", "home", "config", "run", "ready"].into_iter().for_each(own);
        let at = dir.path().display();
        let run = format!(
            "setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups env -i PATH={SYSTEM_PATH} HOME={at}/home \
             XDG_CONFIG_HOME={at}/config XDG_RUNTIME_DIR={at}/run"
        );
        let trl = format!("{} {at}/trl --socket {at}/run/trl.sock", through.join(" "));
        let script = format!(
            "mount -t proc -o hidepid=2 proc /proc && cd / || exit 1
             {run} sh -c 'exec {trl} serve >{at}/ready' & read line <{at}/ready
             sh -c '{run} {trl} call system.info; :' >{at}/info 2>&1
             {run} {trl} doctor >{at}/doctor 2>&1
             kill $!; wait"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["-mpf", "--kill-child", "sh", "-c", &script]).env_clear().env("PATH", SYSTEM_PATH);
        assert!(unshare.output().expect("unshare").status.success());
        let read = |name: &str| fs::read_to_string(dir.join(name)).expect("it said something");
        (read("info"), read("doctor"))
    }

    #[test]
    fn hidden_parents_are_seen_by_handles() {
        let (info, doctor) = where_processes_are_hidden(&[]);
        if available("Linux 6.13", doctor.contains("from the kernel's process handles")) {
            assert_outside("hidepid=2", &info);
        }
    }

    #[test]
    fn doctor_says_what_hides_parents() {
        let dir = Scratch::new();
        chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("chown");
        let (info, doctor) = where_processes_are_hidden(&on_an_older_kernel(&dir));
        assert!(info.contains("one of its parent processes cannot be seen"), "{info}");
        assert!(info.contains("trl doctor"), "{info}");
        assert!(doctor.contains("hides processes of other users") && doctor.contains("gid="), "{doctor}");
    }
}
