//! A session's processes as the daemon holds them: the keeper's link, the FIFOs, the shell and its standby clone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use trl_proto::start::{StderrTo, Umask};
use trl_proto::{Error, ErrorCode};
use trl_sys::link::{Group, Request, Spawn, Stage};
use trl_sys::poller::Watch;
use trl_sys::tree::{self, ChildrenOf, Proc};
use trl_sys::{fifo, reap};

use super::spec::{Program, Reads, Spec};
use crate::approval::pin;
use crate::checkpoint::Checkpoint;
use crate::engine::Engine;
use crate::limits::Cage;
use crate::limits::cage::Tenant;
use crate::random::Nonce;
use crate::sandbox::Sandbox;
use crate::shell::channel::{Control, Link, Outlet, Source};
use crate::shell::feed::Feeder;
use crate::shell::files::Files;
use crate::shell::{Kind, script};

#[derive(Debug)]
pub struct Body {
    pub watch: Watch,
    pub link: Link,
    /// What holds its processes to their limits, if it has any.
    pub cage: Option<Cage>,
    pub files: Files,
    pub out: Outlet,
    pub err: Outlet,
    /// None for a direct command.
    pub shell: Option<Shell>,
    /// 0 until it has said hello.
    pub keeper: i32,
    /// The session's shell, or the direct command.
    pub main: Option<Proc>,
    /// Children of the keeper and of the shell, for the look after every command.
    lists: Option<(ChildrenOf, ChildrenOf)>,
    /// What earlier executions left running.
    pub background: Vec<Proc>,
    /// Clones on their way out: nobody's background.
    replaced: Vec<Proc>,
    /// Nobody holds the write ends of `out` and `err`.
    released: bool,
}

/// What only a shell has.
#[derive(Debug)]
pub struct Shell {
    pub kind: Kind,
    pub control: Control,
    /// Where the session's shell listens.
    pub slot: usize,
    pub standby: Option<Standby>,
    /// Where text snapshots arrive.
    pub dump: Option<OwnedFd>,
    /// A snapshot on its way back, where it may not touch a disk.
    pub restoring: Vec<Feeder>,
    /// The latest snapshot, for shells that survive by one.
    pub snapshot: Option<Snapshot>,
    /// The checkpoint a fresh shell is taking on, until it is known what came of it.
    pub taking_on: Option<Box<Checkpoint>>,
    /// How deep rollbacks have nested the interpreter.
    pub depth: u32,
    pub last_code: i32,
    pub cwd: String,
    /// Commands since the rollback point was made.
    pub since_point: u64,
}

/// The rollback point: an idle clone, and what is known of its state.
#[derive(Debug, Clone)]
pub struct Standby {
    pub slot: usize,
    pub proc: Proc,
    pub cwd: String,
}

/// The state a fresh shell is to have.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub saved: Saved,
    pub cwd: String,
}

#[derive(Debug, Clone)]
pub enum Saved {
    /// As a shell of this session printed it.
    Dump(zeroize::Zeroizing<Vec<u8>>),
    Checkpoint(Box<Checkpoint>),
}

impl Body {
    /// Makes the directory and asks for a keeper; the program starts as soon as that is up.
    pub fn open(engine: &Engine, spec: &Spec) -> Result<Self, Error> {
        Self::try_open(engine, spec).map_err(|e| start_error("prepare", &e))
    }

    fn try_open(engine: &Engine, spec: &Spec) -> io::Result<Self> {
        let base = engine.place.session_dir(spec.id.as_str())?;
        spec.sandbox.here().map_or(Ok(()), |sandbox| sandbox.prepare())?;
        let medium = engine.place.medium;
        let files = match &spec.program {
            Program::Shell { kind, .. } => Files::create(*kind, base, medium)?,
            Program::Direct { .. } => Files::create_bare(Kind::Dash, base, medium)?,
        };
        let watch = Watch::new()?;
        let tenant = match &spec.program {
            Program::Shell { .. } => Tenant::Shell,
            Program::Direct { .. } => Tenant::Program,
        };
        let (link, cage) = engine.keeper_within(&spec.limits, tenant)?;
        let link = Link::new(link, &watch)?;
        let shell = match &spec.program {
            Program::Shell { kind, .. } => Some(Shell::open(*kind, &files, &watch, &spec.working_dir)?),
            Program::Direct { .. } => None,
        };
        let out = Outlet::open(&files, &watch, Source::Stdout, engine.leftovers.clone())?;
        let err = Outlet::open(&files, &watch, Source::Stderr, engine.leftovers.clone())?;
        Ok(Self {
            watch,
            link,
            cage,
            files,
            out,
            err,
            shell,
            keeper: 0,
            main: None,
            lists: None,
            background: Vec::new(),
            replaced: Vec::new(),
            released: false,
        })
    }

