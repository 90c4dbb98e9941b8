//! The agent's process: started beside the session's shell, spoken to by lines, ended with all it started.
//!
//! 1. [`Process::start`] has it started and returns at once; what becomes of it is [heard](Happened).
//! 2. One task reads its stdout and then waits for its end, so that its last words come before that. It is read no faster than
//!    they are dealt with: a flood waits in the pipe.
//! 3. Another writes to its stdin. An agent that does not read holds nobody up, and is given up when too much waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use trl_acp::{Dialogue, Line, Lines};
use trl_core::Manager;
use trl_core::execution::Execution;
use trl_core::manager::{Aside, Caller, What};
use trl_core::session::handle::Session;
use trl_core::session::messages::{AfterInput, Manner, Message, Stdin};
use trl_core::session::spec::BesideRole;
use trl_proto::agent::AgentName;
use trl_proto::exec::Approval;
use trl_proto::start::StderrTo;
use trl_proto::{Error, SessionId};

use super::hands::Commands;
use super::news::{Happened, News};
use super::own_shell::Told;

/// A longer line is no message.
const LONGEST_LINE: usize = 16 << 20;
/// What waits for it to be read: a few of the longest replies there can be.
const MOST_UNREAD: usize = 128 << 20;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Of its stderr, when it did not end well.
const LAST_WORDS: usize = 2000;

pub(super) struct Process {
    manager: Arc<Manager>,
    host: SessionId,
    execution: Arc<Execution>,
    input: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes of that it has not taken.
    unread: Arc<AtomicUsize>,
    pub(super) dialogue: Dialogue,
    pub(super) name: AgentName,
    /// What it calls the conversation.
    pub(super) session: Option<String>,
    pub(super) told: Told,
    /// Whether it was given our tools.
    pub(super) has_tools: bool,
    /// The commands it runs.
    pub(super) commands: Arc<Commands>,
}

impl Process {
    pub(super) async fn start(
        manager: &Arc<Manager>,
        session: &Arc<Session>,
        (working_dir, told): (String, Told),
        news: News,
        caller: &Caller,
    ) -> Result<Self, Error> {
        let Some(agent) = session.agent() else {
            return Err(Error::internal("the session's case names no agent"));
        };
        let mut env = told.env.clone();
        env.extend(agent.env.clone().unwrap_or_default());
        let aside = Aside {
            role: BesideRole::Agent,
            what: What::Argv(agent.command.clone()),
            env,
            working_dir: Some(working_dir),
            stdin: Stdin::Open(Vec::new()),
            stderr: StderrTo::Stderr,
            max_output_bytes: None,
            approval: Approval::Wait,
        };
        let (execution, host) = manager.start_beside(session, aside, caller).await?;
        let (input, lines) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        tokio::spawn(read(Arc::clone(&execution), news));
        let place = (Arc::clone(manager), host.clone());
        tokio::spawn(write(place, Arc::clone(&execution), lines, Arc::clone(&unread)));
        Ok(Self {
            manager: Arc::clone(manager),
            host,
            execution,
            input,
            unread,
            dialogue: Dialogue::default(),
            name: AgentName::default(),
            session: None,
            told,
            has_tools: false,
            commands: Arc::default(),
        })
    }

    pub(super) fn write(&self, line: Vec<u8>) {
        self.unread.fetch_add(line.len(), Ordering::Relaxed);
        // The task that writes ends with the process.
        let _ = self.input.send(line);
    }

    /// Whether it asks for more and more and takes none of it.
    pub(super) fn is_deaf(&self) -> bool {
        self.unread.load(Ordering::Relaxed) > MOST_UNREAD
    }

    /// The end of what it wrote to stderr.
    pub(super) fn last_words(&self) -> String {
        let ends = self.execution.stderr.ends(LAST_WORDS);
        let bytes = if ends.tail.is_empty() { ends.head } else { ends.tail };
        let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LAST_WORDS)..]).into_owned();
        text.trim().to_string()
    }

    /// How it ended, for people.
    pub(super) fn ended(&self) -> String {
        match self.execution.finished() {
            None => "it ended".into(),
            Some(finished) => match &finished.outcome.signal {
                Some(signal) => format!("it was ended by {signal}"),
                None => format!("it ended with code {}", finished.outcome.exit_code),
            },
        }
    }

    /// Ends it with everything it started; resolves at once.
    pub(super) fn end(self, manner: Manner) {
        self.commands.end_all(&self.manager);
        let (manager, host) = (Arc::clone(&self.manager), self.host.clone());
        tokio::spawn(async move { manager.end_beside(&host, manner).await });
    }
}

async fn read(execution: Arc<Execution>, news: News) {
    // Nothing comes before it runs, and what never runs says why.
    if let Err(error) = execution.wait_started().await {
        return news.tell(Happened::NotStarted(error)).await;
    }
    let mut follower = execution.stdout.follow_strictly(0);
    let mut lines = Lines::new(LONGEST_LINE);
    loop {
        let peek = follower.peek(CHUNK);
        follower.advance(peek.slice.next());
        for line in lines.push(&peek.slice.bytes) {
            let told = match line {
                Line::Whole(line) => Happened::Line(line),
                Line::TooLong => Happened::TooLong(LONGEST_LINE),
            };
            news.tell(told).await;
        }
        if !peek.slice.bytes.is_empty() {
            tokio::task::consume_budget().await;
            continue;
        }
        if peek.done || execution.finished().is_some() {
            break;
        }
        tokio::select! {
            () = follower.wait() => {}
            // What it wrote before is in the log by now.
            _ = execution.wait() => {}
        }
    }
    let _ = execution.wait().await;
    news.tell(Happened::Exited).await;
}

async fn write(
    (manager, host): (Arc<Manager>, SessionId),
    execution: Arc<Execution>,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    unread: Arc<AtomicUsize>,
) {
    if execution.wait_started().await.is_err() {
        return;
    }
    let Ok(session) = manager.find(&host) else { return };
    while let Some(bytes) = lines.recv().await {
        let size = bytes.len();
        let (reply, written) = oneshot::channel();
        let then = AfterInput::KeepOpen;
        let input = Message::Input { execution: execution.id.clone(), bytes, then, reply };
        if session.send(input).await.is_err() || !matches!(written.await, Ok(Ok(()))) {
            return;
        }
        unread.fetch_sub(size, Ordering::Relaxed);
    }
}
