//! Who a connection is, and what it may do: the one place that decides, for every transport.
//!
//! 0. [`Principal::of_peer`]: what the kernel says of a peer. [`super::auth`] knows tokens.
//! 1. [`Principal::may_call`]: the role against the method's row in the table of methods.
//! 2. [`Principal::may_ask`]: the ceilings of a token against what the request asks for.
//! 3. [`Principal::sight`]: whose sessions it sees; [`Principal::session`] and [`Principal::execution`] hold to it.

use std::sync::Arc;

use tokio::net::UnixStream;
use trl_core::Manager;
use trl_core::case::Case;
use trl_core::events::Told;
use trl_core::execution::Execution;
use trl_core::limits::asked::Widening;
use trl_core::manager::{Caller, CaseWish, Judging, Origin, Standing};
use trl_core::session::handle::Session;
use trl_core::terminal::Terminal;
use trl_proto::envelope::Request;
use trl_proto::method::{Access, FromInside};
use trl_proto::runtime::RuntimeWish;
use trl_proto::sandbox::Mode;
use trl_proto::token::{Ceilings, Making, SandboxMode, Wish};
use trl_proto::workspace::WorkspaceInfo;
use trl_proto::{Error, ErrorCode, ExecutionId, Method, Role, SessionId, TerminalId};
use trl_store::redact::is_secret_name;
use trl_sys::lineage::{Held, Unproven};

use super::Server;
use super::auth::tokens::Grant;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A connection with a role: the socket's agent, or the operator.
    Role(Role),
    /// The holder of a token.
    Token(Arc<Grant>),
    /// A process of a session: that session and no other, and no token raises it.
    Inside(SessionId),
    /// A session's agent, or a process it started: the same, and it may have commands run beside its shell.
    OfAgent(SessionId),
    /// A process of a terminal, which is nobody's session.
    InTerminal(TerminalId),
    /// The daemon whose engine this is; only ever found at the other end of a link.
    Gateway,
}

