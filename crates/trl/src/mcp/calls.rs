//! Tools as calls of the wire. None takes longer than [`LONGEST_WAIT_MS`], however many steps it has.

use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::CallToolResponse;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trl_proto::exec::{
    Approval, CancelParams, ExecutionInfo, ExecutionList, InputParams, InputTaken, OutputParams, OutputSlice,
    SignalParams, Stream,
};
use trl_proto::session::{CreateParams, DestroyParams, ListParams, SessionInfo, SessionList, SessionState};
use trl_proto::start::{Progress, ProgressEnd, StartParams, Until, WaitParams, Waited};
use trl_proto::terminal::{Screen, ScreenParams};
use trl_proto::{Error, ErrorCode, ExecutionId, Method, SessionId};

use super::ask::{Answer, Person};
use super::hands::Hands;
use super::hints;
use super::show::{self, Room};
use super::tools::{
    self, CloseSession, ExecCommand, Kill, NewSession, Nothing, ReadOutput, ShowScreen, Wait, WriteStdin,
};

const USUAL_TYPING_MS: u64 = 1_000;
const USUAL_POLL_MS: u64 = 5_000;
const USUAL_WAIT_MS: u64 = 30_000;
/// Clients give a call up after a minute, whatever it has done until then.
const LONGEST_WAIT_MS: u64 = 50_000;
/// Of that, for the reply itself.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The tools, by the hands there are.
pub(super) struct Calls {
    hands: Box<dyn Hands>,
}

