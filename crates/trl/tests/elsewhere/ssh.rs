//! A machine behind `ssh`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trl_testkit::{Builder, Daemon, Scratch, Shell, Sshd, eventually, json};

use crate::{TRL, create, refusal, suite, with_runtime};

/// A daemon whose runtime `there` is that machine.
fn gateway(sshd: &Sshd) -> Builder {
    gateway_with(sshd, &sshd.options())
}

fn gateway_with(sshd: &Sshd, options: &[String]) -> Builder {
    with_runtime(&[("kind", json!("ssh")), ("target", json!(sshd.target())), ("options", json!(options))])
}

/// What is on the shelf of copied programs there, and how many of them are programs.
fn copies(sshd: &Sshd) -> Vec<String> {
    let entries = fs::read_dir(sshd.home().join(".cache/trl/bin")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn whatever_holds_here_holds_there() {
    let Some(sshd) = Sshd::start() else { return };
    let daemon = gateway(&sshd).start();
    suite::everything(&daemon);
}

#[test]
fn the_program_is_copied_once_and_what_is_not_whole_is_not_used() {
    let Some(sshd) = Sshd::start() else { return };
    let mut daemon = gateway(&sshd).start();
    create(daemon.client()).destroy();
    let [digest] = copies(&sshd).try_into().unwrap();
    let program = sshd.home().join(".cache/trl/bin").join(&digest).join("trl");
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(program.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let first = fs::metadata(&program).unwrap().modified().unwrap();
    daemon.stop();
    daemon.relaunch();
    create(daemon.client()).destroy();
    assert_eq!(fs::metadata(&program).unwrap().modified().unwrap(), first);
    assert_eq!(copies(&sshd), std::slice::from_ref(&digest));
    // Somebody cleans up there, while the daemon believes to know.
    fs::remove_dir_all(sshd.home().join(".cache")).unwrap();
    daemon.stop();
    daemon.relaunch();
    create(daemon.client()).destroy();
    assert_eq!(copies(&sshd), [digest]);
}

#[test]
fn every_login_shell_will_do_and_so_will_noise() {
    let Some(sshd) = Sshd::start() else { return };
    let shells = [Shell::Bash, Shell::Dash, Shell::Zsh, Shell::Fish];
    let mut keys: Vec<_> = shells
        .into_iter()
        .filter(|shell| trl_testkit::available(shell.name(), shell.program().is_some()))
        .map(|shell| sshd.key_with_shell(shell.name()))
        .collect();
    let noise = "echo Welcome; printf 'no end of line'; exec bash -c \"$SSH_ORIGINAL_COMMAND\"";
    keys.push(sshd.key("noisy", noise));
    for key in keys {
        eprintln!("- {}", key.display());
        let daemon = gateway_with(&sshd, &sshd.options_with(&key)).start();
        let mut session = create(daemon.client());
        assert_eq!(session.run("echo hello").out(), "hello\n");
        session.destroy();
    }
    assert_eq!(copies(&sshd).len(), 1);
}

#[test]
fn a_connection_that_breaks_is_made_again_and_nothing_is_lost() {
    let Some(sshd) = Sshd::start() else { return };
    let daemon = gateway(&sshd).start();
    let gate = Scratch::new();
    let go = gate.fifo("go");
    let mut session = create(daemon.client());
    let mut running = session.stream(&format!("echo before; read x <{go}; seq 1 100000"), json!({}));
    running.wait_stdout("before");
    let logins = sshd.logins();
    sshd.cut();
    let _open = gate.open_gate("go");
    let run = running.finish();
    assert!(
        run.out().starts_with("before\n1\n2\n") && run.out().ends_with("\n100000\n"),
        "{:.200}",
        run.out()
    );
    // By the way that was known: it did not have to be asked about again.
    eventually("it came back", || sshd.logins() == logins + 1);
    session.destroy();
}

#[test]
fn whoever_says_no_is_quoted() {
    let Some(sshd) = Sshd::start() else { return };
    let told = |options: &[String]| {
        let daemon = gateway_with(&sshd, options).start();
        let (stage, why) = refusal(daemon.client());
        assert_eq!(stage, "connect", "{why}");
        why
    };
    let options = sshd.options();
    let replaced = |from: &str, to: &str| -> Vec<String> {
        options
            .iter()
            .map(|word| if word.starts_with(from) { to.to_string() } else { word.clone() })
            .collect()
    };
    assert!(told(&sshd.options_with(&sshd.stranger())).contains("Permission denied (publickey)"));
    let unknown = told(&replaced("-oUserKnownHostsFile", "-oUserKnownHostsFile=/dev/null"));
    assert!(unknown.contains("Host key verification failed"), "{unknown}");
    let nobody = with_runtime(&[("kind", json!("ssh")), ("target", json!("no-such-host.invalid"))]).start();
    let (stage, why) = refusal(nobody.client());
    assert!(stage == "connect" && why.contains("Could not resolve hostname"), "{why}");
    let deaf = told(&[replaced("-oIdentitiesOnly", "-oPort=1"), vec![]].concat());
    assert!(deaf.contains("Connection refused"), "{deaf}");
    let mute = sshd.key("mute", "exit 0");
    assert_eq!(told(&sshd.options_with(&mute)), "it says nothing");
}

#[test]
fn another_machine_needs_another_program() {
    let Some(sshd) = Sshd::start() else { return };
    let uname = |says: &str| {
        let dir = sshd.dir().dir(&says.replace(' ', "-"));
        program(&dir, "uname", &format!("echo {says}"));
        let run = format!("PATH={}:$PATH exec sh -c \"$SSH_ORIGINAL_COMMAND\"", dir.display());
        let key = sshd.key(&format!("key-{}", says.replace(' ', "-")), &run);
        let daemon = gateway_with(&sshd, &sshd.options_with(&key)).start();
        refusal(daemon.client())
    };
    let (stage, why) = uname("Linux riscv64");
    let missing = Path::new(TRL).with_file_name("trl-riscv64-linux");
    assert_eq!(stage, "copy");
    assert!(why.contains("riscv64 machine") && why.contains(missing.to_str().unwrap()), "{why}");
    let (stage, why) = uname("Darwin arm64");
    assert_eq!(stage, "copy");
    assert!(why.contains("no Linux machine: Darwin arm64"), "{why}");
}

/// An executable script.
fn program(dir: &Path, name: &str, script: &str) {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_full_disk_there_is_told_and_nothing_is_left() {
    let Some(sshd) = Sshd::start() else { return };
    // No file may be larger than this, which the writer is told as a full disk is: by an error of its write.
    let key = sshd.key("full", "trap '' XFSZ; ulimit -f 2048; exec sh -c \"$SSH_ORIGINAL_COMMAND\"");
    let daemon = gateway_with(&sshd, &sshd.options_with(&key)).start();
    let (stage, why) = refusal(daemon.client());
    assert_eq!(stage, "copy");
    assert!(why.contains("File too large"), "{why}");
    assert_eq!(copies(&sshd), [] as [&str; 0]);
}

#[test]
fn an_installed_program_must_be_of_the_same_version() {
    let Some(sshd) = Sshd::start() else { return };
    let bin = sshd.dir().dir("bin");
    let run = format!("PATH={}:$PATH exec sh -c \"$SSH_ORIGINAL_COMMAND\"", bin.display());
    let options = sshd.options_with(&sshd.key("installed", &run));
    let daemon = gateway_with(&sshd, &options).set("runtimes.there", "binary", "\"installed\"").start();
    let (stage, why) = refusal(daemon.client());
    assert!(stage == "version" && why.contains("trl: not found"), "{why}");
    program(&bin, "trl", "echo trl 0.0.9");
    let (stage, why) = refusal(daemon.client());
    let ours = concat!("trl ", env!("CARGO_PKG_VERSION"));
    assert!(stage == "version" && why.contains("trl 0.0.9") && why.contains(ours), "{why}");
    fs::remove_file(bin.join("trl")).unwrap();
    std::os::unix::fs::symlink(TRL, bin.join("trl")).unwrap();
    create(daemon.client()).destroy();
    assert_eq!(copies(&sshd), [] as [&str; 0]);
}

#[test]
fn a_slow_copy_is_waited_for_as_long_as_it_goes_on() {
    let Some(sshd) = Sshd::start() else { return };
    let go = sshd.dir().text("go");
    let stalls =
        format!("case $SSH_ORIGINAL_COMMAND in *settle*) until [ -e {go} ]; do sleep 0.1; done;; esac");
    let key = sshd.key("slow", &format!("{stalls}; exec sh -c \"$SSH_ORIGINAL_COMMAND\""));
    let daemon: Daemon =
        gateway_with(&sshd, &sshd.options_with(&key)).set("runtimes", "connect_s", 3).start();
    let (stage, why) = refusal(daemon.client());
    assert!(stage == "copy" && why.contains("is being copied there"), "{stage}: {why}");
    sshd.dir().file("go", "");
    eventually("the copy is there", || {
        daemon.client().call("session.create", json!({"runtime": "there", "shell": "/bin/sh"})).is_ok()
    });
}
