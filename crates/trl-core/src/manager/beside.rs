//! What stands beside a session's shell: its agent, and commands of that agent. Each has processes of its own, below a keeper
//! of its own, with everything else as the session has it; and ends with the session.
//!
//! 1. [`Manager::start_beside`] starts one. A command is judged by the rules first, as a fresh process is; an agent is what the
//!    case says, which is the operator's word.
//! 2. [`Manager::ask_permission`] asks people about something an agent wants to do itself.
//! 3. Whatever the session's end is, [`Manager::end_besides`] is the end of these.

use std::sync::Arc;

use tokio::sync::oneshot;
use trl_proto::agent::Permission;
use trl_proto::exec::Approval;
use trl_proto::start::StderrTo;
use trl_proto::{Error, ErrorCode, RequestId, SessionId};

use super::approval::{Fresh, Gate, pinned_of};
use super::executions::checked_output_bytes;
use super::{Caller, Manager};
use crate::approval::{Asked, Asking, Judgement, Question, Rules, Subject};
use crate::env::Env;
use crate::execution::Execution;
use crate::session::handle::{Keeping, Session};
use crate::session::messages::{End, Ending, Manner, Message, Order, Stdin};
use crate::session::spec::{BesideRole, Program, Reads, Spec, checked_dir, checked_env, plain_argv};
use crate::shell::Kind;

/// What reads the text of a command where the session has no shell.
const USUAL_SHELL: &str = "/bin/sh";

/// Something to start beside a session.
#[derive(Debug)]
pub struct Aside {
    pub role: BesideRole,
    pub what: What,
    /// Variables of its own.
    pub env: Env,
    /// Where the session was made, unless told otherwise.
    pub working_dir: Option<String>,
    pub stdin: Stdin,
    /// Where it writes errors.
    pub stderr: StderrTo,
    pub max_output_bytes: Option<u64>,
    pub approval: Approval,
}

#[derive(Debug, Clone)]
pub enum What {
    Argv(Vec<String>),
    /// For the session's shell.
    Text(String),
}

impl Manager {
    /// Starts it; resolves when it is on its way, or a person has been asked. With where its processes are.
    pub async fn start_beside(
        self: &Arc<Self>,
        session: &Arc<Session>,
        aside: Aside,
        caller: &Caller,
    ) -> Result<(Arc<Execution>, SessionId), Error> {
        if session.spec.elsewhere.is_some() {
            return Err(Error::new(ErrorCode::AgentUnavailable, "agents run on the daemon's machine only")
                .detail("stage", "spawn"));
        }
        let bytes = checked_output_bytes(aside.max_output_bytes)?;
        let (shown, asked, kind) = words(session, &aside.what);
        let env = checked_env(aside.env)?;
        let mut spec = self.spec_beside(session, (aside.role, asked.clone()), &env, aside.working_dir)?;
        if let Program::Direct { reads, errors, .. } = &mut spec.program {
            *errors = aside.stderr;
            if aside.stdin == Stdin::Null {
                *reads = Reads::Nothing;
            }
        }
        let host = spec.id.clone();
        let execution = spec.execution(&shown, (self.engine.log(bytes), self.engine.log(bytes)));
        let gate = match aside.role {
            BesideRole::Agent => Gate::Open,
            BesideRole::Command => {
                let fresh = Fresh {
                    // The command is the agent's, and its session whoever's made that.
                    owner: &spec.owner,
                    session: Some(&session.spec.id),
                    terminal: None,
                    execution: Some(&execution.id),
                    name: session.spec.name.as_ref(),
                    case: spec.case.as_ref(),
                    command: &shown,
                    program: kind.map_or(Subject::Argv(asked), Subject::Text),
                    shell: None,
                    env: &env,
                    working_dir: &spec.working_dir,
                    boundary: spec.approval_boundary(),
                    mode: aside.approval,
                    plan: None,
                    redactor: &spec.redactor().unwrap_or_default(),
                    pinned: pinned_of(&spec),
                };
                self.gate(fresh, caller).await?
            }
        };
        let order = Order::direct(Arc::clone(&execution), aside.stdin, spec.timeout);
        if aside.role == BesideRole::Command {
            self.engine.executions.add(&execution);
        }
        let (manager, caller) = (Arc::clone(self), caller.clone());
        let (main, subject, place) = (Arc::clone(session), Arc::clone(&execution), host.clone());
        match gate {
            Gate::Open => {
                tokio::spawn(async move {
                    let up = manager.bring_up(spec, Some(order), &caller, Keeping::Passing).await;
                    if let Err(error) = up {
                        manager.engine.executions.refuse(&subject, error);
                    }
                    manager.end_with(&main, &subject, &place).await;
                });
            }
            Gate::Later(later) => {
                execution.ask(later.request.clone());
                tokio::spawn(async move {
                    manager.start_when_answered(spec, order, caller, later).await;
                    manager.end_with(&main, &subject, &place).await;
                });
            }
        }
        Ok((execution, host))
    }

