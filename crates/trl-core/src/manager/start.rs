//! `exec.start`: the one way to run anything. In a session it is another of its commands; without, a fresh process on
//! pipes has a session of its own that ends with it, and one on a terminal has that terminal.
//!
//! A live process is never ended to make room: when all places are taken a new one is refused. Finished ones are kept
//! for their results, and the oldest go first.

use std::sync::Arc;
use std::time::Duration;

use trl_proto::exec::RunParams;
use trl_proto::session::CreateParams;
use trl_proto::start::{StartParams, StartStdin, StdinName};
use trl_proto::text::decode;
use trl_proto::{Error, terminal};

use super::executions::{Caller, checked_output_bytes};
use super::idempotency::Claim;
use super::{CaseWish, Manager};
use crate::case::Case;
use crate::execution::{Early, Execution, Place};
use crate::output::Log;
use crate::session::messages::{Order, Stdin};
use crate::session::spec::{Program, Reads, seconds};
use crate::terminal::Terminal;

/// What runs the text of a command.
const USUAL_SHELL: &str = "/bin/sh";

/// Where it is to run.
enum Fresh {
    Pipes(Stdin),
    Terminal(Vec<u8>),
}

impl Manager {
    /// Starts it; resolves when it runs, or stands in its session's line.
    pub async fn start(&self, params: StartParams, caller: &Caller) -> Result<Arc<Execution>, Error> {
        if params.idempotency_key.is_none() {
            return self.start_new(params, caller, |_| {}).await;
        }
        match self.keys.claim_start(caller, &params).await? {
            Claim::Taken(execution) => Ok(execution),
            Claim::Ours(claim) => {
                let started = self.start_new(params, caller, |execution| claim.accepted(execution)).await?;
                claim.keep();
                Ok(started)
            }
        }
    }

    async fn start_new(
        &self,
        params: StartParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        if let Some(id) = params.session_id.clone() {
            let session = self.find(&id)?;
            return self.order(&session, in_session(params)?, announce).await;
        }
        if params.queue.is_some() {
            return Err(Error::invalid("`queue` is for a session; a fresh process waits for nobody"));
        }
        let fresh = stdin(&params)?;
        match fresh {
            Fresh::Pipes(stdin) => self.start_on_pipes(params, stdin, caller, announce).await,
            Fresh::Terminal(first) => self.start_on_terminal(params, first, caller, announce).await,
        }
    }

    async fn start_on_pipes(
        &self,
        params: StartParams,
        stdin: Stdin,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        if params.cols.is_some() || params.rows.is_some() {
            return Err(Error::invalid("`cols` and `rows` are for a terminal").hint("with tty: true"));
        }
        let bytes = checked_output_bytes(params.max_output_bytes)?;
        let case = self.case_for(wish(&params))?;
        let (shown, argv) = words(&params, case.as_deref())?;
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
            ..CreateParams::default()
        };
        let mut spec = self.resolve_under(case, create, caller)?;
        if let (Program::Direct { reads, .. }, Stdin::Null) = (&mut spec.program, &stdin) {
            *reads = Reads::Nothing;
        }
        let execution = spec.execution(&shown, (self.engine.log(bytes), self.engine.log(bytes)));
        announce(&execution);
        let order = Order::direct(Arc::clone(&execution), stdin, spec.timeout);
        self.bring_up(spec, Some(order), caller).await?;
        Ok(execution)
    }

    async fn start_on_terminal(
        &self,
        params: StartParams,
        first: Vec<u8>,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        let bytes = checked_output_bytes(params.max_output_bytes)?;
        let timeout = seconds(params.timeout_s, "timeout_s")?.unwrap_or(Duration::ZERO);
        let case = self.case_for(wish(&params))?;
        let (shown, argv) = words(&params, case.as_deref())?;
        let create = terminal::CreateParams {
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
            ..terminal::CreateParams::default()
        };
        let settings = &self.engine.settings;
        let spec = self.resolve_terminal_under(case, create, caller)?;
        let logs = (self.engine.terminal_log(bytes), Log::empty(Arc::clone(&self.engine.budget)));
        let place = Place::Terminal(spec.id.clone());
        let execution = Execution::new(place, Arc::clone(&spec.owner), &shown, logs, spec.sandbox.clone());
        self.engine.executions.add(&execution);
        announce(&execution);
        let started = self.bring_up_terminal(spec, Some(Arc::clone(&execution)), caller).await;
        let terminal =
            started.inspect_err(|error| self.engine.executions.refuse(&execution, error.clone()))?;
        if !first.is_empty() {
            terminal.input(first).await?;
        }
        if !timeout.is_zero() {
            tokio::spawn(end_in_time(terminal, Arc::clone(&execution), timeout, settings.grace));
        }
        Ok(execution)
    }
}

async fn end_in_time(terminal: Arc<Terminal>, execution: Arc<Execution>, timeout: Duration, grace: Duration) {
    tokio::select! {
        _ = execution.wait() => {}
        () = tokio::time::sleep(timeout) => terminal.end("it took too long", Early::TimedOut, grace).await,
    }
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
        (Some(command), None, shell) => {
            let shell = shell.clone().or_else(|| case?.spec.shell.clone());
            let shell = shell.unwrap_or_else(|| USUAL_SHELL.into());
            Ok((command.clone(), vec![shell, "-c".into(), command.clone()]))
        }
    }
}

fn stdin(params: &StartParams) -> Result<Fresh, Error> {
    let named = match &params.stdin {
        None => StdinName::Open,
        Some(StartStdin::Named(name)) => *name,
        Some(StartStdin::Bytes(given)) => {
            let bytes = decode(given.data.clone(), given.encoding.unwrap_or_default())?;
            return Ok(match params.tty {
                Some(true) => Fresh::Terminal(bytes),
                _ => Fresh::Pipes(Stdin::Bytes(bytes)),
            });
        }
    };
    match (params.tty, named) {
        (Some(true), StdinName::Open) => Ok(Fresh::Terminal(Vec::new())),
        (Some(true), StdinName::Null) => {
            Err(Error::invalid("a process on a terminal reads from it").hint("leave out `stdin` or `tty`"))
        }
        (_, StdinName::Open) => Ok(Fresh::Pipes(Stdin::Open(Vec::new()))),
        (_, StdinName::Null) => Ok(Fresh::Pipes(Stdin::Null)),
    }
}

/// The same as a command of a session, which has all else already.
fn in_session(params: StartParams) -> Result<RunParams, Error> {
    let foreign = [
        ("argv", params.argv.is_some()),
        ("shell", params.shell.is_some()),
        ("tty", params.tty == Some(true)),
        ("cols", params.cols.is_some()),
        ("rows", params.rows.is_some()),
        ("secret_env", params.secret_env.is_some()),
        ("pass_env", params.pass_env.is_some()),
        ("name", params.name.is_some()),
        ("limits", params.limits.is_some()),
        ("sandbox", params.sandbox.is_some()),
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
        ..RunParams::default()
    })
}
