//! Its start and its end: the engine is reached, the session is made there; it ends, or is lost with its engine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use trl_proto::Error;
use trl_proto::far::{FarCreate, FarCreated, FarDirect, FarMethod};
use trl_proto::session::{CreateParams, DestroyParams, SessionState};
use trl_proto::text::Text;

use super::{END_LIMIT, EndPlan, Phase, Running, Task, Why};
use crate::checkpoint::Heard as Confidences;
use crate::engine::Engine;
use crate::runtime::Runtime;
use crate::runtime::far::{Far, unavailable};
use crate::runtime::talk::{self, lost};
use crate::seats::Seat;
use crate::session::front::Front;
use crate::session::handle::Session;
use crate::session::messages::{Ending, Order, Stdin};
use crate::session::spec::{Program, Spec};
use crate::session::state;
use crate::session::task::Start;

const INBOX: usize = 32;
/// The end of a session's last command comes right after that of the session.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Starts the task of a session of another runtime; `created` hears when its program is up.
pub(crate) fn spawn(
    engine: Arc<Engine>,
    session: Arc<Session>,
    seat: Seat,
    start: Start,
    runtime: Arc<Runtime>,
) {
    let (sender, inbox) = mpsc::channel(INBOX);
    session.connect(sender);
    let (created, direct, from) = match start {
        Start::Now { created, direct } => (Some(created), direct, None),
        Start::WithFirstCommand { from } => (None, None, from),
    };
    let taken_at = session.public().commands;
    let mut task = Task {
        front: Front::new(engine, session, seat),
        inbox,
        runtime,
        there: None,
        far: None,
        talk: None,
        phase: Phase::Absent,
        asked: HashMap::new(),
        ending: None,
        created,
        direct,
        early: Vec::new(),
        from,
        restore_reply: None,
        captures: Vec::new(),
        appearing: Vec::new(),
        heard: Confidences::default(),
        taken_at,
        keep_at: None,
        ahead: 0,
        late: Vec::new(),
    };
    match task.created.is_some() {
        true => task.reach(),
        false => {
            task.front.set_state(SessionState::Ready);
            task.front.note_ready();
        }
    }
    let session = Arc::clone(&task.front.session);
    tokio::spawn(async move {
        task.run().await;
        session.disconnect();
    });
}

impl Task {
    /// Reaches for the engine, and a place there.
    pub(super) fn reach(&mut self) {
        let id = self.front.session.spec.id.clone();
        match self.runtime.admit(id.as_str()) {
            Err(error) => self.failed(error),
            Ok(place) => {
                self.there = Some(place);
                let runtime = Arc::clone(&self.runtime);
                self.phase = Phase::Reaching(Box::pin(async move { runtime.engine(id.as_str()).await }));
            }
        }
    }

    pub(super) fn reached(&mut self, reached: Result<Arc<Far>, Error>) {
        if self.ending.is_some() {
            return self.over();
        }
        let made = reached.and_then(|far| {
            let talk = far.talk()?;
            (self.far, self.talk) = (Some(far), Some(talk));
            Ok(())
        });
        match made {
            Err(error) => self.failed(error),
            Ok(()) => {
                let spec = &self.front.session.spec;
                let create = FarCreate {
                    session_id: spec.id.clone(),
                    create: wish(spec, &self.front.session.public().working_dir),
                    root: self.created.is_none().then(|| spec.origin.root.clone()),
                    direct: self.direct.as_ref().map(direct),
                };
                let call = self.ask(FarMethod::Create.name(), &create);
                self.phase = Phase::Creating { call };
            }
        }
    }

    /// Says something to the engine; its reply has this number.
    pub(super) fn ask(&mut self, method: &str, params: &impl serde::Serialize) -> u64 {
        // Without a conversation nothing is answered, and the phase that waits for it is left by its end.
        self.talk.as_mut().map_or(0, |talk| talk.ask(method, params))
    }

