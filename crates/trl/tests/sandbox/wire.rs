//! Asking for a sandbox, who may ask for which, and what is said of it.

use trl_testkit::{Builder, Scratch, Shell, Terminal, Value, available, json};

use super::{builder, daemon, in_workspace};

#[test]
fn a_session_says_which_boundary_it_has() {
    let daemon = daemon();
    let mut client = daemon.client();
    let made = client.ok("session.create", in_workspace(&daemon, "w", json!("workspace-write")));
    let report = &made["sandbox"];
    assert_eq!(report["mode"], "workspace-write");
    assert_eq!(report["backend"], "landlock+seccomp+namespaces");
    assert!(report["abi"].as_i64().unwrap() >= 6);
    assert_eq!((&report["net"], &report["not_enforced"]), (&json!("none"), &json!([])));
    let enforced = report["enforced"].as_array().unwrap();
    for layer in
        ["files", "metadata", "protected", "network", "unix-sockets", "signals", "syscalls", "privileges"]
    {
        assert!(enforced.contains(&json!(layer)), "{layer}: {report}");
    }
    let id = &made["session_id"];
    assert_eq!(client.ok("session.info", json!({"session_id": id}))["sandbox"], *report);
    let run = client.ok("exec.run", json!({"session_id": id, "command": "true"}));
    assert_eq!(run["sandbox"], *report);
    let off = client.ok("exec.run", json!({"command": "true"}));
    assert_eq!(off["sandbox"], json!({"mode": "off", "backend": "none", "enforced": [], "not_enforced": []}));
}

#[test]
fn all_shells_live_in_one_and_come_back_in_it() {
    let daemon = daemon();
    let outside = daemon.dir().text("outside");
    for shell in Shell::ALL.into_iter().filter(|s| s.program().is_some()) {
        let mut session = daemon.session_with(shell, in_workspace(&daemon, "w", json!("workspace-write")));
        let refused = format!("echo x > {outside}");
        assert_eq!(session.run("echo hello").out(), "hello\n", "{shell}");
        assert_ne!(session.run(&refused).code, 0, "{shell}");
        let own = if shell == Shell::Fish { "$fish_pid" } else { "$$" };
        let lost = session.run(&format!("kill -9 {own}; echo never"));
        assert_eq!(lost.shell_state, "rolled_back", "{shell}");
        assert_ne!(session.run(&refused).code, 0, "{shell}");
        if shell != Shell::Fish {
            assert_eq!(session.run("cat <<END\nhere\nEND").out(), "here\n", "{shell}");
        }
        let id = session.id.clone();
        session.client().ok("session.reset", json!({"session_id": id}));
        assert_ne!(session.run(&refused).code, 0, "{shell}");
        assert_eq!(session.run("echo x > here; cat here").out(), "x\n", "{shell}");
    }
    assert!(!std::path::Path::new(&outside).exists());
}

#[test]
fn a_closed_session_opens_in_the_same_one() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Bash, in_workspace(&daemon, "w", json!("workspace-write")));
    let id = session.id.clone();
    session.run("mkdir -p sub && cd sub");
    session.client().ok("session.close", json!({"session_id": id}));
    let again = session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(again["sandbox"]["mode"], "workspace-write");
    assert_eq!(session.run("touch ../above && echo x >$TMPDIR/y && pwd").code, 0);
    assert_ne!(session.run("touch ../../beyond").code, 0);
}

#[test]
fn a_terminal_has_one_too() {
    let daemon = daemon();
    let params = in_workspace(&daemon, "w", json!("workspace-write"));
    let mut terminal = daemon.terminal(params);
    assert_eq!(terminal.info()["sandbox"]["mode"], "workspace-write");
    let outside = daemon.dir().text("outside");
    terminal.enter("echo x > here; touch ../outside; ls here; echo to-tty > /dev/tty; echo code $?");
    terminal.wait_line("code 0");
    terminal.wait_line("to-tty");
    terminal.wait("Read-only file system");
    assert!(!std::path::Path::new(&outside).exists());
    let direct = json!({"argv": ["/bin/sh", "-c", "id -u && tty && exec cat"]});
    let params = trl_testkit::merged(in_workspace(&daemon, "w", json!("read-only")), direct);
    let mut cat = Terminal::create(daemon.client(), params);
    cat.wait("/dev/pts/");
    cat.enter("typed");
    cat.wait_line("typed");
}

