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
use trl_proto::hitl::{ApprovalRequest, Decision, RequestList, RequestListParams, RespondParams, Scope};
use trl_proto::{Error, ErrorCode, ExecutionId, Method, RequestId};

use super::hands::Hands;

/// What the question and its answer are called in a call that comes again.
const QUESTION: &str = "approval";

/// How a client can ask its user, if it can.
enum Way<'a> {
    /// Within the call.
    Now(&'a Peer<RoleServer>),
    /// By ending the call; this is the answer, when it comes again.
    Again {
        about: Option<ExecutionId>,
        answer: Option<ElicitResult>,
    },
    No,
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
                about: request.request_state.as_deref().and_then(|state| state.parse().ok()),
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
            Way::Again { about, answer: Some(_) } => about.clone(),
            _ => None,
        }
    }

    pub(super) async fn ask(
        &self,
        hands: &dyn Hands,
        request: &RequestId,
        execution: &ExecutionId,
        patience: Duration,
    ) -> Result<Answer, Error> {
        if matches!(self.way, Way::No) || !hands.may_respond() {
            return Ok(Answer::Nobody);
        }
        let request: ApprovalRequest = hands.ask(Method::HitlGet, &json!({"request_id": request})).await?;
        let question = question(&request);
        match &self.way {
            Way::No => Ok(Answer::Nobody),
            Way::Again { .. } => {
                let asked = InputRequest::Elicitation(ElicitRequest::new(question));
                let again = InputRequiredResult::new(
                    Some(BTreeMap::from([(QUESTION.to_string(), asked)])),
                    Some(execution.as_str().to_string()),
                );
                Ok(Answer::Later(CallToolResponse::InputRequired(again)))
            }
            Way::Now(peer) => match peer.create_elicitation_with_timeout(question, Some(patience)).await {
                Ok(answer) => respond(hands, &request, &answer).await,
                // Too late, or the client cannot after all: it waits for others.
                Err(_) => Ok(Answer::Nobody),
            },
        }
    }

    /// Hands on the answer that the call came back with.
    pub(super) async fn settle(&self, hands: &dyn Hands, execution: &ExecutionId) -> Result<Answer, Error> {
        let Way::Again { answer: Some(answer), .. } = &self.way else { return Ok(Answer::Nobody) };
        if !hands.may_respond() {
            return Ok(Answer::Nobody);
        }
        let list: RequestList = hands.ask(Method::HitlList, &RequestListParams::default()).await?;
        match list.requests.iter().find(|r| r.execution_id.as_ref() == Some(execution)) {
            Some(request) => respond(hands, request, answer).await,
            // Somebody else was faster.
            None => Ok(Answer::Nobody),
        }
    }
}

fn question(request: &ApprovalRequest) -> ElicitRequestParams {
    let reasons: Vec<&str> = request.segments.iter().filter_map(|s| s.reason.as_deref()).collect();
    let why =
        if reasons.is_empty() { String::new() } else { format!("\n\nWhy it asks: {}", reasons.join("; ")) };
    let message = format!("Run this command?\n\n{}\n\nin {}{why}", request.command, request.working_dir);
    let mut choices = vec!["run it".to_string(), "do not run it".to_string()];
    if request.scopes.contains(&Scope::Session) {
        choices.insert(1, "run it, and the like in this session".to_string());
    }
    let decision = PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).untitled().build());
    let schema = ElicitationSchema::builder().required_property("decision", decision).build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

async fn respond(
    hands: &dyn Hands,
    request: &ApprovalRequest,
    answer: &ElicitResult,
) -> Result<Answer, Error> {
    let said = answer.content.as_ref().and_then(|content| content["decision"].as_str()).unwrap_or_default();
    let (decision, scope) = match (&answer.action, said) {
        (ElicitationAction::Accept, "run it") => (Decision::Approve, Some(Scope::Once)),
        (ElicitationAction::Accept, "run it, and the like in this session") => {
            (Decision::Approve, Some(Scope::Session))
        }
        // Closed without a word: somebody else may answer.
        (ElicitationAction::Cancel, _) => return Ok(Answer::Nobody),
        _ => (Decision::Reject, None),
    };
    let params = RespondParams {
        request_id: request.request_id.clone(),
        decision,
        digest: request.digest.clone(),
        scope,
        command: None,
        reason: None,
    };
    match hands.respond(params).await {
        Ok(()) if decision == Decision::Reject => Ok(Answer::No),
        Ok(()) => Ok(Answer::Yes),
        // Somebody else was faster; what came of it is told to whoever waits.
        Err(e) if e.code == ErrorCode::AlreadyResolved => Ok(Answer::Yes),
        Err(e) => Err(e),
    }
}
