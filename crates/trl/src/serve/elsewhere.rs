//! `fs.*` about a session that lives elsewhere: whether it may be done is decided here, and it is done there, by the same
//! method with the same parameters.
//!
//! - A change that no rules are about is passed on, as what only looks is. With rules it is tried there with nothing approved
//!   ([`There`]): the engine says which places it would really write to, after links, and they are judged here as those of
//!   this machine are ([`super::files::asked`]). Nothing is changed before all of them are approved.
//! - A watch is a conversation of its own ([`ChangesThere`]), which ends with whoever goes first.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use trl_core::runtime::far::Far;
use trl_core::runtime::talk::{self, Talk};
use trl_core::session::handle::Session;
use trl_proto::exec::Approval;
use trl_proto::far::{FarChange, FarChanged, FarMethod, FarStopped};
use trl_proto::fs::{
    ChangeReply, ChangedPush, FilePath, MkdirParams, MoveParams, RemoveParams, WatchParams, Watching,
    WriteParams, decode_path,
};
use trl_proto::heard::Heard;
use trl_proto::text::decode;
use trl_proto::{Dialect, Error, Method, Role, SessionId, StreamId, envelope};

use super::Server;
use super::connection::Client;
use super::files::asked::{Approved, Attempt, Matter, Tried};
use super::files::calls::{A_DIRECTORY, REMOVED, contents, moved, path, shown};
use super::files::held::Stop;
use super::files::{not_for_viewers, rules_for};
use super::follow::Follow;
use super::rpc::{Answer, Call};

/// What of such a request has to be known here.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    session_id: Option<SessionId>,
}

impl Call<'_> {
    /// None: it is about files that are here.
    pub(super) async fn files_elsewhere(&self, method: Method) -> Option<Answer> {
        if !method.name().starts_with("fs.") {
            return None;
        }
        let About { session_id } = self.request.params().ok()?;
        let session = self.principal.session(self.manager(), &session_id?).ok()?;
        session.spec.elsewhere.as_ref()?;
        if self.principal.role() == Role::Viewer {
            return Some(self.done::<()>(Err(not_for_viewers())));
        }
        Some(match method {
            Method::FsWatch => match self.watch_there(&session).await {
                Err(error) => self.done::<()>(Err(error)),
                Ok((watching, changes)) => {
                    Answer { line: self.line(Ok(watching)), follow: Some(Follow::ChangesThere(changes)) }
                }
            },
            Method::FsWrite | Method::FsMkdir | Method::FsMove | Method::FsRemove => {
                self.done(self.changed_there(method, session).await)
            }
            _ => self.done(self.done_there(method, &session).await),
        })
    }

    async fn done_there(&self, method: Method, session: &Session) -> Result<Box<RawValue>, Error> {
        engine_of(session).await?.calls.raw(method.name(), self.raw_params()).await
    }

    async fn changed_there(
        &self,
        method: Method,
        session: Arc<Session>,
    ) -> Result<ChangeReply<Box<RawValue>>, Error> {
        let Some(rules) = rules_for(&self.client.server, &self.principal, &session) else {
            return self.done_there(method, &session).await.map(ChangeReply::Done);
        };
        let (shown, mode) = self.seen(method)?;
        let there = There { session: Arc::clone(&session), method, params: self.raw_params() };
        let (session, caller, rules) = (Some(session), self.principal.caller(0), Some(rules));
        Matter { session, caller, leaving: self.leaving(), rules, shown, mode, tell: None }
            .see_to(there, &self.client.server)
            .await
    }

    fn raw_params(&self) -> Box<RawValue> {
        self.request.params.clone().unwrap_or_else(|| RawValue::NULL.to_owned())
    }

    /// What a person sees of a change beside its place, and what is done while one is asked.
    fn seen(&self, method: Method) -> Result<(String, Approval), Error> {
        let (shown, mode) = match method {
            Method::FsWrite => {
                let params: WriteParams = self.request.params()?;
                let bytes = decode(params.data, params.encoding.unwrap_or_default())?;
                (contents(&bytes), params.approval)
            }
            Method::FsMkdir => (A_DIRECTORY.into(), self.request.params::<MkdirParams>()?.approval),
            Method::FsMove => {
                let params: MoveParams = self.request.params()?;
                let from = path(Some(params.path), params.path_encoding)?;
                let to = path(Some(params.to), params.to_encoding)?;
                (moved(&from, &to), params.approval)
            }
            _ => (REMOVED.into(), self.request.params::<RemoveParams>()?.approval),
        };
        Ok((shown, mode.unwrap_or_default()))
    }

    async fn watch_there(&self, session: &Session) -> Result<(Watching, ChangesThere), Error> {
        let params: WatchParams = self.request.params()?;
        self.hears_pushes()?;
        let place = self.files().watch_place()?;
        let mut talk = engine_of(session).await?.talk()?;
        let call = talk.ask(Method::FsWatch.name(), &params);
        let said = loop {
            match talk.hear().await {
                Ok(Heard::Reply { id, outcome }) if id == call => break outcome?,
                Ok(_) => {}
                Err(_) => return Err(talk::lost()),
            }
        };
        let Watching { truncated, .. } = talk::read(&said)?;
        let id = StreamId::random();
        let changes = ChangesThere { id: id.clone(), dialect: self.dialect(), talk, _place: place };
        Ok((Watching { stream_id: id, truncated }, changes))
    }
}