/// Whose sessions, executions and events somebody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight<'a> {
    Everything,
    /// What was made with this token.
    Own(&'a str),
    One(&'a SessionId),
    Nothing,
}

/// Whose past somebody may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past<'a> {
    Everything,
    Own(&'a str),
    One(&'a SessionId),
}

impl Principal {
    /// A peer on a Unix socket: the same user (or root), pinned when it runs inside a session.
    ///
    /// # Errors
    /// Nobody is let in whom the kernel does not prove to stand outside every sandbox, or inside a session that is known.
    pub(crate) fn of_peer(server: &Server, stream: &UnixStream) -> Result<Self, Error> {
        let unsaid = |_| forbidden("the kernel does not say who connected".into());
        let peer = stream.peer_cred().map_err(unsaid)?;
        if peer.uid() != trl_sys::places::user_id() && peer.uid() != 0 {
            return Err(forbidden("this process belongs to another user than the daemon".into()));
        }
        let pid = peer.pid().unwrap_or(0);
        let origin = match Held::peer(stream, pid) {
            // A pid namespace above ours, or beside it: sessions live in ours or below it.
            _ if pid <= 0 => Origin::Outside,
            None => Origin::Unknown(Unproven::Ended.into()),
            Some(process) => server.manager.origin_of(&process),
        };
        if server.manager.is_sandboxed(&origin) {
            return Err(forbidden(
                "this process is in a sandbox, from which nobody may ask the daemon".into(),
            ));
        }
        match origin {
            Origin::Outside => Ok(Self::Role(Role::Agent)),
            Origin::Inside(session) => Ok(Self::Inside(session)),
            Origin::OfAgent(session) => Ok(Self::OfAgent(session)),
            Origin::InTerminal(terminal) => Ok(Self::InTerminal(terminal)),
            Origin::Unknown(doubt) => Err(doubt.into()),
        }
    }

    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Role(role) => *role,
            Self::Token(grant) => grant.role,
            Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) => Role::Agent,
            Self::Gateway => Role::Operator,
        }
    }

    /// The session or terminal it is a process of.
    pub(crate) fn pinned_to(&self) -> Option<&str> {
        match self {
            Self::Role(_) | Self::Token(_) | Self::Gateway => None,
            Self::Inside(id) | Self::OfAgent(id) => Some(id.as_str()),
            Self::InTerminal(id) => Some(id.as_str()),
        }
    }

    /// As the manager knows it; `agents_most` is the ceiling of the socket's agent, 0 for none.
    pub(crate) fn caller(&self, agents_most: usize) -> Caller {
        let name = match self {
            Self::Role(Role::Operator) => "operator",
            Self::Role(Role::Agent) => "agent",
            Self::Role(Role::Viewer) => "viewer",
            Self::Token(grant) => grant.id.as_str(),
            Self::Inside(id) | Self::OfAgent(id) => id.as_str(),
            Self::InTerminal(id) => id.as_str(),
            Self::Gateway => "gateway",
        };
        let bounded = matches!(self, Self::Role(Role::Agent)) || self.pinned_to().is_some();
        let bounded = bounded && agents_most > 0;
        let own = match self {
            Self::Token(grant) => grant.ceilings.max_sessions,
            Self::Role(_) | Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) | Self::Gateway => None,
        };
        Caller {
            name: name.into(),
            max_sessions: if bounded { agents_most } else { usize::MAX },
            judging: match self {
                // It has judged what it asks for.
                Self::Gateway => Judging::Exempt,
                _ => Judging::ByRules,
            },
            widening: match self.role() {
                Role::Operator => Widening::Allowed,
                Role::Agent | Role::Viewer => Widening::Refused,
            },
            standing: match self {
                Self::OfAgent(_) => Standing::Agent,
                _ => Standing::Outside,
            },
            max_own_sessions: own.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)),
        }
    }

    /// May it call this method at all?
    pub(crate) fn may_call(&self, method: Method) -> Result<(), Error> {
        if !method.allows(self.role()) {
            let needed = match method.access() {
                Access::Operate => "needs the operator",
                Access::Run | Access::Watch => "is not for viewers",
            };
            return Err(forbidden(format!("{} {needed}", method.name()))
                .hint("present a token of that role: on the socket with system.auth as the first request"));
        }
        if self.pinned_to().is_some() && method.from_inside() == FromInside::Refused {
            return Err(forbidden(format!(
                "{} is not for processes inside a session or terminal",
                method.name()
            )));
        }
        Ok(())
    }

    /// Does what the request asks for lie below the ceilings?
    ///
    /// Nobody but the operator, or who has his word in a token or a case, goes beyond the sandbox of whatever asks for none.
    pub(crate) fn may_ask(&self, method: Method, request: &Request, manager: &Manager) -> Result<(), Error> {
        let usual = manager.engine.settings.sandbox_mode;
        let mut ceilings = self.ceilings().cloned().unwrap_or_default();
        let usual_holds = self.role() != Role::Operator && usual != Mode::Off;
        if ceilings.is_empty() && !usual_holds {
            return Ok(());
        }
        let mut wish: Wish = request.params()?;
        let runs = matches!(method, Method::ExecRun | Method::ExecStream | Method::ExecStart);
        let throw_away = runs && wish.session_id.is_none();
        let makes = matches!(method, Method::SessionCreate | Method::TerminalCreate) || throw_away;
        if makes {
            let case = asked_case(&ceilings, &wish, manager)?;
            let has_word = case.as_ref().is_some_and(|case| case.spec.sandbox.is_some());
            if let Some(case) = case {
                complete(&mut wish, &case);
            }
            if usual_holds && !has_word {
                ceilings.sandbox.get_or_insert(usual.into());
            }
            wish.sandbox.get_or_insert(serde_json::json!(usual));
            let place = || RuntimeWish::Named(manager.engine.settings.runtimes.usual.clone());
            wish.runtime.get_or_insert_with(place);
        } else if usual_holds {
            ceilings.sandbox.get_or_insert(usual.into());
        }
        ceilings.check(&wish, if makes { Making::Session } else { Making::Nothing })?;
        match ceilings.sandbox {
            Some(widest) if widest < SandboxMode::Off => refuse_secrets(&wish),
            _ => Ok(()),
        }
    }

    /// Of a token that has some.
    pub(crate) fn ceilings(&self) -> Option<&Ceilings> {
        match self {
            Self::Token(grant) => Some(&grant.ceilings),
            Self::Role(_) | Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) | Self::Gateway => None,
        }
    }

    /// May it name this workspace at all? A token's ceiling says which.
    pub(crate) fn may_name_workspace(&self, id: &str) -> Result<(), Error> {
        let Self::Token(grant) = self else { return Ok(()) };
        let wish = Wish { workspace_id: Some(id.into()), ..Wish::default() };
        grant.ceilings.check(&wish, Making::Nothing)
    }

    /// May it use this runtime? A token's ceiling says which.
    pub(crate) fn may_use_runtime(&self, name: &str) -> Result<(), Error> {
        let Some(ceilings) = self.ceilings() else { return Ok(()) };
        let wish = Wish { runtime: Some(RuntimeWish::Named(name.into())), ..Wish::default() };
        ceilings.check(&wish, Making::Nothing)
    }

    /// What is inside a session has its place, and needs to know of no other.
    pub(crate) fn sees_runtime(&self, name: &str) -> bool {
        self.pinned_to().is_none() && self.may_use_runtime(name).is_ok()
    }

    /// An agent token has the workspaces it made, and those its ceiling names.
    pub(crate) fn may_use_workspace(&self, workspace: &WorkspaceInfo) -> Result<(), Error> {
        let named = match self {
            Self::Token(grant) => grant.ceilings.workspaces.as_ref(),
            Self::Role(_) | Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) | Self::Gateway => None,
        };
        let is_its_own = match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => {
                workspace.owner == name || named.is_some_and(|ids| ids.contains(&workspace.workspace_id))
            }
            Sight::One(_) | Sight::Nothing => false,
        };
        if is_its_own { Ok(()) } else { Err(self.not_its_own()) }
    }

    /// The widest sandbox it may have, where whoever asks for none gets `usual`.
    pub(crate) fn widest_sandbox(&self, usual: SandboxMode) -> SandboxMode {
        match self {
            Self::Token(grant) => grant.ceilings.sandbox.unwrap_or(SandboxMode::Off).min(usual),
            Self::Role(Role::Operator) | Self::Gateway => SandboxMode::Off,
            Self::Role(_) | Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) => usual,
        }
    }

    fn sight(&self) -> Sight<'_> {
        match self {
            Self::Token(grant) if grant.role == Role::Agent => Sight::Own(grant.id.as_str()),
            Self::Role(_) | Self::Token(_) | Self::Gateway => Sight::Everything,
            Self::Inside(id) | Self::OfAgent(id) => Sight::One(id),
            Self::InTerminal(_) => Sight::Nothing,
        }
    }

    /// A session whose owner nobody remembers is nobody's.
    pub(crate) fn may_see(&self, manager: &Manager, session: &SessionId) -> bool {
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => manager.owner_of(session).is_some_and(|owner| *owner == *name),
            Sight::One(own) => own == session,
            Sight::Nothing => false,
        }
    }

    /// Does it see what this owner made?
    pub(crate) fn owns(&self, owner: &str) -> bool {
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => owner == name,
            Sight::One(_) | Sight::Nothing => false,
        }
    }

    /// The history it may read, of this session or of all.
    pub(crate) fn past(&self, manager: &Manager, session: Option<&SessionId>) -> Result<Past<'_>, Error> {
        match (self.sight(), session) {
            (Sight::Everything, _) => Ok(Past::Everything),
            (Sight::Own(name), None) => Ok(Past::Own(name)),
            // What is forgotten but for its history is told apart by that.
            (Sight::Own(name), Some(id)) => match manager.owner_of(id) {
                Some(owner) if *owner != *name => Err(self.not_its_own()),
                _ => Ok(Past::Own(name)),
            },
            (Sight::One(own), None) => Ok(Past::One(own)),
            (Sight::One(own), Some(id)) if own == id => Ok(Past::One(own)),
            (Sight::One(_) | Sight::Nothing, _) => Err(self.not_its_own()),
        }
    }

    pub(crate) fn may_see_past(&self, owner: &str, session: &SessionId) -> bool {
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => owner == name,
            Sight::One(own) => own == session,
            Sight::Nothing => false,
        }
    }

    pub(crate) fn may_see_execution(&self, execution: &Execution) -> bool {
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => *execution.owner == *name,
            Sight::One(own) => execution.place.session() == Some(own),
            Sight::Nothing => false,
        }
    }

    pub(crate) fn session(&self, manager: &Manager, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.check(manager, id)?;
        manager.find(id)
    }

    pub(crate) fn execution(&self, manager: &Manager, id: &ExecutionId) -> Result<Arc<Execution>, Error> {
        let execution = manager.execution(id)?;
        match self.may_see_execution(&execution) {
            true => Ok(execution),
            false => Err(self.not_its_own()),
        }
    }

    pub(crate) fn may_see_terminal(&self, terminal: &Terminal) -> bool {
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => *terminal.spec.owner == *name,
            Sight::One(_) | Sight::Nothing => false,
        }
    }

    /// May it hear of this, whose session or terminal may be forgotten by now?
    pub(crate) fn may_hear(&self, told: &Told) -> bool {
        let Some(owner) = &told.owner else { return true };
        match self.sight() {
            Sight::Everything => true,
            Sight::Own(name) => **owner == *name,
            Sight::One(own) => told.event.what.session_id() == Some(own),
            Sight::Nothing => false,
        }
    }

    pub(crate) fn terminal(&self, manager: &Manager, id: &TerminalId) -> Result<Arc<Terminal>, Error> {
        let terminal = manager.terminal(id)?;
        match self.may_see_terminal(&terminal) {
            true => Ok(terminal),
            false => Err(self.not_its_own()),
        }
    }

    /// Inside, an id that does not exist is refused like any other that is not one's own.
    pub(crate) fn check(&self, manager: &Manager, session: &SessionId) -> Result<(), Error> {
        if self.may_see(manager, session) {
            return Ok(());
        }
        match self.sight() {
            Sight::Own(_) => manager.find(session).and_then(|_| Err(self.not_its_own())),
            Sight::Everything | Sight::One(_) | Sight::Nothing => Err(self.not_its_own()),
        }
    }

    pub(crate) fn not_its_own(&self) -> Error {
        forbidden(match self {
            Self::Token(_) => "it was not made with this token".into(),
            Self::Role(_) | Self::Inside(_) | Self::OfAgent(_) | Self::InTerminal(_) | Self::Gateway => {
                "a process inside a session or terminal may touch no other".into()
            }
        })
    }
}

