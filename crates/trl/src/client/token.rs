//! The operator's token as a command finds it: in the environment, else in the daemon's token file.

use std::io::{self, IsTerminal};

use trl_client::{ClientError, Secret};

use crate::config::Config;

/// The token, if there is one that this user can read.
pub(super) fn find(config: &Config) -> Result<Option<Secret>, ClientError> {
    match &config.operator_token {
        Some(token) => Ok(Some(token.clone())),
        None => Secret::in_file(&config.operator_token_file),
    }
}

/// Somebody is at a terminal, so what is asked for is asked by a person.
pub(super) fn person_present() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_environment_wins() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::for_documents();
        config.operator_token_file = dir.path().join("operator.token");
        assert!(find(&config).unwrap().is_none());
        fs::write(&config.operator_token_file, "from file\n").unwrap();
        fs::set_permissions(&config.operator_token_file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(&config).unwrap().unwrap().expose(), "from file");
        config.operator_token = Secret::new("from env".into());
        assert_eq!(find(&config).unwrap().unwrap().expose(), "from env");
    }
}
