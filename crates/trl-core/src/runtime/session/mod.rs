//! The task of a session whose processes are elsewhere: behind the same inbox as one of this machine, it moves the same
//! handle and the same executions, and has the work done by the engine there.
//!
//! ```text
//!  Absent ── first command, or create ─▶ Reaching ─▶ Creating ─▶ (Restoring) ─▶ Idle ─▶ Running ─▶ Idle ...
//!  Idle ─▶ Probing, Resetting, Capturing ─▶ Idle                     any ─▶ Ending ─▶ Over
//!  any ── the engine is lost ─▶ Over: closed, and can be opened again
//! ```
//!
//! The session has a strand of its own, and lives there as long as that does: whatever ends this task ends what it has
//! there, and a session that was cut while it was made leaves nothing.
//!
//! - here: the loop, and what is heard. - [`requests`]: what it is asked. - [`clearing`]: what the rules make of it. - [`life`]: its start and end.
//! - [`state`]: its shell's state, for checkpoints.

mod clearing;
mod life;
mod requests;
mod state;

pub(crate) use self::life::spawn;
pub(crate) use self::state::{from_text, text_of};

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use trl_proto::exec::{ExitPush, Omitted, Outcome, Range, ShellState, Stream};
use trl_proto::heard::Heard;
use trl_proto::session::SessionState;
use trl_proto::text::decode;
use trl_proto::{Encoding, Error, ExecutionId};
use trl_store::failpoint;

use super::far::Far;
use super::talk::{self, Talk};
use super::{Place, Runtime};
use crate::checkpoint::{Captured, Checkpoint, Heard as Confidences};
use crate::execution::{Execution, millis};
use crate::output::Log;
use crate::session::capture::Restoration;
use crate::session::clearing::Clearing;
use crate::session::front::Front;
use crate::session::messages::{Cancel, Ending, Message, Order, Reply};

/// What comes late belongs to executions that ended; of so many is still heard.
const MOST_LATE: usize = 64;

pub(crate) struct Task {
    front: Front,
    inbox: mpsc::Receiver<Message>,
    runtime: Arc<Runtime>,
    /// Its place there.
    there: Option<Place>,
    far: Option<Arc<Far>>,
    /// Its conversation with the engine.
    talk: Option<Talk>,
    phase: Phase,
    /// Replies that are owed to somebody.
    asked: HashMap<u64, Asked>,
    ending: Option<EndPlan>,
    /// Whoever waits for the session to be up.
    created: Option<Reply<()>>,
    /// The direct command, until it is started.
    direct: Option<Order>,
    /// What is to be said of that one.
    early: Vec<Early>,
    /// The state its shell is to begin with.
    from: Option<Box<Checkpoint>>,
    restore_reply: Option<Reply<Restoration>>,
    captures: Vec<Reply<Captured>>,
    /// Who waits for it to be there.
    appearing: Vec<Reply<()>>,
    heard: Confidences,
    /// Commands it had run when its state was last taken.
    taken_at: u64,
    /// When its state is due on disk.
    keep_at: Option<Instant>,
    /// Checkpoints it may still make ahead of a question.
    ahead: u8,
    /// Executions that have ended, while processes they left may still write.
    late: Vec<Arc<Execution>>,
}

enum Phase {
    /// The engine has no such session.
    Absent,
    Reaching(Reaching),
    Creating {
        call: u64,
    },
    Restoring {
        call: u64,
    },
    Idle,
    /// The shell there is asked what the names of this command stand for.
    Probing {
        call: u64,
        order: Box<Order>,
    },
    Running(Box<Running>),
    Resetting {
        call: u64,
        reply: Reply<()>,
    },
    Capturing {
        call: u64,
        why: Why,
    },
    /// The engine ends it.
    Ending {
        call: u64,
        until: Instant,
        run: Option<Box<Running>>,
    },
    Over,
}

type Reaching = Pin<Box<dyn Future<Output = Result<Arc<Far>, Error>> + Send>>;

