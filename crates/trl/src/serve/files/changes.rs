//! `fs.changed`: what a watch noted, gathered for a moment and pushed at the client's pace.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use trl_files::watch::{Batch, Watch};
use trl_proto::fs::ChangedPush;
use trl_proto::{Dialect, Error, StreamId, envelope};
use trl_sys::poller;

use super::Lane;
use super::calls::change;
use crate::serve::connection::Client;

/// What happens within this is one push: a build touches the same files many times.
const TOGETHER: Duration = Duration::from_millis(50);

pub(in crate::serve) struct Changes {
    id: StreamId,
    dialect: Dialect,
    watch: Watch,
    /// Says that there is something to gather, once for each time.
    notes: poller::Watch,
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
        let notes = poller::Watch::new().map_err(fault)?;
        notes.add(&watch, 0).map_err(fault)?;
        Ok(Self { id, dialect, watch, notes, _place: place })
    }

    /// Until the client is gone, or what is watched.
    pub(in crate::serve) async fn run(mut self, client: &Client) {
        let mut more = false;
        while client.outbox.room().await {
            if !more {
                tokio::select! {
                    _ = self.notes.ready() => {}
                    () = client.outbox.closed() => return,
                }
                tokio::time::sleep(TOGETHER).await;
            }
            let mut watch = self.watch;
            let gathered = client.server.files.run(Lane::Search, move || Ok((watch.gather(), watch))).await;
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
