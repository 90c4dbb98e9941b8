//! A daemon of our own in a temporary directory.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use trl_proto::Method;
use trl_proto::system::AuthParams;

use crate::client::Client;

/// More than any suite needs.
const MAX_SESSIONS: &str = "1500";
/// What opens its door.
pub(crate) const TOKEN: &str = "a-token-for-measurements-only";
/// Until a daemon that was asked to end is killed.
const END_WITHIN: Duration = Duration::from_secs(20);

pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    pub(crate) http: SocketAddr,
    /// From the spawn to its ready line.
    pub(crate) ready_after: Duration,
    _home: Home,
}

/// Where a daemon keeps everything; the next one there finds it.
#[derive(Clone)]
pub(crate) struct Home(Rc<TempDir>);

impl Home {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("trl-bench-").tempdir()?;
        for name in ["run", "data", "config", "config/trl"] {
            fs::DirBuilder::new().mode(0o700).create(dir.path().join(name))?;
        }
        Ok(Self(Rc::new(dir)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Settings of the daemons there.
    pub(crate) fn with_settings(self, settings: &str) -> Result<Self> {
        fs::write(self.path().join("config/trl/config.toml"), settings)?;
        Ok(self)
    }

    /// Rules that hold for every session.
    pub(crate) fn with_rules(self, rules: &str) -> Result<Self> {
        fs::write(self.path().join("config/trl/approvals.yaml"), rules)?;
        Ok(self)
    }
}

impl Daemon {
    pub(crate) fn start(trl: &Path) -> Result<Self> {
        Self::start_at(trl, &Home::new()?)
    }

    pub(crate) fn start_at(trl: &Path, home: &Home) -> Result<Self> {
        let dir = home.path();
        let socket = dir.join("run/trl.sock");
        let log = dir.join("log");
        let mut command = Command::new(trl);
        command
            .args(["serve", "--max-sessions", MAX_SESSIONS, "--http", "127.0.0.1:0", "--socket"])
            .arg(&socket)
            .env("TRL_AUTH_TOKEN", TOKEN)
            .env("TRL_DATA_DIR", dir.join("data"))
            .env("XDG_CONFIG_HOME", dir.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?);
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| trl.display().to_string())?;
        let mut ready = String::new();
        let stdout = child.stdout.take().context("piped")?;
        let mut lines = BufReader::new(stdout);
        lines.read_line(&mut ready)?;
        let ready_after = start.elapsed();
        if ready.is_empty() {
            let status = child.wait()?;
            bail!("the daemon did not start ({status}): {}", fs::read_to_string(&log).unwrap_or_default());
        }
        let mut door = String::new();
        lines.read_line(&mut door)?;
        let http = door.trim_end().rsplit("http://").next().and_then(|address| address.parse().ok());
        let http = http.with_context(|| format!("no address in {door:?}"))?;
        Ok(Self { child, socket, http, ready_after, _home: home.clone() })
    }

    pub(crate) fn client(&self) -> Result<Client> {
        Client::connect(&self.socket)
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn operator(&self) -> Result<Client> {
        let mut client = self.client()?;
        let params = AuthParams { token: TOKEN.into() };
        client.call::<serde_json::Value>(Method::SystemAuth, &params)?;
        Ok(client)
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How long it takes to end with all that it has started.
    pub(crate) fn end(mut self) -> Duration {
        let start = Instant::now();
        self.end_or_kill();
        start.elapsed()
    }

    fn end_or_kill(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + END_WITHIN;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("the daemon did not end within {END_WITHIN:?}: killed");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end_or_kill();
        }
    }
}
