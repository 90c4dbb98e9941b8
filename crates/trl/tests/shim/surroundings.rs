//! Directory, variables, and which shell.

use std::os::unix::fs::symlink;

use super::{bash, daemon, links, ok, said, shim, there};

#[test]
fn the_directory_is_the_callers_by_the_name_it_has_there() {
    let daemon = daemon();
    let here = daemon.dir().dir("some where");
    let link = daemon.dir().join("link");
    symlink(&here, &link).unwrap();
    let real = here.canonicalize().unwrap();
    assert_eq!(ok(bash(&daemon, "pwd").current_dir(&here)), format!("{}\n", real.display()));
    assert_eq!(
        ok(bash(&daemon, "pwd").current_dir(&here).env("PWD", &link)),
        format!("{}\n", link.display())
    );
    // one that lies is not believed
    assert_eq!(
        ok(bash(&daemon, "pwd").current_dir(&here).env("PWD", "/usr")),
        format!("{}\n", real.display())
    );
}

#[test]
fn what_was_exported_is_there_and_our_own_is_not() {
    let daemon = daemon();
    let mut command = bash(&daemon, "env | sort");
    command.env("EDITOR", "vi -x").env("API_TOKEN", "hunter2-token").env("TRL_AUTH_TOKEN", "");
    command.env("SHELL", links(&daemon).join("bash")).env("LINES_OF", "a\nb");
    let out = ok(&mut command);
    for line in ["EDITOR=vi -x", "API_TOKEN=hunter2-token", "SHELL=/bin/bash", "USER=tester", "LINES_OF=a"] {
        assert!(out.contains(&format!("{line}\n")), "{line}: {out}");
    }
    assert!(!out.contains("TRL_"), "{out}");
    // a secret is kept nowhere
    ok(bash(&daemon, "echo $API_TOKEN").env("API_TOKEN", "hunter2-token"));
    let history = daemon.operator().ok("session.history", trl_testkit::json!({}));
    assert!(!history.to_string().contains("hunter2"), "{history}");
}

/// What an agent must not show to others is not shown by its commands either.
#[test]
fn the_umask_is_the_callers() {
    let daemon = daemon();
    let shim = links(&daemon).join("bash");
    for mask in ["0077", "0022", "0000"] {
        let mut caller = there(&daemon, "/bin/sh");
        caller.args(["-c", "umask $1; \"$0\" -c umask"]).arg(&shim).arg(mask);
        assert_eq!(ok(&mut caller), format!("{mask}\n"));
    }
}

/// Once, wherever a shell looks for it.
#[test]
fn the_directory_is_in_the_environment_once() {
    let daemon = daemon();
    for shell in ["bash", "zsh", "dash"] {
        let mut command = shim(&daemon, shell);
        command.args(["-c", "tr '\\0' '\\n' </proc/$$/environ | grep -c ^PWD="]).env("PWD", "/nowhere");
        assert_eq!(ok(&mut command), "1\n", "{shell}");
    }
}

#[test]
fn fewer_variables_go_when_that_is_said() {
    let daemon = daemon();
    for (filter, expected) in
        [("none", "-"), ("EDITOR", "vi-"), ("all,-API_*", "vi-"), ("API_*", "-s"), ("", "vi-s")]
    {
        let mut command = bash(&daemon, "echo $EDITOR-$API_TOKEN");
        command.env("EDITOR", "vi").env("API_TOKEN", "s").env("TRL_SH_ENV", filter);
        assert_eq!(ok(&mut command), format!("{expected}\n"), "{filter}");
    }
}

/// Each name is that shell, and none is found through PATH, where we may stand first.
#[test]
fn the_shell_is_the_one_that_was_called() {
    let daemon = daemon();
    let which = "echo ${BASH_VERSION:+bash}${ZSH_VERSION:+zsh}";
    let path = format!("{}:/usr/bin:/bin", links(&daemon).display());
    for (called, expected) in [("bash", "bash\n"), ("zsh", "zsh\n"), ("dash", "\n")] {
        assert_eq!(ok(shim(&daemon, called).args(["-c", which]).env("PATH", &path)), expected, "{called}");
    }
    let mut other = shim(&daemon, "sh");
    other.args(["-c", which]).env("TRL_SH_SHELL", "zsh");
    assert_eq!(ok(&mut other), "zsh\n");
    other.env("TRL_SH_SHELL", "/usr/bin/bash");
    assert_eq!(ok(&mut other), "bash\n");
    let us = links(&daemon).join("bash");
    for none in ["no-such-shell", "/nowhere/bash", us.to_str().unwrap()] {
        let said = said(other.env("TRL_SH_SHELL", none));
        assert_eq!((said.code, said.err.contains("there is no shell")), (Some(127), true), "{said:?}");
    }
}

#[test]
fn a_login_is_left_out_when_that_is_said() {
    let daemon = daemon();
    daemon.dir().file("home/.bash_profile", "echo from the profile");
    let mut command = there(&daemon, links(&daemon).join("bash"));
    command.args(["-lc", "echo $1", "name", "-l"]);
    assert_eq!(ok(&mut command), "from the profile\n-l\n");
    assert_eq!(ok(command.env("TRL_SH_NO_LOGIN", "1")), "-l\n");
}

#[test]
fn what_it_leaves_running_ends_with_it() {
    let daemon = daemon();
    let sleep = trl_testkit::sleeper();
    assert_eq!(ok(&mut bash(&daemon, &format!("{sleep} >/dev/null 2>&1 & echo up"))), "up\n");
    trl_testkit::eventually("it is ended", || trl_testkit::procs_matching(&sleep).is_empty());
}