/// A tool that did not work, in the model's eyes; or parameters that are none, in the client's.
pub(super) enum Fault {
    Refused(Error),
    Params(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

pub(super) type Done = Result<CallToolResponse, Fault>;

impl Calls {
    pub(super) fn new(hands: impl Hands + 'static) -> Self {
        Self { hands: Box::new(hands) }
    }

    pub(super) fn hands(&self) -> &dyn Hands {
        &*self.hands
    }

    /// What takes longer than anybody waits goes on; only the waiting is over.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        person: &Person<'_>,
    ) -> Result<CallToolResponse, ErrorData> {
        let most = Duration::from_millis(LONGEST_WAIT_MS);
        match tokio::time::timeout(most, self.call_for_ever(tool, arguments, person)).await {
            Ok(done) => done,
            Err(_) => {
                let message = format!("{tool} is not done after {} s; it goes on", most.as_secs());
                let error =
                    Error::new(ErrorCode::ResourcePressure, message).hint("`list` shows what there is");
                Ok(show::refusal(&error).into())
            }
        }
    }

    async fn call_for_ever(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        person: &Person<'_>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = tools::stated(tool, arguments);
        let done = match tool {
            "exec_command" => self.exec_command(read(arguments), person).await,
            "write_stdin" => self.write_stdin(read(arguments)).await,
            "wait" => self.wait(read(arguments)).await,
            "read_output" => self.read_output(read(arguments)).await,
            "list" => self.list(read(arguments)).await,
            "kill" => self.kill(read(arguments)).await,
            "screen" => self.screen(read(arguments)).await,
            "new_session" => self.new_session(read(arguments)).await,
            "close_session" => self.close_session(read(arguments)).await,
            "checkpoint" => self.checkpoint(read(arguments)).await,
            other => return Err(ErrorData::invalid_params(format!("there is no tool `{other}`"), None)),
        };
        match done {
            Ok(response) => Ok(response),
            Err(Fault::Refused(error)) => Ok(show::refusal(&error).into()),
            // A model can mend what it wrote, when it is told.
            Err(Fault::Params(message)) => {
                Ok(show::refusal(&Error::invalid(format!("{tool}: {message}"))).into())
            }
        }
    }

    /// In a session that is closed, too: no tool opens one, and its state was kept for this.
    async fn start(&self, start: &StartParams) -> Result<Progress, Error> {
        match (self.ask(Method::ExecStart, start).await, &start.session_id) {
            (Err(error), Some(session_id)) if error.code == ErrorCode::SessionClosed => {
                let _opened: SessionInfo =
                    self.ask(Method::SessionGet, &json!({"session_id": session_id})).await?;
                self.ask(Method::ExecStart, start).await
            }
            (done, _) => done,
        }
    }

    async fn exec_command(&self, params: Result<ExecCommand, Fault>, person: &Person<'_>) -> Done {
        let by = Instant::now() + Duration::from_millis(LONGEST_WAIT_MS) - LAST_WORDS;
        if let Some(execution) = person.asked_about() {
            return self.answered(execution, person, by).await;
        }
        let params = params?;
        let session_id = match &params.session {
            Some(session) => Some(self.session(session).await?),
            None => None,
        };
        let usual = || self.hands.working_dir().map(|dir| dir.display().to_string());
        let fresh = session_id.is_none();
        let start = StartParams {
            command: Some(params.cmd),
            shell: self.hands.shell().filter(|_| fresh).map(Into::into),
            working_dir: params.workdir.or_else(|| usual().filter(|_| fresh)),
            tty: params.tty.then_some(true),
            yield_ms: params.yield_time_ms,
            approval: Some(Approval::Return),
            session_id,
            ..StartParams::default()
        };
        let room = Room::of(params.max_output_tokens);
        let progress = self.start(&start).await?;
        let asked = match (&progress.request_id, &progress.end) {
            (Some(request), ProgressEnd::NotYet { execution_id, .. }) => {
                Some((request.clone(), execution_id.clone()))
            }
            _ => None,
        };
        let Some((request, execution_id)) = asked else { return self.show(progress, room).await };
        match person.ask(self.hands(), &request, &execution_id, left(by)).await {
            Answer::Yes => self.waited(execution_id, Until::default(), usual_wait(by), room).await,
            Answer::No => Err(refused_by_user()),
            Answer::Later(response) => Ok(response),
            Answer::Nobody => self.show(progress, room).await,
        }
    }

    /// The client comes back with what its user said.
    async fn answered(&self, execution: ExecutionId, person: &Person<'_>, by: Instant) -> Done {
        match person.settle(self.hands()).await {
            Answer::No => Err(refused_by_user()),
            _ => self.waited(execution, Until::default(), usual_wait(by), Room::of(None)).await,
        }
    }

    async fn write_stdin(&self, params: Result<WriteStdin, Fault>) -> Done {
        let params = params?;
        let usual = if params.chars.is_empty() { USUAL_POLL_MS } else { USUAL_TYPING_MS };
        let input = InputParams {
            data: (!params.chars.is_empty()).then_some(params.chars),
            close: params.close.then_some(true),
            yield_ms: Some(params.yield_time_ms.unwrap_or(usual)),
            ..InputParams::to(execution(&params.execution_id)?)
        };
        let taken: InputTaken = self.ask(Method::ExecInput, &input).await?;
        match taken.progress {
            Some(progress) => self.show(progress, Room::of(params.max_output_tokens)).await,
            None => Ok(show::result("typed".into(), json!(taken)).into()),
        }
    }

    async fn wait(&self, params: Result<Wait, Fault>) -> Done {
        let params = params?;
        let until =
            Until { pattern: params.until.pattern, idle_ms: params.until.idle_ms, ..Until::default() };
        let room = Room::of(params.max_output_tokens);
        let limit = params.timeout_ms.unwrap_or(USUAL_WAIT_MS);
        self.waited(execution(&params.execution_id)?, until, limit, room).await
    }

    async fn waited(&self, execution_id: ExecutionId, until: Until, limit_ms: u64, room: Room) -> Done {
        let params = WaitParams {
            execution_id,
            until: (until != Until::default()).then_some(until),
            timeout_s: Some(limit_ms.min(LONGEST_WAIT_MS - LAST_WORDS.as_millis() as u64) as f64 / 1000.0),
            max_output_bytes: None,
        };
        let waited: Waited = self.ask(Method::ExecWait, &params).await?;
        self.show(waited.progress, room).await
    }

    async fn show(&self, progress: Progress, room: Room) -> Done {
        let screen = match (&progress.terminal_id, &progress.end) {
            (Some(terminal_id), ProgressEnd::NotYet { .. }) => {
                let params = ScreenParams { terminal_id: terminal_id.clone(), format: None };
                self.ask::<Screen>(Method::TerminalScreen, &params).await.ok().and_then(|screen| screen.text)
            }
            _ => None,
        };
        Ok(show::progress(&progress, screen, room).into())
    }

    async fn read_output(&self, params: Result<ReadOutput, Fault>) -> Done {
        let params = params?;
        let stream = match params.stream.as_deref() {
            None => None,
            Some("stdout") => Some(Stream::Stdout),
            Some("stderr") => Some(Stream::Stderr),
            Some(other) => return Err(Fault::Params(format!("`stream` is stdout or stderr, not {other:?}"))),
        };
        let room = Room::of(params.max_output_tokens);
        let ask = OutputParams {
            execution_id: execution(&params.execution_id)?,
            stream,
            since: params.since,
            limit: Some(room.bytes()),
        };
        let slice: OutputSlice = self.ask(Method::ExecOutput, &ask).await?;
        Ok(show::slice(slice).into())
    }

    async fn list(&self, params: Result<Nothing, Fault>) -> Done {
        let Nothing {} = params?;
        let sessions: SessionList = self.ask(Method::SessionList, &ListParams::default()).await?;
        let mut executions: ExecutionList = self.ask(Method::ExecList, &json!({})).await?;
        let named = |s: &SessionInfo| s.name.as_deref().map(|n| format!(" ({n})")).unwrap_or_default();
        let mut lines: Vec<String> = Vec::new();
        let live = |s: &&SessionInfo| s.state != SessionState::Terminated;
        for session in sessions.sessions.iter().filter(live) {
            let state = json!(session.state);
            lines.push(format!(
                "session {}{}: {}, in {}",
                session.session_id,
                named(session),
                state.as_str().unwrap_or_default(),
                session.working_dir
            ));
        }
        lines.extend(executions.executions.iter().map(one_line));
        if lines.is_empty() {
            lines.push("no sessions, and nothing has been run".into());
        }
        let sessions: Vec<&SessionInfo> = sessions.sessions.iter().filter(live).collect();
        executions
            .executions
            .iter_mut()
            .for_each(|execution| execution.command = beginning(&execution.command));
        let fields = json!({"sessions": sessions, "executions": executions.executions});
        Ok(show::result(lines.join("\n"), fields).into())
    }

    async fn kill(&self, params: Result<Kill, Fault>) -> Done {
        let params = params?;
        let execution_id = execution(&params.execution_id)?;
        let reply: Value = match params.signal {
            Some(signal) => self.ask(Method::ExecSignal, &SignalParams { execution_id, signal }).await?,
            None => {
                self.ask(
                    Method::ExecCancel,
                    &CancelParams { execution_id: Some(execution_id), ..CancelParams::default() },
                )
                .await?
            }
        };
        Ok(show::result("done".into(), reply).into())
    }

    async fn screen(&self, params: Result<ShowScreen, Fault>) -> Done {
        let wanted = execution(&params?.execution_id)?;
        let executions: ExecutionList = self.ask(Method::ExecList, &json!({})).await?;
        let found = executions.executions.into_iter().find(|e| e.execution_id == wanted);
        let Some(terminal_id) = found.and_then(|e| e.terminal_id) else {
            return Err(Error::new(
                ErrorCode::TerminalNotFound,
                "it has no screen: it was not started with tty",
            )
            .into());
        };
        let screen: Screen =
            self.ask(Method::TerminalScreen, &ScreenParams { terminal_id, format: None }).await?;
        let text = screen.text.clone().unwrap_or_default();
        let cursor = format!("cursor at column {}, row {}", screen.cursor.col, screen.cursor.row);
        Ok(show::result(format!("{}x{}, {cursor}\n{text}", screen.cols, screen.rows), json!(screen)).into())
    }

    async fn new_session(&self, params: Result<NewSession, Fault>) -> Done {
        let params = params?;
        let sandbox = match params.sandbox {
            Some(mode) => {
                Some(serde_json::from_value(json!(mode)).map_err(|e| Fault::Params(e.to_string()))?)
            }
            None => None,
        };
        let usual = || self.hands.working_dir().map(|dir| dir.display().to_string());
        // A case says where and with which shell.
        let free = params.case.is_none();
        let create = CreateParams {
            name: params.name,
            working_dir: params.workdir.or_else(|| usual().filter(|_| free)),
            shell: params.shell.or_else(|| self.hands.shell().filter(|_| free).map(Into::into)),
            case_id: params.case,
            sandbox,
            approval: Some(Approval::Return),
            ..CreateParams::default()
        };
        let session: Value = self.ask(Method::SessionCreate, &create).await?;
        let text = |name: &str| session[name].as_str().unwrap_or_default();
        let words = match session["request_id"].as_str() {
            None => format!("session {}, {} in {}", text("session_id"), text("shell"), text("working_dir")),
            Some(request) => format!(
                "approval_pending: a person has to approve it ({request}); `list` shows session {} once it is there",
                text("session_id")
            ),
        };
        Ok(show::result(words, session).into())
    }

    async fn close_session(&self, params: Result<CloseSession, Fault>) -> Done {
        let session_id = self.session(&params?.session).await?;
        let reply: Value =
            self.ask(Method::SessionDestroy, &DestroyParams { session_id, force: Some(true) }).await?;
        Ok(show::result("done".into(), reply).into())
    }

    /// An id, or the name of one that lives.
    pub(super) async fn session(&self, text: &str) -> Result<SessionId, Fault> {
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let params = ListParams { name: Some(text.into()), ..ListParams::default() };
        let list: SessionList = self.ask(Method::SessionList, &params).await?;
        // Of those that have the name: one that lives, or else one that can be opened again.
        let known = list.sessions.iter().filter(|s| s.state != SessionState::Terminated);
        let best =
            known.min_by_key(|s| matches!(s.state, SessionState::Closed | SessionState::Uninitialized));
        best.map(|s| s.session_id.clone()).ok_or_else(|| {
            let code = ErrorCode::SessionNotFound;
            let mut error = Error::new(code, format!("no session has the id or name `{text}`"));
            error.hint = hints::in_tools(code).map(String::from);
            Fault::Refused(error)
        })
    }

    pub(super) async fn ask<R: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<R, Error> {
        self.hands.ask(method, params).await
    }
}

fn left(by: Instant) -> Duration {
    by.saturating_duration_since(Instant::now())
}

/// As long as usual, or what is left.
fn usual_wait(by: Instant) -> u64 {
    u64::try_from(left(by).as_millis()).unwrap_or(u64::MAX).min(USUAL_WAIT_MS)
}

fn refused_by_user() -> Fault {
    Error::new(ErrorCode::ApprovalDenied, "the user said no").into()
}

/// Parameters as a model gave them.
fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Fault> {
    trl_proto::read(&Value::Object(arguments).to_string()).map_err(Fault::Params)
}

fn execution(text: &str) -> Result<ExecutionId, Fault> {
    text.parse().map_err(|_| Fault::Params(format!("{text:?} is no execution_id")))
}

/// Enough of a command to know it again; one may be megabytes.
fn beginning(command: &str) -> String {
    const LONGEST: usize = 80;
    let mut text: String = command.chars().take(LONGEST).collect();
    if text.len() < command.len() {
        text.push('…');
    }
    text
}

fn one_line(execution: &ExecutionInfo) -> String {
    let status = json!(execution.status);
    let code = execution.exit_code.map(|code| format!(" with {code}")).unwrap_or_default();
    let command = beginning(&execution.command).replace('\n', " ");
    format!("{} {}{code}: {command}", execution.execution_id, status.as_str().unwrap_or_default())
}
