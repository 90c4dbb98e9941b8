//! What a session was asked to be, resolved and checked: from here on nothing about it can be invalid.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trl_proto::far::Resolved;
use trl_proto::hitl::ApprovalBoundary;
use trl_proto::limits::Limits;
use trl_proto::runtime::HOST;
use trl_proto::sandbox::SandboxParams;
use trl_proto::session::{CreateParams, OnExit, Renewal};
use trl_proto::start::{StderrTo, Umask};
use trl_proto::{Error, ErrorCode, ExecutionId, SessionId};
use trl_store::redact::{Redactor, is_secret_name};
use zeroize::Zeroizing;

use crate::approval;
use crate::approval::pin::FirstStart;
use crate::case::Case;
use crate::env::{Env, Inherited};
use crate::execution::{Execution, Place};
use crate::limits::asked::{Widening, resolve as resolve_limits};
use crate::output::Log;
use crate::runtime::Runtime;
use crate::sandbox::Boundary;
use crate::settings::Settings;
use crate::shell::kind::{Kind, find_program};
use crate::shell::wrap::valid_name;
use crate::terminal::spec::checked_workspace;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    Shell { kind: Kind, path: PathBuf },
    Direct { argv: Vec<String>, reads: Reads, errors: StderrTo, umask: Umask },
}

impl Program {
    /// A program on pipes of its own, with what is usual.
    pub fn direct(argv: Vec<String>) -> Self {
        Self::Direct { argv, reads: Reads::Fifo, errors: StderrTo::default(), umask: Umask::default() }
    }
}

/// What a direct command has as stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Fifo,
    Nothing,
}

#[derive(Debug)]
pub struct Spec {
    pub id: SessionId,
    /// Who made it, by the name of the caller.
    pub owner: Arc<str>,
    pub name: Option<String>,
    /// What it was created from, as it was then.
    pub case: Option<Arc<Case>>,
    pub workspace: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub program: Program,
    /// Base, passed and session variables; secrets stand apart.
    pub env: Env,
    pub secrets: Secrets,
    pub working_dir: String,
    pub timeout: Duration,
    pub on_exit: OnExit,
    pub renewal: Renewal,
    /// What its programs may use; as asked for until it is [within the settings](Spec::within_settings).
    pub limits: Limits,
    pub sandbox: Boundary,
    /// Where its processes live, when that is not here.
    pub elsewhere: Option<Elsewhere>,
    pub origin: Arc<Origin>,
    /// It is no session of its own: it stands beside one, and ends with it.
    pub beside: Option<Beside>,
    /// What its program was approved as.
    pub pin: FirstStart,
}

/// What a process beside a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub session: SessionId,
    pub role: BesideRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideRole {
    /// Its agent, which is nobody's command.
    Agent,
    /// A command of its agent.
    Command,
}

/// A runtime, and what it is to this machine.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    pub runtime: Arc<Runtime>,
    /// What runs there cannot reach this daemon: it is another machine, a container, or another user.
    pub is_apart: bool,
}

/// As it was asked for: what another daemon needs to make it again.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Its own variables.
    pub env: Env,
    /// Names of those it takes from the daemon.
    pub pass_env: Vec<String>,
    /// The boundary that was asked for, or that was the usual one then.
    pub sandbox: SandboxParams,
    /// The directory that is drawn around.
    pub root: String,
    /// The case it was made from.
    pub case_id: Option<String>,
    /// The runtime it lives in, when that is not here.
    pub runtime: Option<String>,
}

/// Values that are never shown, logged or kept after the session. Their names stay.
#[derive(Default)]
pub struct Secrets {
    names: Vec<String>,
    values: Mutex<BTreeMap<String, Zeroizing<String>>>,
}

impl Secrets {
    pub fn new(env: Env) -> Self {
        let names = env.keys().cloned().collect();
        let values = env.into_iter().map(|(k, v)| (k, Zeroizing::new(v))).collect();
        Self { names, values: Mutex::new(values) }
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    /// Whether this is the value of a secret; None for a name that is none.
    pub fn is(&self, name: &str, value: &[u8]) -> Option<bool> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(name).map(|known| known.as_bytes() == value)
    }

