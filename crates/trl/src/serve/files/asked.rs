//! Changes to files that a person is asked about, wherever the files are.
//!
//! 1. A change is tried ([`Attempt`]). It is stopped at places that nobody said yes to, before any of it is made.
//! 2. The rules judge those. Allowed: they are on the list, and it is tried again. Forbidden: it is refused.
//! 3. To be asked about: a request is made, as for a command, and whoever asked waits for the answer, or goes away, or did
//!    not want anybody to be asked.
//! 4. After a yes it is tried again, from the start. It may be stopped at another place.
//!
//! [`Change`] is one to files that are here; [`super::super::elsewhere`] has those of others.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{oneshot, watch};
use trl_core::approval::{Answer, Asked, Judgement, Rules, refusal};
use trl_core::manager::{Caller, Write};
use trl_core::session::handle::Session;
use trl_files::Files;
use trl_proto::exec::Approval;
use trl_proto::fs::{ChangeReply, ChangeWaiting};
use trl_proto::hitl::Verdict;
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode, RequestId};

use super::super::Server;
use super::held::{Barrier, Stop};
use super::{Lane, Usable, told};

/// Places of one change that people are asked about. Who moves a tree with more of them uses a command.
const MOST_ASKED: usize = 8;
/// Tries of one change. Elsewhere each is a round trip, and has a thousand more places approved than the one before.
const MOST_TRIES: usize = 16;

/// Places a change may write to, and whose word that is.
pub(in crate::serve) type Approved = HashMap<PathBuf, Said>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) enum Said {
    Rules,
    Person,
}

/// How a try went.
pub(in crate::serve) enum Tried<T> {
    Done(T),
    Stopped(Stop),
}

/// Something that can be tried.
pub(in crate::serve) trait Attempt: Send + Sync + 'static {
    type Done: Send + 'static;

    /// Makes the change, if it writes to nothing but this and what it need not ask about; else nothing is done.
    fn once(
        &self,
        server: &Server,
        approved: &Approved,
    ) -> impl Future<Output = Result<Tried<Self::Done>, Error>> + Send;
}

/// Whether a change waits for a person.
#[derive(Debug, Clone)]
pub(in crate::serve) enum Waits {
    For(RequestId),
    NoMore(RequestId),
}

/// Hears when a person is asked, and when that is over.
pub(in crate::serve) type Tell = Box<dyn Fn(Waits) + Send + Sync>;

/// Who wants a change, by which rules, and what a person sees of it.
pub(in crate::serve) struct Matter {
    pub(in crate::serve) session: Option<Arc<Session>>,
    pub(in crate::serve) caller: Caller,
    /// True once whoever asked has gone for good, where that can be seen.
    pub(in crate::serve) leaving: Option<watch::Receiver<bool>>,
    pub(in crate::serve) rules: Option<Arc<Rules>>,
    /// Beside the name of the place it is stopped at, such as how many bytes are written.
    pub(in crate::serve) shown: String,
    pub(in crate::serve) mode: Approval,
    pub(in crate::serve) tell: Option<Tell>,
}

impl Matter {
    fn tell(&self, waits: Waits) {
        if let Some(tell) = &self.tell {
            tell(waits);
        }
    }

    /// Does it, when it may be done.
    pub(in crate::serve) async fn see_to<A: Attempt>(
        self,
        attempt: A,
        server: &Arc<Server>,
    ) -> Result<ChangeReply<A::Done>, Error> {
        let mode = self.mode;
        let mut course =
            Course { matter: self, attempt, approved: Approved::new(), tries: 0, heard: Vec::new() };
        match course.go_on(server).await? {
            Step::Done(done) => Ok(ChangeReply::Done(done)),
            Step::Asked(question) if mode == Approval::Return => {
                let request_id = question.request.clone();
                tokio::spawn(later(Arc::clone(server), course, question));
                let state = SessionState::WaitingHitl;
                Ok(ChangeReply::Waiting(ChangeWaiting { request_id, state }))
            }
            Step::Asked(question) => course.on_answers(server, question).await.map(ChangeReply::Done),
        }
    }

