//! Was it the sandbox? First what the kernel said, then what the command said.
//!
//! 1. Refused system calls are proof. Some are refused to nearly every program, which then does without: those count only
//!    for a command that failed.
//! 2. A command that failed and complained about a file: likely, if the lists forbid that file and its mode does not.
//!    That second look is what tells a sandbox from an ordinary refusal, and a phrase alone says nothing: no file, no
//!    verdict.
//!
//! What it cannot see: a command that hides its complaint, or goes on without what it was refused.

use std::path::{Path, PathBuf};

use trl_proto::sandbox::{Confidence, Denied};
use trl_sys::files::{Owner, owner_in_memory};
use trl_sys::sandbox::{Matters, Op};

use super::Policy;
use super::policy::Allowed;

/// What is known of a command that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// System calls the kernel refused it.
    pub refused: &'a [Op],
    pub exit_code: i32,
    /// The last of what it complained about.
    pub complaints: &'a [u8],
    pub working_dir: &'a Path,
}

/// A longer message is cut in its middle.
const MOST_MESSAGE: usize = 400;
/// Of the complaints this much is looked at, from the end.
const MOST_COMPLAINTS: usize = 64 * 1024;
/// 128 + SIGSYS: how a program of another architecture ends.
const BAD_CALL: i32 = 159;

/// How the kernel's refusals are put into words.
const PHRASES: [(&str, Attempt); 4] = [
    ("permission denied", Attempt::Unknown),
    ("operation not permitted", Attempt::Unknown),
    ("read-only file system", Attempt::Write),
    // What is protected is mounted on itself, and nothing can be put in its place.
    ("device or resource busy", Attempt::Write),
];
/// What is said of a file that was to be written.
const WRITING: [&str; 8] = [
    "cannot create",
    "cannot touch",
    "cannot remove",
    "cannot move",
    "cannot copy",
    "mkdir",
    "rmdir",
    "cannot write",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Write,
    Unknown,
}

/// The words of a terminal's bytes: without colours, titles and the like.
pub fn undecorated(shown: &[u8]) -> Vec<u8> {
    const ESC: u8 = 0x1b;
    const BEL: u8 = 0x07;
    let mut words = Vec::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after.first()) {
            (ESC, Some(b'[')) => beyond(&after[1..], |b| (0x40..=0x7e).contains(&b)),
            (ESC, Some(b']')) => match after.iter().position(|b| *b == BEL || *b == ESC) {
                Some(end) if after[end] == BEL => &after[end + 1..],
                // what ends it begins with an escape itself
                Some(end) => &after[end..],
                None => &[],
            },
            (ESC, _) => beyond(after, |b| !(0x20..=0x2f).contains(&b)),
            _ => {
                words.push(byte);
                after
            }
        };
    }
    words
}

fn beyond(bytes: &[u8], is_last: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|b| is_last(*b)).map_or(bytes.len(), |at| at + 1);
    &bytes[end..]
}

/// None when nothing says that it was.
pub fn judge(policy: &Policy, evidence: &Evidence<'_>) -> Option<Denied> {
    judge_with(policy, evidence, look)
}

fn judge_with(policy: &Policy, evidence: &Evidence<'_>, look: impl Fn(&Path) -> Mine) -> Option<Denied> {
    let failed = evidence.exit_code != 0;
    let first = |matters: fn(Matters) -> bool| evidence.refused.iter().find(|op| matters(op.matters()));
    if let Some(op) = first(|m| m == Matters::Always) {
        return Some(proven(op.name()));
    }
    if !failed {
        return None;
    }
    if let Some(op) = first(|m| m == Matters::ToWhoFails) {
        return Some(proven(op.name()));
    }
    if evidence.exit_code == BAD_CALL {
        return Some(proven("system-call"));
    }
    // A file it names says more than a socket that everybody tries.
    likely(policy, evidence, look).or_else(|| {
        let said = String::from_utf8_lossy(last_words(evidence.complaints)).to_ascii_lowercase();
        let complains = |op: &&Op| match op.matters() {
            Matters::ToWhoSays(words) => words.iter().any(|word| said.contains(word)),
            _ => false,
        };
        evidence.refused.iter().find(complains).map(|op| proven(op.name()))
    })
}

