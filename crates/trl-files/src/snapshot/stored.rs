//! A snapshot as git has it, read through one `git cat-file --batch`.
//!
//! Every answer says how long it is, so half of one is noticed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Fault;
use super::about::About;
use super::capture::{ABOUT, FILES};
use super::git::{self, Git, Running};
use crate::error::Result;

const BUFFER: usize = 64 << 10;
/// Trees and the text beside them are read as a whole, and are never larger.
const LARGEST: u64 = 256 << 20;

/// The name git has for some bytes.
pub(super) type Oid = [u8; 20];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    File,
    Executable,
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) form: Form,
    pub(super) oid: Oid,
}

/// All that a snapshot says, but for the bytes of files.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) files: BTreeMap<PathBuf, Kept>,
    pub(super) about: About,
}

pub(super) struct Stored {
    name: String,
    /// Git's output, read line by line and in lengths. Dropped before git is waited for.
    reply: BufReader<std::process::ChildStdout>,
    git: Running,
}

impl Stored {
    pub(super) fn open(git: &Git, id: &str) -> Result<Self> {
        let name = git::reference(id)?;
        let unknown = || Fault::Unknown { id: id.into() }.into();
        if !git.is_prepared() {
            return Err(unknown());
        }
        let mut git = git.start(&["cat-file", "--batch"])?;
        let reply = BufReader::with_capacity(BUFFER, git.take_stdout()?);
        let mut stored = Self { name, reply, git };
        match stored.ask(&stored.name.clone())? {
            None => Err(unknown()),
            Some(size) => {
                stored.whole(size)?;
                Ok(stored)
            }
        }
    }

    pub(super) fn load(&mut self) -> Result<Contents> {
        let size =
            self.ask(&format!("{}:{ABOUT}", self.name))?.ok_or_else(|| damaged("its list is missing"))?;
        let text = String::from_utf8(self.whole(size)?).ok();
        let about = text.and_then(|text| About::parse(&text)).ok_or_else(|| damaged("its list is none"))?;
        let mut files = BTreeMap::new();
        // Directories still to be read, each by its name for git.
        let mut left = vec![(PathBuf::new(), format!("{}:{FILES}", self.name))];
        while let Some((place, name)) = left.pop() {
            let Some(size) = self.ask(&name)? else {
                // Without files there is no directory of them.
                if place.as_os_str().is_empty() {
                    continue;
                } else {
                    return Err(damaged("a directory is missing"));
                }
            };
            for (mode, entry, oid) in
                entries(&self.whole(size)?).ok_or_else(|| damaged("a directory is none"))?
            {
                let place = place.join(OsStr::from_bytes(&entry));
                let form = match &mode[..] {
                    b"40000" => {
                        left.push((place, hex(&oid)));
                        continue;
                    }
                    b"100644" => Form::File,
                    b"100755" => Form::Executable,
                    b"120000" => Form::Link,
                    _ => return Err(damaged("it has something that is no file")),
                };
                files.insert(place, Kept { form, oid });
            }
        }
        Ok(Contents { files, about })
    }

    /// The bytes of one file, piece by piece, each with the size of the whole. A piece that cannot be taken does not
    /// keep the others from being read: the next answer is the next one asked for.
    pub(super) fn copy(&mut self, oid: &Oid, mut to: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let size = self.ask(&hex(oid))?.ok_or_else(|| damaged("the bytes of a file are missing"))?;
        let (mut left, mut taken) = (size, Ok(()));
        while left > 0 {
            let piece = self.reply.fill_buf().map_err(|e| damaged(&e.to_string()))?;
            if piece.is_empty() {
                return Err(self.git.complaint("it ended too early"));
            }
            let n = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if taken.is_ok() {
                taken = to(size, &piece[..n]);
            }
            self.reply.consume(n);
            left -= n as u64;
        }
        self.end_of_answer()?;
        taken
    }

    /// How long the answer is that comes now; None when git has nothing of that name.
    fn ask(&mut self, name: &str) -> Result<Option<u64>> {
        self.git.say(format!("{name}\n").as_bytes())?;
        let mut line = String::new();
        let read = self.reply.by_ref().take(4096).read_line(&mut line);
        if read.is_err() || !line.ends_with('\n') {
            return Err(self.git.complaint("it ended too early"));
        }
        let line = line.trim_end();
        if line.ends_with(" missing") {
            return Ok(None);
        }
        let size = line.rsplit(' ').next().and_then(|size| size.parse().ok());
        size.map(Some).ok_or_else(|| damaged(line))
    }

    fn whole(&mut self, size: u64) -> Result<Vec<u8>> {
        if size > LARGEST {
            return Err(damaged("a part of it is too large"));
        }
        let mut bytes = Vec::new();
        let read = self.reply.by_ref().take(size).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 != size {
            return Err(self.git.complaint("it ended too early"));
        }
        self.end_of_answer()?;
        Ok(bytes)
    }

    fn end_of_answer(&mut self) -> Result<()> {
        let mut end = [0];
        match self.reply.read_exact(&mut end) {
            Ok(()) if end == *b"\n" => Ok(()),
            _ => Err(self.git.complaint("it ended too early")),
        }
    }
}

pub(super) fn damaged(why: &str) -> crate::Error {
    Fault::Damaged { why: why.into() }.into()
}

fn hex(oid: &Oid) -> String {
    oid.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Mode, name and object of each entry of a tree.
type Entries = Vec<(Vec<u8>, Vec<u8>, Oid)>;

/// `mode SP name NUL object`, one after the other.
fn entries(mut tree: &[u8]) -> Option<Entries> {
    let mut found = Vec::new();
    while !tree.is_empty() {
        let blank = tree.iter().position(|b| *b == b' ')?;
        let end = tree.iter().position(|b| *b == 0)?;
        let name = tree.get(blank + 1..end)?;
        // Ours are none of these; what is joined to a path must be a name.
        let is_name = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
        let oid = tree.get(end + 1..end + 21)?;
        is_name.then_some(())?;
        found.push((tree[..blank].to_vec(), name.to_vec(), oid.try_into().ok()?));
        tree = &tree[end + 21..];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tree_is_read_and_a_name_that_is_none_refused() {
        let tree = |name: &[u8]| [b"100644 ", name, b"\0", &[7; 20]].concat();
        let two = [tree(b"a b"), tree(b"\xff")].concat();
        let found = entries(&two).unwrap();
        assert_eq!(found[0], (b"100644".to_vec(), b"a b".to_vec(), [7; 20]));
        assert_eq!(found[1].1, b"\xff");
        for bad in [&b""[..], b".", b"..", b"a/b", b"/"] {
            assert_eq!(entries(&tree(bad)), None, "{bad:?}");
        }
        assert_eq!(entries(&two[..two.len() - 1]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            entries(&bytes);
        }
    }
}
