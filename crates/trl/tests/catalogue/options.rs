//! Shell options, failing builtins, and user functions and aliases over everything: rows 60 to 72, 155 to 157 and 161.

use trl_testkit::Shell;

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(60, "set_e", Shells::Posix, set_e),
    row(61, "set_u", Shells::Posix, set_u),
    row(62, "special_builtin_errors", Shells::Posix, special_builtin_errors),
    row(63, "set_x_traces_only_the_user", Shells::Posix, set_x_traces_only_the_user),
    row(64, "set_n", Shells::Posix, set_n),
    row(65, "other_set_options", Shells::Posix, other_set_options),
    row(66, "odd_ifs", Shells::Posix, odd_ifs),
    row(67, "functions_over_plain_builtins", Shells::Posix, functions_over_plain_builtins),
    row(68, "functions_over_command_and_builtin", Shells::Posix, functions_over_command_and_builtin),
    row(69, "functions_over_special_builtins", Shells::Posix, functions_over_special_builtins),
    row(70, "aliases_over_everything", Shells::Posix, aliases_over_everything),
    row(71, "disabled_builtins", Shells::Only(&[Shell::Bash, Shell::Zsh]), disabled_builtins),
    row(72, "posix_mode", Shells::Only(&[Shell::Bash, Shell::Zsh, Shell::Ksh93]), posix_mode),
    row(155, "readonly_ifs", Shells::Posix, readonly_ifs),
    row(156, "aliases_keep_the_rollback_point", Shells::Posix, aliases_keep_the_rollback_point),
    row(157, "set_x_keeps_the_rollback_point", Shells::Posix, set_x_keeps_the_rollback_point),
    row(
        161,
        "functions_keep_the_rollback_point",
        Shells::Only(&[Shell::Bash, Shell::Zsh]),
        functions_keep_the_rollback_point,
    ),
];

fn set_e(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want("set -e; false; echo no", "", 1)?;
    c.kept()?;
    c.want("set -e", "", 0)?;
    c.want("echo a; false; echo no", "a\n", 1)?;
    c.kept()?;
    c.want("(exit 4)", "", 4)?;
    c.alive()
}

fn set_u(c: &mut Case) -> Outcome {
    c.bad("set -u; echo $nope_nope")?;
    c.want("set -u", "", 0)?;
    c.bad("echo $nope_nope")?;
    c.alive()
}

/// Errors that end a script must not end a session. A few of them are no errors in some shells.
fn special_builtin_errors(c: &mut Case) -> Outcome {
    use Shell::{Ash, Bash, Dash, Ksh93, Zsh};
    let commands: [(&str, &[Shell]); 14] = [
        ("shift 100", &[Bash]),
        ("readonly ro_z=1; ro_z=2", &[]),
        (". /nonexistent/f", &[]),
        ("set -o nosuchopt", &[]),
        ("export 1x=2", &[]),
        (": ${nope_z:?bad}", &[]),
        ("exec /nonexistent/p", &[]),
        (": >/nonexistent/x", &[]),
        ("eval 'if'", &[]),
        ("unset 1x", &[Bash, Zsh]),
        ("trap x NOSUCHSIG", &[]),
        ("exec 9</nonexistent", &[]),
        ("return abc", &[Zsh, Ksh93]),
        ("break abc", &[Zsh, Ksh93, Dash, Ash]),
    ];
    for (command, no_error_in) in commands {
        if no_error_in.contains(&c.shell) {
            c.ends(command)?;
            c.alive()?;
        } else {
            c.bad(command)?;
        }
    }
    Ok(())
}

fn set_x_traces_only_the_user(c: &mut Case) -> Outcome {
    c.x("set -x");
    let run = c.x("echo hi");
    is(&run, "hi\n", 0)?;
    let trace = run.err();
    req(trace.contains("echo hi"), || format!("trace missing: {trace:?}"))?;
    req(trace.lines().count() == 1 && !trace.contains("__trl"), || format!("our own trace leaks: {trace:?}"))
}

fn set_n(c: &mut Case) -> Outcome {
    c.keep()?;
    c.ends("set -n\necho x")?;
    c.kept()
}

fn other_set_options(c: &mut Case) -> Outcome {
    for option in ["v", "f", "C", "a", "b", "h", "m"] {
        let said = |why: String| format!("-{option}: {why}");
        c.ends(&format!("set -{option}"))?;
        c.alive().map_err(said)?;
        c.want("exit 3", "", 3).map_err(said)?;
        c.alive().map_err(said)?;
        c.x(&format!("set +{option}"));
    }
    Ok(())
}

fn odd_ifs(c: &mut Case) -> Outcome {
    c.want("IFS=0123456789/", "", 0)?;
    c.want("(exit 137)", "", 137)?;
    c.want("IFS=", "", 0)?;
    c.want("exit 3", "", 3)?;
    c.alive()
}

fn functions_over_plain_builtins(c: &mut Case) -> Outcome {
    let define =
        "printf() { echo P; }; read() { echo R; }; test() { false; }; pwd() { echo W; }; kill() { :; }";
    c.want(define, "", 0)?;
    c.want("printf x; read y", "P\nR\n", 0)?;
    c.want("exit 3", "", 3)?;
    c.want("(exit 6)", "", 6)?;
    c.alive()
}

