//! The one place that says what a session may be asked in which state.

use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode};

/// What somebody wants of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Run(WhenBusy),
    /// give its agent a message
    Send,
    /// signal, input: they concern the running command
    Steer,
    /// end the command that runs or waits
    Cancel,
    /// a person's yes or no
    Answer,
    Reset,
    /// take its shell's state
    Capture,
    /// give it another state
    Restore,
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
    /// A person has to answer first.
    Waiting,
    NotRunning,
    NotWaiting,
    Closed,
    Terminated,
}

/// What a session's agent does about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Working {
    Alone,
    /// A person has to answer first.
    Waits,
}

/// What is shown of a session whose commands stand like this, while its agent works on a message.
pub fn shown(state: SessionState, working: Option<Working>) -> SessionState {
    use SessionState as S;
    match (state, working) {
        (S::Ready | S::Idle, Some(Working::Alone)) => S::Running,
        (S::Ready | S::Idle | S::Running, Some(Working::Waits)) => S::WaitingHitl,
        (state, _) => state,
    }
}

/// May it?
pub fn decide(state: SessionState, request: Request) -> Verdict {
    use SessionState as S;
    match (state, request) {
        (S::Terminated, Request::Destroy) => Verdict::Already,
        (S::Terminated, _) => Verdict::Deny(Denial::Terminated),
        (_, Request::Destroy) => Verdict::Accept,

        (S::Closed, Request::Close) => Verdict::Already,
        (S::Uninitialized, Request::Close) => Verdict::Accept,
        (S::Closed | S::Uninitialized, Request::Open) => Verdict::Accept,
        (S::Closed | S::Uninitialized, _) => Verdict::Deny(Denial::Closed),
        (_, Request::Close) => Verdict::Accept,
        (_, Request::Open) => Verdict::Already,

        (S::Ready | S::Idle, Request::Run(_) | Request::Send) => Verdict::Accept,
        (S::Creating | S::Running, Request::Run(WhenBusy::Queue)) => Verdict::Later,
        (S::Creating | S::Running, Request::Run(WhenBusy::Refuse)) => Verdict::Deny(Denial::Busy),
        (S::Creating | S::Running, Request::Send) => Verdict::Deny(Denial::Busy),
        (S::WaitingHitl, Request::Run(_) | Request::Send) => Verdict::Deny(Denial::Waiting),

        (S::Running, Request::Steer) => Verdict::Accept,
        (S::Running | S::WaitingHitl, Request::Cancel) => Verdict::Accept,
        (_, Request::Steer | Request::Cancel) => Verdict::Deny(Denial::NotRunning),
        (S::WaitingHitl, Request::Answer) => Verdict::Accept,
        (_, Request::Answer) => Verdict::Deny(Denial::NotWaiting),
        (S::Creating | S::Running, Request::Reset | Request::Capture | Request::Restore) => {
            Verdict::Deny(Denial::Busy)
        }
        (S::WaitingHitl, Request::Reset | Request::Capture | Request::Restore) => {
            Verdict::Deny(Denial::Waiting)
        }
        (_, Request::Reset | Request::Capture | Request::Restore) => Verdict::Accept,
    }
}

