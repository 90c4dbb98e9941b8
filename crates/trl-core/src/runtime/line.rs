//! A [`Link`] with bytes under it and tasks above it: both sides of a runtime drive theirs with this.
//!
//! 1. Whoever has a byte stream to the other side [carries](Line::carry) it, until it breaks; then the next one.
//! 2. The near side [opens](Line::open) strands. Those of the other side come out of [`Opened`]. A [`Strand`] is read and
//!    written like any stream, and neither knows nor cares which connection its bytes take, or that there is none now.
//! 3. [`Line::stand`] says how it is: away, up, or over for good, after which every strand is at its end.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::MissedTickBehavior;
use trl_link::{Breach, Event, Gone, Identity, Limits, Link, StreamId, Urgency};

use super::reading;

/// Between two ticks of the link: it asks after the first without a word, and gives a connection up after the fourth.
const TICK: Duration = Duration::from_secs(5);
/// What is handed to the operating system at once: it cannot be overtaken there.
const HANDED: usize = 32 * 1024;
/// What a flood has made larger is given back when there is nothing to send.
const IDLE: usize = 1024;

/// How a line stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    /// There is no connection, or nobody has answered on it yet.
    Away,
    /// The other side has said who it is.
    Up { greeting: Arc<[u8]> },
    /// It will never be up again.
    Over { why: Arc<str> },
}

/// Why a connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    #[error("the other side closed the connection{}", said(.0))]
    Closed(Option<String>),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("nothing came from the other side for too long")]
    Silent,
    #[error("{0}")]
    Breach(Breach),
}

fn said(noise: &Option<String>) -> String {
    noise.as_ref().map(|noise| format!(", after saying: {noise}")).unwrap_or_default()
}

/// One side of a link, for all who use it.
#[derive(Debug, Clone)]
pub struct Line(Arc<Shared>);

/// The strands that the other side opens.
pub type Opened = mpsc::UnboundedReceiver<(Strand, Urgency)>;

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    /// Something may have to be sent.
    due: Notify,
    stand: watch::Sender<Stand>,
    opened: mpsc::UnboundedSender<(Strand, Urgency)>,
}

#[derive(Debug)]
struct Inner {
    link: Link,
    flows: HashMap<StreamId, Flow>,
    greeting: Arc<[u8]>,
    over: bool,
}

