//! The way to the daemon: find its socket, start it if that is wanted, say who asks, and exchange lines.
//!
//! 1. [`reach::connect`] checks the socket's directory, connects, and starts a daemon through [`autostart`] if none
//!    answers and the command may do so; [`inside`] a session it may not.
//! 2. [`token`] finds the operator's token; it is presented as the first request.
//! 3. A ping settles that both sides speak the same protocol.
//! 4. [`connection::Client`] then carries any number of concurrent requests; [`connection::Pushes`] hands out what
//!    the daemon sends on its own.
//!
//! It knows no commands and prints nothing but warnings; that is the command line's business.

mod autostart;
mod connection;
mod error;
mod inside;
mod reach;
mod token;

pub(crate) use autostart::last_words;
pub(crate) use connection::{Client, Push, Pushes};
pub(crate) use error::ClientError;
pub(crate) use reach::{Auth, Start, connect, connect_any_version, stream};