    /// Names alone: whoever opens the session gives the values again.
    pub fn named(names: Vec<String>) -> Self {
        Self { names, values: Mutex::default() }
    }

    /// Takes them out of whatever is kept.
    pub fn redactor(&self) -> Redactor {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        Redactor::new(values.values().map(|value| value.as_str()))
    }

    /// The same for those that only their names give away, too; None when there is none of either.
    pub fn redactor_with<'a>(&self, env: impl Iterator<Item = (&'a String, &'a String)>) -> Option<Redactor> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let named = env.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.as_str());
        let mut all = values.values().map(|value| value.as_str()).chain(named).peekable();
        all.peek().is_some().then(|| Redactor::new(all))
    }

    /// What must be found wherever it stands, to be left out there.
    pub fn reveal(&self) -> Vec<(String, Zeroizing<String>)> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The session has ended: they are overwritten.
    pub fn forget(&self) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.names.len())
    }
}

/// Longer names and labels are data in the wrong place.
const MAX_NAME: usize = 256;

impl Spec {
    pub fn resolve(
        params: CreateParams,
        owner: &Arc<str>,
        inherited: &Inherited,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let origin = Origin {
            env: params.env.clone().unwrap_or_default(),
            pass_env: params.pass_env.clone().unwrap_or_default(),
            ..Origin::default()
        };
        let asked = Asked {
            pass_env: params.pass_env,
            env: params.env,
            secret_env: params.secret_env,
            working_dir: params.working_dir,
        };
        let Home { env, secrets, working_dir } = asked.resolve(inherited, settings, &[])?;
        let path_var = env.get("PATH").cloned().unwrap_or_default();
        let direct = params.argv.is_some();
        let program = program(params.shell, params.argv, &path_var)?;
        let default_timeout = if direct { Duration::ZERO } else { settings.command_timeout };
        Ok(Self {
            id: SessionId::random(),
            owner: Arc::clone(owner),
            name: checked_name(params.name)?,
            case: None,
            workspace: checked_workspace(params.workspace_id)?,
            labels: params.labels.unwrap_or_default(),
            program,
            env,
            secrets,
            timeout: seconds(params.timeout_s, "timeout_s")?.unwrap_or(default_timeout),
            on_exit: params.on_exit.unwrap_or_default(),
            renewal: params.renewal.unwrap_or_default(),
            limits: params.limits.unwrap_or_default(),
            sandbox: Boundary::None,
            elsewhere: None,
            origin: Arc::new(Origin { root: working_dir.clone(), ..origin }),
            beside: None,
            pin: FirstStart::default(),
            working_dir,
        })
    }

    /// One that lives elsewhere, with what the engine there knows of it.
    pub fn found(
        params: CreateParams,
        owner: &Arc<str>,
        found: Resolved,
        elsewhere: Elsewhere,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let Resolved { kind, argv, env, working_dir, sandbox } = found;
        let (program, default_timeout) = match kind.as_deref().and_then(Kind::named) {
            Some(kind) => {
                let path = argv.into_iter().next().unwrap_or_default().into();
                (Program::Shell { kind, path }, settings.command_timeout)
            }
            None => (Program::direct(argv), Duration::ZERO),
        };
        Ok(Self {
            id: SessionId::random(),
            owner: Arc::clone(owner),
            name: checked_name(params.name)?,
            case: None,
            workspace: checked_workspace(params.workspace_id)?,
            labels: params.labels.unwrap_or_default(),
            program,
            env,
            secrets: Secrets::new(checked_env(params.secret_env.unwrap_or_default())?),
            timeout: seconds(params.timeout_s, "timeout_s")?.unwrap_or(default_timeout),
            on_exit: params.on_exit.unwrap_or_default(),
            renewal: params.renewal.unwrap_or_default(),
            limits: params.limits.unwrap_or_default(),
            sandbox: sandbox.into(),
            origin: Arc::new(Origin {
                env: params.env.unwrap_or_default(),
                pass_env: params.pass_env.unwrap_or_default(),
                root: working_dir.clone(),
                runtime: Some(elsewhere.runtime.name.to_string()),
                ..Origin::default()
            }),
            elsewhere: Some(elsewhere),
            beside: None,
            pin: FirstStart::default(),
            working_dir,
        })
    }

