//! What outlives processes: `session.history`, `session.delete`, and results that only the store still has.

use trl_core::approval::refused;
use trl_proto::exec::{ExecutionStatus, ResultBody, ResultReply};
use trl_proto::history::{History, HistoryParams};
use trl_proto::hitl::RequestState;
use trl_proto::session::{Deleted, SessionParams};
use trl_proto::{Error, ErrorCode, ExecutionId, SessionId};

use super::principal::Past;
use super::rpc::Call;

impl Call<'_> {
    /// Checks that the caller may use a session. Waits until the sessions of earlier daemons are known: this may be one of them.
    ///
    /// # Errors
    /// There is no such session, or it is somebody else's.
    pub(super) async fn check_session(&self, id: &SessionId) -> Result<(), Error> {
        self.manager().recalled().await;
        self.principal.check(self.manager(), id)
    }

    /// Has a session in memory if there is one, wherever it is kept.
    pub(super) async fn look_back(&self, id: &SessionId) {
        self.manager().recalled().await;
        self.manager().remember(id).await;
    }

    pub(super) async fn history(&self) -> Result<History, Error> {
        let params: HistoryParams = self.request.params()?;
        if let Some(id) = &params.session_id {
            self.look_back(id).await;
        }
        let (session_id, owner) = match self.principal.past(self.manager(), params.session_id.as_ref())? {
            Past::Everything => (params.session_id.clone(), None),
            Past::Own(owner) => (params.session_id.clone(), Some(owner.to_string())),
            Past::One(session) => (Some(session.clone()), None),
        };
        self.manager().history(HistoryParams { session_id, ..params }, owner).await
    }

    pub(super) async fn delete(&self) -> Result<Deleted, Error> {
        let SessionParams { session_id } = self.request.params()?;
        self.look_back(&session_id).await;
        let session = self.principal.session(self.manager(), &session_id)?;
        self.manager().delete(&session).await?;
        Ok(Deleted { session_id, deleted: true })
    }

    /// Of an execution that the registry does not know.
    pub(super) async fn recorded_result(&self, id: ExecutionId) -> Result<ResultReply, Error> {
        let (owner, entry) = match self.manager().recorded(&id).await {
            Err(error) if error.code == ErrorCode::ExecutionNotFound => {
                return self.result_of_request(id, error).await;
            }
            found => found?,
        };
        if !self.principal.may_see_past(&owner, &entry.session_id) {
            return Err(self.principal.not_its_own());
        }
        let body = ResultBody::Recorded { execution_id: id, recorded: Box::new(entry.clone()) };
        Ok(ResultReply { status: entry.status, body })
    }

    /// Of one that never began: a person was asked about it.
    async fn result_of_request(&self, id: ExecutionId, unknown: Error) -> Result<ResultReply, Error> {
        let Some((owner, request)) = self.manager().asked_about(&id).await? else { return Err(unknown) };
        if !self.principal.owns(&owner) {
            return Err(self.principal.not_its_own());
        }
        let status = match request.state {
            RequestState::Pending => ExecutionStatus::WaitingHitl,
            RequestState::Approved => ExecutionStatus::Queued,
            _ => return Err(refused(&request)),
        };
        Ok(ResultReply { status, body: ResultBody::NotYet { execution_id: id } })
    }
}
