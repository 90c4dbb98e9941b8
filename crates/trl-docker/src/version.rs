//! Which version of the API is spoken, and what a daemon says of itself.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::wire::Ask;
use crate::{Docker, Result};

/// Docker 20.10, of 2020, and Podman's imitation of it. Nothing here needs more.
pub(crate) const OLDEST: Api = Api(1, 41);
/// Docker 28, of 2025. A later daemon is asked to speak this one: what it changes after it is not known here.
pub(crate) const NEWEST: Api = Api(1, 51);

/// A version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Api(u16, u16);

impl Api {
    /// What to speak with a daemon whose newest version this is; None when that is too old.
    pub(crate) fn spoken(self) -> Option<Self> {
        (self >= OLDEST).then(|| self.min(NEWEST))
    }
}

impl FromStr for Api {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        let number = |digits: &str| digits.parse().map_err(|_| ());
        Ok(Self(number(major)?, number(minor)?))
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// What a daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all(deserialize = "PascalCase"))]
pub struct Version {
    /// Of the engine, such as `28.2.2`.
    #[serde(rename = "Version")]
    pub engine: String,
    /// The newest version of the API it speaks.
    #[serde(rename = "ApiVersion")]
    pub api: String,
    pub os: String,
    /// In Go's words, such as `amd64`.
    #[serde(rename = "Arch")]
    pub architecture: String,
}

impl Docker {
    /// Is Docker there, and does it answer?
    pub async fn ping(&self) -> Result<()> {
        self.timed("a ping", async { self.connect().await.map(drop) }).await
    }

    pub async fn version(&self) -> Result<Version> {
        self.ask(Ask::get("/version")).await?.json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_spoken_to_in_the_newest_version_that_both_know() {
        let spoken = |theirs: &str| theirs.parse::<Api>().unwrap().spoken().map(|api| api.to_string());
        assert_eq!(spoken("1.41").as_deref(), Some("1.41"));
        assert_eq!(spoken("1.9"), None);
        assert_eq!(spoken("1.44").as_deref(), Some("1.44"));
        assert_eq!(spoken("1.99").as_deref(), Some("1.51"));
        assert_eq!(spoken("2.0").as_deref(), Some("1.51"));
        for nonsense in ["", "1", "1.", ".1", "1.x", "1.2.3", "99999.1"] {
            assert_eq!(nonsense.parse::<Api>(), Err(()), "{nonsense:?}");
        }
    }
}
