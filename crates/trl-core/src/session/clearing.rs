//! Commands that the rules do not simply let through, wherever they run: judged before they begin, held until a person has
//! answered.
//!
//! 1. [`Clearing::weigh`] judges the text of the next command. Denied: it is refused.
//! 2. Otherwise the shell is asked what its names stand for and what would run with it ([`probe`]): [`Clearing::look_up`].
//! 3. [`Clearing::settle`]: allowed, and every name is what it should be: it begins. Else the command is held, the shell's
//!    state is kept, and a person is asked: the desk records the request.
//! 4. [`Clearing::answered`]: approved, it goes through 2 once more and begins if nothing has changed; or it is refused.

use std::future::Future;
use std::sync::Arc;

use trl_proto::exec::Approval;
use trl_proto::hitl::{Executable, Verdict};
use trl_proto::session::SessionState;
use trl_proto::{CheckpointId, Error, ExecutionId, RequestId};
use trl_store::failpoint;
use trl_store::redact::Redactor;

use super::front::Front;
use super::messages::{Approved, Message, Order, Stdin};
use crate::approval::rules::At;
use crate::approval::{
    Answer, Asked, Asking, Doubt, Judgement, Plan, Question, Rules, Subject, denied, pin, probe, refusal,
    required,
};
use crate::shell::Kind;

/// A command that waits for a person.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) order: Order,
    /// The request that is about it, or will be.
    pub(crate) id: RequestId,
    /// What is asked, until it is.
    question: Option<(Arc<Rules>, Question)>,
    /// Absent until the request is on record.
    pub(crate) request: Option<RequestId>,
    /// What its names stood for when the question was put.
    executables: Vec<Executable>,
}

/// A task whose commands are cleared first.
pub(crate) trait Clearing {
    fn front(&mut self) -> &mut Front;
    fn seen(&self) -> &Front;
    /// None: there is no shell that reads commands.
    fn shell_kind(&self) -> Option<Kind>;
    /// Nothing runs, and it is not on its way out.
    fn is_free(&self) -> bool;
    /// It is cleared.
    fn begin(&mut self, order: Order);
    /// Asks the shell what these names stand for, with the environment and in the directory the command is to have; what it
    /// finds is [settled](Clearing::settle).
    fn look_up(&mut self, order: Order, names: &[String]);
    /// Has the shell's state kept, then [puts the question](Front::put_question).
    fn keep_before_asking(&mut self);
    /// Goes on with what stands in line.
    fn try_next(&mut self);
    /// The directory that came with the command, as it is now. None if it has none, or if that is on another machine.
    fn directory_of(&self, _order: &Order) -> Option<Executable> {
        None
    }

    /// Begins the command, or has it looked into.
    fn weigh(&mut self, mut order: Order) {
        if let Some(lookup) = &order.clearance.lookup {
            let names = lookup.names.clone();
            return self.look_up(order, &names);
        }
        let Some(rules) = self.seen().session.rules_in_force() else { return self.begin(order) };
        if self.shell_kind().is_none() {
            return self.begin(order);
        }
        let judgement = self.judge(&rules, &order);
        if judgement.verdict == Verdict::Deny {
            let session = &self.seen().session;
            let redactor = session.redactor_for(&order.around.env);
            let command = (order.execution.text(), &*redactor);
            self.seen().engine.desk.audit().denied(Some(&session.spec.id), command, &judgement);
            return self.refuse_order(&order, denied(&judgement));
        }
        let names = judgement.names.clone();
        order.clearance.judgement = Some(judgement);
        self.look_up(order, &names);
    }

    /// Where a command is to run.
    fn place_of(&self, order: &Order) -> String {
        order.around.working_dir.clone().unwrap_or_else(|| self.seen().session.public().working_dir.clone())
    }

    /// What the rules say of a command, where it is to run.
    fn judge(&self, rules: &Rules, order: &Order) -> Judgement {
        let cwd = self.place_of(order);
        let root = &self.seen().session.spec.working_dir;
        let shell = self.shell_kind().unwrap_or(Kind::Dash);
        rules.judge(At { shell, cwd: &cwd, root, env: &order.around.env }, order.execution.text())
    }

    /// With all there is to know: does it begin, or is a person asked?
    fn settle(&mut self, mut order: Order, found: &probe::Found) {
        let (Some(rules), Some(mut judgement)) =
            (self.seen().session.rules().cloned(), order.clearance.judgement.take())
        else {
            return self.refuse_order(&order, Error::internal("the command was not judged"));
        };
        let mut executables = found.executables.clone();
        executables.extend(self.directory_of(&order));
        let doubts = match &order.clearance.approved {
            Some(Approved::Shown(shown)) if pin::are_still(shown, &executables) => Vec::new(),
            Some(Approved::Shown(shown)) => vec![Doubt::changed(shown, &executables)],
            Some(Approved::Edited) | None => rules.doubts(&self.seen().session.spec, found),
        };
        let approved = judgement.verdict == Verdict::Allow || order.clearance.approved.is_some();
        if approved && doubts.is_empty() {
            return self.begin(order);
        }
        judgement.doubt(&doubts);
        if order.clearance.mode == Approval::Fail {
            return self.refuse_order(&order, required(&judgement));
        }
        self.ask(order, rules, Question { judgement, executables });
    }

