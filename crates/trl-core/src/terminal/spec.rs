//! What a terminal was asked to be, resolved and checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use trl_proto::far::Resolved;
use trl_proto::limits::Limits;
use trl_proto::runtime::HOST;
use trl_proto::start::Umask;
use trl_proto::terminal::{CreateParams, SizePolicy};
use trl_proto::{Error, TerminalId};
use trl_sys::pty::Size;

use crate::approval::pin::FirstStart;
use crate::case::Case;
use crate::env::{Env, Inherited};
use crate::limits::asked::{Widening, resolve as resolve_limits};
use crate::runtime::Runtime;
use crate::sandbox::Boundary;
use crate::session::spec::{Asked, Home, Secrets, checked_env, checked_name, environ, find, plain_argv};
use crate::settings::Settings;
use crate::workspace::checked_id;

#[derive(Debug)]
pub struct Spec {
    pub id: TerminalId,
    /// Who made it.
    pub owner: Arc<str>,
    pub name: Option<String>,
    /// What it was created from, as it was then.
    pub case: Option<Arc<Case>>,
    pub workspace: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub argv: Vec<String>,
    pub env: Env,
    pub secrets: Secrets,
    pub working_dir: String,
    pub umask: Umask,
    pub size: Size,
    pub policy: SizePolicy,
    /// Replayed to a client that asks for nothing better.
    pub scrollback: usize,
    /// What its programs may use; as asked for until it is [within the settings](Spec::within_settings).
    pub limits: Limits,
    pub sandbox: Boundary,
    /// Where its program lives, when that is not here.
    pub elsewhere: Option<Elsewhere>,
    /// What its program was approved as.
    pub pin: FirstStart,
}

/// A runtime, and what it is asked for there; secrets stand apart.
#[derive(Debug)]
pub struct Elsewhere {
    pub runtime: Arc<Runtime>,
    pub is_apart: bool,
    pub wish: Box<CreateParams>,
}

/// What every client of ours understands, whatever the daemon was started in.
const UNDERSTOOD: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];

/// The sizes every program can cope with: a wide character needs two columns.
const COLS: std::ops::RangeInclusive<u16> = 2..=1000;
const ROWS: std::ops::RangeInclusive<u16> = 1..=1000;

impl Spec {
    pub fn resolve(
        params: CreateParams,
        owner: &Arc<str>,
        inherited: &Inherited,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let asked = Asked {
            pass_env: params.pass_env,
            env: params.env,
            secret_env: params.secret_env,
            working_dir: params.working_dir,
        };
        let Home { env, secrets, working_dir } = asked.resolve(inherited, settings, &UNDERSTOOD)?;
        let path_var = env.get("PATH").cloned().unwrap_or_default();
        let argv = match (params.shell, params.argv) {
            (Some(_), Some(_)) => return Err(Error::invalid("`shell` and `argv` exclude each other")),
            (None, Some(argv)) => plain_argv(argv, &path_var)?,
            (shell, None) => {
                let shell = shell.or_else(|| env.get("SHELL").cloned()).unwrap_or_else(|| "/bin/sh".into());
                vec![find(&shell, &path_var)?.display().to_string()]
            }
        };
        let scrollback = params
            .scrollback_bytes
            .unwrap_or(settings.terminal_scrollback.min(settings.terminal_ring) as u64);
        if scrollback > settings.terminal_ring as u64 {
            let most = settings.terminal_ring;
            return Err(Error::invalid(format!("`scrollback_bytes` is {scrollback}; the most is {most}")));
        }
        Ok(Self {
            id: TerminalId::random(),
            owner: Arc::clone(owner),
            name: checked_name(params.name)?,
            case: None,
            workspace: checked_workspace(params.workspace_id)?,
            labels: params.labels.unwrap_or_default(),
            argv,
            env,
            secrets,
            working_dir,
            umask: Umask::default(),
            size: checked_size(params.cols.unwrap_or(80), params.rows.unwrap_or(24))?,
            policy: params.size_policy.unwrap_or_default(),
            scrollback: usize::try_from(scrollback).unwrap_or(usize::MAX),
            limits: params.limits.unwrap_or_default(),
            sandbox: Boundary::None,
            elsewhere: None,
            pin: FirstStart::default(),
        })
    }

    /// One that lives elsewhere, with what the engine there knows of it.
    pub fn found(
        mut params: CreateParams,
        owner: &Arc<str>,
        found: Resolved,
        (runtime, is_apart): (Arc<Runtime>, bool),
        settings: &Settings,
    ) -> Result<Self, Error> {
        let secrets = Secrets::new(checked_env(params.secret_env.take().unwrap_or_default())?);
        let wish = Box::new(params.clone());
        let here = CreateParams {
            shell: None,
            argv: Some(vec!["/bin/sh".into()]),
            working_dir: Some("/".into()),
            ..params
        };
        let spec = Self::resolve(here, owner, &Inherited::default(), settings)?;
        let Resolved { argv, env, working_dir, sandbox, .. } = found;
        let elsewhere = Some(Elsewhere { runtime, is_apart, wish });
        Ok(Self { argv, env, working_dir, secrets, sandbox: sandbox.into(), elsewhere, ..spec })
    }

    pub fn runtime_name(&self) -> &str {
        self.elsewhere.as_ref().map_or(HOST, |elsewhere| &elsewhere.runtime.name)
    }

    /// With the limits that hold for whoever asked for it.
    pub fn within_settings(self, settings: &Settings, widening: Widening) -> Result<Self, Error> {
        let allowed = self.case.as_ref().map_or(settings.limits, |case| case.limits(&settings.limits));
        let limits = resolve_limits(self.limits, &allowed, widening)?;
        Ok(Self { limits, ..self })
    }

    /// Takes the name and the case it was resolved under.
    pub fn adopt(&mut self, id: TerminalId, case: Option<Arc<Case>>) {
        self.env.extend(case.iter().flat_map(|case| case.variables(id.as_str())));
        self.id = id;
        self.case = case;
    }

    /// Draws a boundary around its program.
    pub fn confine(&mut self, sandbox: Boundary) {
        self.env.extend(sandbox.here().iter().flat_map(|s| s.variables()));
        self.sandbox = sandbox;
    }

    /// `KEY=value` items for execve.
    pub fn environ(&self) -> Vec<Vec<u8>> {
        environ(&self.env, &self.secrets, &self.working_dir)
    }

    pub fn env_keys(&self) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.env.keys().chain(self.secrets.names()).collect();
        names.into_iter().cloned().collect()
    }
}

/// The size a terminal can have that comes closest.
pub fn nearest_size(size: Size) -> Size {
    Size {
        cols: size.cols.clamp(*COLS.start(), *COLS.end()),
        rows: size.rows.clamp(*ROWS.start(), *ROWS.end()),
    }
}

pub fn checked_size(cols: u16, rows: u16) -> Result<Size, Error> {
    for (name, given, allowed) in [("cols", cols, COLS), ("rows", rows, ROWS)] {
        if !allowed.contains(&given) {
            let (least, most) = allowed.into_inner();
            return Err(Error::invalid(format!(
                "`{name}` is {given}; it must be between {least} and {most}"
            )));
        }
    }
    Ok(Size { cols, rows })
}

pub(crate) fn checked_workspace(id: Option<String>) -> Result<Option<String>, Error> {
    id.as_deref().map_or(Ok(()), checked_id)?;
    Ok(id)
}
