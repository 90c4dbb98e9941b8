//! What the daemon and a keeper say to each other, over one socket pair per session.
//!
//! Daemon to keeper: [`Request`] frames with a length before them. Keeper to daemon: fixed-size [`Notice`]s.
//! The daemon closing its end means "kill everything and go".

use crate::sandbox::{Layers, Op, Plan};
use crate::tree::Proc;

/// What the daemon asks of a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Spawn(Box<Spawn>),
    /// Enter these control groups, named by the files that take who enters: all that is spawned later is in them too.
    Enter(Vec<Vec<u8>>),
    /// Kill this process and say nothing of its end. The keeper is its parent, or near enough to know it for sure.
    Drop(Proc),
}

/// Start a program below the keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spawn {
    pub argv: Vec<Vec<u8>>,
    /// `KEY=value` items.
    pub env: Vec<Vec<u8>>,
    pub cwd: Vec<u8>,
    /// Paths opened as stdin, stdout and stderr.
    pub stdio: [Vec<u8>; 3],
    /// Removed, with all that is in it, when the keeper ends.
    pub session_dir: Vec<u8>,
    /// The permissions its files are made without.
    pub umask: u32,
    /// RLIMIT_NOFILE of the program.
    pub open_files: (u64, u64),
    /// Further limits of each of its processes.
    pub rlimits: Vec<(Resource, u64)>,
    /// Whether the program may lead its process group.
    pub group: Group,
    /// `stdio` is a terminal, and the program's controlling one.
    pub terminal: bool,
    /// The boundary around it.
    pub sandbox: Option<Box<Plan>>,
    /// The files it must still find.
    pub pin: Option<Box<Pin>>,
}

/// Files that were approved together with a program. The program is started only while they are what they were then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    /// The first is the program: `argv[0]`.
    pub files: Vec<PinnedFile>,
    /// The working directory.
    pub dir: Option<Inode>,
    /// The program names an interpreter, so the kernel has to find both by their paths.
    pub is_script: bool,
}

/// A path, and the state of the file that it must lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    pub path: Vec<u8>,
    pub stamp: Stamp,
}

/// Which file or directory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode {
    pub dev: u64,
    pub ino: u64,
}

/// Which file it is, and since when it has been as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub inode: Inode,
    pub size: u64,
    /// Seconds and nanoseconds of its last change.
    pub changed: (i64, i64),
}

/// What a process may use of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Resource {
    /// Bytes of a file it makes.
    FileSize = 1,
    /// Processes and threads of its user, everywhere. Left out where the user has more already.
    Tasks = 2,
}

impl Resource {
    fn from_raw(raw: u32) -> Option<Self> {
        [Self::FileSize, Self::Tasks].into_iter().find(|resource| *resource as u32 == raw)
    }
}

/// Who leads the process group a program runs in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Group {
    /// The program itself.
    #[default]
    Leads,
    /// A process that is gone: ksh93 answers TERM by signalling the group it leads, older background jobs included.
    Follows,
}

/// A frame longer than this is a bug or an attack.
pub const MAX_FRAME: usize = 64 << 20;

impl Request {
    /// The frame, its length first.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = vec![0; 4];
        match self {
            Self::Spawn(spawn) => {
                body.push(0);
                spawn.put_into(&mut body);
            }
            Self::Enter(groups) => {
                body.push(2);
                put_list(&mut body, groups);
            }
            Self::Drop(proc) => {
                body.push(1);
                body.extend(proc.pid.to_le_bytes());
                body.extend(proc.start.to_le_bytes());
            }
        }
        let len = u32::try_from(body.len() - 4).unwrap_or(u32::MAX);
        body[..4].copy_from_slice(&len.to_le_bytes());
        body
    }

    /// The frame's body, without its length. None when it is not one.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let rest = &mut rest;
        let request = match take_bytes(rest, 1)? {
            [0] => Self::Spawn(Box::new(Spawn::take_from(rest)?)),
            [2] => Self::Enter(take_list(rest)?),
            _ => Self::Drop(Proc { pid: take_u32(rest)?.cast_signed(), start: take_u64(rest)? }),
        };
        rest.is_empty().then_some(request)
    }
}

