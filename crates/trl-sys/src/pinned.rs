//! Starting a program only while it is the file that was approved, in the directory that was approved.
//!
//! 1. [`stamp`] says which file a path leads to and since when it has been as it is. Whoever approves a program keeps that.
//! 2. [`Pinned::exec`] runs in the process that is to become the program, when all else is done: it compares once more, and
//!    starts the very file that it has compared, by its descriptor. Another process may rename what it likes meanwhile.
//!
//! A script has to be started by its path, since its interpreter opens it by that path again. So another file may take its
//! place between the comparison and that moment. Neither can a comparison before the start see what is written into
//! the file after it. A check after the start would belong behind `start` in [`crate::spawn::spawn`], which knows the
//! process and has the `Pinned`.

use std::ffi::{CString, NulError, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::link::{Inode, Pin, Stage, Stamp};
use crate::os::birth;
use crate::spawn::Failure;

pub(crate) struct Pinned {
    /// The program first.
    files: Vec<(CString, Stamp)>,
    dir: Option<Inode>,
    is_script: bool,
}

impl Pinned {
    pub(crate) fn new(pin: Pin) -> Result<Self, NulError> {
        let files = pin.files.into_iter().map(|file| Ok((CString::new(file.path)?, file.stamp)));
        Ok(Self { files: files.collect::<Result<_, NulError>>()?, dir: pin.dir, is_script: pin.is_script })
    }

    /// Becomes the program if everything is as it was approved. Only returns when something failed. Allocates nothing: it
    /// may run in the keeper's memory.
    pub(crate) fn exec(&self, argv: &[*const c_char], env: &[*const c_char]) -> Failure {
        let program = match self.compare() {
            Ok(program) => program,
            Err(failure) => return failure,
        };
        if let Some(program) = program.filter(|_| !self.is_script) {
            birth::exec_open(&program, argv, env);
            // Formats that the administrator has registered (`binfmt_misc`) need the path, as scripts do.
            let failure = Failure::last(Stage::Exec);
            if failure.errno != libc::ENOENT {
                return failure;
            }
        }
        // SAFETY: both lists end with null, and their strings live as long as the caller's.
        unsafe { libc::execve(argv[0], argv.as_ptr(), env.as_ptr()) };
        Failure::last(Stage::Exec)
    }

    /// The program, opened, if nothing has changed.
    fn compare(&self) -> Result<Option<OwnedFd>, Failure> {
        let changed = Failure { stage: Stage::Pinned, errno: 0 };
        let here = || look(c".").and_then(|dir| stamp(&dir)).map(|stamp| stamp.inode);
        if let Some(dir) = self.dir
            && here().ok() != Some(dir)
        {
            return Err(changed);
        }
        let mut program = None;
        for (at, (path, wanted)) in self.files.iter().enumerate() {
            let file = match look(path) {
                Ok(file) => file,
                Err(e) if at == 0 => return Err(Failure::of(Stage::Exec, &e)),
                // What cannot be reached from here cannot be run from here.
                Err(_) => continue,
            };
            if stamp(&file).ok() != Some(*wanted) {
                return Err(changed);
            }
            if at == 0 {
                program = Some(file);
            }
        }
        Ok(program)
    }
}

/// Opens without any right to the contents.
fn look(path: &std::ffi::CStr) -> io::Result<OwnedFd> {
    // SAFETY: a live CString; a descriptor that is returned is nobody else's.
    unsafe {
        match libc::open(path.as_ptr(), birth::ONLY_LOOK | libc::O_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Which file this is, and since when it has been as it is.
///
/// # Errors
/// Those of `fstat`.
pub fn stamp(file: &impl AsFd) -> io::Result<Stamp> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the structure if it returns 0, and only then is it read.
    let status = unsafe {
        match libc::fstat(file.as_fd().as_raw_fd(), status.as_mut_ptr()) {
            0 => status.assume_init(),
            _ => return Err(io::Error::last_os_error()),
        }
    };
    Ok(Stamp {
        inode: Inode { dev: status.st_dev as u64, ino: status.st_ino as u64 },
        size: status.st_size as u64,
        changed: (status.st_ctime as i64, status.st_ctime_nsec as i64),
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;
    use crate::link::PinnedFile;

    fn pin_of(path: &Path) -> Pinned {
        let file = fs::File::open(path).unwrap();
        let path = path.as_os_str().as_bytes().to_vec();
        let files = vec![PinnedFile { path, stamp: stamp(&file).unwrap() }];
        Pinned::new(Pin { files, dir: None, is_script: false }).unwrap()
    }

    #[test]
    fn other_file_and_rewritten_file_differ() {
        let dir = tempfile::tempdir().unwrap();
        let (program, other) = (dir.path().join("p"), dir.path().join("q"));
        fs::write(&program, "one").unwrap();
        let pin = pin_of(&program);
        assert!(pin.compare().is_ok_and(|file| file.is_some()));
        fs::write(&other, "one").unwrap();
        fs::rename(&program, dir.path().join("kept")).unwrap();
        fs::rename(&other, &program).unwrap();
        assert_eq!(pin.compare().err().map(|f| f.stage), Some(Stage::Pinned), "another file");
        fs::remove_file(&program).unwrap();
        std::os::unix::fs::symlink(OsStr::new("kept"), &program).unwrap();
        let pin = pin_of(&program);
        assert!(pin.compare().is_ok(), "through a link to the very file");
        fs::write(&program, "longer than before").unwrap();
        assert_eq!(pin.compare().err().map(|f| f.stage), Some(Stage::Pinned), "rewritten");
        fs::remove_file(&program).unwrap();
        assert_eq!(pin.compare().err().map(|f| f.stage), Some(Stage::Exec), "gone");
    }
}
