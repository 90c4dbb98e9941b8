//! Sessions and terminals under their cases.
//!
//! 1. [`Manager::case_for`]: the case a request names, or the default.
//! 2. [`Manager::resolve_under`]: what is asked for with what the case adds, checked, with the boundary around it.

use std::sync::Arc;

use trl_proto::far::{FarMethod, FarTerminal, Greeting, ResolveParams, Resolved};
use trl_proto::session::CreateParams;
use trl_proto::{Error, SessionId, TerminalId, terminal};

use super::{Caller, Manager};
use crate::case::request::Scene;
use crate::case::resident::AnsweredBy;
use crate::case::{Case, Where};
use crate::diagnostics::{self, fell_back};
use crate::engine::Counters;
use crate::runtime::Reached;
use crate::runtime::far::shares_processes;
use crate::session::spec::{Elsewhere, Spec};
use crate::terminal::spec as on_terminal;

/// What of a request decides which case it gets.
#[derive(Debug, Clone, Copy, Default)]
pub struct CaseWish<'a> {
    pub case_id: Option<&'a str>,
    pub workspace_id: Option<&'a str>,
    /// A workspace, too, where none is named.
    pub working_dir: Option<&'a str>,
}

impl Manager {
    pub fn case_for(&self, wish: CaseWish<'_>) -> Result<Option<Arc<Case>>, Error> {
        let path = wish.working_dir.filter(|_| wish.case_id.is_some() && wish.workspace_id.is_none());
        self.engine.cases.of_request(wish.case_id, Where { workspace_id: wish.workspace_id, path })
    }

