//! `trl chat`: a person, or a program, and the agent of a session.
//!
//! 1. The session is found, or made from a case.
//! 2. A message is sent, and what comes of it is shown as it comes: the answer on stdout, all else on stderr. ^C stops it.
//! 3. What has to be approved is asked about here when a person with the operator's token sits at the terminal.
//! 4. Without a message, lines of stdin are messages, one after the other.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use trl_client::Approvals;
use trl_proto::agent::{
    DonePush, MessageStream, SendParams, StopParams, StopReason, ToolCall, Update, UpdatePush,
};
use trl_proto::event::{Kind, SubscribeParams, Subscribed};
use trl_proto::exec::{OutputParams, OutputSlice};
use trl_proto::hitl::RequestState;
use trl_proto::session::{CreateParams, SessionInfo};
use trl_proto::system::{Info, NoParams};
use trl_proto::{ErrorCode, ExecutionId, MessageId, Method, RequestId, Role, SessionId};

use super::approve::{self, Reply};
use super::case::CaseArgs;
use super::exec::eprint_line;
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::Autostart;
use super::session;
use crate::client::{self, Auth, ClientError, Connection, Push, Pushes};
use crate::config::Config;

/// Of the output of a command that is shown.
const SHOWN_BYTES: u64 = 4096;

const REFUSED: u8 = 3;
const UNAVAILABLE: u8 = 69;
const INTERRUPTED: u8 = 130;

pub(super) const KEYS_AND_CODES: &str = "\
^C stops the message, a second one leaves.

Exits with 0 when the agent has ended its turn; 3 when it ended for another reason of its own (max_tokens, max_turn_requests,
refusal), 69 when there is no agent or it failed, 130 when the message was stopped, 1 when TRL itself failed.";

#[derive(Debug, clap::Args)]
pub(super) struct ChatArgs {
    /// The session (its id or name) whose agent is meant [default: a new one]
    #[arg(short, long, value_name = "SESSION", conflicts_with_all = ["case", "workspace", "cwd"])]
    session: Option<String>,
    #[command(flatten)]
    case: CaseArgs,
    /// Begin a new session in this directory [default: the case's, or this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    autostart: Autostart,
    #[command(flatten)]
    output: Output,
    /// What to say; without it, every line of stdin
    message: Option<String>,
}

/// One conversation.
struct Chat {
    client: Connection,
    pushes: Pushes,
    session: SessionId,
    format: Format,
    /// Whether what waits is asked about here.
    asks: bool,
    /// Something was written that has not ended its line.
    open_line: bool,
    /// Commands of the agent whose output is shown when they end.
    commands: Vec<ExecutionId>,
    /// Commands that have ended, whoever's they are, with their codes: the agent's may be told of after that.
    finished: Vec<(ExecutionId, serde_json::Value)>,
}

pub(super) async fn chat(config: &Config, args: ChatArgs) -> Result<u8, Failure> {
    let (client, pushes) = client::connect(config, args.autostart.start(), Auth::IfPerson).await?;
    let session = match &args.session {
        Some(name) => session::resolve(&client, name).await?,
        None => make(&client, &args).await?,
    };
    let kinds = Some(vec![Kind::HitlRequested, Kind::ExecFinished]);
    let subscribe = SubscribeParams { kinds, session_id: Some(session.clone()), since: None };
    let _subscribed: Subscribed = client.call(Method::SessionEvents, &subscribe).await?;
    let format = args.output.format();
    let at_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let info: Info = client.call(Method::SystemInfo, &NoParams {}).await?;
    let asks = at_terminal && format == Format::People && info.role == Role::Operator;
    let mut chat = Chat {
        client,
        pushes,
        session,
        format,
        asks,
        open_line: false,
        commands: Vec::new(),
        finished: Vec::new(),
    };
    match args.message {
        Some(message) => chat.say(message).await,
        None => chat.converse(at_terminal).await,
    }
}

async fn make(client: &Connection, args: &ChatArgs) -> Result<SessionId, Failure> {
    let create = CreateParams {
        working_dir: args.case.start_dir(client, args.cwd.as_deref()).await?,
        case_id: args.case.case.clone(),
        workspace_id: args.case.workspace.clone(),
        ..CreateParams::default()
    };
    let session: SessionInfo = client.call(Method::SessionCreate, &create).await?;
    let id = session.session_id;
    if args.output.format() == Format::People {
        eprint_line(&format!("trl: {id}; `trl chat -s {id}` goes on with it"));
    }
    Ok(id)
}

