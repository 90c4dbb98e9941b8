//! Collecting dead children. Each process of TRL has exactly one place that waits, and it uses these.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// The number a shell would show.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zombie {
    /// Free its pid.
    Collect,
    /// Only look: the pid stays reserved.
    Leave,
}

/// The exit of this child, if it has ended.
pub fn child(pid: i32, zombie: Zombie) -> Option<Exit> {
    let pid = Pid::from_raw(pid)?;
    let keep = if zombie == Zombie::Leave { WaitIdOptions::NOWAIT } else { WaitIdOptions::empty() };
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | keep).ok()??;
    exit_of(&status)
}

/// A dead child that nobody has collected.
pub fn any_dead() -> Option<i32> {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills the zeroed structure in, or leaves its pid 0 when there is none.
    let pid = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &mut found, look);
        found.si_pid()
    };
    (pid != 0).then_some(pid)
}

/// Whether there is no child at all, dead or alive.
pub fn is_childless() -> bool {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | crate::os::procs::OF_ANY_KIND;
    // SAFETY: the kernel fills the zeroed structure in, which nobody reads.
    let done = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &mut found, look)
    };
    done < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// Whether this is a child of ours, dead or alive.
pub fn is_child(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), look).is_ok()
}

fn exit_of(status: &rustix::process::WaitIdStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}

/// Collects every dead child of this process; returns their pids.
pub fn all() -> Vec<(i32, Exit)> {
    let mut dead = Vec::new();
    while let Ok(Some((pid, status))) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {
        let exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => continue,
        };
        dead.push((pid.as_raw_nonzero().get(), exit));
    }
    dead
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[allow(clippy::zombie_processes)] // the zombie is the point
    fn a_look_leaves_the_zombie_and_a_collect_takes_it() {
        let child_process = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let pid = i32::try_from(child_process.id()).unwrap();
        assert!(!is_childless());
        let exit = loop {
            if let Some(exit) = child(pid, Zombie::Leave) {
                break exit;
            }
            std::thread::yield_now();
        };
        assert_eq!(exit, Exit::Code(7));
        assert_eq!(any_dead(), Some(pid));
        assert_eq!(child(pid, Zombie::Collect), Some(Exit::Code(7)));
        assert_eq!(child(pid, Zombie::Collect), None);
    }
}