/// The case a new session would have, if it may have that one.
fn asked_case(ceilings: &Ceilings, wish: &Wish, manager: &Manager) -> Result<Option<Arc<Case>>, Error> {
    // What is named is checked before it is looked for: whether it exists is not for everybody.
    ceilings.check(wish, Making::Nothing)?;
    let case = manager.case_for(CaseWish {
        case_id: wish.case_id.as_deref(),
        workspace_id: wish.workspace_id.as_deref(),
        working_dir: wish.working_dir.as_deref().filter(|_| ceilings.workspaces.is_none()),
    })?;
    if ceilings.cases.is_some() && case.as_ref().is_some_and(|case| !case.is_trusted()) {
        return Err(forbidden("`case_id`: this token may use trusted cases only".into())
            .hint("case.trust makes one of it")
            .detail("ceiling", "case_id"));
    }
    Ok(case)
}

/// What a request leaves to its case is what the case says.
fn complete(wish: &mut Wish, case: &Case) {
    wish.case_id = Some(case.id.clone());
    wish.workspace_id = wish.workspace_id.take().or_else(|| case.spec.workspace.clone());
    wish.runtime = wish.runtime.take().or_else(|| case.spec.runtime.clone().map(RuntimeWish::Named));
    let sandbox = case.spec.sandbox.as_ref().and_then(|sandbox| serde_json::to_value(sandbox).ok());
    wish.sandbox = wish.sandbox.take().or(sandbox);
}

