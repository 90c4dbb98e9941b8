//! `hitl.*`: what waits for a person, and the answers. Only the operator answers; everybody else sees their own.

use std::time::Instant;

use trl_core::session::spec::seconds;
use trl_proto::Error;
use trl_proto::hitl::{
    ApprovalRequest, Audit, AuditParams, RequestList, RequestListParams, RequestParams, RequestWaitParams,
    RespondParams,
};

use super::rpc::Call;

impl Call<'_> {
    pub(super) async fn list_requests(&self) -> Result<RequestList, Error> {
        let params: RequestListParams = self.request.params()?;
        if let Some(id) = &params.session_id {
            self.check_session(id).await?;
        }
        let requests = self.manager().engine.desk.list(&params, |owner| self.principal.owns(owner)).await?;
        Ok(RequestList { requests })
    }

    pub(super) async fn get_request(&self) -> Result<ApprovalRequest, Error> {
        let params: RequestParams = self.request.params()?;
        self.visible(&params).await
    }

    async fn visible(&self, params: &RequestParams) -> Result<ApprovalRequest, Error> {
        let (owner, request) = self.manager().engine.desk.get(&params.request_id).await?;
        if self.principal.owns(&owner) { Ok(request) } else { Err(self.principal.not_its_own()) }
    }

    pub(super) async fn respond(&self) -> Result<ApprovalRequest, Error> {
        let params: RespondParams = self.request.params()?;
        self.manager().respond(params, &self.caller().name).await
    }

    pub(super) async fn wait_for_answer(&self) -> Result<ApprovalRequest, Error> {
        let params: RequestWaitParams = self.request.params()?;
        let timeout = seconds(params.timeout_s, "timeout_s")?.filter(|t| !t.is_zero());
        self.visible(&RequestParams { request_id: params.request_id.clone() }).await?;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        self.manager().engine.desk.wait(&params.request_id, until).await
    }

    pub(super) async fn audit(&self) -> Result<Audit, Error> {
        let params: AuditParams = self.request.params()?;
        Ok(Audit { entries: self.manager().engine.desk.audit().read(&params).await? })
    }
}
