//! Full-screen programs and prompts, driven by what an agent has: input and the screen.

use std::path::Path;

use trl_testkit::{available, eventually, json};

use crate::daemon;

#[test]
fn vim_edits_a_file() {
    let vim = "/usr/bin/vim";
    if !available("vim", Path::new(vim).exists()) {
        return;
    }
    let daemon = daemon();
    let file = daemon.dir().file("poem.txt", "roses are red\n");
    let mut terminal = daemon.terminal(json!({"argv": [vim, "-u", "NONE", "-N", file]}));
    terminal.wait("roses are red");
    // What is shown comes in pieces, and the cursor last.
    let mut screen = json!({});
    eventually("the cursor is at the beginning", || {
        screen = terminal.ok("terminal.screen", json!({"format": "json"}));
        (&screen["cursor"]["col"], &screen["cursor"]["row"]) == (&json!(0), &json!(0))
    });
    assert_eq!(screen["alternate"], true);
    assert!(screen["lines"].as_array().is_some_and(|rows| rows.len() == 24), "{screen:.300}");
    terminal.input("oviolets are blue\x1b");
    terminal.wait_line("violets are blue");
    terminal.input("ggfr~");
    terminal.wait_until("the third letter of line one changed", |s| s.contains("roses aRe red"));
    terminal.enter(":wq");
    assert_eq!(terminal.ended()["exit_code"], 0);
    let text = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(text, "roses aRe red\nviolets are blue\n");
    assert_eq!(terminal.ok("terminal.screen", json!({}))["alternate"], false);
}

#[test]
fn a_python_prompt_answers() {
    let python = "/usr/bin/python3";
    if !available("python3", Path::new(python).exists()) {
        return;
    }
    let daemon = daemon();
    let mut terminal = daemon.terminal(json!({"argv": [python, "-q"]}));
    terminal.wait(">>>");
    terminal.enter("6 * 7");
    terminal.wait_line("42");
    terminal.enter("def double(x):");
    terminal.wait("...");
    terminal.enter("    return 2 * x");
    terminal.enter("");
    terminal.enter("print('<', double(21), '>')");
    terminal.wait_line("< 42 >");
    terminal.enter("print('loop' + 'ing'); [0 for _ in iter(int, 1)]");
    terminal.wait_line("looping");
    terminal.input("\x03");
    terminal.wait("KeyboardInterrupt");
    terminal.enter("exit(3)");
    assert_eq!(terminal.ended()["exit_code"], 3);
}

#[test]
fn less_pages() {
    let less = "/usr/bin/less";
    if !available("less", Path::new(less).exists()) {
        return;
    }
    let daemon = daemon();
    let text: String = (1..=200).map(|n| format!("row {n}.\n")).collect();
    let file = daemon.dir().file("long.txt", text);
    let mut terminal = daemon.terminal(json!({"argv": [less, file]}));
    terminal.wait_line("row 23.");
    terminal.input(" ");
    terminal.wait_line("row 46.");
    terminal.input("G");
    terminal.wait_line("row 200.");
    terminal.ok("terminal.resize", json!({"cols": 80, "rows": 11}));
    // It loses a key that comes together with the news.
    terminal.wait_until("it was redrawn", |s| s.contains("row 178.") && !s.contains("row 188."));
    terminal.input("g");
    terminal.wait_until("ten rows", |s| {
        s.starts_with("row 1.") && s.contains("row 10.") && !s.contains("row 11.")
    });
    terminal.input("q");
    assert_eq!(terminal.ended()["exit_code"], 0);
}

#[test]
fn a_title_and_a_directory_are_told() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running(
        "printf '\\033]2;my title\\007\\033]7;file://localhost/usr\\007ready'; exec sleep 1000",
    );
    terminal.wait("ready");
    trl_testkit::eventually("the title is known", || terminal.info()["title"] == "my title");
    trl_testkit::eventually("the directory is known", || terminal.info()["working_dir"] == "/usr");
    let screen = terminal.ok("terminal.screen", json!({"format": "ansi"}));
    assert_eq!((&screen["title"], &screen["working_dir"]), (&json!("my title"), &json!("/usr")));
}
