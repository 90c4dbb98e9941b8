//! The shell that we stand in for: where it is, and becoming it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the shell, or says where it is.
pub(super) const VARIABLE: &str = "TRL_SH_SHELL";
/// Where systems keep their shells. PATH is not asked: a link to us may stand first there.
const DIRECTORIES: [&str; 7] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",
    "/run/current-system/profile/bin",
    "/opt/bin",
    "/opt/local/bin",
];

/// A shell of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    pub(super) path: PathBuf,
    /// What we were called as: `$0` of a command that brings no other.
    pub(super) called: OsString,
}

impl Shell {
    /// The one called `called`, unless the environment names another.
    pub(super) fn find(called: &OsStr) -> Result<Self, String> {
        let wanted = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty());
        let name = wanted.as_deref().unwrap_or_else(|| base(called));
        let found = match Path::new(name).is_absolute() {
            true => Some(PathBuf::from(name)).filter(|path| is_real(path)),
            false => DIRECTORIES.iter().map(|dir| Path::new(dir).join(name)).find(|path| is_real(path)),
        };
        match found {
            Some(path) => Ok(Self { path, called: called.to_owned() }),
            None => Err(format!("there is no shell {name:?} in the system's directories; see {VARIABLE}")),
        }
    }

    /// Whether that is this shell, by its name as well: some are another one under another name.
    pub(super) fn is(&self, path: &str) -> bool {
        let path = Path::new(path);
        let file = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        path.file_name() == self.path.file_name() && file(path) == file(&self.path)
    }

    /// Becomes it; what comes back is why not.
    pub(super) fn become_it(&self, words: &[OsString]) -> io::Error {
        Command::new(&self.path).arg0(&self.called).args(words).exec()
    }
}

/// `bash` of `/opt/trl/bash` and of `-bash`.
pub(super) fn base(called: &OsStr) -> &OsStr {
    let name = Path::new(called).file_name().unwrap_or(called).as_bytes();
    OsStr::from_bytes(name.strip_prefix(b"-").unwrap_or(name))
}

/// An executable file that is not this program.
fn is_real(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    let ourselves = Path::new("/proc/self/exe").metadata();
    let is_us = ourselves.is_ok_and(|us| (us.dev(), us.ino()) == (found.dev(), found.ino()));
    found.is_file() && found.mode() & 0o111 != 0 && !is_us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_found_by_what_it_is_called() {
        for (called, name) in [("sh", "sh"), ("/opt/x/bash", "bash"), ("-bash", "bash"), ("./a/zsh", "zsh")] {
            assert_eq!(base(OsStr::new(called)), name);
        }
        let found = Shell::find(OsStr::new("/nowhere/sh")).unwrap();
        assert!(found.path.ends_with("sh") && found.path.is_absolute());
        assert_eq!(found.called, "/nowhere/sh");
        assert!(Shell::find(OsStr::new("no-such-shell")).is_err());
    }

    #[test]
    fn this_program_is_no_shell() {
        assert!(!is_real(&std::env::current_exe().unwrap()));
        assert!(is_real(Path::new("/bin/sh")) && !is_real(Path::new("/bin")));
    }
}
