//! What has begun and is not in the store yet.
//!
//! A command must not run without a trace, and must not wait for the store either. So it is on the slate before it runs:
//! 1. [`Slate::put`] writes it down with one write of its own, to a page of the file `begun`. Nobody waits for the disk: what
//!    is in the page cache outlives a process that is killed.
//! 2. The [`Mark`] that it returns goes along with the record ([`crate::history`]); once that is committed the mark is
//!    dropped, and the page wiped.
//! 3. [`Slate::open`] finds what a killed process left. It stays until [`crate::start`] has it in the store, as executions
//!    whose end nobody knows.
//!
//! Only clean records get here, as everywhere. A loss of power may cost all of it, like other writes nobody waited for.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trl_proto::id::{ExecutionId, RequestId, SessionId};

use crate::history::NewExecution;
use crate::moment::Moment;
use crate::redact::Clean;

/// Each entry has a page to itself: one write never spans two.
const PAGE: usize = 4096;
/// In front of an entry: how long it is. Nothing there: the page is free.
const LENGTH: usize = 4;
/// More than this many at once are not kept: the store is far behind then.
const MOST: u32 = 8192;

#[derive(Debug)]
pub(crate) struct Slate {
    pages: Arc<Pages>,
    /// From a process that is gone, until they are in the store.
    left: Mutex<Vec<(NewExecution, Mark)>>,
}

#[derive(Debug)]
struct Pages {
    file: File,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    given_back: Vec<u32>,
    /// From here on none was ever used.
    fresh: u32,
}

/// A place on the slate, wiped when this is dropped.
#[derive(Debug)]
pub struct Mark {
    pages: Arc<Pages>,
    page: u32,
    bytes: usize,
}

/// An entry as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    id: ExecutionId,
    session_id: SessionId,
    owner: String,
    request_id: Option<RequestId>,
    command: String,
    working_dir: String,
    started_at: i64,
}

impl Slate {
    /// Takes over the file, with what is on it.
    pub(crate) fn open(mut file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let found: Vec<(u32, usize, NewExecution)> =
            (0..).zip(bytes.chunks(PAGE)).filter_map(|(n, page)| Some((n, read(page)?))).map(flat).collect();
        if found.is_empty() {
            file.set_len(0)?;
        }
        let taken: Vec<u32> = found.iter().map(|(page, ..)| *page).collect();
        let fresh = taken.last().map_or(0, |last| last + 1);
        let given_back = (0..fresh).filter(|page| !taken.contains(page)).collect();
        let pages = Arc::new(Pages { file, free: Mutex::new(Free { given_back, fresh }) });
        let held = |(page, bytes, new)| (new, Mark { pages: Arc::clone(&pages), page, bytes });
        let left = Mutex::new(found.into_iter().map(held).collect());
        Ok(Self { pages, left })
    }

    /// Writes it down. None when there is no room: it goes without.
    pub(crate) fn put(&self, new: &Clean<NewExecution>) -> Option<Mark> {
        let bytes = Entry::of(new).into_bytes()?;
        let page = self.pages.take()?;
        // Made first: whatever a failed write leaves there is wiped, too.
        let mark = Mark { pages: Arc::clone(&self.pages), page, bytes: bytes.len() };
        self.pages.file.write_all_at(&bytes, offset(page)).ok().map(|()| mark)
    }

    /// What a process that is gone left; dropped once it is in the store.
    pub(crate) fn left(&self) -> MutexGuard<'_, Vec<(NewExecution, Mark)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn flat((page, (bytes, new)): (u32, (usize, NewExecution))) -> (u32, usize, NewExecution) {
    (page, bytes, new)
}

impl Pages {
    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<u32> {
        let mut free = self.free();
        if let Some(page) = free.given_back.pop() {
            return Some(page);
        }
        let page = Some(free.fresh).filter(|page| *page < MOST)?;
        free.fresh += 1;
        Some(page)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // A deleted session leaves no text behind either. If this fails, the entry is known by its id after a start.
        let _ = self.pages.file.write_all_at(&vec![0; self.bytes], offset(self.page));
        self.pages.free().given_back.push(self.page);
    }
}

impl Entry {
    fn of(new: &NewExecution) -> Self {
        Self {
            id: new.id.clone(),
            session_id: new.session_id.clone(),
            owner: new.owner.clone(),
            request_id: new.request_id.clone(),
            command: new.command.clone(),
            working_dir: new.working_dir.clone(),
            started_at: new.started_at.millis(),
        }
    }

