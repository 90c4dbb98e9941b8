//! Descriptors that one process hands to another over a Unix socket, with one byte that says what they are.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Result;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, recvmsg,
    sendmsg,
};

use crate::os::sockets;

/// As many as anybody hands over at once.
const MOST: usize = 2;

/// What came.
#[derive(Debug)]
pub struct Handed {
    /// None: the other side has closed the socket.
    pub byte: Option<u8>,
    pub fds: Vec<OwnedFd>,
}

pub fn send(socket: impl AsFd, byte: u8, fds: &[BorrowedFd<'_>]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(socket, &[IoSlice::new(&[byte])], &mut control, sockets::WITHOUT_SIGNAL)?;
    Ok(())
}

/// No program inherits what comes.
pub fn receive(socket: impl AsFd, flags: RecvFlags) -> Result<Handed> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | sockets::FOR_US_ALONE;
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let fds = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect(),
        _ => Vec::new(),
    });
    let fds: Vec<OwnedFd> = fds.collect();
    fds.iter().try_for_each(sockets::keep_for_us)?;
    Ok(Handed { byte: (got.bytes > 0).then_some(byte[0]), fds })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn descriptors_arrive_with_their_byte() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut read, write) = std::io::pipe().unwrap();
        send(&one, b'x', &[write.as_fd()]).unwrap();
        drop(write);
        let Handed { byte, fds } = receive(&other, RecvFlags::empty()).unwrap();
        assert_eq!((byte, fds.len()), (Some(b'x'), 1));
        let mut theirs = std::fs::File::from(fds.into_iter().next().unwrap());
        theirs.write_all(b"hello").unwrap();
        drop(theirs);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_byte_may_come_alone_and_an_end_is_no_byte() {
        let (one, other) = UnixStream::pair().unwrap();
        send(&one, b'p', &[]).unwrap();
        let handed = receive(&other, RecvFlags::empty()).unwrap();
        assert_eq!((handed.byte, handed.fds.len()), (Some(b'p'), 0));
        drop(one);
        assert_eq!(receive(&other, RecvFlags::empty()).unwrap().byte, None);
    }
}