    /// With the limits that hold for whoever asked for it.
    pub fn within_settings(self, settings: &Settings, widening: Widening) -> Result<Self, Error> {
        let allowed = self.case.as_ref().map_or(settings.limits, |case| case.limits(&settings.limits));
        let limits = resolve_limits(self.limits, &allowed, widening)?;
        Ok(Self { limits, ..self })
    }

    /// What another daemon needs to make it again, now that it is known.
    pub fn remember(&mut self, sandbox: SandboxParams) {
        let case_id = self.case_id().map(String::from);
        let origin = Arc::make_mut(&mut self.origin);
        origin.sandbox = sandbox;
        origin.case_id = case_id;
    }

    /// Takes the name and the case it was resolved under.
    pub fn adopt(&mut self, id: SessionId, case: Option<Arc<Case>>) {
        self.env.extend(case.iter().flat_map(|case| case.variables(id.as_str())));
        self.id = id;
        self.case = case;
    }

    pub fn case_id(&self) -> Option<&str> {
        self.case.as_ref().map(|case| case.id.as_str())
    }

    /// A session idle for this long is closed; zero is never.
    pub fn idle_ttl(&self, settings: &Settings) -> Duration {
        self.ttl(|case| case.spec.idle_ttl_s).unwrap_or(settings.idle_ttl)
    }

    /// One this old is closed whatever it does; zero is never.
    pub fn absolute_ttl(&self, settings: &Settings) -> Duration {
        self.ttl(|case| case.spec.absolute_ttl_s).unwrap_or(settings.absolute_ttl)
    }

    fn ttl(&self, of: impl Fn(&Case) -> Option<f64>) -> Option<Duration> {
        let asked = self.case.as_deref().and_then(of);
        seconds(asked, "a time of the case").ok().flatten()
    }

    /// The same session again, where it was when it closed.
    pub fn reopened(&self, working_dir: String, secrets: Secrets) -> Self {
        Self {
            id: self.id.clone(),
            owner: Arc::clone(&self.owner),
            name: self.name.clone(),
            case: self.case.clone(),
            workspace: self.workspace.clone(),
            labels: self.labels.clone(),
            program: self.program.clone(),
            env: self.env.clone(),
            secrets,
            working_dir,
            timeout: self.timeout,
            on_exit: self.on_exit,
            renewal: self.renewal,
            limits: self.limits,
            sandbox: self.sandbox.clone(),
            elsewhere: self.elsewhere.clone(),
            origin: Arc::clone(&self.origin),
            beside: self.beside.clone(),
            pin: FirstStart::default(),
        }
    }

    /// A program with all that this session has, in a place of its own. Its boundary is still to be drawn.
    pub fn beside(&self, role: BesideRole, program: Program, working_dir: String) -> Self {
        let secrets = self.secrets.reveal().into_iter().map(|(name, value)| (name, value.to_string()));
        let mut spec = self.reopened(working_dir, Secrets::new(secrets.collect()));
        spec.id = SessionId::random();
        spec.name = None;
        spec.program = program;
        spec.timeout = Duration::ZERO;
        spec.on_exit = OnExit::default();
        spec.beside = Some(Beside { session: self.id.clone(), role });
        spec
    }

    /// The session it is told of as.
    pub fn told_as(&self) -> &SessionId {
        self.beside.as_ref().map_or(&self.id, |beside| &beside.session)
    }

