//! Fresh processes and terminals: judged before they start, and started when a person has said yes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use trl_proto::exec::Approval;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, Executable, RespondParams, Verdict};
use trl_proto::runtime::{HOST, RuntimeWish};
use trl_proto::session::{CreateParams, SessionState};
use trl_proto::{CheckpointId, Error, ErrorCode, ExecutionId, RequestId, SessionId, TerminalId};
use trl_store::redact::Redactor;

use super::executions::{Judging, Standing};
use super::{Caller, CaseWish, Manager};
use crate::approval::pin::{self, FirstStart, Pinned, Wanted};
use crate::approval::rules::{Around, At};
use crate::approval::{
    Answer, Asked, Asking, Detached, Doubt, Elsewhere, Judgement, Plan, Question, Rules, Subject, denied,
    refusal, required,
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
    /// Who may see the request.
    pub(super) owner: &'a Arc<str>,
    pub(super) session: Option<&'a SessionId>,
    pub(super) terminal: Option<&'a TerminalId>,
    pub(super) execution: Option<&'a ExecutionId>,
    pub(super) name: Option<&'a String>,
    pub(super) case: Option<&'a Arc<Case>>,
    /// As it is shown.
    pub(super) command: &'a str,
    /// How it is judged.
    pub(super) program: Subject,
    /// The program that reads text, or that a session is to be.
    pub(super) shell: Option<&'a Path>,
    /// Variables of its own.
    pub(super) env: &'a Env,
    pub(super) working_dir: &'a str,
    pub(super) boundary: ApprovalBoundary,
    pub(super) mode: Approval,
    /// How to start it when this daemon is gone.
    pub(super) plan: Option<Plan>,
    /// Knows its secrets.
    pub(super) redactor: &'a Redactor,
    /// What it is started as, where that can be known here.
    pub(super) pinned: Option<(Wanted, &'a FirstStart)>,
}

/// A change to a file.
pub struct Write<'a> {
    /// Whose files they are, where that is a session.
    pub session: Option<&'a Session>,
    /// Where those are.
    pub root: String,
    pub path: String,
    /// As a person sees it.
    pub shown: String,
    pub rules: Arc<Rules>,
    pub judgement: Judgement,
    pub mode: Approval,
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
    /// What was shown of its files.
    shown: Option<(Wanted, Vec<Executable>)>,
}

impl Manager {
    /// A person's answer. A command nobody waits for any more is run on a yes, in its session, opened for it.
    pub async fn respond(
        self: &Arc<Self>,
        params: RespondParams,
        by: &str,
    ) -> Result<ApprovalRequest, Error> {
        let (request, detached) = self.engine.desk.respond(params, by, &**self).await?;
        if let Some(detached) = detached {
            let manager = Arc::clone(self);
            tokio::spawn(async move { manager.run_detached(detached).await });
        }
        Ok(request)
    }

    /// An execution that is not in the history: it may be one that a person was asked about.
    pub async fn asked_about(&self, id: &ExecutionId) -> Result<Option<(Arc<str>, ApprovalRequest)>, Error> {
        self.engine.desk.of_execution(id).await
    }

