//! What our own three streams are, and what follows from that for the command's.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::fs::{FileType, Stat, fstat};

/// What the command is to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seat {
    Pipes {
        input: Input,
        errors: Errors,
    },
    /// All three of ours are one: a person sits here, and the command gets a terminal of its own.
    Terminal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Nothing,
    /// Whatever comes here.
    Ours,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    Apart,
    /// Our stdout and stderr are the same thing, so the order in which the command writes to them shows.
    WithOutput,
}

impl Seat {
    pub(super) fn find() -> Self {
        let all = io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
        if all && is_in_foreground() {
            return Self::Terminal;
        }
        let (out, err) = (fstat(io::stdout()).ok(), fstat(io::stderr()).ok());
        let same = out.zip(err).is_some_and(|(out, err)| is_same(&out, &err));
        let errors = if same { Errors::WithOutput } else { Errors::Apart };
        Self::Pipes { input: input(), errors }
    }
}

/// Reading a terminal that somebody else has in the foreground would stop us, and a command that does not read would be
/// stopped for nothing.
fn input() -> Input {
    let may_read = !io::stdin().is_terminal() || is_in_foreground();
    if may_read && !is_null(io::stdin()) { Input::Ours } else { Input::Nothing }
}

fn is_in_foreground() -> bool {
    let ours = rustix::process::getpgrp();
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground == ours)
}

fn is_null(stream: impl AsFd) -> bool {
    let null = rustix::fs::stat("/dev/null");
    let device = |stat: &Stat| (FileType::from_raw_mode(stat.st_mode), stat.st_rdev);
    fstat(stream).ok().zip(null.ok()).is_some_and(|(ours, null)| device(&ours) == device(&null))
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn nothing_is_told_from_something() {
        assert!(is_null(File::open("/dev/null").unwrap()));
        assert!(
            !is_null(File::open("/dev/zero").unwrap()) && !is_null(File::open("/proc/self/stat").unwrap())
        );
    }

    #[test]
    fn one_pipe_twice_is_one_pipe() {
        let (read, write) = io::pipe().unwrap();
        let (other, _) = io::pipe().unwrap();
        assert!(is_same(&fstat(&write).unwrap(), &fstat(write.try_clone().unwrap()).unwrap()));
        assert!(!is_same(&fstat(&read).unwrap(), &fstat(&other).unwrap()));
    }
}