async fn engine_of(session: &Session) -> Result<Arc<Far>, Error> {
    let Some(elsewhere) = &session.spec.elsewhere else { return Err(session.gone()) };
    session.appear().await?;
    elsewhere.runtime.engine(session.spec.id.as_str()).await
}

/// A change to files of a session elsewhere.
struct There {
    session: Arc<Session>,
    method: Method,
    params: Box<RawValue>,
}

impl Attempt for There {
    type Done = Box<RawValue>;

    async fn once(&self, _server: &Server, approved: &Approved) -> Result<Tried<Box<RawValue>>, Error> {
        let approved = approved.keys().map(|place| {
            let (path, path_encoding) = shown(place);
            FilePath { path, path_encoding }
        });
        let (method, params) = (self.method.name().into(), self.params.clone());
        let change = FarChange { method, params, approved: approved.collect() };
        let far = engine_of(&self.session).await?;
        Ok(match far.calls.call(FarMethod::Change.name(), &change).await? {
            FarChanged::Done(done) => Tried::Done(done),
            FarChanged::Stopped(FarStopped { root, places: met }) => {
                let places = met.into_iter().map(place).collect::<Result<_, _>>()?;
                Tried::Stopped(Stop { root: place(root)?, places })
            }
        })
    }
}

/// A place as it was before it was put on the wire.
pub(super) fn place(FilePath { path, path_encoding }: FilePath) -> Result<PathBuf, Error> {
    decode_path(Some(path), path_encoding).map(|bytes| OsString::from_vec(bytes).into())
}

/// `fs.changed` of a session elsewhere: what is pushed there, at the client's pace.
pub(super) struct ChangesThere {
    id: StreamId,
    dialect: Dialect,
    talk: Talk,
    _place: OwnedSemaphorePermit,
}

impl ChangesThere {
    /// Until the client is gone, or the engine: then more may happen than is told.
    pub(super) async fn run(mut self, client: &Client) {
        while client.outbox.room().await {
            let heard = tokio::select! {
                heard = self.talk.hear() => heard,
                () = client.outbox.closed() => return,
            };
            let push = match heard {
                Ok(Heard::Push { params, .. }) => serde_json::from_str::<ChangedPush>(params.get()).ok(),
                Ok(Heard::Reply { .. }) => None,
                Err(_) => {
                    let last = ChangedPush { stream_id: self.id.clone(), changes: Vec::new(), missed: true };
                    return client.outbox.send(envelope::push(self.dialect, "fs.changed", &last));
                }
            };
            if let Some(push) = push {
                let push = ChangedPush { stream_id: self.id.clone(), ..push };
                client.outbox.send(envelope::push(self.dialect, "fs.changed", &push));
            }
        }
    }
}
