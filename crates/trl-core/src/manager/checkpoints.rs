//! `checkpoint.*`: a session's state, kept and given back.

use std::sync::Arc;

use tokio::sync::oneshot;
use trl_proto::checkpoint::{CheckpointInfo, CheckpointList, Origin, Restored};
use trl_proto::{CheckpointId, Error, SessionId};

use super::Manager;
use crate::checkpoint::{Captured, Checkpoint, Checkpoints, FilesMark, Remarks};
use crate::session::handle::Session;
use crate::session::messages::Message;
use crate::session::spec::{Program, checked_name};
use crate::session::state::{self, Request, Verdict};
use crate::shell::state::What;

impl Manager {
    /// The state of its shell between two commands.
    pub async fn capture(&self, session: &Session) -> Result<Captured, Error> {
        may(session, Request::Capture)?;
        let (reply, state) = oneshot::channel();
        session.send(Message::Capture { reply }).await?;
        state.await.unwrap_or_else(|_| Err(session.gone()))
    }

    /// Makes a checkpoint and writes it; done when it is on disk.
    pub async fn checkpoint(
        &self,
        session: &Arc<Session>,
        origin: Origin,
        remarks: Remarks,
    ) -> Result<CheckpointInfo, Error> {
        let captured = self.capture(session).await?;
        session.save(&self.engine, origin, captured, remarks).await
    }

    pub async fn create_checkpoint(
        &self,
        session: &Arc<Session>,
        label: Option<String>,
        files: Option<FilesMark>,
    ) -> Result<CheckpointInfo, Error> {
        let label = checked_name(label)?.map(|label| session.redactor().text(&label).into_owned());
        let remarks = Remarks { label, files };
        self.checkpoint(session, Origin::Request, remarks).await
    }

    pub async fn list_checkpoints(&self, session: SessionId) -> Result<CheckpointList, Error> {
        let listing = self.on_disk(move |store| store.list(&session)).await?;
        let checkpoints = listing.good.iter().map(|(manifest, size)| manifest.info(*size)).collect();
        Ok(CheckpointList { checkpoints, corrupt: listing.corrupt })
    }

    pub async fn delete_checkpoint(&self, session: SessionId, id: CheckpointId) -> Result<(), Error> {
        self.on_disk(move |store| store.delete(&session, &id)).await
    }

    /// A fresh shell with that state.
    pub async fn restore_checkpoint(
        &self,
        session: &Session,
        checkpoint_id: CheckpointId,
    ) -> Result<Restored, Error> {
        may(session, Request::Restore)?;
        let session_id = session.spec.id.clone();
        let (owner, id) = (session_id.clone(), checkpoint_id.clone());
        let checkpoint = self.on_disk(move |store| store.load(&owner, &id)).await?;
        if !fits(session, &checkpoint) {
            let shell = &checkpoint.manifest.shell;
            return Err(Error::invalid(format!(
                "it is the state of {shell}, which this session does not run"
            )));
        }
        let (reply, done) = oneshot::channel();
        session.send(Message::Restore { checkpoint: Box::new(checkpoint), reply }).await?;
        let report = done.await.unwrap_or_else(|_| Err(session.gone()))?;
        Ok(Restored {
            session_id,
            checkpoint_id,
            restored: report.restored,
            not_restored: report.not_restored,
            files: None,
            files_digest: None,
        })
    }

    /// The files that were kept with a checkpoint, if any were.
    pub async fn files_of(&self, session: SessionId, id: CheckpointId) -> Result<Option<FilesMark>, Error> {
        self.on_disk(move |store| store.load(&session, &id)).await.map(|found| found.manifest.files)
    }

    /// The snapshots of files that its checkpoints name.
    pub async fn snapshots_of<T: FromIterator<String> + Send + 'static>(
        &self,
        session: SessionId,
    ) -> Result<T, Error> {
        let listing = self.on_disk(move |store| store.list(&session)).await?;
        Ok(listing
            .good
            .into_iter()
            .filter_map(|(manifest, _)| manifest.files)
            .map(|mark| mark.commit)
            .collect())
    }

    /// What a closed session is to go on from: a certain state if that can still be used, or its newest.
    pub(super) async fn last_state(
        &self,
        closed: &Session,
        wanted: Option<&CheckpointId>,
    ) -> Option<Box<Checkpoint>> {
        let on = self.engine.settings.checkpoints.restore_on_open || wanted.is_some();
        if !on || !closed.is_recorded() {
            return None;
        }
        closed.saved().await;
        let kept = closed.public().kept.clone();
        let (id, wanted) = (closed.spec.id.clone(), wanted.cloned());
        let found = match kept {
            Some(kept) if wanted.is_none() => Some(Checkpoint::clone(&kept)),
            _ => self.on_disk(move |store| Ok(find_state(store, &id, wanted.as_ref()))).await.ok().flatten(),
        };
        found.filter(|checkpoint| fits(closed, checkpoint)).map(Box::new)
    }

    /// Files are waited for in a thread of their own.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Checkpoints) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let store = Arc::clone(&self.engine.checkpoints);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.unwrap_or_else(|e| Err(Error::internal(e.to_string())))
    }
}

fn find_state(store: &Checkpoints, id: &SessionId, wanted: Option<&CheckpointId>) -> Option<Checkpoint> {
    let certain = wanted.and_then(|wanted| match store.load(id, wanted) {
        Ok(checkpoint) => Some(checkpoint),
        Err(error) => {
            tracing::warn!(sessionId = %id, %error, "a checkpoint is skipped");
            None
        }
    });
    certain.or_else(|| store.newest(id))
}

/// What is known of a session before its shell runs: where it will be, and what is certain to be missing.
pub(super) fn expect(session: &Session, from: &Checkpoint) {
    let is_given = |name: &str| session.spec.env_keys().iter().any(|key| key == name);
    let mut expected = from.restored_from(from.lost(is_given));
    let dir =
        from.state.find(What::Directory, b"").and_then(|part| String::from_utf8(part.text.clone()).ok());
    let mut public = session.public();
    expected.lost_commands = public.commands.saturating_sub(from.manifest.stand.commands);
    public.restored_from = Some(expected);
    public.working_dir = dir.unwrap_or_else(|| public.working_dir.clone());
}

fn may(session: &Session, request: Request) -> Result<(), Error> {
    if matches!(session.spec.program, Program::Direct { .. }) {
        return Err(Error::invalid("a direct command has no shell whose state could be kept"));
    }
    match state::decide(session.state(), request) {
        Verdict::Deny(denial) => Err(denial.error()),
        Verdict::Accept | Verdict::Already | Verdict::Later => Ok(()),
    }
}

/// A state is given only to the kind of shell it came from.
fn fits(session: &Session, checkpoint: &Checkpoint) -> bool {
    matches!(session.spec.program, Program::Shell { kind, .. } if kind == checkpoint.state.kind)
}