    /// Can the session be opened without anybody's help? What its shell had of secrets is not in its checkpoint.
    async fn may_run_detached(
        &self,
        request: &ApprovalRequest,
        checkpoint: Option<&CheckpointId>,
    ) -> Result<(), Error> {
        let Some(id) = &request.session_id else { return Err(Error::invalid("its terminal is gone")) };
        let session = self.find(id)?;
        let resident = !matches!(session.state(), SessionState::Closed | SessionState::Uninitialized);
        if resident {
            return Ok(());
        }
        let from = self.last_state(&session, checkpoint).await;
        let left_out = from.iter().flat_map(|from| from.spared());
        let left_out = left_out.map(|name| String::from_utf8_lossy(&name).into_owned());
        let names: BTreeSet<String> = session.spec.secrets.names().cloned().chain(left_out).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = names.into_iter().collect();
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
    pub(super) async fn gate_session(
        &self,
        spec: &Spec,
        given: &Given,
        mode: Approval,
        caller: &Caller,
    ) -> Result<Gate, Error> {
        let (shown, program, shell) = match &spec.program {
            Program::Shell { path, .. } => {
                (format!("session.create {}", path.display()), Subject::Shell, Some(path))
            }
            Program::Direct { argv, .. } => {
                (argv.join(" "), Subject::Argv(given.argv.clone().unwrap_or_else(|| argv.clone())), None)
            }
        };
        let fresh = Fresh {
            owner: &caller.name,
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
            mode,
            plan: None,
            redactor: &spec.redactor().unwrap_or_default(),
            pinned: pinned_of(spec),
        };
        self.gate(fresh, caller).await
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
            standing: Standing::Outside,
        };
        let outcome = match detached.plan {
            Plan { start: Some(start), .. } => self.start_approved(start, &request, &caller).await,
            plan => match self.open(&id, None, &caller, detached.checkpoint.as_ref()).await {
                Ok(session) => self.order_approved(&session, &request, plan).await,
                Err(error) => Err(error),
            },
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
        // Somebody may have opened the session and gone on since: it runs where it was said to.
        let moved = session.public().working_dir != request.working_dir;
        let elsewhere = moved.then(|| request.working_dir.clone());
        let order = Order {
            execution: Arc::clone(&execution),
            around: Surroundings { env: plan.env, working_dir: plan.working_dir.or(elsewhere) },
            stdin: Stdin::Null,
            timeout: seconds(Some(plan.timeout_s), "timeout_s")?.unwrap_or(session.spec.timeout),
            busy: WhenBusy::Queue,
            received: Instant::now(),
            tries: 0,
            clearance: Clearance {
                mode: Approval::Return,
                standing: Standing::Outside,
                origin: request.origin.as_str().into(),
                approved: Some(match edited {
                    None => Approved::Shown(request.executables.clone()),
                    Some(_) => Approved::Edited,
                }),
                request: Some(request.request_id.clone()),
                judgement: None,
                lookup: None,
                probe_for: None,
            },
            beginning: None,
        };
        self.engine.executions.add(&execution);
        session.send(Message::Run(Box::new(order))).await
    }

    /// A change to a file that the rules do not simply allow. Resolves when people have been told.
    pub async fn ask_about_write(&self, write: Write<'_>, caller: &Caller) -> Result<Asked, Error> {
        let session = write.session.map(|session| &session.spec);
        let redactor = session.and_then(Spec::redactor).unwrap_or_default();
        let judgement = write.judgement;
        if judgement.verdict == Verdict::Deny {
            let command = (write.shown.as_str(), &redactor);
            self.engine.desk.audit().denied(session.map(|spec| &spec.id), command, &judgement);
            return Err(denied(&judgement));
        }
        if write.mode == Approval::Fail {
            return Err(required(&judgement));
        }
        let asking = Asking {
            request: RequestId::random(),
            checkpoint: None,
            session: session.map(|spec| spec.id.clone()),
            terminal: None,
            execution: None,
            session_name: session.and_then(|spec| spec.name.clone()),
            owner: session.map_or_else(|| Arc::clone(&caller.name), |spec| Arc::clone(&spec.owner)),
            origin: Arc::clone(&caller.name),
            command: write.shown,
            working_dir: write.root.clone(),
            root: write.root,
            boundary: session.map_or(ApprovalBoundary::Advisory, Spec::approval_boundary),
            question: Question { judgement, executables: Vec::new() },
            rules: write.rules,
            subject: Subject::Write(write.path),
            env: Env::default(),
            alone: true,
            mode: write.mode,
            plan: None,
            redactor,
            permission: None,
        };
        self.engine.records.handed_on().await;
        self.engine.desk.ask(asking).await
    }

    /// Asks the rules, and people if the rules say so. Resolves when they have been told.
    pub(super) async fn gate(&self, fresh: Fresh<'_>, caller: &Caller) -> Result<Gate, Error> {
        let Some(rules) = self.rules_for(caller, fresh.case) else { return Ok(Gate::Open) };
        let around = Around { cwd: fresh.working_dir, root: fresh.working_dir, env: fresh.env };
        let mut judgement = rules.judge_subject(&fresh.program, around, fresh.command);
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
                let (mut executables, mut pin, mut shown) = (Vec::new(), None, None);
                if let Some((wanted, _)) = &fresh.pinned {
                    let mut wanted = wanted.clone();
                    if matches!(fresh.program, Subject::Text(_)) {
                        wanted.names.extend(judgement.names.iter().cloned());
                    }
                    let found = Pinned::take(wanted.clone()).await;
                    (executables, pin) = (found.executables.clone(), Some(found.pin));
                    shown = Some((wanted, found.executables));
                }
                let question = Question { judgement, executables };
                let asked = self.engine.desk.ask(asking(&fresh, question, rules, caller)).await?;
                Ok(match asked {
                    Asked::Granted => {
                        if let (Some(pin), Some((_, start))) = (pin, &fresh.pinned) {
                            start.set(pin);
                        }
                        Gate::Open
                    }
                    Asked::Recorded { request, answer } => Gate::Later(Later { request, answer, shown }),
                })
            }
        }
    }
}

impl Elsewhere for Manager {
    /// By the rules of its session, or by those for everything when that is gone.
    async fn judge(&self, request: &ApprovalRequest) -> Judgement {
        if request.permission.is_some() {
            return Judgement::asked(&request.command);
        }
        if let Some(id) = &request.session_id {
            self.recalled().await;
            self.remember(id).await;
        }
        let session = request.session_id.as_ref().and_then(|id| self.find(id).ok());
        let spec = session.as_ref().map(|session| &session.spec);
        let rules = match &session {
            Some(session) => session.rules_in_force(),
            None => Rules::of(&self.engine.book, None),
        };
        let Some(rules) = rules else { return Judgement::allowed() };
        let shell = spec.and_then(|spec| spec.shell()).unwrap_or(Kind::Dash);
        let root = spec.map_or(&request.working_dir, |spec| &spec.working_dir);
        let at = At { shell, cwd: &request.working_dir, root, env: &Env::default() };
        rules.judge(at, &request.command)
    }

