//! Environment of one command: set before, restored after, whatever the command did to it: rows 100 to 109 and 154.

use trl_testkit::json;

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(100, "env_unset_before", Shells::All, unset_before),
    row(101, "env_exported_before", Shells::All, exported_before),
    row(102, "env_set_but_not_exported_before", Shells::All, set_but_not_exported_before),
    row(103, "env_changed_by_the_command", Shells::All, changed_by_the_command),
    row(104, "env_made_readonly_by_the_command", Shells::Posix, made_readonly_by_the_command),
    row(105, "env_several_keys", Shells::All, several_keys),
    row(106, "env_odd_values", Shells::All, odd_values),
    row(107, "env_two_commands_in_a_row", Shells::All, two_commands_in_a_row),
    row(108, "env_path", Shells::All, path),
    row(109, "env_bad_names", Shells::All, bad_names),
    row(154, "env_onto_a_readonly_variable", Shells::All, onto_a_readonly_variable),
];

/// Prints `[value]` or `[unset]`, first as the shell sees K, then as its children do.
const CHILD_SEES: &str = "sh -c 'echo \"[${K-unset}]\"'";

pub(crate) fn sees(c: &mut Case, shell: &str, child: &str) -> Outcome {
    let posix = format!("echo \"[${{K-unset}}]\"; {CHILD_SEES}");
    let fish = format!("set -q K; and echo \"[$K]\"; or echo '[unset]'; {CHILD_SEES}");
    c.want(c.pick(&posix, &fish), &format!("[{shell}]\n[{child}]\n"), 0)
}

fn with_k(c: &mut Case, value: &str) -> Outcome {
    c.want_with(
        "echo \"$K\"; sh -c 'echo \"$K\"'",
        json!({"env": {"K": value}}),
        &format!("{value}\n{value}\n"),
        0,
    )
}

fn unset_before(c: &mut Case) -> Outcome {
    with_k(c, "v")?;
    sees(c, "unset", "unset")
}

fn exported_before(c: &mut Case) -> Outcome {
    c.want(c.pick("export K=old", "set -gx K old"), "", 0)?;
    with_k(c, "new")?;
    sees(c, "old", "old")
}

fn set_but_not_exported_before(c: &mut Case) -> Outcome {
    c.want(c.pick("K=plain", "set -g K plain"), "", 0)?;
    sees(c, "plain", "unset")?;
    with_k(c, "new")?;
    sees(c, "plain", "unset")
}

/// Every way to touch K, from every state K can be in before.
fn changed_by_the_command(c: &mut Case) -> Outcome {
    let states = [
        (c.pick("unset K", "set -e K; true").to_string(), "unset", "unset"),
        (c.pick("export K=old", "set -gx K old").to_string(), "old", "old"),
        (c.pick("unset K; K=plain", "set -e K; set -g K plain").to_string(), "plain", "unset"),
    ];
    let posix = ["K=x", "unset K", "export K=y", "unset K; K=z", "K=x; (exit 5)", "K=; export K"];
    let fish = [
        "set K x",
        "set -e K",
        "set -gx K y",
        "set -e K; set -g K z",
        "set K x; sh -c 'exit 5'",
        "set -gx K ''",
    ];
    for (prepare, shell, child) in states {
        for touch in if c.shell.is_fish() { fish } else { posix } {
            c.ends(&prepare)?;
            let run = c.x_with(touch, json!({"env": {"K": "new"}}));
            req(!run.timed_out, || format!("{touch}: timed out"))?;
            req(touch.contains("exit 5") == (run.code == 5), || format!("{touch} gave {}", run.code))?;
            sees(c, shell, child).map_err(|why| format!("{prepare}, then {touch}: {why}"))?;
        }
    }
    Ok(())
}

/// A read-only variable cannot be taken back, by anyone: the value may stay, the session must not suffer.
fn made_readonly_by_the_command(c: &mut Case) -> Outcome {
    c.keep()?;
    let run = c.x_with("readonly K; echo \"$K\"", json!({"env": {"K": "new"}}));
    is(&run, "new\n", 0)?;
    c.kept()?;
    let run = c.x("echo \"[${K-unset}]\"");
    req(matches!(run.out().as_str(), "[new]\n" | "[unset]\n"), || format!("K is {:?}", run.out()))?;
    // A later command that wants K differently gets it or is told, but does not run with the wrong value.
    match c.s.try_run("echo \"$K\"", json!({"env": {"K": "other"}})) {
        Ok(run) => req(run.out() == "other\n" || run.code != 0, || format!("ran with K {:?}", run.out()))?,
        Err(refused) => req(refused.code != "INTERNAL_ERROR", || refused.message)?,
    }
    c.kept()
}