    /// An agent itself.
    pub fn is_agent(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.role == BesideRole::Agent)
    }

    /// A command of this session.
    pub fn execution(&self, command: &str, logs: (Arc<Log>, Arc<Log>)) -> Arc<Execution> {
        let place = match &self.beside {
            None => Place::Session(self.id.clone()),
            Some(beside) => Place::Beside { session: beside.session.clone(), host: self.id.clone() },
        };
        Execution::new(place, Arc::clone(&self.owner), command, logs, self.sandbox.clone())
    }

    /// Draws a boundary around all it will start.
    pub fn confine(&mut self, sandbox: Boundary) {
        self.env.extend(sandbox.here().iter().flat_map(|s| s.variables()));
        self.sandbox = sandbox;
    }

    /// The same under the id it had in an earlier daemon.
    pub fn execution_again(
        &self,
        id: Option<ExecutionId>,
        command: &str,
        logs: (Arc<Log>, Arc<Log>),
    ) -> Arc<Execution> {
        let place = Place::Session(self.id.clone());
        let sandbox = self.sandbox.clone();
        Execution::fresh(place, Arc::clone(&self.owner), command, logs, sandbox).known_as(id)
    }

    /// Takes its secrets out of whatever is kept: those it was given as such, and what is called like one.
    pub fn redactor(&self) -> Option<Redactor> {
        self.secrets.redactor_with(self.env.iter())
    }

    /// The same, with the variables of one command; None when those add nothing.
    pub fn redactor_for(&self, env: &Env) -> Option<Redactor> {
        let adds = env.keys().any(|name| is_secret_name(name));
        adds.then(|| self.secrets.redactor_with(self.env.iter().chain(env))).flatten()
    }

    /// `KEY=value` items for execve, in this directory.
    pub fn environ(&self, cwd: &str) -> Vec<Vec<u8>> {
        environ(&self.env, &self.secrets, cwd)
    }

    pub fn env_keys(&self) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.env.keys().chain(self.secrets.names()).collect();
        names.into_iter().cloned().collect()
    }

    /// Can a command get round the rules?
    pub fn approval_boundary(&self) -> ApprovalBoundary {
        let apart = self.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.is_apart);
        approval::boundary(&self.sandbox, apart)
    }

    /// Also of one that is not there any more.
    pub fn runtime_name(&self) -> &str {
        self.origin.runtime.as_deref().unwrap_or(HOST)
    }

    /// The kind of its shell, if it has one.
    pub fn shell(&self) -> Option<Kind> {
        match &self.program {
            Program::Shell { kind, .. } => Some(*kind),
            Program::Direct { .. } => None,
        }
    }

    /// What `shell` shows.
    pub fn program_name(&self) -> String {
        match &self.program {
            Program::Shell { path, .. } => path.display().to_string(),
            Program::Direct { argv, .. } => argv.first().cloned().unwrap_or_default(),
        }
    }
}

/// What is asked of where a program lives, whether it is a session's or a terminal's.
pub struct Asked {
    pub pass_env: Option<Vec<String>>,
    pub env: Option<Env>,
    pub secret_env: Option<Env>,
    pub working_dir: Option<String>,
}

/// Where a program lives.
pub struct Home {
    /// Base, passed and own variables.
    pub env: Env,
    pub secrets: Secrets,
    pub working_dir: String,
}

impl Asked {
    /// `usual` stands above the base and below what was asked for.
    pub fn resolve(
        self,
        inherited: &Inherited,
        settings: &Settings,
        usual: &[(&str, &str)],
    ) -> Result<Home, Error> {
        let mut pass = settings.pass_env.clone();
        pass.extend(self.pass_env.unwrap_or_default());
        let mut env = inherited.base(&pass);
        env.extend(usual.iter().map(|(k, v)| (k.to_string(), v.to_string())));
        env.extend(checked_env(self.env.unwrap_or_default())?);
        let secrets = Secrets::new(checked_env(self.secret_env.unwrap_or_default())?);
        let working_dir = match self.working_dir {
            Some(dir) => checked_dir(&dir)?,
            None => env.get("HOME").and_then(|home| checked_dir(home).ok()).unwrap_or_else(|| "/".into()),
        };
        Ok(Home { env, secrets, working_dir })
    }
}

