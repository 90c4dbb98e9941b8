//! The one task that moves a session's agent.
//!
//! ```text
//!  absent ─ message ─▶ starting ─▶ running ◀─▶ waiting (for people)
//!    ▲                    │           │ stop, late: session/cancel, grace
//!    │                    ▼           ▼
//!    └── linger ── warm ◀─ the message is over; or absent, when the process is
//! ```
//!
//! 1. [`Word`]s come from calls: a message, stop, let go.
//! 2. [`Happened`] is what the process and its questions bring, each with the number of the process: what an earlier one still
//!    says is not listened to.
//! 3. Moments: it takes too long to start, to answer, to stop; text has been held back long enough; it has been warm long enough.
//!
//! Nothing here waits for the agent, so it can always be stopped. The end of a message is written down, then the session is
//! free, then everybody is told: who hears of it can send the next one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use trl_acp::call::CallId;
use trl_acp::{Breach, Call, Heard, Opening, Pieces, Reply};
use trl_core::clock::Stamp;
use trl_core::session::messages::{Manner, Message, Turn};
use trl_proto::agent::{AgentState, Resumed, Started, StopReason, Update};
use trl_proto::event::Happening;
use trl_proto::exec::Refusal;
use trl_proto::{Error, ErrorCode, RequestId};
use trl_store::message::AgentRecord;

use super::super::Server;
use super::super::files::{Doing, Target};
use super::super::principal::Principal;
use super::Talk;
use super::hands::Hands;
use super::news::{Happened, News, Word};
use super::own_shell;
use super::process::Process;
use super::record::Record;
use super::unsaid::Unsaid;

/// What a process says waits here; more waits in its pipe.
const AHEAD: usize = 64;
/// How often held text is looked at, and how often it is held back at most.
const TICK: Duration = Duration::from_millis(50);
const MOST_TICKS: u32 = 20;
/// Questions of one message that may be open at once.
const MOST_OPEN: usize = 64;

/// A message that is being worked on.
struct Work {
    record: Arc<Record>,
    pieces: Pieces,
    tick: Option<(Instant, u32)>,
    /// It is to be over by then.
    deadline: Option<Instant>,
    stop: Option<Stop>,
    waits: Vec<RequestId>,
    questions: Vec<AbortHandle>,
    unsaid: Unsaid,
}

struct Stop {
    why: Why,
    kill_at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Asked,
    Late,
}

struct Runner {
    server: Arc<Server>,
    talk: Arc<Talk>,
    news: mpsc::Sender<(u64, Happened)>,
    /// Counts processes.
    count: u64,
    process: Option<Process>,
    /// Until it is up.
    start_by: Option<Instant>,
    work: Option<Work>,
    /// Until when it is kept.
    linger: Option<Instant>,
}

pub(super) fn spawn(server: Arc<Server>, talk: Arc<Talk>, words: mpsc::UnboundedReceiver<Word>) {
    let (news, heard) = mpsc::channel(AHEAD);
    let (process, start_by, work, linger) = (None, None, None, None);
    let runner = Runner { server, talk, news, count: 0, process, start_by, work, linger };
    tokio::spawn(runner.run(words, heard));
}

