//! Its shell's state, for checkpoints: taken and given back by the engine, kept by this daemon.

use std::future::Future;
use std::time::Instant;

use serde_json::value::RawValue;
use trl_proto::checkpoint::{CheckpointInfo, Origin, RestoredFrom};
use trl_proto::far::{FarMethod, FarRestore, FarRestored, FarState, OfSession};
use trl_proto::text::{decode, to_base64};
use trl_proto::{Encoding, Error, ErrorCode};
use trl_store::redact::is_secret_name;

use super::{Phase, Task, Why};
use crate::checkpoint::{Captured, Checkpoint, Remarks, file};
use crate::runtime::talk;
use crate::session::capture::Restoration;
use crate::session::clearing::Clearing;
use crate::session::messages::{Order, Reply, Stdin};
use crate::shell::Kind;

impl Task {
    /// What a command brings along may not be kept, wherever its shell puts it.
    pub(super) fn hear(&mut self, order: &Order) {
        self.heard.begin();
        if let Stdin::Bytes(first) | Stdin::Open(first) = &order.stdin {
            self.heard.stdin(first);
        }
        for (_, value) in order.around.env.iter().filter(|(name, _)| is_secret_name(name)) {
            self.heard.secret(value);
        }
    }

    pub(super) fn take_state(&mut self, why: Why) {
        let of = OfSession { session_id: self.front.session.spec.id.clone() };
        let call = self.ask(FarMethod::Capture.name(), &of);
        self.phase = Phase::Capturing { call, why };
    }

    pub(super) fn captured(&mut self, outcome: Result<Box<RawValue>, Error>) {
        let Phase::Capturing { why, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let commands = self.front.session.public().commands;
        match (why, outcome.and_then(|said| self.read_state(&said))) {
            (Why::Asked, Ok(captured)) => {
                self.taken_at = commands;
                for reply in std::mem::take(&mut self.captures) {
                    let _ = reply.send(Ok(captured.clone()));
                }
            }
            (Why::Asked, Err(error)) => self.refuse_captures(&error.message),
            (Why::Approval, Ok(mut captured)) => {
                self.taken_at = commands;
                let Some(held) = &self.front.held else { return };
                captured.stand.pending_requests.push(held.id.clone());
                let saving = self.save(Origin::Approval, captured);
                let shell = self.shell_kind().unwrap_or(Kind::Dash);
                self.front.put_question(shell, async { saving.await.map(|info| Some(info.checkpoint_id)) });
            }
            // What waits for a person waits without one.
            (Why::Approval, Err(_)) => self.put_question(None),
            (Why::Close, Ok(captured)) => {
                drop(self.save(Origin::Close, captured));
                self.taken_at = commands;
            }
            (Why::Interval, Ok(captured)) => {
                drop(self.save(Origin::Interval, captured));
                (self.taken_at, self.keep_at) = (commands, None);
            }
            (Why::Close | Why::Interval, Err(error)) => {
                tracing::warn!(session = %self.front.session.spec.id, %error, "a state is not kept");
                (self.taken_at, self.keep_at) = (commands, None);
            }
        }
    }

    fn save(
        &self,
        origin: Origin,
        captured: Captured,
    ) -> impl Future<Output = Result<CheckpointInfo, Error>> + use<> {
        self.front.session.save(&self.front.engine, origin, captured, Remarks::default())
    }

    /// Whether its state outlives the daemon.
    pub(super) fn keeps_on_disk(&self) -> bool {
        self.front.session.is_recorded() && self.front.engine.checkpoints.is_open()
    }

    /// Ahead of the next question, as long as questions come.
    pub(super) fn keep_ahead(&mut self) {
        let dirty = self.front.session.public().commands != self.taken_at;
        if self.ahead > 0 && dirty && self.keeps_on_disk() {
            self.ahead -= 1;
            self.take_state(Why::Interval);
        }
    }

    /// A command has ended: in a while its state is due on disk.
    pub(super) fn note_change(&mut self) {
        let every = self.front.engine.settings.checkpoints.interval;
        if self.keep_at.is_none() && !every.is_zero() && self.keeps_on_disk() {
            self.keep_at = Some(Instant::now() + every);
        }
    }

    fn read_state(&self, said: &RawValue) -> Result<Captured, Error> {
        let FarState { state } = talk::read(said)?;
        let Checkpoint { manifest, state } = from_text(state)?;
        Ok(self.front.session.captured(state, manifest.around, self.heard.lines()))
    }

    pub(super) fn refuse_captures(&mut self, why: &str) {
        for reply in std::mem::take(&mut self.captures) {
            let _ = reply.send(Err(Error::internal(format!("the state could not be taken: {why}"))));
        }
    }

    pub(super) fn restore(&mut self, checkpoint: Box<Checkpoint>, reply: Reply<Restoration>) {
        if !matches!(self.phase, Phase::Idle | Phase::Absent) || !self.front.queue.is_empty() {
            return drop(reply.send(Err(Error::new(ErrorCode::SessionBusy, "a command is running"))));
        }
        (self.from, self.restore_reply) = (Some(checkpoint), Some(reply));
        if matches!(self.phase, Phase::Absent) {
            self.reach();
        }
    }

    pub(super) fn give_state(&mut self) {
        let Some(from) = &self.from else { return };
        let state = match text_of(from) {
            Ok(state) => state,
            Err(error) => return self.restored(Err(error)),
        };
        let params = FarRestore { session_id: self.front.session.spec.id.clone(), state };
        let call = self.ask(FarMethod::Restore.name(), &params);
        self.phase = Phase::Restoring { call };
    }

    pub(super) fn restored(&mut self, outcome: Result<Box<RawValue>, Error>) {
        self.phase = Phase::Idle;
        let from = self.from.take();
        let restored = outcome.and_then(|said| talk::read::<FarRestored>(&said));
        if let (Ok(restored), Some(from)) = (&restored, &from) {
            let mut public = self.front.session.public();
            public.working_dir.clone_from(&restored.working_dir);
            let before = public.restored_from.take().map_or(0, |before| before.lost_commands);
            let missing = restored.not_restored.clone();
            public.restored_from =
                Some(RestoredFrom { lost_commands: before, ..from.restored_from(missing) });
        }
        if let Some(reply) = self.restore_reply.take() {
            let _ = reply.send(restored.map(|restored| Restoration {
                restored: restored.restored,
                not_restored: restored.not_restored,
            }));
        }
        self.up();
    }
}

/// A checkpoint as it travels.
pub(crate) fn text_of(checkpoint: &Checkpoint) -> Result<String, Error> {
    let bytes = file::encode(checkpoint).map_err(|e| Error::internal(e.to_string()))?;
    Ok(to_base64(&bytes))
}

pub(crate) fn from_text(text: String) -> Result<Checkpoint, Error> {
    let bytes = decode(text, Encoding::Base64)?;
    file::decode(&bytes).map_err(|e| Error::new(ErrorCode::CheckpointCorrupt, e.to_string()))
}
