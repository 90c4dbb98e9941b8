//! Runtimes with the sessions they have: how many those are, and how a runtime goes.
//!
//! ```text
//!  remove ── none left, or force: they are closed ─▶ gone
//!  drain ─▶ takes no new ones ── the last has ended ─▶ gone
//! ```

use std::sync::Arc;

use trl_proto::runtime::{HOST, RuntimeHealth, RuntimeInfo};
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode};

use super::Manager;
use crate::runtime::{self, Runtime};
use crate::session::handle::Session;
use crate::session::messages::Manner;
use crate::terminal::Terminal;

/// What becomes of the sessions of a runtime that is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// There must be none.
    Empty,
    /// They are waited for.
    Drained,
    /// They are closed.
    Forced,
}

impl Manager {
    /// This machine first, then those elsewhere by name.
    pub fn runtimes(&self) -> Vec<RuntimeInfo> {
        let mut all = vec![self.host()];
        all.extend(self.engine.runtimes.list());
        all
    }

    pub fn runtime(&self, name: &str) -> Result<RuntimeInfo, Error> {
        match name {
            HOST => Ok(self.host()),
            name => Ok(self.engine.runtimes.find(name)?.info()),
        }
    }

    /// Asks its engine, which for this machine is whoever is asked.
    pub async fn runtime_health(&self, name: &str) -> Result<RuntimeHealth, Error> {
        match name {
            HOST => {
                Ok(RuntimeHealth { name: HOST.into(), healthy: true, round_trip_us: Some(0), trouble: None })
            }
            name => Ok(self.engine.runtimes.find(name)?.health().await),
        }
    }

    fn host(&self) -> RuntimeInfo {
        let (sessions, terminals) = self.living_in(HOST);
        runtime::host(sessions.len() + terminals.len())
    }

    /// The sessions and terminals that have something running there, or could have.
    fn living_in(&self, runtime: &str) -> (Vec<Arc<Session>>, Vec<Arc<Terminal>>) {
        let gone = [SessionState::Uninitialized, SessionState::Closed, SessionState::Terminated];
        let lives = |s: &&Arc<Session>| s.spec.runtime_name() == runtime && !gone.contains(&s.state());
        let sessions = self.sessions().values().filter(lives).cloned().collect();
        let runs = |t: &&Arc<Terminal>| t.spec.runtime_name() == runtime && !t.is_over();
        (sessions, self.terminals().values().filter(runs).cloned().collect())
    }

    /// How it stands with it, and whether it is gone already.
    pub async fn remove_runtime(
        self: &Arc<Self>,
        name: &str,
        leaving: Leaving,
    ) -> Result<(RuntimeInfo, bool), Error> {
        if name == HOST {
            return Err(Error::invalid("this machine is always a runtime"));
        }
        let runtime = self.engine.runtimes.find(name)?;
        let info = runtime.info();
        if leaving == Leaving::Empty && info.sessions > 0 {
            return Err(in_use(&info));
        }
        let newly = self.engine.runtimes.drain(&runtime)?;
        let waits = leaving == Leaving::Drained && info.sessions > 0;
        match waits {
            true if newly => drop(tokio::spawn(Arc::clone(self).remove_when_deserted(runtime.clone()))),
            true => {}
            false => self.remove_now(&runtime).await,
        }
        tracing::info!(runtime = name, ?leaving, sessions = info.sessions, "a runtime goes");
        Ok((runtime.info(), !waits))
    }

    async fn remove_when_deserted(self: Arc<Self>, runtime: Arc<Runtime>) {
        runtime.deserted().await;
        self.remove_now(&runtime).await;
        tracing::info!(runtime = &*runtime.name, "the last session of a runtime has ended, and it is gone");
    }

    async fn remove_now(self: &Arc<Self>, runtime: &Arc<Runtime>) {
        let (sessions, terminals) = self.living_in(&runtime.name);
        self.end_all(sessions, terminals, Manner::Graceful, "its runtime was removed").await;
        self.engine.runtimes.remove(runtime).await;
    }
}

fn in_use(info: &RuntimeInfo) -> Error {
    let (name, sessions) = (info.spec.name.as_deref().unwrap_or_default(), info.sessions);
    Error::new(ErrorCode::InvalidParams, format!("the runtime {name} still has sessions: {sessions}"))
        .hint("`drain` removes it when they have ended, `force` closes them")
        .detail("runtime", name)
        .detail("sessions", sessions)
}
