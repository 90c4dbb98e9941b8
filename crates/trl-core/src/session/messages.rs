//! Everything a session's task can be told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::oneshot;
use trl_proto::exec::{Approval, Outcome, ShellState};
use trl_proto::hitl::Executable;
use trl_proto::{Error, ExecutionId, MessageId, RequestId};

use super::capture::Restoration;
use super::state::WhenBusy;
use crate::approval::probe::Found;
use crate::approval::{Answer, Asked, Judgement};
use crate::checkpoint::{Captured, Checkpoint};
use crate::engine::Engine;
use crate::execution::{Execution, millis};
use crate::manager::Standing;
use crate::records::Beginning;
use crate::shell::wrap::Surroundings;

/// An answer that is given once.
pub type Reply<T> = oneshot::Sender<Result<T, Error>>;

#[derive(Debug)]
pub enum Message {
    Run(Box<Order>),
    Cancel(Cancel),
    Input {
        execution: ExecutionId,
        bytes: Vec<u8>,
        then: AfterInput,
        reply: Reply<()>,
    },
    Signal {
        execution: ExecutionId,
        signal: Signal,
        reply: Reply<u64>,
    },
    Reset {
        reply: Reply<()>,
    },
    /// It is to be where its files are, though nothing is run in it: one that was opened again may not be there yet.
    Appear {
        reply: Reply<()>,
    },
    /// Is anything of it running, what earlier commands left too?
    IsAtRest {
        reply: oneshot::Sender<bool>,
    },
    /// What became of asking a person about a command.
    Asked {
        execution: ExecutionId,
        outcome: Result<Asked, Error>,
    },
    /// What the person said.
    Answered {
        request: RequestId,
        answer: Answer,
    },
    Capture {
        reply: Reply<Captured>,
    },
    Restore {
        checkpoint: Box<Checkpoint>,
        reply: Reply<Restoration>,
    },
    /// Its agent is given a message, waits for people, or is done.
    Turn(Turn),
    End(End),
}

/// A message to the session's agent, as far as the session is busy with it.
#[derive(Debug)]
pub enum Turn {
    Begin {
        message: MessageId,
        reply: Reply<()>,
    },
    /// For the answers to these; for none, when there are none.
    Waits(Vec<RequestId>),
    End {
        reply: oneshot::Sender<()>,
    },
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
    /// What the rules and people make of it.
    pub clearance: Clearance,
    /// What the history is to have of its beginning, while that is not on its way.
    pub beginning: Option<Box<Beginning>>,
}

/// How far the approval of a command has come.
#[derive(Debug, Default)]
pub struct Clearance {
    /// What is done when a person has to be asked.
    pub mode: Approval,
    /// Whether it comes from the session's own agent.
    pub standing: Standing,
    /// Who wants it.
    pub origin: Arc<str>,
    /// What the rules say of it, from the moment its turn has come.
    pub judgement: Option<Judgement>,
    /// A person said yes to it.
    pub approved: Option<Approved>,
    /// In answer to this request.
    pub request: Option<RequestId>,
    /// It is no command: a gateway wants to know what these names stand for.
    pub lookup: Option<Lookup>,
    /// It is nobody's command: it asks the shell what the names of this one stand for.
    pub probe_for: Option<Box<Order>>,
}

/// Names, and who wants to know what they stand for.
#[derive(Debug)]
pub struct Lookup {
    pub names: Vec<String>,
    pub reply: Reply<Found>,
}

impl Order {
    /// The execution somebody waits for.
    pub fn meant(&self) -> &Arc<Execution> {
        self.clearance.probe_for.as_ref().map_or(&self.execution, |order| &order.execution)
    }

    /// It was cancelled before it could begin, or its session ended.
    pub(crate) fn never_ran(&self, engine: &Engine, working_dir: String) {
        let execution = &self.execution;
        execution.stdout.close();
        execution.stderr.close();
        execution.finish(Outcome {
            execution_id: execution.id.clone(),
            exit_code: 130,
            signal: None,
            duration_ms: 0,
            waited_ms: millis(self.received.elapsed()),
            timed_out: false,
            cancelled: true,
            stdout_bytes: 0,
            stderr_bytes: 0,
            omitted: None,
            shell_state: ShellState::Kept,
            lost_commands: None,
            background_pids: None,
            working_dir,
            usage: None,
            sandbox: execution.sandbox.report(),
            denied: None,
        });
        engine.executions.retire(execution);
    }

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
            clearance: Clearance::default(),
            beginning: None,
        }
    }
}

/// What a person said yes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approved {
    /// The command as it was shown, with its names standing for these.
    Shown(Vec<Executable>),
    /// Another text, which they wrote: nobody has looked at what its names stand for.
    Edited,
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
