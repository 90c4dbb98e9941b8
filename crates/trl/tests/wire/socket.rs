//! The socket itself: who can reach it, and what a second daemon does.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use trl_testkit::process::{pidfd, readable, signal};
use trl_testkit::{Client, Daemon, Shell, eventually, json};

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
    assert!(said(&second).contains(&format!("kill {}`", daemon.pid())), "{}", said(&second));
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

/// Until the daemon answers at its path.
fn comes_back(daemon: &Daemon) -> Client {
    eventually("the socket is there again", || Client::try_connect(&daemon.socket()).is_ok());
    daemon.client()
}

#[test]
fn a_removed_socket_comes_back() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    session.run("keep=kept");
    fs::remove_file(daemon.socket()).expect("a socket");
    comes_back(&daemon).ok("system.ping", json!({}));
    fs::remove_file(daemon.socket()).expect("a socket");
    fs::remove_file(daemon.socket().with_extension("lock")).expect("a lock");
    let mut client = comes_back(&daemon);
    let run = client.ok("exec.run", json!({"session_id": session.id, "command": "echo $keep"}));
    assert_eq!(run["stdout"], "kept\n");
    assert!(!another(&daemon, &daemon.socket()).status.success(), "the lock came back as well");
}

#[test]
fn a_daemon_that_lost_its_place_leaves_it_to_its_successor() {
    let mut first = daemon();
    let socket = first.socket();
    signal(first.pid(), Signal::STOP);
    fs::remove_file(&socket).expect("a socket");
    fs::remove_file(socket.with_extension("lock")).expect("a lock");
    let mut second = first.command();
    // the records are still the first one's
    second.args(["serve", "--data-dir"]).arg(first.dir().dir("other-data"));
    second.arg("--socket").arg(&socket).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut second = second.stderr(Stdio::null()).spawn().expect("the binary runs");
    let mut ready = String::new();
    BufReader::new(second.stdout.as_mut().expect("piped")).read_line(&mut ready).expect("UTF-8");
    assert!(ready.contains("ready on"), "{ready}");
    signal(first.pid(), Signal::CONT);
    eventually("the first notices", || first.log().contains("cannot be made again"));
    assert!(first.stop().success());
    let info = Client::connect(&socket).ok("system.info", json!({}));
    assert_eq!(info["pid"], second.id());
    signal(second.id().cast_signed(), Signal::TERM);
    assert!(second.wait().expect("our child").success());
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
