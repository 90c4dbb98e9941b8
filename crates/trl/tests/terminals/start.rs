//! What is asked for reaches the program.

use trl_testkit::{Shell, Value, json, runtime};

use crate::daemon;

#[test]
fn a_shell_is_interactive_and_remembers() {
    let daemon = daemon();
    let bash = daemon.shell_path(Shell::Bash);
    for shell in ["/bin/sh", &bash] {
        let mut terminal = daemon.terminal(json!({"shell": shell}));
        terminal.enter("case $- in *i*) here=interactive;; esac");
        terminal.enter("echo \"<$here>\"");
        terminal.wait("<interactive>");
        terminal.enter("exit 3");
        assert_eq!(terminal.ended()["exit_code"], 3);
    }
}

#[test]
fn a_direct_command_runs_as_it_is() {
    let daemon = daemon();
    let mut terminal = daemon.terminal(json!({"argv": ["printf", "<%s>\\n", "a b", "$HOME", ""]}));
    let info = terminal.ended();
    assert_eq!((&info["exit_code"], &info["ended"]), (&json!(0), &json!("its program ended")));
    assert!(info["shell"].as_str().expect("a program").ends_with("/printf"), "{info}");
    assert_eq!(terminal.lines(), ["<a b>", "<$HOME>", "<>"]);
}

#[test]
fn its_surroundings_are_those_asked_for() {
    let daemon = daemon();
    let dir = daemon.dir().dir("work place");
    let script = "echo $PLAIN $SECRET; pwd; echo $PWD; stty size; tty; echo $TERM; ps -o tty= -p $$";
    let mut terminal = daemon.terminal(json!({
        "argv": ["/bin/sh", "-c", script],
        "env": {"PLAIN": "open"},
        "secret_env": {"SECRET": "hush"},
        "working_dir": dir,
        "cols": 133,
        "rows": 37,
    }));
    let info = terminal.ended();
    let lines = terminal.lines();
    let dir = dir.to_str().expect("UTF-8");
    assert_eq!(lines[..4], ["open hush", dir, dir, "37 133"], "{lines:?}");
    let device = lines[4].strip_prefix("/dev/").expect("a terminal");
    assert_eq!(lines[5..], ["xterm-256color", device], "its controlling terminal");
    assert_eq!((&info["cols"], &info["rows"]), (&json!(133), &json!(37)));
    let keys = info["env_keys"].as_array().expect("names");
    assert!(keys.contains(&json!("SECRET")) && keys.contains(&json!("PLAIN")));
    assert!(!info.to_string().contains("hush"), "{info}");
}

#[test]
fn nothing_of_the_daemon_reaches_the_program() {
    let daemon = crate::builder().env("TRL_AUTH_TOKEN", "abc").env("MY_API_KEY", "x").start();
    let mut terminal = daemon.terminal_running("env; ls -l /proc/self/fd; cat /proc/self/status");
    terminal.ended();
    let shown = String::from_utf8_lossy(&terminal.snapshot()).into_owned();
    assert!(!shown.contains("TRL_") && !shown.contains("MY_API_KEY"), "{shown}");
    assert!(!shown.contains("socket:") && !shown.contains("anon_inode"), "{shown}");
    assert!(shown.contains("SigIgn:\u{1b}") || shown.contains("SigIgn:"), "{shown}");
    let ignored = shown.split("SigIgn:").nth(1).expect("SigIgn").trim_start();
    assert!(ignored.contains("0000000000000000"), "{ignored:.80}");
}

