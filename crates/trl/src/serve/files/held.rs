//! What holds whoever reads and writes files: sandboxes as for commands, and the rules people wrote.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_core::approval::{self, Judgement};
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
    /// Whoever asks: the ceiling of a token, and what agents get when they ask for nothing.
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
            approvals: approval::Rules::of(&engine.book, None),
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
    /// What is the daemon's own is denied; of its data, the directories it gave to workspaces are not meant.
    pub(super) fn with_own(self, own: &[PathBuf], base: &Path, homes: &Path) -> Rules {
        let homes = fs::canonicalize(homes).unwrap_or_else(|_| homes.into());
        let is_home = base.starts_with(&homes) && base != homes;
        let own = own.iter().filter(|own| !(is_home && homes.starts_with(own))).cloned();
        Rules::new(self.mode).deny(self.deny).deny(own)
    }
}

/// All of them together.
pub(super) struct All {
    pub(super) rules: Vec<Rules>,
    pub(super) approvals: Option<Arc<Asked>>,
    pub(super) base: PathBuf,
}

/// The rules people wrote, and what they said to single places.
pub(super) struct Asked {
    pub(super) rules: Arc<approval::Rules>,
    inner: Mutex<AskedInner>,
}

#[derive(Default)]
struct AskedInner {
    /// The last place that was not simply allowed.
    met: Option<(PathBuf, Judgement)>,
    /// Places somebody said yes to.
    approved: HashSet<PathBuf>,
}

impl Asked {
    pub(super) fn new(rules: Arc<approval::Rules>) -> Self {
        Self { rules, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, AskedInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place that stopped the last try, if one did.
    pub(super) fn take_met(&self) -> Option<(PathBuf, Judgement)> {
        self.inner().met.take()
    }

    pub(super) fn approve(&self, place: PathBuf) {
        self.inner().approved.insert(place);
    }

    fn check(&self, root: &str, place: PathBuf) -> Result<(), Denial> {
        let judgement = self.rules.judge_write(root, &place.to_string_lossy());
        let mut inner = self.inner();
        let why = match judgement.verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Ask if inner.approved.contains(&place) => return Ok(()),
            Verdict::Ask => "a rule wants a person to be asked first",
            Verdict::Deny => "a rule forbids it",
        };
        inner.met = Some((place, judgement));
        Err(Denial(why.into()))
    }
}

impl Access for All {
    fn may_read(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.rules.iter().try_for_each(|rules| rules.may_read(place))
    }

    fn may_write(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.rules.iter().try_for_each(|rules| rules.may_write(place))?;
        let Some(approvals) = &self.approvals else { return Ok(()) };
        approvals.check(&self.base.to_string_lossy(), place.absolute())
    }

    fn refuses_nothing(&self) -> bool {
        self.approvals.is_none() && self.rules.iter().all(Rules::refuses_nothing)
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
            none.with_own(&own, Path::new(base), Path::new("/d/files")).deny
        };
        let all = [PathBuf::from("/d"), PathBuf::from("/c/trl")];
        for base in ["/", "/d", "/d/files", "/elsewhere"] {
            assert_eq!(rules(base), all, "{base}");
        }
        assert_eq!(rules("/d/files/w"), all[1..]);
    }
}