    /// Resolves when nobody waits for an answer any more.
    async fn left(&self) {
        if let Some(mut leaving) = self.leaving.clone() {
            // Whoever could leave is gone as well.
            let _ = leaving.wait_for(|gone| *gone).await;
            return;
        }
        std::future::pending().await
    }
}

/// One change, on its way.
struct Course<A> {
    matter: Matter,
    attempt: A,
    approved: Approved,
    tries: usize,
    /// Requests that were answered with a yes.
    heard: Vec<RequestId>,
}

enum Step<T> {
    Done(T),
    /// A person has been asked.
    Asked(Question),
}

/// What is to be told about it.
struct Question {
    request: RequestId,
    answer: oneshot::Receiver<Answer>,
    root: PathBuf,
    place: PathBuf,
}

impl<A: Attempt> Course<A> {
    /// Until it is done, or somebody has to be waited for.
    async fn go_on(&mut self, server: &Server) -> Result<Step<A::Done>, Error> {
        while self.tries < MOST_TRIES {
            self.tries += 1;
            match self.attempt.once(server, &self.approved).await? {
                Tried::Done(done) => return Ok(Step::Done(done)),
                Tried::Stopped(stop) => {
                    if let Some(question) = self.judge(server, stop).await? {
                        return Ok(Step::Asked(question));
                    }
                }
            }
        }
        Err(too_much("this change has too many places to look at one by one"))
    }

    /// What may be written goes on the list, up to the first place that a person is asked about.
    async fn judge(&mut self, server: &Server, stop: Stop) -> Result<Option<Question>, Error> {
        let Some(rules) = self.matter.rules.clone() else { return Ok(None) };
        let root = stop.root;
        for place in stop.places {
            let judgement = rules.judge_write(&root.to_string_lossy(), &place.to_string_lossy());
            let said = match judgement.verdict {
                Verdict::Allow => Said::Rules,
                Verdict::Ask if self.heard.len() == MOST_ASKED => {
                    return Err(too_much("the rules ask about too many places of this change"));
                }
                Verdict::Ask | Verdict::Deny => {
                    match self.ask(server, &rules, (&root, &place), judgement).await? {
                        Asked::Recorded { request, answer } => {
                            return Ok(Some(Question { request, answer, root, place }));
                        }
                        // Somebody said yes to just this before.
                        Asked::Granted => Said::Person,
                    }
                }
            };
            self.approved.insert(place, said);
        }
        Ok(None)
    }

    async fn ask(
        &self,
        server: &Server,
        rules: &Arc<Rules>,
        (root, place): (&Path, &Path),
        judgement: Judgement,
    ) -> Result<Asked, Error> {
        let write = Write {
            session: self.matter.session.as_deref(),
            root: root.to_string_lossy().into_owned(),
            path: place.to_string_lossy().into_owned(),
            shown: format!("fs.write {}{}", place.display(), self.matter.shown),
            rules: Arc::clone(rules),
            judgement,
            mode: self.matter.mode,
        };
        server.manager.ask_about_write(write, &self.matter.caller).await
    }

    /// The rest, one answer after the other.
    async fn on_answers(&mut self, server: &Arc<Server>, mut question: Question) -> Result<A::Done, Error> {
        loop {
            let Question { request, answer, root, place } = question;
            let answer = match self.matter.mode {
                Approval::Return => answer.await,
                Approval::Wait | Approval::Fail => {
                    let withdrawn = Withdrawn::unless_answered(server, &request);
                    self.matter.tell(Waits::For(request.clone()));
                    let answer = tokio::select! {
                        answer = answer => answer,
                        () = self.matter.left() => return Err(refusal(&request, Answer::Cancelled)),
                    };
                    withdrawn.answered();
                    self.matter.tell(Waits::NoMore(request.clone()));
                    answer
                }
            };
            match answer.unwrap_or(Answer::Cancelled) {
                Answer::Approved { .. } => self.heard.push(request),
                no => return Err(refusal(&request, no)),
            }
            self.approved.insert(place, Said::Person);
            self.look_again(&root);
            match self.go_on(server).await? {
                Step::Done(done) => {
                    self.close(server);
                    return Ok(done);
                }
                Step::Asked(next) => question = next,
            }
        }
    }

