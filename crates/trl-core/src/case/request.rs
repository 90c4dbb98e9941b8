//! What a request asks for, on top of its case.
//!
//! | of the request | beside a case that says so too |
//! |---|---|
//! | `env`, `labels` | both; the request's wins by name |
//! | `pass_env` | both |
//! | `shell`, `working_dir`, `timeout_s`, `on_exit`, `renewal` | the request's |
//! | `limits`, `sandbox` | the request's if it is no wider |
//! | `shell` or `argv` over the case's `argv`; another `runtime` or `workspace_id` | refused |
//!
//! What is refused or must not be wider is so for agents; an operator may ask for anything.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use trl_proto::limits::Limits;
use trl_proto::runtime::RuntimeWish;
use trl_proto::sandbox::SandboxParams;
use trl_proto::{Error, ErrorCode, session, terminal, unknown_name};

use super::{Case, narrow};
use crate::env::{Env, Inherited};
use crate::limits::asked::Widening;

const PLACEHOLDERS: [&str; 3] = ["workspace", "home", "session_id"];

/// What a case is applied in.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Of the session or terminal to be.
    pub id: &'a str,
    pub widening: Widening,
    pub inherited: &'a Inherited,
    /// The directory of the request's workspace.
    pub workspace: Option<PathBuf>,
}

/// The part of a request that a case has a say in, whether it is for a session or a terminal.
struct Wanted<'a> {
    shell: &'a mut Option<String>,
    argv: &'a mut Option<Vec<String>>,
    env: &'a mut Option<Env>,
    secret_env: &'a mut Option<Env>,
    pass_env: &'a mut Option<Vec<String>>,
    working_dir: &'a mut Option<String>,
    workspace_id: &'a mut Option<String>,
    runtime: &'a mut Option<RuntimeWish>,
    sandbox: &'a mut Option<SandboxParams>,
    labels: &'a mut Option<BTreeMap<String, String>>,
}

impl Case {
    /// `params` with what this case adds.
    pub fn under_session(&self, params: &mut session::CreateParams, scene: &Scene<'_>) -> Result<(), Error> {
        let session::CreateParams { shell, argv, env, secret_env, pass_env, working_dir, .. } = params;
        let session::CreateParams { workspace_id, runtime, sandbox, labels, .. } = params;
        let wanted = Wanted {
            shell,
            argv,
            env,
            secret_env,
            pass_env,
            working_dir,
            workspace_id,
            runtime,
            sandbox,
            labels,
        };
        self.under(wanted, scene)?;
        // a direct command has no commands to time
        let timeout_s = self.spec.timeout_s.filter(|_| params.argv.is_none());
        params.timeout_s = params.timeout_s.or(timeout_s);
        params.on_exit = params.on_exit.or(self.spec.on_exit);
        params.renewal = params.renewal.or(self.spec.renewal);
        Ok(())
    }

    pub fn under_terminal(
        &self,
        params: &mut terminal::CreateParams,
        scene: &Scene<'_>,
    ) -> Result<(), Error> {
        let terminal::CreateParams { shell, argv, env, secret_env, pass_env, working_dir, .. } = params;
        let terminal::CreateParams { workspace_id, runtime, sandbox, labels, .. } = params;
        let wanted = Wanted {
            shell,
            argv,
            env,
            secret_env,
            pass_env,
            working_dir,
            workspace_id,
            runtime,
            sandbox,
            labels,
        };
        self.under(wanted, scene)
    }

    /// The limits a request starts from, and may not go beyond unless it may widen.
    pub fn limits(&self, settings: &Limits) -> Limits {
        self.spec.limits.map_or(*settings, |limits| limits.over(settings))
    }

    /// What tells programs who they work for.
    pub fn variables(&self, id: &str) -> [(String, String); 2] {
        [("AGENT_SESSION_ID".into(), id.into()), ("AGENT_CASE_ID".into(), self.id.clone())]
    }

    /// Secrets of this case that the daemon was started with.
    pub fn inherited_secrets(&self, inherited: &Inherited) -> Env {
        let names = self.spec.secret_env.iter().flatten();
        names.filter_map(|name| Some((name.clone(), inherited.get(name)?.to_string()))).collect()
    }

