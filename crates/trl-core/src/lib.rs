//! What the daemon knows: sessions, executions, output. No sockets, no command line.
//!
//! A request reads downhill: [`manager`] (find, limits) -> [`session::state`] (may it?) -> [`session::task`] (do it) ->
//! [`shell`] (how to tell the shell) -> `trl-sys` (processes) -> [`output`] (bytes back).

pub mod approval;
pub mod case;
pub mod checkpoint;
pub mod clock;
pub mod descriptors;
pub mod diagnostics;
pub mod doctor;
pub mod engine;
pub mod env;
pub mod events;
pub mod execution;
pub mod histogram;
pub mod limits;
pub mod manager;
pub mod output;
pub mod place;
pub mod private_file;
pub mod progress;
pub mod random;
pub mod records;
pub mod registry;
pub mod runtime;
pub mod sandbox;
pub mod seats;
pub mod session;
pub mod settings;
pub mod shell;
pub mod terminal;
pub mod waiting;
pub mod workspace;

pub use engine::Engine;
pub use manager::Manager;
pub use settings::Settings;
