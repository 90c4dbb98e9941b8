//! Commands that the rules do not simply let through: judged before they begin, held until a person has answered.
//!
//! 1. [`Task::weigh`] judges the text of the next command. Denied: it is refused.
//! 2. Otherwise the shell is asked what its names stand for ([`probe`]), by a run of our own that nobody sees.
//! 3. [`Task::settle`]: allowed, and every name is what it should be: it begins. Else the command is held, the shell's state
//!    is kept, and a person is asked: the desk records the request.
//! 4. [`Task::answered`]: approved, it goes through 2 once more and begins if nothing has changed; or it is refused.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trl_proto::exec::Approval;
use trl_proto::hitl::{Executable, Verdict};
use trl_proto::session::SessionState;
use trl_proto::{CheckpointId, Error, ExecutionId, RequestId};
use trl_store::failpoint;

use super::finish::MOST_TRIES;
use super::messages::{Approved, Clearance, Message, Order, Stdin};
use super::phase::{Phase, Then};
use super::run::Run;
use super::state::WhenBusy;
use super::task::Task;
use crate::approval::rules::At;
use crate::approval::{
    Answer, Asked, Asking, Doubt, Judgement, Plan, Question, Rules, Subject, denied, probe, refusal, required,
};
use crate::execution::Execution;
use crate::shell::Kind;

/// A shell that takes longer to say what a name stands for has something in its way.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// What a probe may print; more is not an answer.
const PROBE_BYTES: usize = 256 * 1024;

/// A command that waits for a person.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) order: Order,
    /// The request that is about it, or will be.
    pub(super) id: RequestId,
    /// What is asked, until it is.
    question: Option<(Arc<Rules>, Question)>,
    /// Absent until the request is on record.
    pub(super) request: Option<RequestId>,
    /// What its names stood for when the question was put.
    executables: Vec<Executable>,
}

impl Task {
    /// Begins the command, or has it looked into.
    pub(super) fn weigh(&mut self, mut order: Order) {
        let Some(rules) = self.session.rules_in_force() else { return self.begin(order) };
        if self.shell_kind().is_none() {
            return self.begin(order);
        }
        let judgement = self.judge(&rules, &order);
        if judgement.verdict == Verdict::Deny {
            let spec = &self.session.spec;
            let command = (order.execution.text(), &spec.secrets.redactor());
            self.engine.desk.audit().denied(Some(&spec.id), command, &judgement);
            return self.refuse_order(&order, denied(&judgement));
        }
        let names = judgement.names.clone();
        order.clearance.judgement = Some(judgement);
        if names.is_empty() {
            return self.settle(order, &probe::Found::default());
        }
        self.send_probe(order, &names);
    }

    fn shell_kind(&self) -> Option<Kind> {
        self.body.as_ref().and_then(|b| b.shell.as_ref()).map(|s| s.kind)
    }

    /// Where a command is to run.
    fn place_of(&self, order: &Order) -> String {
        order.around.working_dir.clone().unwrap_or_else(|| self.session.public().working_dir.clone())
    }

    /// What the rules say of a command, where it is to run.
    fn judge(&self, rules: &Rules, order: &Order) -> Judgement {
        let cwd = self.place_of(order);
        let root = &self.session.spec.working_dir;
        let shell = self.shell_kind().unwrap_or(Kind::Dash);
        rules.judge(At { shell, cwd: &cwd, root, env: &order.around.env }, order.execution.text())
    }

    /// Asks the shell, with the environment and in the directory the command is to have.
    fn send_probe(&mut self, order: Order, names: &[String]) {
        let Some(body) = &mut self.body else { return };
        let Some(kind) = body.shell.as_ref().map(|s| s.kind) else { return };
        let logs = (self.engine.log(Some(PROBE_BYTES)), self.engine.log(Some(PROBE_BYTES)));
        let execution = self.session.spec.execution(&probe::text(kind, names), logs);
        let probe = Order {
            execution,
            around: order.around.clone(),
            stdin: Stdin::Null,
            timeout: PROBE_LIMIT,
            busy: WhenBusy::Refuse,
            received: Instant::now(),
            tries: order.tries,
            clearance: Clearance { probe_for: Some(Box::new(order)), ..Clearance::default() },
            beginning: None,
        };
        match Run::begin(probe, body) {
            Ok(run) => {
                self.busy = self.engine.count_running();
                self.phase = Phase::Running(Box::new(run));
            }
            Err(refused) => {
                let (probe, error) = *refused;
                if let Some(order) = probe.clearance.probe_for {
                    self.refuse_order(&order, error);
                }
            }
        }
    }

