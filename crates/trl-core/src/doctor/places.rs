//! Directories, descriptors and memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trl_proto::doctor::{Finding, Health};
use trl_proto::runtime::{HOST, RuntimeState};
use trl_sys::machine;

use super::{info, size};
use crate::descriptors::{FEWEST, Shares};

/// Less than this is soon nothing.
const LITTLE: u64 = 256 << 20;

/// A directory that should be private: does it exist, whose is it, is there room?
pub fn private_dir(id: &str, title: &str, dir: &Path) -> Finding {
    let row = |status, value: String| Finding::new(id, title, status, value);
    let shown = dir.display();
    let meta = match fs::symlink_metadata(dir) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return info(id, title, format!("{shown}: not made yet"));
        }
        Err(e) => return row(Health::Bad, format!("{shown}: {e}")),
    };
    let mode = meta.mode() & 0o777;
    let free = machine::free_bytes(dir).unwrap_or(0);
    let medium = if machine::is_in_memory(dir) { "in memory" } else { "on disk" };
    let value = format!("{shown}: mode {mode:04o}, {medium}, {} free", size(free));
    if !meta.is_dir() {
        row(Health::Bad, format!("{shown}: not a directory"))
    } else if meta.uid() != machine::effective_uid() {
        row(Health::Bad, value).hint(format!("it belongs to user {}", meta.uid()))
    } else if mode & 0o077 != 0 {
        row(Health::Warn, value).hint(format!("others can look into it: chmod 0700 {shown}"))
    } else if free < LITTLE {
        row(Health::Warn, value).hint("there is little room left")
    } else {
        row(Health::Ok, value)
    }
}

/// Where session directories are.
pub fn runtime_dir(dir: &Path) -> Finding {
    let row = private_dir("runtime_dir", "Runtime directory", dir);
    match (row.status, machine::is_in_memory(dir)) {
        (Health::Ok, false) => Finding { status: Health::Warn, ..row }
            .hint("commands are slower on a disk: set runtime_dir to a directory on tmpfs"),
        _ => row,
    }
}

/// Where sessions can live, by name. Nobody is asked whether it is there: that is what `runtime.health` does.
pub fn runtimes(known: impl Iterator<Item = (String, RuntimeState)>) -> Finding {
    let (id, title) = ("runtimes", "Runtimes");
    let elsewhere: Vec<_> = known.filter(|(name, _)| name != HOST).collect();
    if elsewhere.is_empty() {
        return info(id, title, "this machine");
    }
    let named = elsewhere.iter().map(|(name, state)| format!("{name} ({})", state.name()));
    let value = format!("this machine, {}", named.collect::<Vec<_>>().join(", "));
    let lost = elsewhere.iter().find(|(_, state)| *state == RuntimeState::Waiting);
    match lost {
        None => info(id, title, value),
        Some((name, _)) => Finding::new(id, title, Health::Warn, value)
            .hint(format!("the connection was lost: `trl runtime get {name}` says why")),
    }
}

/// How many descriptors there may be, and what they suffice for.
pub fn descriptors(usable: u64) -> Finding {
    let sessions = Shares::of(usable).sessions;
    let value = format!("{usable} open files: enough for {sessions} sessions");
    let row = |status| Finding::new("open_files", "Descriptors", status, value.clone());
    if usable < FEWEST {
        row(Health::Bad)
            .hint(format!("at least {FEWEST} are needed: ulimit -n, or LimitNOFILE= of the service"))
    } else if sessions < 256 {
        row(Health::Warn).hint("raise the hard limit: ulimit -Hn, or LimitNOFILE= of the service")
    } else {
        row(Health::Ok)
    }
}

/// Memory that is left, against what new sessions are refused below.
pub fn memory(min_free: u64) -> Finding {
    let available = machine::available_memory_bytes().unwrap_or(0);
    let value = format!("{} available; no new sessions below {}", size(available), size(min_free));
    let status = match available {
        free if free < min_free => Health::Bad,
        free if free < min_free.max(LITTLE) * 2 => Health::Warn,
        _ => Health::Ok,
    };
    let row = Finding::new("memory", "Memory", status, value);
    if status == Health::Ok { row } else { row.hint("end sessions or other programs") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_open_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let status = |mode: u32| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            private_dir("x", "x", dir.path()).status
        };
        assert_eq!(status(0o755), Health::Warn);
        assert_ne!(status(0o700), Health::Bad);
        assert_eq!(private_dir("x", "x", &dir.path().join("none")).status, Health::Info);
    }

    #[test]
    fn few_descriptors_are_bad_and_many_are_well() {
        assert_eq!(descriptors(64).status, Health::Bad);
        assert_eq!(descriptors(1024).status, Health::Warn);
        assert_eq!(descriptors(1 << 20).status, Health::Ok);
    }

    #[test]
    fn runtimes_are_named_with_their_states_and_a_lost_one_is_a_warning() {
        let row = |known: &[(&str, RuntimeState)]| {
            runtimes(known.iter().map(|(name, state)| (name.to_string(), *state)))
        };
        let host = (HOST, RuntimeState::Up);
        assert_eq!(row(&[host]).value, "this machine");
        let well = row(&[host, ("box", RuntimeState::Idle)]);
        assert_eq!((well.status, well.value.as_str()), (Health::Info, "this machine, box (idle)"));
        let lost = row(&[host, ("box", RuntimeState::Up), ("far", RuntimeState::Waiting)]);
        assert!(lost.status == Health::Warn && lost.hint.unwrap().contains("trl runtime get far"));
    }
}
