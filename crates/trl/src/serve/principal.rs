//! Who a connection is, and what it may do: the one place that decides, for every transport.

use std::sync::Arc;

use trl_core::Manager;
use trl_core::execution::Execution;
use trl_core::manager::Caller;
use trl_core::session::handle::Session;
use trl_proto::method::FromInside;
use trl_proto::{Error, ErrorCode, ExecutionId, Method, Role, SessionId, TerminalId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A connection with a role.
    Role(Role),
    /// A process of a session: that session and no other, and no token raises it.
    Inside(SessionId),
    /// A process of a terminal, which is nobody's session.
    InTerminal(TerminalId),
}

impl Principal {
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Role(role) => *role,
            Self::Inside(_) | Self::InTerminal(_) => Role::Agent,
        }
    }

    /// The session or terminal it is a process of.
    pub(crate) fn pinned_to(&self) -> Option<&str> {
        match self {
            Self::Role(_) => None,
            Self::Inside(id) => Some(id.as_str()),
            Self::InTerminal(id) => Some(id.as_str()),
        }
    }

    /// As the manager knows it; `agents_most` is the ceiling of agents, 0 for none.
    pub(crate) fn caller(&self, agents_most: usize) -> Caller {
        let name = match self {
            Self::Role(role) => format!("{role:?}"),
            Self::Inside(id) => id.to_string(),
            Self::InTerminal(id) => id.to_string(),
        };
        let bounded = self.role() == Role::Agent && agents_most > 0;
        Caller { name, max_sessions: if bounded { agents_most } else { usize::MAX } }
    }

    /// May it call this method at all?
    pub(crate) fn may_call(&self, method: Method) -> Result<(), Error> {
        if !method.allows(self.role()) {
            return Err(forbidden(format!("{} needs the operator", method.name()))
                .hint("present the operator token with system.auth as the first request"));
        }
        if self.pinned_to().is_some() && method.from_inside() == FromInside::Refused {
            return Err(forbidden(format!(
                "{} is not for processes inside a session or terminal",
                method.name()
            )));
        }
        Ok(())
    }

    pub(crate) fn may_see(&self, session: &SessionId) -> bool {
        match self {
            Self::Role(_) => true,
            Self::Inside(own) => own == session,
            Self::InTerminal(_) => false,
        }
    }

    /// Terminals are for those outside.
    pub(crate) fn may_see_terminals(&self) -> bool {
        self.pinned_to().is_none()
    }

    pub(crate) fn session(&self, manager: &Manager, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.check(id)?;
        manager.find(id)
    }

    pub(crate) fn execution(&self, manager: &Manager, id: &ExecutionId) -> Result<Arc<Execution>, Error> {
        let execution = manager.execution(id)?;
        self.check(&execution.session)?;
        Ok(execution)
    }

    pub(crate) fn check(&self, session: &SessionId) -> Result<(), Error> {
        match self.may_see(session) {
            true => Ok(()),
            false => Err(forbidden("a process inside a session or terminal may touch no other".into())),
        }
    }
}

fn forbidden(message: String) -> Error {
    Error::new(ErrorCode::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_inside_a_session_reaches_beyond_it() {
        let own = SessionId::random();
        let inside = Principal::Inside(own.clone());
        assert!(inside.check(&own).is_ok());
        for inside in [inside, Principal::InTerminal(TerminalId::random())] {
            assert_eq!(inside.check(&SessionId::random()).unwrap_err().code, ErrorCode::Forbidden);
            assert!(!inside.may_see_terminals());
            for method in Method::ALL {
                let refused = method.from_inside() == FromInside::Refused || !method.allows(Role::Agent);
                assert_eq!(inside.may_call(*method).is_err(), refused, "{}", method.name());
                assert!(refused || !method.name().starts_with("terminal."), "{}", method.name());
            }
        }
    }

    #[test]
    fn each_method_asks_for_its_role_on_every_transport() {
        for method in Method::ALL {
            for role in [Role::Viewer, Role::Agent, Role::Operator] {
                assert_eq!(
                    Principal::Role(role).may_call(*method).is_ok(),
                    method.allows(role),
                    "{}",
                    method.name()
                );
            }
        }
    }
}
