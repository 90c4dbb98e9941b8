//! What a sandbox means: from a mode to lists of paths, and from what a command said to what was refused.
//!
//! 1. [`policy`] is pure: mode, workspace and settings to a [`Policy`], or why that cannot be.
//! 2. A [`Sandbox`] is the policy of one session or terminal, with what is known of its enforcement.
//! 3. `trl_sys::sandbox` carries it out, between the fork and the exec of the program.
//! 4. [`denial`] judges whether it was the sandbox that made a command fail.

pub mod denial;
mod homes;
pub mod policy;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trl_proto::event::Happening;
use trl_proto::sandbox::{Mode, Net, SandboxParams, SandboxReport};
use trl_proto::{Error, SessionId, TerminalId};
use trl_sys::sandbox::{Effort, Layer, Layers, Plan, abi};

pub use self::policy::{Grounds, Policy};
use crate::engine::Engine;

/// The boundary around one session or terminal.
#[derive(Debug)]
pub struct Sandbox {
    pub policy: Policy,
    /// Its private TMPDIR.
    pub tmp_dir: Option<PathBuf>,
    effort: Effort,
    /// What is to be enforced.
    wanted: Layers,
    /// What the kernel did not give, once it was asked.
    missing: Mutex<Layers>,
}

/// Whose sandbox it was.
#[derive(Debug, Default)]
pub struct Maker {
    pub session_id: Option<SessionId>,
    pub terminal_id: Option<TerminalId>,
}

impl Sandbox {
    /// None when no boundary is asked for.
    pub fn resolve(wish: SandboxParams, grounds: &Grounds<'_>) -> Result<Option<Self>, Error> {
        let effort = if wish.best_effort == Some(true) { Effort::Best } else { Effort::Full };
        let Some(policy) = Policy::resolve(wish, grounds)? else { return Ok(None) };
        let tmp_dir = policy.private_tmp.then(|| grounds.tmp_dir.to_path_buf());
        let mut sandbox =
            Self { policy, tmp_dir, effort, wanted: Layers::default(), missing: Mutex::default() };
        sandbox.wanted = sandbox.plan(&[]).layers();
        Ok(Some(sandbox))
    }

    /// What is to be enforced for a program whose own pipes, or whose terminal, are at `own`.
    pub fn plan(&self, own: &[&Path]) -> Plan {
        let Policy { read, write, deny, workspace, protect, net, .. } = &self.policy;
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let list = |paths: &[PathBuf]| paths.iter().map(|p| bytes(p)).collect::<Vec<_>>();
        let mut writable = list(write);
        writable.extend(self.tmp_dir.as_deref().map(bytes));
        let mut open: Vec<Vec<u8>> = policy::DEVICES.iter().map(|d| d.as_bytes().to_vec()).collect();
        open.extend(
            own.iter().map(|path| bytes(&path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))),
        );
        Plan {
            read: list(read),
            write: writable,
            open,
            deny: list(deny),
            workspace: workspace.as_deref().map(bytes),
            protect: protect.iter().map(|name| name.as_bytes().to_vec()).collect(),
            tmp_dir: self.tmp_dir.as_deref().map(bytes),
            net: match net {
                Net::None => trl_sys::sandbox::Net::None,
                Net::Loopback => trl_sys::sandbox::Net::Loopback,
                Net::All => trl_sys::sandbox::Net::All,
            },
            effort: self.effort,
        }
    }

    /// Makes the private TMPDIR, or accepts the one there is.
    pub fn prepare(&self) -> std::io::Result<()> {
        self.tmp_dir.as_deref().map_or(Ok(()), crate::place::private_dir)
    }

    /// Its program runs, without these layers.
    pub fn lacks(&self, missing: Layers) {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    }

    /// Variables that point a program to its private TMPDIR; zsh has one of its own for the files of here-documents.
    pub fn variables(&self) -> Vec<(String, String)> {
        let Some(tmp) = self.tmp_dir.as_ref().map(|dir| dir.display().to_string()) else { return Vec::new() };
        vec![("TMPPREFIX".into(), format!("{tmp}/zsh")), ("TMPDIR".into(), tmp)]
    }

    /// Tells subscribers and the log of a git directory that was made inside ([`trl_sys::link::Notice::Made`]).
    pub fn tell_made(&self, engine: &Engine, owner: &Arc<str>, by: Maker, text: &str) {
        let mut parts = text.split('\0').map(String::from);
        let path = parts.next().unwrap_or_default();
        let reasons: Vec<String> = parts.collect();
        let workspace = self.policy.around.as_deref().unwrap_or(Path::new("")).display().to_string();
        tracing::warn!(
            workspace = ?workspace, path = ?path, reasons = ?reasons,
            "sandbox.made: git runs programs of a sandbox's choice in a directory that was made there"
        );
        let Maker { session_id, terminal_id } = by;
        engine
            .events
            .emit(owner, Happening::SandboxMade { session_id, terminal_id, workspace, path, reasons });
    }

    pub fn report(&self) -> SandboxReport {
        let missing = *self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let (not_enforced, enforced): (Vec<Layer>, Vec<Layer>) =
            self.wanted.iter().partition(|l| missing.has(*l));
        let names = |layers: Vec<Layer>| layers.into_iter().map(|l| l.name().to_string()).collect();
        let parts =
            [(Layer::Files, "landlock"), (Layer::Syscalls, "seccomp"), (Layer::Metadata, "namespaces")];
        let parts: Vec<&str> = parts.into_iter().filter(|(l, _)| !missing.has(*l)).map(|(_, n)| n).collect();
        SandboxReport {
            mode: self.policy.mode,
            backend: if parts.is_empty() { "none".into() } else { parts.join("+") },
            abi: Some(abi()),
            net: Some(self.policy.net),
            workspace: self.policy.around.as_ref().map(|dir| dir.display().to_string()),
            enforced: names(enforced),
            not_enforced: names(not_enforced),
        }
    }
}

