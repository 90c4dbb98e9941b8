//! The checked-in command line documents are what the binary generates.
//!
//! `UPDATE_DOCS=1 cargo test -p trl --test cli_docs` writes them anew.
#![allow(clippy::unwrap_used)] // tests may, and helpers of tests are not seen as such

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn trl(args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_trl")).args(args).output().unwrap();
    assert!(output.status.success(), "trl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1")
}

/// The manual pages in a directory, by file name.
fn pages(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.extension().is_some_and(|ext| ext == "1"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn help_texts_are_up_to_date() {
    let generated = String::from_utf8(trl(&["help-all"])).unwrap();
    let path = docs().join("cli.md");
    if updating() {
        fs::create_dir_all(docs()).unwrap();
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "docs/cli.md is out of date: run this test with UPDATE_DOCS=1");
}

#[test]
fn manual_pages_are_up_to_date() {
    let fresh = tempfile::tempdir().unwrap();
    trl(&["man", "--dir", fresh.path().to_str().unwrap()]);
    let generated = pages(fresh.path());
    let dir = docs().join("man");
    if updating() {
        fs::create_dir_all(&dir).unwrap();
        for name in pages(&dir).keys() {
            fs::remove_file(dir.join(name)).unwrap();
        }
        for (name, page) in &generated {
            fs::write(dir.join(name), page).unwrap();
        }
    }
    assert!(generated.contains_key("trl.1") && generated.contains_key("trl-run.1"));
    let (kept, fresh): (Vec<_>, Vec<_>) = (pages(&dir).into_keys().collect(), generated.keys().collect());
    assert_eq!(kept.iter().collect::<Vec<_>>(), fresh, "docs/man has other pages: run with UPDATE_DOCS=1");
    for (name, page) in &pages(&dir) {
        assert!(generated[name] == *page, "docs/man/{name} is out of date: run this test with UPDATE_DOCS=1");
    }
}

#[test]
fn documents_do_not_depend_on_the_machine() {
    let plain = trl(&["help-all"]);
    let output = Command::new(env!("CARGO_BIN_EXE_trl"))
        .arg("help-all")
        .env_clear()
        .env("COLUMNS", "40")
        .env("XDG_RUNTIME_DIR", "/elsewhere")
        .env("TRL_SOCKET_PATH", "/elsewhere/trl.sock")
        .output()
        .unwrap();
    assert_eq!(output.stdout, plain);
}