fn last_words(complaints: &[u8]) -> &[u8] {
    &complaints[complaints.len().saturating_sub(MOST_COMPLAINTS)..]
}

fn proven(op: &str) -> Denied {
    let message = format!("the sandbox refused this: {op}");
    Denied { confidence: Confidence::Proven, op: op.into(), path: None, message }
}

fn likely(policy: &Policy, evidence: &Evidence<'_>, look: impl Fn(&Path) -> Mine) -> Option<Denied> {
    let text = String::from_utf8_lossy(last_words(evidence.complaints));
    text.lines().rev().find_map(|line| {
        let lower = line.to_ascii_lowercase();
        let (phrase, attempt) = PHRASES.into_iter().find(|(phrase, _)| lower.contains(phrase))?;
        let writing = attempt == Attempt::Write || WRITING.iter().any(|word| lower.contains(word));
        named(line, phrase).into_iter().find_map(|name| {
            let path = absolute(evidence.working_dir, &name)?;
            let op = match (policy.about(&path), look(&path)) {
                (Allowed::Writing, _) => return None,
                (Allowed::Reading, mine) => mine.write.then_some("write")?,
                (Allowed::Nothing, mine) if writing => mine.write.then_some("write")?,
                (Allowed::Nothing, mine) => (mine.read || mine.write).then_some("open")?,
            };
            Some(Denied {
                confidence: Confidence::Likely,
                op: op.into(),
                path: Some(path.display().to_string()),
                message: shortened(line.trim()),
            })
        })
    })
}

/// What in a complaint may be the name of a file: what is quoted, and what stands before or after the phrase.
fn named(line: &str, phrase: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (open, close) in [('\'', '\''), ('"', '"'), ('‘', '’'), ('`', '\'')] {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once(open)
            && let Some((inside, beyond)) = after.split_once(close)
        {
            names.push(inside.to_string());
            rest = beyond;
        }
    }
    if let Some(at) = line.to_ascii_lowercase().find(phrase) {
        let before = line.get(..at).unwrap_or_default().trim_end_matches([':', ' ', '(', '[']);
        let last = before.rsplit(": ").next().unwrap_or_default();
        // "cannot create /x", "open /x", "/x"
        names.extend([last.to_string()]);
        names.extend(last.split_whitespace().last().map(String::from));
        let after = line.get(at + phrase.len()..).unwrap_or_default();
        names.extend(after.split_whitespace().map(|word| word.trim_matches([':', ',', ')']).to_string()));
    }
    // A lone word is the name of a program more often than that of a file.
    names.retain(|name| !name.is_empty() && (name.contains('/') || name.contains('.')));
    names
}

fn absolute(working_dir: &Path, name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in working_dir.join(name).components() {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            std::path::Component::CurDir => {}
            part => path.push(part),
        }
    }
    path.is_absolute().then_some(path)
}

/// Head and tail, with the number of bytes left out between.
fn shortened(message: &str) -> String {
    if message.len() <= MOST_MESSAGE {
        return message.to_string();
    }
    let whole = |at: &usize| message.is_char_boundary(*at);
    let head = (0..=MOST_MESSAGE / 2).rev().find(whole).unwrap_or(0);
    let tail = (message.len() - MOST_MESSAGE / 2..=message.len()).find(whole).unwrap_or(message.len());
    format!("{}[... {} bytes ...]{}", &message[..head], tail - head, &message[tail..])
}

/// What the user may do with a file, were there no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mine {
    read: bool,
    write: bool,
}

