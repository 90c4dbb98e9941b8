//! The tool `checkpoint`: the state of a session's shell kept, listed, and given back.

use serde_json::{Value, json};
use trl_proto::checkpoint::{
    CheckpointInfo, CheckpointList, CreateParams, ListParams, RestoreParams, Restored,
};
use trl_proto::{CheckpointId, Method, SessionId};

use super::calls::{Calls, Done, Fault};
use super::show;
use super::tools::{Checkpoint, CheckpointAction};

impl Calls {
    pub(super) async fn checkpoint(&self, params: Result<Checkpoint, Fault>) -> Done {
        let params = params?;
        let session_id = self.session(&params.session).await?;
        match params.action {
            CheckpointAction::Create => {
                let files = params.files.then_some(true);
                let create = CreateParams { session_id, label: params.label, files };
                let kept: CheckpointInfo = self.ask(Method::CheckpointCreate, &create).await?;
                Ok(show::result(format!("kept as {}", kept.checkpoint_id), json!(kept)).into())
            }
            CheckpointAction::List => {
                let list: CheckpointList =
                    self.ask(Method::CheckpointList, &ListParams { session_id }).await?;
                let lines: Vec<String> = list.checkpoints.iter().map(one_line).collect();
                let text = if lines.is_empty() { "none".into() } else { lines.join("\n") };
                Ok(show::result(text, json!(list)).into())
            }
            CheckpointAction::Restore => {
                let id =
                    params.checkpoint_id.ok_or_else(|| Fault::Params("`checkpoint_id` is needed".into()))?;
                let id = id.parse().map_err(|_| Fault::Params(format!("{id:?} is no checkpoint_id")))?;
                self.restore(session_id, id, Files::of(params.files)).await
            }
        }
    }

    /// Files are given back as they would be now: what a person would be shown first, a model is told after.
    async fn restore(&self, session_id: SessionId, checkpoint_id: CheckpointId, files: Files) -> Done {
        let plain =
            RestoreParams { session_id, checkpoint_id, files: None, preview: None, files_digest: None };
        let restore = match files {
            Files::Stay => plain,
            Files::Too => {
                let preview = RestoreParams { preview: Some(true), ..plain.clone() };
                let seen: Restored = self.ask(Method::CheckpointRestore, &preview).await?;
                RestoreParams { files: Some(true), files_digest: seen.files_digest, ..plain }
            }
        };
        let restored: Restored = self.ask(Method::CheckpointRestore, &restore).await?;
        let mut text = format!("the shell is as it was at {}", restored.checkpoint_id);
        if let Some(files) = &restored.files {
            text = format!("{text}; {} files changed", files.len());
        }
        if !restored.not_restored.is_empty() {
            text = format!("{text}; {} parts could not be given back", restored.not_restored.len());
        }
        Ok(show::result(text, json!(restored)).into())
    }
}

/// Whether the files of the directory are meant as well.
enum Files {
    Stay,
    Too,
}

impl Files {
    fn of(wanted: bool) -> Self {
        if wanted { Self::Too } else { Self::Stay }
    }
}

fn one_line(kept: &CheckpointInfo) -> String {
    let label = kept.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
    let files = if kept.files.is_some() { ", with files" } else { "" };
    let origin: Value = json!(kept.origin);
    let why = origin.as_str().unwrap_or_default();
    format!(
        "{}{label}: {}, {why}, after {} commands{files}",
        kept.checkpoint_id, kept.created_at, kept.commands
    )
}
