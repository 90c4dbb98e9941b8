//! What a daemon is known by where it makes things, such as containers: a name in its data directory, made once. A daemon
//! that comes after it there finds what it left. It is no secret.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "gateway.id";

/// The name that stands there, or a new one.
pub(super) fn name(data_dir: &Path) -> io::Result<String> {
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().into()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let name = passing();
    // One daemon has the directory, so nobody else writes.
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(name.as_bytes())?;
    Ok(name)
}

/// For an engine that leaves nothing behind.
pub(super) fn passing() -> String {
    let bytes: [u8; 8] = trl_proto::random::bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_has_the_same_name_and_others_have_another() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = name(one.path()).unwrap();
        assert_eq!(first.len(), 16);
        assert_eq!(name(one.path()).unwrap(), first);
        assert_ne!(name(other.path()).unwrap(), first);
    }
}
