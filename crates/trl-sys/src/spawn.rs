//! Starting one program below a keeper.
//!
//! The program gets a session and a process group of its own. Where it must not lead the group (see [`Group`]) a
//! short-lived leader makes both, forks the program as its sibling, says its pid and ends.
//!
//! Only called in the single-threaded keeper: between fork and exec any code may run. The usual program is not forked but
//! runs in the keeper's memory until its exec, as `posix_spawn` does it: copying even a small process costs more. One with
//! a [`Boundary`] is forked: it changes more of itself than its descriptors.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::harden;
use crate::keeper;
use crate::link::{Group, Resource, Spawn, Stage};
use crate::os::{birth, pipes, signals};
use crate::pinned::Pinned;
use crate::sandbox::{Boundary, Ear, Layers, Protected};

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) errno: i32,
}

/// A program that runs.
pub(crate) struct Started {
    pub(crate) pid: i32,
    /// What of its sandbox could not be had.
    pub(crate) missing: Layers,
    /// What its sandbox protects, and where it is heard of refused calls.
    pub(crate) sandbox: Option<(Protected, Option<Ear>)>,
}

impl Failure {
    pub(crate) fn of(stage: Stage, error: &std::io::Error) -> Self {
        Self { stage, errno: error.raw_os_error().unwrap_or(0) }
    }

    pub(crate) fn last(stage: Stage) -> Self {
        Self::of(stage, &std::io::Error::last_os_error())
    }
}

/// Everything execve needs, made before the fork.
struct Program {
    argv: Strings,
    env: Strings,
    cwd: CString,
    stdio: [CString; 3],
    umask: libc::mode_t,
    open_files: (u64, u64),
    rlimits: Vec<(Resource, u64)>,
    terminal: bool,
    sandbox: Option<Boundary>,
    pinned: Option<Pinned>,
}

impl Program {
    fn new(spawn: Spawn) -> Option<Self> {
        let [stdin, stdout, stderr] = spawn.stdio;
        Some(Self {
            argv: Strings::new(spawn.argv).filter(|argv| !argv.owned.is_empty())?,
            env: Strings::new(spawn.env)?,
            cwd: CString::new(spawn.cwd).ok()?,
            stdio: [CString::new(stdin).ok()?, CString::new(stdout).ok()?, CString::new(stderr).ok()?],
            umask: (spawn.umask & 0o777) as libc::mode_t,
            open_files: spawn.open_files,
            rlimits: spawn.rlimits,
            terminal: spawn.terminal,
            sandbox: None,
            pinned: spawn.pin.map(|pin| Pinned::new(*pin)).transpose().ok()?,
        })
    }
}

/// Strings as C wants a list of them.
struct Strings {
    owned: Vec<CString>,
    /// To each of them, then null.
    pointers: Vec<*const c_char>,
}

impl Strings {
    fn new(items: Vec<Vec<u8>>) -> Option<Self> {
        let owned = items.into_iter().map(|i| CString::new(i).ok()).collect::<Option<Vec<_>>>()?;
        let pointers = owned.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Some(Self { owned, pointers })
    }
}

/// What a program says that is no failure: its pid, and what its sandbox lacks.
const PID: i32 = 0;
const MISSING: i32 = -1;

/// Starts it; returns once it runs.
pub(crate) fn spawn(mut request: Spawn) -> Result<Started, Failure> {
    let (group, plan) = (request.group, request.sandbox.take());
    let mut program = Program::new(request).ok_or(Failure { stage: Stage::Request, errno: libc::EINVAL })?;
    program.sandbox = plan.map(Boundary::new).transpose()?;
    let told = start(&program, group)?;
    let find = |tag: i32| told.iter().find(|(t, _)| *t == tag).map(|(_, value)| *value);
    // The leader says the pid, the program what went wrong: in either order.
    if let Some((stage, errno)) = told.iter().find(|(tag, _)| *tag > 0) {
        return Err(Failure { stage: Stage::from_raw(*stage), errno: *errno });
    }
    let pid = find(PID).ok_or(Failure { stage: Stage::Fork, errno: libc::ECHILD })?;
    harden::put_before_us(pid);
    let missing = Layers::from_bits(find(MISSING).unwrap_or(0));
    Ok(Started { pid, missing, sandbox: program.sandbox.map(Boundary::held) })
}

