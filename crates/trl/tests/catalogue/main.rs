//! The catalogue: what any command text may do to a session, row by row, in every shell.
//!
//! 1. A [`Row`] is one behaviour with a number that never changes; the sections below hold them by theme.
//! 2. Every (shell, row) is a test of its own, named `dash::01_separate_streams`, with a daemon of its own.
//! 3. After each row the session must be idle and usable, and the daemon must leave no process behind.
//! 4. What a shell cannot do is a line in [`known`], with the reason. Such a row still runs, and must fail in that way.
//! 5. A row that does not hold in containers says why. It is ignored when sessions live in one.
//!
//! One row: `cargo nextest run -p trl --test catalogue -E 'test(=dash::40_timeout_sleep)'`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod background;
mod case;
mod command_dir;
mod command_env;
mod descriptors;
mod directory;
mod escape;
mod forgery;
mod full;
mod known;
mod limits;
mod options;
mod requests;
mod signals;
mod state;
mod stdin;
mod text;
mod timeouts;
mod traps;

use std::process::ExitCode;

use case::{Case, Row};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use trl_testkit::runtime::{self, Usual};
use trl_testkit::{Shell, in_ci};

fn rows() -> impl Iterator<Item = &'static Row> {
    [
        text::ROWS,
        state::ROWS,
        stdin::ROWS,
        background::ROWS,
        timeouts::ROWS,
        signals::ROWS,
        options::ROWS,
        traps::ROWS,
        descriptors::ROWS,
        limits::ROWS,
        command_env::ROWS,
        command_dir::ROWS,
        forgery::ROWS,
        escape::ROWS,
        requests::ROWS,
        directory::ROWS,
    ]
    .into_iter()
    .flatten()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let in_containers = runtime::usual() == Some(Usual::Docker);
    let mut trials = Vec::new();
    for shell in Shell::ALL {
        for row in rows().filter(|row| row.shells.include(shell)) {
            let name = format!("{shell}::{:02}_{}", row.number, row.name);
            let test = Trial::ignorable_test(name, move || trial(shell, row));
            trials.push(test.with_ignored_flag(in_containers && row.not_in_containers.is_some()));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(shell: Shell, row: &'static Row) -> Result<Completion, Failed> {
    if shell.program().is_none() {
        let missing = format!("{shell} is not installed");
        return if in_ci() {
            Err(missing.into())
        } else {
            println!("SKIPPED: {missing}");
            Ok(Completion::ignored_with(missing))
        };
    }
    let known = known::find(shell, row.number);
    let mut case = Case::start(shell, known.is_some());
    let outcome = (row.run)(&mut case);
    let verdict = match known {
        None => outcome,
        Some(known) => known.judge(outcome),
    };
    let verdict = verdict.and_then(|()| case.still_usable());
    verdict.map_err(|why| Failed::from(format!("{why}\n---- daemon log ----\n{}", case.daemon.log())))?;
    Ok(Completion::Completed)
}
