//! Agents: the messages sent to a session, and the process that answers them.
//!
//! ```text
//!  agent.send_message ─▶ calls ─▶ Talk (one per session) ─▶ task ─▶ process ─▶ the agent, beside the session's shell
//!        ▲                          │ record: updates by number        │ hands: files, commands, people
//!        └───── push ◀──────────────┘◀─────────────────────────────────┘
//! ```
//!
//! 1. [`calls`]: the methods. A message has a [`record`] before anything is done about it, in memory and in the store.
//! 2. [`task`]: one task per session that has been sent a message. It alone moves the agent: it starts it, speaks with it
//!    (`trl_acp`, pure), gives it the message, stops it, keeps it warm for a while. [`news`] is what it is told.
//! 3. [`process`]: the agent's process and its three streams. [`own_shell`]: how known agents are told to leave their shell alone.
//! 4. [`hands`]: what the agent asks for; [`unsaid`]: what it asks for before it has said what that is.
//! 5. [`push`]: what came of a message, from any update on, to whoever follows.
//!
//! The state of the session (RUNNING, WAITING_HITL, IDLE) is its own task's; it is told what the agent does.

pub(super) mod calls;
mod hands;
mod news;
mod own_shell;
mod process;
pub(super) mod push;
mod record;
mod task;
mod unsaid;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{mpsc, watch};
use trl_core::session::handle::Session;
use trl_proto::SessionId;
use trl_proto::agent::StopReason;

use self::news::Word;
use self::record::Record;
use super::Server;
use crate::config::AgentSettings;

/// All conversations of a daemon.
pub(super) struct Agents {
    pub(super) settings: AgentSettings,
    /// This program, which agents are given as their MCP server.
    program: Option<PathBuf>,
    talks: Mutex<HashMap<SessionId, Arc<Talk>>>,
    /// How many have a task.
    live: watch::Sender<usize>,
}

/// The conversation with the agent of one session, for as long as that is open.
pub(super) struct Talk {
    pub(super) session: Arc<Session>,
    words: mpsc::UnboundedSender<Word>,
    current: Mutex<Option<Arc<Record>>>,
    /// Since when its agent has had nothing to do.
    warm: Mutex<Option<Instant>>,
}

impl Agents {
    pub(super) fn new(settings: AgentSettings) -> Self {
        let program = std::env::current_exe().ok();
        Self { settings, program, talks: Mutex::default(), live: watch::Sender::new(0) }
    }

    fn talks(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Talk>>> {
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one with this session's agent, if there has been a message since it was opened.
    fn find(&self, id: &SessionId) -> Option<Arc<Talk>> {
        self.talks().get(id).cloned()
    }

    /// The one with this session's agent.
    fn talk(server: &Arc<Server>, session: &Arc<Session>) -> Arc<Talk> {
        let mut talks = server.agents.talks();
        if let Some(talk) = talks.get(&session.spec.id).filter(|talk| Arc::ptr_eq(&talk.session, session)) {
            return Arc::clone(talk);
        }
        let (words, heard) = mpsc::unbounded_channel();
        let (current, warm) = (Mutex::default(), Mutex::default());
        let talk = Arc::new(Talk { session: Arc::clone(session), words, current, warm });
        talks.insert(session.spec.id.clone(), Arc::clone(&talk));
        drop(talks);
        server.agents.live.send_modify(|n| *n += 1);
        task::spawn(Arc::clone(server), Arc::clone(&talk), heard);
        talk
    }

    /// Its session is over.
    fn leave(&self, talk: &Arc<Talk>) {
        let id = &talk.session.spec.id;
        let mut talks = self.talks();
        if talks.get(id).is_some_and(|known| Arc::ptr_eq(known, talk)) {
            talks.remove(id);
        }
        drop(talks);
        self.live.send_modify(|n| *n -= 1);
    }

    /// Resolves when every conversation has been written down to its end.
    pub(super) async fn all_over(&self) {
        let _ = self.live.subscribe().wait_for(|n| *n == 0).await;
    }

    /// One more agent is warm: when that is one too many, the one that has been for longest is let go of.
    fn keep_few(&self) {
        let talks = self.talks();
        let mut warm: Vec<_> = talks.values().filter_map(|t| Some((t.warm_since()?, t))).collect();
        warm.sort_by_key(|(since, _)| *since);
        let many = warm.len().saturating_sub(self.settings.max_warm);
        for (_, talk) in warm.into_iter().take(many) {
            talk.say(Word::LetGo);
        }
    }
}

impl Server {
    /// What a message came to whose session is over: the daemon ended, or somebody ended the session.
    fn unfinished(&self) -> StopReason {
        if self.stop.borrow().is_some() { StopReason::Interrupted } else { StopReason::Cancelled }
    }
}

impl Talk {
    /// Whether it is heard: its task is there as long as the session is.
    fn say(&self, word: Word) -> bool {
        self.words.send(word).is_ok()
    }

    /// The newest message since the session was opened.
    fn current(&self) -> Option<Arc<Record>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_current(&self, record: Arc<Record>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    fn warm_since(&self) -> Option<Instant> {
        *self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_warm(&self, since: Option<Instant>) {
        *self.warm.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}
