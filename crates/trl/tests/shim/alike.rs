//! The same words to the real shell and to us.

use std::os::unix::process::CommandExt;

use super::{SHELLS, daemon, links, said, there};

/// What works in all of them.
const EVERYWHERE: [&[&str]; 21] = [
    &["-c", "echo hi"],
    &["-c", "exit 0"],
    &["-c", "exit 7"],
    &["-c", "exit 255"],
    &["-c", "false"],
    &["-c", ""],
    &["-c", "no-such-command-anywhere"],
    &["-c", "echo out; echo err >&2; exit 3"],
    &["-c", "printf 'a\\000b\\377c'"],
    &["-c", "echo \"$0|$1|$2|$#\"", "name", "a b", ""],
    &["-c", "echo \"$0\""],
    &["-c", "kill -9 $$"],
    &["-c", "kill -TERM $$; echo not here"],
    &["-c", "(exit 5)"],
    &["-c", "if then"],
    &["-ec", "false; echo not here"],
    &["-e", "-c", "false; echo not here"],
    &["-c", "-e", "false; echo not here"],
    &["-o", "errexit", "-c", "false; echo not here"],
    &["-uc", "echo \"$nothing_of_the_kind\""],
    &["-c", "cat; read line; echo \"got $?\""],
];

/// What agents say to bash.
const BASH: [&[&str]; 8] = [
    &["--noprofile", "--norc", "-c", "shopt -q login_shell; echo $?"],
    &["-lc", "shopt -q login_shell; echo $?"],
    &["-l", "-c", "shopt -q login_shell; echo $?"],
    &["-c", "-l", "shopt -q login_shell; echo $?"],
    &["--login", "-c", "shopt -q login_shell; echo $?"],
    &["-euo", "pipefail", "-c", "false | true; echo not here"],
    &["-O", "extglob", "-c", "[[ aaa == +(a) ]] && echo glob"],
    &["-c", "[[ $- == *i* ]]; echo $?; eval 'echo x' < /dev/null && pwd -P"],
];

const ZSH: [&[&str]; 2] = [&["-f", "-c", "echo $options[rcs]"], &["-l", "-c", "echo $options[login]"]];

#[test]
fn every_shell_ends_and_speaks_as_the_real_one_does() {
    let daemon = daemon();
    for shell in SHELLS {
        let own: &[&[&str]] = match shell {
            "bash" => &BASH,
            "zsh" => &ZSH,
            _ => &[],
        };
        for words in EVERYWHERE.iter().chain(own) {
            let real = said(there(&daemon, format!("/bin/{shell}")).arg0(shell).args(*words));
            let ours = said(there(&daemon, links(&daemon).join(shell)).arg0(shell).args(*words));
            assert_eq!(ours, real, "{shell} {words:?}");
        }
    }
}

#[test]
fn files_scripts_on_stdin_and_questions_are_the_shells() {
    let daemon = daemon();
    let script = daemon.dir().file("script", "echo \"$0 $1\"; exit 4");
    for words in [&[script.as_str(), "a"][..], &["--version"], &["-c"], &[], &["-s", "a"]] {
        let real = said(there(&daemon, "/bin/bash").arg0("bash").args(words));
        let ours = said(there(&daemon, links(&daemon).join("bash")).arg0("bash").args(words));
        assert_eq!(ours, real, "{words:?}");
    }
    let mut piped = there(&daemon, links(&daemon).join("bash"));
    piped
        .args(["-s", "a"])
        .stdin(std::fs::File::open(daemon.dir().file("text", "echo got $1; exit 9")).unwrap());
    let piped = said(&mut piped);
    assert_eq!((piped.code, piped.out.as_str()), (Some(9), "got a\n"));
    // what it ran is known
    let list = daemon.client().ok("exec.list", trl_testkit::json!({}));
    assert!(list.to_string().contains("script a"), "{list}");
}

/// Where a command can be told from others that also have a session each.
#[test]
fn it_is_in_the_daemons_hands() {
    let daemon = daemon();
    let mut trl = daemon.command();
    trl.arg("--socket").arg(daemon.socket()).args([
        "sh",
        "-ec",
        "echo $1; false; echo not here",
        "name",
        "it",
    ]);
    let said = said(&mut trl);
    assert_eq!((said.code, said.out.as_str()), (Some(1), "it\n"), "{said:?}");
    let list = daemon.client().ok("exec.list", trl_testkit::json!({}));
    let one = &list["executions"][0];
    assert_eq!((one["exit_code"].as_i64(), one["status"].as_str()), (Some(1), Some("done")), "{list}");
    assert!(one["command"].as_str().unwrap().ends_with("sh -ec echo $1; false; echo not here name it"));
}
