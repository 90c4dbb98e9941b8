//! The dispatch table: one arm per method, parameters in, a line out.

use std::sync::Arc;

use serde::Serialize;
use trl_core::execution::Execution;
use trl_core::manager::{Caller, Created};
use trl_core::session::messages::{Ending, Manner};
use trl_proto::envelope::{self, Request};
use trl_proto::event::{SubscribeParams, Subscribed};
use trl_proto::exec::{
    Approval, CancelParams, Cancelled, ExecListParams, ExecutionList, ExecutionParams, ExecutionStatus,
    OnDisconnect, Outcome, OutputParams, OutputSlice, Range, ResultBody, ResultReply, RunParams, RunReply,
    SignalParams, Signalled, Stream, StreamStarted, Waiting,
};
use trl_proto::far::FarMethod;
use trl_proto::nearest::nearest;
use trl_proto::sandbox::{Denied, OnDenied};
use trl_proto::session::{
    CreateParams, CreateReply, CreateWaiting, DestroyParams, Destroyed, GetParams, ListParams, SessionInfo,
    SessionList, SessionParams, SessionState,
};
use trl_proto::system::{Info, NoParams, Ping, ShutdownParams, ShuttingDown, Stats};
use trl_proto::text::incomplete_tail;
use trl_proto::token::{TokenCreated, TokenList, TokenParams, TokenRevoked};
use trl_proto::{Dialect, Error, ErrorCode, Method, PROTOCOL, StreamId, Text};

use super::connection::{Client, Hears};
use super::files::Doing;
use super::files::held::Barrier;
use super::follow::{Events, Follow, Next, Output, Pushes};
use super::principal::Principal;

/// A reply, and what is pushed after it.
pub(crate) struct Answer {
    pub(crate) line: Vec<u8>,
    pub(crate) follow: Option<Follow>,
}

/// One request being served.
pub(super) struct Call<'a> {
    pub(super) client: &'a Arc<Client>,
    pub(super) request: &'a Request,
    pub(super) principal: Principal,
    /// What its gateway holds back of a change to files.
    pub(super) barrier: Option<Arc<Barrier>>,
}