/// What has come on one strand, and who waits for what.
#[derive(Debug, Default)]
struct Flow {
    arrived: VecDeque<Vec<u8>>,
    /// Read of the first of them.
    read: usize,
    ended: bool,
    /// The other side wants nothing more of it, or the line is over.
    broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Flow {
    fn unread(&self) -> usize {
        self.arrived.iter().map(Vec::len).sum::<usize>() - self.read
    }

    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}

impl Line {
    pub fn new(identity: Identity, limits: Limits) -> (Self, Opened) {
        let (opened, strands) = mpsc::unbounded_channel();
        let inner = Inner {
            link: Link::new(identity, limits),
            flows: HashMap::new(),
            greeting: Arc::new([]),
            over: false,
        };
        let shared = Shared {
            inner: Mutex::new(inner),
            due: Notify::new(),
            stand: watch::Sender::new(Stand::Away),
            opened,
        };
        (Self(Arc::new(shared)), strands)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn stand(&self) -> watch::Receiver<Stand> {
        self.0.stand.subscribe()
    }

    /// A fresh strand; it can be written to at once, connected or not.
    pub fn open(&self, urgency: Urgency) -> Result<Strand, Gone> {
        let mut inner = self.lock();
        if inner.over {
            return Err(Gone::Over);
        }
        let id = inner.link.open(urgency)?;
        Ok(self.strand(&mut inner, id))
    }

    fn strand(&self, inner: &mut Inner, id: StreamId) -> Strand {
        inner.flows.insert(id, Flow::default());
        Strand { line: self.clone(), id, ended: false }
    }

    /// Every strand is at its end, and nothing is sent any more.
    pub fn give_up(&self, why: &str) {
        let mut inner = self.lock();
        inner.over = true;
        inner.flows.values_mut().for_each(|flow| {
            flow.broken = true;
            flow.wake();
        });
        drop(inner);
        self.0.stand.send_replace(Stand::Over { why: why.into() });
        self.0.due.notify_one();
    }

    /// Moves bytes over one connection until that breaks. The link then waits for the next, unless it is over.
    pub async fn carry(
        &self,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
    ) -> Cut {
        if let Err(breach) = self.lock().link.connected() {
            return Cut::Breach(breach);
        }
        let cut = self.pump(&mut reader, &mut writer).await;
        let (noise, breach) = {
            let mut inner = self.lock();
            let noise = inner.link.noise();
            inner.link.disconnected();
            (noise, inner.link.breach().cloned())
        };
        self.0.stand.send_if_modified(|stand| {
            let was_up = matches!(stand, Stand::Up { .. });
            if was_up {
                *stand = Stand::Away;
            }
            was_up
        });
        if let Some(breach) = breach {
            self.give_up(&breach.to_string());
        }
        match cut {
            Cut::Closed(_) => Cut::Closed(noise),
            other => other,
        }
    }

    async fn pump(
        &self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> Cut {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        let (mut out, mut written) = (Vec::new(), 0);
        loop {
            if written == out.len() {
                out.clear();
                written = 0;
                self.lock().link.transmit(&mut out, HANDED);
                if out.is_empty() && out.capacity() > IDLE {
                    out = Vec::new();
                }
            }
            if self.hear() == Heard::Silence {
                return Cut::Silent;
            }
            let writing = written < out.len();
            tokio::select! {
                biased;
                done = writer.write(&out[written..]), if writing => match done {
                    Ok(0) => return Cut::Closed(None),
                    Ok(bytes) => written += bytes,
                    Err(error) => return error.into(),
                },
                come = reading::piece(reader, |bytes| self.lock().link.receive(bytes)) => match come {
                    Ok(None) => return Cut::Closed(None),
                    Ok(Some(taken)) => {
                        self.hear();
                        if let Err(breach) = taken {
                            return Cut::Breach(breach);
                        }
                    }
                    Err(error) => return error.into(),
                },
                () = self.0.due.notified(), if !writing => if self.lock().over {
                    return Cut::Closed(None);
                },
                _ = ticks.tick() => self.lock().link.tick(),
            }
        }
    }

    /// Hands on what the link has to tell.
    fn hear(&self) -> Heard {
        let mut heard = Heard::Events;
        let mut inner = self.lock();
        while let Some(event) = inner.link.poll_event() {
            match event {
                Event::Met { greeting, .. } => {
                    inner.greeting = greeting.into();
                    self.up(&inner);
                }
                Event::Resumed => self.up(&inner),
                Event::Opened(id, urgency) => {
                    let strand = self.strand(&mut inner, id);
                    // Nobody takes strands any more: it is dropped, which ends it, and needs the lock for that.
                    if let Err(refused) = self.0.opened.send((strand, urgency)) {
                        drop(inner);
                        drop(refused);
                        inner = self.lock();
                    }
                }
                Event::Data(id, bytes) => match inner.flows.get_mut(&id) {
                    Some(flow) => {
                        flow.arrived.push_back(bytes);
                        flow.reader.take().into_iter().for_each(Waker::wake);
                    }
                    // Whoever had it said all there was to say, and does not listen any more.
                    None => inner.link.consumed(id, bytes.len()),
                },
                Event::Ended(id) => inner.flow(id, |flow| {
                    flow.ended = true;
                    flow.reader.take().into_iter().for_each(Waker::wake);
                }),
                Event::Reset(id) => inner.flow(id, |flow| {
                    flow.broken = true;
                    flow.wake();
                }),
                Event::Writable(id) => {
                    inner.flow(id, |flow| flow.writer.take().into_iter().for_each(Waker::wake));
                }
                Event::Pong(_) => {}
                Event::Silent => heard = Heard::Silence,
            }
        }
        heard
    }

    fn up(&self, inner: &Inner) {
        self.0.stand.send_replace(Stand::Up { greeting: Arc::clone(&inner.greeting) });
    }
}

impl Inner {
    fn flow(&mut self, id: StreamId, change: impl FnOnce(&mut Flow)) {
        if let Some(flow) = self.flows.get_mut(&id) {
            change(flow);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Events,
    Silence,
}

/// One stream of a line. Dropped, it is over for both sides; what was written before a shutdown still arrives.
#[derive(Debug)]
pub struct Strand {
    line: Line,
    id: StreamId,
    /// All was said.
    ended: bool,
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the stream to the runtime is over")
}

impl AsyncRead for Strand {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut guard = self.line.lock();
        let inner = &mut *guard;
        let Some(flow) = inner.flows.get_mut(&self.id) else { return Poll::Ready(Err(gone())) };
        let Some(first) = flow.arrived.front() else {
            if flow.ended || flow.broken {
                return Poll::Ready(if flow.ended { Ok(()) } else { Err(gone()) });
            }
            flow.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let rest = &first[flow.read..];
        let taken = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..taken]);
        flow.read += taken;
        if flow.read == first.len() {
            flow.arrived.pop_front();
            flow.read = 0;
        }
        inner.link.consumed(self.id, taken);
        drop(guard);
        self.line.0.due.notify_one();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Strand {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut guard = self.line.lock();
        let inner = &mut *guard;
        let Some(flow) = inner.flows.get_mut(&self.id).filter(|flow| !flow.broken) else {
            return Poll::Ready(Err(gone()));
        };
        let taken = match inner.link.send(self.id, bytes) {
            Err(_) => return Poll::Ready(Err(gone())),
            Ok(0) if !bytes.is_empty() => {
                flow.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Ok(taken) => taken,
        };
        drop(guard);
        self.line.0.due.notify_one();
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        self.ended = true;
        self.line.lock().link.end(self.id);
        self.line.0.due.notify_one();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        let mut inner = self.line.lock();
        let unread = inner.flows.remove(&self.id).map_or(0, |flow| flow.unread());
        match self.ended {
            true => inner.link.consumed(self.id, unread),
            false => inner.link.reset(self.id),
        }
        drop(inner);
        self.line.0.due.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use trl_link::{Key, Side};

    fn side(side: Side, life: u64) -> (Line, Opened) {
        let identity = Identity { side, key: Key([7; 16]), life, greeting: format!("life {life}").into() };
        Line::new(identity, Limits::default())
    }

    /// Both ends carry one connection, until the returned handle is aborted.
    fn join(near: &Line, far: &Line) -> tokio::task::JoinHandle<(Cut, Cut)> {
        let (near, far) = (near.clone(), far.clone());
        let (a, b) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let ((ar, aw), (br, bw)) = (tokio::io::split(a), tokio::io::split(b));
            tokio::join!(near.carry(ar, aw), far.carry(br, bw))
        })
    }

    async fn echo(mut strand: Strand) {
        let mut buffer = [0; 1000];
        while let Ok(bytes @ 1..) = strand.read(&mut buffer).await {
            strand.write_all(&buffer[..bytes]).await.unwrap();
        }
        strand.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn strands_go_on_over_the_next_connection() {
        let (near, _none) = side(Side::Near, 1);
        let (far, mut opened) = side(Side::Far, 2);
        let mut strand = near.open(Urgency::Bulk).unwrap();
        let first = join(&near, &far);
        let (other, _) = opened.recv().await.unwrap();
        tokio::spawn(echo(other));
        strand.write_all(b"one").await.unwrap();
        let mut three = [0; 3];
        strand.read_exact(&mut three).await.unwrap();
        first.abort();
        let _ = first.await;
        // with nobody to carry it
        let sent: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        let (mut read, mut write) = tokio::io::split(strand);
        let writing = tokio::spawn({
            let sent = sent.clone();
            async move {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            }
        });
        let _second = join(&near, &far);
        let mut back = Vec::new();
        read.read_to_end(&mut back).await.unwrap();
        writing.await.unwrap();
        assert!(back == sent);
        assert_eq!(near.stand().borrow().clone(), Stand::Up { greeting: Arc::from(*b"life 2") });
    }

    /// One that takes no bytes says nothing either, and is given up although something is still being written to it.
    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_stuck_is_given_up() {
        let (near, _none) = side(Side::Near, 1);
        let _strand = near.open(Urgency::Bulk).unwrap();
        let (stuck, _held) = tokio::io::duplex(8);
        let (reader, writer) = tokio::io::split(stuck);
        assert!(matches!(near.carry(reader, writer).await, Cut::Silent));
    }

    #[tokio::test]
    async fn an_end_for_good_reaches_every_strand() {
        let (near, _none) = side(Side::Near, 1);
        let mut strand = near.open(Urgency::Bulk).unwrap();
        let reading = tokio::spawn(async move { strand.read(&mut [0; 8]).await });
        tokio::task::yield_now().await;
        near.give_up("the grace is over");
        assert!(reading.await.unwrap().is_err());
        assert!(near.open(Urgency::Bulk).is_err());
        assert!(matches!(near.stand().borrow().clone(), Stand::Over { .. }));
    }

    #[tokio::test]
    async fn one_that_started_anew_is_not_taken_for_what_it_was() {
        let (near, _none) = side(Side::Near, 1);
        let (far, mut opened) = side(Side::Far, 2);
        let mut strand = near.open(Urgency::Bulk).unwrap();
        strand.write_all(b"x").await.unwrap();
        let first = join(&near, &far);
        let _kept = opened.recv().await.unwrap();
        first.abort();
        let _ = first.await;
        let (fresh, _nobody) = side(Side::Far, 3);
        let (cut, _) = join(&near, &fresh).await.unwrap();
        assert!(matches!(cut, Cut::Breach(Breach::Restarted)), "{cut}");
        assert!(strand.read(&mut [0; 8]).await.is_err());
    }
}