impl Runner {
    async fn run(
        mut self,
        mut words: mpsc::UnboundedReceiver<Word>,
        mut heard: mpsc::Receiver<(u64, Happened)>,
    ) {
        let talk = Arc::clone(&self.talk);
        let mut over = std::pin::pin!(talk.session.over());
        loop {
            let moment = self.next_moment();
            let late = async {
                match moment {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = &mut over => break,
                Some(word) = words.recv() => self.told(word).await,
                Some((process, what)) = heard.recv() => {
                    if process == self.count && self.process.is_some() {
                        self.happened(what).await;
                    }
                }
                () = late => self.moment(Instant::now()).await,
            }
        }
        // The session is over, and with it all that stood beside it.
        self.let_go(Manner::Forced);
        words.close();
        while let Ok(word) = words.try_recv() {
            if let (Word::Message(record), true) = (word, self.work.is_none()) {
                self.work = Some(Work::new(record, None));
            }
        }
        self.finish(self.server.unfinished(), None).await;
        self.server.agents.leave(&self.talk);
    }

    fn next_moment(&self) -> Option<Instant> {
        let work = self.work.as_ref();
        let tick = work.and_then(|work| work.tick.map(|(at, _)| at));
        let deadline = work.and_then(|work| match &work.stop {
            Some(stop) => Some(stop.kill_at),
            None => work.deadline,
        });
        let unsaid = work.and_then(|work| work.unsaid.next());
        [tick, deadline, unsaid, self.start_by, self.linger].into_iter().flatten().min()
    }

    async fn told(&mut self, word: Word) {
        match word {
            Word::Message(record) => self.begin(record).await,
            Word::Stop => self.stop(Why::Asked).await,
            Word::LetGo if self.work.is_none() => self.let_go(Manner::Graceful),
            Word::LetGo => {}
        }
    }

    // ---- a message

    async fn begin(&mut self, record: Arc<Record>) {
        self.linger = None;
        self.talk.set_warm(None);
        let timeout = self.talk.session.agent().and_then(|agent| agent.timeout_s).filter(|s| *s > 0);
        let deadline = timeout.map(|s| Instant::now() + Duration::from_secs(s));
        let event =
            Happening::AgentStarted { session_id: record.session.clone(), message_id: record.id.clone() };
        self.tell(event);
        self.work = Some(Work::new(record, deadline));
        if self.process.as_ref().is_some_and(|process| process.session.is_some()) {
            return self.prompt(true, Resumed::Same).await;
        }
        self.show(AgentState::Starting);
        if let Err(error) = self.start().await {
            self.fail("spawn", error.message.clone(), error.hint).await;
        }
    }

    async fn start(&mut self) -> Result<(), Error> {
        let session = &self.talk.session;
        let principal = Principal::OfAgent(session.spec.id.clone());
        let told = match session.agent() {
            Some(agent) => own_shell::of(agent),
            None => return Err(Error::internal("the session's case names no agent")),
        };
        let target = Target::Session(session.spec.id.clone());
        let files = self.server.files.open(&self.server, &principal, target, Doing::Writing).await?.files;
        let dir = files.base().to_string_lossy().into_owned();
        self.count += 1;
        let news = News { to: self.news.clone(), process: self.count };
        let caller = principal.caller(0);
        let mut process = Process::start(&self.server.manager, session, (dir, told), news, &caller).await?;
        let first = process.dialogue.begin(env!("CARGO_PKG_VERSION"));
        process.write(first);
        self.process = Some(process);
        self.start_by = Some(Instant::now() + self.server.agents.settings.start);
        Ok(())
    }

    /// It has said who it is: it is given its conversation.
    async fn open(&mut self, name: trl_proto::agent::AgentName) {
        let session = &self.talk.session;
        let known = match &self.server.manager.engine.store {
            Some(store) => store.agent(&session.spec.id).await.ok().flatten(),
            None => None,
        };
        let known = known.map(|record| record.agent_session_id);
        let known = known.or_else(|| session.public().agent.agent_session_id.clone());
        let Some(process) = &mut self.process else { return };
        process.name = name;
        if process.name.name.is_empty() {
            let program = session.agent().and_then(|agent| agent.command.first());
            let file = program.and_then(|program| Path::new(program).file_name());
            process.name.name = file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
        }
        let server = self.server.agents.tools(&self.server, session);
        process.has_tools = server.is_some();
        let dir = self.server.files.base_of(&self.server, session).await;
        let opening = Opening { cwd: dir, server, meta: process.told.meta.clone(), known };
        let line = process.dialogue.open(opening);
        process.write(line);
    }

    async fn opened(&mut self, agent_session_id: String, resumed: bool) {
        self.start_by = None;
        let Some(process) = &mut self.process else { return };
        process.session = Some(agent_session_id.clone());
        let session_id = self.talk.session.spec.id.clone();
        if let Some(store) = &self.server.manager.engine.store {
            let record = AgentRecord { session_id, agent_session_id, agent: process.name.clone() };
            let _ = store.put_agent(record).await;
        }
        self.prompt(false, if resumed { Resumed::Loaded } else { Resumed::New }).await;
    }

    async fn prompt(&mut self, warm: bool, resumed: Resumed) {
        let (Some(process), Some(work)) = (&mut self.process, &self.work) else { return };
        let record = Arc::clone(&work.record);
        let started = Started {
            agent: process.name.clone(),
            agent_session_id: process.session.clone().unwrap_or_default(),
            warm,
            resumed,
            mcp: process.has_tools,
            own_shell: process.told.word,
        };
        let Some(line) = process.dialogue.prompt(&record.text) else {
            return self.fail("prompt", "the agent has not ended the message before".into(), None).await;
        };
        process.write(line);
        self.show(AgentState::Running);
        self.add(Update::Started(started)).await;
    }

    /// Asks the agent to stop; what it does not do in time is done to it.
    async fn stop(&mut self, why: Why) {
        let Some(work) = &mut self.work else { return };
        if work.stop.is_some() {
            return;
        }
        // Nobody waits for answers any more: whoever asked is told that the question was withdrawn.
        for request in &work.waits {
            self.server.manager.engine.desk.withdraw(request);
        }
        let grace = self.server.agents.settings.stop_grace;
        work.stop = Some(Stop { why, kill_at: Instant::now() + grace });
        let process = self.process.as_ref();
        if let Some(process) = process {
            process.commands.end_all(&self.server.manager);
            for (id, _) in work.unsaid.all() {
                process.write(process.dialogue.answer(&id, Reply::Withdrawn));
            }
        }
        match process.and_then(|process| process.dialogue.cancel().map(|line| (process, line))) {
            Some((process, line)) => {
                process.write(line);
                self.show(AgentState::Stopping);
            }
            // It has not begun.
            None => self.kill().await,
        }
    }

    async fn kill(&mut self) {
        self.let_go(Manner::Forced);
        self.stopped().await;
    }

    /// The end of a message that was stopped.
    async fn stopped(&mut self) {
        match self.work.as_ref().and_then(|work| work.stop.as_ref()).map(|stop| stop.why) {
            Some(Why::Late) => {
                let error = unavailable("timeout", "the agent took longer than its case allows".into());
                self.finish(StopReason::Error, Some(error)).await;
            }
            _ => self.finish(StopReason::Cancelled, None).await,
        }
    }

    async fn fail(&mut self, stage: &str, message: String, hint: Option<String>) {
        let mut error = unavailable(stage, message);
        error.hint = hint.or(error.hint);
        let words = self.process.as_ref().map(Process::last_words).unwrap_or_default();
        if !words.is_empty() {
            error = error.detail("stderr", words);
        }
        self.let_go(Manner::Forced);
        if self.server.stop.borrow().is_some() {
            return self.finish(StopReason::Interrupted, None).await;
        }
        match self.work.as_ref().is_some_and(|work| work.stop.is_some()) {
            true => self.stopped().await,
            false => self.finish(StopReason::Error, Some(error)).await,
        }
    }

    /// Written down, the session free, everybody told: in this order.
    async fn finish(&mut self, reason: StopReason, error: Option<Error>) {
        self.flush().await;
        let Some(work) = self.work.take() else { return };
        self.start_by = None;
        work.questions.iter().for_each(AbortHandle::abort);
        if let (Some(_), Some(process)) = (&work.stop, &self.process) {
            // What was begun while the agent was being stopped.
            process.commands.end_all(&self.server.manager);
        }
        for request in &work.waits {
            self.server.manager.engine.desk.withdraw(request);
        }
        let error = error.map(Refusal::from);
        work.record.end(reason, error.as_ref()).await;
        let (reply, ended) = oneshot::channel();
        if self.talk.session.send(Message::Turn(Turn::End { reply })).await.is_ok() {
            let _ = ended.await;
        }
        self.rest();
        let (session_id, message_id) = (work.record.session.clone(), work.record.id.clone());
        work.record.publish(reason, error);
        self.tell(Happening::AgentFinished { session_id, message_id, stop_reason: reason });
    }

    /// The process is kept for a while.
    fn rest(&mut self) {
        if self.process.is_none() {
            return self.show(AgentState::Absent);
        }
        let own = self.talk.session.agent().and_then(|agent| agent.linger_s).map(Duration::from_secs);
        let linger = own.unwrap_or(self.server.agents.settings.linger);
        if linger.is_zero() {
            return self.let_go(Manner::Graceful);
        }
        self.linger = Some(Instant::now() + linger);
        self.talk.set_warm(Some(Instant::now()));
        self.show(AgentState::Warm);
        self.talk.session.public().agent.warm_until = Some(Stamp::in_future(linger).rfc3339());
        self.server.agents.keep_few();
    }

    fn let_go(&mut self, manner: Manner) {
        self.linger = None;
        self.start_by = None;
        self.talk.set_warm(None);
        if let Some(process) = self.process.take() {
            process.end(manner);
        }
        if self.work.is_none() {
            self.show(AgentState::Absent);
        }
    }

    // ---- what happens

    async fn happened(&mut self, what: Happened) {
        match what {
            Happened::Line(line) => self.heard(&line).await,
            Happened::TooLong(most) => {
                self.fail("protocol", format!("the agent wrote a line of more than {most} bytes"), None)
                    .await;
            }
            Happened::NotStarted(error) => self.fail("spawn", error.message, error.hint).await,
            Happened::Exited => self.exited().await,
            Happened::Did(update) => self.did(update).await,
            Happened::Asked(request) => self.waits(|waits| waits.push(request)).await,
            Happened::Answered(request) => self.waits(|waits| waits.retain(|one| *one != request)).await,
            Happened::Reply(id, reply) => {
                let Some(process) = &self.process else { return };
                process.write(match reply {
                    Ok(reply) => process.dialogue.answer(&id, reply),
                    Err(error) => process.dialogue.refuse(&id, &error.message),
                });
            }
        }
        if self.process.as_ref().is_some_and(Process::is_deaf) {
            self.fail("protocol", "the agent does not read what it is told".into(), None).await;
        }
    }

    async fn exited(&mut self) {
        let Some(process) = &self.process else { return };
        if self.work.is_none() {
            return self.let_go(Manner::Forced);
        }
        let stage = process.dialogue.stage().name();
        let message = format!("the agent is gone: {}", process.ended());
        self.fail(stage, message, None).await;
    }

    async fn heard(&mut self, line: &[u8]) {
        let Some(process) = &mut self.process else { return };
        match process.dialogue.hear(line) {
            Err(Breach { stage, message }) if self.work.is_some() => {
                self.fail(stage.name(), message, None).await;
            }
            Err(_) => self.let_go(Manner::Forced),
            Ok(Heard::Initialized(name)) => self.open(name).await,
            Ok(Heard::Opened { session, resumed }) => self.opened(session, resumed).await,
            Ok(Heard::Write(line)) => process.write(line),
            Ok(Heard::Update(update)) => self.said(update).await,
            Ok(Heard::Call { id, call }) => self.asked(id, call),
            Ok(Heard::Ended(reason)) => match self.work.as_ref().is_some_and(|work| work.stop.is_some()) {
                true => self.stopped().await,
                false => self.finish(reason, None).await,
            },
            Ok(Heard::Failed(why)) => match self.work.as_ref().is_some_and(|work| work.stop.is_some()) {
                true => self.stopped().await,
                false => {
                    let error = unavailable("prompt", format!("the agent gave the message up: {why}"));
                    self.finish(StopReason::Error, Some(error)).await;
                }
            },
            Ok(Heard::Nothing) => {}
        }
    }

    fn asked(&mut self, id: CallId, call: Call) {
        let Some(process) = &self.process else { return };
        let Some(work) = &mut self.work else {
            return process.write(process.dialogue.refuse(&id, "there is no message to do that for"));
        };
        if work.stop.is_some() {
            return process.write(match call {
                Call::Permission { .. } => process.dialogue.answer(&id, Reply::Withdrawn),
                _ => process.dialogue.refuse(&id, "the message is being stopped"),
            });
        }
        let Some((id, call)) = work.unsaid.keep(id, call, Instant::now()) else { return };
        self.serve(id, call);
    }

    /// Questions that were kept back are asked, with all that is known by now.
    fn serve_kept(&mut self, kept: Vec<(CallId, Call)>) {
        for (id, call) in kept {
            let Some(process) = &self.process else { return };
            let call = process.dialogue.complete(call);
            self.serve(id, call);
        }
    }

    fn serve(&mut self, id: CallId, call: Call) {
        let (Some(process), Some(work)) = (&self.process, &mut self.work) else { return };
        work.questions.retain(|question| !question.is_finished());
        if work.questions.len() >= MOST_OPEN {
            return process.write(process.dialogue.refuse(&id, "too much is asked for at once"));
        }
        let hands = Hands {
            server: Arc::clone(&self.server),
            session: Arc::clone(&self.talk.session),
            commands: Arc::clone(&process.commands),
            message: work.record.id.clone(),
            news: News { to: self.news.clone(), process: self.count },
        };
        let question = tokio::spawn(async move {
            let reply = hands.serve(call).await;
            hands.news.tell(Happened::Reply(id, reply)).await;
        });
        work.questions.push(question.abort_handle());
    }

    async fn said(&mut self, update: Update) {
        let about = match &update {
            Update::ToolCall(call) => Some(call.tool_call_id.clone()),
            _ => None,
        };
        self.did(update).await;
        if let (Some(id), Some(work)) = (about, &mut self.work) {
            let kept = work.unsaid.about(&id);
            self.serve_kept(kept);
        }
    }

    async fn did(&mut self, update: Update) {
        let Some(work) = &mut self.work else { return };
        let ready = work.pieces.push(update);
        if work.pieces.is_empty() {
            work.tick = None;
        } else {
            work.tick.get_or_insert((Instant::now() + TICK, 0));
        }
        for update in ready {
            self.add(update).await;
        }
    }

    async fn add(&mut self, update: Update) {
        if let Some(ticket) = self.work.as_ref().and_then(|work| work.record.add(update))
            && let Err(error) = ticket.await
        {
            tracing::warn!(code = error.code(), %error, "an update could not be kept");
        }
    }

    async fn flush(&mut self) {
        let rest = self.work.as_mut().and_then(|work| work.pieces.rest());
        if let Some(update) = rest {
            self.add(update).await;
        }
    }

    async fn waits(&mut self, change: impl FnOnce(&mut Vec<RequestId>)) {
        let Some(work) = &mut self.work else { return };
        change(&mut work.waits);
        let (waits, stopping) = (work.waits.clone(), work.stop.is_some());
        let state = match (stopping, waits.is_empty()) {
            (true, _) => AgentState::Stopping,
            (false, true) => AgentState::Running,
            (false, false) => AgentState::Waiting,
        };
        self.show(state);
        let _ = self.talk.session.send(Message::Turn(Turn::Waits(waits))).await;
    }

    async fn moment(&mut self, now: Instant) {
        if self.start_by.is_some_and(|at| now >= at) {
            let stage = self.process.as_ref().map_or("spawn", |process| process.dialogue.stage().name());
            let limit = self.server.agents.settings.start.as_secs();
            return self.fail(stage, format!("the agent did not answer within {limit} s"), None).await;
        }
        if self.linger.is_some_and(|at| now >= at) {
            return self.let_go(Manner::Graceful);
        }
        let Some(work) = &mut self.work else { return };
        match &work.stop {
            Some(stop) if now >= stop.kill_at => return self.kill().await,
            None if work.deadline.is_some_and(|at| now >= at) => return self.stop(Why::Late).await,
            _ => {}
        }
        let kept = work.unsaid.due(now);
        self.serve_kept(kept);
        let Some(work) = &mut self.work else { return };
        if let Some((at, ticks)) = work.tick.filter(|(at, _)| now >= *at) {
            let ripe = if ticks >= MOST_TICKS { work.pieces.rest() } else { work.pieces.ripe() };
            work.tick = (!work.pieces.is_empty()).then_some((at.max(now) + TICK, ticks + 1));
            if let Some(update) = ripe {
                work.tick = work.tick.map(|(at, _)| (at, 0));
                self.add(update).await;
            }
        }
    }

    // ---- what is shown

    fn show(&self, state: AgentState) {
        let mut public = self.talk.session.public();
        let agent = &mut public.agent;
        agent.state = state;
        agent.warm_until = None;
        if let Some(work) = &self.work {
            agent.message_id = Some(work.record.id.clone());
        }
        if let Some(process) = &self.process {
            agent.name = Some(process.name.name.clone()).filter(|name| !name.is_empty());
            agent.version.clone_from(&process.name.version);
            if process.session.is_some() {
                agent.agent_session_id.clone_from(&process.session);
            }
        }
    }

    fn tell(&self, happening: Happening) {
        self.server.manager.engine.events.emit(&self.talk.session.spec.owner, happening);
    }
}

impl Work {
    fn new(record: Arc<Record>, deadline: Option<Instant>) -> Self {
        Self {
            record,
            pieces: Pieces::default(),
            tick: None,
            deadline,
            stop: None,
            waits: Vec::new(),
            questions: Vec::new(),
            unsaid: Unsaid::default(),
        }
    }
}

fn unavailable(stage: &str, message: String) -> Error {
    Error::new(ErrorCode::AgentUnavailable, message).detail("stage", stage)
}
