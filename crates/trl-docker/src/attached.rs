//! The streams of a program in a container: a byte stream both ways, and what it complained about.
//!
//! 1. [`Input`] is the connection itself: what is written goes out as it is. Shutting it down, or dropping it, closes the
//!    program's standard input.
//! 2. [`Output`] is the connection taken apart as it is polled: one read of the system's gives a header and what follows
//!    it, and whatever is there is handed over at once. No task, no timer, a buffer that never grows.
//! 3. What comes on standard error is kept aside, the newest of it: [`Output::last_words`] is the reason when nothing else
//!    comes.
//!
//! Nobody's end is the program's: it goes on until it ends, or reads the end of its input.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::demux::{Demux, Stream};

/// One read: twice what Docker puts into a frame, and still in the cache when it is copied from.
const CHUNK: usize = 64 << 10;
/// A reason has a few lines.
const MOST_WORDS: usize = 8 << 10;

/// A program in a container, by its streams.
#[derive(Debug)]
pub struct Attached {
    /// What Docker calls it.
    pub id: String,
    pub input: Input,
    pub output: Output,
}

/// Standard input.
#[derive(Debug)]
pub struct Input(OwnedWriteHalf);

/// Standard output, and the last words on standard error.
#[derive(Debug)]
pub struct Output {
    connection: OwnedReadHalf,
    buffer: Box<[u8]>,
    /// Where in the buffer that is which has come and was not taken.
    start: usize,
    end: usize,
    demux: Demux,
    words: LastWords,
}

impl Attached {
    /// `early` is what came before the connection was handed over.
    pub(crate) fn new(id: String, connection: UnixStream, early: &[u8]) -> Self {
        let (read, write) = connection.into_split();
        Self { id, input: Input(write), output: Output::new(read, early) }
    }
}

impl Output {
    fn new(connection: OwnedReadHalf, early: &[u8]) -> Self {
        let mut buffer = vec![0; CHUNK.max(early.len())].into_boxed_slice();
        buffer[..early.len()].copy_from_slice(early);
        let (demux, words) = (Demux::default(), LastWords::default());
        Self { connection, buffer, start: 0, end: early.len(), demux, words }
    }

    /// What came on standard error so far, or the end of it. It comes in as standard output is read.
    pub fn last_words(&self) -> String {
        self.words.text()
    }

    /// Hands over what has come; true when there is any of it. What is wrong with the rest is said next time.
    fn hand_over(&mut self, to: &mut ReadBuf<'_>) -> io::Result<bool> {
        let before = to.filled().len();
        let mut rest = &self.buffer[self.start..self.end];
        let mut outcome = Ok(());
        while outcome.is_ok() && to.remaining() > 0 {
            match self.demux.take(&mut rest, to.remaining()) {
                Ok(Some((Stream::Out, piece))) => to.put_slice(piece),
                Ok(Some((Stream::Err, piece))) => self.words.push(piece),
                Ok(None) => break,
                Err(unknown) => outcome = Err(io::Error::new(io::ErrorKind::InvalidData, unknown)),
            }
        }
        self.start = self.end - rest.len();
        if to.filled().len() > before { Ok(true) } else { outcome.map(|()| false) }
    }
}

impl AsyncRead for Output {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.hand_over(buf)? && buf.remaining() > 0 {
            let mut fresh = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.connection).poll_read(cx, &mut fresh))?;
            (this.start, this.end) = (0, fresh.filled().len());
            if this.end == 0 {
                return Poll::Ready(match this.demux.is_between_frames() {
                    true => Ok(()),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                });
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl AsyncRead for Attached {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(cx, buf)
    }
}

impl AsyncWrite for Attached {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.input.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(cx)
    }
}

/// The newest bytes of a stream.
#[derive(Debug, Default)]
struct LastWords(VecDeque<u8>);

