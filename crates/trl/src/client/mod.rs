//! What the command line adds to [`trl_client`]: settings, a daemon that is started when none answers, and a person's token.
//!
//! 1. [`reach::connect`] opens the socket of the settings, and starts a daemon through [`autostart`] if none answers and the
//!    command may do so; [`inside`] a session it may not.
//! 2. [`token`] finds the operator's token; it is presented as the first request.
//! 3. A ping settles that both sides speak the same protocol.
//!
//! It knows no commands and prints nothing but warnings.

mod autostart;
mod error;
mod inside;
mod reach;
mod token;

pub(crate) use autostart::last_words;
pub(crate) use error::ReachError;
pub(crate) use inside::in_session;
pub(crate) use reach::{Auth, Start, connect, connect_any_version, connect_at_once, stream};
pub(crate) use trl_client::{ClientError, Connection, Push, Pushes};
