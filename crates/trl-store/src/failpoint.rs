//! Named places where a crash test may kill the process.
//!
//! `TRL_FAILPOINT=store.request.committed` kills it the first time it comes there, `...@3` the third time. Only builds with
//! debug assertions, or with the feature `failpoints`, look at the variable; in others [`failpoint`] is nothing.
//!
//! Names are `<part>.<step>.<where>`. The store's own are `store.<step>.<where>`, where a step is the name of a write
//! (`request`, `resolve`, `claim_run`, ...) and the place one of
//! - `written`: its rows are there, but not committed;
//! - `committed`: it is on the disk, and nobody has been told.
//!
//! [`WRITES`] and [`BETWEEN`] are all there are, one between any two steps that outlive the process: a crash test goes
//! through [`places`], and a name that is not there is a mistake in the program.

/// Writes of the store.
const WRITES: &[&str] = &[
    // What a session leaves.
    "session",
    "session_update",
    "delete_session",
    // What a command leaves.
    "begin",
    "finish",
    "prune",
    // Requests, and what follows from their answers.
    "request",
    "resolve",
    "expire",
    "cancel",
    "claim_run",
    "finish_run",
    "grant",
    "take_grant",
    "drop_grants",
    // Messages to agents.
    "put_message",
    "add_update",
    "end_message",
    "put_agent",
    // All else.
    "audit",
    "trust",
    "distrust",
    "claim_key",
    "release_key",
    "flush",
    // After a start: what the process before left open.
    "settle",
];

/// Places between them.
const BETWEEN: &[&str] = &[
    // A session is up, and its record on its way.
    "session.ready",
    "session.ended",
    // A command: it is on the slate, the shell has been told, it has ended, everybody knows.
    "exec.marked",
    "exec.begun",
    "exec.ended",
    "exec.told",
    // A checkpoint: its file is whole beside its place, in its place.
    "checkpoint.written",
    "checkpoint.saved",
    // A request: it is in the store, everybody knows.
    "approval.recorded",
    "approval.announced",
    // Its answer: what it allows from now on holds, it is in the store, the session's task has heard of it.
    "approval.granted",
    "approval.settled",
    "approval.heard",
    // An "always": its file is whole beside the old one, in its place.
    "always.written",
    "always.renamed",
];

/// Every name there is.
pub fn places() -> impl Iterator<Item = String> {
    let of_write = |write: &&str| ["written", "committed"].map(|place| format!("store.{write}.{place}"));
    WRITES.iter().flat_map(of_write).chain(BETWEEN.iter().map(ToString::to_string))
}

/// Kills this process (SIGKILL) if `TRL_FAILPOINT` names the place.
#[inline]
pub fn failpoint(name: &str) {
    #[cfg(any(debug_assertions, feature = "failpoints"))]
    armed::hit(&[name]);
    #[cfg(not(any(debug_assertions, feature = "failpoints")))]
    let _ = name;
}

/// The same for a name in parts, which are joined by dots only when somebody looks.
#[inline]
pub fn failpoint_of(parts: &[&str]) {
    #[cfg(any(debug_assertions, feature = "failpoints"))]
    armed::hit(parts);
    #[cfg(not(any(debug_assertions, feature = "failpoints")))]
    let _ = parts;
}

#[cfg(any(debug_assertions, feature = "failpoints"))]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Target {
        pub(super) name: String,
        /// Which time.
        pub(super) nth: u32,
    }

    impl Target {
        pub(super) fn parse(text: &str) -> Option<Self> {
            let (name, nth) = match text.rsplit_once('@') {
                Some((name, nth)) => (name, nth.parse().ok()?),
                None => (text, 1),
            };
            (!name.is_empty() && nth > 0).then(|| Self { name: name.into(), nth })
        }
    }

    static TARGET: OnceLock<Option<Target>> = OnceLock::new();
    static HITS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn hit(parts: &[&str]) {
        let read = || std::env::var("TRL_FAILPOINT").ok().as_deref().and_then(Target::parse);
        debug_assert!(super::places().any(|place| place == parts.join(".")), "{parts:?} is not in the table");
        let Some(target) = TARGET.get_or_init(read) else { return };
        if parts.join(".") != target.name || HITS.fetch_add(1, Ordering::SeqCst) + 1 != target.nth {
            return;
        }
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may reach another thread first: nothing more happens on this one.
        loop {
            std::thread::park();
        }
    }
}

#[cfg(all(test, any(debug_assertions, feature = "failpoints")))]
mod tests {
    use super::armed::Target;

    #[test]
    fn a_target_is_a_name_and_a_count() {
        let target = |name: &str, nth| Some(Target { name: name.into(), nth });
        assert_eq!(Target::parse("store.request.written"), target("store.request.written", 1));
        assert_eq!(Target::parse("a.b@12"), target("a.b", 12));
        for bad in ["", "@2", "a@0", "a@x"] {
            assert_eq!(Target::parse(bad), None, "{bad}");
        }
    }
}
