//! Reading without a buffer of one's own: a gateway waits on thousands of streams, and hardly any of them has something to
//! say. Whatever comes is handed on at once, so one buffer is enough for all streams of a thread.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// What is read at once.
const MOST: usize = 32 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; MOST].into());
}

/// What `take` makes of the next piece; none at the end of the stream. Given up at any time, nothing is lost.
pub(super) async fn piece<T>(
    reader: &mut (impl AsyncRead + Unpin),
    mut take: impl FnMut(&[u8]) -> T,
) -> io::Result<Option<T>> {
    poll_fn(|cx| {
        BUFFER.with_borrow_mut(|buffer| {
            let mut come = ReadBuf::new(buffer);
            ready!(Pin::new(&mut *reader).poll_read(cx, &mut come))?;
            Poll::Ready(Ok(Some(come.filled()).filter(|bytes| !bytes.is_empty()).map(&mut take)))
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn pieces_of_streams_that_wait_side_by_side_are_not_mixed_up() {
        let ((mut one, mut there), (mut two, mut yonder)) = (tokio::io::duplex(64), tokio::io::duplex(64));
        let waiting =
            async { tokio::join!(piece(&mut one, <[u8]>::to_vec), piece(&mut two, <[u8]>::to_vec)) };
        let writing = async {
            yonder.write_all(b"two").await.unwrap();
            there.write_all(b"one").await.unwrap();
        };
        let ((first, second), ()) = tokio::join!(waiting, writing);
        assert_eq!((first.unwrap().unwrap(), second.unwrap().unwrap()), (b"one".to_vec(), b"two".to_vec()));
        drop(there);
        assert!(piece(&mut one, <[u8]>::len).await.unwrap().is_none());
    }
}
