//! `exec.start`: the one way to run anything. In a session it is another of its commands; without, a fresh process on
//! pipes has a session of its own that ends with it, and one on a terminal has that terminal.
//!
//! Whoever asks waits no longer than it said: a process that has not begun by then, because its session's shell is on its way
//! or its sandbox takes long to build, is told of as `queued`.
//!
//! A live process is never ended to make room: when all places are taken a new one is refused. Finished ones are kept
//! for their results, and the oldest go first.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trl_proto::exec::{Approval, OnDisconnect, RunParams};
use trl_proto::hitl::ApprovalRequest;
use trl_proto::runtime::HOST;
use trl_proto::session::CreateParams;
use trl_proto::start::{StartParams, StartStdin, StderrTo, StdinName, Umask};
use trl_proto::text::decode;
use trl_proto::{Error, SessionId, terminal};

use super::approval::{Brought, Fresh, Gate, Later, pinned_of};
use super::executions::{Caller, checked_output_bytes, foreign_runtime, foreign_sandbox};
use super::idempotency::Claim;
use super::{CaseWish, Manager};
use crate::approval::{Answer, Plan, Subject, pin, refusal};
use crate::case::Case;
use crate::execution::{Early, Execution, Place};
use crate::output::Log;
use crate::session::handle::Keeping;
use crate::session::messages::{Order, Stdin};
use crate::session::spec::{Program, Reads, Spec, seconds};
use crate::shell::Kind;
use crate::terminal::Terminal;

/// What runs the text of a command.
const USUAL_SHELL: &str = "/bin/sh";

/// Where it is to run.
enum Onto {
    Pipes(Stdin),
    Terminal(Vec<u8>),
}

impl Manager {
    /// Starts it; resolves when it runs, or stands in its session's line, or is that late.
    pub async fn start(
        self: &Arc<Self>,
        params: StartParams,
        caller: &Caller,
        by: Instant,
    ) -> Result<Arc<Execution>, Error> {
        if params.idempotency_key.is_none() {
            return self.start_in_time(params, caller, by, |_| {}).await;
        }
        match self.keys.claim_start(caller, &params).await? {
            Claim::Taken(execution) => Ok(execution),
            Claim::Ours(claim) => {
                let announce = |execution: &Arc<Execution>| claim.accepted(execution);
                let started = self.start_in_time(params, caller, by, announce).await?;
                claim.keep();
                Ok(started)
            }
        }
    }

    async fn start_in_time(
        self: &Arc<Self>,
        params: StartParams,
        caller: &Caller,
        by: Instant,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        let queued = params.queue == Some(true);
        let execution = self.start_new(params, caller, announce).await?;
        if !queued {
            tokio::time::timeout_at(by.into(), execution.wait_started()).await.unwrap_or(Ok(()))?;
        }
        Ok(execution)
    }

    async fn start_new(
        self: &Arc<Self>,
        params: StartParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        if let Some(id) = params.session_id.clone() {
            let session = self.find(&id)?;
            return self.order(&session, in_session(params)?, caller, announce).await;
        }
        if params.queue.is_some() {
            return Err(Error::invalid("`queue` is for a session; a fresh process waits for nobody"));
        }
        match stdin(&params)? {
            Onto::Pipes(stdin) => self.start_on_pipes((params, stdin), caller, None, announce).await,
            Onto::Terminal(first) => self.start_on_terminal(params, first, caller, announce).await,
        }
    }

    /// What a person said yes to when the daemon that had asked was gone.
    pub(super) async fn start_approved(
        self: &Arc<Self>,
        start: serde_json::Value,
        request: &ApprovalRequest,
        caller: &Caller,
    ) -> Result<(), Error> {
        let params: StartParams = serde_json::from_value(start)
            .map_err(|e| Error::internal(format!("kept, and not understood: {e}")))?;
        match stdin(&params)? {
            Onto::Pipes(stdin) => {
                self.start_on_pipes((params, stdin), caller, Some(request), |_| {}).await.map(drop)
            }
            Onto::Terminal(_) => Err(Error::invalid("its terminal is gone")),
        }
    }

