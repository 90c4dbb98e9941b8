//! A disk too small for what is asked of it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use trl_testkit::{Scratch, in_ci};

/// A tmpfs of one mebibyte, unmounted when dropped.
pub(crate) struct TinyDisk(Scratch);

impl TinyDisk {
    /// None, with the reason printed, where mounting is not allowed.
    pub(crate) fn mount() -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        let dir = Scratch::new();
        let mounted = root
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"])
                .arg(dir.path())
                .status()
                .is_ok_and(|s| s.success());
        if !mounted {
            assert!(!(root && in_ci()), "CI as root must be able to mount a tmpfs");
            println!("SKIPPED: a full disk needs a tiny tmpfs, which only root may mount");
            return None;
        }
        Some(Self(dir))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// A file that takes all the room there is, until it is dropped.
pub(crate) struct Filler(PathBuf);

impl Filler {
    pub(crate) fn fill(dir: &Path) -> Self {
        let path = dir.join("filler");
        let mut file = File::create(&path).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
        Self(path)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
