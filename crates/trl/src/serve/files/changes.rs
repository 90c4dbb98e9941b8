//! `fs.changed`: what a watch noted, gathered for a moment and pushed at the client's pace.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::OwnedSemaphorePermit;
use trl_files::watch::{Batch, Watch};
use trl_proto::fs::ChangedPush;
use trl_proto::{Dialect, Error, StreamId, envelope};

use super::Lane;
use super::calls::change;
use crate::serve::connection::Client;

/// What happens within this is one push: a build touches the same files many times.
const TOGETHER: Duration = Duration::from_millis(50);

pub(in crate::serve) struct Changes {
    id: StreamId,
    dialect: Dialect,
    watch: Watch,
    /// The same notes, to wait for.
    notes: AsyncFd<OwnedFd>,
    _place: OwnedSemaphorePermit,
}

impl Changes {
    pub(super) fn new(
        id: StreamId,
        dialect: Dialect,
        watch: Watch,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, Error> {
        let fault = |e: std::io::Error| Error::internal(format!("watching: {e}"));
        let again = watch.as_fd().try_clone_to_owned().map_err(fault)?;
        let notes = AsyncFd::with_interest(again, Interest::READABLE).map_err(fault)?;
        Ok(Self { id, dialect, watch, notes, _place: place })
    }

    /// Until the client is gone, or what is watched.
    pub(in crate::serve) async fn run(mut self, client: &Client) {
        let mut more = false;
        while client.outbox.room().await {
            if !more {
                tokio::select! {
                    ready = self.notes.readable() => match ready {
                        // Before looking: what comes while we look wakes us again.
                        Ok(mut ready) => ready.clear_ready(),
                        Err(_) => return,
                    },
                    () = client.outbox.closed() => return,
                }
                tokio::time::sleep(TOGETHER).await;
            }
            let mut watch = self.watch;
            let gathered = client
                .server
                .files
                .run(Lane::Search, move || Ok((watch.gather(), watch)))
                .await;
            let Ok((Ok(batch), watch)) = gathered else { return };
            self.watch = watch;
            more = batch.more;
            if !batch.changes.is_empty() || batch.missed {
                client.outbox.send(self.push(&batch));
            }
        }
    }

    fn push(&self, batch: &Batch) -> Vec<u8> {
        let push = ChangedPush {
            stream_id: self.id.clone(),
            changes: batch.changes.iter().map(change).collect(),
            missed: batch.missed,
        };
        envelope::push(self.dialect, "fs.changed", &push)
    }
}
