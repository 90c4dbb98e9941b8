//! The operator's token: from the environment, else from its file, else made and written there.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use trl_client::Secret;

use super::super::ServeError;
use super::fresh_secret;
use crate::config::Config;

pub(crate) fn load(config: &mut Config) -> Result<Secret, ServeError> {
    if let Some(token) = config.operator_token.take() {
        return Ok(token);
    }
    let path = &config.operator_token_file;
    match fs::read_to_string(path) {
        Ok(text) => Secret::new(text.trim().to_string())
            .ok_or_else(|| ServeError::SocketDir(format!("{} is empty", path.display()))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            create(path).map_err(ServeError::io(format!("writing {}", path.display())))
        }
        Err(e) => Err(ServeError::io(format!("reading {}", path.display()))(e)),
    }
}

/// For an engine that leaves nothing behind: the one there is, or one that nobody knows.
pub(crate) fn passing(config: &mut Config) -> Option<Secret> {
    let kept = || Secret::new(fs::read_to_string(&config.operator_token_file).ok()?);
    config.operator_token.take().or_else(kept).or_else(|| Secret::new(fresh_secret("")))
}

/// 256 random bits, readable by the owner only.
fn create(path: &Path) -> io::Result<Secret> {
    let token = fresh_secret("");
    if let Some(dir) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(token.as_bytes())?;
    Secret::new(token).ok_or_else(|| io::Error::other("an empty token"))
}
