//! The files and the directory that an approval is about: noted when an approver is asked, compared before the start.
//!
//! 1. [`Pinned::take`] finds the program and the names of a command by the PATH it is to have, and the interpreters of
//!    scripts. What it finds is shown with the request, and stored with it.
//! 2. [`check`] does the same again after the approval, also in a later daemon, and refuses if anything differs.
//! 3. The keeper compares once more, in the moment of the start ([`trl_sys::pinned`]).
//!
//! Contents decide, by their SHA-256: on overlayfs and on network file systems a file can get another inode and be the same.
//! A file above [`MOST_HASHED`] is compared by device, inode, size and time of change.
//!
//! Only for processes of this machine: what a path leads to in another runtime is not known here.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use trl_proto::hitl::Executable;
use trl_proto::{Error, ErrorCode};
use trl_sys::link::{Pin, PinnedFile, Stamp};
use trl_sys::pinned::stamp;

use crate::shell::kind::find_program;

/// The largest file whose contents are read.
const MOST_HASHED: u64 = 128 << 20;
/// More names of one command are not looked at.
const MOST_NAMES: usize = 32;
/// As many interpreters may stand behind one another, as in Linux.
const MOST_INTERPRETERS: usize = 5;
/// Files are read by as many threads at once: an agent that asks a lot must not keep the disk from others.
static READERS: Semaphore = Semaphore::const_new(2);

/// The hint of the error for a program or directory that has changed.
const LOOK_AGAIN: &str = "nothing was run; look at what it is now, and ask for the command again";
/// The [`Executable::what`] of the working directory.
const DIRECTORY: &str = "directory";
const FILE: &str = "file";
const MISSING: &str = "missing";

/// The names to resolve, and the environment to resolve them in.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The path of the program, then names in the text that it is to read.
    pub names: Vec<String>,
    pub working_dir: String,
    /// The PATH of the program.
    pub path: String,
}

/// The files and the directory that an approval is for.
#[derive(Debug, Clone, Default)]
pub struct Pinned {
    pub executables: Vec<Executable>,
    /// The same for the keeper.
    pub pin: Pin,
}

impl Pinned {
    /// Looks at the files, on a thread of its own.
    pub async fn take(wanted: Wanted) -> Self {
        let _turn = READERS.acquire().await;
        tokio::task::spawn_blocking(move || Self::now(&wanted)).await.unwrap_or_default()
    }

    fn now(wanted: &Wanted) -> Self {
        let mut pinned = Self::default();
        let mut names: Vec<(String, usize)> =
            wanted.names.iter().take(MOST_NAMES).rev().map(|name| (name.clone(), 0)).collect();
        while let Some((name, depth)) = names.pop() {
            if pinned.executables.iter().any(|known| known.name == name) {
                continue;
            }
            let first = pinned.executables.is_empty();
            let interpreters = pinned.add(&name, wanted);
            if first {
                pinned.pin.is_script = !interpreters.is_empty();
            }
            if depth < MOST_INTERPRETERS {
                names.extend(interpreters.into_iter().rev().map(|name| (name, depth + 1)));
            }
        }
        pinned.add_dir(&wanted.working_dir);
        pinned
    }

    /// Records the file that `name` resolves to in `wanted`, or that it is missing. Returns the interpreters in the `#!` line of
    /// that file; none if it is no script.
    fn add(&mut self, name: &str, wanted: &Wanted) -> Vec<String> {
        let path = match name.contains('/') {
            true => Some(Path::new(&wanted.working_dir).join(name)).filter(|path| path.exists()),
            false => find_program(name, &wanted.path),
        };
        let found = path.and_then(|path| Some((Identity::of(&path).ok()?, path)));
        let Some((Identity { text, stamp, head }, path)) = found else {
            self.executables.push(executable(name, MISSING, None, None));
            return Vec::new();
        };
        self.pin.files.push(PinnedFile { path: path.as_os_str().as_bytes().to_vec(), stamp });
        self.executables.push(executable(name, FILE, Some(&path), Some(text)));
        interpreters(&head)
    }

    fn add_dir(&mut self, dir: &str) {
        let (executable, inode) = directory(dir);
        self.pin.dir = inode;
        self.executables.push(executable);
    }
}

/// The pin of a program's first start. What is started later in its place was not what was asked about.
#[derive(Debug, Default)]
pub struct FirstStart(Mutex<Option<Box<Pin>>>);

