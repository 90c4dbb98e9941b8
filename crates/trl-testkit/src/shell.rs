//! The shells TRL promises to drive, and where this machine has them.

use std::fmt;
use std::path::PathBuf;

/// What the daemon and everything below it get as `PATH`: the system's own programs, nothing of the developer's.
pub const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    Dash,
    Bash,
    Zsh,
    /// The ash of busybox, reached through a link of that name.
    Ash,
    Fish,
    Ksh93,
}

impl Shell {
    pub const ALL: [Self; 6] = [Self::Dash, Self::Bash, Self::Zsh, Self::Ash, Self::Fish, Self::Ksh93];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dash => "dash",
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Ash => "ash",
            Self::Fish => "fish",
            Self::Ksh93 => "ksh93",
        }
    }

    /// The program that implements it, if installed.
    pub fn program(self) -> Option<PathBuf> {
        find_program(if self == Self::Ash { "busybox" } else { self.name() })
    }

    /// Has its own syntax for variables, functions and conditions.
    pub fn is_fish(self) -> bool {
        self == Self::Fish
    }

    /// The exit code this shell gives a child killed by signal `n`.
    pub fn code_of_signal(self, n: i64) -> i64 {
        if self == Self::Ksh93 { 256 + n } else { 128 + n }
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Looks a program up in [`SYSTEM_PATH`].
pub fn find_program(name: &str) -> Option<PathBuf> {
    SYSTEM_PATH.split(':').map(|dir| PathBuf::from(dir).join(name)).find(|path| path.is_file())
}
