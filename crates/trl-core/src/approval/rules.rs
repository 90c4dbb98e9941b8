//! The rules of one session: what people wrote, and what they answered.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trl_policy::{
    Place, RuleSet, Scene, ShellKind, Source, Trust, Typing, decide, judge_argv, judge_file_write,
    judge_terminal,
};
use trl_proto::Error;
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::{ApprovalRequest, Executable, Scope, Segment, Verdict};

use super::{Book, Doubt, Judgement, Subject, probe};
use crate::case::{self, Case};
use crate::env::Env;
use crate::session::spec::Spec;
use crate::shell::Kind;
use crate::shell::kind::find_program;

/// After this long without an answer a request is denied, unless the rules say otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The rules of a case; those that are lost ask about everything.
fn sources_of(case: &Case, spec: &ApprovalSpec) -> Vec<Source> {
    let trust = if case.is_trusted() { Trust::Full } else { Trust::NarrowOnly };
    let source = |spec| Source { name: case.source.display().to_string(), trust, spec };
    let lost = (case.trust == case::Trust::Lost)
        .then(|| source(Err("the file of the case is gone, and its rules are not on record".into())));
    lost.into_iter().chain([source(Ok(spec.clone()))]).collect()
}

/// What holds for one session.
#[derive(Debug)]
pub struct Rules {
    book: Arc<Book>,
    case: Option<Arc<Case>>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Compiled from the book as it was then.
    compiled: Option<(u64, Arc<RuleSet>)>,
    /// Said yes to until the session ends.
    granted: Vec<String>,
    /// What a person has seen a name stand for.
    seen: HashMap<String, Executable>,
}

impl Rules {
    /// None when nobody wrote any.
    pub fn of(book: &Arc<Book>, case: Option<&Arc<Case>>) -> Option<Arc<Self>> {
        Some(Self::watched(book, case)).filter(|rules| rules.is_in_force())
    }

    /// For whoever lives longer than a request: somebody may write some yet.
    pub fn watched(book: &Arc<Book>, case: Option<&Arc<Case>>) -> Arc<Self> {
        Arc::new(Self { book: Arc::clone(book), case: case.cloned(), inner: Mutex::default() })
    }

    /// Whether anybody has written any.
    pub fn is_in_force(&self) -> bool {
        self.of_case().is_some() || !self.book.is_empty()
    }

