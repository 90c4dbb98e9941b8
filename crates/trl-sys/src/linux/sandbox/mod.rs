//! A boundary around one program and all it starts, enforced by Linux.
//!
//! The daemon makes a [`Plan`]; the process that is to become the program carries it out just before its exec, so that
//! there is no launcher in between and nothing outside changes ([`Boundary`] has both sides of it):
//!
//! 1. [`Protected::find`] (in the keeper): what in the workspace must not be written to.
//! 2. [`enter`]: namespaces; everything read-only but what may be written; the private loopback.
//! 3. [`confine`]: Landlock, capabilities, system calls. What this cannot do any more, nothing can undo.
//! 4. [`watch`] (in the keeper): each refused system call is told, which is how a denial is proven.
//! 5. [`made`] (in the keeper, at the end): which git directories a program has made that run programs of its choice.
//!
//! A layer that this kernel does not give is a [`Failure`], or one of [`Layers`] that are missing when the plan says so.

mod boundary;
mod hold;
mod landlock;
mod made;
mod mounts;
mod offer;
mod privileges;
mod protect;
mod seccomp;
mod watch;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

pub(crate) use self::boundary::Boundary;
pub use self::landlock::abi;
pub use self::offer::missing;
pub(crate) use self::protect::Protected;
pub(crate) use self::watch::answer;
use crate::link::Stage;
use crate::sandbox::{Effort, Layer, Layers, Net, Plan};
use crate::spawn::Failure;

/// Where refused calls of a sandboxed program are heard of.
pub(crate) type Ear = OwnedFd;

/// The result of a system call that gives a number or sets `errno`.
fn check(result: libc::c_long) -> Result<libc::c_long, i32> {
    if result < 0 { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)) } else { Ok(result) }
}

/// The place at a path that had no links in it when the plan was made. Were there one now, somebody who may write on the
/// way would have led us elsewhere.
fn place(path: &Path) -> Result<OwnedFd, i32> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(rustix::io::Errno::raw_os_error)
}

/// The same, for what may be a link itself.
fn spot(path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The mounts a process sees, which are there for as long as this is open.
pub(crate) fn mounts_of(pid: i32) -> Option<File> {
    File::open(format!("/proc/{pid}/ns/mnt")).ok()
}

/// What has been made of a plan so far.
#[derive(Debug, Default)]
struct Made {
    missing: Layers,
    /// Whether this process has an IPC namespace of its own.
    private_ipc: bool,
    /// Devices that are its own: to be opened, and to be written to as a directory is.
    own_terminals: bool,
    own_memory: bool,
}

impl Made {
    /// Goes on without these layers, if that is allowed.
    fn do_without(&mut self, layers: &[Layer], plan: &Plan, stage: Stage, errno: i32) -> Result<(), Failure> {
        let wanted: Vec<Layer> = layers.iter().copied().filter(|l| plan.layers().has(*l)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if plan.effort == Effort::Full {
            return Err(Failure { stage, errno });
        }
        wanted.into_iter().for_each(|layer| self.missing.add(layer));
        Ok(())
    }
}

/// Namespaces and mounts. The working directory is to be entered anew after it.
fn enter(plan: &Plan, protected: &Protected) -> Result<Made, Failure> {
    let mut made = Made::default();
    privileges::gain_no_more().map_err(|errno| Failure { stage: Stage::Privileges, errno })?;
    match mounts::separate(plan.net) {
        Ok(()) => made.private_ipc = true,
        Err(errno) => {
            let lost: &[Layer] = match plan.net {
                Net::Loopback => &[Layer::Metadata, Layer::Protected, Layer::Network],
                Net::None | Net::All => &[Layer::Metadata, Layer::Protected],
            };
            made.do_without(lost, plan, Stage::Namespaces, errno)?;
            return Ok(made);
        }
    }
    if plan.net == Net::Loopback
        && let Err(errno) = mounts::raise_loopback()
    {
        made.do_without(&[Layer::Network], plan, Stage::Network, errno)?;
    }
    match mounts::make_read_only(&plan.write) {
        Ok(()) => {
            own_devices(plan, &mut made)?;
            if let Err(errno) = mounts::protect(protected) {
                made.do_without(&[Layer::Protected], plan, Stage::Protect, errno)?;
            }
        }
        Err(errno) => {
            made.do_without(&[Layer::Metadata, Layer::Protected], plan, Stage::Mounts, errno)?;
        }
    }
    if protected.incomplete {
        made.do_without(&[Layer::Protected], plan, Stage::Protect, libc::ELOOP)?;
    }
    Ok(made)
}

/// Terminals and shared memory as programs expect them. What cannot be had is not there, which is no hole.
fn own_devices(plan: &Plan, made: &mut Made) -> Result<(), Failure> {
    let below = |list: &[Vec<u8>], dir: &str| list.iter().any(|path| path.starts_with(dir.as_bytes()));
    if !below(&plan.open, "/dev/pts/") {
        made.own_terminals = mounts::renew_terminals().is_ok();
    }
    let used = below(&plan.read, mounts::SHARED_MEMORY) || below(&plan.write, mounts::SHARED_MEMORY);
    if plan.tmp_dir.is_some() && !used && Path::new(mounts::SHARED_MEMORY).is_dir() {
        // Half of it done would hide the program's own pipes.
        mounts::renew_memory(&plan.open).map_err(|errno| Failure { stage: Stage::Mounts, errno })?;
        made.own_memory = true;
    }
    Ok(())
}

/// What cannot be taken back: returns the ear for refused system calls, to be handed to the keeper.
fn confine(plan: &Plan, made: &mut Made) -> Result<Option<OwnedFd>, Failure> {
    match landlock::restrict(plan, made.own_terminals, made.own_memory) {
        Ok(abi) => {
            if abi < landlock::WITH_TRUNCATE && made.missing.has(Layer::Metadata) {
                made.do_without(&[Layer::Files], plan, Stage::Landlock, libc::EOPNOTSUPP)?;
            }
            if abi < landlock::WITH_SCOPES {
                made.do_without(&[Layer::Signals], plan, Stage::Landlock, libc::EOPNOTSUPP)?;
            }
        }
        Err(errno) => {
            made.do_without(&[Layer::Files, Layer::Signals], plan, Stage::Landlock, errno)?;
        }
    }
    privileges::drop_all().map_err(|errno| Failure { stage: Stage::Privileges, errno })?;
    // Without a network of its own the only loopback is everybody's: none is better than that.
    let net = if made.missing.has(Layer::Network) { Net::None } else { plan.net };
    match seccomp::install(net, made.private_ipc) {
        Ok(ear) => Ok(ear),
        Err(errno) => {
            let lost = [Layer::Network, Layer::UnixSockets, Layer::Ipc, Layer::Syscalls];
            made.do_without(&lost, plan, Stage::Seccomp, errno).map(|()| None)
        }
    }
}