/// What the program has said by the time it runs, or has failed to.
fn start(program: &Program, group: Group) -> Result<Vec<(i32, i32)>, Failure> {
    let (reader, writer) = pipes::pipe().map_err(|e| Failure::of(Stage::Fork, &e))?;
    let first = match group {
        Group::Leads if program.sandbox.is_some() => fork_leader(program, &writer),
        Group::Leads => start_leader(program, &writer),
        // SAFETY: this process has one thread, so the child may run any code.
        Group::Follows => match unsafe { libc::fork() } {
            0 => lead(program, &writer),
            pid => pid,
        },
    };
    if first < 0 {
        return Err(Failure::last(Stage::Fork));
    }
    drop(writer);
    let mut told = read_words(reader);
    match group {
        Group::Leads => told.push((PID, first)),
        // SAFETY: waits for our own child; a null status pointer is allowed.
        Group::Follows => drop(unsafe { libc::waitpid(first, std::ptr::null_mut(), 0) }),
    }
    Ok(told)
}

/// The same as [`start_leader`] in a memory of its own.
fn fork_leader(program: &Program, tell: &OwnedFd) -> i32 {
    // SAFETY: this process has one thread, so the child may run any code; it never returns.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: plain system call.
            unsafe { libc::setsid() };
            become_program(program, tell)
        }
        pid => pid,
    }
}

/// The program as the leader of its own session and group; its pid, or -1. Returns when it has called exec or ended.
fn start_leader(program: &Program, tell: &OwnedFd) -> i32 {
    extern "C" fn enter(start: *mut c_void) -> c_int {
        // SAFETY: start_leader passes a pointer to its own pair, and waits until this process has left its memory.
        let (program, tell) = unsafe { *start.cast::<(&Program, &OwnedFd)>() };
        // SAFETY: plain system call.
        unsafe { libc::setsid() };
        become_program(program, tell)
    }
    let mut start = (program, tell);
    // SAFETY: the keeper has one thread; `enter` never returns, and `start` lives until the child has left this memory.
    unsafe { birth::start_in_our_memory(enter, (&raw mut start).cast()) }
}

/// The leader: a new session and group, the program in it, then the end.
fn lead(program: &Program, tell: &OwnedFd) -> ! {
    // SAFETY: plain system calls in a single-threaded process; `_exit` runs no destructors, which is wanted here.
    unsafe {
        libc::setsid();
        // The keeper is the program's parent from its first instruction: a `$PPID` that named the leader would be a
        // stale pid moments later.
        match birth::fork_sibling() {
            Err(errno) => say(tell, Stage::Fork as i32, errno),
            Ok(0) => become_program(program, tell),
            Ok(pid) => say(tell, PID, pid),
        }
        libc::_exit(0)
    }
}

fn become_program(program: &Program, tell: &OwnedFd) -> ! {
    let failure = prepare_and_exec(program, tell);
    say(tell, failure.stage as i32, failure.errno);
    // SAFETY: ends this process at once; nothing to clean up.
    unsafe { libc::_exit(127) }
}

