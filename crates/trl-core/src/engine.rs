//! What all sessions of one daemon share.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Signal;
use trl_proto::exec::Outcome;
use trl_proto::limits::Limits;
use trl_proto::random;
use trl_store::Store;
use trl_sys::limits::OpenFiles;
use trl_sys::lineage::Held;
use trl_sys::tree;
use trl_sys::zygote::Zygote;

use crate::approval::{Book, Desk};
use crate::case::Cases;
use crate::case::resident::{Nothing, Residents};
use crate::checkpoint::Checkpoints;
use crate::clock::Stamp;
use crate::descriptors::{self, Shares};
use crate::env::Inherited;
use crate::events::Events;
use crate::histogram::Histogram;
use crate::limits::cage::Tenant;
use crate::limits::{Cage, Caging};
use crate::output::{Budget, Capacity, Log, spill::Spill};
use crate::place::Place;
use crate::records::Recorder;
use crate::registry::Registry;
use crate::runtime::Runtimes;
use crate::seats::{Seat, Seats};
use crate::session::handle::Session;
use crate::settings::Settings;
use crate::terminal::Floods;
use crate::terminal::model::Screens;

#[derive(Debug)]
pub struct Engine {
    pub settings: Settings,
    /// What outlives this daemon; none for an engine that keeps nothing.
    pub store: Option<Store>,
    /// What is written down there of sessions and executions.
    pub records: Recorder,
    pub started: Stamp,
    pub place: Place,
    pub inherited: Inherited,
    pub open_files: OpenFiles,
    pub shares: Shares,
    /// Descriptors that outlive the command they belong to.
    pub leftovers: Seats,
    pub budget: Arc<Budget>,
    pub events: Arc<Events>,
    pub desk: Arc<Desk>,
    /// Rules for everything.
    pub book: Arc<Book>,
    pub executions: Registry,
    pub counters: Counters,
    /// Commands running right now.
    running: Seats,
    spill_dir: Option<Arc<Path>>,
    /// Children this process had before it became a daemon: not its to end.
    pub foreign_children: Vec<Held>,
    /// Where private TMPDIRs are, once there has been one.
    tmp: Mutex<Option<Place>>,
    zygote: Mutex<Zygote>,
    spare_keeper: Mutex<Option<UnixStream>>,
    pub screens: Screens,
    pub floods: Floods,
    pub caging: Caging,
    pub cases: Cases,
    /// Which case each session has.
    pub residents: Residents,
    pub checkpoints: Arc<Checkpoints>,
    pub runtimes: Runtimes,
}

#[derive(Debug, Default)]
pub struct Counters {
    pub commands: AtomicU64,
    pub sessions: AtomicU64,
    pub rollbacks: AtomicU64,
    pub resets: AtomicU64,
    pub timeouts: AtomicU64,
    pub terminals: AtomicU64,
    /// From the start of each command's process to its end.
    pub durations: Histogram,
    /// From each request to the start of its process.
    pub waits: Histogram,
    /// What of that was work, in microseconds: without the time in a queue, or for a person's answer.
    pub build_us: AtomicU64,
    pub builds: AtomicU64,
    /// Sessions that were asked for and found in memory.
    pub session_hits: AtomicU64,
    /// Those that were looked for in the store.
    pub session_misses: AtomicU64,
    /// Checkpoints that could not be put on the disk.
    pub checkpoints_unsaved: AtomicU64,
}

impl Counters {
    /// A command that ran is over.
    pub fn note_end(&self, outcome: &Outcome) {
        self.durations.note(outcome.duration_ms);
        self.waits.note(outcome.waited_ms);
        if outcome.timed_out {
            Self::add(&self.timeouts);
        }
    }

    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// Starts the zygote and makes this daemon's directory.
    pub fn start(
        settings: Settings,
        store: Option<Store>,
        inherited: Inherited,
        open_files: OpenFiles,
    ) -> io::Result<Arc<Self>> {
        if open_files.usable < descriptors::FEWEST {
            let (have, need) = (open_files.usable, descriptors::FEWEST);
            return Err(io::Error::other(format!(
                "{have} open files are allowed, at least {need} are needed"
            )));
        }
        let shares = Shares::of(open_files.usable);
        let place = Place::create(settings.runtime_dir.as_deref())?;
        let name = place.dir().file_name().unwrap_or_default().to_string_lossy();
        let caging = Caging::settle(&name);
        let events = Arc::new(Events::default());
        // What outlives the daemon lies beside the store; without one nothing does.
        let data_dir = store.as_ref().and_then(|store| store.path().parent().map(Path::to_path_buf));
        Ok(Arc::new(Self {
            started: Stamp::now(),
            place,
            inherited,
            open_files,
            shares,
            leftovers: Seats::new(shares.leftovers),
            budget: Budget::new(settings.output_total_bytes),
            desk: Arc::new(Desk::new(Arc::clone(&events), store.clone())),
            book: Arc::new(Book::new(settings.rules_dir.clone())),
            events,
            executions: Registry::new(settings.results, settings.results_bytes),
            counters: Counters::default(),
            running: Seats::new(usize::MAX),
            spill_dir: settings.spill_dir.as_deref().map(Arc::from),
            foreign_children: tree::children(std::process::id().cast_signed())
                .into_iter()
                .filter_map(Held::of)
                .collect(),
            tmp: Mutex::new(None),
            zygote: Mutex::new(Zygote::start()?),
            spare_keeper: Mutex::new(None),
            screens: Screens::default(),
            floods: Floods::default(),
            caging,
            records: Recorder::start(store.as_ref())?,
            store,
            cases: Cases::new(&settings),
            residents: Residents::new(Nothing),
            checkpoints: Arc::new(Checkpoints::new(data_dir.as_deref(), settings.checkpoints.keep)),
            runtimes: Runtimes::new(&settings.runtimes, data_dir.as_deref()),
            settings,
        }))
    }

