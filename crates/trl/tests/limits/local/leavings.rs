//! No control group is left behind, whoever ends.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use trl_testkit::process::{below, signal};
use trl_testkit::{Shell, eventually, json};

use crate::{backend, daemon, session};

/// The groups of this daemon's place, wherever that is, by the name of its runtime directory.
fn groups(name: &str) -> Vec<PathBuf> {
    let dirs = |dir: &Path| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect::<Vec<_>>()
    };
    let place = format!("trl-{name}");
    let mut found = Vec::new();
    let mut queue = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = queue.pop() {
        if dir.components().any(|part| part.as_os_str() == place.as_str()) {
            found.push(dir.clone());
        }
        queue.extend(dirs(&dir));
    }
    found
}

fn name_of(daemon: &trl_testkit::Daemon) -> String {
    let info = daemon.client().ok("system.info", json!({}));
    let dir = PathBuf::from(info["runtime_dir"].as_str().expect("a path"));
    dir.file_name().expect("a name").to_string_lossy().into_owned()
}

/// A control group matters to these tests: a virtual machine with cgroup v2 repeats them.
mod groups {
    use super::*;

    #[test]
    fn the_next_daemon_cleans_up_after_a_killed_one() {
        let mut daemon = daemon();
        if backend(&daemon) == "rlimits" {
            return;
        }
        let name = name_of(&daemon);
        let mut session = session(&daemon, json!({"pids": 20}));
        session.run("sleep 1000 &");
        daemon.kill9();
        assert_ne!(groups(&name), Vec::<PathBuf>::new());
        daemon.relaunch();
        let mut again = daemon.session(Shell::Dash);
        assert_eq!(again.run("echo on").out(), "on\n");
        assert_eq!(groups(&name), Vec::<PathBuf>::new());
    }

    /// An ordinary user repeats these there, in a control group that was delegated to it.
    mod delegated {
        use super::*;

        #[test]
        fn a_session_takes_its_group_with_it() {
            let mut daemon = daemon();
            if backend(&daemon) == "rlimits" {
                return;
            }
            let name = name_of(&daemon);
            let settled = groups(&name).len();
            let mut sessions: Vec<_> = (0..3).map(|_| session(&daemon, json!({"pids": 20}))).collect();
            assert!(groups(&name).len() > settled, "{:?}", groups(&name));
            for session in &mut sessions {
                session.run("sleep 1000 &");
                session.destroy();
            }
            eventually("their groups are gone", || groups(&name).len() <= settled);
            daemon.stop();
            assert_eq!(groups(&name), Vec::<PathBuf>::new());
        }

        #[test]
        fn a_killed_keeper_takes_its_group_with_it() {
            let daemon = daemon();
            if backend(&daemon) == "rlimits" {
                return;
            }
            let name = name_of(&daemon);
            let mut session = session(&daemon, json!({"pids": 20}));
            session.run("true");
            let before = groups(&name);
            let shell = session.pid();
            let found = below(daemon.pid()).into_iter().find(|p| p.pid == shell).expect("the shell");
            let keeper = found.parent;
            signal(keeper, Signal::KILL);
            eventually("the shell is another", || session.run("echo on").out() == "on\n");
            eventually("there are as many groups as before", || groups(&name).len() <= before.len());
            assert_eq!(session.info()["limits"]["pids"], 20);
        }
    }
}