    /// `approved`: nobody needs to be asked, and it is to be the execution that this was about.
    async fn start_on_pipes(
        self: &Arc<Self>,
        (params, stdin): (StartParams, Stdin),
        caller: &Caller,
        approved: Option<&ApprovalRequest>,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        if params.cols.is_some() || params.rows.is_some() {
            return Err(Error::invalid("`cols` and `rows` are for a terminal").hint("with tty: true"));
        }
        let bytes = checked_output_bytes(params.max_output_bytes)?;
        let case = self.case_for(wish(&params))?;
        let (shown, argv) = words(&params, case.as_deref())?;
        let text = params.command.as_ref().map(|_| argv[0].clone());
        let mode = params.approval.unwrap_or_default();
        let plan = plan(&params);
        let own_env = self.names_of(&brought(&params, case.as_deref()));
        let asked_argv = argv.clone();
        let create = CreateParams {
            argv: Some(argv),
            case_id: params.case_id,
            workspace_id: params.workspace_id,
            env: params.env,
            secret_env: params.secret_env,
            pass_env: params.pass_env,
            working_dir: params.working_dir,
            name: params.name,
            timeout_s: params.timeout_s,
            limits: params.limits,
            sandbox: params.sandbox,
            runtime: params.runtime,
            ..CreateParams::default()
        };
        let mut spec = self.resolve_under(case, create, caller).await?;
        let joined = params.stderr.unwrap_or_default();
        if joined == StderrTo::Stdout && spec.runtime_name() != HOST {
            return Err(Error::invalid("`stderr` is for processes here").hint("2>&1 in the command does it"));
        }
        let masked = masked(params.umask, spec.runtime_name())?;
        if let Program::Direct { reads, errors, umask, .. } = &mut spec.program {
            *errors = joined;
            *umask = masked;
            if stdin == Stdin::Null {
                *reads = Reads::Nothing;
            }
        }
        let logs = (self.engine.log(bytes), self.engine.log(bytes));
        let execution = match approved {
            None => spec.execution(&shown, logs),
            Some(request) => {
                let case = spec.case.clone();
                spec.adopt(request.session_id.clone().unwrap_or_else(SessionId::random), case);
                spec.execution_again(request.execution_id.clone(), &shown, logs)
            }
        };
        announce(&execution);
        let fresh = Fresh {
            owner: &caller.name,
            session: Some(&spec.id),
            terminal: None,
            execution: Some(&execution.id),
            name: spec.name.as_ref(),
            case: spec.case.as_ref(),
            command: &shown,
            program: judged(text.as_deref(), &spec.program, &asked_argv)?,
            shell: text.as_deref().map(Path::new),
            env: &own_env,
            working_dir: &spec.working_dir,
            boundary: spec.approval_boundary(),
            mode,
            plan,
            redactor: &spec.redactor().unwrap_or_default(),
            pinned: pinned_of(&spec),
        };
        let gate = match approved {
            None => self.gate(fresh, caller).await?,
            Some(request) => match self.hold_to(&spec, request).await {
                Ok(()) => Gate::Open,
                Err(error) => {
                    self.engine.executions.add(&execution);
                    // It was asked about, so why it was refused is remembered.
                    execution.ask(request.request_id.clone());
                    self.engine.executions.refuse(&execution, error.clone());
                    return Err(error);
                }
            },
        };
        let mut order = Order::direct(Arc::clone(&execution), stdin, spec.timeout);
        order.clearance.request = approved.map(|request| request.request_id.clone());
        match gate {
            Gate::Open => {
                self.engine.executions.add(&execution);
                let (manager, caller, subject) = (Arc::clone(self), caller.clone(), Arc::clone(&execution));
                tokio::spawn(async move {
                    let up = manager.bring_up(spec, Some(order), &caller, Keeping::Passing).await;
                    if let Err(error) = up {
                        manager.engine.executions.refuse(&subject, error);
                    }
                });
            }
            Gate::Later(later) => {
                self.engine.executions.add(&execution);
                execution.ask(later.request.clone());
                let (manager, caller) = (Arc::clone(self), caller.clone());
                tokio::spawn(async move { manager.start_when_answered(spec, order, caller, later).await });
            }
        }
        Ok(execution)
    }

    /// Holds the start to what an earlier daemon has shown to an approver.
    async fn hold_to(&self, spec: &Spec, request: &ApprovalRequest) -> Result<(), Error> {
        let edited = request.resolution.as_ref().is_some_and(|said| said.command.is_some());
        if let Some((wanted, start)) = pinned_of(spec).filter(|_| !request.executables.is_empty()) {
            start.set(pin::check(&request.executables, wanted, edited).await?);
        }
        Ok(())
    }

