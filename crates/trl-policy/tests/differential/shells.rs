//! Real shells, and the logs of what they ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use tempfile::TempDir;
use trl_policy::Command;

use crate::expect;

/// Sources each case in a subshell, in its own directory. Stubs log to 9.
const DRIVER: &str = r#"
exec 9>&1 1>/dev/null 2>&1
set -- p 'q r'
x='p q' y='*' HOME=$ROOT
export STUB_CASE
STUB_CASE=0
while [ "$STUB_CASE" -lt "$CASES" ]; do
  ( cd "$ROOT/$STUB_CASE" && . ./.c ) </dev/null
  STUB_CASE=$((STUB_CASE + 1))
done
"#;

#[derive(Debug)]
pub(crate) struct Shells {
    found: Vec<(&'static str, PathBuf, &'static [&'static str])>,
    stubs: TempDir,
}

impl Shells {
    pub(crate) fn find() -> Self {
        let known: [(&str, &str, &[&str]); 4] = [
            ("bash", "bash", &["--norc"]),
            ("dash", "dash", &[]),
            ("zsh", "zsh", &["-f"]),
            ("ash", "busybox", &["ash"]),
        ];
        let found: Vec<_> = known
            .into_iter()
            .filter_map(|(name, program, args)| Some((name, in_path(program)?, args)))
            .collect();
        for needed in ["bash", "dash", "zsh"] {
            assert!(found.iter().any(|(name, ..)| *name == needed), "{needed} is not installed");
        }
        let stubs = TempDir::new().unwrap();
        for name in ["a", "b", "c", "git", "fa", "fb"] {
            // A copy: whatever is written to it by mistake, the program that was built stays.
            fs::copy(env!("CARGO_BIN_EXE_argv-stub"), stubs.path().join(name)).unwrap();
        }
        Self { found, stubs }
    }

    pub(crate) fn names(&self) -> String {
        self.found.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Runs the batch in every shell, and tells of the texts that did something else.
    pub(crate) fn check(&self, batch: &[(String, Vec<Command>)]) -> Vec<String> {
        let mut mismatches = Vec::new();
        let running: Vec<_> = self
            .found
            .iter()
            .enumerate()
            .map(|(at, (name, program, args))| {
                let root = lay_out(batch);
                // Half of them without multi-byte characters.
                let locale = if at % 2 == batch.len() % 2 { "C" } else { "C.UTF-8" };
                let child = Process::new(program)
                    .args(*args)
                    .arg(root.path().join("driver"))
                    .current_dir(root.path())
                    .env_clear()
                    .env("PATH", self.stubs.path())
                    .env("ROOT", root.path())
                    .env("CASES", batch.len().to_string())
                    .env("LC_ALL", locale)
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                (name, root, std::thread::spawn(move || child.wait_with_output().unwrap()))
            })
            .collect();
        for (name, root, reader) in running {
            let logs = by_case(&reader.join().unwrap().stdout);
            for (at, (text, commands)) in batch.iter().enumerate() {
                let log = logs.get(&at).map_or(&[][..], Vec::as_slice);
                if !expect::agrees(commands, log) {
                    mismatches.push(story(name, text, commands, log));
                }
            }
            drop(root);
        }
        mismatches
    }
}

fn story(shell: &str, text: &str, commands: &[Command], log: &[Vec<Vec<u8>>]) -> String {
    let said: Vec<_> = commands
        .iter()
        .zip(expect::fates(commands))
        .map(|(c, fate)| (fate, c.words.iter().map(|w| (&w.text, w.known)).collect::<Vec<_>>()))
        .collect();
    let did: Vec<Vec<_>> =
        log.iter().map(|r| r.iter().map(|w| String::from_utf8_lossy(w)).collect()).collect();
    format!("{shell} on {text:?}\n said: {said:?}\n did: {did:?}")
}

fn lay_out(batch: &[(String, Vec<Command>)]) -> TempDir {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("driver"), DRIVER).unwrap();
    for (at, (text, _)) in batch.iter().enumerate() {
        let dir = root.path().join(at.to_string());
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(".c"), text).unwrap();
    }
    root
}

/// The records of a log: a number, how many words, the words.
fn by_case(log: &[u8]) -> BTreeMap<usize, Vec<Vec<Vec<u8>>>> {
    let mut cases: BTreeMap<usize, Vec<Vec<Vec<u8>>>> = BTreeMap::new();
    let mut fields = log.split(|byte| *byte == 0);
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<usize>().ok();
    while let Some(case) = fields.next().and_then(number) {
        let count = fields.next().and_then(number).expect("how many words");
        let words = fields.by_ref().take(count).map(<[u8]>::to_vec).collect();
        cases.entry(case).or_default().push(words);
    }
    cases
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| Path::is_file(file))
}