impl Engine {
    /// The boundary that is asked for, or the configured one, around what starts in `working_dir`.
    pub fn sandbox(
        &self,
        wish: Option<SandboxParams>,
        id: &str,
        working_dir: &str,
    ) -> Result<Option<Arc<Sandbox>>, Error> {
        let settings = &self.settings;
        let wish = wish.unwrap_or_else(|| settings.sandbox_mode.into());
        if wish.mode == Mode::Off {
            return Sandbox::resolve(wish, &Grounds::default()).map(|_| None);
        }
        let prepare = |e| crate::session::body::start_error("prepare", &e);
        let tmp = self.tmp_place().map_err(prepare)?;
        let mut own = settings.own_dirs.clone();
        own.extend([self.place.dir(), &tmp].into_iter().filter_map(Path::parent).map(PathBuf::from));
        let given = self.cases.home_around(Path::new(working_dir));
        if let Some(given) = &given {
            own = own.into_iter().flat_map(|dir| all_but(dir, given)).collect();
        }
        let home = self.inherited.get("HOME").map(Path::new).filter(|home| home.is_absolute());
        let sandbox = Sandbox::resolve(
            wish,
            &Grounds {
                working_dir: Path::new(working_dir),
                home,
                people: &homes::of_people(),
                read_dirs: &settings.sandbox_read_dirs,
                write_dirs: &settings.sandbox_write_dirs,
                protect: &settings.sandbox_protect,
                own: &own,
                tmp_dir: &tmp.join(id),
                given: given.as_deref(),
            },
        )?;
        Ok(sandbox.map(Arc::new))
    }
}

/// A directory as what is in it now, but for the one place in it that somebody was given.
fn all_but(dir: PathBuf, given: &Path) -> Vec<PathBuf> {
    let dir = dir.canonicalize().unwrap_or(dir);
    if !given.starts_with(&dir) {
        return vec![dir];
    }
    if dir == given {
        return Vec::new();
    }
    let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    entries.flat_map(|entry| all_but(entry.path(), given)).collect()
}

/// What is around a session, a terminal or a command.
#[derive(Debug, Clone, Default)]
pub enum Boundary {
    #[default]
    None,
    /// Drawn by this daemon.
    Here(Arc<Sandbox>),
    /// Drawn by an engine elsewhere, and known by what that says of it.
    There(Arc<Mutex<SandboxReport>>),
}

impl Boundary {
    /// The one this daemon has to enforce.
    pub fn here(&self) -> Option<&Arc<Sandbox>> {
        match self {
            Self::Here(sandbox) => Some(sandbox),
            Self::None | Self::There(_) => None,
        }
    }

    pub fn report(&self) -> SandboxReport {
        match self {
            Self::None => SandboxReport::off(),
            Self::Here(sandbox) => sandbox.report(),
            Self::There(said) => said.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    pub fn is_some(&self) -> bool {
        match self {
            Self::None => false,
            Self::Here(_) => true,
            Self::There(_) => self.report().mode != Mode::Off,
        }
    }

    /// What the engine there says by now.
    pub fn told(&self, report: SandboxReport) {
        if let Self::There(said) = self {
            *said.lock().unwrap_or_else(PoisonError::into_inner) = report;
        }
    }
}

impl From<Option<Arc<Sandbox>>> for Boundary {
    fn from(sandbox: Option<Arc<Sandbox>>) -> Self {
        sandbox.map_or(Self::None, Self::Here)
    }
}

impl From<SandboxReport> for Boundary {
    fn from(said: SandboxReport) -> Self {
        Self::There(Arc::new(Mutex::new(said)))
    }
}
