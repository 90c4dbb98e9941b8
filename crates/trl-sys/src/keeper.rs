//! The keeper: one tiny process per session, the ancestor of everything the session starts.
//!
//! Being a subreaper it adopts whatever leaves its parent, setsid or not, so "everything this session started"
//! is simply "everything below me", also for an ordinary user without cgroups.
//!
//! 1. Say hello. 2. For each [`Spawn`] frame start the program and say so. 3. Report every child that ends.
//! 4. When the daemon closes its end, or dies: kill all that is below, remove the session directory, end.
//!
//! The pid of a spawned program that ended stays reserved (its zombie is left) until the next one is spawned or
//! the session ends: a rolled-back shell still calls itself `$$`, and a stale `kill $$` must hit nobody.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::link::{MAX_FRAME, Notice, Request, Spawn, Stage};
use crate::os::signals;
use crate::os::title::Title;
use crate::reap::{self, Zombie};
use crate::sandbox::{Ear, Patience, Protected, Refused};
use crate::tree::Proc;
use crate::{harden, removal, sandbox, spawn, tree};

/// Shown by `ps`; clients use it to see that they are inside a session.
pub const PROCESS_NAME: &std::ffi::CStr = c"trl-keeper";

struct Keeper {
    daemon: UnixStream,
    me: i32,
    /// The spawned program whose pid is kept from reuse.
    reserved: Option<i32>,
    /// Its end was already told.
    reserved_told: bool,
    session_dir: Option<PathBuf>,
    title: Option<Title>,
    /// Children killed on the daemon's word, whose end is no news.
    dropped: HashSet<i32>,
    /// Where refused calls of sandboxed programs are heard of.
    ears: Vec<Ear>,
    patience: Patience,
    /// What sandboxes of this keeper protect, held until it ends.
    protected: Vec<Protected>,
    /// The mounts of the newest sandbox. To take them down takes the kernel longer than all else about an end, and whoever
    /// holds them last waits for it: the keeper, when the end has long been told.
    mounts: Option<File>,
    /// Removed when the keeper ends.
    tmp_dir: Option<PathBuf>,
    /// Bytes of a frame not yet complete.
    inbox: Vec<u8>,
}

/// Runs a keeper on its end of the link; returns when everything below it is gone.
pub(crate) fn run(end: OwnedFd) {
    harden::set_process_name(PROCESS_NAME);
    let _ = harden::adopt_orphans();
    let _ = rustix::process::setsid();
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut keeper = Keeper {
        daemon: UnixStream::from(end),
        me,
        reserved: None,
        reserved_told: false,
        session_dir: None,
        title: Title::find(),
        dropped: HashSet::new(),
        ears: Vec::new(),
        patience: Patience::default(),
        protected: Vec::new(),
        mounts: None,
        tmp_dir: None,
        inbox: Vec::new(),
    };
    keeper.show("");
    keeper.tell(Notice::Hello { keeper: me });
    keeper.serve();
    keeper.end_everything();
}

impl Keeper {
    /// Until the daemon lets go.
    fn serve(&mut self) {
        loop {
            match wait_for_any(&self.daemon, &self.ears) {
                Work::Frame => {
                    if !self.take_frames() {
                        return;
                    }
                }
                Work::Refused(which) => self.hear_refused(which),
                Work::Child => {}
            }
            self.report_dead();
        }
    }

    /// False at the end of the link.
    fn take_frames(&mut self) -> bool {
        let mut buf = [0; 4096];
        match self.daemon.read(&mut buf) {
            Ok(0) => return false,
            Ok(n) => self.inbox.extend_from_slice(&buf[..n]),
            Err(e) => return e.kind() == std::io::ErrorKind::Interrupted,
        }
        while let Some((head, rest)) = self.inbox.split_first_chunk::<4>() {
            let len = u32::from_le_bytes(*head) as usize;
            if len > MAX_FRAME {
                return false;
            }
            let Some(body) = rest.get(..len) else { break };
            let Some(request) = Request::decode(body) else { return false };
            self.inbox.drain(..4 + len);
            self.inbox.shrink_to_fit();
            match request {
                Request::Spawn(spawn) => self.start(*spawn),
                Request::Drop(proc) => self.drop_process(proc),
                Request::Enter(groups) => self.enter(&groups),
            }
        }
        true
    }