#[test]
fn info_and_list_tell_the_same() {
    let daemon = daemon();
    let params = json!({"name": "n", "labels": {"k": "v"}, "workspace_id": "w", "size_policy": "pinned"});
    let mut first = daemon.terminal(params);
    let mut second = daemon.terminal(json!({}));
    let info = first.info();
    assert_eq!((&info["name"], &info["labels"]), (&json!("n"), &json!({"k": "v"})));
    assert_eq!((&info["workspace_id"], &info["size_policy"]), (&json!("w"), &json!("pinned")));
    assert_eq!((&info["state"], &info["clients"]), (&json!("running"), &json!(0)));
    assert_eq!((&info["working_dir"], &info["runtime"]), (&json!("/"), &json!(runtime::name())));
    assert!(info["pid"].as_i64().is_some_and(|pid| pid > 1));
    assert_ne!(info["gen"], second.info()["gen"]);
    let mut client = daemon.client();
    let mut ids = |params: Value| -> Vec<String> {
        let list = client.ok("terminal.list", params);
        let terminals = list["terminals"].as_array().expect("a list").iter();
        terminals.map(|t| t["terminal_id"].as_str().expect("an id").to_string()).collect()
    };
    assert_eq!(ids(json!({})), [first.id.clone(), second.id.clone()]);
    assert_eq!(ids(json!({"workspace_id": "w"})), [first.id.clone()]);
    assert!(ids(json!({"workspace_id": "v"})).is_empty());
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let daemon = daemon();
    let mut client = daemon.client();
    let invalid = [
        json!({"cols": 0}),
        json!({"cols": 1}),
        json!({"rows": 0}),
        json!({"cols": 1001}),
        json!({"rows": 65536}),
        json!({"cols": -1}),
        json!({"shell": "/bin/sh", "argv": ["true"]}),
        json!({"argv": []}),
        json!({"name": "t-abcdefgh"}),
        json!({"workspace_id": "s-abcdefgh"}),
        json!({"workspace_id": "a/b"}),
        json!({"size_policy": "largest"}),
        json!({"scrollback_bytes": 1u64 << 40}),
        json!({"env": {"A=B": "c"}}),
    ];
    for params in invalid {
        client.refused("INVALID_PARAMS", "terminal.create", params);
    }
    let typo = client.refused("INVALID_PARAMS", "terminal.create", json!({"colls": 80}));
    assert!(typo.message.contains("`cols`"), "{}", typo.message);
    client.refused("RUNTIME_NOT_FOUND", "terminal.create", json!({"runtime": "nowhere"}));
    client.refused("SHELL_NOT_FOUND", "terminal.create", json!({"shell": "/no/such"}));
    client.refused("WORKING_DIR_INVALID", "terminal.create", json!({"working_dir": "/no/such"}));
    let file = daemon.dir().file("no-program", "x");
    client.call("terminal.create", json!({"argv": [file]})).expect_err("not executable");
    assert!(client.ok("terminal.list", json!({}))["terminals"].as_array().expect("a list").is_empty());
    assert_eq!(client.ok("system.stats", json!({}))["active_sessions"], 0);
}

#[test]
fn an_unknown_terminal_is_said_to_be_so() {
    let daemon = daemon();
    let mut client = daemon.client();
    let id = json!({"terminal_id": "t-zzzzzzzz"});
    let extra = [
        ("get", json!({})),
        ("input", json!({"data": "x"})),
        ("resize", json!({"cols": 80, "rows": 24})),
        ("snapshot", json!({})),
        ("screen", json!({})),
        ("signal", json!({"signal": "INT"})),
        ("destroy", json!({})),
        ("keep", json!({})),
    ];
    for (method, extra) in extra {
        let method = format!("terminal.{method}");
        let params = trl_testkit::merged(id.clone(), extra);
        client.refused("TERMINAL_NOT_FOUND", &method, params.clone());
        let typo = trl_testkit::merged(params, json!({"terminalid": 1}));
        client.refused("INVALID_PARAMS", &method, typo);
    }
    client.refused("INVALID_PARAMS", "terminal.get", json!({"terminal_id": "s-abcdefgh"}));
    let mut terminal = daemon.terminal(json!({}));
    let refused = terminal.call("terminal.signal", json!({"signal": "NOPE"})).expect_err("no such signal");
    assert_eq!(refused.code, "INVALID_PARAMS");
    for size in [json!({"cols": 0, "rows": 24}), json!({"cols": 80, "rows": 2000})] {
        assert_eq!(terminal.call("terminal.resize", size).expect_err("bad").code, "INVALID_PARAMS");
    }
    let refused = terminal.call("terminal.destroy", json!({"grace_s": -1})).expect_err("bad");
    assert_eq!(refused.code, "INVALID_PARAMS");
    assert_eq!(terminal.info()["state"], "running");
}
