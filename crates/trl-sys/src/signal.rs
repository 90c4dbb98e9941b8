//! Signals by name and number.

use rustix::process::Signal;

const NAMES: &[(&str, i32)] = &[
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("SYS", libc::SIGSYS),
];

/// `TERM`, `SIGTERM`, `term` or `15`.
pub fn parse(text: &str) -> Option<Signal> {
    let number = match text.parse::<i32>() {
        Ok(number) => number,
        Err(_) => {
            let upper = text.to_ascii_uppercase();
            let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
            NAMES.iter().find(|(name, _)| *name == bare)?.1
        }
    };
    Signal::from_named_raw(number)
}

/// `TERM` for 15; a number for signals without a name.
pub fn name(number: i32) -> String {
    NAMES
        .iter()
        .find(|(_, n)| *n == number)
        .map_or_else(|| number.to_string(), |(name, _)| (*name).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_means_the_same_signal() {
        for text in ["TERM", "SIGTERM", "term", "15"] {
            assert_eq!(parse(text), Some(Signal::TERM), "{text}");
        }
        for bad in ["", "SIG", "NOPE", "0", "-1", "999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(name(9), "KILL");
    }
}