    /// A fresh process that a person was asked about.
    pub(super) async fn start_when_answered(
        &self,
        mut spec: Spec,
        mut order: Order,
        caller: Caller,
        mut later: Later,
    ) {
        order.clearance.request = Some(later.request.clone());
        let execution = Arc::clone(&order.execution);
        let refused = match (&mut later.answer).await.unwrap_or(Answer::Cancelled) {
            Answer::Approved { command } => {
                if let Err(error) = later.hold(&spec.pin, command.is_some()).await {
                    self.engine.desk.ran(&later.request);
                    return self.engine.executions.refuse(&execution, error);
                }
                if let (Some(command), Program::Direct { argv, .. }) = (&command, &mut spec.program) {
                    execution.edit(command);
                    argv[2].clone_from(command);
                }
                self.bring_up(spec, Some(order), &caller, Keeping::Passing).await.err()
            }
            Answer::Cancelled => return order.never_ran(&self.engine, spec.working_dir),
            no => Some(refusal(&later.request, no)),
        };
        if let Some(error) = refused {
            self.engine.executions.refuse(&execution, error);
        }
    }

    async fn start_on_terminal(
        self: &Arc<Self>,
        params: StartParams,
        first: Vec<u8>,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        if params.stderr.is_some() {
            return Err(Error::invalid("`stderr` is for pipes; a terminal has one stream"));
        }
        let bytes = checked_output_bytes(params.max_output_bytes)?;
        let timeout = seconds(params.timeout_s, "timeout_s")?.unwrap_or(Duration::ZERO);
        let case = self.case_for(wish(&params))?;
        let (shown, argv) = words(&params, case.as_deref())?;
        let asked = params.approval.unwrap_or_default();
        let own_env = self.names_of(&brought(&params, case.as_deref()));
        let create = terminal::CreateParams {
            approval: Some(if asked == Approval::Return { Approval::Wait } else { asked }),
            argv: Some(argv),
            case_id: params.case_id,
            workspace_id: params.workspace_id,
            env: params.env,
            secret_env: params.secret_env,
            pass_env: params.pass_env,
            working_dir: params.working_dir,
            name: params.name,
            cols: params.cols,
            rows: params.rows,
            limits: params.limits,
            sandbox: params.sandbox,
            runtime: params.runtime,
            ..terminal::CreateParams::default()
        };
        let mode = create.approval.unwrap_or_default();
        let mut spec = self.resolve_terminal_under(case, create, caller).await?;
        spec.umask = masked(params.umask, spec.runtime_name())?;
        let logs = (self.engine.terminal_log(bytes), Log::empty(Arc::clone(&self.engine.budget)));
        let place = Place::Terminal(spec.id.clone());
        let execution = Execution::new(place, Arc::clone(&spec.owner), &shown, logs, spec.sandbox.clone());
        self.engine.executions.add(&execution);
        announce(&execution);
        let (manager, caller, subject) = (Arc::clone(self), caller.clone(), Arc::clone(&execution));
        // A task of its own: whoever asked may not want to wait for a person's answer.
        tokio::spawn(async move {
            let started = async {
                manager.clear_terminal(&spec, Some(&subject), (mode, &own_env), &caller).await?;
                let terminal = manager.bring_up_terminal(spec, Some(Arc::clone(&subject)), &caller).await?;
                if !first.is_empty() {
                    terminal.input(first).await?;
                }
                Ok(terminal)
            };
            match started.await {
                Err(error) => manager.engine.executions.refuse(&subject, error),
                Ok(terminal) if !timeout.is_zero() => {
                    end_in_time(terminal, subject, timeout, manager.engine.settings.grace).await;
                }
                Ok(_) => {}
            }
        });
        Ok(execution)
    }
}

/// How another daemon could start it. Secrets and input are not kept, and nobody would be there whose going is to end it.
fn plan(params: &StartParams) -> Option<Plan> {
    let whole = params.secret_env.is_none() && !matches!(params.stdin, Some(StartStdin::Bytes(_)));
    let alone = params.follow != Some(true) && params.on_disconnect != Some(OnDisconnect::Cancel);
    let start = StartParams { approval: None, idempotency_key: None, ..params.clone() };
    let start = serde_json::to_value(start).ok().filter(|_| whole && alone)?;
    Some(Plan { start: Some(start), ..Plan::default() })
}

async fn end_in_time(terminal: Arc<Terminal>, execution: Arc<Execution>, timeout: Duration, grace: Duration) {
    tokio::select! {
        _ = execution.wait() => {}
        () = tokio::time::sleep(timeout) => terminal.end("it took too long", Early::TimedOut, grace).await,
    }
}

/// Text is judged as the shell that reads it would.
fn judged(shell: Option<&str>, program: &Program, asked: &[String]) -> Result<Subject, Error> {
    let Program::Direct { argv, .. } = program else { return Err(Error::internal("not a direct command")) };
    let kind = shell.and_then(|_| Kind::detect(Path::new(&argv[0])));
    Ok(kind.map_or_else(|| Subject::Argv(asked.to_vec()), Subject::Text))
}

