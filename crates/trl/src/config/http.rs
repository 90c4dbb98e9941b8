//! Settings of the HTTP door, and where it stands.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where HTTP is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HttpAddr {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl HttpAddr {
    /// Whether only this machine can get there.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(addr) => addr.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl FromStr for HttpAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return path
                .is_absolute()
                .then_some(Self::Unix(path))
                .ok_or_else(|| "must have an absolute path after unix:".into());
        }
        // No other name: what it resolves to may change.
        let port = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        if let Some(port) = port {
            return Ok(Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            "must be an IP address and a port, such as 127.0.0.1:7870 or [::1]:7870, or unix:PATH".into()
        })
    }
}

impl fmt::Display for HttpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpSettings {
    /// None: there is no such door.
    pub(crate) addr: Option<HttpAddr>,
    pub(crate) allow_remote: bool,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    /// For the headers, for the body, between two requests, and for a client to take something of its answer.
    pub(crate) request_timeout: Duration,
    /// Between signs of life on a silent stream.
    pub(crate) keep_alive: Duration,
    pub(crate) ticket_ttl: Duration,
    /// Per address and minute.
    pub(crate) auth_failures: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            addr: None,
            allow_remote: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            request_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            ticket_ttl: Duration::from_secs(30),
            auth_failures: 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_alike() {
        for (text, local) in [
            ("127.0.0.1:7870", true),
            ("127.9.9.9:1", true),
            ("[::1]:7870", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:7870", false),
            ("[::]:7870", false),
            ("192.168.0.1:80", false),
            ("unix:/run/x.sock", true),
        ] {
            let addr: HttpAddr = text.parse().unwrap();
            assert_eq!((addr.to_string().as_str(), addr.is_local()), (text, local));
        }
        assert_eq!("localhost:80".parse::<HttpAddr>().unwrap().to_string(), "127.0.0.1:80");
        for bad in ["", "7870", ":7870", "example.com:80", "unix:x", "127.0.0.1", "localhost:x"] {
            assert!(bad.parse::<HttpAddr>().is_err(), "{bad}");
        }
    }
}
