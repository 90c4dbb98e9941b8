//! Traps and the shell's own clock: rows 73 to 77.

use std::time::Duration;

use trl_testkit::Shell;

use crate::case::{Case, Outcome, Row, Shells, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(
        73,
        "debug_and_err_traps",
        Shells::Only(&[Shell::Bash, Shell::Zsh, Shell::Ksh93]),
        debug_and_err_traps,
    ),
    row(74, "debug_trap_skips_commands", Shells::Only(&[Shell::Bash]), debug_trap_skips_commands),
    row(75, "exit_trap", Shells::Posix, exit_trap),
    row(76, "tmout_while_idle", Shells::Posix, tmout_while_idle),
    row(77, "err_trap_that_exits", Shells::Only(&[Shell::Bash, Shell::Zsh]), err_trap_that_exits),
];

fn debug_and_err_traps(c: &mut Case) -> Outcome {
    c.x("trap 'echo D' DEBUG");
    let run = c.x("echo hi");
    req(run.out().contains("hi") && run.code == 0, || format!("under DEBUG: {:?} {}", run.out(), run.code))?;
    c.x("trap - DEBUG");
    c.x("trap 'echo E' ERR");
    let run = c.x("false");
    req(run.out().ends_with("E\n") && run.code == 1, || format!("under ERR: {:?} {}", run.out(), run.code))?;
    c.x("trap - ERR");
    c.alive()
}

fn debug_trap_skips_commands(c: &mut Case) -> Outcome {
    c.keep()?;
    c.ends("shopt -s extdebug; trap false DEBUG")?;
    c.kept()
}

fn exit_trap(c: &mut Case) -> Outcome {
    c.want("keep=kept; trap 'echo bye' EXIT", "", 0)?;
    c.want("echo x", "x\n", 0)?;
    c.want("exit 3", "bye\n", 3)?;
    c.kept()
}

fn tmout_while_idle(c: &mut Case) -> Outcome {
    c.want("TMOUT=1; keep=kept", "", 0)?;
    let shell = c.s.pid();
    // Time itself is the subject: nothing may happen when the shell's second of patience is over.
    std::thread::sleep(Duration::from_millis(1400));
    c.kept()?;
    req(c.s.pid() == shell, || "the shell died while idle".into())
}

fn err_trap_that_exits(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want("trap 'exit 9' ERR", "", 0)?;
    c.kept()?;
    c.want("false", "", 9)?;
    c.kept()
}
