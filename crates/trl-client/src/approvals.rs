//! Commands that wait for a person, and the answers. Answering takes the operator's token.

use std::time::Duration;

use trl_proto::hitl::{
    ApprovalRequest, Audit, AuditEntry, AuditParams, Decision, RequestList, RequestListParams, RequestParams,
    RequestWaitParams, RespondParams, Scope,
};
use trl_proto::{Method, RequestId};

use crate::connection::Connection;
use crate::error::ClientError;

/// The requests there are.
#[derive(Debug, Clone)]
pub struct Approvals(Connection);

/// What somebody says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub decision: Decision,
    /// How far a yes reaches.
    pub scope: Option<Scope>,
    /// To run in its place.
    pub command: Option<String>,
    /// Told to whoever asked.
    pub reason: Option<String>,
}

impl Answer {
    /// Yes, so far.
    pub fn approve(scope: Scope) -> Self {
        Self { decision: Decision::Approve, scope: Some(scope), command: None, reason: None }
    }

    /// Yes, but run this instead.
    pub fn edited(command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..Self::approve(Scope::Once) }
    }

    /// No.
    pub fn reject(reason: Option<String>) -> Self {
        Self { decision: Decision::Reject, scope: None, command: None, reason }
    }
}

impl Approvals {
    pub fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Those that wait, oldest first; with a `state` those in that one.
    pub async fn list(&self, params: RequestListParams) -> Result<Vec<ApprovalRequest>, ClientError> {
        let list: RequestList = self.0.call(Method::HitlList, &params).await?;
        Ok(list.requests)
    }

    pub async fn get(&self, id: &RequestId) -> Result<ApprovalRequest, ClientError> {
        self.0.call(Method::HitlGet, &RequestParams { request_id: id.clone() }).await
    }

    /// The request once it is settled, or as it is after that long; None is as long as it takes.
    pub async fn wait(
        &self,
        id: &RequestId,
        within: Option<Duration>,
    ) -> Result<ApprovalRequest, ClientError> {
        // The wire has 0 for as long as it takes.
        let timeout_s = Some(within.map_or(0.0, |within| within.max(Duration::from_millis(1)).as_secs_f64()));
        self.0.call(Method::HitlWait, &RequestWaitParams { request_id: id.clone(), timeout_s }).await
    }

    /// Answers what was seen: its digest goes along, so that nothing else is approved.
    pub async fn respond(
        &self,
        seen: &ApprovalRequest,
        answer: Answer,
    ) -> Result<ApprovalRequest, ClientError> {
        let params = RespondParams {
            request_id: seen.request_id.clone(),
            decision: answer.decision,
            digest: seen.digest.clone(),
            scope: answer.scope,
            command: answer.command,
            reason: answer.reason,
        };
        self.0.call(Method::HitlRespond, &params).await
    }

    /// Who decided what, newest first.
    pub async fn audit(&self, params: AuditParams) -> Result<Vec<AuditEntry>, ClientError> {
        let audit: Audit = self.0.call(Method::HitlAudit, &params).await?;
        Ok(audit.entries)
    }
}
