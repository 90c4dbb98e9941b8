//! Tries of a process of a session to pass for one outside.

use std::process::Command;

use trl_testkit::{Daemon, Scratch, Shell, available, json, rounds};

use crate::{builder, on_an_older_kernel};

/// The program that tries; None without a C compiler.
fn program(dir: &Scratch) -> Option<String> {
    let source = dir.file("escape.c", include_str!("../escape.c"));
    let program = dir.text("escape");
    let made = Command::new("cc").args(["-O1", "-w", "-o", &program, &source]).status();
    available("a C compiler", made.is_ok_and(|made| made.success())).then_some(program)
}

/// More processes than a climb follows.
const DEEP: usize = 1100;

fn tries(short: usize) -> usize {
    rounds::long_tier().map_or(short, |_| short * 10)
}

fn script(daemon: &Daemon, program: &str, door: &str, how: &str, count: usize) -> String {
    format!("{program} {} {} {door} {how} {count}", daemon.socket().display(), daemon.operator_token())
}

/// Each way from a session and from a terminal, by each language of the socket.
fn nobody_gets_out(daemon: &Daemon, how: &str, count: usize) {
    let dir = Scratch::new();
    let Some(program) = program(&dir) else { return };
    let mut session = daemon.session(Shell::Dash);
    for door in ["lines", "http"] {
        let run = session.run_with(&script(daemon, &program, door, how, count), json!({"timeout_s": 100}));
        let said = run.out();
        assert!(run.code == 0 && said.contains(" 0 won: "), "{how} {door}: {said} {}", run.err());
        assert!(said.contains("FORBIDDEN") || said.contains("pinned_to"), "{how} {door}: {said}");
        assert!(how != "deep" || said.contains("nested less deeply"), "{how} {door}: {said}");
        let out = dir.text("said");
        let script = format!("{} >{out} 2>&1", script(daemon, &program, door, how, count));
        daemon.terminal_running(&script).ended();
        let said = std::fs::read_to_string(&out).expect("it said something");
        assert!(said.contains(" 0 won: "), "terminal {how} {door}: {said}");
        assert!(how != "deep" || said.contains("nested less deeply"), "terminal {how} {door}: {said}");
    }
}

#[test]
fn deep_nesting_hides_nobody() {
    nobody_gets_out(&builder().start(), "deep", DEEP);
}

#[test]
fn killing_ancestors_hides_nobody() {
    nobody_gets_out(&builder().start(), "killed", tries(50));
}

#[test]
fn dead_peers_hide_nobody() {
    nobody_gets_out(&builder().start(), "gone", tries(50));
}

/// What the kernel does not say is read from /proc.
mod on_an_older_kernel {
    use super::*;

    #[test]
    fn killing_ancestors_hides_nobody() {
        let dir = Scratch::new();
        nobody_gets_out(&builder().through(on_an_older_kernel(&dir)).start(), "killed", tries(50));
    }

    #[test]
    fn dead_peers_hide_nobody() {
        let dir = Scratch::new();
        nobody_gets_out(&builder().through(on_an_older_kernel(&dir)).start(), "gone", tries(50));
    }
}
