//! Where session directories live: a private directory, in memory if there is one, one per daemon.
//!
//! `<root>/d-<random>/` belongs to one daemon, which holds a lock on it, and has its session directories. A daemon
//! that starts removes what dead daemons of the same user (nobody holds their lock) left under the same root, after
//! ending processes that still use it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use trl_sys::{machine, tree};

use crate::shell::files::Medium;

#[derive(Debug)]
pub struct Place {
    dir: PathBuf,
    pub medium: Medium,
    /// Held for life; goes with the process, whatever ends it.
    lock: Mutex<fs::File>,
}

impl Place {
    /// Makes this daemon's directory under `wanted`, or under the best place of this machine.
    pub fn create(wanted: Option<&Path>) -> io::Result<Self> {
        let root = match wanted {
            Some(dir) => dir.to_path_buf(),
            None => default_root(),
        };
        private_dir(&root)?;
        // As the kernel calls it: what a process has open is compared with it.
        let root = root.canonicalize()?;
        remove_dead(&root);
        let dir = root.join(format!("d-{:016x}", u64::from_le_bytes(trl_proto::random::bytes())));
        let lock = claim(&dir)?;
        let medium = if machine::is_in_memory(&dir) { Medium::Memory } else { Medium::Disk };
        Ok(Self { dir, medium, lock: Mutex::new(lock) })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A new, empty directory for one session. A command may have removed ours: then that is made again.
    pub fn session_dir(&self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        let path = self.dir.join(name);
        let make = || fs::DirBuilder::new().mode(0o700).create(&path);
        match make() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(dir = %self.dir.display(), "the runtime directory is gone; making it again");
                *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = claim(&self.dir)?;
                make()?;
            }
            made => made?,
        }
        Ok(path)
    }
}

/// Makes and locks a daemon's directory: locked before it has the name others look for.
fn claim(dir: &Path) -> io::Result<fs::File> {
    let name = dir.file_name().unwrap_or_default().display();
    let hidden = dir.with_file_name(format!("new-{name}"));
    private_dir(&hidden)?;
    let lock = lock_dir(&hidden)?;
    fs::rename(&hidden, dir)?;
    Ok(lock)
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn default_root() -> PathBuf {
    let uid = machine::effective_uid();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(|d| PathBuf::from(d).join("trl").join("sessions"));
    let shm = PathBuf::from(format!("/dev/shm/trl-{uid}"));
    let candidates = runtime.into_iter().chain([shm]);
    let in_memory = |path: &PathBuf| path.ancestors().find(|a| a.exists()).is_some_and(machine::is_in_memory);
    candidates
        .into_iter()
        .find(in_memory)
        .unwrap_or_else(|| std::env::temp_dir().join(format!("trl-{uid}-sessions")))
}

/// Makes or accepts a directory only its owner may enter; anything else under that name is refused.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(dir) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    let meta = fs::symlink_metadata(dir)?;
    let refuse =
        |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", dir.display())));
    if !meta.is_dir() {
        return refuse("is not a directory");
    }
    if meta.uid() != machine::effective_uid() {
        return refuse("belongs to another user");
    }
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Locks a daemon's directory; fails while its daemon lives. The directory itself, since a file in it can be removed.
fn lock_dir(dir: &Path) -> io::Result<fs::File> {
    let file = fs::File::open(dir)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

fn remove_dead(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with("d-"));
        // Whoever gets the lock knows that its owner is dead.
        if ours && lock_dir(&entry.path()).is_ok() {
            end_users_of(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Shells of a dead daemon name its directory on their command line. Their keepers end them; this is for the case
/// that those were killed too.
fn end_users_of(dir: &Path) {
    let needle = format!("{}/s-", dir.display());
    let uses = |pid: i32| {
        let cmdline = tree::arguments(pid);
        let text = String::from_utf8_lossy(&cmdline);
        text.contains(&needle) && text.contains("__trl")
    };
    for pid in tree::everybody().into_iter().flatten().filter(|pid| uses(*pid)) {
        let Some(shell) = tree::identify(pid) else { continue };
        let found = || {
            let mut all = tree::below(pid, &[]);
            all.extend(tree::identify(pid).filter(|p| *p == shell));
            all
        };
        tree::freeze_and_kill(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_daemons_leavings_go_and_a_live_ones_stay() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join("d-dead");
        fs::create_dir(&dead).unwrap();
        let live = Place::create(Some(root.path())).unwrap();
        assert!(!dead.exists());
        remove_dead(root.path());
        assert!(live.dir().exists());
    }

    #[test]
    fn it_is_called_as_the_kernel_calls_it() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        fs::create_dir(real.join("a")).unwrap();
        std::os::unix::fs::symlink("a", real.join("b")).unwrap();
        let place = Place::create(Some(&real.join("b/sessions"))).unwrap();
        assert!(place.dir().starts_with(real.join("a/sessions")), "{place:?}");
    }

    #[test]
    fn a_link_or_a_foreign_directory_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("l");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        assert!(private_dir(&link).is_err());
    }
}
