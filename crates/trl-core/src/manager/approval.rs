//! Fresh processes and terminals: judged before they start, and started when a person has said yes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use trl_proto::exec::Approval;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, RespondParams, Verdict};
use trl_proto::session::{CreateParams, SessionState};
use trl_proto::{Error, ErrorCode, ExecutionId, RequestId, SessionId, TerminalId};
use trl_store::redact::Redactor;

use super::executions::Judging;
use super::{Caller, Manager};
use crate::approval::rules::At;
use crate::approval::{
    Answer, Asked, Asking, Detached, Doubt, Judgement, Plan, Question, Rules, denied, refusal, required,
};
use crate::case::Case;
use crate::env::Env;
use crate::limits::asked::Widening;
use crate::session::handle::Session;
use crate::session::messages::{Approved, Clearance, Message, Order, Stdin};
use crate::session::spec::{Program, Spec, seconds};
use crate::session::state::WhenBusy;
use crate::shell::Kind;
use crate::shell::wrap::Surroundings;

/// What is to be started.
pub(super) struct Fresh<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) terminal: Option<&'a TerminalId>,
    pub(super) execution: Option<&'a ExecutionId>,
    pub(super) name: Option<&'a String>,
    pub(super) case: Option<&'a Arc<Case>>,
    /// As it is shown.
    pub(super) command: &'a str,
    pub(super) program: Judged<'a>,
    /// The program that reads text, or that a session is to be.
    pub(super) shell: Option<&'a Path>,
    /// Variables of its own.
    pub(super) env: &'a Env,
    pub(super) working_dir: &'a str,
    pub(super) boundary: ApprovalBoundary,
    pub(super) mode: Approval,
    /// Knows its secrets.
    pub(super) redactor: &'a Redactor,
}

/// How it is judged.
pub(super) enum Judged<'a> {
    /// As text, for this shell.
    Text(Kind),
    Argv(&'a [String]),
    /// On a terminal.
    Typed(&'a [String]),
    /// A shell that is asked about command by command: only how it is started matters now.
    Shell,
}

/// May it start?
pub(super) enum Gate {
    Open,
    /// When a person has answered.
    Later(Later),
}

/// An answer that is to come.
pub(super) struct Later {
    pub(super) request: RequestId,
    pub(super) answer: oneshot::Receiver<Answer>,
}

impl Manager {
    /// A person's answer. A command nobody waits for any more is run on a yes, in its session, opened for it.
    pub async fn respond(
        self: &Arc<Self>,
        params: RespondParams,
        by: &str,
    ) -> Result<ApprovalRequest, Error> {
        let may_run = async |request: &ApprovalRequest| {
            if let Some(id) = &request.session_id {
                self.recalled().await;
                self.remember(id).await;
            }
            self.may_run_detached(request)
        };
        let (request, detached) = self.engine.desk.respond(params, by, may_run).await?;
        if let Some(detached) = detached {
            let manager = Arc::clone(self);
            tokio::spawn(async move { manager.run_detached(detached).await });
        }
        Ok(request)
    }

    /// Can the session be opened without anybody's help?
    fn may_run_detached(&self, request: &ApprovalRequest) -> Result<(), Error> {
        let Some(id) = &request.session_id else { return Err(Error::invalid("its terminal is gone")) };
        let session = self.find(id)?;
        let resident = !matches!(session.state(), SessionState::Closed | SessionState::Uninitialized);
        let names: Vec<String> = session.spec.secrets.names().cloned().collect();
        if resident || names.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorCode::SecretsRequired, format!("the session needs {}", names.join(", ")))
            .hint("session.get with secret_env opens it; then approve")
            .detail("names", names))
    }

    pub(super) fn rules_for(&self, caller: &Caller, case: Option<&Arc<Case>>) -> Option<Arc<Rules>> {
        match caller.judging {
            Judging::ByRules => Rules::of(&self.engine.book, case),
            Judging::Exempt => None,
        }
    }

    /// A session is asked about before it is made when its program, its shell or its variables could do what no rule allows:
    /// later only its commands are looked at.
    pub(super) async fn clear_session(
        &self,
        spec: &Spec,
        given: &Given,
        caller: &Caller,
    ) -> Result<(), Error> {
        let (shown, program, shell) = match &spec.program {
            Program::Shell { path, .. } => {
                (format!("session.create {}", path.display()), Judged::Shell, Some(path))
            }
            Program::Direct { argv, .. } => {
                (argv.join(" "), Judged::Argv(given.argv.as_deref().unwrap_or(argv)), None)
            }
        };
        let fresh = Fresh {
            session: Some(&spec.id),
            terminal: None,
            execution: None,
            name: spec.name.as_ref(),
            case: spec.case.as_ref(),
            command: &shown,
            program,
            shell: shell.map(PathBuf::as_path),
            env: &given.env,
            working_dir: &spec.working_dir,
            boundary: spec.approval_boundary(),
            mode: Approval::Wait,
            redactor: &spec.secrets.redactor(),
        };
        match self.gate(fresh, caller).await? {
            Gate::Open => Ok(()),
            Gate::Later(later) => later.wait().await,
        }
    }

    async fn run_detached(self: &Arc<Self>, detached: Detached) {
        let request = detached.request;
        let Some(id) = request.session_id.clone() else { return };
        let caller = Caller {
            name: detached.owner,
            max_sessions: usize::MAX,
            max_own_sessions: usize::MAX,
            widening: Widening::Refused,
            judging: Judging::ByRules,
        };
        let opened = self.open(&id, None, &caller);
        let outcome = match opened {
            Ok(session) => self.order_approved(&session, &request, detached.plan).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::error!(requestId = %request.request_id, sessionId = %id, %error, "an approved command could not be run");
            self.engine.desk.ran(&request.request_id);
        }
    }

    async fn order_approved(
        &self,
        session: &Arc<Session>,
        request: &ApprovalRequest,
        plan: Plan,
    ) -> Result<(), Error> {
        let logs = (self.engine.log(None), self.engine.log(None));
        let execution = session.spec.execution_again(request.execution_id.clone(), &request.command, logs);
        let edited = request.resolution.as_ref().and_then(|r| r.command.clone());
        let order = Order {
            execution: Arc::clone(&execution),
            around: Surroundings { env: plan.env, working_dir: plan.working_dir },
            stdin: Stdin::Null,
            timeout: seconds(Some(plan.timeout_s), "timeout_s")?.unwrap_or(session.spec.timeout),
            busy: WhenBusy::Queue,
            received: Instant::now(),
            tries: 0,
            clearance: Clearance {
                mode: Approval::Return,
                origin: request.origin.as_str().into(),
                approved: Some(match edited {
                    None => Approved::Shown(request.executables.clone()),
                    Some(_) => Approved::Edited,
                }),
                request: Some(request.request_id.clone()),
                judgement: None,
                probe_for: None,
            },
        };
        self.engine.executions.add(&execution);
        session.send(Message::Run(Box::new(order))).await
    }

    /// Asks the rules, and people if the rules say so. Resolves when they have been told.
    pub(super) async fn gate(&self, fresh: Fresh<'_>, caller: &Caller) -> Result<Gate, Error> {
        let Some(rules) = self.rules_for(caller, fresh.case) else { return Ok(Gate::Open) };
        let mut judgement = match &fresh.program {
            Judged::Text(shell) => {
                let dir = fresh.working_dir;
                rules.judge(At { shell: *shell, cwd: dir, root: dir, env: fresh.env }, fresh.command)
            }
            Judged::Argv(argv) => rules.judge_argv(argv, fresh.env),
            Judged::Typed(argv) => rules.judge_terminal(argv, fresh.env),
            Judged::Shell => rules.judge_shell(fresh.command, fresh.env),
        };
        if let Some(doubt) = fresh.shell.and_then(odd_shell) {
            judgement.doubt(&[doubt]);
        }
        match judgement.verdict {
            Verdict::Allow => Ok(Gate::Open),
            Verdict::Deny => {
                let command = (fresh.command, fresh.redactor);
                self.engine.desk.audit().denied(fresh.session, command, &judgement);
                Err(denied(&judgement))
            }
            Verdict::Ask if fresh.mode == Approval::Fail => Err(required(&judgement)),
            Verdict::Ask => {
                let asked = self.engine.desk.ask(asking(&fresh, judgement, rules, caller)).await?;
                Ok(match asked {
                    Asked::Granted => Gate::Open,
                    Asked::Recorded { request, answer } => Gate::Later(Later { request, answer }),
                })
            }
        }
    }
}