impl LastWords {
    fn push(&mut self, bytes: &[u8]) {
        let newest = &bytes[bytes.len().saturating_sub(MOST_WORDS)..];
        let over = (self.0.len() + newest.len()).saturating_sub(MOST_WORDS);
        self.0.drain(..over);
        self.0.extend(newest);
    }

    fn text(&self) -> String {
        let (one, two) = self.0.as_slices();
        String::from_utf8_lossy(&[one, two].concat()).trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn frame(code: u8, payload: &[u8]) -> Vec<u8> {
        [&[code, 0, 0, 0], (payload.len() as u32).to_be_bytes().as_slice(), payload].concat()
    }

    fn attached(early: &[u8]) -> (Attached, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        (Attached::new("x".into(), near, early), far)
    }

    #[tokio::test]
    async fn what_came_early_is_the_beginning() {
        let (mut near, mut far) = attached(&frame(1, b"early, ")[..11]);
        far.write_all(&frame(1, b"early, ")[11..]).await.unwrap();
        far.write_all(&[frame(2, b"oops\n"), frame(1, b"late")].concat()).await.unwrap();
        drop(far);
        let mut all = String::new();
        near.read_to_string(&mut all).await.unwrap();
        assert_eq!((all.as_str(), near.output.last_words().as_str()), ("early, late", "oops"));
    }

    #[tokio::test]
    async fn more_than_the_buffer_may_have_come_early() {
        let long = vec![b'x'; 3 * CHUNK];
        let (mut near, far) = attached(&frame(1, &long));
        drop(far);
        let mut all = Vec::new();
        near.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, long);
    }

    #[tokio::test]
    async fn an_end_in_the_middle_of_a_frame_is_no_end() {
        for cut in [1, 7, 8, 9] {
            let (mut near, mut far) = attached(b"");
            far.write_all(&frame(1, b"ab")[..cut]).await.unwrap();
            drop(far);
            let error = near.read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "after {cut}");
        }
    }

    #[tokio::test]
    async fn what_is_no_frame_is_an_error() {
        let (mut near, mut far) = attached(b"");
        far.write_all(b"{\"message\": \"no\"}").await.unwrap();
        let error = near.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("unknown stream 123"), "{error}");
    }

    #[tokio::test]
    async fn what_came_before_an_error_is_not_lost() {
        let (mut near, mut far) = attached(b"");
        far.write_all(&[frame(1, b"fine"), frame(9, b"not")].concat()).await.unwrap();
        let mut heard = [0; 10];
        assert_eq!(near.read(&mut heard).await.unwrap(), 4);
        for _ in 0..2 {
            assert_eq!(near.read(&mut heard).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[tokio::test]
    async fn input_ends_while_output_goes_on() {
        let (mut near, mut far) = attached(b"");
        near.write_all(b"question").await.unwrap();
        near.shutdown().await.unwrap();
        let mut heard = String::new();
        far.read_to_string(&mut heard).await.unwrap();
        far.write_all(&frame(1, b"answer")).await.unwrap();
        let mut answer = [0; 6];
        near.read_exact(&mut answer).await.unwrap();
        assert_eq!((heard.as_str(), &answer), ("question", b"answer"));
    }

    #[tokio::test]
    async fn one_who_gives_no_room_gets_nothing_and_loses_nothing() {
        let (mut near, _far) = attached(&frame(1, b"x"));
        assert_eq!(near.read(&mut []).await.unwrap(), 0);
        assert_eq!(near.read_u8().await.unwrap(), b'x');
    }

    #[test]
    fn of_many_words_the_last_stay() {
        let mut words = LastWords::default();
        for number in 0..10_000 {
            words.push(format!("line {number}\n").as_bytes());
        }
        assert!(words.text().ends_with("line 9999") && words.0.len() == MOST_WORDS);
        words.push(&[b'y'; 2 * MOST_WORDS]);
        assert_eq!(words.text(), "y".repeat(MOST_WORDS));
    }
}
