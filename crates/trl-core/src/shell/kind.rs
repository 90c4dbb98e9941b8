//! Which shell a program is, and how its state survives a command that destroys it.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// dash, and any `/bin/sh` that is no other shell we know.
    Dash,
    /// busybox ash
    Ash,
    Bash,
    /// bash called `sh`: posix mode, where an error in a special builtin would end the shell.
    BashAsSh,
    Zsh,
    Ksh93,
    Fish,
}

/// The rollback point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// An idle fork of the shell.
    Clone,
    /// Its state as text, taken after every command.
    Snapshot,
}

impl Kind {
    /// By the name it is called by, then by the file that name leads to.
    pub fn detect(program: &Path) -> Option<Self> {
        let called = file_name(program);
        let real = program.canonicalize().map(|p| file_name(&p)).unwrap_or_default();
        match (called.as_str(), real.as_str()) {
            ("sh", "bash") => Some(Self::BashAsSh),
            ("sh" | "ash" | "busybox", "busybox") => Some(Self::Ash),
            ("sh", real) => Some(Self::by_name(real).unwrap_or(Self::Dash)),
            (called, real) => Self::by_name(called).or_else(|| Self::by_name(real)),
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "dash" => Self::Dash,
            "ash" => Self::Ash,
            "bash" => Self::Bash,
            "zsh" => Self::Zsh,
            "ksh" | "ksh93" => Self::Ksh93,
            "fish" => Self::Fish,
            _ => return None,
        })
    }

    /// What a checkpoint calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dash => "dash",
            Self::Ash => "ash",
            Self::Bash => "bash",
            Self::BashAsSh => "bash as sh",
            Self::Zsh => "zsh",
            Self::Ksh93 => "ksh93",
            Self::Fish => "fish",
        }
    }

    /// The one a checkpoint calls so.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Dash, Self::Ash, Self::Bash, Self::BashAsSh, Self::Zsh, Self::Ksh93, Self::Fish]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Whether it can print its functions.
    pub fn prints_functions(self) -> bool {
        !matches!(self, Self::Dash | Self::Ash)
    }

    pub fn survival(self) -> Survival {
        match self {
            Self::Dash | Self::Ash | Self::Bash | Self::BashAsSh | Self::Zsh => Survival::Clone,
            Self::Ksh93 | Self::Fish => Survival::Snapshot,
        }
    }

    /// Whether it prints its state in the course of its life: after each command, or to be built anew.
    pub fn dumps_often(self) -> bool {
        self.survival() == Survival::Snapshot || self.rebase_after().is_some()
    }

    /// What ends a command's text. bash in a subshell, which every promoted clone is, lets the last program of a text
    /// take its place, state and all, unless something comes after it.
    pub fn after_command(self) -> &'static str {
        match self {
            Self::Bash | Self::BashAsSh => "\n\n",
            _ => "\n",
        }
    }

    /// Whether its own messages pass by the redirections of a command, to the stderr it was started with.
    pub fn speaks_on_base(self) -> bool {
        self == Self::Fish
    }

    /// Whether a clone can say its own pid; otherwise it is found as the grandchild of the shell.
    pub fn knows_its_pid(self) -> bool {
        matches!(self, Self::Bash | Self::BashAsSh | Self::Zsh)
    }

    /// Each rollback nests the interpreter one level deeper. Past this many the shell is built anew from a text
    /// snapshot; None where it cannot print its functions (and bears thousands of levels).
    pub fn rebase_after(self) -> Option<u32> {
        match self {
            Self::Bash | Self::BashAsSh | Self::Zsh => Some(64),
            _ => None,
        }
    }

    /// The arguments that make `program` run `boot`.
    pub fn argv(self, program: &Path, boot: &str) -> Vec<String> {
        let path = program.display().to_string();
        let name = file_name(program);
        let flags: &[&str] = match self {
            Self::Dash | Self::Ksh93 | Self::BashAsSh => &[],
            Self::Ash if name == "busybox" => &["ash"],
            Self::Ash => &[],
            Self::Bash => &["--norc", "--noprofile"],
            Self::Zsh => &["-f"],
            Self::Fish => &["--no-config"],
        };
        let mut argv = vec![path];
        argv.extend(flags.iter().map(|f| (*f).to_string()));
        argv.extend(["-c".to_string(), boot.to_string()]);
        if self != Self::Fish {
            argv.push(name);
        }
        argv
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The program `shell` names: a path as it is, a bare name through `path_var`.
pub fn find_program(shell: &str, path_var: &str) -> Option<PathBuf> {
    let runnable = |p: &Path| p.is_file() && rustix::fs::access(p, rustix::fs::Access::EXEC_OK).is_ok();
    if shell.contains('/') {
        let path = PathBuf::from(shell);
        return (path.is_absolute() && runnable(&path)).then_some(path);
    }
    path_var.split(':').filter(|d| d.starts_with('/')).map(|d| Path::new(d).join(shell)).find(|p| runnable(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_links_are_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for real in ["bash", "busybox", "dash"] {
            std::fs::write(at(real), "").unwrap();
        }
        std::os::unix::fs::symlink("busybox", at("ash")).unwrap();
        assert_eq!(Kind::detect(&at("ash")), Some(Kind::Ash));
        assert_eq!(Kind::detect(&at("busybox")), Some(Kind::Ash));
        assert_eq!(Kind::detect(&at("bash")), Some(Kind::Bash));
        std::os::unix::fs::symlink("bash", at("sh")).unwrap();
        assert_eq!(Kind::detect(&at("sh")), Some(Kind::BashAsSh));
        assert_eq!(Kind::detect(Path::new("/usr/bin/python3")), None);
    }
}
