//! Which commands run, which wait for a person, which never do. No I/O, no clock.
mod closed;
mod lex;
mod plain;
mod shell;
mod split;

pub use plain::{Assignment, Command, Direction, Joint, Known, Opaque, Redirection, Split, Word};
pub use shell::ShellKind;
pub use split::{MAX_TEXT_BYTES, split};
