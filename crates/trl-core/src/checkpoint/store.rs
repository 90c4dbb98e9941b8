//! Checkpoints on disk: `<data>/workspaces/<session>/checkpoints/<id>.checkpoint`, for nobody but the owner.
//!
//! A file is written aside, synced, and only then given its name, so a crash or a full disk leaves the whole or
//! nothing. Whoever saves removes what a crash left, and afterwards the oldest beyond the number to keep. A file that is not
//! what was written is reported and skipped, and never used.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use trl_proto::checkpoint::{CorruptInfo, Origin};
use trl_proto::{CheckpointId, Error, ErrorCode, SessionId};
use trl_store::failpoint;

use super::{Checkpoint, Manifest, file};
use crate::place::private_dir;
use crate::session::body::shortage;

const SUFFIX: &str = ".checkpoint";
const ASIDE: &str = ".new-";

#[derive(Debug)]
pub struct Checkpoints {
    /// None: nothing is kept on disk.
    root: Option<PathBuf>,
    /// How many of each origin are kept for a session.
    keep: usize,
    /// One save at a time: what lies aside then is nobody's.
    saving: Mutex<()>,
}

/// What there is for one session.
#[derive(Debug, Default)]
pub struct Listing {
    /// Newest first, with their sizes.
    pub good: Vec<(Manifest, u64)>,
    pub corrupt: Vec<CorruptInfo>,
}

impl Checkpoints {
    pub fn new(data_dir: Option<&Path>, keep: usize) -> Self {
        Self { root: data_dir.map(|dir| dir.join("workspaces")), keep: keep.max(1), saving: Mutex::default() }
    }

    /// Whether anything can be kept.
    pub fn is_open(&self) -> bool {
        self.root.is_some()
    }

    /// The session's private place.
    pub fn private_place(&self, session: &SessionId) -> Result<PathBuf, Error> {
        let root = self.root.as_ref().ok_or_else(|| {
            Error::invalid("this engine keeps nothing on disk").hint("start it with a data directory")
        })?;
        Ok(root.join(session.as_str()))
    }

    fn dir(&self, session: &SessionId) -> Result<PathBuf, Error> {
        Ok(self.private_place(session)?.join("checkpoints"))
    }

    /// Writes it whole; returns its size.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<u64, Error> {
        let manifest = &checkpoint.manifest;
        let dir = self.dir(&manifest.stand.session_id)?;
        let bytes = file::encode(checkpoint).map_err(|e| Error::internal(e.to_string()))?;
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = make_private(&dir)
            .and_then(|()| {
                remove_aside(&dir);
                write_aside(&dir, &manifest.checkpoint_id, &bytes)
            })
            .and_then(|aside| publish(&dir, &aside, &manifest.checkpoint_id));
        saved.map_err(|e| not_saved(&e))?;
        failpoint("checkpoint.saved");
        Ok(bytes.len() as u64)
    }

    /// The oldest beyond the number to keep go, but for those that commands which wait are to begin from. After each save,
    /// once nobody waits for that.
    pub fn prune(&self, session: &SessionId, origin: Origin, awaited: &[CheckpointId]) {
        let Ok(dir) = self.dir(session) else { return };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |manifest: &Manifest| sort_of(manifest.origin) == sort_of(origin);
        let of_sort = peek_all(&dir).into_iter().filter(same);
        for manifest in of_sort.skip(self.keep).filter(|manifest| !awaited.contains(&manifest.checkpoint_id))
        {
            // one that comes back after a crash goes with the next
            let _ = fs::remove_file(dir.join(format!("{}{SUFFIX}", manifest.checkpoint_id)));
        }
    }

    pub fn list(&self, session: &SessionId) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        let entries = match fs::read_dir(self.dir(session)?) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(listing),
            Err(e) => return Err(unreadable(&e)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|n| n.strip_suffix(SUFFIX)) else { continue };
            match read(&entry.path(), session, id) {
                Ok((checkpoint, size)) => listing.good.push((checkpoint.manifest, size)),
                Err(why) => listing.corrupt.push(CorruptInfo { checkpoint_id: id.into(), why }),
            }
        }
        listing.good.sort_by_key(|(manifest, _)| std::cmp::Reverse(manifest.created_us));
        listing.corrupt.sort_by(|a, b| a.checkpoint_id.cmp(&b.checkpoint_id));
        Ok(listing)
    }

    pub fn load(&self, session: &SessionId, id: &CheckpointId) -> Result<Checkpoint, Error> {
        let path = self.dir(session)?.join(format!("{id}{SUFFIX}"));
        if !path.is_file() {
            return Err(not_found(session, id));
        }
        read(&path, session, id.as_str()).map(|(checkpoint, _)| checkpoint).map_err(|why| {
            Error::new(ErrorCode::CheckpointCorrupt, format!("checkpoint {id} cannot be used: {why}"))
                .hint("checkpoint.list shows the others")
        })
    }

    /// The newest that can be used.
    pub fn newest(&self, session: &SessionId) -> Option<Checkpoint> {
        let found = peek_all(&self.dir(session).ok()?);
        found.iter().find_map(|manifest| match self.load(session, &manifest.checkpoint_id) {
            Ok(checkpoint) => Some(checkpoint),
            Err(error) => {
                tracing::warn!(sessionId = %session, %error, "a checkpoint is skipped");
                None
            }
        })
    }

    /// All of a session that has ended for good.
    pub fn clear(&self, session: &SessionId) {
        let Ok(dir) = self.dir(session) else { return };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(sessionId = %session, %error, "checkpoints could not be removed");
            }
            _ => drop(fs::remove_dir(dir.parent().unwrap_or(&dir))),
        }
    }

    /// A corrupt one, too.
    pub fn delete(&self, session: &SessionId, id: &CheckpointId) -> Result<(), Error> {
        let dir = self.dir(session)?;
        match fs::remove_file(dir.join(format!("{id}{SUFFIX}"))) {
            Ok(()) => sync_dir(&dir).map_err(|e| unreadable(&e)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(not_found(session, id)),
            Err(e) => Err(unreadable(&e)),
        }
    }
}