fn functions_over_command_and_builtin(c: &mut Case) -> Outcome {
    let run = c.ends("keep=kept; command() { echo CMD; }; builtin() { echo BI; }")?;
    req(run.code == 0, || format!("code {}", run.code))?;
    c.kept()?;
    c.alive()
}

fn functions_over_special_builtins(c: &mut Case) -> Outcome {
    if matches!(c.shell, Shell::Bash | Shell::Zsh) {
        for name in ["eval", "exit", "set", "trap", "unset", "source", "break", "continue", "until"] {
            c.ends(&format!("function {name}() {{ :; }}"))?;
        }
        c.alive()?;
        return c.want("echo two", "two\n", 0);
    }
    for name in ["eval", ".", "exit", "set", "trap", "unset", ":", "break"] {
        c.ends(&format!("{name}() {{ echo F; }}"))?;
    }
    c.alive()
}

fn aliases_over_everything(c: &mut Case) -> Outcome {
    if c.shell == Shell::Bash {
        c.x("shopt -s expand_aliases");
    }
    c.x("alias printf=false read=false command=false builtin=false trap=false set=false");
    c.x("alias until=false do=false done=false case=false esac=false unset=false continue=false");
    c.want("\\echo x", "x\n", 0)?;
    let run = c.x("\\exit 3");
    req(run.code == 3, || format!("exit 3 gave {}", run.code))?;
    c.want("\\echo y", "y\n", 0)
}

fn disabled_builtins(c: &mut Case) -> Outcome {
    let bash = c.shell == Shell::Bash;
    c.keep()?;
    c.ends(if bash { "keep=2; enable -n printf read ." } else { "keep=2; disable printf read" })?;
    c.want("echo ok", "ok\n", 0)
}

fn posix_mode(c: &mut Case) -> Outcome {
    let enter = match c.shell {
        Shell::Bash => "set -o posix",
        Shell::Zsh => "emulate sh",
        _ => "set -o posix 2>/dev/null; :",
    };
    c.want(enter, "", 0)?;
    c.bad("echo 'abc")?;
    c.bad("if")?;
    c.want("exit 3", "", 3)?;
    c.want("f() { return 4; }; f", "", 4)?;
    c.alive()
}

fn readonly_ifs(c: &mut Case) -> Outcome {
    for ifs in ["", "=0123456789/"] {
        c.keep()?;
        c.want(&format!("readonly IFS{ifs}"), "", 0)?;
        for _ in 0..10 {
            c.want("(exit 7)", "", 7)?;
        }
        c.bad("IFS=x")?;
        c.want("exit 3", "", 3)?;
        c.kept()?;
        // the second round needs a shell that still lets IFS be set
        let id = c.s.id.clone();
        c.s.client().ok("session.reset", trl_testkit::json!({"session_id": id}));
    }
    c.alive()
}

/// A clone reads its loop when it is promoted, with the aliases of that time.
fn aliases_keep_the_rollback_point(c: &mut Case) -> Outcome {
    for name in ["command", "builtin", "trap", "printf", "exec", "unset", "return", "read", "set", "."] {
        let mut other = c.daemon.session(c.shell);
        if c.shell == Shell::Bash {
            other.run("shopt -s expand_aliases");
        }
        other.run(&format!("keep=kept; alias {name}=exit"));
        for _ in 0..2 {
            let run = other.run("\\exit 3");
            is(&run, "", 3).map_err(|why| format!("{name}: {why}"))?;
            let point = (run.shell_state.as_str(), &run.json["lost_commands"]);
            req(point == ("rolled_back", &trl_testkit::Value::Null), || format!("{name}: {}", run.json))?;
            let extra = trl_testkit::json!({"env": {"A": "a"}, "working_dir": "/usr"});
            let run = other.run_with("\\echo $keep $A", extra);
            is(&run, "kept a\n", 0).map_err(|why| format!("{name}: {why}"))?;
        }
        other.destroy();
    }
    c.alive()
}

fn set_x_keeps_the_rollback_point(c: &mut Case) -> Outcome {
    c.x("set -x");
    for i in 0..3 {
        c.want(&format!("count={i}"), "", 0)?;
        let run = c.x("exit 3");
        is(&run, "", 3)?;
        req(run.json["lost_commands"].is_null(), || format!("{}", run.json))?;
        c.want("echo $count", &format!("{i}\n"), 0)?;
    }
    Ok(())
}

/// Shells that let functions go before special builtins.
fn functions_keep_the_rollback_point(c: &mut Case) -> Outcome {
    for name in [":", "exec", "eval", "return", "trap", "set", "source", "export", "cd", "printf", "read"] {
        let mut other = c.daemon.session(c.shell);
        let said = |why: String| format!("{name}: {why}");
        is(&other.run(&format!("keep=kept; {name}() {{ exit 9; }}")), "", 0).map_err(said)?;
        for _ in 0..2 {
            let run = other.run("exit 3");
            is(&run, "", 3).map_err(said)?;
            req(run.shell_state == "rolled_back", || format!("{name}: {}", run.json))?;
            is(&other.run("echo $keep"), "kept\n", 0).map_err(said)?;
            let extra = trl_testkit::json!({"env": {"A": "a"}, "working_dir": "/usr"});
            is(&other.run_with("echo $keep $A", extra), "kept a\n", 0).map_err(said)?;
        }
        other.destroy();
    }
    c.alive()
}
