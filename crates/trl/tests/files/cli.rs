//! `trl fs` and `trl workspace`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use trl_testkit::{Daemon, Value};

use crate::daemon;

fn command(daemon: &Daemon, args: &[&str]) -> Command {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ok(daemon: &Daemon, args: &[&str]) -> String {
    let done = command(daemon, args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn changes_are_shown_as_they_come() {
    let daemon = daemon();
    let dir = ok(&daemon, &["workspace", "new", "w"]);
    let mut watch = command(&daemon, &["fs", "watch", "-w", "w", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    // Nothing says when it is watching, so something is changed until it is.
    let over = std::sync::atomic::AtomicBool::new(false);
    let first = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(format!("{}/f", dir.trim_end()), "x").unwrap();
                std::thread::yield_now();
            }
        });
        let first = lines.next().unwrap().unwrap();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        first
    });
    let push: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(push["changes"][0]["path"], "f");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// Not for remote runtimes: the files of a remote session have no HTTP routes.
mod local {
    use super::*;

    #[test]
    fn a_mistyped_workspace_is_not_made() {
        let daemon = daemon();
        let local = daemon.dir().file("local.txt", "text");
        ok(&daemon, &["workspace", "new", "project"]);
        let writers: [&[&str]; 4] = [
            &["fs", "put", "-w", "projcet", &local],
            &["fs", "mkdir", "-w", "projcet", "d"],
            &["fs", "mv", "-w", "projcet", "a", "b"],
            &["fs", "rm", "-w", "projcet", "a"],
        ];
        for args in writers {
            let done = command(&daemon, args).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(1), "{args:?}: {said}");
            assert!(
                said.contains("there is no workspace `projcet`") && said.contains("did you mean project?"),
                "{said}"
            );
        }
        assert!(!ok(&daemon, &["workspace", "ls"]).contains("projcet"));
    }

    #[test]
    fn files_are_put_shown_found_and_removed() {
        let daemon = daemon();
        let local = daemon.dir().file("local.txt", "one needle\n");
        let back = daemon.dir().text("back.txt");
        let made = ok(&daemon, &["workspace", "new", "w"]);
        assert!(made.trim_end().ends_with("/files/w"), "{made}");
        ok(&daemon, &["fs", "put", "-w", "w", "--parents", &local, "a/b.txt"]);
        assert_eq!(ok(&daemon, &["fs", "cat", "-w", "w", "a/b.txt"]), "one needle\n");
        ok(&daemon, &["fs", "get", "-w", "w", "a/b.txt", &back]);
        assert_eq!(fs::read(&back).unwrap(), b"one needle\n");
        assert_eq!(
            command(&daemon, &["fs", "get", "-w", "w", "a/b.txt", &back]).output().unwrap().status.code(),
            Some(1)
        );
        assert_eq!(ok(&daemon, &["fs", "glob", "-w", "w", "**/*.txt"]), "a/b.txt\n");
        assert_eq!(ok(&daemon, &["fs", "grep", "-w", "w", "needle"]), "a/b.txt:1:one needle\n");
        assert_eq!(
            command(&daemon, &["fs", "grep", "-w", "w", "nothing"]).output().unwrap().status.code(),
            Some(1)
        );
        ok(&daemon, &["fs", "mkdir", "-w", "w", "-p", "c/d"]);
        ok(&daemon, &["fs", "mv", "-w", "w", "a/b.txt", "c/b.txt"]);
        let list: Value =
            serde_json::from_str(&ok(&daemon, &["fs", "ls", "-w", "w", "--depth", "2", "--json"])).unwrap();
        let paths: Vec<&str> =
            list["entries"].as_array().unwrap().iter().filter_map(|e| e["path"].as_str()).collect();
        assert_eq!(paths, ["a", "c", "c/b.txt", "c/d"]);
        assert!(ok(&daemon, &["fs", "stat", "-w", "w", "c/b.txt"]).contains("size"));
        assert!(ok(&daemon, &["fs", "ls", "-w", "w"]).contains("c/"));
        ok(&daemon, &["fs", "rm", "-w", "w", "-r", "a", "c"]);
        assert!(ok(&daemon, &["workspace", "ls"]).contains('w'));
        let out = command(&daemon, &["fs", "cat", "-w", "w", "../x"]).output().unwrap();
        assert!(String::from_utf8_lossy(&out.stderr).contains("FILE_OUTSIDE_WORKSPACE"));
        let id = ok(&daemon, &["session", "new", "-w", "w"]);
        let mut put = command(&daemon, &["fs", "put", "-s", id.trim(), "-", "in"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        put.stdin.take().unwrap().write_all(b"piped").unwrap();
        assert!(put.wait().unwrap().success());
        assert_eq!(ok(&daemon, &["fs", "cat", "-w", "w", "in"]), "piped");
    }
}
