//! Descriptors, the environment children see, and where the shell stands: rows 80 to 87, 95, 96, 98.

use trl_testkit::Shell;

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(80, "exec_redirections_last_one_command", Shells::Posix, exec_redirections_last_one_command),
    row(81, "close_every_descriptor", Shells::Posix, close_every_descriptor),
    row(82, "user_descriptor_persists", Shells::Posix, user_descriptor_persists),
    row(83, "high_descriptors_can_be_closed", Shells::Only(&[Shell::Bash]), high_descriptors_can_be_closed),
    row(84, "children_see_only_0_1_2", Shells::All, children_see_only_0_1_2),
    row(85, "clean_environment_and_signals", Shells::All, clean_environment_and_signals),
    row(86, "clean_signals_after_rollback", Shells::All, clean_signals_after_rollback),
    row(87, "deleted_working_directory", Shells::All, deleted_working_directory),
    row(95, "no_terminal", Shells::All, no_terminal),
    row(96, "sigpipe_is_default", Shells::All, sigpipe_is_default),
    row(98, "subshell_isolation", Shells::Posix, subshell_isolation),
];

const SIGNALS: &str = "grep -E 'Sig(Ign|Blk)' /proc/self/status | tr -d '\\n'";
const SIGNALS_DEFAULT: &str = "SigBlk:\t0000000000000000SigIgn:\t0000000000000000";
/// `ls` itself opens the directory as 3.
const DESCRIPTORS: &str = "ls /proc/self/fd | tr '\\n' ' '";

fn exec_redirections_last_one_command(c: &mut Case) -> Outcome {
    let commands = [
        "exec 1>&-",
        "exec 2>&-",
        "exec 0<&-",
        "exec >/dev/null",
        "exec 2>&1",
        "exec 1>&- 2>&- 0<&-",
        "exec </dev/zero",
    ];
    for command in commands {
        let run = c.x(command);
        req(run.code == 0, || format!("{command} gave {}", run.code))?;
        let run = c.x("cat; echo o; echo e >&2");
        is(&run, "o\n", 0).map_err(|why| format!("after {command}: {why}"))?;
        req(run.stderr == b"e\n", || format!("after {command}: stderr {:?}", run.err()))?;
    }
    Ok(())
}

fn close_every_descriptor(c: &mut Case) -> Outcome {
    let few = "for i in 3 4 5 6 7 8 9; do eval \"exec $i>&-\"; done";
    let all = "i=3; while [ $i -lt 256 ]; do eval \"exec $i>&-\" 2>/dev/null; i=$((i+1)); done";
    c.keep()?;
    c.ends(if c.shell == Shell::Dash { few } else { all })?;
    c.kept()?;
    let run = c.x("echo o; echo e >&2");
    is(&run, "o\n", 0)?;
    req(run.stderr == b"e\n", || format!("stderr {:?}", run.err()))
}

/// `exec 3>` lasts, and closing it closes it: the rollback point must not hold it open.
fn user_descriptor_persists(c: &mut Case) -> Outcome {
    let (fifo, out, lock) = (c.dir().text("uf"), c.dir().text("ufo"), c.dir().text("lk"));
    c.want(&format!("mkfifo {fifo}; cat {fifo} >{out} & exec 3>{fifo}"), "", 0)?;
    c.want("echo x >&3", "", 0)?;
    c.want(&format!("exec 3>&-; wait; cat {out}"), "x\n", 0)?;
    if c.shell == Shell::Ksh93 {
        return Ok(()); // ksh93 marks its descriptors close-on-exec: flock cannot see them
    }
    // again and again: whoever still holds it in passing is caught sooner or later
    for _ in 0..20 {
        c.want(&format!("exec 9>{lock}; flock 9"), "", 0)?;
        c.want(&format!("exec 9>&-; flock -n {lock} echo got"), "got\n", 0)?;
    }
    Ok(())
}

fn high_descriptors_can_be_closed(c: &mut Case) -> Outcome {
    let out = c.dir().text("co");
    c.want(&format!("exec {{fd}}> >(cat >{out}); pp=$!"), "", 0)?;
    c.want(&format!("echo z >&$fd; exec {{fd}}>&-; wait $pp; cat {out}"), "z\n", 0)?;
    let lock = c.dir().text("hl");
    for globs in ["set +f", "set -f"] {
        c.want(globs, "", 0)?;
        for _ in 0..10 {
            c.want(&format!("exec {{fd}}>{lock}; flock $fd"), "", 0)?;
            c.want(&format!("exec {{fd}}>&-; flock -n {lock} echo got"), "got\n", 0)?;
        }
        c.want(
            "case $- in *f*) echo off;; *) echo on;; esac",
            if globs == "set -f" { "off\n" } else { "on\n" },
            0,
        )?;
    }
    Ok(())
}

fn children_see_only_0_1_2(c: &mut Case) -> Outcome {
    c.want(DESCRIPTORS, "0 1 2 3 ", 0)
}

fn clean_environment_and_signals(c: &mut Case) -> Outcome {
    let run = c.x("env | grep -i '^[^=]*trl'");
    req(run.stdout.is_empty(), || format!("environment: {}", run.out()))?;
    let run = c.x(SIGNALS);
    req(run.out() == SIGNALS_DEFAULT, || run.out())
}

fn clean_signals_after_rollback(c: &mut Case) -> Outcome {
    let nice = c.x("nice").out();
    c.x("exit 1");
    c.want("nice", &nice, 0)?;
    let run = c.x(SIGNALS);
    req(run.out() == SIGNALS_DEFAULT, || run.out())?;
    c.want(DESCRIPTORS, "0 1 2 3 ", 0)
}

fn deleted_working_directory(c: &mut Case) -> Outcome {
    let dir = c.dir().text("del");
    c.want(&format!("mkdir {dir}; cd {dir}; rmdir {dir}"), "", 0)?;
    c.want("echo x", "x\n", 0)?;
    c.want("exit 3", "", 3)?;
    c.alive()?;
    c.want("cd /usr; pwd", "/usr\n", 0)
}

/// No controlling terminal: programs that would ask a person fail at once instead of hanging.
fn no_terminal(c: &mut Case) -> Outcome {
    let run = c.ends("stty -a")?;
    req(run.code != 0, || "stty found a terminal".into())?;
    c.want("tty", "not a tty\n", 1)?;
    let run = c.ends("cat </dev/tty")?;
    req(run.code != 0, || "/dev/tty could be opened".into())
}

fn sigpipe_is_default(c: &mut Case) -> Outcome {
    c.want("yes | head -n 1", "y\n", 0)?;
    c.want("sh -c 'kill -PIPE $$'", "", c.shell.code_of_signal(13))
}

fn subshell_isolation(c: &mut Case) -> Outcome {
    c.want("(cd /usr; Z=1; exit 4)", "", 4)?;
    c.want("pwd; echo \"[$Z]\"", "/\n[]\n", 0)
}
