//! The one place that says what a session may be asked in which state.

use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode};

/// What somebody wants of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Run(WhenBusy),
    /// cancel, signal, input: they concern the running command
    Steer,
    Reset,
    Close,
    Destroy,
    /// open a closed one
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    Refuse,
    Queue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Do it now.
    Accept,
    /// Do it when the session is free.
    Later,
    /// It is so already.
    Already,
    Deny(Denial),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    Busy,
    NotRunning,
    Closed,
    Terminated,
}

/// May it?
pub fn decide(state: SessionState, request: Request) -> Verdict {
    use SessionState as S;
    match (state, request) {
        (S::Terminated, Request::Destroy) => Verdict::Already,
        (S::Terminated, _) => Verdict::Deny(Denial::Terminated),
        (_, Request::Destroy) => Verdict::Accept,

        (S::Closed, Request::Close) => Verdict::Already,
        (S::Closed, Request::Open) => Verdict::Accept,
        (S::Closed, _) => Verdict::Deny(Denial::Closed),
        (_, Request::Close) => Verdict::Accept,
        (_, Request::Open) => Verdict::Already,

        (S::Ready | S::Idle, Request::Run(_)) => Verdict::Accept,
        (S::Creating | S::Running, Request::Run(WhenBusy::Queue)) => Verdict::Later,
        (S::Creating | S::Running, Request::Run(WhenBusy::Refuse)) => Verdict::Deny(Denial::Busy),

        (S::Running, Request::Steer) => Verdict::Accept,
        (_, Request::Steer) => Verdict::Deny(Denial::NotRunning),
        (S::Creating | S::Running, Request::Reset) => Verdict::Deny(Denial::Busy),
        (_, Request::Reset) => Verdict::Accept,
    }
}

impl Denial {
    pub fn error(self) -> Error {
        match self {
            Self::Busy => Error::new(ErrorCode::SessionBusy, "the session is running a command")
                .hint("wait for it, exec.cancel it, pass queue: true, or use another session"),
            Self::NotRunning => {
                Error::new(ErrorCode::ExecutionNotFound, "no command is running in the session")
            }
            Self::Closed => Error::new(ErrorCode::SessionClosed, "the session is closed")
                .hint("session.get opens it again with a fresh shell"),
            Self::Terminated => Error::new(ErrorCode::SessionTerminated, "the session has ended")
                .hint("create a new one with session.create"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATES: [SessionState; 6] = [
        SessionState::Creating,
        SessionState::Ready,
        SessionState::Running,
        SessionState::Idle,
        SessionState::Closed,
        SessionState::Terminated,
    ];
    const REQUESTS: [Request; 7] = [
        Request::Run(WhenBusy::Refuse),
        Request::Run(WhenBusy::Queue),
        Request::Steer,
        Request::Reset,
        Request::Close,
        Request::Destroy,
        Request::Open,
    ];

    /// A second, independent statement of the rules: what each accepted request leads to.
    fn model(state: SessionState, request: Request) -> Option<SessionState> {
        use SessionState as S;
        let alive = !matches!(state, S::Closed | S::Terminated);
        match request {
            Request::Destroy => (state != S::Terminated).then_some(S::Terminated),
            Request::Close => alive.then_some(S::Closed),
            Request::Open => (state == S::Closed).then_some(S::Ready),
            Request::Run(_) => matches!(state, S::Ready | S::Idle).then_some(S::Running),
            Request::Steer => (state == S::Running).then_some(S::Running),
            Request::Reset => matches!(state, S::Ready | S::Idle).then_some(S::Ready),
        }
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_the_model_along_any_path(path in prop::collection::vec(0usize..7, 1..40)) {
            let mut state = SessionState::Ready;
            for step in path {
                let request = REQUESTS[step];
                let next = model(state, request);
                prop_assert_eq!(decide(state, request) == Verdict::Accept, next.is_some(), "{:?} {:?}", state, request);
                state = next.unwrap_or(state);
            }
        }
    }

    #[test]
    fn every_pair_has_an_answer_and_denials_name_the_state() {
        for state in STATES {
            for request in REQUESTS {
                match decide(state, request) {
                    Verdict::Deny(Denial::Terminated) => assert_eq!(state, SessionState::Terminated),
                    Verdict::Deny(Denial::Closed) => assert_eq!(state, SessionState::Closed),
                    Verdict::Later => assert_eq!(request, Request::Run(WhenBusy::Queue)),
                    _ => {}
                }
            }
        }
    }
}
