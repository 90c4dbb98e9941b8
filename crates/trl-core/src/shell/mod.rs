//! A persistent shell: how it is started, told what to run, rolled back.
//!
//! The shell sits in a small loop, parsed once ([`script`], [`fish`]). It waits on a FIFO, sources the command file
//! with fresh stdio, and reports on another FIFO ([`report`]). After the reply it forks an idle clone of itself: the
//! rollback point. When the shell dies or has to be killed, the clone is promoted and has the exact state from
//! before the lost command. Shells that cannot fork that way give a text snapshot instead.
//!
//! - [`kind`]: which shell it is and what it can do.
//! - [`files`]: the session directory: FIFOs, loop texts, command files.
//! - [`dump`], [`state`]: its state as text, and back; [`words`] reads what shells print.
//! - [`wrap`]: one command with its own environment and directory.
//! - [`channel`]: the daemon's ends of the FIFOs, and what arrives on them.
//! - [`feed`]: bytes for a command's stdin.

pub mod channel;
mod dump;
pub mod feed;
pub mod files;
mod fish;
pub mod kind;
pub mod quote;
pub mod report;
pub mod script;
pub mod state;
pub mod words;
pub mod wrap;

pub use kind::{Kind, Survival};