    pub(super) fn made(&mut self, outcome: Result<Box<RawValue>, Error>) {
        let made = match outcome.and_then(|said| talk::read::<FarCreated>(&said)) {
            Ok(made) => made,
            Err(error) => return self.failed(error.detail("runtime", &*self.runtime.name)),
        };
        let session = Arc::clone(&self.front.session);
        session.spec.sandbox.told(made.sandbox);
        {
            let mut public = session.public();
            public.pid = made.pid;
            public.limits = made.limits;
            public.working_dir = made.working_dir;
        }
        match self.direct.take() {
            Some(mut order) => {
                session.public().direct = Some(order.execution.id.clone());
                self.front.announce_session();
                self.front.engine.records.about_to_begin(&session, &mut order);
                let early = std::mem::take(&mut self.early);
                self.phase = Phase::Running(Box::new(Running { early, ..Running::new(order, 0) }));
                self.known_there();
            }
            None => {
                self.phase = Phase::Idle;
                if self.from.is_some() {
                    return self.give_state();
                }
            }
        }
        self.up();
    }

    /// Its program is up, with the state it is to have.
    pub(super) fn up(&mut self) {
        let Some(created) = self.created.take() else { return };
        if self.front.session.public().direct.is_none() {
            self.front.set_state(SessionState::Ready);
            self.front.announce_session();
            self.front.note_ready();
        }
        let _ = created.send(Ok(()));
    }

    /// It did not come up, or what it is to run cannot be.
    pub(super) fn failed(&mut self, error: Error) {
        tracing::warn!(session = %self.front.session.spec.id, %error, "a session elsewhere did not start");
        if let Some(order) = self.direct.take() {
            self.front.engine.executions.refuse(&order.execution, error.clone());
        }
        self.early.drain(..).for_each(|early| early.refuse(&error));
        self.front.refuse_all(&error);
        self.appearing.drain(..).for_each(|reply| drop(reply.send(Err(error.clone()))));
        // One that was open before can be tried again.
        let into = if self.created.is_some() { Ending::Terminated } else { Ending::Closed };
        self.plan_end(into, format!("it could not be started: {}", error.message));
        if let Some(plan) = &mut self.ending {
            plan.failure = Some(error);
        }
        self.over();
    }

    /// The engine is gone with everything it had.
    pub(super) fn lost(&mut self) {
        self.talk = None;
        if self.ending.is_some() {
            return self.over();
        }
        let why = match self.far.as_ref().and_then(|far| far.trouble()) {
            Some(trouble) => format!("the runtime {} was lost: {}", self.runtime.name, trouble.message),
            None => format!("the runtime {} was lost", self.runtime.name),
        };
        if self.created.is_some() {
            return self.failed(unavailable("create", &why).detail("runtime", &*self.runtime.name));
        }
        self.plan_end(Ending::Closed, why);
        self.over();
    }

    // ---- the end

    pub(super) fn plan_end(&mut self, into: Ending, reason: String) {
        let plan = self.ending.get_or_insert_with(|| EndPlan {
            into,
            reason,
            force: false,
            keeps_state: false,
            replies: Vec::new(),
            failure: None,
        });
        if into == Ending::Terminated {
            plan.into = into;
        }
    }

    pub(super) fn end(&mut self, into: Ending, force: bool, reason: String) {
        self.plan_end(into, reason);
        if let Some(plan) = &mut self.ending {
            plan.force |= force;
        }
        for order in self.front.take_held(None).into_iter().chain(std::mem::take(&mut self.front.queue)) {
            self.front.publish_never_ran(&order);
        }
        match &mut self.phase {
            Phase::Absent | Phase::Reaching(_) | Phase::Over => self.over(),
            // A harder wish than the one that is being carried out.
            Phase::Ending { .. } if force => self.end_there(),
            Phase::Ending { .. } => {}
            _ if force => self.end_there(),
            Phase::Running(run) => {
                let execution = run.order.execution.id.clone();
                if let Some(far) = &self.far {
                    super::requests::end_there(far, &execution);
                }
            }
            _ => {}
        }
    }

    /// Between two commands: what is left to be done before the end.
    pub(super) fn go_on_ending(&mut self) {
        let Some(plan) = &self.ending else { return };
        let dirty = self.front.session.public().commands != self.taken_at;
        if plan.keeps_state && dirty && !plan.force && self.from.is_none() {
            return self.take_state(Why::Close);
        }
        self.end_there();
    }

