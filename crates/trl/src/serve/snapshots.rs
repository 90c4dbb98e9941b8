//! Files of a workspace, kept with a checkpoint and brought back.
//!
//! 1. The session's case says that they may be kept, and how many ([`SnapshotSpec`]).
//! 2. They are read and written as `fs.*` would: beneath the session's directory, by its sandbox, by the rules.
//! 3. What a restore would do is shown first ([`Call::preview_files`]); it is done only with the digest of what was shown.
//! 4. Snapshots whose checkpoint is gone go with the next one ([`Call::tidy_snapshots`]).

use std::collections::HashSet;
use std::sync::Arc;

use trl_core::checkpoint::FilesMark;
use trl_core::session::handle::Session;
use trl_files::snapshot::{Caps, Doing, Snapshots};
use trl_proto::case::SnapshotSpec;
use trl_proto::checkpoint::{Change, FileChange, NotRestored};
use trl_proto::{CheckpointId, Error};

use super::files::{Doing as Use, Lane, Target};
use super::rpc::Call;

/// In the session's private place, beside its checkpoints.
const DIRECTORY: &str = "files.git";

impl Call<'_> {
    pub(super) async fn take_snapshot(&self, session: &Arc<Session>) -> Result<FilesMark, Error> {
        let dir = session.public().working_dir.clone();
        let snapshots = self.snapshots(session).await?;
        let taken = self.client.server.files.run(Lane::Search, move || snapshots.take()).await?;
        Ok(FilesMark { commit: taken.id, dir, count: taken.files as u64, bytes: taken.bytes })
    }

    /// What bringing them back would do now, and the digest that stands for it.
    pub(super) async fn preview_files(
        &self,
        session: &Arc<Session>,
        id: &CheckpointId,
    ) -> Result<(Vec<FileChange>, String), Error> {
        let mark = self.mark_of(session, id).await?;
        let snapshots = self.snapshots(session).await?;
        let plan = self.client.server.files.run(Lane::Search, move || snapshots.plan(&mark.commit)).await?;
        Ok((changes(&plan.changes), plan.digest))
    }

    /// Brings them back, if that still does what `seen` stands for; what could not be.
    pub(super) async fn restore_files(
        &self,
        session: &Arc<Session>,
        id: &CheckpointId,
        seen: String,
    ) -> Result<(Vec<FileChange>, Vec<NotRestored>), Error> {
        let mark = self.mark_of(session, id).await?;
        let snapshots = self.snapshots(session).await?;
        let work = move || snapshots.restore(&mark.commit, Some(&seen));
        let restored = self.client.server.files.run(Lane::Search, work).await?;
        let failed = restored.failed.into_iter().map(|(path, why)| NotRestored {
            what: "file".into(),
            name: path.display().to_string(),
            why,
        });
        Ok((changes(&restored.changes), failed.collect()))
    }

    /// Lets go of snapshots that no checkpoint names any more.
    pub(super) async fn tidy_snapshots(&self, session: &Arc<Session>) -> Result<(), Error> {
        let none = session.spec.case.as_ref().is_none_or(|case| case.spec.snapshots.is_none());
        if none || session.spec.elsewhere.is_some() {
            return Ok(());
        }
        let named: HashSet<String> = self.manager().snapshots_of(session.spec.id.clone()).await?;
        let snapshots = self.snapshots(session).await?;
        let work = move || {
            let all = snapshots.list()?;
            all.iter().filter(|id| !named.contains(*id)).try_for_each(|id| snapshots.forget(id))
        };
        self.client.server.files.run(Lane::Search, work).await
    }

    async fn mark_of(&self, session: &Arc<Session>, id: &CheckpointId) -> Result<FilesMark, Error> {
        let mark = self.manager().files_of(session.spec.id.clone(), id.clone()).await?;
        mark.ok_or_else(|| {
            Error::invalid("no files were kept with this checkpoint").hint("see `files` in checkpoint.list")
        })
    }

    async fn snapshots(&self, session: &Arc<Session>) -> Result<Snapshots, Error> {
        // Its directory is there; one of the same name here is somebody else's.
        if session.spec.elsewhere.is_some() {
            return Err(Error::invalid("files of a session elsewhere are not kept with checkpoints")
                .hint("keep its shell's state without `files`, and the files with git, there"));
        }
        let case = session.spec.case.as_ref();
        let Some(spec) = case.and_then(|case| case.spec.snapshots.as_ref()) else {
            return Err(Error::invalid("files are kept only where the session's case says so")
                .hint("give the case `snapshots: {}`"));
        };
        let place = self.manager().engine.checkpoints.private_place(&session.spec.id)?.join(DIRECTORY);
        let target = Target::Session(session.spec.id.clone());
        let usable =
            self.client.server.files.open(&self.client.server, &self.principal, target, Use::Looking).await?;
        let caps = caps(spec);
        self.client.server.files.run(Lane::Quick, move || Snapshots::new(&place, usable.files, caps)).await
    }
}

fn caps(spec: &SnapshotSpec) -> Caps {
    let usual = Caps::default();
    let count =
        |given: Option<u64>, usual: usize| given.map_or(usual, |n| usize::try_from(n).unwrap_or(usize::MAX));
    Caps {
        files: count(spec.max_files, usual.files),
        bytes: spec.max_bytes.unwrap_or(usual.bytes),
        file_bytes: spec.max_file_bytes.unwrap_or(usual.file_bytes),
    }
}

fn changes(changes: &[trl_files::snapshot::Change]) -> Vec<FileChange> {
    let one = |change: &trl_files::snapshot::Change| FileChange {
        path: change.path.display().to_string(),
        change: match change.doing {
            Doing::Create => Change::Created,
            Doing::Modify => Change::Overwritten,
            Doing::Delete => Change::Removed,
        },
    };
    changes.iter().map(one).collect()
}
