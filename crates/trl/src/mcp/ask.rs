//! Asking the person at the model's side.
//!
//! A command that has to be approved waits with the daemon in any case, for whoever answers first there. When the client
//! can ask its user, it is asked here as well:
//!
//! 1. Up to protocol 2025-11-25 the question is a request of ours within the call.
//! 2. From 2026-07-28 on the call ends with the question, and comes again with the answer ([`Person::settle`]).
//!
//! The answer is handed on with the operator's authority, where whoever carries it has that. That the user gave it is the
//! client's word, as everything is that a person sees and types there.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, EnumSchema, InputRequest, InputRequiredResult,
    PrimitiveSchemaDefinition, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::json;
use trl_proto::hitl::{ApprovalRequest, Decision, RespondParams, Scope};
use trl_proto::{ErrorCode, ExecutionId, Method, RequestId, Untrusted};

use super::hands::Hands;

/// What the question and its answer are called in a call that comes again.
const QUESTION: &str = "approval";

/// How a client can ask its user, if it can.
enum Way<'a> {
    /// Within the call.
    Now(&'a Peer<RoleServer>),
    /// By ending the call; this is the answer, when it comes again.
    Again {
        about: Option<About>,
        answer: Option<ElicitResult>,
    },
    No,
}

/// What the user was asked, and so what the answer is to. It goes to the client and comes back with the answer.
struct About {
    execution: ExecutionId,
    request: RequestId,
    digest: String,
}

impl About {
    fn of(request: &ApprovalRequest, execution: &ExecutionId) -> Self {
        let (request, digest) = (request.request_id.clone(), request.digest.clone());
        Self { execution: execution.clone(), request, digest }
    }

    fn parse(state: &str) -> Option<Self> {
        let mut words = state.split(' ');
        let (execution, request, digest) = (words.next()?, words.next()?, words.next()?);
        Some(Self {
            execution: execution.parse().ok()?,
            request: request.parse().ok()?,
            digest: digest.into(),
        })
    }

    fn state(&self) -> String {
        format!("{} {} {}", self.execution, self.request, self.digest)
    }
}

/// The person at the client's side.
pub(super) struct Person<'a> {
    way: Way<'a>,
}

/// What came of asking.
pub(super) enum Answer {
    /// Yes, by whomever: it runs.
    Yes,
    /// No.
    No,
    /// The call ends here, and comes again.
    Later(CallToolResponse),
    /// Nobody was asked, or nobody said anything: somebody else may.
    Nobody,
}

impl<'a> Person<'a> {
    pub(super) fn of(request: &CallToolRequestParams, context: &'a RequestContext<RoleServer>) -> Self {
        let forms = context
            .client_capabilities()
            .and_then(|client| client.elicitation)
            .is_some_and(|can| can.form.is_some() || can.url.is_none());
        let stateless =
            context.protocol_version().is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let way = match (forms, stateless) {
            (false, _) => Way::No,
            (true, false) => Way::Now(&context.peer),
            (true, true) => Way::Again {
                about: request.request_state.as_deref().and_then(About::parse),
                answer: request
                    .input_responses
                    .as_ref()
                    .and_then(|answers| answers.get(QUESTION))
                    .and_then(|answer| serde_json::from_value(answer.clone()).ok()),
            },
        };
        Self { way }
    }

    /// The execution this call has asked about before.
    pub(super) fn asked_about(&self) -> Option<ExecutionId> {
        match &self.way {
            Way::Again { about: Some(about), answer: Some(_) } => Some(about.execution.clone()),
            _ => None,
        }
    }

