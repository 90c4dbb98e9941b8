//! Changes of size: the program hears of each, in order with what it writes.

use trl_testkit::json;

use crate::daemon;

#[test]
fn a_program_hears_of_a_new_size() {
    let daemon = daemon();
    let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done";
    let mut terminal = daemon.terminal_running(script);
    terminal.wait("ready");
    for (cols, rows) in [(100, 30), (33, 12), (200, 50)] {
        let info = terminal.ok("terminal.resize", json!({"cols": cols, "rows": rows}));
        assert_eq!((&info["cols"], &info["rows"]), (&json!(cols), &json!(rows)));
        let screen = terminal.ok("terminal.screen", json!({}));
        assert_eq!((&screen["cols"], &screen["rows"]), (&json!(cols), &json!(rows)));
        terminal.wait_line(&format!("{rows} {cols}"));
    }
}

#[test]
fn what_was_written_before_is_for_the_old_size() {
    let daemon = daemon();
    // One long line is wrapped at the size it was written for: 2 rows of 80, then 4 of 40, then 1 of 160.
    let script = "row() { printf \"%0$1d\\n\" 7; }; row 120; echo first; read a; row 120; echo second; read a; row 120; echo third; read a";
    let mut terminal = daemon.terminal_running(script);
    terminal.wait("first");
    terminal.ok("terminal.resize", json!({"cols": 40, "rows": 24}));
    terminal.enter("");
    terminal.wait("second");
    terminal.ok("terminal.resize", json!({"cols": 160, "rows": 24}));
    terminal.enter("");
    terminal.wait("third");
    let line = format!("{:0120}", 7);
    // A terminal that reflows joins what it had wrapped.
    assert_eq!(terminal.lines().iter().filter(|row| **row == line).count(), 3, "{}", terminal.screen());
}

#[test]
fn a_burst_of_sizes_ends_with_the_last() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("while :; do stty size; sleep 0.01; done");
    for cols in 20..120 {
        terminal.ok("terminal.resize", json!({"cols": cols, "rows": 25}));
    }
    terminal.ok("terminal.resize", json!({"cols": 77, "rows": 11}));
    terminal.wait_line("11 77");
    let snapshot = terminal.ok("terminal.snapshot", json!({}));
    assert_eq!((&snapshot["cols"], &snapshot["rows"]), (&json!(77), &json!(11)));
}