    /// With its length in front; of a text that is too long for a page, the beginning.
    fn into_bytes(mut self) -> Option<Vec<u8>> {
        loop {
            let mut bytes = vec![0; LENGTH];
            serde_json::to_writer(&mut bytes, &self).ok()?;
            if bytes.len() <= PAGE {
                let length = u32::try_from(bytes.len() - LENGTH).ok()?;
                bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
                return Some(bytes);
            }
            let longest = if self.command.is_empty() { &mut self.working_dir } else { &mut self.command };
            let end = (0..=longest.len().min(PAGE) / 2).rev().find(|at| longest.is_char_boundary(*at))?;
            longest.truncate(end);
        }
    }

    fn into_new(self) -> NewExecution {
        NewExecution {
            id: self.id,
            session_id: self.session_id,
            owner: self.owner,
            request_id: self.request_id,
            command: self.command,
            working_dir: self.working_dir,
            started_at: Moment::from_millis(self.started_at),
        }
    }
}

/// What is on a page, and how many bytes it takes. None when it is free, or no more than half written.
fn read(page: &[u8]) -> Option<(usize, NewExecution)> {
    let length = u32::from_le_bytes(page.get(..LENGTH)?.try_into().ok()?);
    let end = LENGTH + usize::try_from(length).ok().filter(|length| *length > 0)?;
    let entry: Entry = serde_json::from_slice(page.get(LENGTH..end)?).ok()?;
    Some((end, entry.into_new()))
}

fn offset(page: u32) -> u64 {
    u64::from(page) * PAGE as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;

    fn file(dir: &tempfile::TempDir) -> File {
        let path = dir.path().join("begun");
        File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
    }

    fn new(command: &str) -> Clean<NewExecution> {
        Redactor::default().clean(NewExecution {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            owner: "agent".into(),
            request_id: None,
            command: command.into(),
            working_dir: "/tmp".into(),
            started_at: Moment::from_millis(7),
        })
    }

    /// What the next process finds.
    fn found(dir: &tempfile::TempDir) -> Vec<NewExecution> {
        Slate::open(file(dir)).unwrap().left().iter().map(|(new, _)| new.clone()).collect()
    }

    /// As if the process were killed: nothing is wiped.
    fn keep(marks: impl IntoIterator<Item = Mark>) {
        marks.into_iter().for_each(std::mem::forget);
    }

    #[test]
    fn what_is_on_it_is_found_until_it_is_wiped() {
        let dir = tempfile::tempdir().unwrap();
        let slate = Slate::open(file(&dir)).unwrap();
        let all: Vec<_> = (0..5).map(|n| new(&format!("command {n}"))).collect();
        let mut marks: Vec<Mark> = all.iter().map(|new| slate.put(new).unwrap()).collect();
        drop(marks.remove(3));
        drop(marks.remove(0));
        keep(marks);
        let expected: Vec<NewExecution> = [1, 2, 4].map(|n| all[n].clone().into_inner()).to_vec();
        // Twice: whoever finds them and dies has not taken them away.
        let again = Slate::open(file(&dir)).unwrap();
        keep(again.left().drain(..).map(|(_, mark)| mark));
        assert_eq!(found(&dir), expected);
        assert!(found(&dir).is_empty(), "taken away");
        assert_eq!(file(&dir).metadata().unwrap().len(), 0);
    }

    #[test]
    fn pages_are_used_again_and_hold_nothing_of_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let slate = Slate::open(file(&dir)).unwrap();
        let (a, b) = (slate.put(&new("first")).unwrap(), slate.put(&new("second")).unwrap());
        drop(a);
        let c = slate.put(&new("third")).unwrap();
        assert_eq!((b.page, c.page), (1, 0));
        drop((b, c));
        let text = std::fs::read(dir.path().join("begun")).unwrap();
        assert!(text.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn long_texts_are_cut_and_nonsense_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let slate = Slate::open(file(&dir)).unwrap();
        let long = new(&"\u{1}ä".repeat(4000));
        keep(slate.put(&long));
        let read = found(&dir);
        assert!(long.command.starts_with(&read[0].command) && read[0].command.len() > 100);
        for page in [&[][..], &[1, 0], &[200, 0, 0, 0, b'{'], &[2, 0, 0, 0, b'{', b'}']] {
            assert_eq!(super::read(page), None);
        }
    }
}
