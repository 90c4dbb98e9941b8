//! What is to be enforced: plain lists, made by the daemon and carried over the keeper's link.

use crate::link::{put, put_list, take, take_bytes, take_list};

/// A boundary. Paths are absolute and without links; what does not exist is skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// May be read and executed, with everything below.
    pub read: Vec<Vec<u8>>,
    /// May be changed as well.
    pub write: Vec<Vec<u8>>,
    /// Pipes and devices: may be opened as they are, and nothing is made or removed.
    pub open: Vec<Vec<u8>>,
    /// Within none of the lists above but where one of them names it, or something below it, itself.
    pub deny: Vec<Vec<u8>>,
    /// One of `write`, in which names stay as they are.
    pub workspace: Option<Vec<u8>>,
    /// Those names: below the workspace, or in every git directory of it when they begin with `.git/`.
    pub protect: Vec<Vec<u8>>,
    /// One of `write`, removed when the keeper ends.
    pub tmp_dir: Option<Vec<u8>>,
    pub net: Net,
    pub effort: Effort,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Net {
    #[default]
    None,
    /// A loopback of its own.
    Loopback,
    All,
}

/// What a layer means that cannot be had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effort {
    /// The program does not start.
    #[default]
    Full,
    /// It starts without, and the daemon is told.
    Best,
}

/// One thing that is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Layer {
    /// Files are read and written only where allowed.
    Files = 1,
    /// Modes, owners, times and attributes of other files stay as they are.
    Metadata = 2,
    /// Names in the workspace that stay as they are.
    Protected = 4,
    Network = 8,
    /// No connection to any Unix socket.
    UnixSockets = 16,
    /// No signal to anybody outside.
    Signals = 32,
    /// No shared memory, semaphores or queues with anybody outside.
    Ipc = 64,
    /// System calls that open a way out.
    Syscalls = 128,
    /// No capabilities, and no way to get any.
    Privileges = 256,
}

impl Layer {
    pub const ALL: [Self; 9] = [
        Self::Files,
        Self::Metadata,
        Self::Protected,
        Self::Network,
        Self::UnixSockets,
        Self::Signals,
        Self::Ipc,
        Self::Syscalls,
        Self::Privileges,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Metadata => "metadata",
            Self::Protected => "protected",
            Self::Network => "network",
            Self::UnixSockets => "unix-sockets",
            Self::Signals => "signals",
            Self::Ipc => "ipc",
            Self::Syscalls => "syscalls",
            Self::Privileges => "privileges",
        }
    }
}

/// A set of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layers(u32);

impl Layers {
    pub fn has(self, layer: Layer) -> bool {
        self.0 & layer as u32 != 0
    }

    pub fn add(&mut self, layer: Layer) {
        self.0 |= layer as u32;
    }

    pub(crate) fn bits(self) -> i32 {
        self.0.cast_signed()
    }

    pub(crate) fn from_bits(bits: i32) -> Self {
        Self(bits.cast_unsigned())
    }

    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.has(*layer))
    }
}

impl Plan {
    /// What this plan asks for.
    pub fn layers(&self) -> Layers {
        let mut wanted = Layers::default();
        let asked = |layer: &Layer| match layer {
            Layer::Protected => self.workspace.is_some() && !self.protect.is_empty(),
            Layer::Network => self.net != Net::All,
            _ => true,
        };
        Layer::ALL.into_iter().filter(asked).for_each(|layer| wanted.add(layer));
        wanted
    }

    pub(crate) fn put_into(&self, body: &mut Vec<u8>) {
        for list in [&self.read, &self.write, &self.open, &self.deny, &self.protect] {
            put_list(body, list);
        }
        for path in [&self.workspace, &self.tmp_dir] {
            put(body, path.as_deref().unwrap_or_default());
        }
        body.push(match self.net {
            Net::None => 0,
            Net::Loopback => 1,
            Net::All => 2,
        });
        body.push(u8::from(self.effort == Effort::Best));
    }

    pub(crate) fn take_from(rest: &mut &[u8]) -> Option<Self> {
        let some = |path: Vec<u8>| (!path.is_empty()).then_some(path);
        Some(Self {
            read: take_list(rest)?,
            write: take_list(rest)?,
            open: take_list(rest)?,
            deny: take_list(rest)?,
            protect: take_list(rest)?,
            workspace: some(take(rest)?),
            tmp_dir: some(take(rest)?),
            net: match take_bytes(rest, 1)? {
                [0] => Net::None,
                [1] => Net::Loopback,
                _ => Net::All,
            },
            effort: if take_bytes(rest, 1)? == [0] { Effort::Full } else { Effort::Best },
        })
    }
}
