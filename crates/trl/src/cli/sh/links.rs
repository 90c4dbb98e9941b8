//! The directory of links called like shells, and the daemon they were made for.
//!
//! 1. `trl sh --install DIR` ([`install`]) makes a link for each shell, and beside them the link [`SOCKET`] to the daemon's socket.
//! 2. A shim that was started through one of them looks beside it ([`choose`]). So it finds its daemon also where the caller's
//!    variables are gone: agents start shells with HOME alone.
//! 3. A daemon is only started where the environment is whole. One that is started with a scrubbed environment would have
//!    another socket, other rules and another history than the daemon of this user, and nobody would notice.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use trl_sys::machine;

use super::NAMES;
use crate::cli::failure::Failure;
use crate::client::{ClientError, ReachError, Start};
use crate::config::{Config, Key, Origin};

/// The link to the socket of the daemon, beside the links called like shells.
const SOCKET: &str = "trl.sock";
/// One of these is in every environment that belongs to a login session or names a daemon's files.
const SIGNS_OF_A_WHOLE_ENVIRONMENT: [&str; 2] = ["XDG_RUNTIME_DIR", "TRL_CONFIG"];

/// How well it is known which daemon is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The settings name it, or the environment is whole, so that the usual one is meant.
    BySettings,
    /// By the link beside ours, and the settings alone would lead to another.
    ByLink,
    /// The usual one is tried, and may not be started.
    Guessed,
}

impl Known {
    pub(super) fn start(self) -> Start {
        match self {
            Self::BySettings => Start::IfNeeded,
            Self::ByLink | Self::Guessed => Start::Never,
        }
    }

    /// Says of a missing daemon how it was looked for.
    pub(super) fn explain(self, error: ReachError) -> ReachError {
        match (self, error) {
            (Self::ByLink, ReachError::Client(ClientError::NotRunning { socket })) => {
                ReachError::InstalledForAnother { socket }
            }
            (Self::Guessed, ReachError::Client(ClientError::NotRunning { socket })) => {
                ReachError::ScrubbedEnvironment { socket }
            }
            (_, error) => error,
        }
    }
}

/// Points `config` at the daemon that this shim was installed for, unless the caller names another.
pub(super) fn choose(config: &mut Config) -> Known {
    let origin = Key::find("socket").map_or(Origin::Default, |key| config.origin(key));
    if matches!(origin, Origin::Env(_) | Origin::Flag(_)) {
        return Known::BySettings;
    }
    match machine::started_by().and_then(|path| socket_beside(&path)) {
        Some(socket) if socket != config.socket => {
            config.socket = socket;
            Known::ByLink
        }
        Some(_) => Known::BySettings,
        None if origin != Origin::Default || is_whole() => Known::BySettings,
        None => Known::Guessed,
    }
}

fn is_whole() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    SIGNS_OF_A_WHOLE_ENVIRONMENT.into_iter().any(is_set)
}

fn socket_beside(link: &Path) -> Option<PathBuf> {
    if !NAMES.iter().any(|name| link.file_name() == Some(OsStr::new(name))) {
        return None;
    }
    fs::read_link(link.parent()?.join(SOCKET)).ok().filter(|socket| socket.is_absolute())
}

/// Makes the links in `dir`, for the daemon of `config`.
pub(super) fn install(dir: &Path, config: &Config) -> Result<(), Failure> {
    let refuse = |path: &Path, why: &str| Failure::Usage(format!("{}: {why}", path.display()));
    let failed = |path: &Path, error: io::Error| refuse(path, &error.to_string());
    fs::create_dir_all(dir).map_err(|e| failed(dir, e))?;
    let ours = machine::started_by().filter(|path| path.is_absolute());
    let program = match ours {
        Some(program) => program,
        None => machine::own_file().map_err(|e| failed(dir, e))?,
    };
    let socket = std::path::absolute(&config.socket).map_err(|e| failed(&config.socket, e))?;
    let shells = NAMES.map(|name| (name, program.as_path()));
    for (name, target) in shells.into_iter().chain([(SOCKET, socket.as_path())]) {
        let path = dir.join(name);
        if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
            return Err(refuse(&path, "this is not a link; choose a directory of its own for the links"));
        }
        replace(&path, target).map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

/// In one step: a shell that is started meanwhile is found.
fn replace(path: &Path, target: &Path) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    symlink(target, &fresh)?;
    fs::rename(&fresh, path).inspect_err(|_| drop(fs::remove_file(&fresh)))
}