/// A command that the engine has.
struct Running {
    order: Order,
    call: u64,
    started: Instant,
    /// It runs there; until then it cannot be spoken of, and what there is to say waits.
    known: bool,
    early: Vec<Early>,
    /// Somebody who follows it is behind: nothing more is taken from the engine until then.
    paused: Option<Instant>,
}

impl Running {
    /// `call` is what the engine was asked with.
    fn new(order: Order, call: u64) -> Self {
        Self { order, call, started: Instant::now(), known: false, early: Vec::new(), paused: None }
    }
}

/// What is to be said of a command once it runs.
enum Early {
    Cancel(Cancel),
    Call { method: &'static str, params: Box<RawValue>, asked: Asked },
}

impl Early {
    fn refuse(self, error: &Error) {
        match self {
            Self::Cancel(cancel) => drop(cancel.reply.send(Err(error.clone()))),
            Self::Call { asked, .. } => asked.answer(Err(error.clone())),
        }
    }
}

/// What a state is taken for.
enum Why {
    Asked,
    Close,
    /// It was due.
    Interval,
    /// A person may be asked about the next command.
    Ahead,
    /// A person is to be asked about a command.
    Approval,
}

/// Who waits for a reply.
enum Asked {
    Done(Reply<()>),
    Count(Reply<u64>),
    AtRest(oneshot::Sender<bool>),
}

struct EndPlan {
    into: Ending,
    reason: String,
    force: bool,
    keeps_state: bool,
    replies: Vec<oneshot::Sender<()>>,
    failure: Option<Error>,
}

enum Event {
    Message(Option<Message>),
    Reached(Result<Arc<Far>, Error>),
    Heard(std::io::Result<Heard>),
    Drained,
    Late,
    OutOfReach,
}

impl Task {
    async fn run(mut self) {
        while !matches!(self.phase, Phase::Over) {
            tokio::task::consume_budget().await;
            let event = self.next_event().await;
            self.handle(event);
            self.go_on();
        }
        self.inbox.close();
        while let Ok(message) = self.inbox.try_recv() {
            if let Message::Run(order) = message {
                self.front.engine.executions.refuse(&order.execution, self.front.session.gone());
            }
        }
    }

