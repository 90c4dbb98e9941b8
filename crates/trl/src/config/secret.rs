//! A string that is wiped when dropped and never shown.

use std::ffi::OsString;
use std::fmt;

use zeroize::Zeroizing;

/// A token or password. It has no `Display`, and its `Debug` shows nothing of it.
#[derive(Clone)]
pub(crate) struct Secret(Zeroizing<String>);

impl Secret {
    /// Without surrounding white space, which files and shells add; None when nothing is left.
    pub(crate) fn new(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        let trimmed = text.trim();
        (!trimmed.is_empty()).then(|| Self(Zeroizing::new(trimmed.to_string())))
    }

    /// From an environment variable; a value that is not text is no token.
    pub(crate) fn from_os(value: OsString) -> Option<Self> {
        value.into_string().ok().and_then(Self::new)
    }

    /// The secret itself, for the one place that compares or sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_trimmed_and_not_shown() {
        let secret = Secret::new("hunter2\n".into()).unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(Secret::new(" \n".into()).is_none());
    }
}
