//! Git as a program: found once, started with nothing of the environment, told what to do through pipes.
//!
//! The exit code may be lost to the daemon's reaper ([`trl_sys::helper`]), so every use here ends in something git has to
//! say itself: an object that is there, a reply of its own.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use trl_sys::helper::Helper;

use super::Fault;
use crate::error::{Error, Result};

/// Where snapshots are among git's names.
const NAMES: &str = "refs/trl/";
/// Made last: with it, the directory is whole.
const READY: &str = "trl-ready";
/// Settings that hold whatever a configuration says. Names that are odd on other systems are fine on this one. Small
/// imports become single files, many of which are packed when something is forgotten, and then nothing unused is kept.
const SETTINGS: [&str; 10] = [
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "pack.compression=1",
    "gc.auto=2000",
    "gc.autoPackLimit=20",
    "gc.autoDetach=false",
    "gc.pruneExpire=now",
];
/// How much of a complaint is passed on.
const COMPLAINT: u64 = 2000;

pub(super) struct Git {
    program: PathBuf,
    dir: PathBuf,
}

/// One running git, with both ends of its pipes.
pub(super) struct Running {
    // Dropped in this order: without its pipes, git ends.
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    helper: Helper,
}

impl Git {
    pub(super) fn new(dir: &Path) -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let program = find(&path).ok_or(Fault::NoGit)?;
        Ok(Self { program, dir: dir.into() })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.dir.join(READY).is_file()
    }

    /// Makes the directory, if that is still to be done.
    pub(super) fn prepare(&self) -> Result<()> {
        if self.is_prepared() {
            return Ok(());
        }
        let fault = |e| Error::io(&self.dir, e);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(fault)?;
        self.start(&["init", "--quiet", "--bare", "--template="])?.finish()?;
        if !self.dir.join("HEAD").is_file() || !self.dir.join("objects").is_dir() {
            return Err(Fault::Git { why: "it made no repository".into() }.into());
        }
        std::fs::write(self.dir.join(READY), "").map_err(fault)
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Result<Running> {
        let mut command = Command::new(&self.program);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(&self.dir).env_clear();
        command.env("GIT_DIR", &self.dir).env("HOME", &self.dir);
        command.envs(self.program.parent().map(|dir| ("PATH", dir)));
        let fixed = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_DEFAULT_HASH", "sha1"),
            ("LC_ALL", "C"),
        ];
        command.envs(fixed).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |why: String| Error::from(Fault::Git { why });
        let mut helper = Helper::spawn(&mut command).map_err(|e| failed(e.to_string()))?;
        let stdin = helper.take_stdin();
        let stdout = helper.take_stdout();
        Ok(Running { stdin, stdout, helper })
    }

    /// Deletes a name. One that is not there is fine.
    pub(super) fn delete(&self, reference: &str) -> Result<()> {
        let mut git = self.start(&["update-ref", "--stdin", "-z"])?;
        // Without an old value nothing is compared, and git does not mind what is missing.
        let order = format!("start\0delete {reference}\0\0prepare\0commit\0");
        git.say(order.as_bytes())?;
        let reply = git.finish()?;
        match reply.ends_with(b"commit: ok\n") {
            true => Ok(()),
            false => Err(Fault::Git { why: format!("{reference} could not be deleted") }.into()),
        }
    }

    /// The ids of all snapshots.
    pub(super) fn references(&self) -> Result<Vec<String>> {
        let reply = self.start(&["for-each-ref", "--format=%(refname)", NAMES])?.finish()?;
        let lines = String::from_utf8_lossy(&reply).into_owned();
        Ok(lines.lines().filter_map(|line| Some(line.strip_prefix(NAMES)?.to_string())).collect())
    }

    /// Packs, and removes what no snapshot uses, when there is enough of it.
    pub(super) fn tidy(&self) -> Result<()> {
        self.start(&["gc", "--auto", "--quiet"])?.finish().map(drop)
    }
}

impl Running {
    /// What it says, for whoever reads that as it comes.
    pub(super) fn take_stdout(&mut self) -> Result<ChildStdout> {
        self.stdout.take().ok_or_else(|| Fault::Git { why: "it has no output".into() }.into())
    }

    pub(super) fn say(&mut self, bytes: &[u8]) -> Result<()> {
        let said = match &mut self.stdin {
            Some(stdin) => stdin.write_all(bytes),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        said.map_err(|e| self.complaint(&e.to_string()))
    }

    /// Says that this was all, and waits for its end; what it had to say itself.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.stdin = None;
        let mut said = Vec::new();
        let read = self.stdout.take().map(|mut stdout| stdout.read_to_end(&mut said));
        if let Some(Err(e)) = read {
            return Err(self.complaint(&e.to_string()));
        }
        let text = self.last_words();
        match text.lines().any(|line| line.starts_with("fatal:") || line.starts_with("error:")) {
            true => Err(complained(&text, "")),
            false => Ok(said),
        }
    }

    /// What it has complained of, once it has gone; else `otherwise`.
    pub(super) fn complaint(&mut self, otherwise: &str) -> Error {
        complained(&self.last_words(), otherwise)
    }

    fn last_words(&mut self) -> String {
        self.stdin = None;
        let mut text = Vec::new();
        if let Some(stderr) = self.helper.take_stderr() {
            let _ = stderr.take(COMPLAINT).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn complained(text: &str, otherwise: &str) -> Error {
    if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
        return Error::Full;
    }
    let why = if text.trim().is_empty() { otherwise } else { text.trim() };
    Fault::Git { why: why.into() }.into()
}

/// Absolute places only: what lies in some current directory is not the system's git.
fn find(path: &OsStr) -> Option<PathBuf> {
    let places = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    places.map(|dir| dir.join("git")).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Git's name of a snapshot. Ids are ours: anything else is none.
pub(super) fn reference(id: &str) -> Result<String> {
    let ours = id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    match ours {
        true => Ok(format!("{NAMES}{id}")),
        false => Err(Fault::Unknown { id: id.into() }.into()),
    }
}

pub(super) fn new_id() -> Result<String> {
    match getrandom::u64() {
        Ok(random) => Ok(format!("{random:016x}")),
        Err(e) => Err(Fault::Git { why: format!("no random numbers: {e}") }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_not_taken_from_relative_places() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(OsStr::new("bin:.::../bin")), None);
        assert_eq!(find(dir.path().as_os_str()), None);
        std::fs::create_dir(dir.path().join("git")).unwrap();
        assert_eq!(find(dir.path().as_os_str()), None, "a directory");
    }

    #[test]
    fn only_ids_of_ours_become_names() {
        assert_eq!(reference("0123456789abcdef").unwrap(), "refs/trl/0123456789abcdef");
        for bad in
            ["", "HEAD", "../../../HEAD__", "0123456789ABCDEF", "0123456789abcde\n", "0123456789abcdef0"]
        {
            assert!(reference(bad).is_err(), "{bad:?}");
        }
    }
}