    /// Holds the command; asked about is it once its shell's state is kept.
    fn ask(&mut self, order: Order, rules: Arc<Rules>, question: Question) {
        if let Some(before) = &order.clearance.request {
            // It was approved, and is asked about again: nothing was run on that yes.
            self.seen().engine.desk.ran(before);
        }
        let (id, executables) = (RequestId::random(), question.executables.clone());
        self.front().held =
            Some(Held { order, id, question: Some((rules, question)), request: None, executables });
        self.keep_before_asking();
    }

    fn asked(&mut self, execution: &ExecutionId, outcome: Result<Asked, Error>) {
        let Some(held) = self.front().held.take_if(|held| held.order.execution.id == *execution) else {
            // It was cancelled meanwhile.
            if let Ok(Asked::Recorded { request, .. }) = outcome {
                self.seen().engine.desk.withdraw(&request);
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
                self.front().on_record = true;
                held.order.execution.ask(request.clone());
                self.seen().session.public().requests = vec![request.clone()];
                let session = Arc::clone(&self.seen().session);
                let id = request.clone();
                tokio::spawn(async move {
                    let answer = answer.await.unwrap_or(Answer::Cancelled);
                    let _ = session.send(Message::Answered { request: id, answer }).await;
                });
                self.front().held = Some(Held { request: Some(request), ..held });
                self.seen().set_state(SessionState::WaitingHitl);
                return;
            }
        }
        self.try_next();
    }

    fn clear(&mut self, held: Held, approved: Approved) {
        let mut order = held.order;
        order.clearance.request = held.request;
        order.clearance.approved = Some(approved);
        self.front().queue.push_front(order);
    }

    fn answered(&mut self, request: &RequestId, answer: Answer) {
        let Some(held) = self.front().held.take_if(|held| held.request.as_ref() == Some(request)) else {
            return;
        };
        failpoint("approval.heard");
        self.seen().session.public().requests.clear();
        match answer {
            Answer::Approved { command } => {
                let approved = match command {
                    None => Approved::Shown(held.executables.clone()),
                    Some(command) => {
                        held.order.execution.edit(&command);
                        Approved::Edited
                    }
                };
                self.seen().set_state(SessionState::Running);
                self.clear(held, approved);
            }
            Answer::Cancelled => {
                self.seen().publish_never_ran(&held.order);
                self.settle_down();
            }
            no => self.refuse_order(&held.order, refusal(request, no)),
        }
        self.try_next();
    }

    fn refuse_order(&mut self, order: &Order, error: Error) {
        if let Some(request) = &order.clearance.request {
            self.seen().engine.desk.ran(request);
        }
        self.seen().engine.executions.refuse(&order.execution, error);
        self.settle_down();
    }

    /// Nothing is left to do.
    fn settle_down(&mut self) {
        let front = self.seen();
        if self.is_free() && front.queue.is_empty() && front.held.is_none() {
            front.set_state(SessionState::Idle);
        }
    }
}

impl Front {
    /// Takes the held command back, if it is this one, or whichever there is.
    pub(crate) fn take_held(&mut self, execution: Option<&ExecutionId>) -> Option<Order> {
        let held = self.held.take_if(|held| execution.is_none_or(|id| held.order.execution.id == *id))?;
        self.session.public().requests.clear();
        if let Some(request) = held.request {
            self.engine.desk.withdraw(&request);
        }
        Some(held.order)
    }

    /// Has the request recorded, unless that was done; until then the command is held without one.
    pub(crate) fn put_question(
        &mut self,
        shell: Kind,
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
            subject: Subject::Text(shell),
            env: order.around.env.clone(),
            alone: matches!(order.stdin, Stdin::Null) && order.around.env.is_empty(),
            mode: order.clearance.mode,
            plan: plan(order),
            redactor: Redactor::clone(&self.session.redactor_for(&order.around.env)),
            permission: None,
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
}

/// How another daemon could run it; stdin is not kept, so a command that has one cannot be.
fn plan(order: &Order) -> Option<Plan> {
    (order.stdin == Stdin::Null).then(|| Plan {
        env: order.around.env.clone(),
        working_dir: order.around.working_dir.clone(),
        timeout_s: order.timeout.as_secs_f64(),
        start: None,
    })
}
