//! What a session's processes see of the daemon's environment: a small clean base and what was named.

use trl_testkit::{Daemon, Session, Shell, json};

use crate::builder;

fn with_secrets() -> Daemon {
    builder()
        .env("TRL_INNER", "1")
        .env("AWS_SECRET_ACCESS_KEY", "aws-value")
        .env("GITHUB_TOKEN", "token-value")
        .env("DB_PASSWORD", "password-value")
        .env("HARMLESS", "harmless-value")
        .start()
}

fn names(session: &mut Session) -> Vec<String> {
    let run = session.run("env | cut -d= -f1");
    run.out().lines().map(str::to_string).collect()
}

#[test]
fn the_base_is_small_and_clean() {
    let daemon = with_secrets();
    let mut session = daemon.session(Shell::Dash);
    let names = names(&mut session);
    for wanted in ["PATH", "HOME", "USER", "LANG"] {
        assert!(names.iter().any(|n| n == wanted), "{wanted} is missing: {names:?}");
    }
    for unwanted in ["TRL_INNER", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "HARMLESS"] {
        assert!(!names.iter().any(|n| n == unwanted), "{unwanted} came through");
    }
    assert!(!names.iter().any(|n| n.starts_with("TRL")), "{names:?}");
}

#[test]
fn values_given_reach_the_shell_and_are_never_shown() {
    let daemon = builder().set("log", "level", "\"trace\"").start();
    let params = json!({"env": {"SHOWN": "plain-value-1"}, "secret_env": {"HIDDEN": "secret-value-2"}});
    let mut session = daemon.session_with(Shell::Bash, params);
    assert_eq!(session.run("echo $SHOWN $HIDDEN").out(), "plain-value-1 secret-value-2\n");
    let info = session.info();
    let keys: Vec<&str> =
        info["env_keys"].as_array().expect("names").iter().filter_map(|k| k.as_str()).collect();
    assert!(keys.contains(&"SHOWN"), "{keys:?}");
    let shown = format!("{info}{}", session.client().ok("session.list", json!({})));
    assert!(!shown.contains("plain-value-1") && !shown.contains("secret-value-2"), "{shown}");
    assert!(!daemon.log().contains("secret-value-2"), "the log has a secret");
    // A fresh shell has them again.
    assert_eq!(session.run("kill -9 0; sleep 1").shell_state, "reset");
    assert_eq!(session.run("echo $SHOWN $HIDDEN").out(), "plain-value-1 secret-value-2\n");
}

#[test]
fn the_daemons_token_leaves_its_environment() {
    let daemon = builder().env("TRL_AUTH_TOKEN", "operator-secret-3").start();
    let environ = std::fs::read(format!("/proc/{}/environ", daemon.pid())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&environ).contains("operator-secret-3"));
    let seen =
        daemon.session(Shell::Dash).run("cat /proc/[0-9]*/environ 2>/dev/null | grep -c operator-secret-3");
    assert_eq!(seen.out(), "0\n");
    let mut client = daemon.client();
    client.authenticate("operator-secret-3");
}

/// Not in containers: sessions there have the environment that the container was created with.
mod outside_containers {
    use super::*;

    #[test]
    fn what_is_named_comes_through() {
        let daemon = with_secrets();
        let params = json!({"pass_env": ["GITHUB_TOKEN", "HARMLESS", "NOT_THERE"]});
        let mut session = daemon.session_with(Shell::Dash, params);
        let run = session.run("echo $GITHUB_TOKEN $HARMLESS [$DB_PASSWORD] [${NOT_THERE-unset}]");
        assert_eq!(run.out(), "token-value harmless-value [] [unset]\n");
    }

    #[test]
    fn the_operator_can_name_variables_for_everyone() {
        let daemon = builder().env("HARMLESS", "yes").set("", "pass_env", "[\"HARMLESS\"]").start();
        assert_eq!(daemon.session(Shell::Dash).run("echo $HARMLESS").out(), "yes\n");
    }
}