    async fn next_event(&mut self) -> Event {
        let Self { phase, talk, inbox, keep_at, ending, far, .. } = self;
        let (paused, logs) = match phase {
            Phase::Running(run) => {
                let execution = &run.order.execution;
                (run.paused, Some((Arc::clone(&execution.stdout), Arc::clone(&execution.stderr))))
            }
            _ => (None, None),
        };
        let until = match phase {
            Phase::Ending { until, .. } => Some(*until),
            Phase::Idle => *keep_at,
            _ => paused,
        };
        let reached = async {
            match phase {
                Phase::Reaching(reaching) => reaching.await,
                _ => std::future::pending().await,
            }
        };
        let heard = async {
            match talk {
                Some(talk) if paused.is_none() => talk.hear().await,
                _ => std::future::pending().await,
            }
        };
        let drained = async {
            match logs {
                Some((out, err)) if paused.is_some() => {
                    tokio::select! { () = out.drained() => {}, () = err.drained() => {} }
                }
                _ => std::future::pending().await,
            }
        };
        let late = async {
            match until {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let out_of_reach = async {
            match (ending, far) {
                (Some(_), Some(far)) => far.out_of_reach().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            message = inbox.recv() => Event::Message(message),
            reached = reached => Event::Reached(reached),
            heard = heard => Event::Heard(heard),
            () = drained => Event::Drained,
            () = late => Event::Late,
            () = out_of_reach => Event::OutOfReach,
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message(Some(message)) => self.message(message),
            // Every handle is gone: nobody can ever use this session again.
            Event::Message(None) => self.end(Ending::Terminated, true, "abandoned".into()),
            Event::Reached(reached) => self.reached(reached),
            Event::Heard(Ok(Heard::Reply { id, outcome })) => self.replied(id, outcome),
            Event::Heard(Ok(Heard::Push { method, params })) => self.pushed(&method, &params),
            Event::Heard(Err(_)) => self.lost(),
            Event::Drained => self.look_at_followers(),
            Event::OutOfReach => self.over(),
            Event::Late => match &mut self.phase {
                Phase::Running(_) => self.look_at_followers(),
                Phase::Ending { .. } => self.over(),
                _ => {}
            },
        }
    }

    // ---- what is heard

    fn replied(&mut self, id: u64, outcome: Result<Box<RawValue>, Error>) {
        if let Some(asked) = self.asked.remove(&id) {
            return asked.answer(outcome);
        }
        match &mut self.phase {
            Phase::Creating { call } if *call == id => self.made(outcome),
            Phase::Restoring { call } if *call == id => self.restored(outcome),
            Phase::Probing { call, .. } if *call == id => self.looked_up(outcome),
            Phase::Running(run) if run.call == id => match outcome {
                Ok(_) => self.known_there(),
                Err(error) => self.refused_there(error),
            },
            Phase::Resetting { call, .. } if *call == id => self.was_reset(outcome),
            Phase::Capturing { call, .. } if *call == id => self.captured(outcome),
            Phase::Ending { call, .. } if *call == id => self.ended_there(),
            _ => {}
        }
    }

    fn pushed(&mut self, name: &str, params: &RawValue) {
        match name {
            "exec.output" => self.output(params),
            "exec.exit" => self.exited(params),
            "exec.closed" => self.closed(params),
            "exec.refused" => self.refused_later(params),
            _ => {}
        }
    }

    /// The execution a push is about: the one that runs, or one that has ended.
    fn execution(&self, id: &str) -> Option<Arc<Execution>> {
        let running = match &self.phase {
            Phase::Running(run) | Phase::Ending { run: Some(run), .. } => Some(&run.order.execution),
            _ => None,
        };
        running.into_iter().chain(&self.late).find(|execution| execution.id.as_str() == id).cloned()
    }

    fn output(&mut self, params: &RawValue) {
        let Ok(piece) = serde_json::from_str::<Piece<'_>>(params.get()) else { return };
        let Some(execution) = self.execution(&piece.execution_id) else { return };
        let Ok(bytes) = decode(piece.data.into_owned(), piece.encoding) else { return };
        execution.log(piece.stream).append(&bytes);
        self.look_at_followers();
    }

    /// Whether the engine has to wait for those who follow here.
    fn look_at_followers(&mut self) {
        if let Phase::Running(run) = &mut self.phase {
            let execution = &run.order.execution;
            run.paused =
                [&execution.stdout, &execution.stderr].into_iter().filter_map(|log| log.crowded()).max();
        }
    }

    fn exited(&mut self, params: &RawValue) {
        let Ok(ExitPush { outcome, .. }) = serde_json::from_str(params.get()) else { return self.lost() };
        let run = match &mut self.phase {
            Phase::Ending { run, .. } => run.take(),
            phase @ Phase::Running(_) => match std::mem::replace(phase, Phase::Idle) {
                Phase::Running(run) => Some(run),
                _ => None,
            },
            _ => None,
        };
        let Some(run) = run else { return };
        let ended = outcome.shell_state == ShellState::Ended;
        let mut outcome = here(&run, outcome);
        if matches!(outcome.shell_state, ShellState::RolledBack | ShellState::Reset) {
            self.front.shell_replaced(outcome.shell_state);
        }
        if self.ending.is_some() {
            // Whatever became of its shell, there is none any more.
            outcome.shell_state = ShellState::Ended;
        }
        let execution = Arc::clone(&run.order.execution);
        execution.stdout.seal();
        execution.stderr.seal();
        self.front.session.spec.sandbox.told(outcome.sandbox.clone());
        self.late.push(execution);
        if self.late.len() > MOST_LATE {
            close(&self.late.remove(0));
        }
        let then = match ended || self.ending.is_some() || !self.front.queue.is_empty() {
            true => None,
            false => Some(SessionState::Idle),
        };
        self.front.publish(&run.order, outcome, then);
        self.note_change();
        if ended {
            self.plan_end(Ending::Terminated, "its command ended".into());
            match self.front.session.spec.shell() {
                // It was told of when nothing was left there.
                Some(_) => self.over(),
                // What it left behind has its grace there.
                None => self.end_there(),
            }
        }
    }

    /// Nothing more is written to its output.
    fn closed(&mut self, params: &RawValue) {
        let Ok(Named { execution_id }) = serde_json::from_str(params.get()) else { return };
        if let Some(at) = self.late.iter().position(|execution| execution.id == execution_id) {
            close(&self.late.remove(at));
        }
    }

    fn refused_later(&mut self, params: &RawValue) {
        #[derive(Deserialize)]
        struct Refused {
            error: serde_json::Value,
        }
        let why = serde_json::from_str::<Refused>(params.get()).ok();
        let message = why.and_then(|r| r.error.get("message").and_then(|m| m.as_str().map(String::from)));
        self.refused_there(Error::internal(message.unwrap_or_else(|| "the command was not run".into())));
    }

    fn known_there(&mut self) {
        let Phase::Running(run) = &mut self.phase else { return };
        (run.known, run.started) = (true, Instant::now());
        run.order.execution.start(run.started);
        failpoint("exec.begun");
        self.front.announce(&mut run.order, run.started);
        for early in std::mem::take(&mut run.early) {
            match early {
                Early::Cancel(cancel) => self.cancel(cancel),
                Early::Call { method, params, asked } => {
                    let call = self.ask(method, &params);
                    self.asked.insert(call, asked);
                }
            }
        }
    }

    fn refused_there(&mut self, error: Error) {
        let Phase::Running(run) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let error = error.detail("runtime", &*self.runtime.name);
        run.early.into_iter().for_each(|early| early.refuse(&error));
        self.front.busy = None;
        self.front.session.public().running = None;
        self.refuse_order(&run.order, error);
    }
}

impl Asked {
    fn answer(self, outcome: Result<Box<RawValue>, Error>) {
        match self {
            Self::Done(reply) => drop(reply.send(outcome.map(drop))),
            Self::Count(reply) => {
                let counted = outcome.and_then(|said| talk::read::<trl_proto::exec::Signalled>(&said));
                let _ = reply.send(counted.map(|signalled| signalled.processes));
            }
            Self::AtRest(reply) => {
                let rests = outcome.and_then(|said| talk::read::<trl_proto::far::AtRest>(&said));
                let _ = reply.send(rests.is_ok_and(|said| said.at_rest));
            }
        }
    }
}

/// A piece of output, as it is pushed.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    execution_id: std::borrow::Cow<'a, str>,
    stream: Stream,
    #[serde(borrow)]
    data: std::borrow::Cow<'a, str>,
    encoding: Encoding,
}

#[derive(Deserialize)]
struct Named {
    execution_id: ExecutionId,
}

fn close(execution: &Execution) {
    execution.stdout.close();
    execution.stderr.close();
}

/// An end as it is told here: waiting counts from when it was asked for here, and what is kept is what this daemon has.
fn here(run: &Running, outcome: Outcome) -> Outcome {
    let waited = run.started.saturating_duration_since(run.order.received);
    let omitted = |log: &Log| log.omitted().map(|(from, to)| Range { from, to });
    let execution = &run.order.execution;
    let omitted = Omitted { stdout: omitted(&execution.stdout), stderr: omitted(&execution.stderr) };
    Outcome {
        waited_ms: millis(waited),
        omitted: (omitted != Omitted::default()).then_some(omitted),
        ..outcome
    }
}

/// How long an engine may take to end a session before it is taken for ended.
const END_LIMIT: Duration = Duration::from_secs(15);
