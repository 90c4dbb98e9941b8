//! A terminal as everyone but its own task sees it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use trl_proto::limits::{LimitsInfo, Usage};
use trl_proto::terminal::{TerminalInfo, TerminalState};
use trl_proto::{Error, ErrorCode};
use trl_screen::{Event, Fed, Screen, Snapshot};
use trl_sys::pty::Size;
use trl_sys::reap::Exit;

use super::keyframes::Keyframe;
use super::model::Model;
use super::sizes::{Client, Clients};
use super::spec::Spec;
use super::tape::{Place, Tape};
use crate::clock::Stamp;
use crate::execution::{Early, Execution};
use crate::session::messages::Reply;

/// News a client may be behind before it is told everything anew.
const MOST_NEWS: usize = 256;
/// What a client is sent at once; more history is there when it asks.
const MOST_PICTURE: usize = 1 << 20;
/// Clients whose numbered input is remembered.
const MOST_INPUTS: usize = 1024;

#[derive(Debug)]
pub struct Terminal {
    pub spec: Spec,
    /// Offsets of another incarnation mean nothing in this one.
    pub generation: String,
    pub created: Stamp,
    pub tape: Arc<Tape>,
    pub model: Arc<Model>,
    public: Mutex<Public>,
    news: broadcast::Sender<News>,
    inbox: mpsc::Sender<Message>,
    keeper: AtomicI32,
    /// How far somebody has come who must not miss a byte, and whom its program waits for.
    pub followed: watch::Sender<u64>,
    /// What its program is, when it was started as an execution: gets all of its output, and its end.
    pub execution: Option<Arc<Execution>>,
}

/// What is shown of a terminal.
#[derive(Debug)]
pub struct Public {
    pub pid: Option<i32>,
    pub size: Size,
    pub title: String,
    pub cwd: String,
    pub last_activity: Stamp,
    pub exit: Option<Exit>,
    /// Why and when it ended.
    pub ended: Option<(String, Instant)>,
    pub destroy_at: Option<Instant>,
    /// What came of its limits.
    pub limits: Option<LimitsInfo>,
    /// What was used, once it has ended.
    pub usage: Option<Usage>,
    pub clients: Clients,
    /// Since when nobody is attached.
    pub detached: Instant,
    /// The last numbered input of each client.
    inputs: HashMap<String, u64>,
}

impl Public {
    fn last_input(&self, client: &str) -> u64 {
        self.inputs.get(client).copied().unwrap_or(0)
    }

    fn remember_input(&mut self, client: &str, number: u64) {
        if self.inputs.len() >= MOST_INPUTS && !self.inputs.contains_key(client) {
            self.inputs.clear();
        }
        self.inputs.insert(client.to_string(), number);
    }
}

/// What clients hear beside the bytes.
#[derive(Debug, Clone)]
pub enum News {
    /// Something the program said, and after which byte.
    Said { at: u64, event: Event },
    /// Somebody came, left, or drives now.
    Presence,
    /// A destroy was asked for, or taken back.
    Fate,
}

/// What a terminal's task can be told.
#[derive(Debug)]
pub enum Message {
    Input {
        bytes: Vec<u8>,
        reply: Option<Reply<()>>,
    },
    Resize {
        size: Size,
        reply: Option<Reply<()>>,
    },
    Signal {
        signal: Signal,
        reply: Reply<u64>,
    },
    /// When to destroy it; None takes that back.
    DestroyAt {
        at: Option<Instant>,
        reply: Reply<()>,
    },
    End {
        reason: String,
        why: Early,
        grace: Duration,
        reply: Option<oneshot::Sender<()>>,
    },
}

/// The task's ends of a terminal's channels.
#[derive(Debug)]
pub struct Wires {
    pub inbox: mpsc::Receiver<Message>,
    pub said: mpsc::UnboundedReceiver<trl_screen::Fed>,
}

const INBOX: usize = 64;

