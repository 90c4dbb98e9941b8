//! Whose process a client is: of a session or a terminal, or none of ours.
//!
//! Everything that sessions start stays below the daemon: keepers, the zygote and the daemon itself are subreapers, so whichever
//! of the processes between them dies, the daemon is still above what is left. A process is outside only when the chain of
//! its parents is proven to its end ([`lineage`]) and leads past the daemon. Where it cannot be proven, nobody is let in.

use std::collections::HashMap;

use trl_proto::{Error, ErrorCode, SessionId, TerminalId};
use trl_sys::lineage::{self, Held, Unproven};

use super::Manager;
use crate::session::spec::Spec;

/// Where a client's process stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Outside,
    Inside(SessionId),
    /// The agent of this session, or something that one started.
    OfAgent(SessionId),
    InTerminal(TerminalId),
    Unknown(Doubt),
}

/// Why nobody can say where a process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    Unproven(Unproven),
    /// It is below the daemon but in no session: a session's keeper was killed, or the daemon adopts everybody's orphans.
    Leftover,
}

impl From<Unproven> for Doubt {
    fn from(why: Unproven) -> Self {
        Self::Unproven(why)
    }
}

impl From<Doubt> for Error {
    fn from(doubt: Doubt) -> Self {
        const DOUBT: &str = "access denied, since this process may belong to a session";
        let forbidden = |why: &str| Self::new(ErrorCode::Forbidden, format!("{DOUBT}: {why}"));
        match doubt {
            Doubt::Unproven(why @ Unproven::Ended) => {
                forbidden(&why.to_string()).hint("connect again from a process that goes on running")
            }
            Doubt::Unproven(why @ Unproven::Hidden) => {
                forbidden(&why.to_string()).hint("`trl doctor` says which setting of /proc hides it")
            }
            Doubt::Unproven(why @ Unproven::Endless) => {
                forbidden(&why.to_string()).hint("connect from a process that is nested less deeply")
            }
            Doubt::Leftover if std::process::id() == 1 => {
                forbidden("the daemon is process 1, to which orphans of sessions and of everybody else come")
                    .hint("start the container with an init process (`docker run --init`)")
            }
            Doubt::Leftover => {
                forbidden("it descends from the daemon and belongs to no session that is known")
                    .hint("connect from a process that no session has started")
            }
        }
    }
}

impl Manager {
    /// Whether a process there is behind a boundary, which the daemon is not to be a way round.
    pub fn is_sandboxed(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Inside(id) | Origin::OfAgent(id) => {
                self.sessions().get(id).is_some_and(|s| s.spec.sandbox.is_some())
            }
            Origin::InTerminal(id) => self.terminals().get(id).is_some_and(|t| t.spec.sandbox.is_some()),
            Origin::Outside | Origin::Unknown(_) => false,
        }
    }

    /// Where a process stands: inside a session or terminal when it is below its keeper.
    pub fn origin_of(&self, process: &Held) -> Origin {
        let mut keepers: HashMap<i32, Origin> =
            self.sessions().values().map(|s| (s.keeper(), origin_in(&s.spec))).collect();
        keepers
            .extend(self.terminals().values().map(|t| (t.keeper(), Origin::InTerminal(t.spec.id.clone()))));
        keepers.remove(&0);
        let (me, zygote) = (std::process::id().cast_signed(), self.engine.zygote_pid());
        let foreign = &self.engine.foreign_children;
        let is_known = |pid: i32| {
            pid == me || pid == zygote || keepers.contains_key(&pid) || foreign.iter().any(|f| f.pid() == pid)
        };
        match lineage::nearest(process, is_known) {
            Err(why) => Origin::Unknown(why.into()),
            Ok(None) => Origin::Outside,
            Ok(Some(pid)) => match keepers.remove(&pid) {
                Some(inside) => inside,
                // Its pid is its own as long as it lives.
                None if foreign.iter().any(|f| f.pid() == pid && f.is_alive()) => Origin::Outside,
                None => Origin::Unknown(Doubt::Leftover),
            },
        }
    }
}

fn origin_in(spec: &Spec) -> Origin {
    match &spec.beside {
        None => Origin::Inside(spec.id.clone()),
        Some(beside) => Origin::OfAgent(beside.session.clone()),
    }
}