/// Whoever is held to a sandbox is not to have what the daemon knows and it would keep away.
fn refuse_secrets(wish: &Wish) -> Result<(), Error> {
    match wish.pass_env.iter().flatten().find(|name| is_secret_name(name)) {
        None => Ok(()),
        Some(name) => Err(forbidden(format!("`pass_env`: {name} is a secret of the daemon's by its name"))
            .hint("the operator may pass it, in the config's `pass_env` or in a case")),
    }
}

fn forbidden(message: String) -> Error {
    Error::new(ErrorCode::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use trl_proto::TokenId;

    use super::*;

    fn token(role: Role) -> Principal {
        Principal::Token(Arc::new(Grant { id: TokenId::random(), role, ceilings: Ceilings::default() }))
    }

    #[test]
    fn nothing_inside_a_session_reaches_beyond_it() {
        let own = SessionId::random();
        let inside = Principal::Inside(own.clone());
        assert_eq!(inside.sight(), Sight::One(&own));
        let in_terminal = Principal::InTerminal(TerminalId::random());
        assert_eq!(in_terminal.sight(), Sight::Nothing);
        let of_agent = Principal::OfAgent(own.clone());
        for inside in [&inside, &of_agent, &in_terminal] {
            for method in Method::ALL {
                let refused = method.from_inside() == FromInside::Refused || !method.allows(Role::Agent);
                assert_eq!(inside.may_call(*method).is_err(), refused, "{}", method.name());
                let beyond = ["terminal.", "workspace.", "fs.", "runtime.", "agent."]
                    .iter()
                    .any(|family| method.name().starts_with(family));
                assert!(refused || !beyond, "{}", method.name());
            }
        }
    }

    #[test]
    fn each_method_asks_for_its_role_on_every_transport() {
        for method in Method::ALL {
            for role in [Role::Viewer, Role::Agent, Role::Operator] {
                for principal in [Principal::Role(role), token(role)] {
                    let may = principal.may_call(*method).is_ok();
                    assert_eq!(may, method.allows(role), "{} {role:?}", method.name());
                }
            }
        }
    }

    #[test]
    fn only_agent_tokens_see_no_more_than_their_own() {
        assert!(matches!(token(Role::Agent).sight(), Sight::Own(_)));
        for principal in [token(Role::Viewer), token(Role::Operator), Principal::Role(Role::Agent)] {
            assert_eq!(principal.sight(), Sight::Everything);
        }
    }

    #[test]
    fn a_runtime_is_seen_by_those_who_may_use_it() {
        let bounded = Principal::Token(Arc::new(Grant {
            id: TokenId::random(),
            role: Role::Agent,
            ceilings: Ceilings { runtimes: Some(vec!["box".into()]), ..Ceilings::default() },
        }));
        assert!(bounded.sees_runtime("box") && !bounded.sees_runtime("host"));
        assert!(bounded.may_use_runtime("box").is_ok() && bounded.may_use_runtime("host").is_err());
        for everybody in [token(Role::Agent), token(Role::Viewer), Principal::Role(Role::Agent)] {
            assert!(everybody.sees_runtime("host") && everybody.sees_runtime("box"));
        }
        assert!(!Principal::Inside(SessionId::random()).sees_runtime("host"));
    }

    #[test]
    fn a_token_is_a_caller_of_its_own() {
        let grant = Grant {
            id: TokenId::random(),
            role: Role::Agent,
            ceilings: Ceilings { max_sessions: Some(2), ..Ceilings::default() },
        };
        let caller = Principal::Token(Arc::new(grant)).caller(1);
        assert!(caller.name.starts_with("tok-"));
        assert_eq!((caller.max_sessions, caller.max_own_sessions), (usize::MAX, 2));
        let socket = Principal::Role(Role::Agent).caller(1);
        assert_eq!((&*socket.name, socket.max_sessions, socket.max_own_sessions), ("agent", 1, usize::MAX));
    }
}
