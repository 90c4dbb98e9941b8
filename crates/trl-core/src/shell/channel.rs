//! The daemon's ends of a session's FIFOs and of the keeper's link, watched as one set.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::net::unix::pipe::Receiver;
use trl_sys::fifo::{self, Found, Identity, Sight};
use trl_sys::link::{NOTICE_LEN, Notice};
use trl_sys::poller::Watch;
use trl_sys::sandbox::Op;

use super::files::Files;
use super::kind::Kind;
use super::report::{Report, Splitter};
use super::script;
use crate::output::{Log, late};
use crate::random::Nonce;
use crate::seats::Seats;

/// What became ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Link,
    Stdout,
    Stderr,
    /// The shell's own stdout, outside commands.
    Base,
    Dump,
}

impl Source {
    const ALL: [Self; 5] = [Self::Link, Self::Stdout, Self::Stderr, Self::Base, Self::Dump];

    pub fn token(self) -> u64 {
        self as u64
    }

    /// The sources behind `tokens`, the keeper's word first.
    pub fn of(tokens: &[u64]) -> Vec<Self> {
        Self::ALL.into_iter().filter(|s| tokens.contains(&s.token())).collect()
    }
}

/// The link to the keeper.
#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    inbox: Vec<u8>,
    /// Bytes the socket did not take yet: an environment may be larger than its buffer.
    outbox: Vec<u8>,
    /// Read, and not yet acted on.
    heard: VecDeque<Notice>,
    made: Vec<String>,
    gone: bool,
}

