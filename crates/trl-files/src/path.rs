//! A path as a request names it: relative to the root, and not yet looked at by the kernel.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// The kernel takes no longer ones.
const LONGEST: usize = 4095;

/// Only what the kernel could misunderstand is refused here; where it leads is for the kernel to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rel(PathBuf);

impl Rel {
    /// The root itself.
    pub fn root() -> Self {
        Self(PathBuf::new())
    }

    /// Any bytes: names need not be UTF-8.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let path = PathBuf::from(OsString::from_vec(bytes.into()));
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(Error::invalid(&path, "contains a NUL character"));
        }
        if path.as_os_str().len() > LONGEST {
            return Err(Error::invalid(Path::new("the path"), format!("has more than {LONGEST} bytes")));
        }
        if path.is_absolute() {
            return Err(Error::outside(&path));
        }
        Ok(Self(path))
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// For the kernel, to which an empty path is none.
    pub(crate) fn for_kernel(&self) -> &Path {
        for_kernel(&self.0)
    }

    /// What its text says when no part of it is a link. None when that leaves the root.
    pub(crate) fn normal(&self) -> Option<PathBuf> {
        let mut place = PathBuf::new();
        for part in self.0.components() {
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir if place.pop() => {}
                Component::CurDir => {}
                _ => return None,
            }
        }
        Some(place)
    }

    /// The directory and the name in it of something to be made, moved or removed.
    pub(crate) fn split(&self) -> Result<(Self, &OsStr)> {
        match self.0.components().next_back() {
            Some(Component::Normal(name)) => {
                Ok((Self(self.0.parent().unwrap_or(Path::new("")).into()), name))
            }
            _ => Err(Error::invalid(&self.0, "does not end in a name")),
        }
    }
}

pub(crate) fn for_kernel(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(matches!(Rel::parse("/etc/passwd"), Err(Error::Outside { .. })));
        assert!(matches!(Rel::parse("a\0b"), Err(Error::Invalid { .. })));
        assert!(matches!(Rel::parse("x".repeat(5000)), Err(Error::Invalid { .. })));
        assert!(Rel::parse(vec![0xff, b'\n']).is_ok());
    }

    #[test]
    fn only_a_name_can_be_made_or_removed() {
        for bad in ["", ".", "..", "a/..", "./"] {
            assert!(Rel::parse(bad).unwrap().split().is_err(), "{bad:?}");
        }
        for (path, parent, name) in
            [("a", "", "a"), ("a/b/", "a", "b"), ("../x", "..", "x"), ("a/./b", "a", "b")]
        {
            let rel = Rel::parse(path).unwrap();
            let (found, last) = rel.split().unwrap();
            assert_eq!(
                (found.normal(), last),
                (Rel::parse(parent).unwrap().normal(), OsStr::new(name)),
                "{path}"
            );
        }
    }

    proptest! {
        /// The text alone never gets above the root.
        #[test]
        fn a_normal_path_has_only_names(bytes in proptest::collection::vec(prop_oneof![Just(b'.'), Just(b'/'), Just(b'a')], 0..24)) {
            if let Ok(rel) = Rel::parse(bytes)
                && let Some(place) = rel.normal()
            {
                prop_assert!(place.components().all(|part| matches!(part, Component::Normal(_))));
            }
        }
    }
}
