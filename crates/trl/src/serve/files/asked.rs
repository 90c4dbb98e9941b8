//! Changes to files that a person is asked about.
//!
//! 1. A change is tried. The rules stop it at the first place they do not simply allow ([`super::held::Asked`]).
//! 2. Forbidden: it is refused. To be asked about: a request is made, as for a command, and whoever asked waits for the
//!    answer, or goes away, or did not want anybody to be asked.
//! 3. After a yes it is tried again, from the start: nothing was done before. It may be stopped at another place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;
use trl_core::approval::{Answer, Asked, Judgement, Rules, refusal};
use trl_core::manager::Write;
use trl_files::Files;
use trl_proto::exec::Approval;
use trl_proto::fs::{ChangeReply, ChangeWaiting};
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode, RequestId};

use super::super::Server;
use super::{Lane, Usable, told};

/// Places of one change that people are asked about. Who moves a tree with more of them uses a command.
const MOST_ASKED: usize = 8;

/// What is to be done, and what a person sees of it.
pub(in crate::serve) struct Change<F> {
    pub(in crate::serve) lane: Lane,
    /// Beside the name of the place it is stopped at, such as how many bytes are written.
    pub(in crate::serve) shown: String,
    pub(in crate::serve) mode: Approval,
    pub(in crate::serve) work: F,
}

/// How a try went.
enum Tried<T> {
    Done(T),
    /// A person has been asked, and this is to be told about it.
    Asked {
        request: RequestId,
        answer: oneshot::Receiver<Answer>,
        place: PathBuf,
    },
}

impl<F> Change<F> {
    /// Does it, when it may be done.
    pub(in crate::serve) async fn make<T>(
        self,
        server: &Arc<Server>,
        usable: Usable,
    ) -> Result<ChangeReply<T>, Error>
    where
        T: Send + 'static,
        F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
    {
        let (change, mut asked) = (Arc::new(self), None);
        for _ in 0..=MOST_ASKED {
            match change.attempt(server, &usable).await? {
                Tried::Done(done) => {
                    if let Some(request) = asked {
                        server.manager.engine.desk.ran(&request);
                    }
                    return Ok(ChangeReply::Done(done));
                }
                Tried::Asked { request, answer, place } if change.mode == Approval::Return => {
                    let waiting =
                        ChangeWaiting { request_id: request.clone(), state: SessionState::WaitingHitl };
                    tokio::spawn(later(Arc::clone(server), change, usable, (request, answer, place)));
                    return Ok(ChangeReply::Waiting(waiting));
                }
                Tried::Asked { request, answer, place } => {
                    let withdrawn = Withdrawn { server, request: Some(request.clone()) };
                    let answer = answer.await.unwrap_or(Answer::Cancelled);
                    withdrawn.answered();
                    heard(&usable, &request, answer, &place)?;
                    asked = Some(request);
                }
            }
        }
        Err(Error::new(ErrorCode::LimitExceeded, "the rules ask about too many places of this change")
            .hint("run a command that makes it: that is asked about once"))
    }

    async fn attempt<T>(self: &Arc<Self>, server: &Server, usable: &Usable) -> Result<Tried<T>, Error>
    where
        T: Send + 'static,
        F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
    {
        loop {
            let (change, files) = (Arc::clone(self), usable.files.clone());
            let tried = server.files.run_any(self.lane, move || Ok((change.work)(&files))).await?;
            let error = match tried {
                Ok(done) => return Ok(Tried::Done(done)),
                Err(error) => error,
            };
            let met = usable.asked.as_ref().and_then(|asked| Some((asked, asked.take_met()?)));
            let (true, Some((asked, (place, judgement)))) =
                (matches!(error, trl_files::Error::Denied { .. }), met)
            else {
                return Err(told(error));
            };
            match self.ask(server, usable, &asked.rules, (&place, judgement)).await? {
                Asked::Recorded { request, answer } => return Ok(Tried::Asked { request, answer, place }),
                // Somebody said yes to just this before: a grant is gone when it is taken, so this ends.
                Asked::Granted => asked.approve(place),
            }
        }
    }

    async fn ask(
        &self,
        server: &Server,
        usable: &Usable,
        rules: &Arc<Rules>,
        (place, judgement): (&Path, Judgement),
    ) -> Result<Asked, Error> {
        let write = Write {
            session: usable.session.as_deref(),
            root: usable.files.base().to_string_lossy().into_owned(),
            path: place.to_string_lossy().into_owned(),
            shown: format!("fs.write {}{}", place.display(), self.shown),
            rules: Arc::clone(rules),
            judgement,
            mode: self.mode,
        };
        server.manager.ask_about_write(write, &usable.caller).await
    }
}

/// The rest, when whoever asked has gone away.
async fn later<T, F>(
    server: Arc<Server>,
    change: Arc<Change<F>>,
    usable: Usable,
    (request, answer, place): (RequestId, oneshot::Receiver<Answer>, PathBuf),
) where
    T: Send + 'static,
    F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
{
    let answer = answer.await.unwrap_or(Answer::Cancelled);
    let mut heard = heard(&usable, &request, answer, &place);
    for _ in 0..MOST_ASKED {
        if heard.is_err() {
            break;
        }
        heard = match change.attempt(&server, &usable).await {
            Ok(Tried::Done(_)) => break,
            Ok(Tried::Asked { request, answer, place }) => {
                self::heard(&usable, &request, answer.await.unwrap_or(Answer::Cancelled), &place)
            }
            Err(error) => Err(error),
        };
    }
    server.manager.engine.desk.ran(&request);
    if let Err(error) = heard {
        tracing::info!(requestId = %request, %error, "a change to files was not made");
    }
}

fn heard(usable: &Usable, request: &RequestId, answer: Answer, place: &Path) -> Result<(), Error> {
    match answer {
        Answer::Approved { .. } => {
            if let Some(asked) = &usable.asked {
                asked.approve(place.into());
            }
            Ok(())
        }
        no => Err(refusal(request, no)),
    }
}

/// A request whose asker went away without an answer.
struct Withdrawn<'a> {
    server: &'a Server,
    request: Option<RequestId>,
}

impl Withdrawn<'_> {
    fn answered(mut self) {
        self.request = None;
    }
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.server.manager.engine.desk.withdraw(&request);
        }
    }
}
