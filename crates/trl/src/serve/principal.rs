//! Who a connection is, and what it may do: the one place that decides, for every transport.

use std::sync::Arc;

use trl_core::Manager;
use trl_core::execution::Execution;
use trl_core::manager::Caller;
use trl_core::session::handle::Session;
use trl_proto::method::FromInside;
use trl_proto::{Error, ErrorCode, ExecutionId, Method, Role, SessionId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A connection with a role.
    Role(Role),
    /// A process of a session: that session and no other, and no token raises it.
    Inside(SessionId),
}

impl Principal {
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Role(role) => *role,
            Self::Inside(_) => Role::Agent,
        }
    }

    pub(crate) fn pinned_to(&self) -> Option<&SessionId> {
        match self {
            Self::Role(_) => None,
            Self::Inside(id) => Some(id),
        }
    }

    /// As the manager knows it; `agents_most` is the ceiling of agents, 0 for none.
    pub(crate) fn caller(&self, agents_most: usize) -> Caller {
        let name = match self {
            Self::Role(role) => format!("{role:?}"),
            Self::Inside(id) => id.to_string(),
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
        if matches!(self, Self::Inside(_)) && method.from_inside() == FromInside::Refused {
            return Err(forbidden(format!("{} is not for processes inside a session", method.name())));
        }
        Ok(())
    }

    pub(crate) fn may_see(&self, session: &SessionId) -> bool {
        self.pinned_to().is_none_or(|own| own == session)
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
            false => Err(forbidden("a process inside a session may only touch its own".into())),
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
        assert_eq!(inside.check(&SessionId::random()).unwrap_err().code, ErrorCode::Forbidden);
        for method in Method::ALL {
            let refused = method.from_inside() == FromInside::Refused || !method.allows(Role::Agent);
            assert_eq!(inside.may_call(*method).is_err(), refused, "{}", method.name());
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
