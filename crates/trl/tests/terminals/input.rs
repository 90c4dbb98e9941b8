//! Typing, and the questions a program asks its terminal.

use trl_testkit::{Terminal, eventually, json};

use crate::daemon;

/// Types lines until the terminal takes no more; how many bytes it took.
fn fill(terminal: &mut Terminal) -> usize {
    let line = format!("{}\n", "x".repeat(1023)).repeat(64);
    for taken in 0..100 {
        if let Err(refused) = terminal.call("terminal.input", json!({"data": line})) {
            assert_eq!(refused.code, "LIMIT_EXCEEDED");
            assert!(refused.detail("waiting_bytes").as_u64().is_some_and(|n| n > 0));
            return taken * line.len();
        }
    }
    panic!("it takes input without end");
}

#[test]
fn input_nobody_reads_is_bounded_and_an_interrupt_gets_through() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running(
        "stty -echo; trap 'echo; echo interrupted' INT; echo ready; sleep 1000; stty echo; read line; echo \"got <$line>\"; sleep 1000",
    );
    terminal.wait("ready");
    let taken = fill(&mut terminal);
    assert!((1 << 19..4 << 20).contains(&taken), "{taken}");
    // The program is none the wiser, and everything else still works.
    assert_eq!(terminal.info()["state"], "running");
    terminal.input("\x03");
    terminal.wait_line("interrupted");
    terminal.enter("after");
    terminal.wait_line("got <after>");
}

#[test]
fn a_program_that_reads_gets_all_of_it() {
    let daemon = daemon();
    let lines = 20_000;
    let script = format!("stty -echo; echo ready; head -n {lines} | cksum; echo done");
    let mut terminal = daemon.terminal_running(&script);
    terminal.wait("ready");
    let text: String = (0..lines).map(|n| format!("line number {n}\n")).collect();
    for piece in text.as_bytes().chunks(50_000) {
        terminal.input(std::str::from_utf8(piece).expect("ASCII"));
    }
    terminal.ended();
    let file = daemon.dir().file("sent", &text);
    let sum = std::process::Command::new("sh").args(["-c", &format!("cksum <{file}")]).output();
    let sum = String::from_utf8(sum.expect("cksum runs").stdout).expect("UTF-8");
    assert!(terminal.screen().contains(sum.trim()), "{sum} in {}", terminal.screen());
}

#[test]
fn any_bytes_can_be_typed() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("stty raw -echo; echo ready; head -c 6 | od -An -tx1");
    terminal.wait("ready");
    terminal.ok("terminal.input", json!({"data": "AAH/", "encoding": "base64"}));
    terminal.input("é!");
    terminal.ended();
    assert!(terminal.screen().contains("00 01 ff c3 a9 21"), "{}", terminal.screen());
}

#[test]
fn one_that_never_said_anything_can_be_looked_at_and_typed_into() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("read line; echo \"got <$line>\"");
    assert_eq!(terminal.screen().trim(), "");
    terminal.snapshot();
    let mut silent = daemon.terminal_running("stty -echo; exec sleep 1000");
    silent.ok("terminal.input", json!({"keys": ["Up"]}));
    silent.ok("terminal.resize", json!({"cols": 90, "rows": 30}));
    assert_eq!(silent.ok("terminal.screen", json!({}))["cols"], 90);
    terminal.ok("terminal.input", json!({"keys": ["x", "Enter"]}));
    terminal.wait("got <x>");
}

