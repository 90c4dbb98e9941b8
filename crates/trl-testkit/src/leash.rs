//! A link in the test's hands: every byte of it passes through here, and it is cut or held up where the test says.
//!
//! ```text
//!  gateway ── argv: a shell with a socket ── Leash ── trl stdio --resume KEY ─▶ engine
//! ```
//!
//! 1. [`Leash::to`] listens; [`Leash::argv`] is what a runtime of kind `command` is started with.
//! 2. Each connection begins with the key, for which the real relay is started, and then its bytes are passed on.
//! 3. [`Leash::cut_after`] has the next connections cut after so many bytes, one each, in the middle of whatever that is.
//! 4. [`Leash::slow_down`] passes on a little at a time.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Between two pieces of a slow link.
const PAUSE: Duration = Duration::from_millis(20);

/// Which way the bytes go that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the engine.
    Out,
    /// To the gateway.
    Back,
}

#[derive(Debug, Default)]
struct Inner {
    cuts: VecDeque<(Way, usize)>,
    accepted: usize,
    /// Bytes at a time.
    piece: Option<usize>,
    open: Vec<TcpStream>,
}

#[derive(Debug)]
pub struct Leash {
    port: u16,
    inner: Arc<Mutex<Inner>>,
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Leash {
    /// `relay` makes the words of the real relay; the key is not in them yet.
    pub fn to(relay: impl Fn() -> Command + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let inner = Arc::new(Mutex::new(Inner::default()));
        let shared = Arc::clone(&inner);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                pass_on(&shared, near, relay());
            }
        });
        Self { port, inner }
    }

    /// What leads here.
    pub fn argv(&self) -> [String; 3] {
        let script =
            format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo {{key}} >&3; cat <&3 & exec cat >&3", self.port);
        ["/bin/bash".into(), "-c".into(), script]
    }

    /// Each of the next connections is cut after so many bytes that way.
    pub fn cut_after(&self, cuts: impl IntoIterator<Item = (Way, usize)>) {
        lock(&self.inner).cuts = cuts.into_iter().collect();
    }

    /// How many cuts are left to be made.
    pub fn cuts_left(&self) -> usize {
        lock(&self.inner).cuts.len()
    }

    pub fn accepted(&self) -> usize {
        lock(&self.inner).accepted
    }

    /// Cuts what is open.
    pub fn cut(&self) {
        for near in lock(&self.inner).open.drain(..) {
            let _ = near.shutdown(Shutdown::Both);
        }
    }

    /// From now on, also for what is open.
    pub fn slow_down(&self, piece: usize) {
        lock(&self.inner).piece = Some(piece);
    }
}

fn pass_on(inner: &Arc<Mutex<Inner>>, near: TcpStream, mut relay: Command) {
    let clone = || near.try_clone().expect("a descriptor");
    let mut key = String::new();
    // One byte at a time: what follows the key is not ours to keep.
    BufReader::with_capacity(1, clone()).read_line(&mut key).expect("a key");
    relay.args(["--resume", key.trim()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = relay.spawn().expect("the relay starts");
    let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut state = lock(inner);
    state.accepted += 1;
    state.open.push(clone());
    let cut = state.cuts.pop_front();
    let most = |way: Way| cut.filter(|(cut, _)| *cut == way).map_or(usize::MAX, |(_, bytes)| bytes);
    let (out, back) = (most(Way::Out), most(Way::Back));
    drop(state);
    let child = Arc::new(Mutex::new(child));
    let ends = [(Arc::clone(inner), Arc::clone(&child)), (Arc::clone(inner), child)];
    let [(one, one_child), (other, other_child)] = ends;
    let (from, to) = (clone(), clone());
    thread::spawn(move || {
        carry(from.try_clone().expect("a descriptor"), stdin, out, &one);
        end(&from, &one_child);
    });
    thread::spawn(move || {
        carry(stdout, to.try_clone().expect("a descriptor"), back, &other);
        end(&to, &other_child);
    });
}

fn end(near: &TcpStream, relay: &Mutex<Child>) {
    let _ = near.shutdown(Shutdown::Both);
    let mut relay = relay.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = relay.kill();
    let _ = relay.wait();
}

/// Until the end of either, or so many bytes.
fn carry(mut from: impl Read, mut to: impl Write, mut left: usize, inner: &Mutex<Inner>) {
    let mut buf = [0; 16 << 10];
    while left > 0 {
        let piece = lock(inner).piece;
        let most = left.min(piece.unwrap_or(buf.len()));
        match from.read(&mut buf[..most]) {
            Ok(bytes @ 1..) if to.write_all(&buf[..bytes]).is_ok() => left -= bytes,
            _ => return,
        }
        if piece.is_some() {
            // So slow is this link.
            thread::sleep(PAUSE);
        }
    }
}