impl Spawn {
    fn put_into(&self, body: &mut Vec<u8>) {
        put_list(body, &self.argv);
        put_list(body, &self.env);
        put(body, &self.cwd);
        for path in &self.stdio {
            put(body, path);
        }
        put(body, &self.session_dir);
        body.extend(self.umask.to_le_bytes());
        body.extend(self.open_files.0.to_le_bytes());
        body.extend(self.open_files.1.to_le_bytes());
        body.extend(u32::try_from(self.rlimits.len()).unwrap_or(u32::MAX).to_le_bytes());
        for (resource, most) in &self.rlimits {
            body.extend((*resource as u32).to_le_bytes());
            body.extend(most.to_le_bytes());
        }
        body.push(u8::from(self.group == Group::Follows));
        body.push(u8::from(self.terminal));
        body.push(u8::from(self.sandbox.is_some()));
        if let Some(plan) = &self.sandbox {
            plan.put_into(body);
        }
        body.push(u8::from(self.pin.is_some()));
        if let Some(pin) = &self.pin {
            pin.put_into(body);
        }
    }

    fn take_from(rest: &mut &[u8]) -> Option<Self> {
        Some(Self {
            argv: take_list(rest)?,
            env: take_list(rest)?,
            cwd: take(rest)?,
            stdio: [take(rest)?, take(rest)?, take(rest)?],
            session_dir: take(rest)?,
            umask: take_u32(rest)?,
            open_files: (take_u64(rest)?, take_u64(rest)?),
            rlimits: {
                let count = take_u32(rest)?;
                (0..count)
                    .map(|_| Some((Resource::from_raw(take_u32(rest)?)?, take_u64(rest)?)))
                    .collect::<Option<_>>()?
            },
            group: match take_bytes(rest, 1)? {
                [0] => Group::Leads,
                _ => Group::Follows,
            },
            terminal: take_bytes(rest, 1)? != [0],
            sandbox: match take_bytes(rest, 1)? {
                [0] => None,
                _ => Some(Box::new(Plan::take_from(rest)?)),
            },
            pin: match take_bytes(rest, 1)? {
                [0] => None,
                _ => Some(Box::new(Pin::take_from(rest)?)),
            },
        })
    }
}

impl Pin {
    fn put_into(&self, body: &mut Vec<u8>) {
        body.push(u8::from(self.is_script));
        body.extend(u32::try_from(self.files.len()).unwrap_or(u32::MAX).to_le_bytes());
        for PinnedFile { path, stamp } in &self.files {
            put(body, path);
            stamp.inode.put_into(body);
            body.extend(stamp.size.to_le_bytes());
            body.extend(stamp.changed.0.to_le_bytes());
            body.extend(stamp.changed.1.to_le_bytes());
        }
        body.push(u8::from(self.dir.is_some()));
        if let Some(dir) = self.dir {
            dir.put_into(body);
        }
    }

    fn take_from(rest: &mut &[u8]) -> Option<Self> {
        let is_script = take_bytes(rest, 1)? != [0];
        let count = take_u32(rest)?;
        let files = (0..count).map(|_| PinnedFile::take_from(rest)).collect::<Option<_>>()?;
        let dir = match take_bytes(rest, 1)? {
            [0] => None,
            _ => Some(Inode::take_from(rest)?),
        };
        Some(Self { files, dir, is_script })
    }
}

impl PinnedFile {
    fn take_from(rest: &mut &[u8]) -> Option<Self> {
        let path = take(rest)?;
        let (inode, size) = (Inode::take_from(rest)?, take_u64(rest)?);
        let changed = (take_u64(rest)?.cast_signed(), take_u64(rest)?.cast_signed());
        Some(Self { path, stamp: Stamp { inode, size, changed } })
    }
}

impl Inode {
    fn put_into(self, body: &mut Vec<u8>) {
        body.extend(self.dev.to_le_bytes());
        body.extend(self.ino.to_le_bytes());
    }

    fn take_from(rest: &mut &[u8]) -> Option<Self> {
        Some(Self { dev: take_u64(rest)?, ino: take_u64(rest)? })
    }
}

pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(bytes);
}

pub(crate) fn put_list(out: &mut Vec<u8>, items: &[Vec<u8>]) {
    out.extend(u32::try_from(items.len()).unwrap_or(u32::MAX).to_le_bytes());
    for item in items {
        put(out, item);
    }
}