    /// In `ps -f`: whose keeper this is.
    fn show(&self, session: &str) {
        if let Some(title) = &self.title {
            title.show(format!("{} {session}", PROCESS_NAME.to_string_lossy()).trim_end().as_bytes());
        }
    }

    fn start(&mut self, request: Spawn) {
        let dir = PathBuf::from(OsStr::from_bytes(&request.session_dir));
        self.show(&dir.file_name().unwrap_or_default().to_string_lossy());
        self.session_dir = Some(dir);
        if let Some(tmp_dir) = request.sandbox.as_ref().and_then(|plan| plan.tmp_dir.as_ref()) {
            self.tmp_dir = Some(PathBuf::from(OsStr::from_bytes(tmp_dir)));
        }
        if let Some(old) = self.reserved.take() {
            reap::child(old, Zombie::Collect);
        }
        match crate::spawn::spawn(request) {
            Ok(spawn::Started { pid, missing, sandbox }) => {
                self.reserved = Some(pid);
                self.reserved_told = false;
                if let Some((protected, ear)) = sandbox {
                    self.mounts = sandbox::mounts_of(pid);
                    self.protected.push(protected);
                    self.ears.extend(ear);
                }
                self.tell(Notice::Started { pid, missing });
            }
            Err(failure) => self.tell(Notice::Failed { stage: failure.stage, errno: failure.errno }),
        }
    }

    /// Whoever is spawned from here on is in these groups. The kernel may take its time, and only we wait for it.
    fn enter(&mut self, groups: &[Vec<u8>]) {
        for file in groups {
            if let Err(error) = std::fs::write(OsStr::from_bytes(file), "0") {
                let errno = error.raw_os_error().unwrap_or(0);
                self.tell(Notice::Failed { stage: Stage::Limits, errno });
            }
        }
    }

    /// A refused call, or the end of the last process that could make one.
    fn hear_refused(&mut self, which: Heard) {
        match which {
            Heard::Call(ear) => {
                let Self { ears, daemon, patience, .. } = self;
                sandbox::answer(&ears[ear], |Refused { pid, op }| {
                    if patience.allows(Instant::now()) {
                        let _ = daemon.write_all(&Notice::Refused { pid, op }.encode());
                    }
                });
            }
            Heard::End(ear) => {
                self.ears.swap_remove(ear);
            }
        }
    }

    /// A clone that another has replaced. While it is our child its pid cannot become another's: only we collect it.
    fn drop_process(&mut self, proc: Proc) {
        match rustix::process::Pid::from_raw(proc.pid) {
            Some(pid) if tree::identify(proc.pid) == Some(proc) && reap::is_child(pid) => {
                self.dropped.insert(proc.pid);
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                signals::wait_for_child(DEATH);
            }
            _ => drop(tree::signal(proc, Signal::KILL)),
        }
    }

    /// The kernel names the dead one by one, until one of them is left as a zombie and would be named for ever.
    fn report_dead(&mut self) {
        while !self.reserved_told
            && let Some(pid) = reap::any_dead()
        {
            self.bury(pid);
        }
        if self.reserved_told {
            tree::children_of_main_thread(self.me).into_iter().for_each(|pid| self.bury(pid));
        }
    }

    /// If it is dead, and that is news.
    fn bury(&mut self, pid: i32) {
        let reserved = self.reserved == Some(pid);
        if reserved && self.reserved_told {
            return;
        }
        let zombie = if reserved { Zombie::Leave } else { Zombie::Collect };
        if let Some(exit) = reap::child(pid, zombie) {
            self.reserved_told |= reserved;
            if !self.dropped.remove(&pid) {
                self.tell(Notice::Exited { pid, exit });
            }
        }
    }

