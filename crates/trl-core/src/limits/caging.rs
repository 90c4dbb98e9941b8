//! What all cages of one daemon share.
//!
//! Moving a process into a control group makes the kernel wait for every processor, ten milliseconds when nobody did so
//! just before. So it is the keeper that moves, by itself and ahead of time: once there has been a session with limits, a
//! keeper in a group of its own stands ready for the next.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trl_proto::limits::{Limit, Limits, LimitsBackend, LimitsInfo};
use trl_sys::cgroup::{Base, Group, Standing, Version};
use trl_sys::link::Request;

/// How long an empty group may take to be let go by the kernel before somebody looks who is in it.
const SETTLED: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Caging {
    base: Result<Base, String>,
    spare: Mutex<Option<(UnixStream, Group)>>,
    /// Without groups of our own: that of the container, if this is process 1 of one.
    around: Option<Arc<Group>>,
    /// There has been a session with limits.
    wanted: AtomicBool,
    leavings: Arc<Leavings>,
}

impl Caging {
    /// Before the daemon has children; `name` tells it from others.
    pub fn settle(name: &str) -> Self {
        let base = Base::settle(name);
        if let Err(why) = &base {
            tracing::info!(why, "limits are held to without control groups");
        }
        let in_container = base.is_err() && std::process::id() == 1;
        let around = in_container.then(Group::around).flatten().map(Arc::new);
        let (spare, wanted) = (Mutex::new(None), AtomicBool::new(false));
        Self { base, spare, around, wanted, leavings: Arc::default() }
    }

    /// For the doctor.
    pub fn standing(&self) -> Standing {
        match &self.base {
            Ok(base) => Standing::Usable(base.version(), base.controllers()),
            Err(why) => Standing::Unusable(why.clone()),
        }
    }

    fn has(&self, controller: &str) -> bool {
        self.base.as_ref().is_ok_and(|base| base.controllers().iter().any(|c| c == controller))
    }

    /// What would come of these limits here.
    pub fn info(&self, limits: &Limits) -> LimitsInfo {
        let backend = match self.base.as_ref().map(Base::version) {
            Ok(Version::V2) => LimitsBackend::Cgroup2,
            Ok(Version::V1) => LimitsBackend::Cgroup1,
            Err(_) => LimitsBackend::Rlimits,
        };
        // Memory and processes can be looked after, processor time of a moment cannot.
        let (not_enforced, enforced) = limits.set().partition(|l| *l == Limit::Cpu && !self.has("cpu"));
        LimitsInfo { asked: *limits, backend, enforced, not_enforced }
    }

    /// A keeper in a group of its own; `fork` makes keepers. Without control groups just a keeper.
    pub fn keeper(
        &self,
        fork: impl Fn() -> io::Result<UnixStream>,
    ) -> io::Result<(UnixStream, Option<Group>)> {
        self.wanted.store(true, Ordering::Relaxed);
        let spare = self.spare().take();
        match spare {
            Some((link, group)) => Ok((link, Some(group))),
            None => match self.enter_new(&fork) {
                Some(entered) => entered.map(|(link, group)| (link, Some(group))),
                None => Ok((fork()?, None)),
            },
        }
    }

    /// One for the next session, if there has been one with limits.
    pub fn prepare(&self, fork: impl Fn() -> io::Result<UnixStream>) {
        if self.wanted.load(Ordering::Relaxed) && self.spare().is_none() {
            let made = self.enter_new(&fork).and_then(Result::ok);
            *self.spare() = made;
        }
    }

    /// None without control groups.
    fn enter_new(
        &self,
        fork: &impl Fn() -> io::Result<UnixStream>,
    ) -> Option<io::Result<(UnixStream, Group)>> {
        let base = self.base.as_ref().ok()?;
        let name = format!("c-{:016x}", u64::from_le_bytes(trl_proto::random::bytes()));
        let group = match base.group(&name) {
            Ok(group) => group,
            Err(error) => return Some(Err(error)),
        };
        let entered = fork().and_then(|mut link| {
            let paths = group.entrances().iter().map(|p| p.as_os_str().as_bytes().to_vec()).collect();
            link.write_all(&Request::Enter(paths).encode())?;
            Ok(link)
        });
        match entered {
            Ok(link) => Some(Ok((link, group))),
            Err(error) => {
                self.leavings.take(group);
                Some(Err(error))
            }
        }
    }

    fn spare(&self) -> MutexGuard<'_, Option<(UnixStream, Group)>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn around(&self) -> Option<Arc<Group>> {
        self.around.clone()
    }

    pub(super) fn leavings(&self) -> Arc<Leavings> {
        Arc::clone(&self.leavings)
    }

    /// Once in a while: groups whose session is gone and that were not empty yet.
    pub fn sweep(&self) {
        self.leavings.sweep(Manners::Insist);
    }

    /// The daemon ends: nothing of it stays among the control groups.
    pub fn leave(&self) {
        if let Some((link, group)) = self.spare().take() {
            drop(link);
            self.leavings.take(group);
        }
        for _ in 0..200 {
            self.leavings.sweep(Manners::Wait);
            if self.leavings.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.leavings.sweep(Manners::Insist);
        if let Ok(base) = &self.base {
            base.leave();
        }
    }
}

/// Groups whose session is gone. The last process is out of its group a moment after it is out of our sight.
#[derive(Debug, Default)]
pub(super) struct Leavings {
    groups: Mutex<Vec<Group>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    Wait,
    /// Whoever is still in it has no right to be.
    Insist,
}

impl Leavings {
    /// Removes it, now or as soon as that is possible.
    pub(super) fn take(self: &Arc<Self>, group: Group) {
        if group.remove().is_ok() {
            return;
        }
        self.lock().push(group);
        // Without a runtime the daemon is ending, and looks by itself.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let all = Arc::clone(self);
        runtime.spawn(async move {
            for pause in [1, 2, 5, 10, 20, 50] {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                all.sweep(Manners::Wait);
            }
            tokio::time::sleep(SETTLED).await;
            all.sweep(Manners::Insist);
        });
    }

    fn sweep(&self, manners: Manners) {
        self.lock().retain(|group| {
            if group.remove().is_ok() {
                return false;
            }
            if manners == Manners::Insist {
                group.kill_all();
            }
            true
        });
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Group>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
