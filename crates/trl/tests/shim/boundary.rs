//! Rules and sandboxes hold for what comes through here.

use std::io::{BufRead, BufReader};

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Daemon, json};

use super::{bash, daemon, ok, said, shim};

fn with_rules(rules: &str) -> Daemon {
    let daemon = daemon();
    daemon.dir().file("config/trl/approvals.yaml", rules);
    daemon
}

const RULES: &str =
    "default: allow\nrules:\n- ask: [touch]\n- deny: [rm]\n  reason: nothing is removed here\n";

fn answer(daemon: &Daemon, decision: &str) {
    let mut operator = daemon.operator();
    let list = operator.ok("hitl.list", json!({}));
    let request = &list["requests"][0];
    let answer = json!({"request_id": request["request_id"], "digest": request["digest"], "decision": decision,
        "reason": "not today"});
    let answer =
        if decision == "approve" { trl_testkit::merged(answer, json!({"reason": null})) } else { answer };
    operator.ok("hitl.respond", answer);
}

#[test]
fn what_a_rule_denies_is_not_run_and_says_why() {
    let daemon = with_rules(RULES);
    for words in
        [&["-c", "rm x"][..], &["--noprofile", "--norc", "-c", "rm x"], &["-euo", "pipefail", "-c", "rm x"]]
    {
        let said = said(shim(&daemon, "bash").args(words));
        assert_eq!((said.code, said.out.as_str()), (Some(126), ""), "{said:?}");
        assert!(said.err.contains("nothing is removed here"), "{said:?}");
    }
    assert_eq!(ok(&mut bash(&daemon, "echo fine")), "fine\n");
}

#[test]
fn what_has_to_be_asked_waits_and_says_so() {
    let daemon = with_rules(RULES);
    let file = daemon.dir().join("touched");
    for (decision, code) in [("reject", 126), ("approve", 0)] {
        // what it is to read waits with it
        let input = std::fs::File::open(daemon.dir().file("input", "given")).unwrap();
        let mut child =
            bash(&daemon, &format!("touch {}; cat", file.display())).stdin(input).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        assert!(line.starts_with("trl: waiting for approval: trl approve r-"), "{line}");
        assert!(!file.exists());
        answer(&daemon, decision);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut err, &mut rest).unwrap();
        let ended = super::heard(&child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.out == "given"), (Some(code), code == 0), "{rest} {ended:?}");
        assert_eq!((file.exists(), rest.contains("not today")), (code == 0, code != 0), "{rest}");
    }
}

/// Who does not wait any longer asks nobody any more.
#[test]
fn a_signal_takes_the_question_back() {
    let daemon = with_rules(RULES);
    let mut child = bash(&daemon, "touch x").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    signal(child.id().cast_signed(), Signal::TERM);
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    let list = daemon.operator().ok("hitl.list", json!({}));
    assert_eq!(list["requests"], json!([]));
}

/// Variables that say what is so anyhow are no reason to ask; others are.
#[test]
fn rules_that_allow_little_allow_it_here_too() {
    let daemon = with_rules("default: ask\nrules:\n- allow: [echo, ls]\n");
    assert_eq!(ok(&mut bash(&daemon, "echo fine")), "fine\n");
    let mut none = bash(&daemon, "echo fine");
    assert_eq!(ok(none.env("PYTHONPATH", "/x").env("TRL_SH_ENV", "none")), "fine\n");
    let mut odd = bash(&daemon, "echo fine");
    let mut child = odd.env("GIT_SSH_COMMAND", "x").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for approval"), "{line}");
    answer(&daemon, "approve");
    assert_eq!(super::heard(&child.wait_with_output().unwrap()).out, "fine\n");
}

#[test]
fn the_sandbox_is_the_configured_one_or_the_one_asked_for() {
    let strict = super::builder().set("sandbox", "mode", "\"read-only\"").start();
    let hidden = format!("touch here; cat {}", strict.dir().file("hidden", "text"));
    let refused = said(&mut bash(&strict, &hidden));
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.err.contains("trl: the sandbox probably refused: open "), "{refused:?}");
    assert!(!strict.dir().join("here/here").exists());
    let quiet = said(bash(&strict, &hidden).env("TRL_SH_QUIET", "1"));
    assert!(!quiet.err.contains("trl:"), "{quiet:?}");
    let loose = daemon();
    let outside = loose.dir().join("outside");
    let text = format!("echo x > here && echo x > {}", outside.display());
    let said = said(bash(&loose, &text).env("TRL_SH_SANDBOX", "workspace-write"));
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(loose.dir().join("here/here").exists() && !outside.exists());
    ok(&mut bash(&loose, &text));
    assert!(outside.exists());
    let wrong = super::said(bash(&loose, "true").env("TRL_SH_SANDBOX", "none-such"));
    assert_eq!((wrong.code, wrong.err.contains("TRL_SH_SANDBOX")), (Some(126), true), "{wrong:?}");
}

#[test]
fn a_case_is_what_it_runs_in() {
    let daemon = daemon();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/look.yaml", "sandbox: read-only\nenv: {FROM_CASE: yes indeed}\n");
    let mut command = bash(&daemon, "echo $AGENT_CASE_ID $FROM_CASE; echo x > here");
    let said = said(command.env("TRL_SH_CASE", "look"));
    assert_eq!((said.code, said.out.as_str()), (Some(1), "look yes indeed\n"), "{said:?}");
}
