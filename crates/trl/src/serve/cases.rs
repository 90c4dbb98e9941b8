//! `case.*`: one function per method, parameters in, a result out.

use trl_core::case::{Cases, Where};
use trl_proto::case::{
    CaseDetail, CaseInfo, CaseList, CaseListParams, CaseParams, CaseTrustParams, CaseValidateParams,
    CaseValidated,
};
use trl_proto::{Error, ErrorCode, Role};

use super::rpc::Call;

impl Call<'_> {
    fn cases(&self) -> &Cases {
        &self.manager().engine.cases
    }

    /// Directories can be named only by those who may use all workspaces.
    fn place<'a>(&self, workspace_id: Option<&'a str>, path: Option<&'a str>) -> Result<Where<'a>, Error> {
        let bounded = self.principal.ceilings().is_some_and(|ceilings| ceilings.workspaces.is_some());
        if bounded && path.is_some() {
            return Err(Error::new(ErrorCode::Forbidden, "`path`: this token names workspaces by their ids")
                .detail("ceiling", "workspace_id"));
        }
        Ok(Where { workspace_id, path })
    }

    pub(super) fn list_cases(&self) -> Result<CaseList, Error> {
        let params: CaseListParams = self.request.params()?;
        let place = self.place(params.workspace_id.as_deref(), params.path.as_deref())?;
        let mut list = self.cases().list(self.cases().workspace(place)?.as_deref());
        if let Some(allowed) = self.principal.ceilings().and_then(|ceilings| ceilings.cases.as_ref()) {
            list.cases.retain(|case| allowed.contains(&case.case_id));
        }
        Ok(list)
    }

    pub(super) fn get_case(&self) -> Result<CaseDetail, Error> {
        let params: CaseParams = self.request.params()?;
        let place = self.place(params.workspace_id.as_deref(), params.path.as_deref())?;
        let workspace = self.cases().workspace(place)?;
        let mut detail = self.cases().get(&params.case_id, workspace.as_deref())?;
        if self.principal.role() != Role::Operator {
            // People put into a file what they would not show everybody.
            detail.case.env = None;
            if let Some(agent) = &mut detail.case.agent {
                agent.env = None;
            }
        }
        Ok(detail)
    }

    pub(super) fn validate_case(&self) -> Result<CaseValidated, Error> {
        let params: CaseValidateParams = self.request.params()?;
        Ok(Cases::validate(&params.text, params.case_id.as_deref()))
    }

    pub(super) fn trust_case(&self) -> Result<CaseInfo, Error> {
        let params: CaseTrustParams = self.request.params()?;
        let info = self.cases().trust(&params, &self.caller().name)?;
        tracing::info!(source = info.source, digest = info.digest, trusted = info.trusted, "case.trust");
        Ok(info)
    }
}