impl FirstStart {
    pub fn set(&self, pin: Pin) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(pin));
    }

    pub fn get(&self) -> Option<Box<Pin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The program has started.
    pub fn over(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Looks again at what was shown to an approver. With `edited`, only at the program and the directory: the approver wrote
/// the text.
///
/// # Errors
/// Something differs.
pub async fn check(shown: &[Executable], mut wanted: Wanted, edited: bool) -> Result<Pin, Error> {
    let names = shown.iter().filter(|known| known.what != DIRECTORY).map(|known| known.name.clone());
    let program = wanted.names.first().cloned();
    wanted.names = match edited {
        true => program.iter().cloned().collect(),
        false => names.collect(),
    };
    let known =
        |name: &Option<String>| name.as_ref().is_some_and(|n| shown.first().is_some_and(|s| s.name == *n));
    if !known(&program) {
        return Err(changed(program.as_deref().unwrap_or_default(), "the program"));
    }
    let now = Pinned::take(wanted).await;
    for found in &now.executables {
        if !shown.iter().any(|shown| is_same(shown, found)) {
            let kind = if found.what == DIRECTORY { "the working directory" } else { "the program" };
            return Err(changed(found.path.as_deref().unwrap_or(&found.name), kind));
        }
    }
    Ok(now.pin)
}

/// The working directory of a request.
pub fn directory(dir: &str) -> (Executable, Option<trl_sys::link::Inode>) {
    let flags = libc_flags();
    let inode = OpenOptions::new().read(true).custom_flags(flags).open(dir).and_then(|dir| stamp(&dir));
    let inode = inode.map(|stamp| stamp.inode).ok();
    let identity = inode.map(|inode| format!("{:x}:{:x}", inode.dev, inode.ino));
    (executable(".", DIRECTORY, Some(Path::new(dir)), identity), inode)
}

/// Returns whether everything that an approver was shown about a session's command (programs, traps, variables) is unchanged.
/// The working directory is compared only if it was shown.
pub fn are_still(shown: &[Executable], now: &[Executable]) -> bool {
    let had_directory = shown.iter().any(|e| e.what == DIRECTORY);
    shown.iter().eq(now.iter().filter(|e| had_directory || e.what != DIRECTORY))
}

/// The same for what the keeper found in the moment of the start.
pub fn changed_at_start() -> Error {
    Error::new(
        ErrorCode::ApprovalDenied,
        "the program or the working directory changed since it was approved",
    )
    .hint(LOOK_AGAIN)
}

/// The refusal of a command whose program, or whose directory, is not what was approved.
fn changed(path: &str, kind: &str) -> Error {
    Error::new(ErrorCode::ApprovalDenied, format!("{kind} {path:?} changed since it was approved"))
        .hint(LOOK_AGAIN)
        .detail("changed", path)
}

fn executable(name: &str, what: &str, path: Option<&Path>, identity: Option<String>) -> Executable {
    let path = path.map(|path| path.to_string_lossy().into_owned());
    Executable { name: name.into(), what: what.into(), path, identity }
}

/// The same name for the same path, with the same contents where those are known.
fn is_same(shown: &Executable, now: &Executable) -> bool {
    let place = |e: &Executable| (e.name.clone(), e.what.clone(), e.path.clone());
    let contents = |e: &Executable| {
        let identity = e.identity.as_deref()?;
        Some(identity.split_once(' ').map_or(identity, |(_, contents)| contents).to_string())
    };
    place(shown) == place(now) && contents(shown) == contents(now)
}

/// A file as it is now.
struct Identity {
    /// For the request: the inode and its time of change, then, after a space, what decides.
    text: String,
    stamp: Stamp,
    head: Vec<u8>,
}

impl Identity {
    fn of(path: &Path) -> io::Result<Self> {
        let open = OpenOptions::new().read(true).custom_flags(libc_flags()).open(path);
        let mut file = match open {
            // A program that may be run and not read.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Self::unread(path),
            open => open?,
        };
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let before = stamp(&file)?;
        let (hash, head) =
            if meta.len() <= MOST_HASHED { hashed(&mut file)? } else { (None, start(&mut file)?) };
        // Whoever writes meanwhile makes a file that nobody was shown.
        if stamp(&file)? != before {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(Self { text: text(before, &meta, hash.as_deref()), stamp: before, head })
    }

    fn unread(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        let inode = trl_sys::link::Inode { dev: meta.dev(), ino: meta.ino() };
        let stamp = Stamp { inode, size: meta.size(), changed: (meta.ctime(), meta.ctime_nsec()) };
        Ok(Self { text: text(stamp, &meta, None), stamp, head: Vec::new() })
    }
}

/// Rights and contents; all of the inode where the contents are not known.
fn text(stamp: Stamp, meta: &fs::Metadata, hash: Option<&str>) -> String {
    let Stamp { inode, size, changed } = stamp;
    let file = format!("{:x}:{:x}:{size:x}:{:x}.{:x}", inode.dev, inode.ino, changed.0, changed.1);
    let rights = format!("{:o}:{}:{}", meta.mode(), meta.uid(), meta.gid());
    match hash {
        Some(hash) => format!("{file} {rights}:sha256:{hash}"),
        None => format!("{file}:{rights}"),
    }
}

/// A FIFO or a device would be waited for.
fn libc_flags() -> i32 {
    (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NOCTTY)
        .bits()
        .cast_signed()
}

/// Bytes that the kernel looks at for an interpreter.
const HEAD: usize = 256;

fn start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// SHA-256 of the contents, unless there is more than may be read, and how they begin.
fn hashed(file: &mut File) -> io::Result<(Option<String>, Vec<u8>)> {
    let head = start(file)?;
    let mut hash = Sha256::new();
    hash.update(&head);
    let mut chunk = vec![0; 64 * 1024];
    let mut total = head.len() as u64;
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            n => {
                hash.update(&chunk[..n]);
                total += n as u64;
            }
        }
        if total > MOST_HASHED {
            return Ok((None, head));
        }
    }
    let hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((Some(hash), head))
}

