//! Something between a client and a daemon's socket that loses connections on request.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Scratch;

/// A Unix socket that passes connections on.
pub struct Proxy {
    /// A directory of its own, which must be nobody else's.
    dir: Scratch,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    accepted: u64,
    /// Connections are closed as they come.
    refuses: bool,
    /// Bytes to the client after which the next connections are cut, one each; then they last.
    budgets: Vec<usize>,
    open: Vec<[UnixStream; 2]>,
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    pub fn to(daemon: &Path) -> Self {
        let dir = Scratch::in_memory();
        let listener = UnixListener::bind(dir.join("trl.sock")).expect("a socket");
        let inner = Arc::new(Mutex::new(Inner::default()));
        let (shared, daemon) = (Arc::clone(&inner), daemon.to_path_buf());
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                pass_on(&shared, near, &daemon);
            }
        });
        Self { dir, inner }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("trl.sock")
    }

    /// How many connections came so far.
    pub fn accepted(&self) -> u64 {
        lock(&self.inner).accepted
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        lock(&self.inner).open.len()
    }

    /// Cuts what is open.
    pub fn cut(&self) {
        for [near, far] in lock(&self.inner).open.drain(..) {
            let _ = near.shutdown(Shutdown::Both);
            let _ = far.shutdown(Shutdown::Both);
        }
    }

    /// From now on no connection lasts, until [`Proxy::allow`].
    pub fn refuse(&self) {
        lock(&self.inner).refuses = true;
        self.cut();
    }

    pub fn allow(&self) {
        lock(&self.inner).refuses = false;
    }

    /// Each of the next connections is cut after so many bytes to the client.
    pub fn cut_after(&self, budgets: impl IntoIterator<Item = usize>) {
        let mut budgets: Vec<usize> = budgets.into_iter().collect();
        budgets.reverse();
        lock(&self.inner).budgets = budgets;
    }
}

fn pass_on(inner: &Arc<Mutex<Inner>>, near: UnixStream, daemon: &Path) {
    let mut state = lock(inner);
    state.accepted += 1;
    if state.refuses {
        return;
    }
    let Ok(far) = UnixStream::connect(daemon) else { return };
    let budget = state.budgets.pop().unwrap_or(usize::MAX);
    let clone = |stream: &UnixStream| stream.try_clone().expect("a descriptor");
    state.open.push([clone(&near), clone(&far)]);
    let (up, down) = ((clone(&near), clone(&far)), (far, near));
    std::thread::spawn(move || copy(up.0, up.1, usize::MAX));
    std::thread::spawn(move || copy(down.0, down.1, budget));
}

/// Until the end of either, or so many bytes; then both are closed.
fn copy(mut from: UnixStream, mut to: UnixStream, most: usize) {
    carry(&mut from, &mut to, most);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Passes on as many bytes as there are, but no more than these.
pub fn carry(from: &mut impl Read, to: &mut impl Write, mut left: usize) {
    let mut buf = [0; 8192];
    while left > 0 {
        let most = left.min(buf.len());
        match from.read(&mut buf[..most]) {
            Ok(n) if n > 0 && to.write_all(&buf[..n]).is_ok() => left -= n,
            _ => break,
        }
    }
}
