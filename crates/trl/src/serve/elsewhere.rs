//! `fs.*` about a session that lives elsewhere: whether it may be done is decided here, and it is done there, by the same
//! method with the same parameters.
//!
//! A change that a rule asks about is refused: contents would have to wait here for an answer that may never come. A
//! command that makes it is asked about as any other.

use serde::Deserialize;
use serde_json::value::RawValue;
use trl_core::approval::{denied, required};
use trl_core::session::handle::Session;
use trl_proto::hitl::Verdict;
use trl_proto::{Error, Method, Role, SessionId};

use super::files::not_for_viewers;
use super::rpc::{Answer, Call};

/// What of such a request has to be known here.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    session_id: Option<SessionId>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    to: Option<String>,
}

impl Call<'_> {
    /// None: it is about files that are here.
    pub(super) async fn files_elsewhere(&self, method: Method) -> Option<Answer> {
        if !method.name().starts_with("fs.") {
            return None;
        }
        let About { session_id, path, to } = self.request.params().ok()?;
        let session = self.principal.session(self.manager(), &session_id?).ok()?;
        session.spec.elsewhere.as_ref()?;
        if self.principal.role() == Role::Viewer {
            return Some(self.done::<()>(Err(not_for_viewers())));
        }
        if method == Method::FsWatch {
            let error = Error::invalid("files of a session elsewhere cannot be watched")
                .hint("look again with fs.list, or run a command that watches");
            return Some(self.done::<()>(Err(error)));
        }
        Some(self.done(self.done_there(method, &session, path.iter().chain(&to)).await))
    }

    async fn done_there(
        &self,
        method: Method,
        session: &Session,
        paths: impl Iterator<Item = &String>,
    ) -> Result<Box<RawValue>, Error> {
        let changes = matches!(method, Method::FsWrite | Method::FsMkdir | Method::FsMove | Method::FsRemove);
        if let (true, Some(rules)) = (changes, session.rules_in_force()) {
            let root = &session.spec.origin.root;
            for path in paths {
                let place = std::path::Path::new(root).join(path);
                let judgement = rules.judge_write(root, &place.to_string_lossy());
                match judgement.verdict {
                    Verdict::Allow => {}
                    Verdict::Deny => return Err(denied(&judgement)),
                    Verdict::Ask => {
                        return Err(
                            required(&judgement).hint("a command that makes the change is asked about")
                        );
                    }
                }
            }
        }
        let Some(elsewhere) = &session.spec.elsewhere else { return Err(session.gone()) };
        let far = elsewhere.runtime.engine(session.spec.id.as_str()).await?;
        let params = self.request.params.clone().unwrap_or_else(|| RawValue::NULL.to_owned());
        far.calls.raw(method.name(), params).await
    }
}