/// Only returns when something failed.
fn prepare_and_exec(program: &Program, tell: &OwnedFd) -> Failure {
    reset_signals(keeper::IGNORED);
    let (soft, hard) = program.open_files;
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: every pointer is to a live CString or array of this function's arguments; integers otherwise.
    unsafe {
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            return Failure::last(Stage::OpenFiles);
        }
        for (resource, most) in &program.rlimits {
            let limit = libc::rlimit { rlim_cur: *most, rlim_max: *most };
            let done = match resource {
                Resource::FileSize => libc::setrlimit(libc::RLIMIT_FSIZE, &limit),
                Resource::Tasks => limit_tasks(*most),
            };
            if done != 0 {
                return Failure::last(Stage::Limits);
            }
        }
        if libc::chdir(program.cwd.as_ptr()) != 0 {
            return Failure::last(Stage::Chdir);
        }
        for (target, path) in program.stdio.iter().enumerate() {
            let mode = match target {
                _ if program.terminal => libc::O_RDWR,
                0 => libc::O_RDONLY,
                _ => libc::O_WRONLY,
            };
            // Without blocking, or a FIFO whose daemon has just died would hold the program here for ever.
            let fd = libc::open(path.as_ptr(), mode | libc::O_NOCTTY | libc::O_NONBLOCK);
            if fd < 0 || libc::fcntl(fd, libc::F_SETFL, 0) < 0 || libc::dup2(fd, target as i32) < 0 {
                return Failure::last(Stage::Stdio);
            }
            if fd > 2 {
                libc::close(fd);
            }
        }
        if program.terminal && libc::ioctl(0, libc::TIOCSCTTY as _, 0) != 0 {
            return Failure::last(Stage::Stdio);
        }
        if let Some(boundary) = &program.sandbox {
            match boundary.draw(&program.cwd) {
                Ok(missing) => say(tell, MISSING, missing.bits()),
                Err(failure) => return failure,
            }
        }
        birth::close_above_stdio_on_exec();
        libc::umask(program.umask);
        if let Some(pinned) = &program.pinned {
            return pinned.exec(&program.argv.pointers, &program.env.pointers);
        }
        libc::execve(program.argv.pointers[0], program.argv.pointers.as_ptr(), program.env.pointers.as_ptr());
    }
    Failure::last(Stage::Exec)
}

/// The kernel counts all processes of the user, and we may not see all of them. So one more is tried: a limit that leaves
/// no room is taken back.
fn limit_tasks(most: u64) -> c_int {
    // SAFETY: plain system calls on live structures; the child of the raw clone, which is a fork, ends at once.
    unsafe {
        let mut before: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NPROC, &mut before);
        if before.rlim_cur <= most {
            return 0;
        }
        let soft = libc::rlimit { rlim_cur: most.min(before.rlim_max), rlim_max: before.rlim_max };
        libc::setrlimit(libc::RLIMIT_NPROC, &soft);
        match birth::fork_bare() {
            -1 => libc::setrlimit(libc::RLIMIT_NPROC, &before),
            0 => libc::_exit(0),
            pid => {
                libc::waitpid(pid, std::ptr::null_mut(), 0);
                let hard = libc::rlimit { rlim_cur: soft.rlim_cur, rlim_max: soft.rlim_cur };
                libc::setrlimit(libc::RLIMIT_NPROC, &hard)
            }
        }
    }
}

/// Default dispositions and an empty mask: the program starts as if from a login shell. (Handlers go with the exec.)
pub(crate) fn reset_signals(numbers: impl IntoIterator<Item = c_int>) {
    signals::set_to_default(numbers);
    // SAFETY: the mask is initialised by sigemptyset.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::umask(0o022);
    }
}

fn say(tell: &OwnedFd, first: i32, second: i32) {
    let mut words = [0; 8];
    words[..4].copy_from_slice(&first.to_le_bytes());
    words[4..].copy_from_slice(&second.to_le_bytes());
    // SAFETY: writes eight bytes from a live array to a descriptor we own.
    unsafe { libc::write(tell.as_raw_fd(), words.as_ptr().cast(), words.len()) };
}

/// All (tag, value) pairs until every writer is gone.
fn read_words(reader: OwnedFd) -> Vec<(i32, i32)> {
    let mut bytes = Vec::new();
    let _ = File::from(reader).read_to_end(&mut bytes);
    let word = |b: &[u8]| i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks_exact(8).map(|pair| (word(&pair[..4]), word(&pair[4..]))).collect()
}