#[test]
fn a_direct_command_has_one() {
    let daemon = daemon();
    let mut client = daemon.client();
    let argv = json!({"argv": ["/bin/sh", "-c", "echo x > ../outside"]});
    let params = trl_testkit::merged(in_workspace(&daemon, "w", json!("workspace-write")), argv);
    let made = client.ok("session.create", params);
    let execution = made["execution_id"].clone();
    trl_testkit::eventually("it ends", || {
        client.ok("exec.result", json!({"execution_id": execution}))["status"] == "done"
    });
    let result = client.ok("exec.result", json!({"execution_id": execution}));
    assert_eq!(
        (&result["sandbox"]["mode"], &result["denied"]["op"]),
        (&json!("workspace-write"), &json!("write"))
    );
    assert!(!daemon.dir().join("outside").exists());
}

#[test]
fn a_fresh_process_has_one() {
    let daemon = daemon();
    let mut client = daemon.client();
    daemon.dir().dir("w");
    let outside = daemon.dir().text("outside");
    let start = |extra: Value| {
        let base = json!({"working_dir": daemon.dir().text("w"), "sandbox": "workspace-write"});
        trl_testkit::merged(base, extra)
    };
    let command = format!("echo x >here; echo x >{outside}");
    let on_pipes = client.ok("exec.start", start(json!({"command": command})));
    assert_eq!(
        (&on_pipes["sandbox"]["mode"], &on_pipes["denied"]["op"]),
        (&json!("workspace-write"), &json!("write"))
    );
    let on_terminal = client.ok("exec.start", start(json!({"command": command, "tty": true})));
    assert_eq!(on_terminal["sandbox"]["mode"], "workspace-write");
    assert_eq!(
        (&on_terminal["denied"]["confidence"], &on_terminal["denied"]["op"], &on_terminal["denied"]["path"]),
        (&json!("likely"), &json!("write"), &json!(outside))
    );
    assert_ne!((&on_pipes["exit_code"], &on_terminal["exit_code"]), (&json!(0), &json!(0)));
    let id = client.ok("session.create", start(json!({})))["session_id"].clone();
    let inside = json!({"session_id": id, "command": "true", "sandbox": "read-only"});
    assert!(client.refused("INVALID_PARAMS", "exec.start", inside).hint.is_some());
    assert!(!std::path::Path::new(&outside).exists());
}

