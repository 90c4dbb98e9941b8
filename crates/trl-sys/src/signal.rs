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

/// Ends this process as that signal would, without another core dump: the one that counts was left elsewhere, if any was.
/// Returns when it cannot be done: the signal is blocked, or ends nothing.
pub fn die_of(number: i32) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Core).maximum;
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: most });
    // SAFETY: restoring the default action installs no handler, and raise touches no memory of ours.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        libc::raise(number);
    }
}

/// Whether whoever started this process said that it is to hear nothing of that signal, as nohup(1) does.
pub fn is_ignored(number: i32) -> bool {
    // SAFETY: all zeros is a valid sigaction.
    let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is installed, and `found` is ours to be written.
    let asked = unsafe { libc::sigaction(number, std::ptr::null(), &raw mut found) };
    asked == 0 && found.sa_sigaction == libc::SIG_IGN
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

    #[test]
    fn what_is_ignored_is_known() {
        // Rust programs are started with it ignored, and never with the other
        assert!(is_ignored(libc::SIGPIPE) && !is_ignored(libc::SIGURG));
    }
}
