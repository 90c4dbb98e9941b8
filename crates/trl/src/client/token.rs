//! The operator's token as a command finds it: in the environment, else in the daemon's token file.

use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;

use super::error::ClientError;
use crate::config::{Config, Secret};

/// The token, if there is one that this user can read.
pub(super) fn find(config: &Config) -> Result<Option<Secret>, ClientError> {
    if let Some(token) = &config.operator_token {
        return Ok(Some(token.clone()));
    }
    let path = &config.operator_token_file;
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
    Ok(Secret::new(text))
}

/// Somebody is at a terminal, so what is asked for is asked by a person.
pub(super) fn person_present() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_environment_wins_and_an_open_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::for_documents();
        config.operator_token_file = dir.path().join("operator.token");
        assert!(find(&config).unwrap().is_none());
        fs::write(&config.operator_token_file, "from file\n").unwrap();
        let set_mode = |mode| {
            fs::set_permissions(&config.operator_token_file, fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o644);
        assert!(matches!(find(&config), Err(ClientError::Token(_))));
        set_mode(0o600);
        assert_eq!(find(&config).unwrap().unwrap().expose(), "from file");
        config.operator_token = Secret::new("from env".into());
        assert_eq!(find(&config).unwrap().unwrap().expose(), "from env");
    }
}
