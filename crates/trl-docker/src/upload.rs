//! What a request carries: bytes that are here, and bytes that are read while they are sent.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};

/// One read of what is sent.
const CHUNK: usize = 64 << 10;

/// In this order, without copies of what is here.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    parts: VecDeque<Part>,
    /// Bytes not sent yet.
    left: u64,
}

enum Part {
    Here(Bytes),
    /// Exactly so many bytes of it.
    Read(Box<dyn AsyncRead + Send + Unpin>, u64),
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Read(_, length) => write!(f, "{length} bytes to be read"),
        }
    }
}

impl Upload {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let mut upload = Self::default();
        upload.push(bytes);
        upload
    }

    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.left += bytes.len() as u64;
            self.parts.push_back(Part::Here(bytes.into()));
        }
    }

    pub(crate) fn push_read(&mut self, reader: impl AsyncRead + Send + Unpin + 'static, length: u64) {
        if length > 0 {
            self.left += length;
            self.parts.push_back(Part::Read(Box::new(reader), length));
        }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let bytes = match self.parts.front_mut() {
            None => return Poll::Ready(None),
            Some(Part::Here(bytes)) => std::mem::take(bytes),
            Some(Part::Read(reader, left)) => match ready!(poll_chunk(reader, *left, cx)) {
                Ok(bytes) => {
                    *left -= bytes.len() as u64;
                    bytes
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
        };
        self.left -= bytes.len() as u64;
        if !matches!(self.parts.front(), Some(Part::Read(_, left)) if *left > 0) {
            self.parts.pop_front();
        }
        Poll::Ready(Some(Ok(bytes)))
    }
}

/// Some of the `left` bytes that must come.
fn poll_chunk(
    reader: &mut (impl AsyncRead + Unpin),
    left: u64,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Bytes>> {
    let mut bytes = vec![0; usize::try_from(left).unwrap_or(CHUNK).min(CHUNK)];
    let mut buf = ReadBuf::new(&mut bytes);
    ready!(Pin::new(reader).poll_read(cx, &mut buf))?;
    let length = buf.filled().len();
    if length == 0 {
        let why = format!("it was to have {left} more bytes");
        return Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, why)));
    }
    bytes.truncate(length);
    Poll::Ready(Ok(bytes.into()))
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut().poll_piece(cx).map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn what_is_here_and_what_is_read_comes_in_order() {
        let long = vec![7; 3 * CHUNK + 1];
        let mut upload = Upload::of(b"head".to_vec());
        upload.push(Vec::new());
        upload.push_read(io::Cursor::new(long.clone()), long.len() as u64);
        upload.push_read(io::Cursor::new(b"cut here".to_vec()), 3);
        upload.push(b"tail".to_vec());
        assert_eq!(upload.size_hint().exact(), Some(4 + long.len() as u64 + 3 + 4));
        let all = upload.collect().await.unwrap().to_bytes();
        assert_eq!(all, [b"head", long.as_slice(), b"cut", b"tail"].concat());
    }

    #[tokio::test]
    async fn a_source_that_ends_too_early_ends_it_all() {
        let mut upload = Upload::default();
        upload.push_read(io::Cursor::new(b"short".to_vec()), 6);
        assert!(upload.collect().await.unwrap_err().to_string().contains("1 more"));
    }
}
