//! Which shell reads a command.

/// Shells that read the same text in the same way share a grammar here; all others get the closed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellKind {
    /// dash, and `sh` whatever it is.
    Sh,
    Bash,
    Zsh,
    /// busybox ash.
    Ash,
    /// fish, ksh, tcsh, one nobody knows.
    Other,
}

impl ShellKind {
    /// By the name of its program.
    #[must_use]
    pub fn of_program(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.trim_start_matches('-') {
            "sh" | "dash" => Self::Sh,
            "bash" | "rbash" => Self::Bash,
            "zsh" => Self::Zsh,
            "ash" | "busybox" => Self::Ash,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_known_by_its_program() {
        assert_eq!(ShellKind::of_program("/usr/bin/bash"), ShellKind::Bash);
        assert_eq!(ShellKind::of_program("-zsh"), ShellKind::Zsh);
        assert_eq!(ShellKind::of_program("/opt/bash-5.2/bin/fish"), ShellKind::Other);
        assert_eq!(ShellKind::of_program(""), ShellKind::Other);
    }
}