    /// Asks the keeper to start the program in `cwd`.
    pub fn spawn(&mut self, engine: &Engine, spec: &Spec, cwd: &str, nonce: Nonce) -> io::Result<()> {
        let path = |name: &str| self.files.at(name).as_os_str().as_bytes().to_vec();
        let (argv, stdio, umask) = match &spec.program {
            Program::Shell { kind, path: program } => {
                let boot = script::boot(*kind, &self.files.paths, nonce);
                (kind.argv(program, &boot), [b"/dev/null".to_vec(), path("n"), path("n")], Umask::default())
            }
            Program::Direct { argv, reads, errors, umask } => {
                let stdin = if *reads == Reads::Fifo { path("i") } else { b"/dev/null".to_vec() };
                let stderr = if *errors == StderrTo::Stdout { path("o") } else { path("e") };
                (argv.clone(), [stdin, path("o"), stderr], *umask)
            }
        };
        let request = Request::Spawn(Box::new(Spawn {
            argv: argv.into_iter().map(String::into_bytes).collect(),
            env: spec.environ(cwd),
            cwd: cwd.as_bytes().to_vec(),
            stdio,
            session_dir: self.files.base().as_os_str().as_bytes().to_vec(),
            umask: umask.bits(),
            open_files: Cage::open_files(&spec.limits, engine.open_files.original),
            rlimits: self.cage.as_ref().map(Cage::rlimits).unwrap_or_default(),
            group: match self.shell.as_ref().map(|s| s.kind) {
                Some(Kind::Ksh93) => Group::Follows,
                _ => Group::Leads,
            },
            terminal: false,
            sandbox: spec.sandbox.here().map(|sandbox| Box::new(sandbox.plan(&[self.files.base()]))),
            pin: spec.pin.get(),
        }));
        self.link.send(request.encode())
    }

    pub fn standby(&self) -> Option<Proc> {
        self.shell.as_ref().and_then(|s| s.standby.as_ref()).map(|s| s.proc)
    }

    /// Everything alive below the keeper but the shell and its clone. In the usual case two short reads show that
    /// there is nothing.
    pub fn find_background(&mut self) -> Vec<Proc> {
        let Some(main) = self.main else { return Vec::new() };
        let standby = self.standby();
        if self.is_alone(main, standby) {
            return Vec::new();
        }
        // With more processes than a glance shows, nobody else forgets them.
        self.replaced.retain(|p| tree::identify(p.pid) == Some(*p));
        let spared: Vec<Proc> = standby.into_iter().chain(self.replaced.iter().copied()).collect();
        tree::below(self.keeper, &spared).into_iter().filter(|p| *p != main).collect()
    }

    /// By these a clone is found that cannot say its pid.
    pub fn children_before_clone(&self) -> Vec<i32> {
        match self.shell.as_ref().is_some_and(|s| s.kind.knows_its_pid()) {
            true => Vec::new(),
            false => self.children_of_shell(),
        }
    }

    /// The shell's own children, as far as they are seen at once.
    pub fn children_of_shell(&self) -> Vec<i32> {
        let seen = self.lists.as_ref().and_then(|(_, shell)| shell.glance());
        seen.unwrap_or_else(|| self.main.map(|m| tree::children_of_main_thread(m.pid)).unwrap_or_default())
    }

    fn is_alone(&mut self, main: Proc, standby: Option<Proc>) -> bool {
        let Some((keeper, shell)) = &self.lists else { return false };
        let (Some(beside), Some(below)) = (keeper.glance(), shell.glance()) else { return false };
        // zsh's clones are its own children
        self.replaced.retain(|p| beside.contains(&p.pid) || below.contains(&p.pid));
        let known = |pid: &i32| {
            *pid == main.pid
                || standby.into_iter().chain(self.replaced.iter().copied()).any(|p| p.pid == *pid)
        };
        beside.iter().chain(&below).all(known)
    }