impl Terminal {
    pub fn new(
        spec: Spec,
        tape: Tape,
        history_bytes: usize,
        screens: &super::model::Screens,
        execution: Option<Arc<Execution>>,
    ) -> std::io::Result<(Arc<Self>, Wires)> {
        let tape = Arc::new(tape);
        let (said, heard) = mpsc::unbounded_channel();
        let model = Model::new(&tape, spec.size, history_bytes, screens, said)?;
        let (sender, inbox) = mpsc::channel(INBOX);
        let public = Public {
            pid: None,
            size: spec.size,
            title: String::new(),
            cwd: spec.working_dir.clone(),
            last_activity: Stamp::now(),
            exit: None,
            ended: None,
            destroy_at: None,
            limits: None,
            usage: None,
            clients: Clients::new(spec.policy),
            detached: Instant::now(),
            inputs: HashMap::new(),
        };
        let terminal = Arc::new(Self {
            generation: format!("{:016x}", u64::from_le_bytes(trl_proto::random::bytes())),
            created: Stamp::now(),
            tape,
            model,
            public: Mutex::new(public),
            news: broadcast::Sender::new(MOST_NEWS),
            inbox: sender,
            keeper: AtomicI32::new(0),
            followed: watch::Sender::new(u64::MAX),
            execution,
            spec,
        });
        Ok((terminal, Wires { inbox, said: heard }))
    }

    pub fn public(&self) -> MutexGuard<'_, Public> {
        self.public.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_over(&self) -> bool {
        self.public().ended.is_some()
    }

    /// Bytes that whoever must not miss any is behind.
    fn behind(&self) -> u64 {
        self.tape.head().saturating_sub(*self.followed.borrow())
    }

    /// Bytes that the model, or such a follower, is behind.
    pub(super) fn lag(&self) -> u64 {
        self.model.lag().max(self.behind())
    }

    /// Resolves when both are at most so far behind. Cancel-safe.
    pub(crate) async fn caught_up(&self, most: u64) {
        self.model.caught_up(most).await;
        let mut followed = self.followed.subscribe();
        while self.behind() > most && followed.changed().await.is_ok() {}
    }

    pub fn keeper(&self) -> i32 {
        self.keeper.load(Ordering::Relaxed)
    }

    pub(super) fn set_keeper(&self, pid: i32) {
        self.keeper.store(pid, Ordering::Relaxed);
    }

    /// What its program said of itself, as its model understood it.
    pub(crate) fn hear(&self, fed: Fed) {
        for happened in fed.events {
            match &happened.event {
                Event::Title(title) => self.public().title.clone_from(title),
                Event::Cwd(cwd) => self.public().cwd.clone_from(cwd),
                _ => {}
            }
            self.tell_news(News::Said { at: happened.offset, event: happened.event });
        }
    }

    pub(crate) fn tell_news(&self, news: News) {
        // nobody may be listening
        let _ = self.news.send(news);
    }

    pub async fn send(&self, message: Message) -> Result<(), Error> {
        self.inbox.send(message).await.map_err(|_| self.gone())
    }

    /// Has its program asked to hear of the focus, as far as is known?
    fn wants_focus(&self) -> bool {
        self.model.look(|screen| screen.modes().focus)
    }

    fn gone(&self) -> Error {
        Error::new(ErrorCode::SessionTerminated, format!("the program of {} has ended", self.spec.id))
            .hint("its last screen is still readable; create another terminal to go on")
    }

