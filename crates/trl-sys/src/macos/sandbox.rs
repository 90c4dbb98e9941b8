//! A boundary around a program: this system has none that a program could be put in as it is on Linux.
//!
//! Whoever wants all of a plan is refused; whoever takes what can be had gets nothing, and is told so layer by layer.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use crate::link::Stage;
use crate::sandbox::{Effort, Layer, Layers, Plan, Refused};
use crate::spawn::Failure;

/// There is no Landlock.
pub fn abi() -> i32 {
    0
}

/// What a sandbox would lack here: everything.
pub fn missing() -> Layers {
    let mut missing = Layers::default();
    Layer::ALL.into_iter().for_each(|layer| missing.add(layer));
    missing
}

pub(crate) struct Boundary {
    plan: Box<Plan>,
}

impl Boundary {
    pub(crate) fn new(plan: Box<Plan>) -> Result<Self, Failure> {
        match plan.effort {
            Effort::Full => Err(Failure { stage: Stage::Namespaces, errno: libc::ENOTSUP }),
            Effort::Best => Ok(Self { plan }),
        }
    }

    /// Nothing is drawn: what was asked for could not be had.
    pub(crate) fn draw(&self, _: &CStr) -> Result<Layers, Failure> {
        Ok(self.plan.layers())
    }

    pub(crate) fn held(self) -> (Protected, Option<Ear>) {
        (Protected, None)
    }
}

/// Everybody sees the same mounts.
pub(crate) fn mounts_of(_: i32) -> Option<File> {
    None
}

/// Nothing is held.
pub(crate) struct Protected;

impl Protected {
    /// Nothing is known of what was there before.
    pub(crate) fn made_inside(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Nobody hears of refused calls, as none are refused.
pub(crate) enum Ear {}

impl AsRawFd for Ear {
    fn as_raw_fd(&self) -> RawFd {
        match *self {}
    }
}

pub(crate) fn answer(ear: &Ear, _: impl FnOnce(Refused)) {
    match *ear {}
}