#[test]
fn keys_are_pressed_by_name_after_what_is_typed() {
    let daemon = daemon();
    let script = "stty raw -echo; echo ready; head -c 7 | od -An -c; printf '\\033[?1h'; echo application; head -c 6 | od -An -c";
    let mut terminal = daemon.terminal_running(script);
    terminal.wait("ready");
    let taken = terminal.ok("terminal.input", json!({"data": "ab", "keys": ["Up", "C-c", "Enter"]}));
    assert_eq!(taken["written_bytes"], 7);
    terminal.wait("application");
    terminal.ok("terminal.input", json!({"keys": ["Down", "F1"]}));
    terminal.ended();
    let screen = terminal.screen();
    assert!(screen.contains("a   b 033   [   A 003  \\r"), "{screen}");
    assert!(screen.contains("033   O   B 033   O   P"), "{screen}");
    for wrong in [json!({"keys": ["Upp"]}), json!({})] {
        let refused = terminal.call("terminal.input", wrong.clone()).expect_err("refused");
        assert_eq!(refused.code, "INVALID_PARAMS", "{wrong}");
    }
}

/// A program that asks, and shows what it is answered within the next bytes.
fn asks(daemon: &trl_testkit::Daemon, question: &str, length: usize) -> Terminal {
    let script = format!(
        "stty raw -echo; printf '{question}'; a=$(head -c {length} | od -An -tx1); stty sane; echo \"<\"$a\">\"; \
         stty raw -echo min 0 time 5; b=$(head -c 1 | od -An -tx1); stty sane; echo \"then <$b>\""
    );
    daemon.terminal_running(&script)
}

#[test]
fn questions_are_answered_once_with_nobody_attached() {
    let daemon = daemon();
    // where the cursor is, after three columns of text
    let mut terminal = asks(&daemon, "abc\\033[6n", 6);
    terminal.ended();
    let screen = terminal.screen();
    assert!(screen.contains("< 1b 5b 31 3b 34 52>"), "{screen}");
    assert!(screen.contains("then <>"), "answered more than once: {screen}");
    // is it well
    let mut terminal = asks(&daemon, "\\033[5n", 4);
    terminal.ended();
    assert!(terminal.screen().contains("< 1b 5b 30 6e>"), "{}", terminal.screen());
    // what it is: CSI ? ... c
    let mut terminal = daemon.terminal_running(
        "stty raw -echo; printf '\\033[c'; a=; while :; do c=$(dd bs=1 count=1 2>/dev/null); a=$a$c; [ \"$c\" = c ] && break; done; \
         stty sane; printf '%s' \"$a\" | od -An -c",
    );
    terminal.ended();
    let screen = terminal.screen();
    assert!(screen.contains("033   [   ?") && screen.contains("c"), "{screen}");
}

#[test]
fn an_answer_is_echoed_no_more_than_a_terminal_would() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("printf '\\033[5n'; read answer; echo; echo \"<${#answer}>\"");
    terminal.wait("^[[0n");
    terminal.enter("");
    terminal.ended();
    let screen = terminal.screen();
    assert_eq!(screen.matches("^[[0n").count(), 1, "{screen}");
    assert!(screen.contains("<4>"), "{screen}");
}

#[test]
fn a_flood_of_questions_does_no_harm() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running(
        "stty -echo; i=0; while [ $i -lt 20000 ]; do printf '\\033[c\\033[6n'; i=$((i+1)); done; echo asked; sleep 1000",
    );
    terminal.wait("asked");
    assert_eq!(terminal.info()["state"], "running");
    terminal.destroy();
}

#[test]
fn one_that_floods_can_be_interrupted_and_looked_at() {
    let daemon = daemon();
    let mut terminal = daemon
        .terminal_running("trap 'stop=1' INT; while [ -z \"$stop\" ]; do echo flood; done; echo stopped");
    terminal.wait("flood");
    let mut quiet = daemon.terminal_running("echo quiet; cat");
    quiet.wait("quiet");
    quiet.enter("typed");
    quiet.wait("typed");
    let before = terminal.info()["head"].as_u64().expect("a number");
    eventually("it goes on", || {
        terminal.info()["head"].as_u64().is_some_and(|head| head > before + (1 << 16))
    });
    terminal.input("\x03");
    assert_eq!(terminal.ended()["exit_code"], 0);
    assert!(terminal.screen().contains("stopped"));
}