    fn under(&self, wanted: Wanted<'_>, scene: &Scene<'_>) -> Result<(), Error> {
        self.fix(&wanted, scene.widening)?;
        if wanted.shell.is_none() && wanted.argv.is_none() {
            wanted.shell.clone_from(&self.spec.shell);
            wanted.argv.clone_from(&self.spec.argv);
        }
        below(wanted.env, self.spec.env.as_ref());
        below(wanted.labels, self.spec.labels.as_ref());
        if let Some(pass) = &self.spec.pass_env {
            wanted.pass_env.get_or_insert_default().extend(pass.iter().cloned());
        }
        self.fill_secrets(wanted.env, wanted.secret_env, scene.inherited)?;
        *wanted.workspace_id = wanted.workspace_id.take().or_else(|| self.spec.workspace.clone());
        let own = || self.spec.runtime.clone().map(RuntimeWish::Named);
        *wanted.runtime = wanted.runtime.take().or_else(own);
        *wanted.sandbox = self.bounded(wanted.sandbox.take(), scene.widening)?;
        if let (None, Some(template)) = (&wanted.working_dir, &self.spec.working_dir) {
            *wanted.working_dir = Some(self.place(template, scene)?);
        }
        Ok(())
    }

    /// Refuses what an agent may not have otherwise than its case says.
    fn fix(&self, wanted: &Wanted<'_>, widening: Widening) -> Result<(), Error> {
        if widening == Widening::Allowed {
            return Ok(());
        }
        let other =
            |asked: &Option<String>, own: &Option<String>| own.is_some() && asked.is_some() && asked != own;
        let runtime = wanted.runtime.as_ref().map(|wish| wish.name().unwrap_or_default().to_string());
        let refused = [
            ("argv", self.spec.argv.is_some() && (wanted.argv.is_some() || wanted.shell.is_some())),
            ("runtime", other(&runtime, &self.spec.runtime)),
            ("workspace_id", other(wanted.workspace_id, &self.spec.workspace)),
        ];
        match refused.into_iter().find(|(_, refused)| *refused) {
            Some((field, _)) => Err(self.forbidden(field, "is what the case says")),
            None => Ok(()),
        }
    }

    fn bounded(
        &self,
        asked: Option<SandboxParams>,
        widening: Widening,
    ) -> Result<Option<SandboxParams>, Error> {
        match (asked, &self.spec.sandbox) {
            (asked, None) => Ok(asked),
            (None, own) => Ok(own.clone()),
            (Some(asked), Some(_)) if widening == Widening::Allowed => Ok(Some(asked)),
            (Some(asked), Some(own)) => match narrow::sandbox(own, &asked) {
                Some(narrower) => Ok(Some(narrower)),
                None => Err(self.forbidden("sandbox", "may be no wider than the case's")),
            },
        }
    }

    fn forbidden(&self, field: &str, why: &str) -> Error {
        Error::new(ErrorCode::Forbidden, format!("`{field}` {why}, {}", self.id))
            .hint("leave it out, choose another case, or ask as an operator")
            .detail("case_id", self.id.as_str())
    }