    /// Whether nothing is left but its program, which has ended: whatever that had started is the keeper's since before.
    /// One short read shows it.
    pub fn has_only(&self, program: Option<i32>) -> bool {
        let left =
            self.lists.as_ref().filter(|_| self.main.is_none()).and_then(|(keeper, _)| keeper.glance());
        left.is_some_and(|pids| pids.iter().all(|pid| Some(*pid) == program))
    }

    /// After a command: from here on the write ends that are left are other people's.
    pub fn release_streams(&mut self) {
        self.released = true;
        self.out.release();
        self.err.release();
    }

    pub fn is_released(&self) -> bool {
        self.released
    }

    /// Whether the shell waits for its next order: one that has a signal to answer first does not sleep.
    pub fn is_main_at_rest(&self) -> bool {
        self.main.and_then(|main| tree::stat(main.pid)).is_some_and(|stat| stat.state == b'S')
    }

    /// For the next command, while there is time, and before the hang-up is seen by those who watch.
    pub fn take_streams_back(&mut self) {
        // a failure shows when the command is told
        let _ = self.hold_streams();
    }

    pub fn hold_streams(&mut self) -> io::Result<()> {
        self.released = false;
        self.out.hold(&self.files, &self.watch)?;
        self.err.hold(&self.files, &self.watch)
    }

    /// Puts back what a command removed from the session directory, or all of it. Shell and clone go on: they wait on
    /// descriptors, and open everything else by name. Not while a command runs. True if there was something to do, and
    /// it was done.
    pub fn mend(&mut self, engine: &Engine) -> bool {
        if self.is_intact() {
            return false;
        }
        let mended = self.try_mend(engine);
        tracing::warn!(dir = %self.files.base().display(), ?mended, "something in a session directory is gone");
        mended.is_ok()
    }

    fn is_intact(&self) -> bool {
        let Some(shell) = &self.shell else { return true };
        shell.control.is_intact(&self.files)
            && shell.dump.as_ref().is_none_or(|fd| self.files.leads_to("d", fd))
            && self.out.is_intact(&self.files)
            && self.err.is_intact(&self.files)
            && self.files.has_texts()
    }

    fn try_mend(&mut self, engine: &Engine) -> io::Result<()> {
        let name = self.files.base().file_name().unwrap_or_default().to_os_string();
        self.files.mend(|| engine.place.session_dir(&name))?;
        let (files, watch) = (&self.files, &self.watch);
        if let Some(shell) = &mut self.shell {
            shell.control.reopen(files, watch)?;
            shell.dump = Shell::open_dump(files, watch)?;
        }
        self.out.reopen(files, watch)?;
        self.err.reopen(files, watch)
    }

    /// Where a text snapshot arrives; shells that seldom print one have it only then.
    pub fn open_dump(&mut self) -> io::Result<()> {
        let Some(shell) = self.shell.as_mut().filter(|s| s.dump.is_none()) else { return Ok(()) };
        self.files.renew_fifo("d")?;
        shell.dump = Shell::open_dump(&self.files, &self.watch)?;
        Ok(())
    }

    pub fn close_dump(&mut self) {
        let Some(shell) = self.shell.as_mut().filter(|s| !s.kind.dumps_often()) else { return };
        if let Some(fd) = shell.dump.take() {
            self.watch.remove(&fd);
            self.files.remove("d");
        }
    }

    /// A shell has become the session's.
    pub fn set_main(&mut self, main: Proc) {
        self.main = Some(main);
        self.lists = ChildrenOf::open(self.keeper).zip(ChildrenOf::open(main.pid));
    }

    /// Ends what belongs to nobody: a clone that was on its way when its shell died would listen on a slot that is
    /// given to another.
    pub fn kill_strays(&mut self) {
        let keeper = self.keeper;
        let spared: Vec<Proc> = self.background.iter().copied().chain(self.standby()).collect();
        let main = self.main;
        tree::kill_all(|| {
            tree::below_for_sure(keeper, &spared).into_iter().filter(|p| Some(*p) != main).collect()
        });
    }

    /// Ends what earlier commands left running.
    pub fn kill_background(&mut self) {
        let (main, standby) = (self.main, self.standby());
        tree::end_storm(self.keeper, |p| {
            Some(*p) == main || Some(*p) == standby || self.replaced.contains(p)
        });
        self.background = self.find_background();
    }