/// One sort does not push out another: neither those somebody asked for, nor those a command that waits is to begin from.
fn sort_of(origin: Origin) -> u8 {
    match origin {
        Origin::Request => 0,
        Origin::Approval => 1,
        Origin::Close | Origin::Interval => 2,
    }
}

/// What the files there say of themselves, newest first.
fn peek_all(dir: &Path) -> Vec<Manifest> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = entries.filter(|e| e.file_name().to_str().is_some_and(|name| name.ends_with(SUFFIX)));
    let mut found: Vec<Manifest> = ours.filter_map(|e| file::peek(fs::File::open(e.path()).ok()?)).collect();
    found.sort_by_key(|manifest| std::cmp::Reverse(manifest.created_us));
    found
}

fn not_found(session: &SessionId, id: &CheckpointId) -> Error {
    Error::new(ErrorCode::CheckpointNotFound, format!("session {session} has no checkpoint {id}"))
        .hint("see checkpoint.list")
}

fn not_saved(error: &io::Error) -> Error {
    let code = shortage(error).unwrap_or(ErrorCode::InternalError);
    Error::new(code, format!("the checkpoint could not be written: {error}"))
}

fn unreadable(error: &io::Error) -> Error {
    Error::internal(format!("the checkpoints cannot be read: {error}"))
}

/// The checkpoint in a file that is called `id`, and its size.
fn read(path: &Path, session: &SessionId, id: &str) -> Result<(Checkpoint, u64), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let checkpoint = file::decode(&bytes).map_err(|fault| fault.to_string())?;
    let manifest = &checkpoint.manifest;
    if manifest.checkpoint_id.as_str() != id || manifest.stand.session_id != *session {
        return Err("it is another one's".into());
    }
    Ok((checkpoint, bytes.len() as u64))
}

/// The directory and those above it, as far as they are the session's.
fn make_private(dir: &Path) -> io::Result<()> {
    let above: Vec<&Path> = dir.ancestors().take(3).collect();
    for dir in above.into_iter().rev() {
        let new = !dir.exists();
        private_dir(dir)?;
        if let (true, Some(parent)) = (new, dir.parent()) {
            sync_dir(parent)?;
        }
    }
    Ok(())
}

fn remove_aside(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries.filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with(ASIDE))) {
        let _ = fs::remove_file(entry.path());
    }
}

fn write_aside(dir: &Path, id: &CheckpointId, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = dir.join(format!("{ASIDE}{id}"));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    failpoint("checkpoint.written");
    written.map(|()| path)
}