    /// Types. Resolves when the program's side has taken it, or it waits in line.
    pub async fn input(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let (reply, taken) = oneshot::channel();
        self.send(Message::Input { bytes, reply: Some(reply) }).await?;
        taken.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Resolves when the program has been told.
    pub async fn resize(&self, size: Size) -> Result<(), Error> {
        let (reply, done) = oneshot::channel();
        self.send(Message::Resize { size, reply: Some(reply) }).await?;
        done.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Has it destroyed then; None takes that back.
    pub async fn destroy_at(&self, at: Option<Instant>) -> Result<(), Error> {
        let (reply, done) = oneshot::channel();
        self.send(Message::DestroyAt { at, reply }).await?;
        done.await.unwrap_or_else(|_| Err(self.gone()))
    }

    pub async fn signal(&self, signal: Signal) -> Result<u64, Error> {
        let (reply, sent) = oneshot::channel();
        self.send(Message::Signal { signal, reply }).await?;
        sent.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Ends everything it started; resolves when nothing is left. One that has ended stays as it is.
    pub async fn end(&self, reason: &str, why: Early, grace: Duration) {
        let (reply, over) = oneshot::channel();
        let message = Message::End { reason: reason.into(), why, grace, reply: Some(reply) };
        if self.send(message).await.is_ok() {
            let _ = over.await;
        }
    }

    pub fn info(&self) -> TerminalInfo {
        let public = self.public();
        TerminalInfo {
            terminal_id: self.spec.id.clone(),
            name: self.spec.name.clone(),
            workspace_id: self.spec.workspace.clone(),
            case_id: self.spec.case.as_ref().map(|case| case.id.clone()),
            case_digest: self.spec.case.as_ref().map(|case| case.digest.clone()),
            ignored: self.spec.case.as_ref().map(|case| case.ignored.clone()).unwrap_or_default(),
            labels: self.spec.labels.clone(),
            shell: self.spec.argv.first().cloned().unwrap_or_default(),
            state: if public.ended.is_some() { TerminalState::Exited } else { TerminalState::Running },
            pid: public.pid,
            generation: self.generation.clone(),
            cols: public.size.cols,
            rows: public.size.rows,
            size_policy: self.spec.policy,
            title: public.title.clone(),
            working_dir: public.cwd.clone(),
            head: self.tape.head(),
            ring_start: self.tape.start(),
            clients: public.clients.len() as u64,
            runtime: self.spec.runtime_name().into(),
            created_at: self.created.rfc3339(),
            last_activity: public.last_activity.rfc3339(),
            env_keys: self.spec.env_keys(),
            sandbox: self.spec.sandbox.report(),
            exit_code: public.exit.map(Exit::shell_code),
            signal: public.exit.and_then(signal_name),
            ended: public.ended.as_ref().map(|(why, _)| why.clone()),
            limits: public.limits.clone(),
            usage: public.usage.clone(),
            destroy_in_s: public
                .destroy_at
                .map(|at| at.saturating_duration_since(Instant::now()).as_secs_f64()),
        }
    }

    /// A client comes, and hears the news from now on. It is gone when the viewer is dropped.
    pub fn attach(self: &Arc<Self>, client: Client) -> (Viewer, broadcast::Receiver<News>) {
        let id = self.public().clients.join(client);
        self.tell_news(News::Presence);
        (Viewer { terminal: Arc::clone(self), id }, self.news.subscribe())
    }

    /// Where a client that has everything before `since` goes on: exactly there if the bytes are still here.
    pub fn resume(&self, since: Option<(&str, u64)>) -> Resume {
        if let Some((generation, offset)) = since
            && generation == self.generation
            && (self.tape.start()..=self.tape.head()).contains(&offset)
        {
            let (place, size) = self.tape.place_at(offset);
            return Resume { place, size, snapshot: None };
        }
        self.picture(usize::MAX)
    }

    /// A snapshot with as much history as a client wants and is sent at once.
    pub fn picture(&self, history_lines: usize) -> Resume {
        self.take(|screen| {
            let fits = |s: &Snapshot| s.bytes.len() <= MOST_PICTURE;
            let tries = [usize::MAX, 4000, 1000, 200].map(|lines| lines.min(history_lines));
            let tries = tries.into_iter().map(|lines| screen.snapshot_with(lines));
            tries.into_iter().find(fits).unwrap_or_else(|| screen.snapshot_with(0))
        })
    }

    /// The picture as the model has it, and the place where the bytes go on from it.
    pub fn snapshot(&self, history_lines: usize) -> Resume {
        self.take(|screen| screen.snapshot_with(history_lines))
    }

    fn take(&self, snapshot: impl FnOnce(&Screen) -> Snapshot) -> Resume {
        let Keyframe { place, size, bytes } = self.model.take(snapshot);
        Resume { place, size, snapshot: Some(bytes) }
    }
}

/// How a client begins.
#[derive(Debug)]
pub struct Resume {
    pub place: Place,
    /// The size at that place.
    pub size: Size,
    /// To be shown first.
    pub snapshot: Option<Vec<u8>>,
}

/// One attached client.
#[derive(Debug)]
pub struct Viewer {
    pub terminal: Arc<Terminal>,
    pub id: u64,
}

impl Viewer {
    /// Types. Numbered input that was seen before is taken as done. A connection may go at any moment, and its waiting
    /// with it: then the input is either not taken, and comes again, or in the program's line.
    pub async fn input(&self, numbered: Option<(&str, u64)>, mut bytes: Vec<u8>) -> Result<(), Error> {
        if numbered.is_some_and(|(client, number)| self.terminal.public().last_input(client) >= number) {
            return Ok(());
        }
        match focus_report(&bytes) {
            // Nobody typed that: it says nothing about who drives, and is for programs that asked for it.
            Some(focused) => {
                // its window saw the program ask before we may have
                self.terminal.model.reach_now().await;
                let news = self.terminal.public().clients.focus(self.id, focused);
                if !news || !self.terminal.wants_focus() {
                    bytes.clear();
                }
            }
            None if self.terminal.public().clients.drive(self.id) => {
                self.settle_size().await?;
                self.terminal.tell_news(News::Presence);
            }
            None => {}
        }
        let (reply, taken) = oneshot::channel();
        let room = self.terminal.inbox.reserve().await.map_err(|_| self.terminal.gone())?;
        {
            let mut public = self.terminal.public();
            if let Some((client, number)) = numbered {
                if public.last_input(client) >= number {
                    return Ok(());
                }
                public.remember_input(client, number);
            }
            room.send(Message::Input { bytes, reply: Some(reply) });
        }
        taken.await.unwrap_or_else(|_| Err(self.terminal.gone()))
    }

    /// Its window has this size.
    pub async fn show(&self, window: Size) -> Result<(), Error> {
        let driver = self.terminal.public().clients.driver();
        self.terminal.public().clients.show(self.id, window);
        if driver != self.terminal.public().clients.driver() {
            self.terminal.tell_news(News::Presence);
        }
        self.settle_size().await
    }

    /// Takes the wheel, or lets it go.
    pub async fn claim(&self, wanted: bool) -> Result<(), Error> {
        let changed = {
            let mut public = self.terminal.public();
            if wanted { public.clients.drive(self.id) } else { public.clients.release(self.id) }
        };
        if changed {
            self.settle_size().await?;
            self.terminal.tell_news(News::Presence);
        }
        Ok(())
    }

    /// The size the clients want, if it has another.
    fn wanted_size(&self) -> Option<Size> {
        let public = self.terminal.public();
        public.clients.wanted().filter(|wanted| *wanted != public.size)
    }

    async fn settle_size(&self) -> Result<(), Error> {
        match self.wanted_size() {
            // the client sees it come, in its place between the bytes
            Some(size) => self.terminal.send(Message::Resize { size, reply: None }).await,
            None => Ok(()),
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let lost_focus = {
            let mut public = self.terminal.public();
            let lost_focus = public.clients.leave(self.id);
            if public.clients.is_empty() {
                public.detached = Instant::now();
            }
            lost_focus
        };
        if lost_focus && self.terminal.wants_focus() {
            // one whose line is full is not waited for: it would hear of it too late anyway
            let _ = self.terminal.inbox.try_send(Message::Input { bytes: b"\x1b[O".to_vec(), reply: None });
        }
        if let Some(size) = self.wanted_size() {
            // with its line full it has other worries; the next client to come settles it
            let _ = self.terminal.inbox.try_send(Message::Resize { size, reply: None });
        }
        self.terminal.tell_news(News::Presence);
    }
}

/// What a window says of itself when a program has asked for that (mode 1004), and nothing else; the last of it counts.
fn focus_report(bytes: &[u8]) -> Option<bool> {
    let (reports, []) = bytes.as_chunks::<3>() else { return None };
    let focused = |report: &[u8; 3]| match report {
        b"\x1b[I" => Some(true),
        b"\x1b[O" => Some(false),
        _ => None,
    };
    reports.iter().map(focused).collect::<Option<Vec<bool>>>()?.last().copied()
}

pub fn signal_name(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(_) => None,
        Exit::Signal(number) => Some(trl_sys::signal::name(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_report_is_nothing_else() {
        assert_eq!(focus_report(b"\x1b[I"), Some(true));
        assert_eq!(focus_report(b"\x1b[I\x1b[O"), Some(false));
        for other in [&b""[..], b"\x1b[", b"\x1b[A", b"\x1b[Ix", b"x\x1b[I", b"\x1b[I\x1b[A", b"\x1bOI"] {
            assert_eq!(focus_report(other), None, "{other:?}");
        }
    }
}