    fn of_case(&self) -> Option<(&Arc<Case>, &ApprovalSpec)> {
        self.case.as_ref().and_then(|case| Some((case, case.spec.approval.as_ref()?)))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn case_id(&self) -> Option<String> {
        self.case.as_ref().map(|case| case.id.clone())
    }

    /// How long a person has.
    pub fn timeout(&self) -> Duration {
        let asked = self.of_case().and_then(|(_, spec)| spec.timeout_s).or(self.book.timeout_s());
        let checked = asked.filter(|s| (0.0..=trl_proto::LONGEST.as_secs_f64()).contains(s) && *s > 0.0);
        checked.map_or(USUAL_TIMEOUT, Duration::from_secs_f64)
    }

    fn compiled(&self) -> Arc<RuleSet> {
        let edition = self.book.edition();
        let mut inner = self.inner();
        if let Some((of, rules)) = &inner.compiled
            && *of == edition
        {
            return Arc::clone(rules);
        }
        let mut sources = self.book.sources(self.case_id().as_deref());
        if let Some((case, spec)) = self.of_case() {
            sources.extend(sources_of(case, spec));
        }
        let granted = RuleSpec { allow: inner.granted.clone(), ..RuleSpec::default() };
        if !granted.allow.is_empty() {
            let spec = ApprovalSpec { rules: vec![granted], ..ApprovalSpec::default() };
            sources.push(Source { name: "this session".into(), trust: Trust::Grants, spec: Ok(spec) });
        }
        let rules = Arc::new(RuleSet::compile(&sources));
        inner.compiled = Some((edition, Arc::clone(&rules)));
        rules
    }

    /// A command for a shell, with variables of its own.
    pub fn judge(&self, at: At<'_>, text: &str) -> Judgement {
        let rules = self.compiled();
        let scene = Scene { shell: shell_kind(at.shell), place: at.place() };
        self.with_variables(&rules, decide(&rules, scene, text), at.env)
    }

    /// Whatever it is.
    pub fn judge_subject(&self, subject: &Subject, at: Around<'_>, shown: &str) -> Judgement {
        let Around { cwd, root, env } = at;
        match subject {
            Subject::Text(shell) => self.judge(At { shell: *shell, cwd, root, env }, shown),
            Subject::Argv(argv) => self.judge_argv(argv, env),
            Subject::Typed(argv) => self.judge_terminal(argv, env),
            Subject::Shell => self.judge_shell(shown, env),
            Subject::Write(path) => self.judge_write(root, path),
            Subject::Permission => Judgement::asked(shown),
        }
    }

    /// A program and its arguments, with no shell between.
    pub fn judge_argv(&self, argv: &[String], env: &Env) -> Judgement {
        let rules = self.compiled();
        self.with_variables(&rules, judge_argv(&rules, argv, Typing::Impossible), env)
    }

    /// A shell whose commands are judged one by one: what comes with it is judged now.
    pub fn judge_shell(&self, shown: &str, env: &Env) -> Judgement {
        let segment = Segment {
            text: shown.into(),
            at: None,
            verdict: Verdict::Allow,
            rule: None,
            reason: None,
            would_allow: None,
            parts: Vec::new(),
        };
        let allowed = trl_policy::Judgement {
            verdict: Verdict::Allow,
            segments: vec![segment],
            names: Vec::new(),
            reason: None,
        };
        self.with_variables(&self.compiled(), allowed, env)
    }

    /// A program on a terminal: whatever is typed later.
    pub fn judge_terminal(&self, argv: &[String], env: &Env) -> Judgement {
        let rules = self.compiled();
        self.with_variables(&rules, judge_terminal(&rules, argv), env)
    }

    /// A change to a file.
    pub fn judge_write(&self, root: &str, path: &str) -> Judgement {
        let rules = self.compiled();
        let place = Place { cwd: Some(root), root: Some(root) };
        self.with_variables(&rules, judge_file_write(&rules, place, path), &Env::default())
    }

    /// Variables that come with a command can make anything of it.
    fn with_variables(&self, rules: &RuleSet, judged: trl_policy::Judgement, env: &Env) -> Judgement {
        let mut judgement = Judgement {
            verdict: judged.verdict,
            segments: judged.segments,
            names: judged.names,
            reason: judged.reason,
        };
        for name in env.keys() {
            if let Some(why) = trl_policy::doubt_variable(rules, name) {
                judgement.doubt(&[Doubt { name: None, why }]);
            }
        }
        judgement
    }

    /// What speaks against letting an allowed command through: names that do not stand for what they should.
    pub fn doubts(&self, spec: &Spec, found: &probe::Found) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if found.intercepted {
            let why = "this shell may read the command differently: an option, an alias for any word, a hook or code in PS4 is set".into();
            doubts.push(Doubt { name: None, why });
        }
        let inner = self.inner();
        for now in &found.executables {
            if inner.seen.get(&now.name) == Some(now) {
                continue;
            }
            let usual = usual(spec, &now.name);
            let why = match (now.what.as_str(), &usual) {
                (probe::TRAP, _) => {
                    let why = format!("the trap {} of this session runs a command", now.name);
                    doubts.push(Doubt { name: None, why });
                    continue;
                }
                (probe::VARIABLE, _) => {
                    let is = if now.identity.is_some() { "has another value" } else { "is not set any more" };
                    let why = format!(
                        "the variable {} can change which code programs run, and {is} since the session began",
                        now.name
                    );
                    doubts.push(Doubt { name: None, why });
                    continue;
                }
                ("builtin" | "keyword", _) => continue,
                ("file", Some(usual)) if now.identity.is_some() && usual.identity == now.identity => continue,
                ("file", _) => {
                    format!("{} is {} here", now.name, now.path.as_deref().unwrap_or("another file"))
                }
                ("missing", None) => continue,
                ("missing", Some(_)) => format!("{} is not found any more", now.name),
                (what, _) => format!("{} is a {what} of this session", now.name),
            };
            doubts.push(Doubt { name: Some(now.name.clone()), why });
        }
        doubts
    }

    /// What an earlier daemon was told to allow.
    pub fn restore(&self, prefixes: Vec<String>) {
        let mut inner = self.inner();
        inner.granted = prefixes;
        inner.compiled = None;
    }

    /// What a yes allows from now on.
    pub fn grant(&self, request: &ApprovalRequest, scope: Scope) -> Result<(), Error> {
        if scope == Scope::Once {
            return Ok(());
        }
        let prefixes = granted_by(request);
        if scope == Scope::Always {
            self.book.allow_always(self.case_id().as_deref(), &prefixes)?;
        }
        let mut inner = self.inner();
        inner.granted.extend(prefixes);
        inner.seen.extend(request.executables.iter().map(|e| (e.name.clone(), e.clone())));
        inner.compiled = None;
        Ok(())
    }
}

/// What was not allowed before.
pub(crate) fn granted_by(request: &ApprovalRequest) -> Vec<String> {
    let asked = request.segments.iter().filter(|s| s.verdict == Verdict::Ask);
    asked.filter_map(|s| s.would_allow.clone()).collect()
}

/// What a name stands for by the session's own PATH, before anything ran in it.
fn usual(spec: &Spec, name: &str) -> Option<Executable> {
    let path = spec.env.get("PATH").map(String::as_str).unwrap_or_default();
    let found: PathBuf = find_program(name, path)?;
    Some(probe::named(name, "file", found.to_str()))
}

/// Where a command is to run.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    pub shell: Kind,
    pub cwd: &'a str,
    pub root: &'a str,
    /// Variables that come with it.
    pub env: &'a Env,
}

/// The same for what no shell may read.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub cwd: &'a str,
    pub root: &'a str,
    /// Variables that come with it.
    pub env: &'a Env,
}

impl<'a> At<'a> {
    fn place(&self) -> Place<'a> {
        Place { cwd: Some(self.cwd), root: Some(self.root) }
    }
}

fn shell_kind(kind: Kind) -> ShellKind {
    match kind {
        Kind::Dash | Kind::BashAsSh => ShellKind::Sh,
        Kind::Bash => ShellKind::Bash,
        Kind::Zsh => ShellKind::Zsh,
        Kind::Ash => ShellKind::Ash,
        Kind::Ksh93 | Kind::Fish => ShellKind::Other,
    }
}