fn publish(dir: &Path, aside: &Path, id: &CheckpointId) -> io::Result<()> {
    let renamed = fs::rename(aside, dir.join(format!("{id}{SUFFIX}")));
    if renamed.is_err() {
        let _ = fs::remove_file(aside);
    }
    renamed.and_then(|()| sync_dir(dir))
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::file::tests::example;
    use super::*;

    fn store(keep: usize) -> (tempfile::TempDir, Checkpoints, SessionId) {
        let dir = tempfile::tempdir().unwrap();
        let store = Checkpoints::new(Some(dir.path()), keep);
        (dir, store, SessionId::random())
    }

    fn names(store: &Checkpoints, session: &SessionId) -> Vec<String> {
        let entries = fs::read_dir(store.dir(session).unwrap()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_saved_is_listed_loaded_and_deleted_and_only_the_owner_can_read_it() {
        let (_dir, store, session) = store(5);
        let one = example(&session);
        let size = store.save(&one).unwrap();
        let id = &one.manifest.checkpoint_id;
        let listing = store.list(&session).unwrap();
        assert_eq!(listing.good, [(one.manifest.clone(), size)]);
        assert_eq!(store.load(&session, id).unwrap(), one);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = store.dir(&session).unwrap();
        assert_eq!((mode(&dir), mode(&dir.join(format!("{id}{SUFFIX}")))), (0o700, 0o600));
        store.delete(&session, id).unwrap();
        assert_eq!(store.load(&session, id).unwrap_err().code, ErrorCode::CheckpointNotFound);
        assert_eq!(store.delete(&session, id).unwrap_err().code, ErrorCode::CheckpointNotFound);
        assert!(store.newest(&session).is_none());
    }

    #[test]
    fn the_last_few_of_each_origin_are_kept() {
        let (_dir, store, session) = store(2);
        let asked = example(&session);
        store.save(&asked).unwrap();
        let mut last = None;
        for n in 0..4 {
            let mut one = example(&session);
            one.manifest.origin = Origin::Close;
            one.manifest.created_us = asked.manifest.created_us + 1 + n;
            store.save(&one).unwrap();
            store.prune(&session, one.manifest.origin, &[]);
            last = Some(one);
        }
        let listing = store.list(&session).unwrap();
        assert_eq!(listing.good.len(), 3);
        assert_eq!(listing.good[2].0, asked.manifest);
        assert_eq!(store.newest(&session), last);
    }

    #[test]
    fn one_that_a_command_is_to_begin_from_stays() {
        let (_dir, store, session) = store(1);
        let all: Vec<Checkpoint> = (0..3)
            .map(|n| {
                let mut one = example(&session);
                one.manifest.created_us += n;
                store.save(&one).unwrap();
                one
            })
            .collect();
        store.prune(&session, Origin::Request, std::slice::from_ref(&all[0].manifest.checkpoint_id));
        let good = store.list(&session).unwrap().good;
        let left: Vec<Manifest> = good.into_iter().map(|(manifest, _)| manifest).collect();
        assert_eq!(left, [all[2].manifest.clone(), all[0].manifest.clone()]);
    }

    #[test]
    fn a_crash_between_write_and_rename_leaves_nothing_that_counts() {
        let (_dir, store, session) = store(5);
        let old = example(&session);
        store.save(&old).unwrap();
        let dir = store.dir(&session).unwrap();
        let half = example(&session);
        let bytes = file::encode(&half).unwrap();
        write_aside(&dir, &half.manifest.checkpoint_id, &bytes[..bytes.len() / 2]).unwrap();
        let listing = store.list(&session).unwrap();
        assert_eq!((listing.good.len(), listing.corrupt.len()), (1, 0));
        assert_eq!(store.newest(&session), Some(old));
        store.save(&example(&session)).unwrap();
        assert!(names(&store, &session).iter().all(|n| n.ends_with(SUFFIX)));
    }

    #[test]
    fn a_corrupt_file_is_reported_skipped_and_can_be_deleted() {
        let (_dir, store, session) = store(5);
        let (old, new) = (example(&session), example(&session));
        store.save(&old).unwrap();
        store.save(&new).unwrap();
        let id = &new.manifest.checkpoint_id;
        let path = store.dir(&session).unwrap().join(format!("{id}{SUFFIX}"));
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        let listing = store.list(&session).unwrap();
        assert_eq!(listing.good.len(), 1);
        assert_eq!(listing.corrupt[0].checkpoint_id, id.as_str());
        assert_eq!(store.newest(&session), Some(old.clone()));
        assert_eq!(store.load(&session, id).unwrap_err().code, ErrorCode::CheckpointCorrupt);
        // another session's file is none of this one's
        let foreign = store.dir(&session).unwrap().join(format!("{}{SUFFIX}", CheckpointId::random()));
        fs::copy(
            store.dir(&session).unwrap().join(format!("{}{SUFFIX}", old.manifest.checkpoint_id)),
            foreign,
        )
        .unwrap();
        assert_eq!(store.list(&session).unwrap().corrupt.len(), 2);
        store.delete(&session, id).unwrap();
    }

    #[test]
    fn nothing_is_left_of_a_session_that_has_ended() {
        let (dir, store, session) = store(5);
        store.save(&example(&session)).unwrap();
        store.clear(&session);
        assert!(fs::read_dir(dir.path().join("workspaces")).unwrap().next().is_none());
        store.clear(&session);
    }

    #[test]
    fn a_full_disk_is_said_and_leaves_nothing() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let error = fs::OpenOptions::new().write(true).open(full).unwrap().write_all(b"x").unwrap_err();
        assert_eq!(not_saved(&error).code, ErrorCode::StorageFull);
    }
}
