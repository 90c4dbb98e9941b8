//! What a daemon is known by where it makes things, such as containers: a name in its data directory, made once. A daemon
//! that comes after it there finds what it left. It is no secret.

use std::io;
use std::path::Path;

use trl_core::private_file::{self, Durable};

const FILE: &str = "gateway.id";

/// The name that stands there, or a new one. One daemon has the directory, so nobody else writes.
pub(super) fn name(data_dir: &Path) -> io::Result<String> {
    let path = data_dir.join(FILE);
    let found = private_file::read(&path)?.and_then(|(bytes, _)| String::from_utf8(bytes).ok());
    if let Some(name) = found.filter(|name| !name.is_empty()) {
        return Ok(name);
    }
    let name = passing();
    private_file::replace(&path, name.as_bytes(), Durable::Yes)?;
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