pub(crate) async fn dispatch(client: &Arc<Client>, request: &Request) -> Answer {
    let call = Call { client, request, principal: client.principal(), barrier: None };
    if call.principal == Principal::Gateway
        && let Some(method) = FarMethod::parse(&request.method)
    {
        return call.for_gateway(method).await;
    }
    let method = match find(&request.method).and_then(|m| call.permit(m).map(|()| m)) {
        Ok(method) => method,
        Err(error) => return call.done::<()>(Err(error)),
    };
    if let Some(answer) = call.files_elsewhere(method).await {
        return answer;
    }
    match method {
        Method::SystemPing => call.done(call.ping()),
        Method::SystemInfo => call.done(call.info()),
        Method::SystemStats => call.done(call.stats()),
        Method::SystemDoctor => call.done(call.doctor().await),
        Method::SystemLog => call.done(call.log()),
        Method::SystemAuth => call.done::<()>(Err(auth_misplaced())),
        Method::SystemShutdown => call.done(call.shutdown()),
        Method::SessionCreate => call.done(call.create().await),
        Method::SessionList => call.done(call.list().await),
        Method::SessionInfo => call.done(call.session_info().await),
        Method::SessionGet => call.done(call.get().await),
        Method::SessionClose => call.done(call.close().await),
        Method::SessionDestroy => call.done(call.destroy().await),
        Method::SessionDelete => call.done(call.delete().await),
        Method::SessionHistory => call.done(call.history().await),
        Method::SessionReset => call.done(call.reset().await),
        Method::CheckpointCreate => call.done(call.create_checkpoint().await),
        Method::CheckpointList => call.done(call.list_checkpoints().await),
        Method::CheckpointRestore => call.done(call.restore_checkpoint().await),
        Method::CheckpointDelete => call.done(call.delete_checkpoint().await),
        Method::ExecRun => call.done(call.run().await),
        Method::ExecStream => call.stream().await,
        Method::ExecStart => call.start().await,
        Method::ExecWait => call.done(call.wait().await),
        Method::ExecResize => call.done(call.resize().await),
        Method::ExecCancel => call.done(call.cancel().await),
        Method::ExecInput => call.done(call.input().await),
        Method::ExecSignal => call.done(call.signal().await),
        Method::ExecOutput => call.done(call.output()),
        Method::ExecResult => call.done(call.result().await),
        Method::ExecList => call.done(call.executions()),
        Method::TokenCreate => call.done(call.create_token()),
        Method::TokenList => call.done(call.list_tokens()),
        Method::TokenRevoke => call.done(call.revoke_token()),
        Method::CaseList => call.done(call.list_cases()),
        Method::CaseGet => call.done(call.get_case()),
        Method::CaseValidate => call.done(call.validate_case()),
        Method::CaseTrust => call.done(call.trust_case()),
        Method::RuntimeList => call.done(call.list_runtimes()),
        Method::RuntimeGet => call.done(call.get_runtime()),
        Method::RuntimeHealth => call.done(call.runtime_health().await),
        Method::RuntimeAdd => call.done(call.add_runtime()),
        Method::RuntimeRemove => call.done(call.remove_runtime().await),
        Method::EventsSubscribe => call.subscribe(),
        Method::SessionEvents => call.subscribe_to_session().await,
        Method::HitlList => call.done(call.list_requests().await),
        Method::HitlGet => call.done(call.get_request().await),
        Method::HitlRespond => call.done(call.respond().await),
        Method::HitlWait => call.done(call.wait_for_answer().await),
        Method::HitlAudit => call.done(call.audit().await),
        Method::AgentSendMessage => call.send_message().await,
        Method::AgentStop => call.done(call.stop_agent().await),
        Method::AgentHistory => call.done(call.agent_history().await),
        Method::AgentFollow => call.follow_message().await,
        Method::TerminalCreate => call.done(call.create_terminal().await),
        Method::TerminalList => call.done(call.list_terminals()),
        Method::TerminalGet => call.done(call.get_terminal()),
        Method::TerminalInput => call.done(call.type_into_terminal().await),
        Method::TerminalResize => call.done(call.resize_terminal().await),
        Method::TerminalSnapshot => call.done(call.terminal_snapshot().await),
        Method::TerminalScreen => call.done(call.terminal_screen().await),
        Method::TerminalSignal => call.done(call.signal_terminal().await),
        Method::TerminalDestroy => call.done(call.destroy_terminal().await),
        Method::TerminalKeep => call.done(call.keep_terminal().await),
        Method::WorkspaceCreate => call.done(call.create_workspace().await),
        Method::WorkspaceList => call.done(call.list_workspaces()),
        Method::WorkspaceGet => call.done(call.get_workspace().await),
        Method::FsList => call.done(call.fs_list().await),
        Method::FsStat => call.done(call.fs_stat().await),
        Method::FsRead => call.done(call.fs_read().await),
        Method::FsWrite => call.done(call.fs_write().await),
        Method::FsMkdir => call.done(call.fs_mkdir().await),
        Method::FsMove => call.done(call.fs_move().await),
        Method::FsRemove => call.done(call.fs_remove().await),
        Method::FsGlob => call.done(call.fs_glob().await),
        Method::FsGrep => call.done(call.fs_grep().await),
        Method::FsWatch => call.watch().await,
    }
}

fn auth_misplaced() -> Error {
    Error::new(ErrorCode::AuthFailed, "system.auth is the first request of a connection, alone")
        .hint("over HTTP the Authorization header says who you are")
}

/// For whoever asked that a denial be an error.
fn refused(outcome: &Outcome, denied: &Denied) -> Error {
    Error::new(ErrorCode::SandboxDenied, denied.message.clone())
        .hint("its output and result are there: exec.result")
        .detail("execution_id", outcome.execution_id.as_str())
        .detail("exit_code", outcome.exit_code)
        .detail("denied", serde_json::json!(denied))
}

fn find(name: &str) -> Result<Method, Error> {
    Method::parse(name).ok_or_else(|| {
        let error = Error::new(ErrorCode::UnknownMethod, format!("there is no method {name:?}"));
        match nearest(name, Method::ALL.iter().map(|m| m.name())) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint("system.info lists them"),
        }
    })
}