/// `KEY=value` items for execve; secrets win, and `PWD` is where it really begins.
pub fn environ(env: &Env, secrets: &Secrets, cwd: &str) -> Vec<Vec<u8>> {
    let mut all: BTreeMap<&str, &str> = env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let secrets = secrets.values.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(secrets.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    all.insert("PWD", cwd);
    all.into_iter().map(|(k, v)| format!("{k}={v}").into_bytes()).collect()
}

fn program(shell: Option<String>, argv: Option<Vec<String>>, path_var: &str) -> Result<Program, Error> {
    if let Some(argv) = argv {
        if shell.is_some() {
            return Err(Error::invalid("`shell` and `argv` exclude each other"));
        }
        return Ok(Program::direct(plain_argv(argv, path_var)?));
    }
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    let path = find(&shell, path_var)?;
    let kind = Kind::detect(&path).ok_or_else(|| {
        Error::new(ErrorCode::ShellNotFound, format!("{shell} is not a shell this daemon can drive"))
            .hint("dash, bash, zsh, busybox ash, fish and ksh93 are; any other program runs with `argv`")
    })?;
    Ok(Program::Shell { kind, path })
}

/// The words of a direct command, its program found.
pub fn plain_argv(mut argv: Vec<String>, path_var: &str) -> Result<Vec<String>, Error> {
    if argv.iter().any(|a| a.contains('\0')) {
        return Err(Error::invalid("`argv` contains a NUL character"));
    }
    let first = argv.first().ok_or_else(|| Error::invalid("`argv` is empty"))?;
    argv[0] = find(first, path_var)?.display().to_string();
    Ok(argv)
}

pub fn find(name: &str, path_var: &str) -> Result<PathBuf, Error> {
    find_program(name, path_var).ok_or_else(|| {
        Error::new(ErrorCode::ShellNotFound, format!("{name} is not an executable file"))
            .hint("give an absolute path, or a name that is on PATH")
    })
}

pub fn checked_env(env: Env) -> Result<Env, Error> {
    for (name, value) in &env {
        if !valid_name(name) {
            return Err(Error::invalid(format!("{name:?} is not a variable name"))
                .hint("letters, digits and underscores, not starting with a digit"));
        }
        if value.contains('\0') {
            return Err(Error::invalid(format!("the value of {name} contains a NUL character")));
        }
    }
    Ok(env)
}

pub fn checked_dir(dir: &str) -> Result<String, Error> {
    let refuse = |why: &str| Error::new(ErrorCode::WorkingDirInvalid, format!("{dir} {why}"));
    let path = Path::new(dir);
    if dir.contains('\0') || !path.is_absolute() {
        return Err(refuse("is not an absolute path"));
    }
    match std::fs::metadata(path) {
        Err(e) => Err(refuse(&format!("cannot be used: {e}"))),
        Ok(meta) if !meta.is_dir() => Err(refuse("is not a directory")),
        Ok(_) if rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() => {
            Err(refuse("may not be entered"))
        }
        Ok(_) => Ok(dir.to_string()),
    }
}

/// Names are for people, who also give them where an id could stand.
pub fn checked_name(name: Option<String>) -> Result<Option<String>, Error> {
    let fault = match name.as_deref() {
        None => None,
        Some(name) if name.trim().is_empty() => Some("is blank".to_string()),
        Some(name) if name.len() > MAX_NAME => Some(format!("is longer than {MAX_NAME} bytes")),
        Some(name) if name.contains(char::is_control) => Some("contains a control character".into()),
        Some(name) if ["s-", "e-", "t-"].iter().any(|id| name.starts_with(id)) => {
            Some(format!("is {name:?}, which looks like an id"))
        }
        Some(_) => None,
    };
    match fault {
        Some(fault) => Err(Error::invalid(format!("`name` {fault}"))),
        None => Ok(name),
    }
}

/// A number of seconds from a request; zero means none, years are refused.
pub fn seconds(value: Option<f64>, field: &str) -> Result<Option<Duration>, Error> {
    let longest = trl_proto::LONGEST.as_secs_f64();
    match value {
        None => Ok(None),
        Some(s) if (0.0..=longest).contains(&s) => Ok(Some(Duration::from_secs_f64(s))),
        Some(s) => Err(Error::invalid(format!("`{field}` is {s}; it must be between 0 and {longest}"))),
    }
}
