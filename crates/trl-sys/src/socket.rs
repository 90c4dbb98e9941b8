//! A client's socket, registered for reading only.
//!
//! Registered both ways it would wake the daemon, and cost the client, once more per reply: the client has read it, so
//! there is room again, which nobody waits for. Here room is asked for only after a write found none.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::net::SendFlags;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

#[derive(Debug)]
pub struct Reader(Arc<AsyncFd<UnixStream>>);

#[derive(Debug)]
pub struct Writer {
    stream: Arc<AsyncFd<UnixStream>>,
    /// A second descriptor of the socket, watched while there is more to write than there is room for.
    room: Option<AsyncFd<OwnedFd>>,
}

/// Must be called within a runtime.
pub fn split(stream: tokio::net::UnixStream) -> io::Result<(Reader, Writer)> {
    // SAFETY: a UnixStream owns its descriptor and always shows the same one; it is only lent out below.
    let stream = unsafe { AsyncFd::register_with_interest(stream.into_std()?, Interest::READABLE) };
    let stream = Arc::new(stream.map_err(io::Error::from)?);
    Ok((Reader(Arc::clone(&stream)), Writer { stream, room: None }))
}

impl AsyncRead for Reader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            let space = buf.initialize_unfilled();
            match ready.get_inner().read(space) {
                Ok(n) => {
                    // a short read has emptied the socket: the next one need not find that out
                    if 0 < n && n < space.len() {
                        ready.clear_ready();
                    }
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Poll::Ready(Err(e)),
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
            match rustix::net::send(self.stream.get_ref(), bytes, SendFlags::NOSIGNAL) {
                Ok(n) => return Poll::Ready(Ok(n)),
                Err(rustix::io::Errno::AGAIN) => match &mut ready {
                    Some(ready) => ready.clear_ready(),
                    None => {
                        let second = OwnedFd::from(self.stream.get_ref().try_clone()?);
                        // SAFETY: an OwnedFd always shows the same descriptor; nothing else has this one.
                        let room = unsafe { AsyncFd::register_with_interest(second, Interest::WRITABLE) };
                        self.room = Some(room.map_err(io::Error::from)?);
                    }
                },
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Poll::Ready(Err(e.into())),
            }
        }
    }

    /// Nothing more to write for now.
    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.room = None;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn more_than_the_socket_holds_arrives_whole_and_in_order() {
        let (ours, mut theirs) = tokio::net::UnixStream::pair().unwrap();
        let (_reader, mut writer) = split(ours).unwrap();
        let sent: Vec<u8> = (0..4_000_000u32).map(|i| i.to_le_bytes()[i as usize % 4]).collect();
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
