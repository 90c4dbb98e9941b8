//! Shells, terminals and processes of a TRL daemon, from Rust. The command line `trl` is built on it.
//!
//! ```no_run
//! use trl_client::{Client, ClientError, Command, NewSession};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ClientError> {
//! let trl = Client::connect().await?;
//! let done = trl.run(Command::new("echo hello; exit 7").env("LANG", "C")).await?;
//! assert_eq!((done.text().as_ref(), done.exit_code()), ("hello\n", 7));
//!
//! let work = trl.session(NewSession::default().shell("bash")).await?; // one shell, whose state stays
//! work.run("cd /usr && export WHO=me").await?.check()?;
//! assert_eq!(work.run("echo $WHO in $PWD").await?.text(), "me in /usr\n");
//! work.destroy().await?;
//!
//! let mut lines = trl.stream("make test").await?; // output as it comes
//! while let Some(chunk) = lines.next().await? {
//!     print!("{}", chunk.text());
//! }
//! println!("{:?}", lines.outcome());
//! # Ok(())
//! # }
//! ```
//!
//! 1. [`Client`] finds the daemon and says who asks. From there come [`Finished`] results, an [`OutputStream`], [`Process`],
//!    [`Session`], [`Terminal`], [`Approvals`] and [`Events`]; [`Client::call`] is any method of the wire.
//! 2. What they take is in `options`, the bytes they bring in `values`. Everything else has the shapes of the wire, [`proto`].
//! 3. Below that, [`default_socket`] says where the daemon of this user is, and [`open`] connects there, if nobody else can have
//!    put a socket into that directory.
//! 4. A [`Connection`] carries any number of concurrent requests; [`Pushes`] hands out what the daemon sends on its own.
//! 5. What goes wrong is a [`ClientError`], with a hint on what to do. A command that fails or times out is a result.
//!
//! It needs a tokio runtime with I/O and time. It starts no daemon, reads no settings file and prints nothing.

mod approvals;
mod client;
mod connection;
mod error;
mod events;
mod options;
mod process;
mod secret;
mod session;
mod socket;
mod stream;
mod terminal;
mod values;

pub use approvals::{Answer, Approvals};
pub use client::{Builder, Client};
pub use connection::{Connection, Push, Pushes};
pub use error::ClientError;
pub use events::Events;
pub use options::{Command, NewSession, NewTerminal, Program};
pub use process::Process;
pub use secret::{Secret, TOKEN_VARIABLE};
pub use session::Session;
pub use socket::{SOCKET_VARIABLE, default_socket, open};
pub use stream::OutputStream;
pub use terminal::Terminal;
pub use trl_proto as proto;
pub use trl_sys::places::{DirFault, PathTooLong};
pub use values::{Chunk, Finished, Progress, Slice, Waited};
