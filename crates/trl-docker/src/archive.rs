//! Files and directories as a tar archive, and placing them in a container.
//!
//! The form is that of POSIX (ustar), which every tar reads: a header of 512 bytes, the content, zeros up to the next 512.
//! Numbers that do not fit into their octal digits have GNU's binary form, which Docker reads, too.

use tokio::io::AsyncRead;

use crate::upload::Upload;
use crate::wire::{Ask, escaped};
use crate::{Docker, Error, Result};

const BLOCK: usize = 512;

/// Whose a file is, and who may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// The twelve bits of permissions.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Seconds since 1970.
    pub modified: u64,
}

/// An archive that is sent as it is made. What is in it comes in the order it was added.
#[derive(Debug, Default)]
pub struct Archive {
    upload: Upload,
}

impl Archive {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn dir(mut self, name: &str, meta: Meta) -> Result<Self> {
        // The slash says it once more, to those that do not know the kind.
        let name = format!("{}/", name.trim_end_matches('/'));
        self.upload.push(header(&name, Kind::Dir, meta, 0)?);
        Ok(self)
    }

    pub fn file(mut self, name: &str, meta: Meta, content: Vec<u8>) -> Result<Self> {
        let length = content.len() as u64;
        self.upload.push(header(name, Kind::File, meta, length)?);
        self.upload.push(content);
        Ok(self.padded(length))
    }

    /// A file of exactly `length` bytes, which are read while they are sent. Less than that is an error then, and the
    /// file is not there, or not all of it.
    pub fn file_from(
        mut self,
        name: &str,
        meta: Meta,
        length: u64,
        content: impl AsyncRead + Send + Unpin + 'static,
    ) -> Result<Self> {
        self.upload.push(header(name, Kind::File, meta, length)?);
        self.upload.push_read(content, length);
        Ok(self.padded(length))
    }

    fn padded(mut self, length: u64) -> Self {
        let over = (length % BLOCK as u64) as usize;
        self.upload.push(vec![0; (BLOCK - over) % BLOCK]);
        self
    }

    /// With the two empty blocks that end it.
    fn ended(mut self) -> Upload {
        self.upload.push(vec![0; 2 * BLOCK]);
        self.upload
    }
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Dir,
}

impl Kind {
    fn flag(self) -> u8 {
        match self {
            Self::File => b'0',
            Self::Dir => b'5',
        }
    }
}

fn header(name: &str, kind: Kind, meta: Meta, size: u64) -> Result<Vec<u8>> {
    let mut block = vec![0; BLOCK];
    let (prefix, name) = split(name)?;
    block[..name.len()].copy_from_slice(name.as_bytes());
    number(&mut block[100..108], (meta.mode & 0o7777).into());
    number(&mut block[108..116], meta.uid.into());
    number(&mut block[116..124], meta.gid.into());
    number(&mut block[124..136], size);
    number(&mut block[136..148], meta.modified);
    block[156] = kind.flag();
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
    // The sum is taken with blanks in its own place.
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    number(&mut block[148..155], sum);
    Ok(block)
}

/// A name as what comes before one of its slashes, and what comes after.
fn split(name: &str) -> Result<(&str, &str)> {
    const MOST_NAME: usize = 100;
    const MOST_PREFIX: usize = 155;
    if name.trim_matches('/').is_empty() || name.contains('\0') {
        return Err(Error::Invalid(format!("{name:?} is not the name of a file")));
    }
    if name.len() <= MOST_NAME {
        return Ok(("", name));
    }
    let slashes = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let mut fitting = slashes.filter(|(prefix, rest)| prefix.len() <= MOST_PREFIX && rest.len() <= MOST_NAME);
    let too_long = || Error::Invalid(format!("{name:?} is too long a name for an archive"));
    fitting.find(|(prefix, rest)| !prefix.is_empty() && !rest.is_empty()).ok_or_else(too_long)
}