pub(crate) fn take_bytes<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take_bytes(rest, 4)?.try_into().ok()?))
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take_bytes(rest, 8)?.try_into().ok()?))
}

pub(crate) fn take(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let len = usize::try_from(take_u32(rest)?).ok()?;
    Some(take_bytes(rest, len)?.to_vec())
}

pub(crate) fn take_list(rest: &mut &[u8]) -> Option<Vec<Vec<u8>>> {
    let count = take_u32(rest)?;
    (0..count).map(|_| take(rest)).collect()
}

/// Where starting a program went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Stage {
    Fork = 1,
    OpenFiles = 2,
    Chdir = 3,
    Stdio = 4,
    Exec = 5,
    Request = 6,
    Limits = 7,
    /// A file or the directory is not what was approved.
    Pinned = 8,
    Namespaces = 20,
    Network = 21,
    Mounts = 22,
    Protect = 23,
    Landlock = 24,
    Privileges = 25,
    Seccomp = 26,
}

impl Stage {
    const ALL: [Self; 15] = [
        Self::Fork,
        Self::OpenFiles,
        Self::Chdir,
        Self::Stdio,
        Self::Exec,
        Self::Request,
        Self::Limits,
        Self::Pinned,
        Self::Namespaces,
        Self::Network,
        Self::Mounts,
        Self::Protect,
        Self::Landlock,
        Self::Privileges,
        Self::Seccomp,
    ];

    /// Whether it is the boundary that could not be had.
    pub fn is_of_sandbox(self) -> bool {
        self as i32 >= Self::Namespaces as i32
    }

    pub(crate) fn from_raw(raw: i32) -> Self {
        Self::ALL.into_iter().find(|s| *s as i32 == raw).unwrap_or(Self::Request)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::OpenFiles => "open-files limit",
            Self::Chdir => "chdir",
            Self::Stdio => "stdio",
            Self::Exec => "exec",
            Self::Request => "request",
            Self::Limits => "limits",
            Self::Pinned => "pinned",
            Self::Namespaces => "namespaces",
            Self::Network => "network",
            Self::Mounts => "mounts",
            Self::Protect => "protect",
            Self::Landlock => "landlock",
            Self::Privileges => "privileges",
            Self::Seccomp => "seccomp",
        }
    }
}

/// What a keeper tells the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The keeper is up.
    Hello {
        keeper: i32,
    },
    Started {
        pid: i32,
        /// What of its sandbox could not be had.
        missing: Layers,
    },
    Failed {
        stage: Stage,
        errno: i32,
    },
    /// A direct child or an adopted orphan ended.
    Exited {
        pid: i32,
        exit: crate::reap::Exit,
    },
    /// A sandboxed process tried this, and was refused.
    Refused {
        pid: i32,
        op: Op,
    },
    /// Something was made inside a sandbox that runs programs outside. So many bytes of text follow: its path, then why,
    /// with NUL between.
    Made {
        length: u32,
    },
}

/// A longer text after a notice is none.
pub const MAX_TEXT: usize = 8192;

/// Bytes of an encoded notice.
pub const NOTICE_LEN: usize = 16;

impl Notice {
    /// The notice before this text; None when that is too long.
    pub fn made(text: &[u8]) -> Option<Self> {
        let length = u32::try_from(text.len()).ok()?;
        (text.len() <= MAX_TEXT).then_some(Self::Made { length })
    }

