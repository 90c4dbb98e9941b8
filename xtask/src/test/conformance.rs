//! The conformance suite of the Model Context Protocol, run against `/mcp` of the real daemon.
//!
//! 1. The suite, in the versions that `xtask/conformance/package-lock.json` names, is installed in `target/conformance`, and with it the
//!    Node it wants, which may be newer than this machine's: 65 MB to be fetched, unless they are there.
//! 2. A daemon of the tests' build has a temporary directory, a token for an agent, and the fixtures the suite asks for
//!    (`crates/trl/src/mcp/fixtures.rs`). `xtask/conformance/with-token.mjs` stands before it and adds the token.
//! 3. Each of [`RUNS`] is all scenarios of one version of the protocol. What came of each is read from its report and held
//!    against the list of those that cannot pass ([`results`]).

mod results;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use self::results::Tally;
use super::outcome::Outcome;
use crate::{command, place, ui};

/// One pass of the suite: a version of it, and one of the protocol.
struct Run {
    /// Below `node_modules`.
    suite: &'static str,
    protocol: &'static str,
}

/// The released suite, and the next one, which knows the newest protocol.
const RUNS: [Run; 3] = [
    Run { suite: "@modelcontextprotocol/conformance", protocol: "2025-11-25" },
    Run { suite: "conformance-next", protocol: "2025-11-25" },
    Run { suite: "conformance-next", protocol: "2026-07-28" },
];

/// All of it takes some ten seconds.
const MOST: Duration = Duration::from_secs(180);

/// All runs, as one step. A machine that has no npm, or cannot reach a registry, does without.
pub(super) fn check() -> Outcome {
    let dir = match install() {
        Ok(dir) => dir,
        Err(error) if !place::is_ci() => return Outcome::Skipped(format!("{error:#}")),
        Err(error) => return Outcome::of(Err(error)),
    };
    let mut tally = Tally::default();
    match run_all(&dir, &mut tally) {
        Ok(()) => tally.outcome(),
        Err(error) => Outcome::Failed(tally.counts(), format!("{error:#}")),
    }
}

fn run_all(dir: &Path, tally: &mut Tally) -> Result<()> {
    let daemon = Daemon::start(&place::debug_binary()?, &dir.join("daemon.log"))?;
    let proxy = Proxy::start(dir, &daemon)?;
    for run in &RUNS {
        let reports = dir.join("results").join(format!("{}-{}", run.suite.replace('/', "-"), run.protocol));
        let said = run.go(dir, &proxy.url, &reports)?;
        tally.add(run.protocol, &said, &reports).with_context(|| format!("{}: {said}", run.suite))?;
    }
    Ok(())
}

/// Installs the suite and its Node. Returns their directory.
pub(crate) fn install() -> Result<PathBuf> {
    ensure!(ui::has_npm(), "npm is missing: the conformance suite comes from there");
    let dir = place::target_dir()?.join("conformance");
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    for name in ["package.json", "package-lock.json"] {
        let from = place::root().join("xtask/conformance").join(name);
        fs::copy(&from, dir.join(name)).with_context(|| from.display().to_string())?;
    }
    ui::install(&dir).context("the conformance suite could not be got from npm")?;
    let version =
        command::output(node(&dir).arg("--version")).context("there is no Node for this machine")?;
    eprintln!("node {}", version.trim());
    Ok(dir)
}

fn node(dir: &Path) -> Command {
    Command::new(dir.join("node_modules/.bin/node"))
}

impl Run {
    /// What it says; its reports are left in a directory.
    fn go(&self, dir: &Path, url: &str, reports: &Path) -> Result<String> {
        let _ = fs::remove_dir_all(reports);
        fs::create_dir_all(reports).with_context(|| reports.display().to_string())?;
        let log = reports.join("log");
        let mut suite = node(dir);
        suite
            .arg(dir.join("node_modules").join(self.suite).join("dist/index.js"))
            .args(["server", "--url", url, "--suite", "all", "--spec-version", self.protocol, "-o"])
            .arg(reports)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log)?)
            .stderr(Stdio::inherit());
        let mut child = Kept(suite.spawn().with_context(|| format!("{suite:?}"))?);
        let by = Instant::now() + MOST;
        // It exits with 1 when any scenario fails; which may is decided here.
        while child.0.try_wait()?.is_none() {
            ensure!(Instant::now() < by, "{} is not done after {} s", self.suite, MOST.as_secs());
            std::thread::sleep(Duration::from_millis(50));
        }
        fs::read_to_string(&log).with_context(|| log.display().to_string())
    }
}

/// A process that ends with us.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A daemon with a place of its own.
struct Daemon {
    trl: PathBuf,
    place: PathBuf,
    child: Option<Kept>,
    /// `HOST:PORT` of its HTTP door.
    address: String,
    token: String,
}

impl Daemon {
    fn start(trl: &Path, log: &Path) -> Result<Self> {
        let place = std::env::temp_dir().join(format!("trl-conformance-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&place).with_context(|| place.display().to_string())?;
        let mut daemon =
            Self { trl: trl.into(), place, child: None, address: String::new(), token: String::new() };
        let mut serve = daemon.command(&["serve", "--http", "127.0.0.1:0"]);
        let log = fs::File::create(log).with_context(|| log.display().to_string())?;
        serve.env("TRL_TEST_MCP_FIXTURES", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = serve.spawn().with_context(|| format!("{serve:?}"))?;
        let said = child.stdout.take();
        daemon.child = Some(Kept(child));
        let lines = BufReader::new(said.context("its stdout")?).lines();
        // Two lines, the second of which is about HTTP.
        let found = lines
            .take(2)
            .filter_map(|line| Some(line.ok()?.split_once(" http on http://")?.1.to_string()))
            .next();
        daemon.address = found.context("the daemon does not say where it serves HTTP")?;
        let token =
            command::output(&mut daemon.command(&["token", "new", "conformance", "--role", "agent"]))?;
        daemon.token = token.trim().into();
        Ok(daemon)
    }

    /// Nothing of the person who runs this is in its environment.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.trl);
        command.args(words).env_clear().current_dir(&self.place);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(name, &self.place);
        }
        command
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        command::succeeds(&mut self.command(&["stop"]));
        drop(self.child.take());
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// What adds the token.
struct Proxy {
    _child: Kept,
    url: String,
}

impl Proxy {
    fn start(dir: &Path, daemon: &Daemon) -> Result<Self> {
        let mut command = node(dir);
        command
            .arg(place::root().join("xtask/conformance/with-token.mjs"))
            .arg(&daemon.address)
            .env("TRL_AUTH_TOKEN", &daemon.token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let said = child.stdout.take();
        let child = Kept(child);
        let mut line = String::new();
        BufReader::new(said.context("its stdout")?).read_line(&mut line)?;
        let said: serde_json::Value = serde_json::from_str(&line).context("the proxy says no port")?;
        let Some(port) = said["port"].as_u64() else { bail!("the proxy says {line:?}") };
        Ok(Self { _child: child, url: format!("http://127.0.0.1:{port}/mcp") })
    }
}