    pub(super) fn end_there(&mut self) {
        let force = self.ending.as_ref().is_some_and(|plan| plan.force);
        let session_id = self.front.session.spec.id.clone();
        let destroy = DestroyParams { session_id, force: Some(force) };
        let call = self.ask(trl_proto::Method::SessionDestroy.name(), &destroy);
        let run = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(run) | Phase::Ending { run: Some(run), .. } => Some(run),
            other => {
                self.give_back(other);
                None
            }
        };
        self.phase = Phase::Ending { call, until: Instant::now() + END_LIMIT, run };
    }

    /// Nothing there is left; the end of its last command may still be on the way.
    pub(super) fn ended_there(&mut self) {
        match &mut self.phase {
            Phase::Ending { run: Some(_), until, .. } => *until = Instant::now() + LAST_WORDS,
            _ => self.over(),
        }
    }

    /// Whoever waits for what a phase was about hears that it is over.
    fn give_back(&mut self, was: Phase) {
        match was {
            Phase::Running(run) | Phase::Ending { run: Some(run), .. } => {
                self.front.busy = None;
                let error = lost().detail("runtime", &*self.runtime.name);
                self.front.engine.executions.refuse(&run.order.execution, error);
            }
            Phase::Resetting { reply, .. } => drop(reply.send(Err(self.front.session.gone()))),
            Phase::Probing { order, .. } => self.front.publish_never_ran(&order),
            _ => {}
        }
    }

    /// The last step.
    pub(super) fn over(&mut self) {
        let was = std::mem::replace(&mut self.phase, Phase::Over);
        let mut plan = self.ending.take();
        let (into, reason) =
            plan.as_ref().map_or((Ending::Terminated, "ended".to_string()), |p| (p.into, p.reason.clone()));
        self.give_back(was);
        if let Some(order) = self.direct.take() {
            self.front.publish_never_ran(&order);
            // Whoever waits for it has its end.
            self.created.take().into_iter().for_each(|created| drop(created.send(Ok(()))));
        }
        let gone = state::Denial::NotRunning.error();
        self.early.drain(..).for_each(|early| early.refuse(&gone));
        self.late.drain(..).for_each(|execution| super::close(&execution));
        // The strand goes, and with it whatever is left there.
        (self.talk, self.there) = (None, None);
        self.front.leave(into, &reason);
        self.front.over(reason);
        if let (Some(created), Some(error)) =
            (self.created.take(), plan.as_mut().and_then(|plan| plan.failure.take()))
        {
            let _ = created.send(Err(error));
        }
        self.refuse_captures("the session ended");
        if let Some(reply) = self.restore_reply.take() {
            let _ = reply.send(Err(self.front.session.gone()));
        }
        let Some(EndPlan { replies, .. }) = plan else { return };
        self.front.tell_over(into, replies);
    }
}

/// What the engine is asked to make: everything but what only this daemon has to know.
pub(crate) fn wish(spec: &Spec, working_dir: &str) -> CreateParams {
    let (shell, argv) = match &spec.program {
        Program::Shell { path, .. } => (Some(path.display().to_string()), None),
        Program::Direct { argv, .. } => (None, Some(argv.clone())),
    };
    let mut env = spec.origin.env.clone();
    env.extend(spec.case.iter().flat_map(|case| case.variables(spec.id.as_str())));
    let secrets = spec.secrets.reveal().into_iter().map(|(name, value)| (name, value.to_string()));
    CreateParams {
        shell,
        argv,
        env: Some(env),
        secret_env: Some(secrets.collect()),
        pass_env: Some(spec.origin.pass_env.clone()),
        working_dir: Some(working_dir.into()),
        timeout_s: Some(spec.timeout.as_secs_f64()),
        sandbox: Some(spec.origin.sandbox.clone()),
        limits: Some(spec.limits),
        on_exit: Some(spec.on_exit),
        renewal: Some(spec.renewal),
        ..CreateParams::default()
    }
}

fn direct(order: &Order) -> FarDirect {
    let (stdin, open_stdin) = match &order.stdin {
        Stdin::Null => (None, false),
        Stdin::Bytes(bytes) => (Some(bytes), false),
        Stdin::Open(bytes) => (Some(bytes), true),
    };
    let text = stdin.map(|bytes| Text::exact(bytes));
    FarDirect {
        execution_id: order.execution.id.clone(),
        command: order.execution.text().into(),
        stdin_encoding: text.as_ref().map(|text| text.encoding),
        stdin: text.map(|text| text.data.into_owned()),
        open_stdin,
        timeout_s: order.timeout.as_secs_f64(),
    }
}
