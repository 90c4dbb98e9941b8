//! The lines `trl serve` prints when it is ready.
//!
//! 1. `trl VERSION ready on SOCKET`: clients and tests wait for it.
//! 2. `trl VERSION http on ADDRESS`, with an HTTP server: they read the address from it.
//! 3. How to log in to the web UI, with an HTTP server on a TCP port. At a terminal the line is an address with the
//!    operator token in it. Elsewhere the line may end in a log, so it says where the token is, not what it is.
//!
//! Programs read the first two lines. The third is for people, and its wording may change.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use trl_client::{Secret, TOKEN_VARIABLE};

use super::http;
use crate::config::{Config, HttpAddr};

/// Where the operator token of this daemon comes from.
pub(super) enum TokenOrigin {
    /// The environment variable [`TOKEN_VARIABLE`].
    Variable,
    File(PathBuf),
}

impl TokenOrigin {
    /// Must be called before the token is taken out of the settings.
    pub(super) fn of(config: &Config) -> Self {
        match config.operator_token {
            Some(_) => Self::Variable,
            None => Self::File(config.operator_token_file.clone()),
        }
    }
}

impl fmt::Display for TokenOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => write!(f, "the daemon's variable {TOKEN_VARIABLE}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Prints the lines that programs read.
pub(super) fn announce(socket: Option<&Path>, http: Option<&http::Listener>) {
    let socket = socket.map(|path| path.display().to_string()).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let first = format!("trl {version} ready on {socket}");
    print(&match http.map(http::Listener::address) {
        None => first,
        Some(HttpAddr::Tcp(address)) => format!("{first}\ntrl {version} http on http://{address}"),
        Some(address @ HttpAddr::Unix(_)) => format!("{first}\ntrl {version} http on {address}"),
    });
}

/// Prints how to log in. An HTTP server on a Unix socket needs no token: the kernel says who connects.
pub(super) fn announce_login(http: Option<&http::Listener>, operator: &Secret, origin: &TokenOrigin) {
    let Some(HttpAddr::Tcp(address)) = http.map(http::Listener::address) else { return };
    let url = format!("http://{address}");
    // What follows `#` is sent to no server, and a terminal is no log.
    print(&match (http::has_ui(), std::io::stdout().is_terminal()) {
        (true, true) => format!("open {url}/#token={}", operator.expose()),
        (true, false) => format!("log in: open {url} and enter the token in {origin}"),
        (false, _) => {
            format!("log in: this build has no web UI; {url} accepts the token in {origin} as a bearer token")
        }
    });
}

/// Nobody may read stdout any more, which is no reason to end.
fn print(lines: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{lines}").and_then(|()| out.flush());
}
