//! Our own program, to be taken elsewhere: the very one that runs, or its sibling for another architecture.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trl_proto::Error;
use trl_sys::machine;

use crate::runtime::arrival::digest_of;
use crate::runtime::far::unavailable;

/// A program for some architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binary {
    path: PathBuf,
    /// Its SHA-256 in hexadecimal: what it is known by.
    pub(super) digest: String,
}

impl Binary {
    /// The one for machines that call themselves so (`uname -m`).
    pub(super) async fn of(arch: &str) -> Result<Self, Error> {
        static OURS: OnceLock<Binary> = OnceLock::new();
        // Wherever we are, sessions elsewhere live on Linux.
        let is_ours = arch == std::env::consts::ARCH && std::env::consts::OS == "linux";
        if let Some(ours) = OURS.get().filter(|_| is_ours) {
            return Ok(ours.clone());
        }
        let path = if is_ours { own_program()? } else { sibling(arch)? };
        let found = tokio::task::spawn_blocking(move || Self::at(path)).await;
        let found = found.unwrap_or_else(|e| Err(Error::internal(e.to_string())))?;
        Ok(if is_ours { OURS.get_or_init(|| found).clone() } else { found })
    }

    fn at(path: PathBuf) -> Result<Self, Error> {
        let failed = |e: io::Error| unavailable("copy", &format!("{}: {e}", path.display()));
        let digest = digest_of(File::open(&path).map_err(failed)?).map_err(failed)?;
        Ok(Self { path, digest })
    }

    pub(super) fn open(&self) -> Result<(File, u64), Error> {
        let opened = File::open(&self.path).and_then(|file| {
            let length = file.metadata()?.len();
            Ok((file, length))
        });
        opened.map_err(|e| unavailable("copy", &format!("{}: {e}", self.path.display())))
    }

    /// All of it.
    pub(super) async fn bytes(&self) -> Result<Vec<u8>, Error> {
        let (mut file, length) = self.open()?;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
            file.read_to_end(&mut bytes).map(|_| bytes)
        });
        let read = read.await.unwrap_or_else(|e| Err(io::Error::other(e)));
        read.map_err(|e| unavailable("copy", &format!("{}: {e}", self.path.display())))
    }
}

fn own_program() -> Result<PathBuf, Error> {
    machine::own_program().map_err(|e| unavailable("copy", &e.to_string()))
}

/// Where `cargo xtask dist` puts that of another architecture: beside ours.
fn sibling(arch: &str) -> Result<PathBuf, Error> {
    let own = machine::own_file().unwrap_or_default();
    let path = own.parent().unwrap_or(Path::new("/")).join(format!("trl-{arch}-linux"));
    if path.is_file() {
        return Ok(path);
    }
    let (ours, missing) = (std::env::consts::ARCH, path.display());
    let why = format!("it is an {arch} machine, this program is for {ours}, and {missing} is not there");
    Err(unavailable("copy", &why)
        .hint("`cargo xtask dist` makes it; or install trl there, and say binary = \"installed\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_file_that_is_missing_is_named() {
        let error = Binary::of("riscv64").await.unwrap_err();
        assert!(error.message.contains("/trl-riscv64-linux is not there"), "{error}");
        let ours = Binary::of(std::env::consts::ARCH).await.unwrap();
        assert_eq!(digest_of(ours.bytes().await.unwrap().as_slice()).unwrap(), ours.digest);
    }
}
