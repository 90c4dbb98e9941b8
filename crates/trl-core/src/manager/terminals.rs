//! Terminals: making them within the same limits as sessions, finding them, ending them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use trl_proto::exec::Approval;
use trl_proto::terminal::{CreateParams, ListParams};
use trl_proto::{Error, ErrorCode, TerminalId};

use super::approval::{Brought, Fresh, Gate, wanted};
use super::{Caller, Manager};
use crate::approval::{Subject, boundary};
use crate::env::Env;
use crate::execution::{Early, Execution};
use crate::session::body::start_error;
use crate::session::spec::seconds;
use crate::terminal::spec::Spec;
use crate::terminal::tape::Tape;
use crate::terminal::{self, Terminal};

impl Manager {
    /// Starts a terminal; returns when its program runs. A failure leaves nothing.
    pub async fn create_terminal(
        &self,
        params: CreateParams,
        caller: &Caller,
    ) -> Result<Arc<Terminal>, Error> {
        let mode = params.approval.unwrap_or_default();
        if mode == Approval::Return {
            return Err(Error::invalid("a terminal waits for approval, or fails")
                .hint("approval: \"wait\" or \"fail\"; exec.start with tty: true can return"));
        }
        let env = self.names_of(&Brought {
            env: params.env.as_ref(),
            secret: params.secret_env.as_ref(),
            case: None,
            runtime: None,
        });
        let spec = self.resolve_terminal(params, caller).await?;
        self.clear_terminal(&spec, None, (mode, &env), caller).await?;
        self.bring_up_terminal(spec, None, caller).await
    }

    /// Everything that is typed into it later is covered by one answer.
    pub(super) async fn clear_terminal(
        &self,
        spec: &Spec,
        execution: Option<&Arc<Execution>>,
        (mode, env): (Approval, &Env),
        caller: &Caller,
    ) -> Result<(), Error> {
        let shown = spec.argv.join(" ");
        let program = spec.argv.first().cloned().unwrap_or_default();
        let pinned = wanted(program, &spec.working_dir, &spec.env);
        let fresh = Fresh {
            owner: &caller.name,
            session: None,
            terminal: Some(&spec.id),
            execution: execution.map(|e| &e.id),
            name: spec.name.as_ref(),
            case: spec.case.as_ref(),
            command: execution.map_or(shown.as_str(), |e| &e.command),
            program: Subject::Typed(spec.argv.clone()),
            shell: None,
            env,
            working_dir: &spec.working_dir,
            boundary: boundary(
                &spec.sandbox,
                spec.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.is_apart),
            ),
            mode,
            plan: None,
            redactor: &spec.secrets.redactor_with(spec.env.iter()).unwrap_or_default(),
            pinned: spec.elsewhere.is_none().then_some((pinned, &spec.pin)),
        };
        match self.gate(fresh, caller).await? {
            Gate::Open => Ok(()),
            Gate::Later(later) => {
                if let Some(execution) = execution {
                    execution.ask(later.request.clone());
                }
                later.wait(&spec.pin).await
            }
        }
    }

    /// With an execution, that is what its program is.
    pub(super) async fn bring_up_terminal(
        &self,
        spec: Spec,
        execution: Option<Arc<Execution>>,
        caller: &Caller,
    ) -> Result<Arc<Terminal>, Error> {
        let spec = spec.within_settings(&self.engine.settings, caller.widening)?;
        let seat = self.admit(caller)?;
        let settings = &self.engine.settings;
        let tape = Tape::new(settings.terminal_ring, spec.size, Arc::clone(&self.engine.budget));
        let (terminal, wires) =
            Terminal::new(spec, tape, settings.terminal_history, &self.engine.screens, execution)
                .map_err(|e| start_error("prepare", &e))?;
        let id = terminal.spec.id.clone();
        let (created, up) = oneshot::channel();
        self.terminals().insert(id.clone(), Arc::clone(&terminal));
        terminal::spawn(Arc::clone(&self.engine), Arc::clone(&terminal), wires, seat, created);
        let outcome = up.await.unwrap_or_else(|_| Err(Error::internal("the terminal's task ended")));
        if let Err(error) = outcome {
            self.terminals().remove(&id);
            return Err(error);
        }
        self.engine.prepare_keeper();
        Ok(terminal)
    }

    pub fn terminal(&self, id: &TerminalId) -> Result<Arc<Terminal>, Error> {
        self.terminals().get(id).cloned().ok_or_else(|| {
            Error::new(ErrorCode::TerminalNotFound, format!("no terminal {id}")).hint("see terminal.list")
        })
    }

    /// Oldest first.
    pub fn list_terminals(&self, filter: &ListParams) -> Vec<Arc<Terminal>> {
        let wanted =
            |t: &&Arc<Terminal>| filter.workspace_id.is_none() || t.spec.workspace == filter.workspace_id;
        let mut found: Vec<_> = self.terminals().values().filter(wanted).cloned().collect();
        found.sort_by_key(|t| t.created.monotonic);
        found
    }

    /// At once, or after a grace in which it can be taken back. One that has ended is forgotten then.
    pub async fn destroy_terminal(&self, terminal: &Terminal, grace_s: Option<f64>) -> Result<(), Error> {
        let grace = seconds(grace_s, "grace_s")?.unwrap_or(Duration::ZERO);
        let at = Instant::now() + grace;
        if !grace.is_zero() && terminal.is_over() {
            terminal.public().destroy_at = Some(at);
            return Ok(());
        }
        if !grace.is_zero() {
            return terminal.destroy_at(Some(at)).await;
        }
        terminal.end("destroyed on request", Early::Cancelled, self.engine.settings.terminal_grace).await;
        self.terminals().remove(&terminal.spec.id);
        Ok(())
    }

    /// Takes a pending destroy back.
    pub async fn keep_terminal(&self, terminal: &Terminal) -> Result<(), Error> {
        if terminal.is_over() && terminal.public().destroy_at.take().is_some() {
            return Ok(());
        }
        terminal.destroy_at(None).await
    }

    /// What time does to them.
    pub(super) fn tend_terminals(self: &Arc<Self>, now: Instant) {
        let settings = &self.engine.settings;
        let past = |since: Instant, ttl: Duration| now.saturating_duration_since(since) >= ttl;
        let mut stale = Vec::new();
        self.terminals().retain(|_, terminal| {
            let public = terminal.public();
            if let Some((_, at)) = &public.ended {
                let destroyed = public.destroy_at.is_some_and(|at| now >= at);
                return !destroyed && !past(*at, settings.terminated_ttl);
            }
            let quiet = public.last_activity.monotonic.max(public.detached);
            let ttl = settings.terminal_idle_ttl;
            if !ttl.is_zero() && public.clients.is_empty() && past(quiet, ttl) {
                stale.push(Arc::clone(terminal));
            }
            true
        });
        for terminal in stale {
            let grace = settings.terminal_grace;
            tokio::spawn(
                async move { terminal.end("it was idle for too long", Early::Cancelled, grace).await },
            );
        }
    }
}
