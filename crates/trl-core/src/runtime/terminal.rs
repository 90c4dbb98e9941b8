//! The task of a terminal whose program is elsewhere: behind the same inbox as one of this machine, it fills the same tape.
//!
//! ```text
//!  Reaching ─▶ Creating ─▶ Live ─▶ Ending (asked to, there) ─▶ Settling (the model reads on) ─▶ over
//! ```
//!
//! The program and the model that answers its questions are there; the model here only knows what is shown. A change of size
//! is made there, and stands here where it stands there among the bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use trl_proto::event::Happening;
use trl_proto::exec::Outcome;
use trl_proto::far::{FarCreated, FarMethod, FarTerminal, ResizedTo, Shown, TerminalEnd, TerminalExecution};
use trl_proto::heard::Heard;
use trl_proto::sandbox::Denied;
use trl_proto::terminal::{CreateParams, DestroyParams, InputParams, ResizeParams, SignalParams, Signalled};
use trl_proto::text::{Text, decode};
use trl_proto::{Encoding, Error, ErrorCode, Method};
use trl_screen::Fed;
use trl_sys::pty::Size;
use trl_sys::reap::Exit;

use super::Place;
use super::far::{Far, unavailable};
use super::talk::{self, Talk};
use crate::clock::Stamp;
use crate::engine::Engine;
use crate::execution::Early;
use crate::seats::Seat;
use crate::session::messages::Reply;
use crate::terminal::handle::{Message, News, Terminal, Wires};
use crate::terminal::{execution, spec};

/// The model may be this far behind what has come; past it nothing more is taken.
const MOST_LAG: u64 = 256 * 1024;
/// With everything over, the last bytes and their meaning are known within this.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
/// How long the engine may take to end a terminal, beyond its grace.
const END_LIMIT: Duration = Duration::from_secs(10);

struct Task {
    terminal: Arc<Terminal>,
    engine: Arc<Engine>,
    wires: Wires,
    far: Arc<Far>,
    talk: Talk,
    created: Option<Reply<()>>,
    call: u64,
    live: bool,
    reason: Option<String>,
    early: Option<Early>,
    exit: Option<Exit>,
    denied: Option<Denied>,
    /// By then it is over, whatever the engine says.
    until: Option<Instant>,
    replies: Vec<oneshot::Sender<()>>,
    /// Who waits for an answer of the engine.
    asked: std::collections::HashMap<u64, Asked>,
    _seats: (Seat, Place),
}

enum Asked {
    Done(Option<Reply<()>>),
    Count(Reply<u64>),
}

enum Woken {
    Message(Option<Message>),
    Said(Fed),
    Heard(std::io::Result<Heard>),
    Moment,
    OutOfReach,
}

/// Starts it; `created` hears when its program runs.
pub(crate) fn spawn(
    engine: Arc<Engine>,
    terminal: Arc<Terminal>,
    wires: Wires,
    seat: Seat,
    created: Reply<()>,
) {
    tokio::spawn(async move {
        let Some(elsewhere) = &terminal.spec.elsewhere else { return };
        let begun = async {
            let whose = terminal.spec.id.as_str();
            let there = elsewhere.runtime.admit(whose)?;
            let far = elsewhere.runtime.engine(whose).await?;
            let talk = far.talk()?;
            Ok((there, far, talk))
        };
        let (there, far, mut talk) = match begun.await {
            Ok(begun) => begun,
            Err(error) => return drop(created.send(Err(error))),
        };
        let terminal_id = terminal.spec.id.clone();
        let execution = terminal.execution.as_ref().map(|execution| TerminalExecution {
            execution_id: execution.id.clone(),
            command: execution.text().into(),
        });
        let create = FarTerminal { terminal_id, create: wish(&terminal.spec, elsewhere), execution };
        let call = talk.ask(FarMethod::Terminal.name(), &create);
        let task = Task {
            terminal: Arc::clone(&terminal),
            engine,
            wires,
            far,
            talk,
            created: Some(created),
            call,
            live: false,
            reason: None,
            early: None,
            exit: None,
            denied: None,
            until: None,
            replies: Vec::new(),
            asked: std::collections::HashMap::new(),
            _seats: (seat, there),
        };
        task.run().await;
    });
}

fn wish(spec: &spec::Spec, elsewhere: &spec::Elsewhere) -> CreateParams {
    let secrets = spec.secrets.reveal().into_iter().map(|(name, value)| (name, value.to_string()));
    CreateParams {
        secret_env: Some(secrets.collect()),
        limits: Some(spec.limits),
        ..(*elsewhere.wish).clone()
    }
}

