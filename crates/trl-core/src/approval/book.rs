//! Rules for everything, as files: what a person wrote (`approvals.yaml`), and every "always" they answered
//! (`always.json` beside it). Both are looked at again when they have changed.
//!
//! A file that cannot be read is not the same as none: until it can be, every command is asked about.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trl_policy::{Source, Trust};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::{Error, ErrorCode};
use trl_store::failpoint;

/// More than this is not written by people.
const MOST_BYTES: u64 = 1 << 20;
/// What stands for sessions without a case.
const NO_CASE: &str = "none";

#[derive(Debug)]
pub struct Book {
    /// None: nobody can have written any.
    dir: Option<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: Kept<ApprovalSpec>,
    always: Kept<Always>,
    /// Counts changes.
    edition: u64,
}

/// What people answered with "always", by case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Always {
    #[serde(default)]
    cases: BTreeMap<String, Vec<String>>,
}

/// A file's contents, and which file that was.
#[derive(Debug, Default)]
struct Kept<T> {
    print: Option<Print>,
    value: T,
    fault: Option<String>,
}

type Print = (u64, u64, i64, i64);

impl Book {
    /// Of the files in `dir`, the user's own directory of settings.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir, inner: Mutex::default() }
    }

    /// As it is now.
    fn read(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = &self.dir {
            let parse_yaml = |text: &str| serde_saphyr::from_str(text).map_err(|e| e.to_string());
            let parse_json = |text: &str| serde_json::from_str(text).map_err(|e| e.to_string());
            let changed = inner.written.refresh(&dir.join("approvals.yaml"), parse_yaml)
                | inner.always.refresh(&dir.join("always.json"), parse_json);
            inner.edition += u64::from(changed);
        }
        inner
    }

    pub fn edition(&self) -> u64 {
        self.read().edition
    }

    /// Has nobody written anything?
    pub fn is_empty(&self) -> bool {
        let inner = self.read();
        inner.written.fault.is_none() && inner.written.value == ApprovalSpec::default()
    }

    pub fn timeout_s(&self) -> Option<f64> {
        self.read().written.value.timeout_s
    }

    /// What is wrong with the files.
    pub fn faults(&self) -> Vec<String> {
        let inner = self.read();
        [&inner.written.fault, &inner.always.fault].into_iter().flatten().cloned().collect()
    }

    /// The rules for sessions of a case.
    pub fn sources(&self, case: Option<&str>) -> Vec<Source> {
        let inner = self.read();
        let spec = match &inner.written.fault {
            None => Ok(inner.written.value.clone()),
            Some(fault) => Err(fault.clone()),
        };
        let mut sources = vec![Source { name: "approvals.yaml".into(), trust: Trust::Full, spec }];
        if let Some(prefixes) = inner.always.value.cases.get(case.unwrap_or(NO_CASE)) {
            let rule = RuleSpec { allow: prefixes.clone(), ..RuleSpec::default() };
            let spec = ApprovalSpec { rules: vec![rule], ..ApprovalSpec::default() };
            sources.push(Source { name: "always.json".into(), trust: Trust::Grants, spec: Ok(spec) });
        }
        sources
    }

    /// Writes an "always" down.
    pub fn allow_always(&self, case: Option<&str>, prefixes: &[String]) -> Result<(), Error> {
        let Some(dir) = &self.dir else {
            return Err(Error::invalid("there is no directory of settings to write it to"));
        };
        let mut inner = self.read();
        let mut always = inner.always.value.clone();
        let known = always.cases.entry(case.unwrap_or(NO_CASE).into()).or_default();
        known.extend(prefixes.iter().filter(|p| !known.contains(p)).cloned().collect::<Vec<_>>());
        let text = serde_json::to_string_pretty(&always).map_err(|e| Error::internal(e.to_string()))?;
        replace(dir, "always.json", &text).map_err(|e| storage(&e))?;
        inner.always.value = always;
        inner.always.print = print(&dir.join("always.json"));
        inner.edition += 1;
        Ok(())
    }
}

impl<T: Default> Kept<T> {
    /// True when it is not what it was.
    fn refresh(&mut self, path: &Path, parse: impl Fn(&str) -> Result<T, String>) -> bool {
        let print = print(path);
        if print == self.print {
            return false;
        }
        self.print = print;
        self.fault = None;
        self.value = T::default();
        if print.is_some() {
            match load(path).and_then(|text| parse(&text)) {
                Ok(value) => self.value = value,
                Err(fault) => {
                    let fault = format!("{}: {fault}", path.display());
                    tracing::error!(%fault, "rules cannot be read: every command is asked about");
                    self.fault = Some(fault);
                }
            }
        }
        true
    }
}

fn load(path: &Path) -> Result<String, String> {
    let meta = fs::metadata(path).map_err(|e| e.to_string())?;
    if meta.len() > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write to it; chmod go-w".into());
    }
    fs::read_to_string(path).map_err(|e| e.to_string())
}

/// None when there is no such file.
fn print(path: &Path) -> Option<Print> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
}

/// All of it or nothing.
fn replace(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let fresh = dir.join(format!(".{name}.new"));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    failpoint("always.written");
    fs::rename(&fresh, dir.join(name))?;
    failpoint("always.renamed");
    File::open(dir)?.sync_all()
}

fn storage(error: &io::Error) -> Error {
    Error::new(ErrorCode::StorageFull, format!("the rule could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_again_when_they_change_and_a_broken_file_lets_nothing_through() {
        let dir = tempfile::tempdir().unwrap();
        let book = Book::new(Some(dir.path().into()));
        assert!(book.is_empty());
        let file = dir.path().join("approvals.yaml");
        fs::write(&file, "default: allow\n").unwrap();
        assert!(!book.is_empty() && book.faults().is_empty());
        fs::write(&file, "default: perhaps, who knows\n").unwrap();
        assert_eq!(book.faults().len(), 1);
        assert!(!book.is_empty());
    }

    #[test]
    fn always_is_kept_by_case() {
        let dir = tempfile::tempdir().unwrap();
        let book = Book::new(Some(dir.path().join("new")));
        book.allow_always(Some("careful"), &["git push".into()]).unwrap();
        let again = Book::new(Some(dir.path().join("new")));
        assert_eq!(again.sources(Some("careful")).len(), 2);
        assert_eq!(again.sources(None).len(), 1);
    }
}