    fn spec_beside(
        &self,
        session: &Session,
        (role, argv): (BesideRole, Vec<String>),
        env: &Env,
        working_dir: Option<String>,
    ) -> Result<Spec, Error> {
        let path = env.get("PATH").or(session.spec.env.get("PATH")).cloned().unwrap_or_default();
        let argv = plain_argv(argv, &path)?;
        let program = Program::direct(argv);
        let origin = &session.spec.origin;
        let dir = checked_dir(working_dir.as_ref().unwrap_or(&origin.root))?;
        let mut spec = session.spec.beside(role, program, dir);
        spec.env.extend(env.clone());
        let sandbox = self.engine.sandbox(Some(origin.sandbox.clone()), spec.id.as_str(), &origin.root)?;
        spec.confine(sandbox.into());
        Ok(spec)
    }

    /// It ends with the session it stands beside, however that ends.
    async fn end_with(&self, session: &Session, execution: &Execution, host: &SessionId) {
        tokio::select! {
            _ = execution.wait() => {}
            () = session.over() => self.end_beside(host, Manner::Forced).await,
        }
    }

    /// With everything it started.
    pub async fn end_beside(&self, host: &SessionId, manner: Manner) {
        let Ok(session) = self.find(host) else { return };
        let (reply, over) = oneshot::channel();
        let end = End {
            into: Ending::Terminated,
            manner,
            reason: "what it stood beside is over".into(),
            reply: Some(reply),
        };
        if session.send(Message::End(end)).await.is_ok() {
            let _ = over.await;
        }
    }

    /// Everything beside a session.
    pub async fn end_besides(&self, session: &SessionId) {
        let hosts: Vec<SessionId> = {
            let all = self.sessions();
            let beside = |s: &&Arc<Session>| s.spec.beside.as_ref().is_some_and(|b| b.session == *session);
            all.values().filter(beside).map(|s| s.spec.id.clone()).collect()
        };
        for host in hosts {
            self.end_beside(&host, Manner::Forced).await;
        }
    }

    /// Asks people for an agent. Resolves when they have been told.
    pub async fn ask_permission(
        &self,
        session: &Session,
        permission: Permission,
        shown: String,
    ) -> Result<Asked, Error> {
        let spec = &session.spec;
        let rules = match session.rules() {
            Some(rules) => Arc::clone(rules),
            None => Rules::watched(&self.engine.book, spec.case.as_ref()),
        };
        let asking = Asking {
            request: RequestId::random(),
            checkpoint: None,
            session: Some(spec.id.clone()),
            terminal: None,
            execution: None,
            session_name: spec.name.clone(),
            owner: Arc::clone(&spec.owner),
            origin: spec.id.as_str().into(),
            question: Question { judgement: Judgement::asked(&shown), executables: Vec::new() },
            command: shown,
            working_dir: spec.origin.root.clone(),
            root: spec.origin.root.clone(),
            boundary: spec.approval_boundary(),
            rules,
            subject: Subject::Permission,
            env: Env::default(),
            alone: true,
            mode: Approval::Wait,
            plan: None,
            redactor: spec.redactor().unwrap_or_default(),
            permission: Some(permission),
        };
        self.engine.records.handed_on().await;
        self.engine.desk.ask(asking).await
    }
}

/// What is shown of it, what is run, and how its text is read.
fn words(session: &Session, what: &What) -> (String, Vec<String>, Option<Kind>) {
    match what {
        What::Argv(argv) => (argv.join(" "), argv.clone(), None),
        What::Text(text) => {
            let (shell, kind) = match &session.spec.program {
                Program::Shell { path, kind } => (path.display().to_string(), *kind),
                Program::Direct { .. } => (USUAL_SHELL.into(), Kind::Dash),
            };
            (text.clone(), vec![shell, "-c".into(), text.clone()], Some(kind))
        }
    }
}
