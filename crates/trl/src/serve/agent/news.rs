//! What the task of an agent is told: words of callers, and what its process brings.

use std::sync::Arc;

use tokio::sync::mpsc;
use trl_acp::Reply;
use trl_acp::call::CallId;
use trl_proto::agent::Update;
use trl_proto::{Error, RequestId};

use super::record::Record;

/// What the task is told.
#[derive(Debug)]
pub(super) enum Word {
    Message(Arc<Record>),
    Stop,
    /// There are too many that do nothing.
    LetGo,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.id)
    }
}

/// What a process, or a question of it, brings.
#[derive(Debug)]
pub(super) enum Happened {
    NotStarted(Error),
    Line(Vec<u8>),
    TooLong(usize),
    Exited,
    /// Something was done for it that people should see.
    Did(Update),
    /// A person has to answer first.
    Asked(RequestId),
    Answered(RequestId),
    /// What it asked for.
    Reply(CallId, Result<Reply, Error>),
}

/// Where it is told.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) to: mpsc::Sender<(u64, Happened)>,
    pub(super) process: u64,
}

impl News {
    pub(super) async fn tell(&self, what: Happened) {
        let _ = self.to.send((self.process, what)).await;
    }

    /// From where nothing can be waited for.
    pub(super) fn tell_now(&self, what: Happened) {
        let news = self.clone();
        tokio::spawn(async move { news.tell(what).await });
    }
}