#[test]
fn what_still_runs_says_which_boundary_it_has() {
    let daemon = daemon();
    let mut client = daemon.client();
    let dir = daemon.dir().dir("w");
    for tty in [false, true] {
        for mode in ["workspace-write", "off"] {
            let params =
                json!({"argv": ["cat"], "working_dir": dir, "sandbox": mode, "tty": tty, "yield_ms": 250});
            let running = client.ok("exec.start", params);
            assert_eq!(
                (&running["status"], &running["sandbox"]["mode"]),
                (&json!("running"), &json!(mode)),
                "{tty}"
            );
            let id = &running["execution_id"];
            let waited = client.ok("exec.wait", json!({"execution_id": id, "until": {"idle_ms": 1}}));
            assert_eq!(waited["sandbox"], running["sandbox"], "{tty}");
            client.ok("exec.cancel", json!({"execution_id": id}));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let dir = daemon.dir().text("w");
    daemon.dir().dir("w");
    for (sandbox, words) in [
        (json!("readonly"), "did you mean `read-only`"),
        (json!({"mode": "workspace-write", "nets": "all"}), "did you mean `net`"),
        (json!({"mode": "read-only", "read": ["/"]}), "custom"),
        (json!({"mode": "custom", "write": ["relative"]}), "absolute path"),
        (json!({"mode": "custom", "write": ["/"]}), "the daemon's own"),
        (json!({"mode": "off", "net": "none"}), "need a sandbox"),
    ] {
        let params = json!({"working_dir": dir, "sandbox": sandbox});
        let error = client.refused("INVALID_PARAMS", "session.create", params);
        assert!(error.message.contains(words), "{sandbox}: {}", error.json);
    }
    // the home, where a session starts that says nothing
    let error = client.refused("INVALID_PARAMS", "session.create", json!({"sandbox": "workspace-write"}));
    assert!(error.hint.unwrap().contains("working_dir"));
    for dir in ["/etc", "/usr/share"] {
        let params = json!({"working_dir": dir, "sandbox": "workspace-write"});
        let error = client.refused("INVALID_PARAMS", "session.create", params);
        assert!(error.message.contains("the system's"), "{}", error.json);
    }
    let id =
        client.ok("session.create", in_workspace(&daemon, "w", json!("read-only")))["session_id"].clone();
    let other = json!({"session_id": id, "command": "true", "sandbox": "off"});
    let error = client.refused("INVALID_PARAMS", "exec.run", other);
    assert!(error.message.contains("session's sandbox"), "{}", error.json);
}

#[test]
fn custom_lists_are_held_to() {
    let daemon = daemon();
    let dir = daemon.dir();
    for name in ["w", "a/b", "a/c"] {
        dir.dir(name);
    }
    for file in ["a/b/f", "a/c/f"] {
        dir.file(file, "text");
    }
    let (w, a, b) = (dir.text("w"), dir.text("a"), dir.text("a/b"));
    let sandbox = json!({"mode": "custom", "read": [a], "write": [w], "deny": [b]});
    let mut session = daemon.session_with(Shell::Bash, json!({"working_dir": w, "sandbox": sandbox}));
    assert_eq!(session.run(&format!("cat {a}/c/f")).out(), "text");
    assert_ne!(session.run(&format!("cat {a}/b/f")).code, 0);
    assert_ne!(session.run(&format!("echo x > {a}/c/f")).code, 0);
    assert_eq!(session.run("echo x > made").code, 0);
    let everything = json!({"mode": "custom", "read": ["/"]});
    let mut wide = daemon.session_with(Shell::Bash, json!({"working_dir": w, "sandbox": everything}));
    assert_eq!(wide.run(&format!("cat {a}/b/f")).out(), "text");
    assert_ne!(wide.run(&format!("cat {}", dir.text("config/trl/operator.token"))).code, 0);
    assert_ne!(wide.run(&format!("test -e {}", daemon.socket().display())).code, 0);
}

#[test]
fn a_configured_mode_is_the_usual_and_the_widest_for_agents() {
    let daemon = builder().set("sandbox", "mode", "\"workspace-write\"").start();
    let dir = |sandbox| in_workspace(&daemon, "w", sandbox);
    let mut agent = daemon.client();
    let plain = json!({"working_dir": daemon.dir().dir("w")});
    let usual = agent.ok("session.create", plain.clone());
    assert_eq!(usual["sandbox"]["mode"], "workspace-write");
    assert_eq!(agent.ok("session.create", dir(json!("read-only")))["sandbox"]["mode"], "read-only");
    for wider in [
        json!("off"),
        json!({"mode": "workspace-write", "net": "all"}),
        json!({"mode": "workspace-write", "best_effort": true}),
        json!({"mode": "custom", "write": []}),
    ] {
        agent.refused("FORBIDDEN", "session.create", dir(wider.clone()));
        agent.refused("FORBIDDEN", "terminal.create", dir(wider.clone()));
        agent.refused("FORBIDDEN", "exec.run", json!({"command": "true", "sandbox": wider}));
        agent.refused("FORBIDDEN", "exec.start", json!({"command": "true", "sandbox": wider, "tty": true}));
    }
    let looped = dir(json!({"mode": "workspace-write", "net": "loopback"}));
    assert_eq!(agent.ok("session.create", looped)["sandbox"]["net"], "loopback");
    for tty in [false, true] {
        let started = json!({"command": "true", "working_dir": plain["working_dir"], "tty": tty});
        assert_eq!(agent.ok("exec.start", started)["sandbox"]["mode"], "workspace-write", "{tty}");
    }
    let mut operator = daemon.operator();
    assert_eq!(operator.ok("session.create", dir(json!("off")))["sandbox"]["mode"], "off");
    assert_eq!(operator.ok("session.create", plain)["sandbox"]["mode"], "workspace-write");
}

#[test]
fn a_token_has_its_own_ceiling() {
    let daemon = builder().http().set("sandbox", "mode", "\"workspace-write\"").start();
    let token = |ceiling| daemon.token("agent", json!({"ceilings": {"sandbox": ceiling}}))["token"].take();
    let create = |token: &Value, sandbox: Value| {
        let door = daemon.http().with_token(token.as_str().unwrap());
        door.rpc("session.create", in_workspace(&daemon, "w", sandbox))
    };
    let (narrow, wide) = (token(json!("read-only")), token(json!("off")));
    assert_eq!(create(&narrow, json!("read-only"))["result"]["sandbox"]["mode"], "read-only");
    assert_eq!(create(&narrow, json!("workspace-write"))["error"]["data"]["code"], "FORBIDDEN");
    assert_eq!(create(&wide, json!("off"))["result"]["sandbox"]["mode"], "off");
}

mod as_root {
    use super::*;

    /// The daemon was started with another home than the password database has for its user.
    #[test]
    fn a_hidden_directory_of_a_home_is_no_workspace() {
        let daemon = daemon();
        let dir = std::path::PathBuf::from(format!("/root/.trl-test-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let asked = json!({"working_dir": dir, "command": "true", "sandbox": "workspace-write"});
        let tried = daemon.client().call("exec.start", asked);
        std::fs::remove_dir(&dir).unwrap();
        assert_eq!(tried.unwrap_err().code, "INVALID_PARAMS");
    }
}

/// A daemon that may make no namespaces, as in many containers; None where this test cannot make such a place.
fn without_namespaces(scratch: &Scratch) -> Option<Builder> {
    let refuse = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let text =
        format!("#!/bin/sh\nexec unshare -Ur sh -c '{refuse}' sh {} \"$@\"\n", env!("CARGO_BIN_EXE_trl"));
    let program = scratch.program("trl", &text);
    let works = std::process::Command::new(&program).arg("--version").output();
    let works = works.is_ok_and(|done| done.status.success());
    available("a place without namespaces", works).then(|| Builder::new(program))
}

/// A daemon that may install no filters; None where this test cannot make such a place.
fn without_filters(scratch: &Scratch) -> Option<Builder> {
    let text = r#"#!/usr/bin/env python3
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
call = {"x86_64": 317, "aarch64": 277}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
    sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
os.execv(TRL, ["trl"] + sys.argv[1:])
"#;
    let text = text.replace("TRL", &format!("{:?}", env!("CARGO_BIN_EXE_trl")));
    let program = scratch.program("trl", &text);
    let works = std::process::Command::new(&program).arg("--version").output();
    available("a place without filters", works.is_ok_and(|done| done.status.success()))
        .then(|| Builder::new(program))
}

#[test]
fn the_daemon_itself_refuses_whoever_is_in_one() {
    let scratch = Scratch::new();
    let Some(builder) = without_filters(&scratch) else { return };
    let daemon = builder.start();
    // Nothing keeps it from connecting: that it is not heard is the daemon's decision alone.
    let ask = r#"
import socket, sys
daemon = socket.socket(socket.AF_UNIX)
daemon.connect(sys.argv[1])
print("connected", flush=True)
daemon.sendall(b'{"jsonrpc":"2.0","id":1,"method":"system.ping"}\n')
print(daemon.recv(999).decode())
"#;
    daemon.dir().dir("w");
    daemon.dir().file("w/ask.py", ask);
    let command = format!("python3 ask.py {}", daemon.socket().display());
    let answer = |sandbox: Value| {
        let mut session = daemon.session_with(Shell::Bash, in_workspace(&daemon, "w", sandbox));
        session.run(&command)
    };
    assert!(answer(json!("off")).out().contains("result"));
    let refused = answer(json!({"mode": "read-only", "best_effort": true}));
    let missing = json!(["network", "unix-sockets", "ipc", "syscalls"]);
    assert_eq!(refused.json["sandbox"]["not_enforced"], missing);
    assert!(refused.out().starts_with("connected"), "{} {}", refused.out(), refused.err());
    assert!(!refused.out().contains("result"), "{}", refused.out());
}

#[test]
fn what_the_kernel_does_not_give_is_an_error_or_is_named() {
    let scratch = Scratch::new();
    let Some(builder) = without_namespaces(&scratch) else { return };
    let daemon = builder.start();
    let mut client = daemon.client();
    let params = in_workspace(&daemon, "w", json!("workspace-write"));
    let error = client.refused("SANDBOX_UNAVAILABLE", "session.create", params);
    assert_eq!(error.detail("stage"), "namespaces");
    let doctor = client.ok("system.doctor", json!({}));
    let row = doctor["rows"].as_array().unwrap().iter().find(|row| row["id"] == "sandbox").unwrap();
    assert!(
        row["status"] == "warn" && row["hint"].as_str().unwrap().contains("metadata, protected"),
        "{row}"
    );
    assert!(error.detail("errno").as_i64().unwrap() > 0 && error.hint.unwrap().contains("best_effort"));

    let sandbox = json!({"mode": "workspace-write", "net": "loopback", "best_effort": true});
    let mut session = daemon.session_with(Shell::Bash, in_workspace(&daemon, "w", sandbox));
    let run = session.run("echo x >made && cat made");
    assert_eq!(run.out(), "x\n");
    assert_eq!(run.json["sandbox"]["backend"], "landlock+seccomp");
    assert_eq!(run.json["sandbox"]["not_enforced"], json!(["metadata", "protected", "network"]));
    let file = daemon.dir().file("outside", "text");
    // what is said to be enforced is, and what is said not to be is not
    assert_ne!(session.run(&format!("echo x >{file}")).code, 0);
    assert_ne!(session.run("python3 -c 'import socket; socket.socket()'").code, 0);
    assert_ne!(session.run("ipcmk -M 64").code, 0);
    assert_eq!(session.run(&format!("chmod 600 {file}")).code, 0);
}

#[test]
fn a_workspace_the_daemon_made_can_be_one_of_a_sandbox() {
    let daemon = daemon();
    let mut client = daemon.client();
    for mode in ["workspace-write", "read-only"] {
        let params = json!({"workspace_id": "notes", "shell": "/bin/bash", "sandbox": mode});
        let session = client.ok("session.create", params);
        let run = |client: &mut trl_testkit::Client, command: &str| {
            client.ok("exec.run", json!({"session_id": session["session_id"], "command": command}))
        };
        let wrote = run(&mut client, "echo mine > here");
        assert_eq!(wrote["exit_code"] == 0, mode == "workspace-write", "{wrote}");
        assert_eq!(run(&mut client, "cat here")["stdout"], "mine\n");
        // what else the daemon keeps is out of reach
        for command in ["ls ../..", "cat ../../store.db", "echo x > ../other", "ls .."] {
            let tried = run(&mut client, command);
            assert_ne!(tried["exit_code"], 0, "{mode}: {command}: {tried}");
        }
    }
}