/// The interpreter in the first line of a script, and the one that `env` is to find.
fn interpreters(head: &[u8]) -> Vec<String> {
    let Some(line) = head.strip_prefix(b"#!") else { return Vec::new() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return Vec::new() };
    let is_env = Path::new(first).file_name().is_some_and(|name| name == "env");
    let second = words.find(|word| !word.starts_with('-') && !word.contains('=')).filter(|_| is_env);
    [first].into_iter().chain(second).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    struct World(tempfile::TempDir);

    impl World {
        fn new() -> Self {
            let world = Self(tempfile::tempdir().unwrap());
            world.program("run.sh", "#!/bin/sh\necho one\n");
            world
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn program(&self, name: &str, text: &str) {
            fs::write(self.at(name), text).unwrap();
            fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn wanted(&self, names: &[&str]) -> Wanted {
            Wanted {
                names: names.iter().map(ToString::to_string).collect(),
                working_dir: self.0.path().display().to_string(),
                path: format!("{}:/usr/bin:/bin", self.at("bin").display()),
            }
        }

        async fn fault(&self, shown: &[Executable], names: &[&str]) -> Option<String> {
            check(shown, self.wanted(names), false).await.err().map(|error| error.message)
        }
    }

    #[tokio::test]
    async fn same_contents_are_the_same_program() {
        let world = World::new();
        let names = ["/bin/sh", "./run.sh", "nosuch"];
        let shown = Pinned::take(world.wanted(&names)).await.executables;
        assert_eq!(world.fault(&shown, &names).await, None);
        fs::copy(world.at("run.sh"), world.at("copy")).unwrap();
        fs::rename(world.at("copy"), world.at("run.sh")).unwrap();
        assert_eq!(world.fault(&shown, &names).await, None, "another inode, the same contents and rights");
        fs::set_permissions(world.at("run.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(world.fault(&shown, &names).await.is_some(), "other rights");
        world.program("run.sh", "#!/bin/sh\necho two\n");
        assert!(world.fault(&shown, &names).await.is_some_and(|said| said.contains("run.sh")));
    }

    #[tokio::test]
    async fn names_are_found_as_the_program_finds_them() {
        let world = World::new();
        fs::create_dir(world.at("bin")).unwrap();
        let names = ["/bin/sh", "id", "later"];
        let shown = Pinned::take(world.wanted(&names)).await.executables;
        world.program("bin/later", "x");
        assert!(world.fault(&shown, &names).await.is_some_and(|said| said.contains("later")), "was missing");
        fs::remove_file(world.at("bin/later")).unwrap();
        world.program("bin/id", "x");
        assert!(
            world.fault(&shown, &names).await.is_some_and(|said| said.contains("bin/id")),
            "comes first now"
        );
    }

    #[tokio::test]
    async fn interpreters_and_directory_are_pinned() {
        let world = World::new();
        fs::create_dir(world.at("bin")).unwrap();
        world.program("bin/speak", "one");
        world.program("run.sh", "#!/usr/bin/env -S speak -x\n");
        let script = world.at("run.sh").display().to_string();
        let pinned = Pinned::take(world.wanted(&[&script])).await;
        let shown = pinned.executables;
        let names: Vec<&str> = shown.iter().map(|shown| shown.name.as_str()).collect();
        assert_eq!(
            (names, pinned.pin.is_script),
            (vec![script.as_str(), "/usr/bin/env", "speak", "."], true)
        );
        assert_eq!(world.fault(&shown, &[&script]).await, None);
        world.program("bin/speak", "two");
        assert!(world.fault(&shown, &[&script]).await.is_some_and(|said| said.contains("bin/speak")));
        world.program("bin/speak", "one");
        let moved = Wanted { working_dir: world.at("bin").display().to_string(), ..world.wanted(&[&script]) };
        let error = check(&shown, moved, false).await.unwrap_err();
        assert!(error.message.contains("working directory"), "{error:?}");
    }
}
