//! Programs that the daemon starts for itself, such as git or ssh: waited for by their starter.
//!
//! The daemon collects every dead child and ends children it does not know. A helper is known ([`pids`]) from before
//! anybody can see it until it is gone. Its exit may be collected by either side, so whoever starts one must learn from
//! what it says, not from its code, whether it did its work.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The standard library starts a program in another directory without copying the daemon's page tables only where it finds
/// this function, and what nobody names is not linked into a static program.
#[cfg(target_os = "linux")]
#[used]
static STARTS_ELSEWHERE: unsafe extern "C" fn(
    *mut libc::posix_spawn_file_actions_t,
    *const libc::c_char,
) -> libc::c_int = libc::posix_spawn_file_actions_addchdir_np;

static RUNNING: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The helpers of this process. Of children that were listed before this call, all helpers are among them, or gone.
pub fn pids() -> Vec<i32> {
    running().clone()
}

/// A process that is not ours to end, though it may become our child: its parent was one of our helpers.
#[derive(Debug)]
pub struct Known(i32);

impl Known {
    pub fn process(pid: i32) -> Self {
        running().push(pid);
        Self(pid)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut running = running();
        if let Some(at) = running.iter().position(|pid| *pid == self.0) {
            running.swap_remove(at);
        }
    }
}

/// A running helper. Dropping it closes its pipes, which ends a program that reads or writes them, and waits for that.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    pid: i32,
}

impl Helper {
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        // Held over the start: nobody sees the child before it is known.
        let mut running = running();
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        running.push(pid);
        Ok(Self { child, pid })
    }

    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }
}

impl Helper {
    /// For one that does not end with its pipes.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop((self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take()));
        // An error means that the daemon's reaper was quicker.
        let _ = self.child.wait();
        running().retain(|pid| *pid != self.pid);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_helper_is_known_while_it_runs_and_ends_with_its_pipes() {
        let helper = Helper::spawn(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
        let pid = helper.pid;
        assert!(pids().contains(&pid));
        drop(helper);
        assert!(!pids().contains(&pid));
        assert!(crate::tree::identify(pid).is_none());
    }
}