    /// The rules may be others by now, and nobody's yes is above them.
    fn look_again(&mut self, root: &Path) {
        let Some(rules) = &self.matter.rules else { return };
        let root = root.to_string_lossy();
        self.approved.retain(|place, said| {
            match rules.judge_write(&root, &place.to_string_lossy()).verdict {
                Verdict::Allow => true,
                Verdict::Ask => *said == Said::Person,
                Verdict::Deny => false,
            }
        });
    }

    /// What was said yes to is over.
    fn close(&self, server: &Server) {
        self.heard.iter().for_each(|request| server.manager.engine.desk.ran(request));
    }
}

fn too_much(why: &str) -> Error {
    Error::new(ErrorCode::LimitExceeded, why)
        .hint("run a command that makes the change: that is asked about once")
}

/// The rest, when whoever asked has gone away.
async fn later<A: Attempt>(server: Arc<Server>, mut course: Course<A>, question: Question) {
    let request = question.request.clone();
    if let Err(error) = course.on_answers(&server, question).await {
        tracing::info!(requestId = %request, %error, "a change to files was not made");
        course.close(&server);
    }
}

/// What is to be done to files that are here.
pub(in crate::serve) struct Change<F> {
    pub(in crate::serve) lane: Lane,
    /// Beside the name of the place it is stopped at, such as how many bytes are written.
    pub(in crate::serve) shown: String,
    pub(in crate::serve) mode: Approval,
    pub(in crate::serve) work: F,
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
        self.make_telling(server, usable, None).await
    }

    /// The same for somebody who wants to know when a person is asked, and when that is over.
    pub(in crate::serve) async fn make_telling<T>(
        self,
        server: &Arc<Server>,
        usable: Usable,
        tell: Option<Tell>,
    ) -> Result<ChangeReply<T>, Error>
    where
        T: Send + 'static,
        F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
    {
        let Usable { files, barrier, session, caller, leaving } = usable;
        let rules = barrier.as_ref().and_then(|barrier| barrier.rules().cloned());
        let barrier = barrier.filter(|_| rules.is_some());
        let matter = Matter { session, caller, leaving, rules, shown: self.shown, mode: self.mode, tell };
        let here = Here { lane: self.lane, work: Arc::new(self.work), files, barrier, done: PhantomData };
        matter.see_to(here, server).await
    }
}

struct Here<F, T> {
    lane: Lane,
    work: Arc<F>,
    files: Files,
    /// Where the rules stop it.
    barrier: Option<Arc<Barrier>>,
    done: PhantomData<fn() -> T>,
}

impl<F, T> Attempt for Here<F, T>
where
    T: Send + 'static,
    F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
{
    type Done = T;

    async fn once(&self, server: &Server, approved: &Approved) -> Result<Tried<T>, Error> {
        if let Some(barrier) = &self.barrier {
            barrier.approve(approved.keys().cloned().collect());
        }
        let (work, files) = (Arc::clone(&self.work), self.files.clone());
        let error = match server.files.run_any(self.lane, move || Ok(work(&files))).await? {
            Ok(done) => return Ok(Tried::Done(done)),
            Err(error) => error,
        };
        match (&error, self.barrier.as_ref().and_then(|barrier| barrier.take_met())) {
            (trl_files::Error::Denied { .. }, Some(stop)) => Ok(Tried::Stopped(stop)),
            _ => Err(told(error)),
        }
    }
}

/// A request whose asker went away without an answer.
pub(in crate::serve) struct Withdrawn<'a> {
    server: &'a Server,
    request: Option<RequestId>,
}

impl<'a> Withdrawn<'a> {
    pub(in crate::serve) fn unless_answered(server: &'a Server, request: &RequestId) -> Self {
        Self { server, request: Some(request.clone()) }
    }

    pub(in crate::serve) fn answered(mut self) {
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
