//! A client that others wrote: the SDK from PyPI, which `cargo xtask test` puts into `target/mcp-client`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use trl_testkit::{Daemon, available};

use super::{daemon, with_http};

fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-client/bin/python");
    available("the SDK from PyPI (cargo xtask test gets it)", python.is_file()).then_some(python)
}

/// As it was up to 2025-11-25, with a hello; without one; and as the client finds out for itself.
const MODES: [&str; 3] = ["legacy", "2026-07-28", "auto"];

fn takes_all_steps(daemon: &Daemon, words: &[&str]) {
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/client.py");
    let known = daemon.command();
    let known: Vec<_> = known.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
    for mode in MODES {
        let mut client = Command::new(&python);
        client.arg(&script).arg(mode).args(words).env_clear().envs(known.clone());
        let output = client.current_dir(daemon.dir().path()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(
            output.status.success() && said[0].contains("all steps done"),
            "{mode}: {}\n{}",
            said[0],
            said[1]
        );
    }
}

#[test]
fn the_sdk_from_pypi_works_on_pipes() {
    let daemon = daemon();
    let socket = daemon.socket();
    takes_all_steps(
        &daemon,
        &["stdio", env!("CARGO_BIN_EXE_trl"), "--socket", socket.to_str().unwrap(), "mcp"],
    );
}

#[test]
fn the_sdk_from_pypi_works_over_http() {
    let daemon = with_http();
    let token = daemon.token("agent", json!({}))["token"].as_str().unwrap().to_string();
    let url = format!("http://{}/mcp", daemon.http().authority());
    takes_all_steps(&daemon, &["http", &url, &token]);
}
