//! Which commands run, which wait for a person, and which never do.
//!
//! 1. [`rules`]: what holds for a session, from the rules people wrote and the answers they gave. A command is judged by
//!    its parts, not as text (crate `trl-policy`).
//! 2. [`probe`]: what the names in it stand for, as the session's shell says.
//! 3. [`pin`]: which files and which directory an approval of a fresh process is about.
//! 4. [`desk`]: the requests, from the record that is made before anybody is told to the one answer that counts.
//!
//! The session's task puts the three together ([`crate::session`], `approval.rs`), for fresh processes and terminals the
//! manager does.

pub mod book;
pub mod desk;
pub mod pin;
pub mod probe;
pub mod rules;

use tokio::sync::oneshot;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, Executable, RequestState, Segment, Verdict};
use trl_proto::{Error, ErrorCode, RequestId};

pub use self::book::Book;
pub use self::desk::storage;
pub use self::desk::{Asking, Desk, Detached, Elsewhere, Plan};
pub use self::rules::Rules;
use crate::sandbox::Boundary;
use crate::shell::Kind;

/// What the rules say of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub segments: Vec<Segment>,
    /// Commands in it whose meaning depends on the shell.
    pub names: Vec<String>,
    /// Why, for people.
    pub reason: Option<String>,
}

/// Why a command that the rules allow is asked about nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The name in question; every part of the command when there is none.
    pub name: Option<String>,
    pub why: String,
}

/// What is judged, as far as it takes to judge it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The text of a command, for this shell.
    Text(Kind),
    /// A program and its arguments.
    Argv(Vec<String>),
    /// The same on a terminal.
    Typed(Vec<String>),
    /// A shell that is asked about command by command.
    Shell,
    /// A change to this file.
    Write(String),
    /// What an agent wants to do itself: no rule can tell what that is.
    Permission,
}

/// All that a person is asked about.
#[derive(Debug, Clone)]
pub struct Question {
    pub judgement: Judgement,
    pub executables: Vec<Executable>,
}

/// What came of asking.
#[derive(Debug)]
pub enum Asked {
    /// It is on record; the answer comes when it comes.
    Recorded { request: RequestId, answer: oneshot::Receiver<Answer> },
    /// Somebody said yes to just this before.
    Granted,
}

/// How a request was settled, to the command that waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// With what is to be run in its place, if that was edited.
    Approved {
        command: Option<String>,
    },
    Rejected {
        reason: Option<String>,
    },
    /// By a rule that was not there when it was asked.
    Forbidden {
        reason: Option<String>,
    },
    Expired,
    Cancelled,
}

impl Judgement {
    /// Nobody wrote any rules.
    pub fn allowed() -> Self {
        Self { verdict: Verdict::Allow, segments: Vec::new(), names: Vec::new(), reason: None }
    }

    /// A person is asked, whatever it is.
    pub fn asked(shown: &str) -> Self {
        let segment = Segment {
            text: shown.into(),
            at: None,
            verdict: Verdict::Ask,
            rule: None,
            reason: None,
            would_allow: None,
            parts: Vec::new(),
        };
        Self { verdict: Verdict::Ask, segments: vec![segment], names: Vec::new(), reason: None }
    }

    /// A person has to look at it, whatever the rules say.
    pub fn doubt(&mut self, doubts: &[Doubt]) {
        for doubt in doubts {
            self.verdict = self.verdict.max(Verdict::Ask);
            let first = |segment: &Segment| segment.text.split_whitespace().next().map(String::from);
            for segment in &mut self.segments {
                if doubt.name.is_none() || first(segment) == doubt.name {
                    segment.verdict = segment.verdict.max(Verdict::Ask);
                    segment.reason.get_or_insert_with(|| doubt.why.clone());
                }
            }
            self.reason.get_or_insert_with(|| doubt.why.clone());
        }
    }
}

impl Doubt {
    /// A name stands for something else than it did when a person said yes.
    pub fn changed(shown: &[Executable], now: &[Executable]) -> Self {
        let other = now.iter().find(|now| !shown.contains(now));
        Self {
            name: other.map(|e| e.name.clone()),
            why: match other {
                Some(e) => format!("{} is not what it was when it was approved", e.name),
                None => "something steps in before commands in this shell".into(),
            },
        }
    }
}

/// Can a command get round the rules? Without a sandbox it runs as the daemon's user, unless that is somewhere else.
pub fn boundary(sandbox: &Boundary, is_apart: bool) -> ApprovalBoundary {
    match sandbox.is_some() || is_apart {
        true => ApprovalBoundary::Enforced,
        false => ApprovalBoundary::Advisory,
    }
}

/// A rule said no.
pub fn denied(judgement: &Judgement) -> Error {
    let error = Error::new(ErrorCode::ApprovalDenied, "a rule forbids the command")
        .detail("segments", as_value(&judgement.segments));
    let rule = judgement.segments.iter().find(|s| s.verdict == Verdict::Deny).and_then(|s| s.rule.clone());
    let error = match rule {
        Some(rule) => error.detail("rule", rule),
        None => error,
    };
    match &judgement.reason {
        Some(reason) => error.hint(reason.clone()),
        None => error,
    }
}

/// A person would have to be asked, and the caller does not want that.
pub fn required(judgement: &Judgement) -> Error {
    Error::new(ErrorCode::ApprovalRequired, "the command needs a person's approval")
        .hint("run it with approval: \"wait\" or \"return\"")
        .detail("segments", as_value(&judgement.segments))
}

/// What an answer that is no yes is to whoever waits.
pub fn refusal(request: &RequestId, answer: Answer) -> Error {
    let (code, message, reason) = match answer {
        Answer::Expired => (ErrorCode::ApprovalExpired, "nobody answered in time, which is a no", None),
        Answer::Rejected { reason } => (ErrorCode::ApprovalDenied, "a person said no to the command", reason),
        Answer::Forbidden { reason } => (ErrorCode::ApprovalDenied, "a rule forbids the command", reason),
        Answer::Approved { .. } | Answer::Cancelled => {
            (ErrorCode::ApprovalDenied, "the request was withdrawn", None)
        }
    };
    let error = Error::new(code, message).detail("request_id", request.to_string());
    match reason {
        Some(reason) => error.hint(reason.clone()).detail("reason", reason),
        None => error,
    }
}

/// The same of a request that was settled by now.
pub fn refused(request: &ApprovalRequest) -> Error {
    let said = request.resolution.as_ref();
    let reason = said.and_then(|said| said.reason.clone());
    let answer = match (request.state, said.and_then(|said| said.by.as_ref())) {
        (RequestState::Rejected, Some(_)) => Answer::Rejected { reason },
        (RequestState::Rejected, None) => Answer::Forbidden { reason },
        (RequestState::Expired, _) => Answer::Expired,
        _ => Answer::Cancelled,
    };
    refusal(&request.request_id, answer)
}

fn as_value(segments: &[Segment]) -> serde_json::Value {
    serde_json::to_value(segments).unwrap_or_default()
}