fn brought<'a>(params: &'a StartParams, case: Option<&'a Case>) -> Brought<'a> {
    let (env, secret) = (params.env.as_ref(), params.secret_env.as_ref());
    Brought { env, secret, case, runtime: params.runtime.as_ref() }
}

fn wish(params: &StartParams) -> CaseWish<'_> {
    CaseWish {
        case_id: params.case_id.as_deref(),
        workspace_id: params.workspace_id.as_deref(),
        working_dir: params.working_dir.as_deref(),
    }
}

/// What is shown of it, and what is run.
fn words(params: &StartParams, case: Option<&Case>) -> Result<(String, Vec<String>), Error> {
    match (&params.command, &params.argv, &params.shell) {
        (Some(_), Some(_), _) => Err(Error::invalid("`command` and `argv` exclude each other")),
        (None, None, _) => Err(Error::invalid("give `command` or `argv`")),
        (None, Some(_), Some(_)) => Err(Error::invalid("`shell` is for `command`; `argv` needs none")),
        (None, Some(argv), None) => Ok((argv.join(" "), argv.clone())),
        (Some(command), None, _) if command.contains('\0') => {
            Err(Error::invalid("the command contains a NUL character"))
        }
        (Some(command), None, shell) => {
            let shell = shell.clone().or_else(|| case?.spec.shell.clone());
            let shell = shell.unwrap_or_else(|| USUAL_SHELL.into());
            Ok((command.clone(), vec![shell, "-c".into(), command.clone()]))
        }
    }
}

fn masked(asked: Option<Umask>, runtime: &str) -> Result<Umask, Error> {
    match asked {
        Some(_) if runtime != HOST => {
            Err(Error::invalid("`umask` is for processes here").hint("umask in the command does it"))
        }
        asked => Ok(asked.unwrap_or_default()),
    }
}

fn stdin(params: &StartParams) -> Result<Onto, Error> {
    let named = match &params.stdin {
        None => StdinName::Open,
        Some(StartStdin::Named(name)) => *name,
        Some(StartStdin::Bytes(given)) => {
            let bytes = decode(given.data.clone(), given.encoding.unwrap_or_default())?;
            return Ok(match params.tty {
                Some(true) => Onto::Terminal(bytes),
                _ => Onto::Pipes(Stdin::Bytes(bytes)),
            });
        }
    };
    match (params.tty, named) {
        (Some(true), StdinName::Open) => Ok(Onto::Terminal(Vec::new())),
        (Some(true), StdinName::Null) => {
            Err(Error::invalid("a process on a terminal reads from it").hint("leave out `stdin` or `tty`"))
        }
        (_, StdinName::Open) => Ok(Onto::Pipes(Stdin::Open(Vec::new()))),
        (_, StdinName::Null) => Ok(Onto::Pipes(Stdin::Null)),
    }
}

/// The same as a command of a session, which has all else already.
fn in_session(params: StartParams) -> Result<RunParams, Error> {
    if params.sandbox.is_some() {
        return Err(foreign_sandbox());
    }
    if params.runtime.is_some() {
        return Err(foreign_runtime());
    }
    let foreign = [
        ("argv", params.argv.is_some()),
        ("shell", params.shell.is_some()),
        ("tty", params.tty == Some(true)),
        ("cols", params.cols.is_some()),
        ("rows", params.rows.is_some()),
        ("stderr", params.stderr.is_some()),
        ("umask", params.umask.is_some()),
        ("secret_env", params.secret_env.is_some()),
        ("pass_env", params.pass_env.is_some()),
        ("name", params.name.is_some()),
        ("limits", params.limits.is_some()),
        ("case_id", params.case_id.is_some()),
        ("workspace_id", params.workspace_id.is_some()),
    ];
    if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
        return Err(Error::invalid(format!(
            "`{field}` is for a fresh process; a command in a session has its own"
        ))
        .hint("leave out `session_id`, or the field"));
    }
    let Some(command) = params.command else { return Err(Error::invalid("`command` is needed")) };
    let (stdin, stdin_encoding, open_stdin) = match params.stdin {
        None | Some(StartStdin::Named(StdinName::Open)) => (None, None, Some(true)),
        Some(StartStdin::Named(StdinName::Null)) => (None, None, None),
        Some(StartStdin::Bytes(given)) => (Some(given.data), given.encoding, None),
    };
    Ok(RunParams {
        session_id: params.session_id,
        command,
        timeout_s: params.timeout_s,
        stdin,
        stdin_encoding,
        open_stdin,
        env: params.env,
        working_dir: params.working_dir,
        queue: params.queue,
        max_output_bytes: params.max_output_bytes,
        approval: params.approval,
        ..RunParams::default()
    })
}