impl Link {
    pub fn new(socket: UnixStream, watch: &Watch) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        watch.add(&socket, Source::Link.token())?;
        Ok(Self {
            socket,
            inbox: Vec::new(),
            outbox: Vec::new(),
            heard: VecDeque::new(),
            made: Vec::new(),
            gone: false,
        })
    }

    pub fn send(&mut self, frame: Vec<u8>) -> io::Result<()> {
        self.outbox.extend(frame);
        self.flush()
    }

    /// True when everything is on its way.
    pub fn is_flushed(&self) -> bool {
        self.outbox.is_empty()
    }

    pub fn flush(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            match self.socket.write(&self.outbox) {
                Ok(n) => drop(self.outbox.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.outbox = Vec::new();
        Ok(())
    }

    /// Tells the keeper to end everything; its own end shows as [`Heard::gone`].
    pub fn let_go(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Everything at once, for whoever acts on all of it.
    pub fn hear(&mut self) -> Heard {
        self.listen();
        Heard { notices: self.heard.drain(..).collect(), gone: self.gone }
    }

    /// Reads what there is.
    pub fn listen(&mut self) {
        let mut buf = [0; 32 * NOTICE_LEN];
        loop {
            match self.socket.read(&mut buf) {
                Ok(0) => self.gone = true,
                Ok(n) => self.inbox.extend_from_slice(&buf[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
            while let Some((head, rest)) = self.inbox.split_first_chunk::<NOTICE_LEN>() {
                let notice = Notice::decode(head);
                let Some(Notice::Made { length }) = notice else {
                    self.heard.extend(notice);
                    self.inbox.drain(..NOTICE_LEN);
                    continue;
                };
                let length = length as usize;
                let Some(text) = rest.get(..length) else { break };
                self.made.push(String::from_utf8_lossy(text).into_owned());
                self.inbox.drain(..NOTICE_LEN + length);
            }
            if self.gone {
                return;
            }
        }
    }

    /// What was made inside a sandbox, as the keeper says it at its end.
    pub fn take_made(&mut self) -> Vec<String> {
        std::mem::take(&mut self.made)
    }

    pub fn next_notice(&mut self) -> Option<Notice> {
        self.heard.pop_front()
    }

    pub fn has_heard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Whether the keeper has ended.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// What sandboxed processes were refused, out of its turn.
    pub fn take_refused(&mut self) -> Vec<(i32, Op)> {
        let refused = |notice: &Notice| match notice {
            Notice::Refused { pid, op } => Some((*pid, *op)),
            _ => None,
        };
        let found = self.heard.iter().filter_map(refused).collect();
        self.heard.retain(|notice| refused(notice).is_none());
        found
    }
}

#[derive(Debug)]
pub struct Heard {
    pub notices: Vec<Notice>,
    /// The keeper has ended.
    pub gone: bool,
}

/// The FIFOs between the daemon and the shell loop.
#[derive(Debug)]
pub struct Control {
    kind: Kind,
    slots: [OwnedFd; 3],
    /// Known to the runtime itself and not through the set: its wake-ups are the ones that latency hangs on. Both ends
    /// are held, so it never sees an end.
    reports: Receiver,
    base: OwnedFd,
    /// For the next shell that is started.
    next_base: Option<OwnedFd>,
    /// The last look at `base` stopped before its end.
    base_unread: bool,
    splitter: Splitter,
}

impl Control {
    pub fn open(kind: Kind, files: &Files, watch: &Watch) -> io::Result<Self> {
        let small = |fd: OwnedFd| {
            fifo::resize(&fd, fifo::SMALL);
            fd
        };
        let slot = |k: usize| fifo::open_both(&files.at(&format!("c{k}"))).map(small);
        let control = Self {
            kind,
            slots: [slot(0)?, slot(1)?, slot(2)?],
            reports: Receiver::from_owned_fd(fifo::open_both(&files.at("s")).map(small)?)?,
            base: fifo::open_read(&files.at("n"))?,
            next_base: None,
            base_unread: false,
            splitter: Splitter::default(),
        };
        watch.add(&control.base, Source::Base.token())?;
        Ok(control)
    }

    /// Something in the directory is new. Shells that live keep what they have open and find the rest by name.
    pub fn reopen(&mut self, files: &Files, watch: &Watch) -> io::Result<()> {
        let mut old = std::mem::replace(self, Self::open(self.kind, files, watch)?);
        for (old, _) in old.slots.iter().zip(&self.slots).filter(|(old, new)| !fifo::same(old, new)) {
            // Whoever listens there reads this, which means nothing, and listens at the new one from then on.
            let nothing = script::order(self.kind, 'h', Nonce::random());
            if let Err(e) = fifo::write_all(old, nothing.as_bytes()) {
                tracing::warn!(error = %e, "a shell listens where nothing can be told");
            }
        }
        std::mem::swap(&mut self.base, &mut old.base);
        std::mem::swap(&mut self.splitter, &mut old.splitter);
        self.next_base = Some(old.base);
        Ok(())
    }

    /// Whether everything still stands in the directory under its name.
    pub fn is_intact(&self, files: &Files) -> bool {
        self.slots.iter().enumerate().all(|(k, fd)| files.leads_to(&format!("c{k}"), fd))
            && files.leads_to("s", &self.reports)
            && files.leads_to("n", self.next_base.as_ref().unwrap_or(&self.base))
    }

    /// Tells the shell in `slot`.
    pub fn tell(&self, slot: usize, verb: char, nonce: Nonce) -> io::Result<()> {
        fifo::write_all(&self.slots[slot], script::order(self.kind, verb, nonce).as_bytes())
    }

    /// Whether something was told that no shell has read.
    pub fn is_unheard(&self, slot: usize) -> bool {
        fifo::pending(&self.slots[slot]) > 0
    }

    /// Drops leftovers for a shell that died before reading them.
    pub fn forget(&self, slot: usize) {
        let mut junk = [0; 256];
        while fifo::pending(&self.slots[slot]) > 0 {
            if !matches!(fifo::read(&self.slots[slot], &mut junk), Ok(Found::Bytes(_))) {
                return;
            }
        }
    }

    /// The same for all of them, before a shell is started.
    pub fn forget_all(&mut self) {
        (0..self.slots.len()).for_each(|slot| self.forget(slot));
        if let Some(base) = self.next_base.take() {
            self.base = base;
        }
    }

    /// Resolves when a shell has said something. Cancel-safe.
    pub async fn wait_for_reports(&self) {
        if self.reports.readable().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub fn reports(&mut self) -> Vec<Report> {
        let mut buf = [0; 4096];
        let mut reports = Vec::new();
        while let Ok(n) = self.reports.try_read(&mut buf) {
            reports.extend(self.splitter.push(&buf[..n]));
            // a short read has emptied the pipe; what comes later is a new event
            if n < buf.len() {
                break;
            }
        }
        reports
    }

    /// What the shell printed outside commands since the last look, as far as one look goes.
    pub fn base_output(&mut self) -> Vec<u8> {
        const MOST: usize = 64 * 1024;
        let mut all = Vec::new();
        let mut buf = [0; 4096];
        self.base_unread = false;
        while let Ok(Found::Bytes(n)) = fifo::read(&self.base, &mut buf) {
            all.extend_from_slice(&buf[..n]);
            if all.len() >= MOST {
                self.base_unread = true;
                break;
            }
        }
        all
    }

    /// Whether there may be more of it.
    pub fn base_unread(&self) -> bool {
        self.base_unread
    }
}

/// The read end of one output stream.
#[derive(Debug)]
pub struct Outlet {
    fd: OwnedFd,
    id: Identity,
    /// Our own write end: without it every redirection that comes and goes would wake us. Let go of only to see whether
    /// anybody else has one.
    held: Option<OwnedFd>,
    /// An earlier command's log, while its background process holds this FIFO and no other could be made.
    owed: Option<Arc<Log>>,
    /// For FIFOs that background processes hold.
    seats: Seats,
    name: &'static str,
    source: Source,
    large: bool,
}

impl Outlet {
    pub fn open(files: &Files, watch: &Watch, source: Source, seats: Seats) -> io::Result<Self> {
        let name = if source == Source::Stdout { "o" } else { "e" };
        let fd = fifo::open_read(&files.at(name))?;
        let id = fifo::identify(&fd)?;
        fifo::resize(&fd, fifo::SMALL);
        watch.add(&fd, source.token())?;
        Ok(Self { fd, id, held: None, owed: None, seats, name, source, large: false })
    }

    /// A new FIFO in the place of this one, which is given back. Only once the new one is whole does the old one go.
    fn renew(&mut self, files: &Files, watch: &Watch) -> io::Result<OwnedFd> {
        let aside = format!("{}+", self.name);
        files.renew_fifo(&aside)?;
        let fd = fifo::open_read(&files.at(&aside))?;
        let id = fifo::identify(&fd)?;
        fifo::resize(&fd, fifo::SMALL);
        watch.add(&fd, self.source.token())?;
        std::fs::rename(files.at(&aside), files.at(self.name))?;
        watch.remove(&self.fd);
        (self.id, self.held, self.large) = (id, None, false);
        Ok(std::mem::replace(&mut self.fd, fd))
    }

    /// The FIFO goes to a reader of its own, for as long as somebody writes; the next command gets a new one.
    fn hand_over(&mut self, files: &Files, watch: &Watch, log: &Arc<Log>) -> io::Result<()> {
        let seat = self.seats.take().ok_or(rustix::io::Errno::MFILE)?;
        late::collect(self.renew(files, watch)?, Arc::clone(log), seat);
        self.owed = None;
        Ok(())
    }

    /// The directory was mended.
    pub fn reopen(&mut self, files: &Files, watch: &Watch) -> io::Result<()> {
        match self.owed.clone() {
            Some(log) => self.hand_over(files, watch, &log),
            None => self.renew(files, watch).map(drop),
        }
    }

    /// Whether it still stands in the directory under its name.
    pub fn is_intact(&self, files: &Files) -> bool {
        files.leads_to(self.name, &self.fd)
    }

    /// Before a command; not while the FIFO carries another's output.
    pub fn hold(&mut self, files: &Files, watch: &Watch) -> io::Result<()> {
        if let Some(log) = self.owed.clone() {
            self.hand_over(files, watch, &log)?;
        }
        if self.held.is_none() {
            let held = fifo::open_write(&files.at(self.name))?;
            if fifo::identify(&held)? != self.id {
                return Err(io::ErrorKind::NotFound.into());
            }
            self.held = Some(held);
        }
        Ok(())
    }

    pub fn release(&mut self) {
        self.held = None;
    }

    /// Looks at both streams of a session at once.
    pub fn look(out: &Self, err: &Self) -> [Sight; 2] {
        fifo::look(&out.fd, &err.fd)
    }

    /// One read. A stream that fills its pipe gets a larger one.
    pub fn read(&mut self, buf: &mut [u8]) -> Found {
        let found = fifo::read(&self.fd, buf).unwrap_or(Found::NoWriter);
        if let Found::Bytes(n) = found
            && n >= fifo::SMALL
            && !self.large
        {
            self.large = true;
            fifo::resize(&self.fd, fifo::LARGE);
        }
        found
    }

    /// Bytes that were written before now.
    pub fn pending(&self) -> usize {
        fifo::pending(&self.fd)
    }

    /// After the command: the same FIFO serves the next one, unless a background process holds it.
    pub fn settle(&mut self, files: &Files, watch: &Watch, seen: Sight, log: Arc<Log>) {
        if !seen.has_writer {
            if std::mem::take(&mut self.large) {
                fifo::resize(&self.fd, fifo::SMALL);
            }
            return log.close();
        }
        log.seal();
        if let Err(e) = self.hand_over(files, watch, &log) {
            tracing::warn!(error = %e, "an output pipe could not be renewed");
            self.owed = Some(log);
        }
    }
}
