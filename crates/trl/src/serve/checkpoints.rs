//! `checkpoint.*`: one function per method, parameters in, a result out.

use trl_proto::Error;
use trl_proto::checkpoint::{
    CheckpointInfo, CheckpointList, CreateParams, DeleteParams, Deleted, ListParams, RestoreParams, Restored,
};

use super::rpc::Call;

impl Call<'_> {
    pub(super) async fn create_checkpoint(&self) -> Result<CheckpointInfo, Error> {
        let params: CreateParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        let files = match params.files {
            Some(true) => Some(self.take_snapshot(&session).await?),
            _ => None,
        };
        let created = self.manager().create_checkpoint(&session, params.label, files).await;
        self.tidy_snapshots(&session).await?;
        created
    }

    pub(super) async fn list_checkpoints(&self) -> Result<CheckpointList, Error> {
        let params: ListParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        self.principal.session(self.manager(), &params.session_id)?;
        self.manager().list_checkpoints(params.session_id).await
    }

    pub(super) async fn restore_checkpoint(&self) -> Result<Restored, Error> {
        let params: RestoreParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        let RestoreParams { session_id, checkpoint_id, files, preview, files_digest } = params;
        if preview == Some(true) {
            let (files, digest) = self.preview_files(&session, &checkpoint_id).await?;
            let (restored, not_restored) = (Vec::new(), Vec::new());
            let (files, files_digest) = (Some(files), Some(digest));
            return Ok(Restored { session_id, checkpoint_id, restored, not_restored, files, files_digest });
        }
        let done = match (files, files_digest) {
            (Some(true), Some(seen)) => Some(self.restore_files(&session, &checkpoint_id, seen).await?),
            (Some(true), None) => {
                return Err(Error::invalid("`files` needs the `files_digest` of what a preview has shown")
                    .hint("call it with `preview` first"));
            }
            _ => None,
        };
        let mut restored = self.manager().restore_checkpoint(&session, checkpoint_id).await?;
        if let Some((changes, failed)) = done {
            restored.files = Some(changes);
            restored.not_restored.extend(failed);
        }
        Ok(restored)
    }

    pub(super) async fn delete_checkpoint(&self) -> Result<Deleted, Error> {
        let DeleteParams { session_id, checkpoint_id } = self.request.params()?;
        self.look_back(&session_id).await;
        let session = self.principal.session(self.manager(), &session_id)?;
        self.manager().delete_checkpoint(session_id.clone(), checkpoint_id.clone()).await?;
        self.tidy_snapshots(&session).await?;
        Ok(Deleted { session_id, checkpoint_id })
    }
}