    /// Forgets the rollback point and ends its process.
    pub fn drop_standby(&mut self) {
        if let Some(standby) = self.shell.as_mut().and_then(|s| s.standby.take()) {
            tree::signal(standby.proc, rustix::process::Signal::KILL);
            self.replaced.push(standby.proc);
        }
    }

    /// Clones that were to end are gone after this. On a busy machine that takes a while, and until then one may read what is
    /// meant for the next to listen on its slot. Nothing is told there but to become the session's shell.
    pub fn end_old_listeners(&mut self) {
        let lives = |p: &Proc| tree::identify(p.pid) == Some(*p);
        tree::kill_all(|| self.replaced.iter().copied().filter(lives).collect());
        self.replaced.retain(lives);
    }

    /// Ends a clone that another has replaced.
    pub fn end_replaced(&mut self, clone: Proc) {
        // A keeper that cannot be asked is gone, and the clone with it.
        let _ = self.link.send(Request::Drop(clone).encode());
        self.replaced.push(clone);
    }

    /// Whether this exit is the session's own program's.
    pub fn is_main(&self, pid: i32) -> bool {
        self.main.is_some_and(|m| m.pid == pid)
    }
}

impl Shell {
    fn open(kind: Kind, files: &Files, watch: &Watch, cwd: &str) -> io::Result<Self> {
        let control = Control::open(kind, files, watch)?;
        let dump = Self::open_dump(files, watch)?;
        Ok(Self {
            kind,
            control,
            slot: 0,
            standby: None,
            dump,
            restoring: Vec::new(),
            snapshot: None,
            taking_on: None,
            depth: 0,
            last_code: 0,
            cwd: cwd.to_string(),
            since_point: 0,
        })
    }

    /// Only shells that can print their state have one.
    fn open_dump(files: &Files, watch: &Watch) -> io::Result<Option<OwnedFd>> {
        let path = files.at("d");
        if !path.exists() {
            return Ok(None);
        }
        let fd = fifo::open_both(&path)?;
        fifo::resize(&fd, fifo::SMALL);
        watch.add(&fd, Source::Dump.token())?;
        Ok(Some(fd))
    }

    /// A slot neither the shell nor its clone listens on.
    pub fn free_slot(&self) -> usize {
        let taken = self.standby.as_ref().map(|s| s.slot);
        (0..3).find(|k| *k != self.slot && Some(*k) != taken).unwrap_or(0)
    }
}

/// Why a session could not be started, in the words of the wire.
pub fn start_error(stage: &str, error: &io::Error) -> Error {
    let code = shortage(error).unwrap_or(ErrorCode::ShellStartFailed);
    Error::new(code, format!("starting the session failed ({stage}): {error}"))
        .detail("stage", stage)
        .detail("errno", error.raw_os_error().unwrap_or(0))
}

/// The same for what a keeper says.
pub fn failed_to_start(stage: Stage, errno: i32, sandbox: Option<&Sandbox>) -> Error {
    let error = io::Error::from_raw_os_error(errno);
    if stage == Stage::Pinned {
        return pin::changed_at_start();
    }
    if stage.is_of_sandbox() {
        let message = format!("this machine does not give the sandbox ({}): {error}", stage.name());
        return Error::new(ErrorCode::SandboxUnavailable, message)
            .hint("`best_effort: true` runs it with what there is, and says what is missing")
            .detail("stage", stage.name())
            .detail("errno", errno);
    }
    let refused = start_error(stage.name(), &error);
    if stage == Stage::Exec && sandbox.is_some() && Errno::from_io_error(&error) == Some(Errno::ACCESS) {
        return refused.hint("is the program in a place that the sandbox may read? see sandbox.read_dirs");
    }
    refused
}

/// The code for an error that means "try again when there is room".
pub fn shortage(error: &io::Error) -> Option<ErrorCode> {
    const PRESSURE: [Errno; 4] = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(ErrorCode::StorageFull),
        _ => {
            Errno::from_io_error(error).filter(|e| PRESSURE.contains(e)).map(|_| ErrorCode::ResourcePressure)
        }
    }
}

/// The code a shell shows for an exit, and the signal's name when it was one.
pub fn exit_parts(exit: reap::Exit) -> (i32, Option<String>) {
    match exit {
        reap::Exit::Code(code) => (code, None),
        reap::Exit::Signal(signal) => (128 + signal, Some(trl_sys::signal::name(signal))),
    }
}