    /// Where private TMPDIRs are made: on a disk, which has more room than memory.
    pub(crate) fn tmp_place(&self) -> io::Result<std::path::PathBuf> {
        let mut tmp = self.tmp.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match tmp.take() {
            Some(place) => place,
            None => {
                let root =
                    std::env::temp_dir().join(format!("trl-{}-tmp", trl_sys::machine::effective_uid()));
                // Everybody can make things there, also one of this name.
                let other = || format!("{}-{:016x}", root.display(), u64::from_le_bytes(random::bytes()));
                Place::create(Some(&root)).or_else(|_| Place::create(Some(Path::new(&other()))))?
            }
        };
        tmp.insert(place).dir().canonicalize()
    }

    /// Nobody can go on with a session that has ended for good.
    pub(crate) async fn forget_checkpoints(&self, session: &Session) {
        if session.is_recorded() && self.checkpoints.is_open() {
            let (store, id) = (Arc::clone(&self.checkpoints), session.spec.id.clone());
            let _ = tokio::task::spawn_blocking(move || store.clear(&id)).await;
        }
    }

    /// Counts a command as running for as long as the seat lives.
    pub(crate) fn count_running(&self) -> Option<Seat> {
        self.running.take()
    }

    /// Whether more than one is at work.
    pub(crate) fn is_shared(&self) -> bool {
        self.running.taken() > 1
    }

    /// Whether some session is running a command.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.taken() > 0
    }

    pub fn zygote_pid(&self) -> i32 {
        self.zygote.lock().unwrap_or_else(PoisonError::into_inner).pid
    }

    /// A command may have stopped the zygote: without it there are no new keepers, and it would outlive the daemon.
    pub fn wake_zygote(&self) {
        let pid = self.zygote_pid();
        if tree::stat(pid).is_some_and(|s| s.state == b'T')
            && let Some(zygote) = tree::identify(pid)
        {
            tracing::warn!("the zygote was stopped; waking it");
            tree::signal(zygote, Signal::CONT);
        }
    }

    /// The link to a keeper that has nothing to keep yet.
    pub fn keeper(&self) -> io::Result<UnixStream> {
        let spare = self.spare_keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        match spare {
            Some(link) => Ok(link),
            None => self.new_keeper(),
        }
    }

    /// The same, and a cage around it if there are limits.
    pub fn keeper_within(&self, limits: &Limits, tenant: Tenant) -> io::Result<(UnixStream, Option<Cage>)> {
        if limits.is_empty() {
            return Ok((self.keeper()?, None));
        }
        let (link, group) = self.caging.keeper(|| self.new_keeper())?;
        Ok((link, Some(Cage::new(&self.caging, limits, group, tenant))))
    }

    /// Has one made ahead of the next session: forking it is a good part of what a session costs.
    pub fn prepare_keeper(&self) {
        let mut spare = self.spare_keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.is_none() {
            *spare = self.new_keeper().ok();
        }
        self.caging.prepare(|| self.new_keeper());
    }

    fn new_keeper(&self) -> io::Result<UnixStream> {
        self.wake_zygote();
        let (ours, theirs) = UnixStream::pair()?;
        self.fork_keeper(theirs.into())?;
        Ok(ours)
    }

    /// Asks the zygote for a keeper; a zygote that was killed is replaced.
    fn fork_keeper(&self, end: OwnedFd) -> io::Result<()> {
        let mut zygote = self.zygote.lock().unwrap_or_else(PoisonError::into_inner);
        let again = end.try_clone()?;
        match zygote.fork_keeper(end) {
            Err(e) if matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                tracing::warn!("the zygote is gone; starting another");
                *zygote = Zygote::start()?;
                zygote.fork_keeper(again)
            }
            other => other,
        }
    }

    /// A log for one stream of a command.
    pub fn log(&self, bytes: Option<usize>) -> Arc<Log> {
        self.log_with(Capacity::head_and_tail(bytes.unwrap_or(self.settings.output_bytes)))
    }

    /// A log for what comes through a terminal: of that the newest matters.
    pub fn terminal_log(&self, bytes: Option<usize>) -> Arc<Log> {
        self.log_with(Capacity::tail(bytes.unwrap_or(self.settings.output_bytes)))
    }

    fn log_with(&self, capacity: Capacity) -> Arc<Log> {
        let spill = self
            .spill_dir
            .as_ref()
            .map(|dir| Spill::new(Arc::clone(dir), self.settings.spill_bytes, self.leftovers.clone()));
        Log::new(capacity, Arc::clone(&self.budget), spill)
    }
}
