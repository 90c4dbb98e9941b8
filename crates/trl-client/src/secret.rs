//! A string that is wiped when dropped and never shown, and where tokens are found.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fmt, fs, io};

use zeroize::Zeroizing;

use crate::error::ClientError;

/// Holds a token.
pub const TOKEN_VARIABLE: &str = "TRL_AUTH_TOKEN";

/// A token or password. It has no `Display`, and its `Debug` shows nothing of it.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Without surrounding white space, which files and shells add; None when nothing is left.
    pub fn new(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        let trimmed = text.trim();
        (!trimmed.is_empty()).then(|| Self(Zeroizing::new(trimmed.to_string())))
    }

    /// From an environment variable; a value that is not text is no token.
    pub fn from_os(value: OsString) -> Option<Self> {
        value.into_string().ok().and_then(Self::new)
    }

    /// From a token file; None when there is no such file. One that others can read is refused.
    pub fn in_file(path: &Path) -> Result<Option<Self>, ClientError> {
        let fault = |what: String| ClientError::Token(format!("{}: {what}", path.display()));
        let mode = match fs::metadata(path) {
            Ok(meta) => meta.mode() & 0o777,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(fault(e.to_string())),
        };
        if mode & 0o077 != 0 {
            return Err(fault(format!("its mode is {mode:04o}, not 0600: others could have read it")));
        }
        let text = fs::read_to_string(path).map_err(|e| fault(e.to_string()))?;
        Ok(Self::new(text))
    }

    /// The secret itself, for the one place that compares or sends it.
    pub fn expose(&self) -> &str {
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_trimmed_and_not_shown() {
        let secret = Secret::new("hunter2\n".into()).unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(Secret::new(" \n".into()).is_none());
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("operator.token");
        assert!(Secret::in_file(&file).unwrap().is_none());
        fs::write(&file, "from file\n").unwrap();
        let set_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o644);
        assert!(matches!(Secret::in_file(&file), Err(ClientError::Token(_))));
        set_mode(0o600);
        assert_eq!(Secret::in_file(&file).unwrap().unwrap().expose(), "from file");
    }
}