impl Call<'_> {
    /// Everything that is decided before a method looks at its parameters.
    fn permit(&self, method: Method) -> Result<(), Error> {
        if !self.client.server.authority.is_valid(&self.principal) {
            return Err(Error::new(ErrorCode::AuthFailed, "the token is not valid any more"));
        }
        self.principal.may_call(method)?;
        self.principal.may_ask(method, self.request, self.manager())
    }

    pub(super) fn line<T: Serialize>(&self, outcome: Result<T, Error>) -> Vec<u8> {
        envelope::reply(self.request.dialect, self.request.id.as_deref(), outcome.as_ref())
    }

    pub(super) fn done<T: Serialize>(&self, outcome: Result<T, Error>) -> Answer {
        Answer { line: self.line(outcome), follow: None }
    }

    pub(super) fn manager(&self) -> &Arc<trl_core::Manager> {
        &self.client.server.manager
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.request.dialect
    }

    pub(super) fn caller(&self) -> Caller {
        self.principal.caller(self.client.server.agent_max_sessions)
    }

    // ---- system

    fn ping(&self) -> Result<Ping, Error> {
        let NoParams {} = self.request.params()?;
        let uptime_s = self.manager().engine.started.monotonic.elapsed().as_secs();
        Ok(Ping { uptime_s, version: env!("CARGO_PKG_VERSION").into(), protocol: PROTOCOL })
    }

    fn info(&self) -> Result<Info, Error> {
        let NoParams {} = self.request.params()?;
        let engine = &self.manager().engine;
        Ok(Info {
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL,
            pid: std::process::id(),
            socket: self.client.server.socket.as_deref().map(|p| p.display().to_string()),
            runtime_dir: engine.place.dir().display().to_string(),
            runtime_dir_in_memory: engine.place.medium == trl_core::shell::files::Medium::Memory,
            max_sessions: self.manager().max_sessions() as u64,
            role: self.principal.role(),
            pinned_to: self.principal.pinned_to().map(String::from),
            methods: Method::ALL.iter().map(|m| m.name().to_string()).collect(),
        })
    }

    fn stats(&self) -> Result<Stats, Error> {
        let NoParams {} = self.request.params()?;
        Ok(self.client.server.stats(&self.principal))
    }

    fn shutdown(&self) -> Result<ShuttingDown, Error> {
        let params: ShutdownParams = self.request.params()?;
        let manner = if params.force == Some(true) { Manner::Forced } else { Manner::Graceful };
        let sessions = self.manager().active() as u64;
        self.client.server.stop(manner);
        Ok(ShuttingDown { sessions })
    }

    // ---- session

    async fn create(&self) -> Result<CreateReply, Error> {
        let params: CreateParams = self.request.params()?;
        if let Some(id) = &params.workspace_id {
            self.dir_in_workspace(id, Doing::Writing).await?;
        }
        match self.manager().create(params, &self.caller()).await? {
            Created::Up(session) => {
                self.manager().close_others(&session);
                Ok(CreateReply::Done(Box::new(session.info(self.dialect()))))
            }
            Created::Later { session, request } => Ok(CreateReply::Waiting(CreateWaiting {
                session_id: session,
                request_id: request,
                state: SessionState::WaitingHitl,
            })),
        }
    }

    async fn list(&self) -> Result<SessionList, Error> {
        let params: ListParams = self.request.params()?;
        self.manager().recalled().await;
        let all = self.manager().list(&params).into_iter();
        let seen = all.filter(|s| self.principal.may_see(self.manager(), &s.spec.id));
        Ok(SessionList { sessions: seen.map(|s| s.info(self.dialect())).collect() })
    }

    async fn session_info(&self) -> Result<SessionInfo, Error> {
        let params: SessionParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        Ok(self.principal.session(self.manager(), &params.session_id)?.info(self.dialect()))
    }

    async fn get(&self) -> Result<SessionInfo, Error> {
        let params: GetParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        self.principal.check(self.manager(), &params.session_id)?;
        let session =
            self.manager().open(&params.session_id, params.secret_env, &self.caller(), None).await?;
        self.manager().close_others(&session);
        Ok(session.info(self.dialect()))
    }

    /// On the disk before it is answered: it is meant for another day.
    async fn close(&self) -> Result<SessionInfo, Error> {
        let params: SessionParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        let records = &self.manager().engine.records;
        // Writes of others may fail meanwhile, and say nothing of this one.
        let failed = || records.tally().failed_of(&session.spec.id);
        let before = failed();
        self.manager().end(&session, Ending::Closed, Manner::Graceful, "closed on request").await?;
        records.caught_up().await;
        let unsaved = session.public().kept.is_some() || failed() > before;
        match unsaved && session.is_recorded() {
            true => Err(Error::new(ErrorCode::StorageFull, "it is closed, and not all of it is on the disk")
                .hint("make room before the daemon ends: then session.get, and session.close once more")),
            false => Ok(session.info(self.dialect())),
        }
    }

    async fn destroy(&self) -> Result<Destroyed, Error> {
        let params: DestroyParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        let manner = if params.force == Some(true) { Manner::Forced } else { Manner::Graceful };
        self.manager().end(&session, Ending::Terminated, manner, "destroyed on request").await?;
        Ok(Destroyed { session_id: params.session_id, state: SessionState::Terminated })
    }

    async fn reset(&self) -> Result<SessionInfo, Error> {
        let params: SessionParams = self.request.params()?;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        self.manager().reset(&session).await?;
        Ok(session.info(self.dialect()))
    }

    // ---- exec

    /// Hands the command over; with `on_disconnect: cancel` somebody watches the connection for it.
    async fn submit(&self) -> Result<(Arc<Execution>, Approval), Error> {
        let params: RunParams = self.request.params()?;
        match &params.session_id {
            Some(id) => self.check_session(id).await?,
            None => self.principal.may_call(Method::SessionCreate)?,
        }
        let on_disconnect = params.on_disconnect.unwrap_or_default();
        let approval = params.approval.unwrap_or_default();
        let execution = self.manager().submit(params, &self.caller()).await?;
        self.watch_connection(&execution, on_disconnect);
        Ok((execution, approval))
    }

    /// Somebody watches the connection for an execution that is to end with it.
    pub(super) fn watch_connection(&self, execution: &Arc<Execution>, on_disconnect: OnDisconnect) {
        if on_disconnect == OnDisconnect::Cancel {
            tokio::spawn(cancel_when_gone(Arc::clone(self.client), Arc::clone(execution)));
        }
    }

    async fn run(&self) -> Result<RunReply, Error> {
        let RunParams { on_denied, .. } = self.request.params()?;
        let (execution, approval) = self.submit().await?;
        if approval == Approval::Return
            && let Some(request_id) = execution.wait_or_ask().await?
        {
            let (execution_id, state) = (execution.id.clone(), SessionState::WaitingHitl);
            return Ok(RunReply::Waiting(Waiting { execution_id, request_id, state }));
        }
        let finished = execution.wait().await?;
        match &finished.outcome.denied {
            Some(denied) if on_denied == Some(OnDenied::Fail) => Err(refused(&finished.outcome, denied)),
            _ => Ok(RunReply::Done(finished.result(&execution, self.dialect()))),
        }
    }

    async fn stream(&self) -> Answer {
        match self.submit().await {
            Err(error) => self.done::<()>(Err(error)),
            Ok((execution, _)) => {
                let stream_id = StreamId::random();
                let form = Pushes { id: stream_id.clone(), dialect: self.dialect() };
                let execution_id = execution.id.clone();
                let request_id = execution.request();
                let (follow, events) = match self.client.hears {
                    Hears::Pushes => {
                        (Some(Follow::Output(Output::new(form, execution, Next::default()))), None)
                    }
                    Hears::Replies => (None, Some(format!("/api/executions/{execution_id}/events"))),
                };
                let started = StreamStarted { stream_id, execution_id, request_id, events };
                Answer { line: self.line(Ok(started)), follow }
            }
        }
    }

    async fn cancel(&self) -> Result<Cancelled, Error> {
        let params: CancelParams = self.request.params()?;
        if let Some(id) = &params.session_id {
            self.check_session(id).await?;
        }
        if let Some(id) = &params.execution_id {
            self.principal.execution(self.manager(), id)?;
        }
        let (execution_id, cancelled) = self.manager().cancel(params).await?;
        Ok(Cancelled { execution_id, cancelled })
    }

    async fn signal(&self) -> Result<Signalled, Error> {
        let params: SignalParams = self.request.params()?;
        let execution_id = self.principal.execution(self.manager(), &params.execution_id)?.id.clone();
        let processes = self.manager().signal(params.execution_id, &params.signal).await?;
        Ok(Signalled { execution_id, processes })
    }

    fn output(&self) -> Result<OutputSlice, Error> {
        /// A reply larger than this helps nobody; the rest is one request away.
        const MOST: u64 = 4 << 20;
        let params: OutputParams = self.request.params()?;
        let execution = self.principal.execution(self.manager(), &params.execution_id)?;
        let stream = params.stream.unwrap_or(execution.main_stream());
        if stream == Stream::Tty && execution.main_stream() != Stream::Tty {
            return Err(Error::invalid("it has no terminal: its streams are stdout and stderr"));
        }
        let log = execution.log(stream);
        let limit = usize::try_from(params.limit.unwrap_or(MOST).clamp(1, MOST)).unwrap_or(usize::MAX);
        let reading = log.read(params.since.unwrap_or(0), limit);
        let mut bytes = &reading.slice.bytes[..];
        // A character cut by the limit comes whole with the next slice; one cut by the end comes as it is.
        let tail = incomplete_tail(bytes);
        if tail < bytes.len() && !reading.done {
            bytes = &bytes[..bytes.len() - tail];
        }
        let text = if self.dialect() == Dialect::Plain { Text::lossy(bytes) } else { Text::exact(bytes) };
        Ok(OutputSlice {
            data: text.data.into_owned(),
            encoding: text.encoding,
            offset: reading.slice.offset,
            next: reading.slice.offset + bytes.len() as u64,
            gap: reading.slice.gap.map(|(from, to)| Range { from, to }),
            done: reading.done,
        })
    }

    async fn result(&self) -> Result<ResultReply, Error> {
        let params: ExecutionParams = self.request.params()?;
        if self.manager().execution(&params.execution_id).is_err() {
            return self.recorded_result(params.execution_id).await;
        }
        let execution = self.principal.execution(self.manager(), &params.execution_id)?;
        if let Some(error) = execution.refused() {
            return Err(error);
        }
        let info = execution.info();
        Ok(match execution.finished() {
            Some(finished) => ResultReply {
                status: ExecutionStatus::Done,
                body: ResultBody::Done(finished.result(&execution, self.dialect())),
            },
            None => ResultReply {
                status: info.status,
                body: ResultBody::NotYet { execution_id: params.execution_id },
            },
        })
    }

    fn executions(&self) -> Result<ExecutionList, Error> {
        let params: ExecListParams = self.request.params()?;
        let seen = self.manager().executions(params.session_id.as_ref());
        let seen = seen.into_iter().filter(|e| self.principal.may_see_execution(e));
        Ok(ExecutionList { executions: seen.map(|e| e.info()).collect() })
    }

    // ---- token

    fn create_token(&self) -> Result<TokenCreated, Error> {
        let (token, info) = self.client.server.authority.tokens.create(self.request.params()?)?;
        tracing::info!(id = %info.token_id, role = ?info.role, "a token was made");
        Ok(TokenCreated { token, info })
    }

    fn list_tokens(&self) -> Result<TokenList, Error> {
        let NoParams {} = self.request.params()?;
        Ok(TokenList { tokens: self.client.server.authority.tokens.list()? })
    }

    fn revoke_token(&self) -> Result<TokenRevoked, Error> {
        let TokenParams { token_id } = self.request.params()?;
        self.client.server.authority.tokens.revoke(&token_id)?;
        tracing::info!(id = %token_id, "a token was revoked");
        Ok(TokenRevoked { token_id, revoked: true })
    }

    // ---- files

    async fn watch(&self) -> Answer {
        match self.fs_watch().await {
            Err(error) => self.done::<()>(Err(error)),
            Ok((watching, changes)) => {
                Answer { line: self.line(Ok(watching)), follow: Some(Follow::Changes(changes)) }
            }
        }
    }

    // ---- events

    /// The same, about one session.
    async fn subscribe_to_session(&self) -> Answer {
        match self.request.params::<SubscribeParams>() {
            Ok(SubscribeParams { session_id: Some(id), .. }) => self.look_back(&id).await,
            Ok(_) => return self.done::<()>(Err(Error::invalid("`session_id` is needed"))),
            Err(error) => return self.done::<()>(Err(error)),
        }
        self.subscribe()
    }

    fn subscribe(&self) -> Answer {
        if let Err(error) = self.hears_pushes() {
            return self.done::<()>(Err(error));
        }
        let params: SubscribeParams = match self.request.params() {
            Ok(params) => params,
            Err(error) => return self.done::<()>(Err(error)),
        };
        if let Some(id) = &params.session_id
            && let Err(error) = self.principal.check(self.manager(), id)
        {
            return self.done::<()>(Err(error));
        }
        let seq = self.manager().engine.events.seq();
        let reply = Subscribed { stream_id: StreamId::random(), seq };
        let events = Events::new(params, seq, self.principal.clone(), self.dialect());
        Answer { line: self.line(Ok(reply)), follow: Some(Follow::Events(events)) }
    }
}

async fn cancel_when_gone(client: Arc<Client>, execution: Arc<Execution>) {
    let mut gone = client.gone.subscribe();
    let left = async { gone.wait_for(|g| *g).await.is_ok() };
    tokio::select! {
        _ = execution.wait() => {}
        _ = left => {
            let params = CancelParams { execution_id: Some(execution.id.clone()), ..CancelParams::default() };
            let _ = client.server.manager.cancel(params).await;
        }
    }
}