/// Octal digits and a zero, or, where they do not suffice, the number itself with its first bit set.
fn number(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    let octal = format!("{value:0digits$o}");
    if octal.len() == digits {
        field[..digits].copy_from_slice(octal.as_bytes());
        field[digits] = 0;
        return;
    }
    // A field is as wide as the number, or wider; its first byte is free, for no number here has 64 bits.
    let at = field.len() - size_of::<u64>();
    field[at..].copy_from_slice(&value.to_be_bytes());
    field[0] |= 0x80;
}

impl Docker {
    /// Unpacks an archive below a directory of a container, which must be there. Files that are there are replaced.
    pub async fn put_archive(&self, container: &str, dir: &str, archive: Archive) -> Result<()> {
        let ask = Ask::put(format!("/containers/{}/archive", escaped(container))).query("path", dir);
        self.ask(ask.tar(archive.ended())).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};
    use std::process::{Command, Stdio};

    use http_body_util::BodyExt;

    use super::*;

    const META: Meta = Meta { mode: 0o755, uid: 1000, gid: 100, modified: 1_000_000_000 };

    async fn bytes(archive: Archive) -> Vec<u8> {
        archive.ended().collect().await.unwrap().to_bytes().to_vec()
    }

    /// What the system's tar says of it.
    fn tar(arguments: &[&str], archive: &[u8]) -> String {
        let mut tar = Command::new("tar")
            .args(arguments)
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = tar.stdin.take().unwrap();
        stdin.write_all(archive).unwrap();
        drop(stdin);
        let output = tar.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.is_empty(), "{told}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[tokio::test]
    async fn tar_reads_names_modes_owners_and_sizes() {
        let long = format!("{}/{}", "d".repeat(120), "f".repeat(100));
        let huge = Meta { mode: 0o4600, uid: u32::MAX - 1, gid: 2_097_152, modified: 0 };
        let archive = Archive::new()
            .dir("opt/trl", META)
            .and_then(|archive| archive.file("opt/trl/trl", META, b"#!/bin/sh\n".to_vec()))
            .and_then(|archive| archive.file("empty", META, Vec::new()))
            .and_then(|archive| archive.file("block", META, vec![b'x'; BLOCK]))
            .and_then(|archive| archive.file_from(&long, huge, 5, Cursor::new(b"hello".to_vec())))
            .unwrap();
        let listed = tar(&["-tv", "--numeric-owner"], &bytes(archive).await);
        let lines: Vec<String> =
            listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "drwxr-xr-x 1000/100 0 2001-09-09 01:46 opt/trl/".to_string(),
                "-rwxr-xr-x 1000/100 10 2001-09-09 01:46 opt/trl/trl".to_string(),
                "-rwxr-xr-x 1000/100 0 2001-09-09 01:46 empty".to_string(),
                "-rwxr-xr-x 1000/100 512 2001-09-09 01:46 block".to_string(),
                format!("-rwS------ 4294967294/2097152 5 1970-01-01 00:00 {long}"),
            ]
        );
    }

    #[tokio::test]
    async fn tar_gives_the_content_back() {
        let content = "all of it\n".repeat(1000);
        let archive = Archive::new().file("a/b", META, content.clone().into_bytes()).unwrap();
        assert_eq!(tar(&["-x", "--to-stdout", "a/b"], &bytes(archive).await), content);
    }

    #[test]
    fn a_size_beyond_the_digits_is_told_in_binary() {
        let block = header("big", Kind::File, META, 1 << 33).unwrap();
        assert_eq!(block[124..136], [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn names_that_no_archive_can_hold_are_refused() {
        for name in ["", "/", "//", "a\0b", &"x".repeat(101), &format!("{}/x", "d".repeat(156))] {
            assert!(matches!(header(name, Kind::File, META, 0), Err(Error::Invalid(_))), "{name:?}");
        }
        for name in ["x".repeat(100), format!("{}/{}", "d".repeat(155), "f".repeat(100))] {
            assert!(header(&name, Kind::File, META, 0).is_ok(), "{name:?}");
        }
    }
}