    pub fn encode(self) -> [u8; NOTICE_LEN] {
        use crate::reap::Exit;
        let words: [i32; 4] = match self {
            Self::Hello { keeper } => [1, keeper, 0, 0],
            Self::Started { pid, missing } => [2, pid, missing.bits(), 0],
            Self::Failed { stage, errno } => [3, stage as i32, errno, 0],
            Self::Exited { pid, exit: Exit::Code(code) } => [4, pid, 0, code],
            Self::Exited { pid, exit: Exit::Signal(signal) } => [4, pid, 1, signal],
            Self::Refused { pid, op } => [5, pid, op as i32, 0],
            Self::Made { length } => [6, length.cast_signed(), 0, 0],
        };
        let mut out = [0; NOTICE_LEN];
        for (slot, word) in out.chunks_exact_mut(4).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    pub fn decode(bytes: &[u8; NOTICE_LEN]) -> Option<Self> {
        use crate::reap::Exit;
        let word = |i: usize| {
            i32::from_le_bytes([bytes[i * 4], bytes[i * 4 + 1], bytes[i * 4 + 2], bytes[i * 4 + 3]])
        };
        Some(match (word(0), word(2)) {
            (1, _) => Self::Hello { keeper: word(1) },
            (2, missing) => Self::Started { pid: word(1), missing: Layers::from_bits(missing) },
            (3, errno) => Self::Failed { stage: Stage::from_raw(word(1)), errno },
            (4, 0) => Self::Exited { pid: word(1), exit: Exit::Code(word(3)) },
            (4, 1) => Self::Exited { pid: word(1), exit: Exit::Signal(word(3)) },
            (5, op) => Self::Refused { pid: word(1), op: Op::from_raw(op)? },
            (6, _) => {
                let length = u32::try_from(word(1)).ok()?;
                (length as usize <= MAX_TEXT).then_some(Self::Made { length })?
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reap::Exit;
    use crate::sandbox::{Effort, Net};

    #[test]
    fn a_dropped_process_round_trips() {
        let request = Request::Drop(Proc { pid: 12, start: u64::MAX });
        assert_eq!(Request::decode(&request.encode()[4..]), Some(request));
    }

    #[test]
    fn groups_to_enter_round_trip() {
        let request = Request::Enter(vec![b"/sys/fs/cgroup/x/cgroup.procs".to_vec(), Vec::new()]);
        assert_eq!(Request::decode(&request.encode()[4..]), Some(request));
    }

    #[test]
    fn notices_round_trip() {
        for notice in [
            Notice::Hello { keeper: 7 },
            Notice::Started { pid: 8, missing: Layers::default() },
            Notice::Refused { pid: 9, op: Op::Mount },
            Notice::Failed { stage: Stage::Exec, errno: 2 },
            Notice::Exited { pid: 9, exit: Exit::Code(3) },
            Notice::Exited { pid: 9, exit: Exit::Signal(15) },
            Notice::Made { length: 8192 },
        ] {
            assert_eq!(Notice::decode(&notice.encode()), Some(notice));
        }
    }

    proptest! {
        #[test]
        fn spawn_frames_round_trip(
            argv: Vec<Vec<u8>>, env: Vec<Vec<u8>>, cwd: Vec<u8>, stdio: [Vec<u8>; 3], dir: Vec<u8>, umask: u32, limit: (u64, u64), follows: bool, terminal: bool, most: Option<u64>, lists: [Vec<Vec<u8>>; 5], best: bool,
            pinned: Option<(Vec<(Vec<u8>, u64, i64)>, Option<u64>, bool)>,
        ) {
            let rlimits = most.into_iter().flat_map(|n| [(Resource::FileSize, n), (Resource::Tasks, n)]).collect();
            let group = if follows { Group::Follows } else { Group::Leads };
            let [read, write, open, deny, protect] = lists;
            let (net, effort) = if best { (Net::Loopback, Effort::Best) } else { (Net::All, Effort::Full) };
            let workspace = read.first().cloned().filter(|w| !w.is_empty());
            let plan = Plan { read, write, open, deny, protect, net, effort, tmp_dir: workspace.clone(), workspace };
            let sandbox = (!terminal).then_some(Box::new(plan));
            let pin = pinned.map(|(files, dir, is_script)| {
                let inode = |n| Inode { dev: n, ino: !n };
                let file = |(path, n, t)| PinnedFile { path, stamp: Stamp { inode: inode(n), size: n, changed: (t, !t) } };
                Box::new(Pin { files: files.into_iter().map(file).collect(), dir: dir.map(inode), is_script })
            });
            let request = Request::Spawn(Box::new(Spawn { argv, env, cwd, stdio, session_dir: dir, umask, open_files: limit, rlimits, group, terminal, sandbox, pin }));
            let frame = request.encode();
            prop_assert_eq!(frame.len() - 4, u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize);
            prop_assert_eq!(Request::decode(&frame[4..]), Some(request));
        }

        #[test]
        fn garbage_is_refused_not_believed(bytes: Vec<u8>) {
            let _ = Request::decode(&bytes);
        }
    }
}
