//! What sandboxed programs try that is refused, by name: what the daemon hears of, whichever kernel says it.

/// What somebody tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Op {
    UnixSocket,
    Network,
    OtherSocket,
    Trace,
    Mount,
    Namespace,
    IoUring,
    Keys,
    Bpf,
    FaultHandling,
    Profiling,
    Machine,
    TerminalInput,
    OthersMemory,
    FileHandle,
    Ipc,
    Personality,
    OthersLimits,
    SetUid,
}

/// To whom a refusal matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matters {
    Always,
    /// Programs look whether there is a network, and do without.
    ToWhoFails,
    /// Nearly every program tries: the C library asks a name service by a socket before it reads a file, event loops look
    /// whether there is an io_uring, threads set their own priorities. Who could not do without fails, and says so.
    ToWhoSays(&'static [&'static str]),
}

impl Op {
    pub(crate) const ALL: [Self; 19] = [
        Self::UnixSocket,
        Self::Network,
        Self::OtherSocket,
        Self::Trace,
        Self::Mount,
        Self::Namespace,
        Self::IoUring,
        Self::Keys,
        Self::Bpf,
        Self::FaultHandling,
        Self::Profiling,
        Self::Machine,
        Self::TerminalInput,
        Self::OthersMemory,
        Self::FileHandle,
        Self::Ipc,
        Self::Personality,
        Self::OthersLimits,
        Self::SetUid,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::UnixSocket => "unix-socket",
            Self::Network => "network",
            Self::OtherSocket => "socket",
            Self::Trace => "ptrace",
            Self::Mount => "mount",
            Self::Namespace => "namespace",
            Self::IoUring => "io-uring",
            Self::Keys => "keyring",
            Self::Bpf => "bpf",
            Self::FaultHandling => "userfaultfd",
            Self::Profiling => "perf",
            Self::Machine => "machine",
            Self::TerminalInput => "terminal-input",
            Self::OthersMemory => "process-memory",
            Self::FileHandle => "file-handle",
            Self::Ipc => "ipc",
            Self::Personality => "personality",
            Self::OthersLimits => "process-limits",
            Self::SetUid => "set-uid",
        }
    }

    /// What a refusal says about the program that met it.
    pub fn matters(self) -> Matters {
        match self {
            Self::UnixSocket => Matters::ToWhoSays(&["socket", "connect", "d-bus", "dbus", "display"]),
            Self::IoUring => Matters::ToWhoSays(&["io_uring"]),
            Self::Personality => Matters::ToWhoSays(&["personality"]),
            Self::OthersLimits => Matters::ToWhoSays(&["priority", "affinity", "limit", "scheduler", "nice"]),
            Self::Network | Self::OtherSocket => Matters::ToWhoFails,
            _ => Matters::Always,
        }
    }

    pub(crate) fn from_raw(raw: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|op| *op as i32 == raw)
    }
}
