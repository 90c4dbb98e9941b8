//! What our program does with itself when it has been copied to another machine: the other side of that copying.
//!
//! It was written beside its place, under a name nobody uses. It looks whether it is whole, takes its place, and makes
//! room. So a shell there has to know how to write a file and nothing else, and what lies in a place is always whole.
//!
//! ```text
//!  ~/.cache/trl/bin/new.4711 ── whole? ─▶ ~/.cache/trl/bin/<sha256>/trl        of the others, the newest stay
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use trl_sys::machine;

/// What it is called in its place.
pub const NAME: &str = "trl";
/// So many stay: this one, and those of daemons that are updated later.
const KEPT: usize = 3;
/// SHA-256 in hexadecimal.
const DIGEST_LENGTH: usize = 64;

/// SHA-256 in hexadecimal.
pub fn digest_of(mut from: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            bytes => hasher.update(&piece[..bytes]),
        }
    }
}

/// Of the program that runs.
pub fn own_digest() -> io::Result<String> {
    digest_of(File::open(machine::own_program()?)?)
}

/// Takes the place that belongs to this digest, if it is ours.
pub fn settle(digest: &str) -> io::Result<PathBuf> {
    settle_file(&machine::own_file()?, digest)
}

fn settle_file(file: &Path, digest: &str) -> io::Result<PathBuf> {
    let own = File::open(file)?;
    let found = digest_of(&own)?;
    if found != digest {
        return Err(io::Error::other(format!("it arrived as {found}, and was {digest}")));
    }
    // The name is to stand for the whole of it after a power cut, too.
    own.sync_all()?;
    let shelf = file.parent().ok_or(io::ErrorKind::NotFound)?;
    let dir = shelf.join(digest);
    match DirBuilder::new().mode(0o700).create(&dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let place = dir.join(NAME);
    fs::rename(file, &place)?;
    make_room(shelf, digest);
    Ok(place)
}

/// Removes all but the newest. One that runs goes on: it only loses its name.
fn make_room(shelf: &Path, newest: &str) {
    let entries = fs::read_dir(shelf).into_iter().flatten().flatten();
    let is_place = |name: &str| {
        name.len() == DIGEST_LENGTH && name != newest && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut others: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_place))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    others.sort();
    let surplus = (others.len() + 1).saturating_sub(KEPT);
    for (_, place) in others.into_iter().take(surplus) {
        // Somebody else may be at it as well.
        let _ = fs::remove_dir_all(place);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn digest(text: &str) -> String {
        digest_of(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_digest_is_what_everybody_says() {
        assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn what_is_cut_off_takes_no_place() {
        let shelf = tempfile::tempdir().unwrap();
        let new = shelf.path().join("new.1");
        fs::write(&new, "hal").unwrap();
        let told = settle_file(&new, &digest("half")).unwrap_err();
        assert!(told.to_string().contains(&digest("half")), "{told}");
        assert!(!shelf.path().join(digest("half")).exists());
    }

    #[test]
    fn the_newest_stay_and_nothing_else_is_touched() {
        let shelf = tempfile::tempdir().unwrap();
        let bystander = shelf.path().join("new.2");
        fs::write(&bystander, "on its way").unwrap();
        for (age, text) in ["a", "b", "c", "d", "e"].iter().enumerate() {
            let new = shelf.path().join("new.1");
            fs::write(&new, text).unwrap();
            let place = settle_file(&new, &digest(text)).unwrap();
            assert_eq!(fs::read_to_string(&place).unwrap(), *text);
            let at = SystemTime::now() - Duration::from_secs(1000 - age as u64);
            File::open(place.parent().unwrap()).unwrap().set_modified(at).unwrap();
        }
        let there: Vec<&str> = ["a", "b", "c", "d", "e"]
            .into_iter()
            .filter(|text| shelf.path().join(digest(text)).exists())
            .collect();
        assert_eq!(there, ["c", "d", "e"]);
        assert!(bystander.exists());
    }
}
