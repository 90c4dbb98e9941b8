//! When the machine is short of memory. It never is in a test, so the daemon is shown another machine's figures.

use std::process::{Command, Stdio};

use trl_testkit::{Builder, Scratch, Shell, eventually, json};

use crate::MIB;

/// A way to see other files than everybody else; None when this machine does not let us.
fn own_mounts() -> Option<&'static str> {
    ["-m", "-rm"].into_iter().find(|flags| {
        let mut probe = Command::new("unshare");
        let probe = probe.args([flags, "mount", "--bind", "/proc/version", "/proc/meminfo"]);
        probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    })
}

fn meminfo(available: u64) -> String {
    format!("MemTotal: 8000000 kB\nMemFree: 1000 kB\nMemAvailable: {} kB\n", available / 1024)
}

#[test]
fn sessions_at_rest_make_room_and_the_daemon_goes_on() {
    let Some(flags) = own_mounts() else { return };
    let scratch = Scratch::new();
    let figures = scratch.text("meminfo");
    let show = |available: u64| scratch.file("meminfo", meminfo(available));
    show(1000 * MIB);
    let binary = env!("CARGO_BIN_EXE_trl");
    let script = format!(
        "#!/bin/sh\nexec unshare {flags} sh -c 'mount --bind {figures} /proc/meminfo && exec {binary} \"$@\"' sh \"$@\"\n"
    );
    let wrapper = scratch.program("trl", &script);
    let daemon = Builder::new(wrapper).set("machine", "min_free_memory_bytes", 64 * MIB).start();
    let mut working = daemon.session(Shell::Dash);
    working.run("sleep 97531 >/dev/null 2>&1 & job=$!");
    let mut idle = daemon.session(Shell::Dash);
    idle.run("cd /usr");
    let mut busy = daemon.session(Shell::Dash);
    let running = busy.start("sleep 3; echo done", json!({}));
    show(10 * MIB);
    eventually("the idle one is closed", || idle.state() == "closed");
    // It has done nothing for longer, and would have been the first.
    assert_eq!(working.state(), "idle", "who has left something running does not rest");
    let error = daemon.client().call("session.create", json!({})).expect_err("refused");
    assert_eq!(error.code, "RESOURCE_PRESSURE", "{}", error.json);
    assert_eq!(busy.finish(running).expect("a result").out(), "done\n", "who works is left alone");
    assert_eq!(working.run("kill $job && echo alive").out(), "alive\n");
    show(1000 * MIB);
    let id = idle.id.clone();
    eventually("it can be opened again", || {
        idle.client().call("session.get", json!({"session_id": id})).is_ok()
    });
    assert_eq!(idle.run("pwd").out(), "/usr\n");
}

#[test]
fn programs_are_ended_before_the_daemon() {
    let daemon = crate::daemon();
    let mut session = daemon.session(Shell::Dash);
    let score = |pid: i32| -> i32 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("a score");
        text.trim().parse().expect("a number")
    };
    let keeper = trl_testkit::process::parent(session.pid()).expect("a keeper");
    assert!(score(session.pid()) > score(keeper) && score(keeper) > score(daemon.pid()));
}
