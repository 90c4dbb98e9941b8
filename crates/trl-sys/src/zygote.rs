//! The zygote: a process small enough to fork in no time, started once by the daemon.
//!
//! The daemon is large and has threads, so it never forks. It sends the zygote one end of a socket pair and the
//! zygote forks a [`keeper`] that serves it. The zygote is also the keepers' own keeper: should one
//! be killed, its orphans come here and are killed in turn.
//!
//! It ends, and with it every keeper, when the daemon's end of its socket closes.

use std::collections::HashSet;
use std::io;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::net::RecvFlags;

use crate::keeper::{self, Work};
use crate::link::{Notice, Stage};
use crate::rights::{self, Handed};
use crate::{harden, machine, reap, tree};

/// The hidden argument that makes this program a zygote. Long enough that a keeper can show its session in its place.
pub const ARGUMENT: &str = "__trl_zygote";

/// The daemon's side of a running zygote.
#[derive(Debug)]
pub struct Zygote {
    socket: UnixStream,
    pub pid: i32,
}

impl Zygote {
    /// Starts this very program as a zygote. Its environment is empty: keepers have nothing to leak.
    pub fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let child = Command::new(machine::own_program()?)
            .arg0("trl-zygote")
            .arg(ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // The daemon's one reaper collects it; nobody waits for it here.
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        Ok(Self { socket, pid })
    }

    /// Asks for a keeper that serves `end`.
    pub fn fork_keeper(&self, end: OwnedFd) -> io::Result<()> {
        Ok(rights::send(&self.socket, b'k', &[end.as_fd()])?)
    }
}

/// The zygote's whole life. Its stdin is the daemon's socket.
pub fn run() -> ! {
    harden::set_process_name(c"trl-zygote");
    // Before it is hidden: what is hidden is root's, to the kernel.
    harden::go_before_the_daemon();
    let _ = harden::make_undumpable();
    let _ = harden::adopt_orphans();
    let _ = rustix::process::setsid();
    keeper::prepare_signals();
    if let Some(socket) = take_stdin() {
        serve(&socket);
    }
    std::process::exit(0)
}

/// Moves the socket away from descriptor 0, which keepers hand on as /dev/null.
fn take_stdin() -> Option<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()?;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).ok()?;
    rustix::stdio::dup2_stdin(&null).ok()?;
    Some(UnixStream::from(socket))
}

fn serve(socket: &UnixStream) {
    let mut keepers = HashSet::new();
    let me = rustix::process::getpid().as_raw_nonzero().get();
    loop {
        match keeper::wait_for_work(socket) {
            Work::Frame => match receive(socket) {
                Received::End(end) => {
                    keepers.extend(fork_keeper(socket, end));
                }
                Received::Nothing => {}
                Received::Closed => break,
            },
            Work::Child | Work::Refused(_) => collect(me, &mut keepers),
        }
    }
    // Every keeper sees the daemon go too; wait for them so that nothing outlives the zygote.
    while !tree::children_of_main_thread(me).is_empty() {
        collect(me, &mut keepers);
        if keepers.is_empty() {
            break;
        }
        wait_for_child();
    }
}

/// Blocks until SIGCHLD; a spurious wake only means one more look.
fn wait_for_child() {
    // SAFETY: the mask is initialised by sigemptyset; sigsuspend returns after one handled signal.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigsuspend(&none);
    }
}

/// Reaps; a child that is no keeper is an orphan of one that was killed.
fn collect(me: i32, keepers: &mut HashSet<i32>) {
    for (pid, _) in reap::all() {
        keepers.remove(&pid);
    }
    if tree::children_of_main_thread(me).iter().any(|pid| !keepers.contains(pid)) {
        keeper::exterminate(me, keepers);
    }
}

fn fork_keeper(zygote: &UnixStream, end: OwnedFd) -> Option<i32> {
    // SAFETY: the zygote has one thread, so the child may run any code.
    match unsafe { libc::fork() } {
        -1 => {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            let _ = UnixStream::from(end).write_all(&Notice::Failed { stage: Stage::Fork, errno }.encode());
            None
        }
        0 => {
            // SAFETY: the keeper must not hold the zygote's socket open; it never returns to code that uses it.
            unsafe { libc::close(zygote.as_raw_fd()) };
            keeper::run(end);
            // SAFETY: ends the process at once; nothing is left to clean up.
            unsafe { libc::_exit(0) }
        }
        pid => Some(pid),
    }
}

enum Received {
    End(OwnedFd),
    Nothing,
    Closed,
}

fn receive(socket: &UnixStream) -> Received {
    match rights::receive(socket, RecvFlags::empty()) {
        Ok(Handed { byte: None, .. }) => Received::Closed,
        Ok(Handed { fds, .. }) => fds.into_iter().next().map_or(Received::Nothing, Received::End),
        Err(rustix::io::Errno::INTR) => Received::Nothing,
        Err(_) => Received::Closed,
    }
}