    /// Each from the request, wherever it has it, else from the daemon's environment.
    fn fill_secrets(
        &self,
        env: &mut Option<Env>,
        secrets: &mut Option<Env>,
        inherited: &Inherited,
    ) -> Result<(), Error> {
        let names = self.spec.secret_env.as_deref().unwrap_or_default();
        let mut missing = Vec::new();
        for name in names {
            if secrets.as_ref().is_some_and(|secrets| secrets.contains_key(name)) {
                continue;
            }
            let given = env.as_mut().and_then(|env| env.remove(name));
            match given.or_else(|| inherited.get(name).map(String::from)) {
                Some(value) => {
                    secrets.get_or_insert_default().insert(name.clone(), value);
                }
                None => missing.push(name.as_str()),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!("the case {} needs secrets: {}", self.id, missing.join(", "));
        Err(Error::new(ErrorCode::SecretsRequired, message)
            .hint("give them as `secret_env`")
            .detail("names", missing))
    }

    /// Where the session starts; made if it is not there and the case's to make.
    fn place(&self, template: &str, scene: &Scene<'_>) -> Result<String, Error> {
        let refuse = |why: String| {
            let message = format!("the working_dir of the case {} {why}", self.id);
            Error::new(ErrorCode::WorkingDirInvalid, message)
        };
        let template = Template::parse(template).map_err(|why| refuse(format!("is wrong: {why}")))?;
        let dir = template.fill(&self.meanings(scene)).map_err(refuse)?;
        if template.has_placeholder() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
            made.map_err(|error| refuse(format!("cannot be made: {dir}: {error}")))?;
        }
        Ok(dir)
    }

    fn meanings(&self, scene: &Scene<'_>) -> [Option<String>; 3] {
        let workspace = scene.workspace.as_ref().or(self.workspace.as_ref());
        let workspace = workspace.and_then(|dir| dir.to_str()).map(String::from);
        [workspace, scene.inherited.get("HOME").map(String::from), Some(scene.id.into())]
    }
}

/// Adds what is not there yet.
fn below(wanted: &mut Option<BTreeMap<String, String>>, case: Option<&BTreeMap<String, String>>) {
    if let Some(case) = case {
        let wanted = wanted.get_or_insert_default();
        for (name, value) in case {
            wanted.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// A path in which names in braces stand for something.
#[derive(Debug, PartialEq, Eq)]
pub struct Template<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// By its place in [`PLACEHOLDERS`].
    Name(usize),
}

impl<'a> Template<'a> {
    /// Or what is wrong with it.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            let known = PLACEHOLDERS.iter().position(|known| *known == name);
            parts.push(Part::Text(before));
            parts.push(Part::Name(known.ok_or_else(|| unknown_name("placeholder", name, &PLACEHOLDERS))?));
            rest = after;
        }
        parts.push(Part::Text(rest));
        parts.retain(|part| *part != Part::Text(""));
        let absolute = match parts.first() {
            Some(Part::Text(text)) => text.starts_with('/'),
            // an id is no path
            Some(Part::Name(n)) => PLACEHOLDERS[*n] != "session_id",
            None => false,
        };
        if !absolute || text.contains('\0') {
            return Err("it must begin with /, {workspace} or {home}".into());
        }
        Ok(Self { parts })
    }

    fn has_placeholder(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Name(_)))
    }

    fn fill(&self, meanings: &[Option<String>; 3]) -> Result<String, String> {
        let part = |part: &Part<'_>| match part {
            Part::Text(text) => Ok((*text).to_string()),
            Part::Name(n) => meanings[*n].clone().ok_or_else(|| match PLACEHOLDERS[*n] {
                "workspace" => "is in a workspace: name one with `workspace_id`".to_string(),
                name => format!("needs {{{name}}}, which is not known"),
            }),
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use trl_proto::case::{CaseOrigin, CaseSpec};
    use trl_proto::session::CreateParams;

    use super::*;
    use crate::case::Trust;
    use crate::case::parse::parse;

    fn case(text: &str) -> Case {
        let spec: CaseSpec = parse(text.as_bytes(), None).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        Case {
            id: "x".into(),
            spec,
            source: "/x.yaml".into(),
            origin: CaseOrigin::Config,
            digest: String::new(),
            trust: Trust::Whole,
            ignored: Vec::new(),
            workspace: None,
            fallback: None,
        }
    }

    fn apply(text: &str, request: &str, widening: Widening) -> Result<CreateParams, Error> {
        let vars = [("HOME", "/tmp"), ("TOKEN", "t0k")].map(|(k, v)| (k.to_string(), v.to_string()));
        let inherited = Inherited::from_vars(vars.into());
        let scene = Scene { id: "s-abc", widening, inherited: &inherited, workspace: None };
        let mut params: CreateParams = serde_json::from_str(request).unwrap();
        case(text).under_session(&mut params, &scene)?;
        Ok(params)
    }

    fn agent(text: &str, request: &str) -> CreateParams {
        apply(text, request, Widening::Refused).unwrap_or_else(|e| panic!("{text} {request}: {e}"))
    }

    #[test]
    fn what_is_free_is_the_requests() {
        let text = "shell: /bin/bash\nenv: {A: case, B: case}\nlabels: {l: case}\ntimeout_s: 5\non_exit: terminate\nworking_dir: /usr\npass_env: [P]\n";
        let plain = agent(text, "{}");
        assert_eq!((plain.shell.as_deref(), plain.timeout_s), (Some("/bin/bash"), Some(5.0)));
        assert_eq!(
            (plain.working_dir.as_deref(), plain.pass_env),
            (Some("/usr"), Some(vec!["P".to_string()]))
        );
        let own = agent(
            text,
            r#"{"shell":"/bin/sh","env":{"A":"own"},"labels":{"l":"own"},"timeout_s":9,"working_dir":"/","pass_env":["Q"]}"#,
        );
        assert_eq!(
            (own.shell.as_deref(), own.timeout_s, own.working_dir.as_deref()),
            (Some("/bin/sh"), Some(9.0), Some("/"))
        );
        let env = own.env.unwrap();
        assert_eq!((env["A"].as_str(), env["B"].as_str()), ("own", "case"));
        assert_eq!(own.labels.unwrap()["l"], "own");
        assert_eq!(own.pass_env.unwrap(), ["Q", "P"]);
    }

    #[test]
    fn what_is_fixed_is_the_cases_but_for_operators() {
        for (text, request, field) in [
            ("argv: [cat]", r#"{"argv":["sh"]}"#, "argv"),
            ("argv: [cat]", r#"{"shell":"sh"}"#, "argv"),
            ("runtime: box", r#"{"runtime":"host"}"#, "runtime"),
            ("workspace: w", r#"{"workspace_id":"v"}"#, "workspace_id"),
            ("sandbox: read-only", r#"{"sandbox":"workspace-write"}"#, "sandbox"),
            ("sandbox: read-only", r#"{"sandbox":"off"}"#, "sandbox"),
        ] {
            let refused = apply(text, request, Widening::Refused).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden, "{text} {request}");
            assert!(refused.message.starts_with(&format!("`{field}`")), "{}", refused.message);
            apply(text, request, Widening::Allowed).unwrap();
        }
        let narrower = agent("sandbox: workspace-write", r#"{"sandbox":"read-only"}"#);
        assert_eq!(narrower.sandbox.unwrap().mode, trl_proto::sandbox::Mode::ReadOnly);
        assert_eq!(agent("workspace: w\nruntime: host", "{}").workspace_id.as_deref(), Some("w"));
    }

    #[test]
    fn secrets_come_from_the_request_or_the_daemon_and_are_secret_wherever_they_were() {
        let text = "secret_env: [KEY, TOKEN]\n";
        let missing = apply(text, "{}", Widening::Refused).unwrap_err();
        assert_eq!(
            (missing.code, &missing.details["names"]),
            (ErrorCode::SecretsRequired, &serde_json::json!(["KEY"]))
        );
        for request in [r#"{"env":{"KEY":"k"}}"#, r#"{"secret_env":{"KEY":"k"}}"#] {
            let params = agent(text, request);
            let secrets = params.secret_env.unwrap();
            assert_eq!((secrets["KEY"].as_str(), secrets["TOKEN"].as_str()), ("k", "t0k"));
            assert!(params.env.is_none_or(|env| env.is_empty()));
        }
    }

    #[test]
    fn templates_are_filled() {
        let fill =
            |text| Template::parse(text).and_then(|t| t.fill(&[None, Some("/h".into()), Some("s-1".into())]));
        assert_eq!(fill("/a/b").as_deref(), Ok("/a/b"));
        assert_eq!(fill("{home}/x/{session_id}").as_deref(), Ok("/h/x/s-1"));
        assert!(fill("{workspace}").unwrap_err().contains("workspace_id"));
        for wrong in ["", "rel", "{session_id}/x", "/a/{", "/a/{nope}", "{home"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
