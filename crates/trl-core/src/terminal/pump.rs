//! From the program to the tape.
//!
//! A terminal's own task reads it, as soon as something comes: the echo of a key has no longer way than that. One that
//! floods is read on a thread for all such: the kernel has whoever reads or polls a pseudo-terminal wait for its worker,
//! milliseconds on a busy machine, and on the daemon's own thread everybody else would wait with it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use trl_sys::pty::{Ear, Master, Read, Source};

use super::handle::Terminal;
use crate::clock::Stamp;

/// Read at one turn, so that a flood leaves room for others: less than a millisecond of what a terminal can carry.
const TURN: usize = 16 * 1024;
/// The model may be this far behind, as far as the tape holds that much; past it the program waits.
const MOST_LAG: u64 = 512 * 1024;
/// More than the kernel holds of what a program has written.
const LAST_WORDS: usize = 96 * 1024;
/// Asked for at a time.
const CHUNK: usize = 16 * 1024;
/// An answer to a key rather than a stream.
const LITTLE: usize = 1024;
/// What writes so much within so long floods; what does not within the longer time has stopped.
const FLOOD: usize = 64 * 1024;
const FLOODS_WITHIN: Duration = Duration::from_millis(20);
const STOPPED_AFTER: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Pump {
    terminal: Arc<Terminal>,
    source: Source,
    /// Whoever reads holds it until what was read is on the tape.
    buffer: Mutex<Box<[u8]>>,
    /// Nobody has the other side any more.
    silent: AtomicBool,
}

impl Pump {
    pub(super) fn new(terminal: Arc<Terminal>, master: &Master) -> Self {
        Self { terminal, source: master.source(), buffer: Mutex::default(), silent: AtomicBool::new(false) }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Acquire)
    }

    /// How far the model may be behind and get everything, also what comes at once in the end.
    fn most_lag(&self) -> u64 {
        MOST_LAG.min(self.terminal.tape.assured().saturating_sub((LAST_WORDS + CHUNK) as u64))
    }

    /// Resolves when there is something to read and the model is not too far behind. Cancel-safe.
    pub(super) async fn ready(&self, ear: &Ear) {
        let most = self.most_lag();
        if self.terminal.lag() > most {
            self.terminal.caught_up(most / 2).await;
        }
        ear.readable().await;
    }

    /// What has come, but no more than a turn's worth; how much.
    pub(super) fn turn(&self, ear: &Ear) -> usize {
        let mut taken = 0;
        while taken < TURN && self.terminal.lag() <= self.most_lag() {
            match self.read(|buffer| ear.read(buffer)) {
                Some(n) if n >= LITTLE => taken += n,
                // Mostly all there is; whoever waits for it is served before we look again.
                little => return taken + little.unwrap_or(0),
            }
        }
        taken
    }

    /// Everything that was written before a change of size, as far as the model follows.
    pub(super) fn catch_up(&self) {
        self.read_all(self.most_lag());
    }

    /// With everything dead: what the kernel holds is all there will ever be.
    pub(super) fn finish(&self) {
        self.read_all(u64::MAX);
    }

    fn read_all(&self, lag: u64) {
        let mut taken = 0;
        while taken < LAST_WORDS && self.terminal.lag() <= lag {
            match self.read(|buffer| self.source.read(buffer)) {
                Some(n) => taken += n,
                None => break,
            }
        }
    }

    fn read(&self, from: impl FnOnce(&mut [u8]) -> Read) -> Option<usize> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_silent() {
            return None;
        }
        if buffer.is_empty() {
            // a terminal that never says anything needs none
            *buffer = vec![0; CHUNK].into();
        }
        match from(&mut buffer) {
            Read::Bytes(n) => {
                self.terminal.tape.append(&buffer[..n]);
                if let Some(execution) = &self.terminal.execution {
                    execution.stdout.append_again(&buffer[..n]);
                }
                self.terminal.public().last_activity = Stamp::now();
                Some(n)
            }
            Read::Nothing => None,
            Read::End => {
                self.silent.store(true, Ordering::Release);
                None
            }
        }
    }

    /// Reads a flood until it stops, or is called back.
    async fn follow(self: Arc<Self>, ear: Ear, mut called_back: oneshot::Receiver<()>) {
        let mut looks = tokio::time::interval(STOPPED_AFTER);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        let mut recent = 0;
        while !self.is_silent() {
            tokio::task::consume_budget().await;
            tokio::select! {
                () = self.ready(&ear) => {
                    recent += self.turn(&ear);
                    self.terminal.model.wake();
                }
                _ = looks.tick() => {
                    if recent < FLOOD {
                        return;
                    }
                    recent = 0;
                }
                _ = &mut called_back => return,
            }
        }
    }
}

/// How loud a terminal is.
#[derive(Debug)]
pub(super) struct Loudness {
    since: Instant,
    bytes: usize,
}

impl Default for Loudness {
    fn default() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }
}

impl Loudness {
    /// Whether it floods, with these bytes.
    pub(super) fn hears(&mut self, bytes: usize) -> bool {
        if self.since.elapsed() > FLOODS_WITHIN {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.bytes >= FLOOD
    }
}

/// A flood that is read elsewhere. Dropped, it is called back.
#[derive(Debug)]
pub(super) struct Flood {
    reading: JoinHandle<()>,
    _call_back: oneshot::Sender<()>,
}

impl Flood {
    /// Resolves when nobody reads it there any more. Cancel-safe.
    pub(super) async fn over(&mut self) {
        // a reader that died reads no more either
        let _ = (&mut self.reading).await;
    }
}

/// The thread all floods are read on, started with the first.
#[derive(Debug, Default)]
pub struct Floods(Mutex<Option<Handle>>);

impl Floods {
    pub(super) fn read(&self, pump: &Arc<Pump>, master: &Master) -> io::Result<Flood> {
        let thread = self.thread()?;
        let ear = {
            let _there = thread.enter();
            master.listen()?
        };
        let (call_back, called_back) = oneshot::channel();
        let reading = thread.spawn(Arc::clone(pump).follow(ear, called_back));
        Ok(Flood { reading, _call_back: call_back })
    }

    fn thread(&self) -> io::Result<Handle> {
        let mut thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*thread {
            return Ok(running.clone());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let forever = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("trl-floods".into()).spawn(forever)?;
        Ok(thread.insert(handle).clone())
    }
}