    /// The shell has answered, or died of the question.
    pub(super) fn probed(&mut self, probe: &Execution, cancelled: bool, order: Order) {
        if cancelled || self.ending.is_some() {
            self.publish_never_ran(order);
            self.settle_down();
            return if self.ending.is_some() { self.go_on_ending() } else { self.try_next() };
        }
        let (Some(judgement), Some(kind)) = (&order.clearance.judgement, self.shell_kind()) else {
            return self.refuse_order(&order, Error::internal("the command was not judged"));
        };
        let found =
            probe::read(kind, &judgement.names, &probe.stdout.snapshot(), Path::new(&self.place_of(&order)));
        self.settle(order, &found);
        self.try_next();
    }

    /// The shell is gone: the next one is asked about a command it never saw.
    pub(super) fn died_of_probe(&mut self, probe: &Run, mut order: Order) {
        if probe.stop.is_some() || self.ending.is_some() || order.tries >= MOST_TRIES {
            self.publish_never_ran(order);
        } else {
            order.tries += 1;
            self.queue.push_front(order);
        }
        match self.ending {
            Some(_) => self.go_on_ending(),
            None => self.recover(Then::Replace),
        }
    }

    /// With all there is to know: does it begin, or is a person asked?
    fn settle(&mut self, mut order: Order, found: &probe::Found) {
        let (Some(rules), Some(mut judgement)) =
            (self.session.rules().cloned(), order.clearance.judgement.take())
        else {
            return self.refuse_order(&order, Error::internal("the command was not judged"));
        };
        let doubts = match &order.clearance.approved {
            Some(Approved::Shown(shown)) if *shown == found.executables => Vec::new(),
            Some(Approved::Shown(shown)) => vec![Doubt::changed(shown, &found.executables)],
            Some(Approved::Edited) | None => rules.doubts(&self.session.spec, found),
        };
        let approved = judgement.verdict == Verdict::Allow || order.clearance.approved.is_some();
        if approved && doubts.is_empty() {
            return self.begin(order);
        }
        judgement.doubt(&doubts);
        if order.clearance.mode == Approval::Fail {
            return self.refuse_order(&order, required(&judgement));
        }
        self.ask(order, rules, Question { judgement, executables: found.executables.clone() });
    }

    /// Holds the command; asked about is it once its shell's state is kept.
    fn ask(&mut self, order: Order, rules: Arc<Rules>, question: Question) {
        if let Some(before) = &order.clearance.request {
            // It was approved, and is asked about again: nothing was run on that yes.
            self.engine.desk.ran(before);
        }
        let (id, executables) = (RequestId::random(), question.executables.clone());
        self.held = Some(Held { order, id, question: Some((rules, question)), request: None, executables });
        self.keep_before_asking();
    }

    /// Has the request recorded, unless that was done; until then the command is held without one.
    pub(super) fn put_question(
        &mut self,
        kept: impl Future<Output = Result<Option<CheckpointId>, Error>> + Send + 'static,
    ) {
        let Some(Held { order, id, question, .. }) = &mut self.held else { return };
        let Some((rules, question)) = question.take() else { return };
        let spec = &self.session.spec;
        let here = || self.session.public().working_dir.clone();
        let mut asking = Asking {
            request: id.clone(),
            checkpoint: None,
            session: Some(spec.id.clone()),
            terminal: None,
            execution: Some(order.execution.id.clone()),
            session_name: spec.name.clone(),
            owner: Arc::clone(&spec.owner),
            origin: Arc::clone(&order.clearance.origin),
            command: order.execution.text().into(),
            working_dir: order.around.working_dir.clone().unwrap_or_else(here),
            root: spec.working_dir.clone(),
            boundary: spec.approval_boundary(),
            question,
            rules,
            subject: Subject::Text(
                self.body.as_ref().and_then(|b| b.shell.as_ref()).map_or(Kind::Dash, |s| s.kind),
            ),
            env: order.around.env.clone(),
            alone: matches!(order.stdin, Stdin::Null) && order.around.env.is_empty(),
            mode: order.clearance.mode,
            plan: plan(order),
            redactor: spec.secrets.redactor(),
        };
        let (session, execution) = (Arc::clone(&self.session), order.execution.id.clone());
        let (engine, on_record) = (Arc::clone(&self.engine), self.on_record);
        tokio::spawn(async move {
            let outcome = match kept.await {
                Ok(checkpoint) => {
                    asking.checkpoint = checkpoint;
                    if !on_record {
                        // A request outlives the daemon, so its session must, too.
                        engine.records.handed_on().await;
                    }
                    engine.desk.ask(asking).await
                }
                Err(error) => Err(error),
            };
            let _ = session.send(Message::Asked { execution, outcome }).await;
        });
    }