    fn scene<'a>(
        &'a self,
        id: &'a str,
        workspace_id: Option<&str>,
        case: &Case,
        caller: &Caller,
    ) -> Result<Scene<'a>, Error> {
        let workspace_id = workspace_id.or(case.spec.workspace.as_deref());
        let workspace = self.engine.cases.workspace(Where { workspace_id, path: None })?;
        Ok(Scene { id, widening: caller.widening, inherited: &self.engine.inherited, workspace })
    }

    pub(super) async fn resolve(&self, params: CreateParams, caller: &Caller) -> Result<Spec, Error> {
        let case = self.case_for(CaseWish::of(&params))?;
        self.resolve_under(case, params, caller).await
    }

    pub(super) async fn resolve_under(
        &self,
        case: Option<Arc<Case>>,
        mut params: CreateParams,
        caller: &Caller,
    ) -> Result<Spec, Error> {
        let id = SessionId::random();
        if let Some(case) = &case {
            note(case, id.as_str(), params.case_id.as_deref());
            let scene = self.scene(id.as_str(), params.workspace_id.as_deref(), case, caller)?;
            case.under_session(&mut params, &scene)?;
        }
        match self.engine.runtimes.place(params.runtime.as_ref(), id.as_str()).await? {
            None => self.resolve_here(id, case, params, caller),
            Some(reached) => self.resolve_elsewhere(id, case, params, (caller, reached)).await,
        }
    }

    pub(super) fn resolve_here(
        &self,
        id: SessionId,
        case: Option<Arc<Case>>,
        mut params: CreateParams,
        caller: &Caller,
    ) -> Result<Spec, Error> {
        if params.working_dir.is_none() {
            params.working_dir = self.dir_of(params.workspace_id.as_deref())?;
        }
        let usual = || self.engine.settings.sandbox_mode.into();
        let wish = params.sandbox.take().unwrap_or_else(usual);
        let mut spec = Spec::resolve(params, &caller.name, &self.engine.inherited, &self.engine.settings)?;
        spec.adopt(id, case);
        spec.confine(self.engine.sandbox(Some(wish.clone()), spec.id.as_str(), &spec.working_dir)?.into());
        spec.remember(wish);
        Ok(spec)
    }

    /// What only the other machine knows is asked for there; nothing is started.
    async fn resolve_elsewhere(
        &self,
        id: SessionId,
        case: Option<Arc<Case>>,
        mut params: CreateParams,
        (caller, reached): (&Caller, Reached),
    ) -> Result<Spec, Error> {
        params.runtime = None;
        params.limits = reached.runtime.limits(params.limits);
        let usual = || self.engine.settings.sandbox_mode.into();
        let wish = params.sandbox.get_or_insert_with(usual).clone();
        let asked = ResolveParams { session_id: id.clone(), create: params.clone() };
        let found: Resolved = reached.far.calls.call(FarMethod::Resolve.name(), &asked).await?;
        let is_apart = reached.far.greeting().is_some_and(|greeting| is_apart(&greeting));
        let elsewhere = Elsewhere { runtime: Arc::clone(&reached.runtime), is_apart };
        let mut spec = Spec::found(params, &caller.name, found, elsewhere, &self.engine.settings)?;
        spec.adopt(id, case);
        spec.remember(wish);
        Ok(spec)
    }

    /// Where a workspace is, if it is somewhere.
    fn dir_of(&self, workspace_id: Option<&str>) -> Result<Option<String>, Error> {
        let dir = self.engine.cases.workspace(Where { workspace_id, path: None })?;
        Ok(dir.filter(|dir| dir.is_dir()).and_then(|dir| dir.into_os_string().into_string().ok()))
    }

    pub(super) async fn resolve_terminal(
        &self,
        params: terminal::CreateParams,
        caller: &Caller,
    ) -> Result<on_terminal::Spec, Error> {
        let case = self.case_for(CaseWish {
            case_id: params.case_id.as_deref(),
            workspace_id: params.workspace_id.as_deref(),
            working_dir: params.working_dir.as_deref(),
        })?;
        self.resolve_terminal_under(case, params, caller).await
    }

    pub(super) async fn resolve_terminal_under(
        &self,
        case: Option<Arc<Case>>,
        mut params: terminal::CreateParams,
        caller: &Caller,
    ) -> Result<on_terminal::Spec, Error> {
        let id = TerminalId::random();
        if let Some(case) = &case {
            note(case, id.as_str(), params.case_id.as_deref());
            let scene = self.scene(id.as_str(), params.workspace_id.as_deref(), case, caller)?;
            case.under_terminal(&mut params, &scene)?;
        }
        match self.engine.runtimes.place(params.runtime.as_ref(), id.as_str()).await? {
            None => self.resolve_terminal_here(id, case, params, caller),
            Some(reached) => self.resolve_terminal_elsewhere(id, case, params, (caller, reached)).await,
        }
    }

    async fn resolve_terminal_elsewhere(
        &self,
        id: TerminalId,
        case: Option<Arc<Case>>,
        mut params: terminal::CreateParams,
        (caller, reached): (&Caller, Reached),
    ) -> Result<on_terminal::Spec, Error> {
        params.runtime = None;
        params.limits = reached.runtime.limits(params.limits);
        let usual = || self.engine.settings.sandbox_mode.into();
        params.sandbox.get_or_insert_with(usual);
        let variables = case.iter().flat_map(|case| case.variables(id.as_str()));
        params.env.get_or_insert_default().extend(variables);
        let asked = FarTerminal { terminal_id: id.clone(), create: params.clone(), execution: None };
        let found: Resolved = reached.far.calls.call(FarMethod::ResolveTerminal.name(), &asked).await?;
        let is_apart = reached.far.greeting().is_some_and(|greeting| is_apart(&greeting));
        let (place, settings) = ((Arc::clone(&reached.runtime), is_apart), &self.engine.settings);
        let mut spec = on_terminal::Spec::found(params, &caller.name, found, place, settings)?;
        spec.adopt(id, case);
        Ok(spec)
    }

    pub(super) fn resolve_terminal_here(
        &self,
        id: TerminalId,
        case: Option<Arc<Case>>,
        mut params: terminal::CreateParams,
        caller: &Caller,
    ) -> Result<on_terminal::Spec, Error> {
        let wish = params.sandbox.take();
        let (inherited, settings) = (&self.engine.inherited, &self.engine.settings);
        let mut spec = on_terminal::Spec::resolve(params, &caller.name, inherited, settings)?;
        spec.adopt(id, case);
        spec.confine(self.engine.sandbox(wish, spec.id.as_str(), &spec.working_dir)?.into());
        Ok(spec)
    }

    /// The case a session has, whoever knows it.
    pub fn case_of(&self, id: &SessionId) -> Result<Option<Arc<Case>>, Error> {
        let live = self.find(id).ok().map(|session| session.spec.case.clone());
        let (case, from) = self.engine.residents.case_of(id, live, || self.engine.cases.default_case())?;
        match from {
            AnsweredBy::Memory => Counters::add(&self.engine.counters.session_hits),
            AnsweredBy::Session | AnsweredBy::Store => {
                diagnostics::cache_miss(&self.engine.counters, id, "sessionCase", true);
            }
            AnsweredBy::Default => diagnostics::cache_miss(&self.engine.counters, id, "sessionCase", false),
        }
        Ok(case)
    }
}

impl<'a> CaseWish<'a> {
    pub(super) fn of(params: &'a CreateParams) -> Self {
        Self {
            case_id: params.case_id.as_deref(),
            workspace_id: params.workspace_id.as_deref(),
            working_dir: params.working_dir.as_deref(),
        }
    }
}

/// Whether what runs there cannot reach this daemon: another machine or container, or another user.
fn is_apart(greeting: &Greeting) -> bool {
    let other_user = greeting.uid != trl_sys::machine::effective_uid() && greeting.uid != 0;
    !shares_processes(greeting) || other_user
}

fn note(case: &Case, id: &str, asked: Option<&str>) {
    if asked.is_none() {
        fell_back(id, "the request names no case");
    }
    if !case.ignored.is_empty() {
        let ignored = case.ignored.join(" ");
        tracing::info!(session_id = id, case_id = case.id, ignored, "an untrusted case only narrows");
    }
}
