//! Changes of directories: kqueue says that a directory changed and not which name in it, so nobody can be told.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use crate::changes::Noted;

/// There is none.
#[derive(Debug)]
pub enum Changes {}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}

impl Changes {
    pub fn new() -> Result<Self, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    pub fn add(&self, _: impl AsFd) -> Result<i32, Errno> {
        match *self {}
    }

    pub fn remove(&self, _: i32) {
        match *self {}
    }

    pub fn take(&self, _: usize) -> Result<(Vec<Noted>, bool), Errno> {
        match *self {}
    }
}
