//! A daemon's own place among the control groups, below which it makes one for each session with limits.
//!
//! ```text
//!  our own group, as we found it
//!  └─ trl-4f1c...          locked by the daemon for its life
//!     ├─ daemon            v2 only: a group that hands controllers on may have no processes itself
//!     ├─ s-n5326k7n        one session
//!     └─ ...
//! ```
//!
//! 1. [`Base::settle`] is called once, before the daemon has children: it removes what dead daemons left, and in v2 moves
//!    the daemon out of the way.
//! 2. The rest is made with the first group that is asked for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::group::{Group, Seat};
use super::{Hierarchy, Layout, Standing, Version};

const PREFIX: &str = "trl-";
const DAEMON: &str = "daemon";

#[derive(Debug)]
pub struct Base {
    version: Version,
    name: String,
    hierarchies: Vec<Hierarchy>,
    made: Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    /// One for each hierarchy, with the controllers it has there.
    seats: Vec<Seat>,
    /// Held for life; they go with the process, whatever ends it.
    _locks: Vec<fs::File>,
}

impl Base {
    /// Looks for a place; `name` tells this daemon from others. An error says why there is none.
    pub fn settle(name: &str) -> Result<Self, String> {
        let layout = Layout::here();
        let version = match layout.standing() {
            Standing::Usable(version, _) => version,
            Standing::Unusable(why) => return Err(why),
        };
        let hierarchies: Vec<Hierarchy> =
            layout.usable().into_iter().filter(|h| h.version == version).cloned().collect();
        for hierarchy in &hierarchies {
            remove_dead(hierarchy);
        }
        let base = Self { version, name: format!("{PREFIX}{name}"), hierarchies, made: Mutex::new(None) };
        base.step_aside().map_err(|e| format!("a control group could not be made: {e}"))?;
        Ok(base)
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// What can be limited or counted.
    pub fn controllers(&self) -> Vec<String> {
        self.hierarchies.iter().flat_map(|h| h.controllers.clone()).collect()
    }

    /// In v2, unless our own group is the first of all.
    fn step_aside(&self) -> io::Result<()> {
        let inner = |h: &&Hierarchy| h.version == Version::V2 && !h.at_root;
        let Some(hierarchy) = self.hierarchies.iter().find(inner) else { return Ok(()) };
        let made = self.make()?;
        let dir = hierarchy.own.join(&self.name).join(DAEMON);
        fs::create_dir(&dir)?;
        fs::write(dir.join("cgroup.procs"), "0")?;
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    }

    fn make(&self) -> io::Result<Made> {
        let mut made = Made { seats: Vec::new(), _locks: Vec::new() };
        for hierarchy in &self.hierarchies {
            let dir = hierarchy.own.join(&self.name);
            match fs::create_dir(&dir) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
            made._locks.push(lock(&dir)?);
            made.seats.push(Seat { controllers: hierarchy.controllers.clone(), dir });
        }
        Ok(made)
    }

    /// A new group. Somebody may have removed our place, as it was empty: then it is made again.
    pub fn group(&self, name: &str) -> io::Result<Group> {
        match self.try_group(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                *self.made.lock().unwrap_or_else(PoisonError::into_inner) = None;
                self.try_group(name)
            }
            done => done,
        }
    }

    fn try_group(&self, name: &str) -> io::Result<Group> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match &mut *made {
            Some(made) => made,
            none => none.insert(self.make()?),
        };
        if self.version == Version::V2 {
            self.hand_controllers_on(made);
        }
        let seat = |seat: &Seat| Seat { controllers: seat.controllers.clone(), dir: seat.dir.join(name) };
        Group::create(self.version, made.seats.iter().map(seat).collect())
    }

    /// From our own group to our place, and from there to the sessions'. Asked for each time, as others may have taken
    /// them away; what is there already costs nothing.
    fn hand_controllers_on(&self, made: &mut Made) {
        for (hierarchy, seat) in self.hierarchies.iter().zip(&mut made.seats) {
            for dir in [&hierarchy.own, &seat.dir] {
                let file = dir.join("cgroup.subtree_control");
                let has = fs::read_to_string(&file).unwrap_or_default();
                let has: Vec<&str> = has.split_whitespace().collect();
                for controller in hierarchy.controllers.iter().filter(|c| !has.contains(&c.as_str())) {
                    let _ = fs::write(&file, format!("+{controller}"));
                }
            }
        }
    }

    /// At the end, when every session is gone: back to how it was found.
    pub fn leave(&self) {
        let Some(made) = self.made.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        for seat in &made.seats {
            if let (Version::V2, Some(own)) = (self.version, seat.dir.parent()) {
                self.come_back(own, &seat.dir);
            }
            for dir in inner_dirs(&seat.dir).iter().chain([&seat.dir]) {
                let _ = fs::remove_dir(dir);
            }
        }
    }

    /// Moves the daemon to where it was found, which works once nothing is handed on from there.
    fn come_back(&self, own: &Path, place: &Path) {
        if !place.join(DAEMON).exists() {
            return;
        }
        for dir in [place, own] {
            let file = dir.join("cgroup.subtree_control");
            let has = fs::read_to_string(&file).unwrap_or_default();
            for controller in has.split_whitespace() {
                let _ = fs::write(&file, format!("-{controller}"));
            }
        }
        let inside = fs::read_to_string(place.join(DAEMON).join("cgroup.procs")).unwrap_or_default();
        for pid in inside.split_whitespace() {
            let _ = fs::write(own.join("cgroup.procs"), pid);
        }
    }
}

/// The directory itself: a file cannot be made there.
fn lock(dir: &Path) -> io::Result<fs::File> {
    let file = fs::File::open(dir)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Places of daemons that are gone: whoever gets the lock knows that its owner is dead.
fn remove_dead(hierarchy: &Hierarchy) {
    let Ok(entries) = fs::read_dir(&hierarchy.own) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && entry.path().is_dir() && lock(&entry.path()).is_ok() {
            remove_tree(hierarchy.version, &hierarchy.controllers, &entry.path());
        }
    }
}

/// Ends whoever is in there, and removes it; what does not go in a while stays.
fn remove_tree(version: Version, controllers: &[String], dir: &Path) {
    for dir in inner_dirs(dir).iter().map(PathBuf::as_path).chain([dir]) {
        let group = Group::found(version, controllers, dir);
        for _ in 0..MOST_TRIES {
            if group.remove().is_ok() {
                break;
            }
            group.kill_all();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn inner_dirs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Milliseconds for the killed to be gone.
const MOST_TRIES: u32 = 100;