impl Task {
    async fn run(mut self) {
        loop {
            tokio::task::consume_budget().await;
            let Self { terminal, wires, talk, until, early, far, .. } = &mut self;
            let heard = async {
                if terminal.model.lag() > MOST_LAG {
                    terminal.model.caught_up(MOST_LAG / 2).await;
                }
                talk.hear().await
            };
            let moment = async {
                match until {
                    Some(at) => tokio::time::sleep_until((*at).into()).await,
                    None => std::future::pending().await,
                }
            };
            let out_of_reach = async {
                match early {
                    Some(_) => far.out_of_reach().await,
                    None => std::future::pending().await,
                }
            };
            let woken = tokio::select! {
                biased;
                message = wires.inbox.recv() => Woken::Message(message),
                Some(fed) = wires.said.recv() => Woken::Said(fed),
                heard = heard => Woken::Heard(heard),
                () = moment => Woken::Moment,
                () = out_of_reach => Woken::OutOfReach,
            };
            let over = match woken {
                Woken::Message(message) => self.message(message),
                Woken::Said(fed) => self.said(fed),
                Woken::Heard(Ok(Heard::Reply { id, outcome })) => self.replied(id, outcome),
                Woken::Heard(Ok(Heard::Push { method, params })) => self.pushed(&method, &params),
                Woken::Heard(Err(_)) => self.lost(),
                Woken::Moment => self.moment(),
                Woken::OutOfReach => true,
            };
            if over {
                return self.over().await;
            }
        }
    }

    // ---- what is asked; true when it is over

    fn message(&mut self, message: Option<Message>) -> bool {
        let terminal_id = self.terminal.spec.id.clone();
        match message {
            None => return self.end("abandoned".into(), Early::Cancelled, Duration::ZERO),
            Some(Message::Input { bytes, reply }) => {
                self.terminal.public().last_activity = Stamp::now();
                let text = Text::exact(&bytes);
                let (encoding, data) = (Some(text.encoding), Some(text.data.into_owned()));
                let params = InputParams { terminal_id, data, encoding, keys: None };
                self.ask(Method::TerminalInput, &params, Asked::Done(reply));
            }
            Some(Message::Resize { size, reply }) => {
                let params = ResizeParams { terminal_id, cols: size.cols, rows: size.rows };
                self.ask(Method::TerminalResize, &params, Asked::Done(reply));
            }
            Some(Message::Signal { signal, reply }) => {
                let params = SignalParams { terminal_id, signal: trl_sys::signal::name(signal.as_raw()) };
                self.ask(Method::TerminalSignal, &params, Asked::Count(reply));
            }
            Some(Message::DestroyAt { at, reply }) => {
                self.terminal.public().destroy_at = at;
                self.terminal.tell_news(News::Fate);
                self.until = at;
                let _ = reply.send(Ok(()));
            }
            Some(Message::End { reason, why, grace, reply }) => {
                self.replies.extend(reply);
                return self.end(reason, why, grace);
            }
        }
        false
    }

    fn ask(&mut self, method: Method, params: &impl serde::Serialize, asked: Asked) {
        let call = self.talk.ask(method.name(), params);
        self.asked.insert(call, asked);
    }

    /// The time of a destroy that was not taken back, or the engine's time to carry one out is up.
    fn moment(&mut self) -> bool {
        if self.early.is_some() {
            return true;
        }
        let grace = self.engine.settings.terminal_grace;
        self.end("destroyed on request".into(), Early::Cancelled, grace)
    }

    /// The engine ends it, at once or with its own grace; its end comes as it would by itself.
    fn end(&mut self, reason: String, why: Early, grace: Duration) -> bool {
        if !self.live {
            return true;
        }
        self.early.get_or_insert(why);
        self.reason.get_or_insert(reason);
        let terminal_id = self.terminal.spec.id.clone();
        let params = DestroyParams { terminal_id, grace_s: None };
        self.ask(Method::TerminalDestroy, &params, Asked::Done(None));
        self.until = Some(Instant::now() + grace + END_LIMIT);
        false
    }

    // ---- what is heard

    fn said(&mut self, fed: Fed) -> bool {
        // What the program asked is answered there.
        self.terminal.hear(fed);
        false
    }

