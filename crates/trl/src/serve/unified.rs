//! `exec.start`, `exec.input`, `exec.wait`, `exec.resize`: processes that outlive the calls about them. No call waits longer
//! than it said, and none ends anything by waiting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trl_core::execution::{Execution, Taking, Teller};
use trl_core::manager::{Aside, What, checked_output_bytes};
use trl_core::progress::From;
use trl_core::session::handle::Session;
use trl_core::session::messages::{AfterInput, Stdin};
use trl_core::session::spec::BesideRole;
use trl_core::terminal::spec::checked_size;
use trl_core::waiting::{self, Conditions};
use trl_proto::exec::{Approval, InputParams, InputTaken, StreamStarted};
use trl_proto::start::{
    Next, Progress, ResizeParams, Resized, StartParams, StartStdin, StdinName, USUAL_YIELD_MS, WaitParams,
    Waited, YIELD_MS,
};
use trl_proto::text::decode;
use trl_proto::{Error, ExecutionId, Method, StreamId};

use super::connection::Hears;
use super::follow::{Follow, Output, Pushes};
use super::principal::Principal;
use super::rpc::{Answer, Call};

/// Of `exec.wait`.
const USUAL_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// An id is a name, not data.
const LONGEST_INPUT_ID: usize = 128;

impl Call<'_> {
    fn execution(&self, id: &ExecutionId) -> Result<Arc<Execution>, Error> {
        self.principal.execution(self.manager(), id)
    }

    /// How much text a reply may have, per stream.
    fn most(&self, asked: Option<u64>) -> Result<usize, Error> {
        Ok(checked_output_bytes(asked)?.unwrap_or(self.manager().engine.settings.output_bytes))
    }

    pub(super) async fn start(&self) -> Answer {
        match self.request.params::<StartParams>() {
            Ok(params) if params.follow == Some(true) => self.start_and_follow(params).await,
            Ok(params) => self.done(self.start_and_wait(params).await),
            Err(error) => self.done::<()>(Err(error)),
        }
    }

    /// The reply comes when it has begun, or a person is asked; all it writes comes after that.
    async fn start_and_follow(&self, params: StartParams) -> Answer {
        if self.client.hears == Hears::Replies {
            let error = Error::invalid("a plain HTTP request cannot be pushed to")
                .hint("without `follow`, then GET /api/executions/ID/events; or WS /ws/rpc");
            return self.done::<()>(Err(error));
        }
        let on_disconnect = params.on_disconnect.unwrap_or_default();
        let execution = match self.start_one(params, Instant::now() + LONGEST_WAIT).await {
            Ok(execution) => execution,
            Err(error) => return self.done::<()>(Err(error)),
        };
        self.watch_connection(&execution, on_disconnect);
        let stream_id = StreamId::random();
        let started = StreamStarted {
            stream_id: stream_id.clone(),
            execution_id: execution.id.clone(),
            request_id: execution.request(),
            events: None,
        };
        let form = Pushes { id: stream_id, dialect: self.dialect() };
        let follow = Some(Follow::Output(Output::strictly(form, execution)));
        Answer { line: self.line(Ok(started)), follow }
    }

    async fn start_one(&self, params: StartParams, by: Instant) -> Result<Arc<Execution>, Error> {
        match &params.session_id {
            Some(id) => self.check_session(id).await?,
            None => self.principal.may_call(Method::SessionCreate)?,
        }
        self.manager().start(params, &self.caller(), by).await
    }

    async fn start_and_wait(&self, params: StartParams) -> Result<Progress, Error> {
        let deadline = yield_by(params.yield_ms.unwrap_or(USUAL_YIELD_MS));
        let most = self.most(params.max_output_bytes)?;
        if let (None, Principal::OfAgent(id)) = (&params.session_id, &self.principal) {
            let session = self.manager().find(id)?;
            return self.start_for_agent(&session, params, (deadline, most)).await;
        }
        let on_disconnect = params.on_disconnect.unwrap_or_default();
        let approval = params.approval.unwrap_or_default();
        let execution = self.start_one(params, deadline).await?;
        self.watch_connection(&execution, on_disconnect);
        match approval {
            Approval::Return => {
                let asked = tokio::time::timeout_at(deadline.into(), execution.wait_or_ask());
                asked.await.unwrap_or(Ok(None))?;
            }
            Approval::Wait | Approval::Fail => {
                waiting::wait(&execution, Conditions::end(), deadline).await?;
            }
        }
        Ok(execution.progress(From::At(Next::default()), most, self.dialect()))
    }

    /// What a session's agent wants to have run: beside the session's shell, with all that the session has.
    async fn start_for_agent(
        &self,
        session: &Arc<Session>,
        params: StartParams,
        (deadline, most): (Instant, usize),
    ) -> Result<Progress, Error> {
        let foreign = [
            ("tty", params.tty == Some(true)),
            ("secret_env", params.secret_env.is_some()),
            ("pass_env", params.pass_env.is_some()),
            ("umask", params.umask.is_some()),
            ("limits", params.limits.is_some()),
            ("sandbox", params.sandbox.is_some()),
            ("runtime", params.runtime.is_some()),
            ("case_id", params.case_id.is_some()),
            ("workspace_id", params.workspace_id.is_some()),
            ("idempotency_key", params.idempotency_key.is_some()),
        ];
        if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
            return Err(Error::invalid(format!("`{field}`: an agent's commands have what its session has")));
        }
        let what = match (params.command, params.argv) {
            (Some(command), None) => What::Text(command),
            (None, Some(argv)) => What::Argv(argv),
            _ => return Err(Error::invalid("give `command` or `argv`, and only one of them")),
        };
        let stdin = match params.stdin {
            None | Some(StartStdin::Named(StdinName::Open)) => Stdin::Open(Vec::new()),
            Some(StartStdin::Named(StdinName::Null)) => Stdin::Null,
            Some(StartStdin::Bytes(given)) => {
                Stdin::Bytes(decode(given.data, given.encoding.unwrap_or_default())?)
            }
        };
        let aside = Aside {
            role: BesideRole::Command,
            what,
            env: params.env.unwrap_or_default(),
            working_dir: params.working_dir,
            stdin,
            stderr: params.stderr.unwrap_or_default(),
            max_output_bytes: params.max_output_bytes,
            approval: params.approval.unwrap_or_default(),
        };
        let (execution, _) = self.manager().start_beside(session, aside, &self.caller()).await?;
        let asked = params.approval == Some(Approval::Return) && execution.request().is_some();
        if !asked {
            waiting::wait(&execution, Conditions::end(), deadline).await?;
        }
        Ok(execution.progress(From::At(Next::default()), most, self.dialect()))
    }

    pub(super) async fn input(&self) -> Result<InputTaken, Error> {
        let params: InputParams = self.request.params()?;
        let execution = self.execution(&params.execution_id)?;
        let most = self.most(params.max_output_bytes)?;
        let deadline = params.yield_ms.map(yield_by);
        let (written_bytes, from) = self.feed(&execution, params, deadline).await?;
        let progress = match deadline {
            None => None,
            Some(deadline) => {
                waiting::wait(&execution, Conditions::end(), deadline).await?;
                Some(execution.progress(from, most, self.dialect()))
            }
        };
        Ok(InputTaken { execution_id: execution.id.clone(), written_bytes, progress })
    }

    /// How much was taken in time, and where the reply begins. Input that was taken before is not taken again.
    async fn feed(
        &self,
        execution: &Arc<Execution>,
        params: InputParams,
        deadline: Option<Instant>,
    ) -> Result<(u64, From), Error> {
        let bytes = decode(params.data.unwrap_or_default(), params.encoding.unwrap_or_default())?;
        let then = if params.close == Some(true) { AfterInput::Close } else { AfterInput::KeepOpen };
        let only_waits = bytes.is_empty() && then == AfterInput::KeepOpen && deadline.is_some();
        if only_waits {
            return Ok((0, From::LastTold));
        }
        let Some(id) = params.input_id else {
            let written = in_time(deadline, self.write(execution, bytes, then, None)).await?;
            return Ok((written, From::LastTold));
        };
        if id.is_empty() || id.len() > LONGEST_INPUT_ID {
            return Err(Error::invalid(format!("`input_id` must have 1 to {LONGEST_INPUT_ID} bytes")));
        }
        let taking = execution.told().take_input(&id, &(&bytes, then == AfterInput::Close))?;
        match taking {
            Taking::Before(input) => {
                let began = input.began;
                Ok((in_time(deadline, input.outcome()).await?, From::At(began)))
            }
            Taking::Now(teller) => {
                let written =
                    in_time(deadline, self.write(execution, bytes, then, Some((id, teller)))).await?;
                Ok((written, From::LastTold))
            }
        }
    }

    /// In a task of its own: who stops waiting must not take back what was said to be taken.
    async fn write(
        &self,
        execution: &Arc<Execution>,
        bytes: Vec<u8>,
        then: AfterInput,
        named: Option<(String, Teller)>,
    ) -> Result<u64, Error> {
        let (manager, subject) = (Arc::clone(self.manager()), Arc::clone(execution));
        let writing = tokio::spawn(async move {
            let outcome = manager.input(&subject.id, bytes, then).await;
            if let Some((id, teller)) = named {
                if outcome.is_err() {
                    subject.told().forget_input(&id);
                }
                teller.send_replace(Some(outcome.clone()));
            }
            outcome
        });
        writing.await.unwrap_or_else(|e| Err(Error::internal(e.to_string())))
    }

    pub(super) async fn wait(&self) -> Result<Waited, Error> {
        let params: WaitParams = self.request.params()?;
        let execution = self.execution(&params.execution_id)?;
        let most = self.most(params.max_output_bytes)?;
        let timeout = match trl_core::session::spec::seconds(params.timeout_s, "timeout_s")? {
            None => USUAL_WAIT,
            Some(asked) => asked.min(LONGEST_WAIT),
        };
        let conditions = match &params.until {
            None => Conditions::end(),
            Some(until) => Conditions::new(until, &execution)?,
        };
        let (reason, matched) = waiting::wait(&execution, conditions, Instant::now() + timeout).await?;
        Ok(Waited { reason, matched, progress: execution.progress(From::LastTold, most, self.dialect()) })
    }

    pub(super) async fn resize(&self) -> Result<Resized, Error> {
        let params: ResizeParams = self.request.params()?;
        let execution_id = self.execution(&params.execution_id)?.id.clone();
        let size = checked_size(params.cols, params.rows)?;
        let terminal = self.manager().resize(&execution_id, size).await?;
        Ok(Resized { execution_id, terminal_id: terminal.spec.id.clone(), cols: size.cols, rows: size.rows })
    }
}

/// What does not fit in time stands in line, and is read when the process gets to it.
async fn in_time(
    deadline: Option<Instant>,
    written: impl Future<Output = Result<u64, Error>>,
) -> Result<u64, Error> {
    match deadline {
        None => written.await,
        Some(deadline) => tokio::time::timeout_at(deadline.into(), written).await.unwrap_or(Ok(0)),
    }
}

fn yield_by(asked_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(asked_ms.clamp(*YIELD_MS.start(), *YIELD_MS.end()))
}
