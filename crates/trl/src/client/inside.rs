//! Whether this process runs inside a session: a keeper is among its ancestors.

use std::fs;

use trl_sys::keeper::PROCESS_NAME;

/// Does this process belong to a session of some daemon?
pub(super) fn in_session() -> bool {
    let keeper = PROCESS_NAME.to_bytes();
    let mut pid = std::process::id();
    while pid > 1 {
        if fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_ascii_end() == keeper) {
            return true;
        }
        match parent(pid) {
            Some(parent) => pid = parent,
            None => return false,
        }
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parent_in(&stat)
}

/// `PID (COMM) STATE PPID ...`, where COMM may hold spaces and brackets.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("12 (a) b) (c) S 7 12 12"), Some(7));
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
    }
}