impl Later {
    /// Until a person has said yes, or why not.
    pub(super) async fn wait(self) -> Result<(), Error> {
        match self.answer.await.unwrap_or(Answer::Cancelled) {
            Answer::Approved { .. } => Ok(()),
            no => Err(refusal(&self.request, no)),
        }
    }
}

/// What a request brings for a session, before its case has added anything.
pub(super) struct Given {
    /// Variables, secret ones too; their values do not matter.
    env: Env,
    argv: Option<Vec<String>>,
}

impl Given {
    pub(super) fn of(params: &CreateParams) -> Self {
        Self { env: names_of(params.env.as_ref(), params.secret_env.as_ref()), argv: params.argv.clone() }
    }
}

/// The names of variables that come with something.
pub(super) fn names_of(env: Option<&Env>, secret: Option<&Env>) -> Env {
    let names = env.into_iter().chain(secret).flat_map(|env| env.keys());
    names.map(|name| (name.clone(), String::new())).collect()
}

/// A shell that did not come with the system may be any program.
fn odd_shell(shell: &Path) -> Option<Doubt> {
    const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store"];
    let real = shell.canonicalize().unwrap_or_else(|_| shell.into());
    let usual = SYSTEM.iter().any(|dir| real.starts_with(dir));
    (!usual).then(|| Doubt { name: None, why: format!("{} is no shell of the system", shell.display()) })
}

fn asking(fresh: &Fresh<'_>, judgement: Judgement, rules: Arc<Rules>, caller: &Caller) -> Asking {
    Asking {
        session: fresh.session.cloned(),
        terminal: fresh.terminal.cloned(),
        execution: fresh.execution.cloned(),
        session_name: fresh.name.cloned(),
        owner: Arc::clone(&caller.name),
        origin: Arc::clone(&caller.name),
        command: fresh.command.into(),
        working_dir: fresh.working_dir.into(),
        root: fresh.working_dir.into(),
        boundary: fresh.boundary,
        question: Question { judgement, executables: Vec::new() },
        rules,
        shell: match fresh.program {
            Judged::Text(kind) => Some(kind),
            Judged::Argv(_) | Judged::Typed(_) | Judged::Shell => None,
        },
        mode: fresh.mode,
        plan: None,
        redactor: fresh.redactor.clone(),
    }
}
