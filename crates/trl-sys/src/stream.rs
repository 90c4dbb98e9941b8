//! A byte stream (a client's socket, a pipe), registered for reading only.
//!
//! Registered both ways it would wake the daemon, and cost the other side, once more per message: that has been read, so
//! there is room again, which nobody waits for. Here room is asked for only after a write found none.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::Shutdown;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::os::sockets;

#[derive(Debug)]
pub struct Reader(AsyncFd<Arc<OwnedFd>>);

#[derive(Debug)]
pub struct Writer {
    stream: Arc<OwnedFd>,
    /// A second descriptor of the stream, watched while there is more to write than there is room for.
    room: Option<AsyncFd<OwnedFd>>,
}

/// The process at the other end of a Unix socket.
pub fn peer_pid(socket: impl AsFd) -> Option<u32> {
    sockets::peer_pid(socket)
}

/// The address of a Unix socket whose name is in no directory; an error where there are none.
pub fn without_path(name: &str) -> io::Result<SocketAddr> {
    sockets::without_path(name)
}

/// Both ways of a socket. Must be called within a runtime.
pub fn split(stream: tokio::net::UnixStream) -> io::Result<(Reader, Writer)> {
    let stream = Arc::new(OwnedFd::from(stream.into_std()?));
    Ok((Reader::register(Arc::clone(&stream))?, Writer { stream, room: None }))
}

impl Reader {
    /// One end of a pipe, or a socket. Must be called within a runtime.
    pub fn of(fd: OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&fd, true)?;
        Self::register(Arc::new(fd))
    }

    fn register(stream: Arc<OwnedFd>) -> io::Result<Self> {
        // SAFETY: an OwnedFd always shows the same descriptor, which lives as long as the last Arc; it is only lent out.
        let stream = unsafe { AsyncFd::register_with_interest(stream, Interest::READABLE) };
        Ok(Self(stream.map_err(io::Error::from)?))
    }
}

impl Writer {
    /// One end of a pipe, or a socket.
    pub fn of(fd: OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&fd, true)?;
        Ok(Self { stream: Arc::new(fd), room: None })
    }
}

impl AsyncRead for Reader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            let space = buf.initialize_unfilled();
            let room = space.len();
            match rustix::io::read(&**ready.get_inner(), space) {
                Ok(n) => {
                    // a short read has emptied the stream: the next one need not find that out
                    if 0 < n && n < room {
                        ready.clear_ready();
                    }
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(e) => return Poll::Ready(Err(e.into())),
            }
        }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = match &self.room {
                Some(room) => Some(ready!(room.poll_write_ready(cx))?),
                None => None,
            };
            // A reader that is gone is an error, not a signal: Rust's programs ignore that one.
            match rustix::io::write(&*self.stream, bytes) {
                Ok(n) => return Poll::Ready(Ok(n)),
                Err(Errno::AGAIN) => match &mut ready {
                    Some(ready) => ready.clear_ready(),
                    None => {
                        let second = self.stream.try_clone()?;
                        // SAFETY: an OwnedFd always shows the same descriptor; nothing else has this one.
                        let room = unsafe { AsyncFd::register_with_interest(second, Interest::WRITABLE) };
                        self.room = Some(room.map_err(io::Error::from)?);
                    }
                },
                Err(Errno::INTR) => {}
                Err(e) => return Poll::Ready(Err(e.into())),
            }
        }
    }

    /// Nothing more to write for now.
    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.room = None;
        Poll::Ready(Ok(()))
    }

    /// A pipe has no half that could be closed alone: its end is that of the writer.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&*self.stream, Shutdown::Write) {
            Ok(()) | Err(Errno::NOTSOCK) => Poll::Ready(Ok(())),
            Err(e) => Poll::Ready(Err(e.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn sent() -> Vec<u8> {
        (0..4_000_000u32).map(|i| i.to_le_bytes()[i as usize % 4]).collect()
    }

    #[tokio::test]
    async fn more_than_the_socket_holds_arrives_whole_and_in_order() {
        let (ours, mut theirs) = tokio::net::UnixStream::pair().unwrap();
        let (_reader, mut writer) = split(ours).unwrap();
        let sent = sent();
        let writing = async {
            writer.write_all(&sent).await.unwrap();
            assert!(writer.room.is_some(), "it was full at least once");
            writer.flush().await.unwrap();
            assert!(writer.room.is_none());
            writer.shutdown().await.unwrap();
        };
        let mut got = Vec::new();
        let (_, read) = tokio::join!(writing, theirs.read_to_end(&mut got));
        read.unwrap();
        assert!(got == sent);
    }

    #[tokio::test]
    async fn a_pipe_is_a_stream_too() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (mut reader, mut writer) = (Reader::of(read).unwrap(), Writer::of(write).unwrap());
        let sent = sent();
        let writing = async {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
            drop(writer);
        };
        let mut got = Vec::new();
        let (_, read) = tokio::join!(writing, reader.read_to_end(&mut got));
        read.unwrap();
        assert!(got == sent);
    }

    #[tokio::test]
    async fn what_nobody_reads_any_more_is_an_error() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut writer = Writer::of(write).unwrap();
        drop(read);
        assert_eq!(writer.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn what_comes_in_pieces_is_read_to_its_end() {
        let (ours, mut theirs) = tokio::net::UnixStream::pair().unwrap();
        let (mut reader, _writer) = split(ours).unwrap();
        let feeding = async {
            for _ in 0..100 {
                theirs.write_all(b"piece").await.unwrap();
                tokio::task::yield_now().await;
            }
            drop(theirs);
        };
        let mut got = Vec::new();
        let (_, read) = tokio::join!(feeding, reader.read_to_end(&mut got));
        read.unwrap();
        assert_eq!(got, b"piece".repeat(100));
    }
}
