//! What earlier commands left behind in a shell must not run with an allowed one.

use serde_json::json;
use trl_testkit::{Session, Shell};

use super::names::{approved, asked};
use super::{daemon, with_rules};

/// Commands that a person has approved; the shells they are for; what the person hears with the next one.
const LEFT: [(&[Shell], &str, &str); 29] = [
    (&[Shell::Bash, Shell::Zsh], "trap 'true' DEBUG", "DEBUG"),
    (&[Shell::Bash], "set -T; trap 'true' DEBUG", "DEBUG"),
    (&[Shell::Bash], "trap 'true' ERR", "ERR"),
    (&[Shell::Bash], "set -E; trap 'true' ERR", "ERR"),
    (&[Shell::Bash], "trap 'true' RETURN", "RETURN"),
    (&[Shell::Zsh], "trap 'true' ZERR", "ZERR"),
    (&[Shell::Ksh93], "trap 'true' DEBUG", "DEBUG"),
    (&[Shell::Ksh93], "trap 'true' ERR", "ERR"),
    (&POSIX, "trap 'true' CHLD", "CHLD"),
    (&POSIX, "trap 'true' USR1", "USR1"),
    (&POSIX, "trap 'true' EXIT", "EXIT"),
    (&POSIX, "trap \"'' x\" USR2", "USR2"),
    (&[Shell::Zsh], "TRAPUSR1() { true; }", "hook"),
    (&[Shell::Zsh], "chpwd() { true; }", "hook"),
    (&[Shell::Bash], "command_not_found_handle() { true; }", "hook"),
    (&[Shell::Bash], "ls() { true; }; export -f ls", "hook"),
    (&[Shell::Fish], "function hook --on-variable PWD; true; end", "trap"),
    (&[Shell::Bash, Shell::Dash, Shell::Ash, Shell::Ksh93], "PS4='$(true)'; set -x", "PS4"),
    (&[Shell::Bash, Shell::Dash, Shell::Ash, Shell::Ksh93], "PS4='`true`'", "PS4"),
    (&POSIX, "export LD_PRELOAD=/nonexistent.so", "LD_PRELOAD"),
    (&POSIX, "export LD_AUDIT=/nonexistent.so", "LD_AUDIT"),
    (
        &POSIX,
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=x",
        "GIT_CONFIG_COUNT",
    ),
    (&POSIX, "export GIT_CONFIG_GLOBAL=/tmp/x", "GIT_CONFIG_GLOBAL"),
    (&POSIX, "export GIT_CONFIG_PARAMETERS=\"'core.pager=x'\"", "GIT_CONFIG_PARAMETERS"),
    (&POSIX, "HOME=/tmp/x; export HOME", "HOME"),
    (&POSIX, "export XDG_CONFIG_HOME='/tmp/a b\n\"c'", "XDG_CONFIG_HOME"),
    (&POSIX, "PATH=/nonexistent:$PATH", "PATH"),
    (&POSIX, "unset HOME", "HOME"),
    (&[Shell::Fish], "set -gx GIT_PAGER x", "GIT_PAGER"),
];

const POSIX: [Shell; 5] = [Shell::Bash, Shell::Dash, Shell::Ash, Shell::Zsh, Shell::Ksh93];

/// The command that the rules allow, in words that every shell reads alike.
const ALLOWED: &str = "echo plain";

#[test]
fn state_left_behind_is_asked_about() {
    let daemon = daemon();
    for (shells, left, expected) in LEFT {
        for shell in shells {
            let mut session = daemon.session(*shell);
            assert_eq!(asked(&mut session, ALLOWED), None, "{shell:?} {left}");
            approved(&daemon, &mut session, left);
            let why = asked(&mut session, ALLOWED).unwrap_or_else(|| panic!("not asked: {shell:?} {left}"));
            assert!(why.contains(expected), "{shell:?} {left}: {why}");
        }
    }
}

/// Commands whose leftover shell state needs no approval later: variables that make no program run other code, changes that
/// are undone, and a trap that ignores its signal.
const HARMLESS: [&str; 6] = [
    "export K=1 LANG=C",
    "GIT_PAGER=x; y=$HOME",
    "trap 'true' USR1; trap - USR1",
    "trap '' USR1",
    "export GIT_PAGER=x; unset GIT_PAGER",
    "cd /tmp; PS4='+ '",
];

#[test]
fn harmless_state_is_not_asked_about() {
    let daemon = daemon();
    for shell in POSIX {
        let mut session = daemon.session(shell);
        for left in HARMLESS {
            approved(&daemon, &mut session, left);
            assert_eq!(asked(&mut session, ALLOWED), None, "{shell:?} {left}");
        }
    }
}

#[test]
fn state_of_the_session_itself_is_not_asked_about() {
    let daemon = super::builder().start();
    let env = json!({"GIT_PAGER": "a 'b\" $c\nd", "LD_LIBRARY_PATH": "/nonexistent"});
    let params =
        json!({"env": env, "secret_env": {"AWS_SECRET_ACCESS_KEY": "s3 'cr\"et"}, "approval": "fail"});
    let mut sessions: Vec<Session> = POSIX
        .into_iter()
        .chain([Shell::Fish])
        .map(|shell| daemon.session_with(shell, params.clone()))
        .collect();
    super::write_rules(&daemon, super::RULES);
    for session in &mut sessions {
        assert!(asked(session, "uname").is_some(), "the rules hold");
        assert_eq!(asked(session, ALLOWED), None);
        let with = json!({"session_id": session.id, "command": ALLOWED, "env": {"LANG": "C"}});
        session.client().ok("exec.run", with);
    }
}

/// The trap is a state like any other: a checkpoint brings it into a session that never ran it.
#[test]
fn restored_traps_are_asked_about() {
    for shell in [Shell::Bash, Shell::Zsh] {
        let daemon = with_rules("default: allow\nrules:\n- ask: [nothing]\n");
        let mut session = daemon.session(shell);
        approved(&daemon, &mut session, "trap 'true' DEBUG");
        let id = session.id.clone();
        let saved = session.client().ok("checkpoint.create", json!({"session_id": id}));
        session.client().ok("session.reset", json!({"session_id": id}));
        assert_eq!(asked(&mut session, ALLOWED), None, "{shell:?}");
        let params = json!({"session_id": id, "checkpoint_id": saved["checkpoint_id"]});
        session.client().ok("checkpoint.restore", params);
        let why = asked(&mut session, ALLOWED).unwrap_or_else(|| panic!("{shell:?}"));
        assert!(why.contains("DEBUG"), "{shell:?}: {why}");
    }
}
