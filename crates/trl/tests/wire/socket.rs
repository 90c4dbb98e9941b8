//! The socket itself: who can reach it, and what a second daemon does.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use trl_testkit::process::{pidfd, readable, signal};
use trl_testkit::{Daemon, Shell, json};

use crate::daemon;

/// A daemon that has not given up by then is running.
const GIVES_UP_WITHIN: Duration = Duration::from_secs(15);

/// Tries to start another daemon on `socket`; it is expected to give up by itself.
fn another(daemon: &Daemon, socket: &Path) -> Output {
    let mut command = daemon.command();
    command.args(["serve", "--socket"]).arg(socket);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the binary runs");
    let pid = child.id().cast_signed();
    let gave_up = pidfd(pid).is_none_or(|fd| readable(&fd, GIVES_UP_WITHIN));
    if !gave_up {
        signal(pid, Signal::TERM);
    }
    let output = child.wait_with_output().expect("our child");
    assert!(gave_up, "it started on {}", socket.display());
    output
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_its_owner_can_reach_it() {
    let daemon = daemon();
    let mode = |path: &Path| fs::metadata(path).expect("it exists").mode() & 0o777;
    assert_eq!(mode(&daemon.socket()), 0o600);
    assert_eq!(mode(daemon.runtime_dir()), 0o700);
    let place =
        daemon.client().ok("system.info", json!({}))["runtime_dir"].as_str().expect("a path").to_string();
    assert_eq!(mode(Path::new(&place)), 0o700);
}

#[test]
fn a_second_daemon_is_refused_and_the_first_unharmed() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    session.run("keep=kept");
    let before = fs::metadata(daemon.socket()).expect("a socket").ino();
    let second = another(&daemon, &daemon.socket());
    assert!(!second.status.success());
    assert!(said(&second).contains(daemon.socket().to_str().expect("UTF-8")), "{}", said(&second));
    assert!(second.stdout.is_empty(), "it is not ready");
    assert_eq!(fs::metadata(daemon.socket()).expect("still there").ino(), before);
    assert_eq!(session.run("echo $keep").out(), "kept\n");
    daemon.client().ok("system.ping", json!({}));
}

#[test]
fn a_stale_socket_is_replaced() {
    let mut daemon = daemon();
    daemon.kill9();
    assert!(daemon.socket().exists(), "a killed daemon leaves its socket");
    daemon.relaunch();
    daemon.client().ok("system.ping", json!({}));
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let daemon = daemon();
    let dir = daemon.dir().dir("other");
    let file = dir.join("trl.sock");
    fs::write(&file, "precious").expect("a file");
    assert!(!another(&daemon, &file).status.success());
    assert_eq!(fs::read_to_string(&file).expect("still there"), "precious");
}

#[test]
fn a_directory_others_can_enter_is_refused() {
    let daemon = daemon();
    let open = daemon.dir().dir("open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("chmod");
    let link = daemon.dir().join("link");
    symlink(daemon.dir().dir("private"), &link).expect("a link");
    for dir in [open, link] {
        let output = another(&daemon, &dir.join("trl.sock"));
        assert!(!output.status.success(), "{}", dir.display());
        assert!(!said(&output).is_empty(), "it says why");
        assert!(!dir.join("trl.sock").exists());
    }
}

#[test]
fn the_ready_line_says_where() {
    let daemon = daemon();
    assert!(
        daemon.ready_line().contains(daemon.socket().to_str().expect("UTF-8")),
        "{}",
        daemon.ready_line()
    );
}