/// By what the kernel has in memory: the command chose the name, and a file system that hangs must not hold up the
/// daemon. What is not in memory may be anybody's.
fn look(path: &Path) -> Mine {
    let unknown = Mine { read: true, write: true };
    match owner_in_memory(path) {
        Ok(owner) => mine(owner),
        // what is not there is made by whoever may write to the directory
        Err(rustix::io::Errno::NOENT) => {
            let dir = path.parent().map(|dir| owner_in_memory(dir).map_or(unknown, mine));
            dir.map_or(unknown, |dir| Mine { read: false, write: dir.write })
        }
        Err(_) => unknown,
    }
}

fn mine(owner: Owner) -> Mine {
    let groups = rustix::process::getgroups().unwrap_or_default();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let in_group = gid == owner.gid || groups.iter().any(|g| g.as_raw() == owner.gid);
    let shift = match () {
        () if uid == 0 => return Mine { read: true, write: true },
        () if uid == owner.uid => 6,
        () if in_group => 3,
        () => 0,
    };
    let bits = owner.mode >> shift;
    Mine { read: bits & 4 != 0, write: bits & 2 != 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trl_proto::sandbox::{Mode, Net};

    use super::*;

    const ANYBODYS: Mine = Mine { read: true, write: true };
    const NOBODYS: Mine = Mine { read: false, write: false };

    fn policy() -> Policy {
        Policy {
            around: None,
            mode: Mode::WorkspaceWrite,
            read: vec!["/usr".into(), "/w".into()],
            write: vec!["/w".into()],
            deny: vec![],
            workspace: Some("/w".into()),
            protect: vec![".git/hooks".into()],
            private_tmp: true,
            net: Net::None,
        }
    }

    fn judged(
        code: i32,
        refused: &[Op],
        words: &str,
        mine: Mine,
    ) -> Option<(Confidence, String, Option<String>)> {
        let evidence = Evidence {
            refused,
            exit_code: code,
            complaints: words.as_bytes(),
            working_dir: Path::new("/w/sub"),
        };
        judge_with(&policy(), &evidence, |_| mine).map(|d| (d.confidence, d.op, d.path))
    }

    fn likely_about(words: &str) -> Option<String> {
        judged(1, &[], words, ANYBODYS).map(|(confidence, op, path)| {
            assert_eq!(confidence, Confidence::Likely);
            format!("{op} {}", path.unwrap())
        })
    }

    #[test]
    fn complaints_of_many_programs_are_understood() {
        for (words, expected) in [
            ("sh: 1: cannot create /etc/x: Permission denied", "write /etc/x"),
            ("bash: line 1: /home/u/x: Permission denied", "open /home/u/x"),
            ("touch: cannot touch '/etc/x': Permission denied", "write /etc/x"),
            ("cat: /home/u/.ssh/id: Permission denied", "open /home/u/.ssh/id"),
            ("cat: ../../home/u/x: Permission denied", "open /home/u/x"),
            ("PermissionError: [Errno 13] Permission denied: '/home/u/x'", "open /home/u/x"),
            ("Error: EACCES: permission denied, open '/home/u/x'", "open /home/u/x"),
            ("chmod: changing permissions of '/etc/hosts': Read-only file system", "write /etc/hosts"),
            (
                "cp: cannot create regular file '/w/.git/hooks/pre-commit': Read-only file system",
                "write /w/.git/hooks/pre-commit",
            ),
            ("mkdir: cannot create directory ‘/opt/x’: Permission denied", "write /opt/x"),
            ("touch: cannot touch '/usr/x': Permission denied\nsome more words", "write /usr/x"),
        ] {
            assert_eq!(likely_about(words).as_deref(), Some(expected), "{words}");
        }
    }

    #[test]
    fn known_false_alarms_of_phrases_are_none() {
        for (code, words) in [
            (1, "test sandbox::refuses ... FAILED"),
            (1, "the sandbox said: not in this sandbox"),
            (255, "git@host.example: Permission denied (publickey)."),
            (255, "user@10.0.0.1: Permission denied (publickey,password)."),
            (1, "permission denied"),
            (126, "sh: 1: ./script.sh: Permission denied"),
            (2, "grep: secret.txt: Permission denied"),
        ] {
            // the last two are files of the workspace, whose own mode it was
            assert_eq!(judged(code, &[], words, NOBODYS), None, "{words}");
            if !words.contains('@') {
                assert_eq!(judged(code, &[], words, ANYBODYS), None, "{words}");
            }
        }
        let shadow = "cat: /etc/shadow: Permission denied";
        assert_eq!(judged(1, &[], shadow, NOBODYS), None, "an ordinary mode");
    }

    #[test]
    fn known_misses_are_misses() {
        let words = "cat: /home/u/x: Permission denied";
        assert_eq!(judged(0, &[], words, ANYBODYS), None, "it went on without");
        assert_eq!(judged(1, &[], "", ANYBODYS), None, "it hid its complaint");
    }

    #[test]
    fn what_the_kernel_refused_is_proven() {
        let said = |code: i32, refused: &[Op], words: &str| {
            judged(code, refused, words, ANYBODYS).map(|(c, op, _)| (c, op))
        };
        let op = |code: i32, refused: &[Op]| said(code, refused, "");
        assert_eq!(op(0, &[Op::Mount]), Some((Confidence::Proven, "mount".into())));
        assert_eq!(op(1, &[Op::UnixSocket, Op::Network]), Some((Confidence::Proven, "network".into())));
        assert_eq!(op(0, &[Op::Network]), None, "it does without");
        assert_eq!(op(1, &[Op::UnixSocket]), None, "every program that looks up a user");
        let complaint = "Cannot connect to the Docker daemon";
        assert_eq!(said(1, &[Op::UnixSocket], complaint), Some((Confidence::Proven, "unix-socket".into())));
        assert_eq!(said(0, &[Op::UnixSocket], complaint), None);
        assert_eq!(op(159, &[]), Some((Confidence::Proven, "system-call".into())));
    }

    #[test]
    fn a_file_says_more_than_a_socket_everybody_tries() {
        let found = judged(1, &[Op::UnixSocket], "cat: /home/u/x: Permission denied", ANYBODYS);
        assert_eq!(found.unwrap().2.as_deref(), Some("/home/u/x"));
    }

    #[test]
    fn a_terminal_is_read_without_its_colours() {
        let shown = b"\x1b]0;title\x07\x1b[1;31mcat:\x1b[0m /home/u/x: Permission denied\r\n\x1b]8;;x\x1b\\link\x1b(B\x1b";
        let words = undecorated(shown);
        assert_eq!(String::from_utf8_lossy(&words), "cat: /home/u/x: Permission denied\r\nlink");
        assert_eq!(likely_about(&String::from_utf8_lossy(&words)).as_deref(), Some("open /home/u/x"));
    }

    #[test]
    fn a_long_message_loses_its_middle() {
        let long = format!("{}: Permission denied", "ä/".repeat(1000));
        let short = shortened(&long);
        assert!(short.len() < 450 && short.contains(" bytes ...]") && short.ends_with("Permission denied"));
    }

    proptest! {
        #[test]
        fn any_words_are_judged_without_panic(words: Vec<u8>, code: i32) {
            let evidence = Evidence { refused: &[], exit_code: code, complaints: &words, working_dir: Path::new("/w") };
            let _ = judge_with(&policy(), &evidence, |_| ANYBODYS);
        }

        #[test]
        fn any_screen_is_read(shown: Vec<u8>) {
            let words = undecorated(&shown);
            prop_assert!(words.len() <= shown.len() && !words.contains(&0x1b));
        }

        #[test]
        fn any_complaint_is_judged_without_panic(head: String, tail: String) {
            let _ = likely_about(&format!("{head}Permission denied{tail}"));
        }
    }
}