fn several_keys(c: &mut Case) -> Outcome {
    c.want(c.pick("export A1=old; B1=plain", "set -gx A1 old; set -g B1 plain"), "", 0)?;
    let env = json!({"env": {"A1": "1", "B1": "2", "C1": "3", "LANG": "C"}});
    c.want_with("sh -c 'echo $A1$B1$C1$LANG'", env, "123C\n", 0)?;
    c.want("sh -c 'echo \"$A1-$B1-$C1\"'; echo $B1", "old--\nplain\n", 0)
}

fn odd_values(c: &mut Case) -> Outcome {
    let values = [
        "",
        " ",
        "it's",
        "\"quoted\"",
        "two\nlines\n",
        "$HOME `id` $(id) ${x}",
        "back\\slash\\",
        "*?[a]",
        "-n",
        "caf\u{e9} \u{1f980}",
        "tab\there",
        "a=b;c&d|e>f #g",
        "!history",
        "{a,b} ~ (x)",
    ];
    for value in values {
        let run = c.x_with("printenv K", json!({"env": {"K": value}}));
        is(&run, &format!("{value}\n"), 0).map_err(|why| format!("{value:?}: {why}"))?;
        sees(c, "unset", "unset")?;
    }
    let long = "x".repeat(100_000);
    let run = c.x_with("printenv K | wc -c | tr -d ' '", json!({"env": {"K": long}}));
    is(&run, "100001\n", 0)?;
    // What was there before comes back byte for byte as well.
    let odd = "it's $HOME\n\"two\" \\ *\n";
    let set = json!({"env": {"K": "new"}, "stdin": odd});
    c.want_with(
        c.pick("export L=\"$(cat; echo .)\"", "set -gx L (cat | string collect -N; echo .)"),
        set,
        "",
        0,
    )?;
    sees(c, "unset", "unset")
}

fn two_commands_in_a_row(c: &mut Case) -> Outcome {
    with_k(c, "one")?;
    with_k(c, "two")?;
    c.want_with("echo \"$J$K\"", json!({"env": {"J": "three"}}), "three\n", 0)?;
    sees(c, "unset", "unset")
}

/// The variable everything else depends on.
fn path(c: &mut Case) -> Outcome {
    let run = c.x_with("ls /", json!({"env": {"PATH": "/nonexistent"}}));
    req(run.code == 127, || format!("with an empty PATH ls gave {}", run.code))?;
    let run = c.x("ls / >/dev/null");
    is(&run, "", 0)
}

fn bad_names(c: &mut Case) -> Outcome {
    for name in ["", "A=B", "1x", "A B", "A-B", "A\0"] {
        match c.s.try_run("echo ran", json!({"env": {name: "v"}})) {
            Err(refused) => req(refused.code == "INVALID_PARAMS", || format!("{name:?}: {}", refused.code))?,
            Ok(run) => return Err(format!("{name:?} was accepted: {:?}", run.out())),
        }
    }
    match c.s.try_run("echo ran", json!({"env": {"K": "a\0b"}})) {
        Err(refused) => req(refused.code == "INVALID_PARAMS", || refused.code)?,
        Ok(_) => return Err("a NUL in a value was accepted".into()),
    }
    c.alive()
}

/// The command is not run with a value it was not meant to see, and the result says why.
fn onto_a_readonly_variable(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want(c.pick("readonly RO=old", "true"), "", 0)?;
    // fish has no readonly variables but its own
    let name = c.pick("RO", "version").to_string();
    for extra in
        [json!({"env": {"A": "a", &name: "new"}}), json!({"env": {&name: "new"}, "working_dir": "/usr"})]
    {
        let run = c.x_with("echo ran", extra);
        is(&run, "", 1)?;
        req(run.shell_state == "kept", || format!("{}", run.json))?;
        let told = run.err();
        req(told.contains("readonly") && told.contains("not run"), || format!("stderr {told:?}"))?;
        req(c.shell.is_fish() || told.contains("RO"), || format!("stderr {told:?}"))?;
    }
    c.want(c.pick("echo \"[${A-}$RO]\"", "echo \"[$A\"old]"), "[old]\n", 0)?;
    c.want_with("echo \"$A\"; sh -c 'exit 5'", json!({"env": {"A": "it's"}}), "it's\n", 5)?;
    c.kept()
}
