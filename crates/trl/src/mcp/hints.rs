//! What to do about an error, in the names of the tools.
//!
//! The daemon's hints are for clients of the wire, and some name its methods. A model cannot call those: it gets the hint of
//! [`in_tools`] instead, or none.

use trl_proto::{Error, ErrorCode, Method};

/// Returns the hint for a model.
pub(super) fn hint(error: &Error) -> Option<&str> {
    let hint = error.hint.as_deref()?;
    if names_a_method(hint) { in_tools(error.code) } else { Some(hint) }
}

/// Returns what the tools offer when a call fails with this code.
pub(super) fn in_tools(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::SessionNotFound => "`list` shows the sessions, `new_session` starts one",
        ErrorCode::SessionBusy => {
            "`wait` for the running command or `kill` it (`list` has its execution_id), or use another session"
        }
        ErrorCode::SessionClosed => "`exec_command` in the session opens it again",
        ErrorCode::SessionTerminated => "`new_session` starts another one",
        ErrorCode::ExecutionNotFound => "ended commands are forgotten after a while; `list` shows the others",
        ErrorCode::CheckpointNotFound => "`checkpoint` with action \"list\" shows them",
        _ => return None,
    })
}

fn names_a_method(hint: &str) -> bool {
    Method::ALL.iter().any(|method| hint.contains(method.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_kept_unless_it_names_a_method() {
        let busy = |hint: &str| Error::new(ErrorCode::SessionBusy, "busy").hint(hint);
        assert_eq!(hint(&busy("wait a little")), Some("wait a little"));
        assert_eq!(hint(&busy("exec.cancel it")), in_tools(ErrorCode::SessionBusy));
        assert_eq!(hint(&Error::new(ErrorCode::SessionBusy, "busy")), None);
        assert_eq!(hint(&Error::new(ErrorCode::Forbidden, "no").hint("see token.list")), None);
    }
}
