//! A daemon that a service manager starts: sockets handed over, word when it is ready, signs of life.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Builder, Client, Daemon, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl"))
}

/// Starts it as a service manager does: the socket is descriptor 3, and the variables name this very process.
fn start_with(listener: UnixListener, daemon: &Daemon) -> Child {
    let own = daemon.command();
    let mut shell = Command::new("sh");
    let script = "exec env LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=trl \"$0\" serve 3<&0 </dev/null";
    shell.args(["-c", script]).arg(own.get_program()).env_clear().current_dir("/");
    shell.envs(own.get_envs().filter_map(|(key, value)| Some((key, value?))));
    shell.stdin(OwnedFd::from(listener)).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

#[test]
fn a_socket_that_is_handed_over_is_served_and_left_as_it_was() {
    let mut daemon = builder().start();
    daemon.stop();
    let listener = UnixListener::bind(daemon.socket()).unwrap();
    let again = listener.try_clone().unwrap();
    // It comes before there is a daemon, and waits.
    let mut early = Client::connect(&daemon.socket());
    let asked = early.send("system.ping", json!({}));

    let mut first = start_with(listener, &daemon);
    let ready = first_line(&mut first);
    assert!(ready.contains(&format!("ready on {}", daemon.socket().display())), "{ready}");
    early.reply(asked).unwrap();
    let inherited = "env | grep -c -e LISTEN_ -e NOTIFY_ -e WATCHDOG_; ls -l /proc/$$/fd | grep -c trl.sock";
    let told = early.ok("exec.run", json!({"command": inherited}));
    assert_eq!(told["stdout"], "0\n0\n", "no program gets any of it");

    // A second one is refused for the lock, though the first was not the one who bound the address.
    let socket = daemon.socket();
    let second = daemon.command().args(["serve", "--socket"]).arg(&socket).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("already serves"), "{said}");

    signal(first.id().cast_signed(), Signal::TERM);
    assert!(first.wait().unwrap().success());
    assert!(socket.exists(), "it belongs to the service manager");

    // Which starts the next daemon with the same socket.
    let mut late = Client::connect(&socket);
    let asked = late.send("system.ping", json!({}));
    let mut third = start_with(again, &daemon);
    first_line(&mut third);
    late.reply(asked).unwrap();
    signal(third.id().cast_signed(), Signal::TERM);
    assert!(third.wait().unwrap().success());
}

#[test]
fn descriptors_meant_for_another_process_are_left_alone() {
    let daemon = builder().env("LISTEN_PID", "1").env("LISTEN_FDS", "3").start();
    daemon.client().ok("system.ping", json!({}));
}

#[test]
fn a_service_manager_hears_that_it_is_ready_lives_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let ear = UnixDatagram::bind(&path).unwrap();
    ear.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let hear = || {
        let mut word = [0; 64];
        let length = ear.recv(&mut word).expect("a word from the daemon");
        String::from_utf8_lossy(&word[..length]).into_owned()
    };
    let notify = path.to_str().unwrap();
    let mut daemon = builder().env("NOTIFY_SOCKET", notify).env("WATCHDOG_USEC", "20000").start();
    assert_eq!([hear(), hear(), hear()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    let told = daemon.client().ok("exec.run", json!({"command": "env | grep -c -e NOTIFY_ -e WATCHDOG_"}));
    assert_eq!(told["stdout"], "0\n");
    daemon.stop();
    let last = std::iter::repeat_with(hear).find(|word| word != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
}
