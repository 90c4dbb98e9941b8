//! Who may use which place.
//!
//! A question is always about a [`Place`]: where something really is, with no link left in it, so that a link to a
//! protected directory is that directory. It is asked about every file a request touches, also those deep inside a tree
//! that is moved or removed.
//!
//! [`Rules`] answer for the modes of a sandbox. Whoever has other rules, such as an approval for a single place,
//! implements [`Access`].

use std::path::{Path, PathBuf};

use trl_sys::sandbox::{PROTECTED, is_protected};

use crate::error::{Error, shown};

/// Where something is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    base: &'a Path,
    within: &'a Path,
}

impl<'a> Place<'a> {
    pub(crate) fn new(base: &'a Path, within: &'a Path) -> Self {
        Self { base, within }
    }

    /// Relative to the root; empty for the root itself.
    pub fn within(&self) -> &'a Path {
        self.within
    }

    pub fn absolute(&self) -> PathBuf {
        if self.within.as_os_str().is_empty() { self.base.into() } else { self.base.join(self.within) }
    }
}

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial(pub String);

impl Denial {
    pub(crate) fn at(self, place: &Path) -> Error {
        Error::Denied { path: shown(place), why: self.0 }
    }
}

/// Says yes or no to places.
pub trait Access: Send + Sync {
    fn may_read(&self, place: &Place<'_>) -> Result<(), Denial>;
    fn may_write(&self, place: &Place<'_>) -> Result<(), Denial>;

    /// After a no: whether the other places of the same change are asked about too, for whoever wants to hear of many at
    /// once. The change is not made either way.
    fn wants_more(&self) -> bool {
        false
    }

    /// True when nothing is ever refused: a tree is moved without looking through it.
    fn refuses_nothing(&self) -> bool {
        false
    }
}

/// How much may be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Off,
    ReadOnly,
    /// All but what is protected.
    WorkspaceWrite,
    /// Only these, by absolute paths; what may be written may be read.
    Custom {
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
    },
}

/// The modes of a sandbox, and what is denied in each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub mode: Mode,
    /// Neither read nor written, in every mode: absolute paths.
    pub deny: Vec<PathBuf>,
    /// Not written in `workspace-write`: names as in [`trl_sys::sandbox::is_protected`].
    pub protect: Vec<PathBuf>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { mode: Mode::Off, deny: Vec::new(), protect: PROTECTED.map(PathBuf::from).into() }
    }
}

impl Rules {
    pub fn new(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    #[must_use]
    pub fn deny(mut self, absolute: impl IntoIterator<Item = PathBuf>) -> Self {
        self.deny.extend(absolute);
        self
    }

    /// Other names than the usual ones.
    #[must_use]
    pub fn protect(mut self, names: impl IntoIterator<Item = PathBuf>) -> Self {
        self.protect = names.into_iter().collect();
        self
    }

    fn check_denied(&self, place: &Place<'_>) -> Result<(), Denial> {
        if self.deny.is_empty() {
            return Ok(());
        }
        let absolute = place.absolute();
        match self.deny.iter().any(|deny| absolute.starts_with(deny)) {
            true => Err(Denial("it is denied to everybody".into())),
            false => Ok(()),
        }
    }
}

impl Access for Rules {
    fn may_read(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.check_denied(place)?;
        let Mode::Custom { read, write } = &self.mode else { return Ok(()) };
        let absolute = place.absolute();
        match read.iter().chain(write).any(|listed| absolute.starts_with(listed)) {
            true => Ok(()),
            false => Err(Denial("it is not among what the sandbox lets be read".into())),
        }
    }

    fn may_write(&self, place: &Place<'_>) -> Result<(), Denial> {
        self.check_denied(place)?;
        let allowed = match &self.mode {
            Mode::Off => true,
            Mode::ReadOnly => return Err(Denial("the sandbox is read-only".into())),
            Mode::WorkspaceWrite => !is_protected(place.within, self.protect.iter().map(PathBuf::as_path)),
            Mode::Custom { write, .. } => {
                let absolute = place.absolute();
                write.iter().any(|listed| absolute.starts_with(listed))
            }
        };
        if allowed { Ok(()) } else { Err(Denial("the sandbox protects it from writing".into())) }
    }

    fn refuses_nothing(&self) -> bool {
        self.mode == Mode::Off && self.deny.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &Rules, place: &str) -> (bool, bool) {
        let place = Place::new(Path::new("/w"), Path::new(place));
        (rules.may_read(&place).is_ok(), rules.may_write(&place).is_ok())
    }

    #[test]
    fn each_mode_lets_through_exactly_its_part() {
        let custom = Mode::Custom { read: vec!["/w/doc".into()], write: vec!["/w/out".into()] };
        let rows = [
            (Mode::Off, "a", (true, true)),
            (Mode::Off, ".git/hooks/pre-commit", (true, true)),
            (Mode::ReadOnly, "a", (true, false)),
            (Mode::WorkspaceWrite, "a", (true, true)),
            (Mode::WorkspaceWrite, ".git/config", (true, false)),
            (Mode::WorkspaceWrite, ".git/index", (true, true)),
            (Mode::WorkspaceWrite, ".git/hooks", (true, false)),
            (Mode::WorkspaceWrite, ".git/hooks/pre-commit", (true, false)),
            (Mode::WorkspaceWrite, "sub/.git/hooks/pre-commit", (true, false)),
            (Mode::WorkspaceWrite, ".git/modules/a/hooks/post-checkout", (true, false)),
            (Mode::WorkspaceWrite, ".trl", (true, false)),
            (Mode::WorkspaceWrite, ".trl/cases/a.yaml", (true, false)),
            (Mode::WorkspaceWrite, ".trlx", (true, true)),
            (Mode::WorkspaceWrite, "cases/a.yaml", (true, true)),
            (custom.clone(), "a", (false, false)),
            (custom.clone(), "doc/a", (true, false)),
            (custom.clone(), "out/a", (true, true)),
            (custom, "outer", (false, false)),
        ];
        for (mode, place, expected) in rows {
            assert_eq!(allowed(&Rules::new(mode.clone()), place), expected, "{mode:?} {place}");
        }
    }

    #[test]
    fn what_is_denied_is_denied_in_every_mode() {
        for mode in [Mode::Off, Mode::ReadOnly, Mode::WorkspaceWrite] {
            let rules = Rules::new(mode).deny([PathBuf::from("/w/secret")]);
            assert_eq!(allowed(&rules, "secret/a"), (false, false));
            assert!(allowed(&rules, "secrets").0);
        }
        let around = Rules::new(Mode::Off).deny([PathBuf::from("/")]);
        assert_eq!(allowed(&around, "a"), (false, false));
    }
}