    async fn may_run(&self, request: &ApprovalRequest, from: Option<&CheckpointId>) -> Result<(), Error> {
        if let Some(id) = &request.session_id {
            self.recalled().await;
            self.remember(id).await;
        }
        self.may_run_detached(request, from).await
    }
}

impl Later {
    /// Until a person has said yes, or why not. The start is held to what was shown.
    pub(super) async fn wait(mut self, start: &FirstStart) -> Result<(), Error> {
        match (&mut self.answer).await.unwrap_or(Answer::Cancelled) {
            Answer::Approved { command } => self.hold(start, command.is_some()).await,
            no => Err(refusal(&self.request, no)),
        }
    }

    /// Holds the start to what was shown; to the program and the directory alone where the approver `edited` the text.
    pub(super) async fn hold(&self, start: &FirstStart, edited: bool) -> Result<(), Error> {
        if let Some((wanted, shown)) = &self.shown {
            start.set(pin::check(shown, wanted.clone(), edited).await?);
        }
        Ok(())
    }
}

/// What an approval of a session's program, or of a fresh process, is about. None where that is on another machine.
pub(super) fn pinned_of(spec: &Spec) -> Option<(Wanted, &FirstStart)> {
    let program = match &spec.program {
        Program::Shell { path, .. } => path.display().to_string(),
        Program::Direct { argv, .. } => argv.first()?.clone(),
    };
    spec.elsewhere.is_none().then(|| (wanted(program, &spec.working_dir, &spec.env), &spec.pin))
}

pub(super) fn wanted(program: String, working_dir: &str, env: &Env) -> Wanted {
    let path = env.get("PATH").cloned().unwrap_or_default();
    Wanted { names: vec![program], working_dir: working_dir.into(), path }
}

/// What a request brings for a session, before its case has added anything.
pub(super) struct Given {
    /// Variables, secret ones too; their values do not matter.
    env: Env,
    argv: Option<Vec<String>>,
}

/// Variables that come with something, and what else decides which of them change anything.
pub(super) struct Brought<'a> {
    pub(super) env: Option<&'a Env>,
    pub(super) secret: Option<&'a Env>,
    pub(super) case: Option<&'a Case>,
    pub(super) runtime: Option<&'a RuntimeWish>,
}

impl Manager {
    /// The names of variables that come with something. One that says what is so anyhow changes nothing: what everything
    /// here gets, such as PATH, and what the daemon itself was started with. What is so elsewhere is not known here.
    pub(super) fn names_of(&self, brought: &Brought<'_>) -> Env {
        let inherited = &self.engine.inherited;
        let here = brought.runtime.and_then(RuntimeWish::name) == Some(HOST);
        let base = inherited.base(&self.engine.settings.pass_env);
        let of_case = brought.case.and_then(|case| case.spec.env.as_ref());
        let is_so = |name: &str, value: &str| {
            let usual = base.get(name).map(String::as_str).or_else(|| inherited.get(name));
            here && usual == Some(value) && of_case.is_none_or(|env| !env.contains_key(name))
        };
        let all = brought.env.into_iter().chain(brought.secret).flatten();
        all.filter(|(name, value)| !is_so(name, value))
            .map(|(name, _)| (name.clone(), String::new()))
            .collect()
    }

    /// What a request for a session brings.
    pub(super) fn given_by(&self, params: &CreateParams) -> Result<Given, Error> {
        let case = self.case_for(CaseWish::of(params))?;
        let env = self.names_of(&Brought {
            env: params.env.as_ref(),
            secret: params.secret_env.as_ref(),
            case: case.as_deref(),
            runtime: params.runtime.as_ref(),
        });
        Ok(Given { env, argv: params.argv.clone() })
    }
}

/// A shell that did not come with the system may be any program.
fn odd_shell(shell: &Path) -> Option<Doubt> {
    const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store"];
    let real = shell.canonicalize().unwrap_or_else(|_| shell.into());
    let usual = SYSTEM.iter().any(|dir| real.starts_with(dir));
    (!usual).then(|| Doubt { name: None, why: format!("{} is no shell of the system", shell.display()) })
}

fn asking(fresh: &Fresh<'_>, question: Question, rules: Arc<Rules>, caller: &Caller) -> Asking {
    Asking {
        request: RequestId::random(),
        checkpoint: None,
        session: fresh.session.cloned(),
        terminal: fresh.terminal.cloned(),
        execution: fresh.execution.cloned(),
        session_name: fresh.name.cloned(),
        owner: Arc::clone(fresh.owner),
        origin: Arc::clone(&caller.name),
        command: fresh.command.into(),
        working_dir: fresh.working_dir.into(),
        root: fresh.working_dir.into(),
        boundary: fresh.boundary,
        question,
        rules,
        subject: fresh.program.clone(),
        env: fresh.env.clone(),
        alone: fresh.env.is_empty(),
        mode: fresh.mode,
        plan: fresh.plan.clone(),
        redactor: fresh.redactor.clone(),
        permission: None,
    }
}