impl Chat {
    async fn converse(&mut self, at_terminal: bool) -> Result<u8, Failure> {
        let mut code = 0;
        loop {
            if at_terminal {
                eprint("> ");
            }
            let read = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                io::stdin().lock().read_line(&mut line).map(|n| (n > 0).then_some(line))
            });
            let line = tokio::select! {
                line = read => line.map_err(io::Error::other)??,
                _ = tokio::signal::ctrl_c() => return Ok(INTERRUPTED),
            };
            match line {
                None => return Ok(code),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => code = self.say(line.trim_end_matches('\n').into()).await?,
            }
        }
    }

    async fn say(&mut self, message: String) -> Result<u8, Failure> {
        let params = SendParams { session_id: self.session.clone(), message };
        let sent: Result<MessageStream, ClientError> =
            self.client.call(Method::AgentSendMessage, &params).await;
        let stream = match sent {
            Err(ClientError::Refused(error)) if error.code == ErrorCode::AgentUnavailable => {
                let _ = Failure::from(ClientError::Refused(error)).report(UNAVAILABLE);
                return Ok(UNAVAILABLE);
            }
            sent => sent?,
        };
        let mut stopping = false;
        loop {
            let push = tokio::select! {
                push = self.pushes.next() => push.ok_or(ClientError::Lost)?,
                _ = tokio::signal::ctrl_c() => {
                    if std::mem::replace(&mut stopping, true) {
                        return Ok(INTERRUPTED);
                    }
                    self.stop(stream.message_id.clone());
                    continue;
                }
            };
            if let Some(done) = self.take(&push, &stream).await? {
                self.end_line();
                return Ok(self.over(&done));
            }
        }
    }

    /// The end of the message says how that went.
    fn stop(&self, message: MessageId) {
        let (client, session_id) = (self.client.clone(), self.session.clone());
        tokio::spawn(async move {
            let params = StopParams { session_id, message_id: Some(message) };
            let _stopped: Result<serde_json::Value, _> = client.call(Method::AgentStop, &params).await;
        });
    }

    /// The end, when it is that.
    async fn take(&mut self, push: &Push, stream: &MessageStream) -> Result<Option<DonePush>, Failure> {
        let ours = |id: &Option<trl_proto::StreamId>| id.as_ref() == Some(&stream.stream_id);
        match push.method.as_str() {
            "agent.update" => {
                let update: UpdatePush = push.parse()?;
                if !ours(&update.stream_id) {
                    return Ok(None);
                }
                match self.format {
                    Format::Json => print::json_text(push.json())?,
                    Format::People => {
                        self.show(update.numbered.update)?;
                        self.show_finished().await?;
                    }
                }
            }
            "agent.done" => {
                let done: DonePush = push.parse()?;
                if ours(&done.stream_id) {
                    if self.format == Format::Json {
                        print::json_text(push.json())?;
                    }
                    return Ok(Some(done));
                }
            }
            "event" if self.format == Format::People => self.event(&push.parse()?).await?,
            _ => {}
        }
        Ok(None)
    }

    async fn event(&mut self, event: &serde_json::Value) -> Result<(), Failure> {
        let text = |name: &str| event.get(name).and_then(|value| value.as_str());
        match text("kind") {
            Some("hitl.requested") => {
                if let Some(request) = text("request_id").and_then(|id| id.parse().ok()) {
                    self.approve(request).await?;
                }
            }
            Some("exec.finished") => {
                let execution = text("execution_id").and_then(|id| id.parse::<ExecutionId>().ok());
                self.finished.extend(execution.map(|id| (id, event["exit_code"].clone())));
                self.show_finished().await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn show_finished(&mut self) -> Result<(), Failure> {
        for (id, code) in std::mem::take(&mut self.finished) {
            match self.commands.iter().position(|command| *command == id) {
                Some(at) => {
                    self.commands.remove(at);
                    self.output(id, &code).await?;
                }
                None => self.finished.push((id, code)),
            }
        }
        Ok(())
    }

    /// The end of what a command of the agent wrote.
    async fn output(&mut self, execution_id: ExecutionId, code: &serde_json::Value) -> Result<(), Failure> {
        let params = OutputParams { execution_id, stream: None, since: None, limit: Some(SHOWN_BYTES) };
        if let Ok(slice) = self.client.call::<OutputSlice>(Method::ExecOutput, &params).await {
            for line in slice.data.lines() {
                self.aside(&format!("  | {line}"));
            }
            if !slice.done {
                self.aside("  | ...");
            }
        }
        if *code != 0 {
            self.aside(&format!("  exit code {code}"));
        }
        Ok(())
    }

    async fn approve(&mut self, request_id: RequestId) -> Result<(), Failure> {
        if !self.asks {
            self.aside(&format!("trl: waiting for approval: trl approve {request_id}, or the web page"));
            return Ok(());
        }
        let requests = Approvals::new(self.client.clone());
        let request = requests.get(&request_id).await?;
        if request.state != RequestState::Pending {
            return Ok(());
        }
        self.end_line();
        match approve::review(&request).await? {
            Reply::Later | Reply::Leave => {
                self.aside(&format!("trl: waits on: trl approve {}", request.request_id));
            }
            Reply::Say(answer) => match requests.respond(&request, answer).await {
                Ok(settled) => self.aside(&format!("   {}", approve::outcome(&settled))),
                Err(ClientError::Refused(error)) => self.aside(&format!("   {error}")),
                Err(error) => return Err(error.into()),
            },
        }
        Ok(())
    }

    fn show(&mut self, update: Update) -> Result<(), Failure> {
        match update {
            Update::Text { text } => {
                print::passage(&text)?;
                self.open_line = !text.ends_with('\n');
            }
            Update::Thought { text } => self.aside(&format!("  ({})", text.trim())),
            Update::ToolCall(call) => self.tool(&call),
            Update::Plan { entries } => {
                for entry in entries {
                    let sign = match entry.status.as_str() {
                        "completed" => "x",
                        "in_progress" => ">",
                        _ => " ",
                    };
                    self.aside(&format!("  [{sign}] {}", entry.content));
                }
            }
            Update::Terminal { execution_id, command, .. } => {
                self.aside(&format!("  $ {command}"));
                self.commands.push(execution_id);
            }
            Update::File { op, path, ok } => {
                let word = serde_json::to_value(op).ok().and_then(|op| op.as_str().map(String::from));
                let refused = if ok { "" } else { ": refused" };
                self.aside(&format!("  {} {}{refused}", word.unwrap_or_default(), path));
            }
            Update::Omitted { updates } => self.aside(&format!("trl: {updates} more updates are not shown")),
            Update::Started(_)
            | Update::Permission { .. }
            | Update::PermissionResolved { .. }
            | Update::Mode { .. }
            | Update::Commands { .. }
            | Update::Usage { .. }
            | Update::Other { .. } => {}
        }
        Ok(())
    }

    fn tool(&mut self, call: &ToolCall) {
        let status = call.status.as_deref().unwrap_or_default();
        match &call.title {
            Some(title) => self.aside(&format!("  * {title}")),
            None if status == "failed" => self.aside("  * failed"),
            None => {}
        }
    }

    fn over(&self, done: &DonePush) -> u8 {
        let say = |text: &str| {
            if self.format == Format::People {
                eprint_line(text);
            }
        };
        match done.stop_reason {
            StopReason::EndTurn => 0,
            StopReason::Cancelled => {
                say("trl: stopped");
                INTERRUPTED
            }
            StopReason::Error => {
                let message = done.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
                say(&format!("trl: {message}"));
                let words = done.error.as_ref().and_then(|error| error.details.get("stderr")?.as_str());
                words.into_iter().flat_map(str::lines).for_each(|line| say(&format!("  | {line}")));
                UNAVAILABLE
            }
            StopReason::Interrupted => {
                say("trl: the daemon ended");
                1
            }
            other => {
                say(&format!("trl: {}", other.name()));
                REFUSED
            }
        }
    }

    /// A line beside the answer.
    fn aside(&mut self, line: &str) {
        self.end_line();
        eprint_line(line);
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.open_line) && self.format == Format::People {
            let _unseen = print::text("\n");
        }
    }
}

/// A closed stderr must not panic.
fn eprint(text: &str) {
    let _unseen = io::stderr().write_all(text.as_bytes());
}