    fn replied(&mut self, id: u64, outcome: Result<Box<RawValue>, Error>) -> bool {
        match self.asked.remove(&id) {
            Some(Asked::Done(reply)) => {
                reply.into_iter().for_each(|reply| drop(reply.send(outcome.clone().map(drop))));
            }
            Some(Asked::Count(reply)) => {
                let counted = outcome.and_then(|said| talk::read::<Signalled>(&said));
                let _ = reply.send(counted.map(|signalled| signalled.processes));
            }
            None if id == self.call => match outcome.and_then(|said| talk::read::<FarCreated>(&said)) {
                Ok(made) => self.made(made),
                Err(error) => {
                    self.fail(error);
                    return true;
                }
            },
            None => {}
        }
        false
    }

    fn made(&mut self, made: FarCreated) {
        self.live = true;
        self.terminal.spec.sandbox.told(made.sandbox);
        {
            let mut public = self.terminal.public();
            public.pid = made.pid;
            public.limits = made.limits;
        }
        execution::announce(&self.engine, &self.terminal);
        if let Some(created) = self.created.take() {
            let _ = created.send(Ok(()));
        }
    }

    fn fail(&mut self, error: Error) {
        let name = self.terminal.spec.runtime_name().to_string();
        let error = error.detail("runtime", name);
        if let Some(execution) = &self.terminal.execution {
            self.engine.executions.refuse(execution, error.clone());
        }
        if let Some(created) = self.created.take() {
            let _ = created.send(Err(error));
        }
        self.reason = Some("it did not start".into());
    }

    fn pushed(&mut self, name: &str, params: &RawValue) -> bool {
        match name {
            "far.shown" => {
                let shown = serde_json::from_str::<Shown>(params.get()).ok();
                if let Some(bytes) = shown.and_then(|shown| decode(shown.data, Encoding::Base64).ok()) {
                    self.show(&bytes);
                }
            }
            "far.resized" => {
                if let Ok(ResizedTo { cols, rows }) = serde_json::from_str(params.get()) {
                    let size = Size { cols, rows };
                    self.terminal.public().size = size;
                    self.terminal.tape.resize(size);
                    self.terminal.model.wake();
                }
            }
            "far.ended" => {
                if let Ok(end) = serde_json::from_str::<TerminalEnd>(params.get()) {
                    self.exit = Some(end.signal.map_or(Exit::Code(end.exit_code), Exit::Signal));
                    self.terminal.public().usage = end.usage;
                    self.denied = end.denied;
                    self.reason.get_or_insert(end.reason);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    fn show(&self, bytes: &[u8]) {
        self.terminal.tape.append(bytes);
        if let Some(execution) = &self.terminal.execution {
            execution.stdout.append_again(bytes);
        }
        self.terminal.public().last_activity = Stamp::now();
        self.terminal.model.wake();
    }

    fn lost(&mut self) -> bool {
        let name = self.terminal.spec.runtime_name().to_string();
        let why = match self.far.trouble() {
            Some(trouble) => format!("the runtime {name} was lost: {}", trouble.message),
            None => format!("the runtime {name} was lost"),
        };
        if !self.live {
            self.fail(unavailable("create", &why));
        }
        self.reason.get_or_insert(why);
        true
    }

    // ---- the end

    async fn over(mut self) {
        self.terminal.model.wake();
        let _ = tokio::time::timeout(SETTLE_LIMIT, self.terminal.model.caught_up(0)).await;
        while let Ok(fed) = self.wires.said.try_recv() {
            self.said(fed);
        }
        self.terminal.spec.secrets.forget();
        let exit = self.exit.unwrap_or(Exit::Signal(rustix::process::Signal::KILL.as_raw()));
        let reason = self.reason.take().unwrap_or_else(|| "ended".into());
        {
            let mut public = self.terminal.public();
            (public.pid, public.exit, public.destroy_at) = (None, Some(exit), None);
            public.ended = Some((reason.clone(), Instant::now()));
        }
        self.terminal.tape.close();
        self.terminal.model.wake();
        if let Some(created) = self.created.take() {
            let ended = Error::new(ErrorCode::SessionTerminated, "it was ended before it began");
            let _ = created.send(Err(ended));
        }
        let judge = |_: &Outcome| self.denied.clone();
        execution::finish(&self.engine, &self.terminal, (exit, self.early), judge);
        let (terminal_id, exit_code) = (self.terminal.spec.id.clone(), exit.shell_code());
        self.engine
            .events
            .emit(&self.terminal.spec.owner, Happening::TerminalEnded { terminal_id, exit_code, reason });
        for reply in std::mem::take(&mut self.replies) {
            let _ = reply.send(());
        }
    }
}