    fn tell(&mut self, notice: Notice) {
        // A daemon that is gone shows as the end of the link on the next read.
        let _ = self.daemon.write_all(&notice.encode());
    }

    fn end_everything(&mut self) {
        exterminate(self.me, &HashSet::new());
        for dir in self.session_dir.iter().chain(&self.tmp_dir) {
            removal::remove_whole(dir);
        }
        for text in
            self.protected.iter().flat_map(Protected::made_inside).collect::<std::collections::BTreeSet<_>>()
        {
            let text = text.as_bytes();
            if let Some(notice) = Notice::made(text) {
                self.tell(notice);
                let _ = self.daemon.write_all(text);
            }
        }
        // The first may have made what the others rely on.
        while self.protected.pop().is_some() {}
    }
}

/// A process the kernel will not let go (state D) is left after this many rounds: about five seconds.
const MAX_ROUNDS: u32 = 2000;

/// Kills everything below `root` except the direct children in `spared`, and reaps it.
pub(crate) fn exterminate(root: i32, spared: &HashSet<i32>) {
    let nobody_spared = spared.is_empty();
    let spared: Vec<tree::Proc> = spared.iter().filter_map(|pid| tree::identify(*pid)).collect();
    for _ in 0..MAX_ROUNDS {
        // Orphans come to us, so whoever has no child has nothing below. To know that without a look at every process of
        // the machine is what lets a thousand of us end at once.
        if nobody_spared {
            reap::all();
            if reap::is_childless() {
                return;
            }
        }
        let hit = tree::freeze_and_kill(|| tree::all_below(root, &spared));
        let mut left = 0;
        for pid in tree::children_of_main_thread(root) {
            if !spared.iter().any(|s| s.pid == pid) && reap::child(pid, Zombie::Collect).is_none() {
                left += 1;
            }
        }
        if hit == 0 && left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What was killed dies within microseconds, and to wait for it saves being woken again; what takes longer is seen later.
const DEATH: Duration = Duration::from_millis(5);

pub(crate) enum Work {
    /// The socket has something (or has ended).
    Frame,
    /// So has an ear.
    Refused(Heard),
    /// A child changed state.
    Child,
}

/// What an ear has, by its place in the list.
pub(crate) enum Heard {
    Call(usize),
    End(usize),
}

/// Waits for the socket or for SIGCHLD, which is blocked at all other times so that none is missed.
pub(crate) fn wait_for_work(socket: &UnixStream) -> Work {
    wait_for_any(socket, &[])
}

/// The same for a keeper that also listens.
fn wait_for_any(socket: &UnixStream, ears: &[Ear]) -> Work {
    let wanted = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> =
        [socket.as_raw_fd()].into_iter().chain(ears.iter().map(AsRawFd::as_raw_fd)).map(wanted).collect();
    let ready = signals::poll_unblocked(&mut polls);
    let ear = || polls[1..].iter().position(|p| p.revents != 0);
    match () {
        () if ready <= 0 => Work::Child,
        () if polls[0].revents != 0 => Work::Frame,
        () => match ear() {
            Some(at) if polls[at + 1].revents & libc::POLLIN != 0 => Work::Refused(Heard::Call(at)),
            Some(at) => Work::Refused(Heard::End(at)),
            None => Work::Child,
        },
    }
}

/// What would end a keeper by accident.
pub(crate) const IGNORED: [libc::c_int; 6] =
    [libc::SIGPIPE, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1];

/// Installs the disposition [`wait_for_work`] relies on. Of all other signals only [`IGNORED`] are not as by default,
/// whatever the daemon was started with.
pub(crate) fn prepare_signals() {
    extern "C" fn interrupt(_: libc::c_int) {}
    spawn::reset_signals(signals::ALL);
    // SAFETY: the handler does nothing, so it is async-signal-safe; the sets are initialised before use.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = interrupt as extern "C" fn(libc::c_int) as usize;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
        let mut chld: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut chld);
        libc::sigaddset(&mut chld, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &chld, std::ptr::null_mut());
        for ignored in IGNORED {
            libc::signal(ignored, libc::SIG_IGN);
        }
    }
}
