//! The runtimes that were added while a daemon ran, for the next one: a small file beside the store. They may hold what
//! only an operator is to see.
//!
//! A file that cannot be read or trusted is no runtimes, and stays as it is: nothing is added then.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trl_proto::Error;
use trl_proto::runtime::RuntimeSpec;

use crate::private_file::{self, Durable};

const VERSION: u32 = 1;

/// By name.
type Specs = BTreeMap<String, RuntimeSpec>;

/// Without a place, for an engine that keeps nothing, they are known as long as that runs.
#[derive(Debug)]
pub(super) struct Kept(Option<PathBuf>);

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    runtimes: Specs,
}

impl Kept {
    pub(super) fn in_dir(dir: Option<&Path>) -> Self {
        Self(dir.map(|dir| dir.join("runtimes.json")))
    }

    /// As the last daemon left them.
    pub(super) fn all(&self) -> Specs {
        let Some(path) = &self.0 else { return Specs::new() };
        read(path).unwrap_or_else(|error| {
            tracing::error!(path = %path.display(), %error, "no runtime that was added is known");
            Specs::new()
        })
    }

    pub(super) fn add(&self, name: &str, spec: RuntimeSpec) -> Result<(), Error> {
        self.change(|specs| drop(specs.insert(name.into(), spec)))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(|specs| drop(specs.remove(name)))
    }

    fn change(&self, change: impl FnOnce(&mut Specs)) -> Result<(), Error> {
        let Some(path) = &self.0 else { return Ok(()) };
        let changed = read(path).and_then(|mut specs| {
            change(&mut specs);
            let text = serde_json::to_vec_pretty(&Contents { version: VERSION, runtimes: specs })?;
            private_file::replace(path, &text, Durable::Yes)
        });
        changed.map_err(|cause| {
            private_file::failed(format!("{} cannot be changed: {cause}", path.display()), &cause)
        })
    }
}

/// No file is no runtimes.
fn read(path: &Path) -> io::Result<Specs> {
    let Some((bytes, _)) = private_file::read(path)? else { return Ok(Specs::new()) };
    let contents: Contents = serde_json::from_slice(&bytes)?;
    match contents.version {
        VERSION => Ok(contents.runtimes),
        other => Err(io::Error::other(format!("its version is {other}, not {VERSION}"))),
    }
}

#[cfg(test)]
mod tests {
    use trl_proto::runtime::RuntimeKind;

    use super::*;

    #[test]
    fn what_was_added_is_there_again_and_what_is_not_understood_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("runtimes.json");
        let spec = RuntimeSpec { argv: vec!["ssh".into()], ..RuntimeSpec::new(RuntimeKind::Command) };
        let kept = Kept::in_dir(Some(dir.path()));
        assert!(kept.all().is_empty());
        kept.add("one", spec.clone()).unwrap();
        kept.add("two", spec.clone()).unwrap();
        kept.remove("one").unwrap();
        kept.remove("none").unwrap();
        assert_eq!(Kept::in_dir(Some(dir.path())).all(), Specs::from([("two".into(), spec.clone())]));
        std::fs::write(&file, r#"{"version": 2, "runtimes": {}}"#).unwrap();
        assert!(kept.all().is_empty() && kept.add("three", spec).is_err());
        assert!(std::fs::read_to_string(&file).unwrap().contains("\"version\": 2"));
    }
}
