//! What holds whoever reads and writes files: sandboxes as for commands, and the rules people wrote.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_core::approval;
use trl_core::session::handle::Session;
use trl_files::access::{Access, Denial, Mode, Place, Rules};
use trl_proto::hitl::Verdict;
use trl_proto::sandbox::{self, SandboxParams};
use trl_proto::token::SandboxMode;

use super::super::Server;
use super::super::principal::Principal;

/// Everything that holds for one use of files; each must let it through.
pub(super) struct Held {
    widest: SandboxMode,
    session: Option<SandboxParams>,
    pub(super) approvals: Option<Arc<approval::Rules>>,
}

impl Held {
    /// Whoever asks: the ceiling of a token, and what agents get when they ask for nothing. A gateway has judged already.
    pub(super) fn by(server: &Server, principal: &Principal) -> Self {
        let engine = &server.manager.engine;
        let usual = match engine.settings.sandbox_mode {
            sandbox::Mode::ReadOnly => SandboxMode::ReadOnly,
            sandbox::Mode::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            sandbox::Mode::Off | sandbox::Mode::Custom => SandboxMode::Off,
        };
        Self {
            widest: principal.widest_sandbox(usual),
            session: None,
            approvals: match principal {
                Principal::Gateway => None,
                _ => approval::Rules::of(&engine.book, None),
            },
        }
    }

    /// And the session the files are asked for by.
    pub(super) fn and_by(self, session: &Session) -> Self {
        let sandbox = session.spec.origin.sandbox.clone();
        Self { session: Some(sandbox), approvals: session.rules_in_force().or(self.approvals), ..self }
    }

    /// One set of rules for each sandbox.
    pub(super) fn modes(&self) -> Vec<OwnRules> {
        let widest = match self.widest {
            SandboxMode::ReadOnly => Mode::ReadOnly,
            SandboxMode::WorkspaceWrite => Mode::WorkspaceWrite,
            SandboxMode::Off => Mode::Off,
        };
        let mut all = vec![OwnRules { mode: widest, deny: Vec::new() }];
        if let Some(asked) = &self.session {
            let paths = |list: &Option<Vec<String>>| list.iter().flatten().map(PathBuf::from).collect();
            let mode = match asked.mode {
                sandbox::Mode::Off => Mode::Off,
                sandbox::Mode::ReadOnly => Mode::ReadOnly,
                sandbox::Mode::WorkspaceWrite => Mode::WorkspaceWrite,
                sandbox::Mode::Custom => {
                    Mode::Custom { read: paths(&asked.read), write: paths(&asked.write) }
                }
            };
            all.push(OwnRules { mode, deny: paths(&asked.deny) });
        }
        all
    }
}

/// Rules that do not know yet where they will hold.
pub(super) struct OwnRules {
    mode: Mode,
    deny: Vec<PathBuf>,
}

impl OwnRules {
    /// What is the daemon's own is denied; of its data, the directories it gave to workspaces are not meant. `protect` is what
    /// a sandbox around the workspace would protect.
    pub(super) fn with_own(self, own: &[PathBuf], base: &Path, homes: &Path, protect: &[String]) -> Rules {
        let homes = fs::canonicalize(homes).unwrap_or_else(|_| homes.into());
        let is_home = base.starts_with(&homes) && base != homes;
        let own = own.iter().filter(|own| !(is_home && homes.starts_with(own))).cloned();
        Rules::new(self.mode).deny(self.deny).deny(own).protect(protect.iter().map(PathBuf::from))
    }
}

/// All of them together.
pub(super) struct All {
    pub(super) rules: Vec<Rules>,
    pub(super) barrier: Option<Arc<Barrier>>,
    pub(super) base: PathBuf,
}

/// What stops a change before any of it is made, but for places that somebody said yes to.
pub(in crate::serve) struct Barrier {
    by: By,
    inner: Mutex<Inner>,
}

enum By {
    /// At places the rules do not simply allow.
    Rules(Arc<approval::Rules>),
    /// At every place: the rules are the gateway's.
    Gateway,
}

#[derive(Default)]
struct Inner {
    met: Option<Stop>,
    approved: HashSet<PathBuf>,
}

/// Where a change was stopped.
pub(in crate::serve) struct Stop {
    /// The directory whose files they are.
    pub(in crate::serve) root: PathBuf,
    /// In the order in which they were come upon.
    pub(in crate::serve) places: Vec<PathBuf>,
}

/// Places that a gateway is told of at once.
const MOST_MET: usize = 1000;

impl Barrier {
    pub(super) fn of_rules(rules: Arc<approval::Rules>) -> Self {
        Self { by: By::Rules(rules), inner: Mutex::default() }
    }

    /// One that holds back everything but this.
    pub(in crate::serve) fn of_gateway(approved: HashSet<PathBuf>) -> Self {
        Self { by: By::Gateway, inner: Mutex::new(Inner { met: None, approved }) }
    }

    pub(super) fn rules(&self) -> Option<&Arc<approval::Rules>> {
        match &self.by {
            By::Rules(rules) => Some(rules),
            By::Gateway => None,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stopped the last try, if anything did.
    pub(in crate::serve) fn take_met(&self) -> Option<Stop> {
        self.inner().met.take()
    }

    pub(super) fn approve(&self, approved: HashSet<PathBuf>) {
        self.inner().approved = approved;
    }

    fn check(&self, root: &Path, place: PathBuf) -> Result<(), Denial> {
        let verdict = match &self.by {
            By::Rules(rules) => rules.judge_write(&root.to_string_lossy(), &place.to_string_lossy()).verdict,
            By::Gateway => Verdict::Ask,
        };
        let mut inner = self.inner();
        let why = match verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Ask if inner.approved.contains(&place) => return Ok(()),
            Verdict::Ask => "somebody has to be asked first",
            Verdict::Deny => "a rule forbids it",
        };
        let met = inner.met.get_or_insert_with(|| Stop { root: root.into(), places: Vec::new() });
        met.places.push(place);
        Err(Denial(why.into()))
    }

    /// A gateway far away is better told of many places at once.
    fn wants_more(&self) -> bool {
        let met = |inner: &Inner| inner.met.as_ref().map_or(0, |met| met.places.len());
        matches!(self.by, By::Gateway) && met(&self.inner()) < MOST_MET
    }
}

impl Access for All {
    fn may_read(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.rules.iter().try_for_each(|rules| rules.may_read(place))
    }

    fn may_write(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.rules.iter().try_for_each(|rules| rules.may_write(place))?;
        let Some(barrier) = &self.barrier else { return Ok(()) };
        barrier.check(&self.base, place.absolute())
    }

    fn wants_more(&self) -> bool {
        self.barrier.as_ref().is_some_and(|barrier| barrier.wants_more())
    }

    fn refuses_nothing(&self) -> bool {
        self.barrier.is_none() && self.rules.iter().all(Rules::refuses_nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_daemons_is_denied_but_for_the_homes_it_gave() {
        let rules = |base: &str| {
            let (none, own) =
                (OwnRules { mode: Mode::Off, deny: Vec::new() }, ["/d".into(), "/c/trl".into()]);
            none.with_own(&own, Path::new(base), Path::new("/d/files"), &[]).deny
        };
        let all = [PathBuf::from("/d"), PathBuf::from("/c/trl")];
        for base in ["/", "/d", "/d/files", "/elsewhere"] {
            assert_eq!(rules(base), all, "{base}");
        }
        assert_eq!(rules("/d/files/w"), all[1..]);
    }
}
