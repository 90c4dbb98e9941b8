//! How a program ended is told as it was, and nothing it wrote is lost.

use rustix::process::Signal;
use trl_testkit::{eventually, json, procs_matching, sleeper, wait_gone};

use crate::daemon;

#[test]
fn codes_and_signals_are_told_apart() {
    let daemon = daemon();
    for (script, code, signal) in [
        ("exit 0", 0, None),
        ("exit 7", 7, None),
        ("exit 137", 137, None),
        ("kill -9 $$", 137, Some("KILL")),
        ("kill -SEGV $$", 139, Some("SEGV")),
        ("kill -TERM $$", 143, Some("TERM")),
    ] {
        let info = daemon.terminal_running(script).ended();
        assert_eq!((info["exit_code"].as_i64(), info["signal"].as_str()), (Some(code), signal), "{script}");
        assert_eq!(info["ended"], "its program ended");
        assert!(info.get("pid").is_none(), "{info}");
    }
}

#[test]
fn the_end_is_an_event() {
    let daemon = daemon();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["terminal.created", "terminal.ended"]}));
    let terminal = daemon.terminal_running("exit 7");
    let created = watcher.event("terminal.created");
    assert_eq!((&created["terminal_id"], &created["shell"]), (&json!(terminal.id), &json!("/bin/sh")));
    let ended = watcher.event("terminal.ended");
    assert_eq!((&ended["terminal_id"], &ended["exit_code"]), (&json!(terminal.id), &json!(7)));
    assert_eq!(ended["reason"], "its program ended");
}

#[test]
fn a_burst_before_the_end_is_all_there() {
    let daemon = daemon();
    // Without the terminal's own \r the bytes are those that were written.
    for (count, width) in [(1u64, 1u64), (400, 100), (30_000, 100)] {
        let script = format!("stty -opost; seq -f '%0{width}.0f' 1 {count}; printf '\\r\\nthe last line'");
        let mut terminal = daemon.terminal_running(&script);
        let info = terminal.ended();
        assert_eq!(info["exit_code"], 0);
        assert_eq!(info["head"], count * (width + 1) + 15, "{count} lines");
        assert!(terminal.screen().contains("the last line"), "{}", terminal.screen());
    }
}

#[test]
fn little_memory_makes_no_gap_in_the_picture() {
    let short = crate::builder().set("output", "total_bytes", 1024).start();
    let small = crate::builder().set("terminals", "ring_bytes", "\"256KiB\"").start();
    for daemon in [short, small] {
        // Each line moves the region it is in by one; a lost byte shows in the count at the end.
        let mut terminal = daemon.terminal_running(
            "i=0; while [ $i -lt 9 ]; do printf '\\033[%d;1H' $((i+1)); seq -s ' ' 1 9000 | tr -d '\\n'; i=$((i+1)); done; \
             printf '\\033[2J\\033[H'; printf '\\033[1mbold'; seq -s, 1 20; printf 'the last line'",
        );
        let info = terminal.ended();
        assert!(info["head"].as_u64().is_some_and(|head| head > 300_000), "{info}");
        let screen = terminal.ok("terminal.screen", json!({}));
        assert_eq!(screen["offset"], info["head"]);
        let lines = terminal.lines();
        assert!(lines[0].starts_with("bold1,2,3,4") && lines[1] == "the last line", "{lines:?}");
    }
}

#[test]
fn many_short_ones_lose_nothing() {
    let daemon = daemon();
    for round in 0..40 {
        let mut terminal = daemon.terminal_running(&format!("stty -opost; printf 'round {round}.'"));
        terminal.ended();
        assert_eq!(terminal.lines(), [format!("round {round}.")]);
    }
}

#[test]
fn a_background_process_does_not_keep_it() {
    let daemon = daemon();
    for wrap in ["", "setsid ", "nohup "] {
        let nap = sleeper();
        // It is up, and has the terminal open, before the shell ends.
        let script =
            format!("{wrap}sh -c 'trap \"\" HUP; echo up >up; exec {nap}' & while ! [ -e up ]; do :; done");
        let dir = daemon.dir().dir(&format!("bg{}", wrap.trim()));
        let mut terminal = daemon.terminal(json!({"argv": ["/bin/sh", "-c", script], "working_dir": dir}));
        let info = terminal.ended();
        assert_eq!((&info["exit_code"], &info["ended"]), (&json!(0), &json!("its program ended")), "{wrap}");
        assert!(procs_matching(&nap).is_empty(), "{wrap}");
    }
}

#[test]
fn an_ended_terminal_stays_readable_and_takes_nothing() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("printf '\\033]0;a title\\007\\033[1mlast words'; exit 4");
    terminal.ended();
    assert_eq!(terminal.lines(), ["last words"]);
    assert!(String::from_utf8_lossy(&terminal.snapshot()).contains("last words"));
    assert_eq!(terminal.ok("terminal.screen", json!({}))["title"], "a title");
    trl_testkit::eventually("its title is known", || terminal.info()["title"] == "a title");
    for (method, extra) in [
        ("terminal.input", json!({"data": "x"})),
        ("terminal.resize", json!({"cols": 90, "rows": 30})),
        ("terminal.signal", json!({"signal": "INT"})),
        ("terminal.keep", json!({})),
    ] {
        assert_eq!(terminal.call(method, extra).expect_err(method).code, "SESSION_TERMINATED");
    }
    // Destroying it only makes it forgotten.
    assert_eq!(terminal.destroy()["exit_code"], 4);
    let refused = terminal.call("terminal.get", json!({})).expect_err("forgotten");
    assert_eq!(refused.code, "TERMINAL_NOT_FOUND");
}

#[test]
fn ended_ones_are_forgotten_in_time() {
    let daemon = crate::builder().set("sessions", "terminated_ttl_s", 0.2).start();
    let mut living = daemon.terminal(json!({}));
    let mut terminal = daemon.terminal_running("true");
    trl_testkit::eventually("it is forgotten", || {
        terminal.call("terminal.get", json!({})).is_err_and(|e| e.code == "TERMINAL_NOT_FOUND")
    });
    assert_eq!(living.info()["state"], "running");
}

#[test]
fn a_killed_keeper_ends_it_with_a_reason() {
    let daemon = daemon();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["terminal.ended"]}));
    let nap = sleeper();
    let mut terminal = daemon.terminal_running(&format!("echo up; setsid {nap} & {nap}"));
    terminal.wait("up");
    let program = terminal.pid();
    let keeper = procs_matching(&format!("trl-keeper {}", terminal.id));
    assert_eq!(keeper.len(), 1);
    trl_testkit::process::signal(keeper[0], Signal::KILL);
    let ended = watcher.event("terminal.ended");
    assert_eq!(ended["reason"], "its keeper was killed");
    wait_gone(program);
    trl_testkit::eventually("its processes end", || procs_matching(&nap).is_empty());
    assert_eq!(terminal.ended()["ended"], "its keeper was killed");
    // The others, and the next, are none the worse.
    let mut next = daemon.terminal_running("echo fine");
    next.ended();
    assert_eq!(next.lines(), ["fine"]);
}

#[test]
fn input_that_nobody_reads_any_more_does_not_keep_a_terminal_alive() {
    let daemon = daemon();
    let lines = "yyyyyyy\r".repeat(12_500);
    let mut destroyed = daemon.terminal_running("exec sleep 1000");
    destroyed.input(&lines);
    destroyed.ok("terminal.destroy", json!({}));
    let mut ended = daemon.terminal_running("exec sleep 0.5");
    ended.input(&lines);
    eventually("it has ended by itself", || ended.info()["state"] == "exited");
}
