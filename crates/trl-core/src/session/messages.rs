//! Everything a session's task can be told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::oneshot;
use trl_proto::{Error, ExecutionId};

use super::state::WhenBusy;
use crate::execution::Execution;
use crate::shell::wrap::Surroundings;

/// An answer that is given once.
pub type Reply<T> = oneshot::Sender<Result<T, Error>>;

#[derive(Debug)]
pub enum Message {
    Run(Box<Order>),
    Cancel(Cancel),
    Input { execution: ExecutionId, bytes: Vec<u8>, then: AfterInput, reply: Reply<()> },
    Signal { execution: ExecutionId, signal: Signal, reply: Reply<u64> },
    Reset { reply: Reply<()> },
    End(End),
}

/// One command to run.
#[derive(Debug)]
pub struct Order {
    pub execution: Arc<Execution>,
    pub around: Surroundings,
    pub stdin: Stdin,
    /// Zero is none.
    pub timeout: Duration,
    pub busy: WhenBusy,
    pub received: Instant,
    /// How often it was handed to a shell that died without reading it.
    pub tries: u8,
}

impl Order {
    /// The one command of a session without a shell.
    pub fn direct(execution: Arc<Execution>, stdin: Stdin, timeout: Duration) -> Self {
        Self {
            execution,
            around: Surroundings::default(),
            stdin,
            timeout,
            busy: WhenBusy::Refuse,
            received: Instant::now(),
            tries: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    Null,
    Bytes(Vec<u8>),
    /// These first, then whatever `exec.input` brings.
    Open(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterInput {
    KeepOpen,
    Close,
}

/// End the running command, or a queued one.
#[derive(Debug)]
pub struct Cancel {
    /// None: whichever runs.
    pub execution: Option<ExecutionId>,
    pub signal: Signal,
    pub grace: Duration,
    /// Answered once it is being ended; wait for the execution itself to see it end.
    pub reply: Reply<Arc<Execution>>,
}

/// End the session.
#[derive(Debug)]
pub struct End {
    pub into: Ending,
    pub manner: Manner,
    pub reason: String,
    pub reply: Option<oneshot::Sender<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// May be opened again.
    Closed,
    Terminated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// TERM, grace, KILL.
    Graceful,
    /// KILL at once.
    Forced,
}