    pub(super) async fn ask(
        &self,
        hands: &dyn Hands,
        request: &RequestId,
        execution: &ExecutionId,
        patience: Duration,
    ) -> Answer {
        if matches!(self.way, Way::No) || !hands.may_respond() {
            return Answer::Nobody;
        }
        let found = hands.ask::<ApprovalRequest>(Method::HitlGet, &json!({"request_id": request})).await;
        // Who may not see it cannot ask about it.
        let Ok(request) = found else { return Answer::Nobody };
        let (about, question) = (About::of(&request, execution), question(&request));
        match &self.way {
            Way::No => Answer::Nobody,
            Way::Again { .. } => {
                let asked = InputRequest::Elicitation(ElicitRequest::new(question));
                let asked = BTreeMap::from([(QUESTION.to_string(), asked)]);
                let again = InputRequiredResult::new(Some(asked), Some(about.state()));
                Answer::Later(CallToolResponse::InputRequired(again))
            }
            Way::Now(peer) => match peer.create_elicitation_with_timeout(question, Some(patience)).await {
                Ok(answer) => respond(hands, &about, &answer).await,
                // Too late, or the client cannot after all: it waits for others.
                Err(_) => Answer::Nobody,
            },
        }
    }

    /// Hands on the answer that the call came back with.
    pub(super) async fn settle(&self, hands: &dyn Hands) -> Answer {
        match &self.way {
            Way::Again { about: Some(about), answer: Some(answer) } if hands.may_respond() => {
                respond(hands, about, answer).await
            }
            _ => Answer::Nobody,
        }
    }
}

fn question(request: &ApprovalRequest) -> ElicitRequestParams {
    let reasons: Vec<&str> = request.segments.iter().filter_map(|s| s.reason.as_deref()).collect();
    let why = match reasons.is_empty() {
        true => String::new(),
        false => format!("\n\nWhy it asks: {}", Untrusted::new(&reasons.join("; "))),
    };
    let command: Vec<String> =
        Untrusted::new(&request.command).lines().map(|line| line.to_string()).collect();
    let (command, dir) = (command.join("\n"), Untrusted::new(&request.working_dir));
    let message = format!("Run this command?\n\n{command}\n\nin {dir}{why}");
    let mut choices = vec!["run it".to_string(), "do not run it".to_string()];
    if request.scopes.contains(&Scope::Session) {
        choices.insert(1, "run it, and the like in this session".to_string());
    }
    let decision = PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).untitled().build());
    let schema = ElicitationSchema::builder().required_property("decision", decision).build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

/// An answer that is not taken, for whatever reason, is none: others are asked as well.
async fn respond(hands: &dyn Hands, about: &About, answer: &ElicitResult) -> Answer {
    let said = answer.content.as_ref().and_then(|content| content["decision"].as_str()).unwrap_or_default();
    let (decision, scope) = match (&answer.action, said) {
        (ElicitationAction::Accept, "run it") => (Decision::Approve, Some(Scope::Once)),
        (ElicitationAction::Accept, "run it, and the like in this session") => {
            (Decision::Approve, Some(Scope::Session))
        }
        // Closed without a word: somebody else may answer.
        (ElicitationAction::Cancel, _) => return Answer::Nobody,
        _ => (Decision::Reject, None),
    };
    let params = RespondParams {
        request_id: about.request.clone(),
        decision,
        digest: about.digest.clone(),
        scope,
        command: None,
        reason: None,
    };
    match hands.respond(params).await {
        Ok(()) if decision == Decision::Reject => Answer::No,
        Ok(()) => Answer::Yes,
        // Somebody else was faster; what came of it is told to whoever waits.
        Err(e) if e.code == ErrorCode::AlreadyResolved => Answer::Yes,
        Err(_) => Answer::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_what_was_asked() {
        let (execution, request) = (ExecutionId::random(), RequestId::random());
        let about = About { execution, request, digest: "d1".into() };
        let back = About::parse(&about.state()).unwrap();
        assert_eq!((back.execution, back.request), (about.execution.clone(), about.request));
        assert_eq!(back.digest, about.digest);
        assert!(About::parse(about.execution.as_str()).is_none(), "an execution alone is no question");
    }
}