impl Denial {
    pub fn error(self) -> Error {
        match self {
            Self::Busy => Error::new(ErrorCode::SessionBusy, "the session is running a command")
                .hint("wait for it, exec.cancel it, pass queue: true, or use another session"),
            Self::Waiting => {
                Error::new(ErrorCode::SessionBusy, "a command of the session waits for approval")
                    .hint("hitl.wait for the answer, exec.cancel it, or use another session")
                    .detail("state", "waiting_hitl")
            }
            Self::NotRunning => {
                Error::new(ErrorCode::ExecutionNotFound, "no command is running in the session")
            }
            Self::NotWaiting => {
                Error::new(ErrorCode::RequestNotFound, "no command of the session waits for approval")
            }
            Self::Closed => Error::new(ErrorCode::SessionClosed, "the session is closed")
                .hint("session.get (trl session open) opens it again"),
            Self::Terminated => Error::new(ErrorCode::SessionTerminated, "the session has ended")
                .hint("create a new one with session.create"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATES: [SessionState; 8] = [
        SessionState::Uninitialized,
        SessionState::Creating,
        SessionState::Ready,
        SessionState::Running,
        SessionState::WaitingHitl,
        SessionState::Idle,
        SessionState::Closed,
        SessionState::Terminated,
    ];
    const REQUESTS: [Request; 12] = [
        Request::Run(WhenBusy::Refuse),
        Request::Run(WhenBusy::Queue),
        Request::Send,
        Request::Steer,
        Request::Cancel,
        Request::Answer,
        Request::Reset,
        Request::Capture,
        Request::Restore,
        Request::Close,
        Request::Destroy,
        Request::Open,
    ];

    /// A second, independent statement of the rules: what each accepted request leads to.
    fn model(state: SessionState, request: Request) -> Option<SessionState> {
        use SessionState as S;
        let resident = !matches!(state, S::Closed | S::Terminated | S::Uninitialized);
        let free = matches!(state, S::Ready | S::Idle);
        match request {
            Request::Destroy => (state != S::Terminated).then_some(S::Terminated),
            Request::Close => (resident || state == S::Uninitialized).then_some(S::Closed),
            Request::Open => matches!(state, S::Closed | S::Uninitialized).then_some(S::Ready),
            Request::Run(_) | Request::Send => free.then_some(S::Running),
            Request::Steer => (state == S::Running).then_some(S::Running),
            Request::Cancel => matches!(state, S::Running | S::WaitingHitl).then_some(S::Idle),
            Request::Answer => (state == S::WaitingHitl).then_some(S::Running),
            Request::Reset => free.then_some(S::Ready),
            Request::Capture | Request::Restore => free.then_some(state),
        }
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_the_model_along_any_path(path in prop::collection::vec(0usize..15, 1..60)) {
            let mut state = SessionState::Uninitialized;
            for step in path {
                let Some(request) = REQUESTS.get(step) else {
                    // What happens by itself: a command ends, one turns out to need a person.
                    state = match (step, state) {
                        (13, SessionState::Running) => SessionState::Idle,
                        (12, SessionState::Running) => SessionState::WaitingHitl,
                        (14, SessionState::WaitingHitl) => SessionState::Idle,
                        (_, other) => other,
                    };
                    continue;
                };
                let next = model(state, *request);
                prop_assert_eq!(decide(state, *request) == Verdict::Accept, next.is_some(), "{:?} {:?}", state, request);
                state = next.unwrap_or(state);
            }
        }
    }

    #[test]
    fn what_an_agent_does_is_shown_of_a_session_that_lives() {
        use SessionState as S;
        for state in STATES {
            let (alone, waits) = (shown(state, Some(Working::Alone)), shown(state, Some(Working::Waits)));
            assert_eq!(shown(state, None), state);
            match state {
                S::Ready | S::Idle => assert_eq!((alone, waits), (S::Running, S::WaitingHitl)),
                S::Running => assert_eq!((alone, waits), (S::Running, S::WaitingHitl)),
                other => assert_eq!((alone, waits), (other, other)),
            }
        }
    }

    #[test]
    fn every_pair_has_an_answer_and_denials_name_the_state() {
        for state in STATES {
            for request in REQUESTS {
                match decide(state, request) {
                    Verdict::Deny(Denial::Terminated) => assert_eq!(state, SessionState::Terminated),
                    Verdict::Deny(Denial::Closed) => {
                        assert!(matches!(state, SessionState::Closed | SessionState::Uninitialized));
                    }
                    Verdict::Deny(Denial::Waiting) => assert_eq!(state, SessionState::WaitingHitl),
                    Verdict::Later => assert_eq!(request, Request::Run(WhenBusy::Queue)),
                    _ => {}
                }
            }
        }
    }
}