    pub(super) fn asked(&mut self, execution: &ExecutionId, outcome: Result<Asked, Error>) {
        let Some(held) = self.held.take_if(|held| held.order.execution.id == *execution) else {
            // It was cancelled meanwhile.
            if let Ok(Asked::Recorded { request, .. }) = outcome {
                self.engine.desk.withdraw(&request);
            }
            return;
        };
        match outcome {
            Err(error) => self.refuse_order(&held.order, error),
            Ok(Asked::Granted) => {
                let shown = Approved::Shown(held.executables.clone());
                self.clear(held, shown);
            }
            Ok(Asked::Recorded { request, answer }) => {
                self.on_record = true;
                held.order.execution.ask(request.clone());
                self.session.public().requests = vec![request.clone()];
                let session = Arc::clone(&self.session);
                let id = request.clone();
                tokio::spawn(async move {
                    let answer = answer.await.unwrap_or(Answer::Cancelled);
                    let _ = session.send(Message::Answered { request: id, answer }).await;
                });
                self.held = Some(Held { request: Some(request), ..held });
                self.set_state(SessionState::WaitingHitl);
                return;
            }
        }
        self.try_next();
    }

    fn clear(&mut self, held: Held, approved: Approved) {
        let mut order = held.order;
        order.clearance.request = held.request;
        order.clearance.approved = Some(approved);
        self.queue.push_front(order);
    }

    pub(super) fn answered(&mut self, request: &RequestId, answer: Answer) {
        let Some(held) = self.held.take_if(|held| held.request.as_ref() == Some(request)) else { return };
        failpoint("approval.heard");
        self.session.public().requests.clear();
        match answer {
            Answer::Approved { command } => {
                let approved = match command {
                    None => Approved::Shown(held.executables.clone()),
                    Some(command) => {
                        held.order.execution.edit(&command);
                        Approved::Edited
                    }
                };
                self.set_state(SessionState::Running);
                self.clear(held, approved);
            }
            Answer::Cancelled => {
                self.publish_never_ran(held.order);
                self.settle_down();
            }
            no => self.refuse_order(&held.order, refusal(request, no)),
        }
        self.try_next();
    }

    /// Takes the held command back, if it is this one, or whichever there is.
    pub(super) fn take_held(&mut self, execution: Option<&ExecutionId>) -> Option<Order> {
        let held = self.held.take_if(|held| execution.is_none_or(|id| held.order.execution.id == *id))?;
        self.session.public().requests.clear();
        if let Some(request) = held.request {
            self.engine.desk.withdraw(&request);
        }
        Some(held.order)
    }

    pub(super) fn refuse_order(&mut self, order: &Order, error: Error) {
        if let Some(request) = &order.clearance.request {
            self.engine.desk.ran(request);
        }
        self.engine.executions.refuse(&order.execution, error);
        self.settle_down();
    }

    /// Nothing is left to do.
    pub(super) fn settle_down(&mut self) {
        let free = matches!(self.phase, Phase::Idle | Phase::Absent);
        if free && self.queue.is_empty() && self.held.is_none() && self.ending.is_none() {
            self.set_state(SessionState::Idle);
        }
    }
}

/// How another daemon could run it; stdin is not kept, so a command that has one cannot be.
fn plan(order: &Order) -> Option<Plan> {
    (order.stdin == Stdin::Null).then(|| Plan {
        env: order.around.env.clone(),
        working_dir: order.around.working_dir.clone(),
        timeout_s: order.timeout.as_secs_f64(),
    })
}
