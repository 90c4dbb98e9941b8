//! Runtimes that are of no use, and clients that want them all the same.
//!
//! - `gone`: their program exits at once. - `mute`: it hangs, and says nothing.
//! - `lost`: they were up and had a session; then their machine was gone, and every try to reach it again fails. A command waits there.
//!
//! Whoever is refused asks again after [`PAUSE`], so there is always somebody who waits for each of them.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use trl_proto::runtime::{
    RuntimeInfo, RuntimeKind, RuntimeParams, RuntimeRemoveParams, RuntimeSpec, RuntimeState, RuntimeWish,
};
use trl_proto::session::{CreateParams, SessionInfo};
use trl_proto::{Method, SessionId};

use crate::client::Client;
use crate::daemon::Daemon;
use crate::fleet::together;
use crate::procfs::descendants;

const GONE: [&str; 4] = ["gone0", "gone1", "gone2", "gone3"];
const MUTE: [&str; 3] = ["mute0", "mute1", "mute2"];
const LOST: [&str; 3] = ["lost0", "lost1", "lost2"];
pub(crate) const COUNT: usize = GONE.len() + MUTE.len() + LOST.len();

/// Between a refusal and the next try of the same client.
const PAUSE: Duration = Duration::from_millis(250);
/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Settings of gateway and engines: a measurement that was killed leaves no engines behind for long, and on a busy machine an
/// engine may take its time to start.
pub(crate) fn patience() -> String {
    "[runtimes]\ngrace_s = 60\nconnect_s = 25\n".into()
}

/// What leads to an engine whose socket is in a directory of its own.
pub(crate) fn argv(trl: &Path, home: &Path, name: &str) -> Result<Vec<String>> {
    let text = |path: &Path| path.to_str().map(String::from).context("a path that is no text");
    let (own, settings) = (home.join(name), home.join("engines.toml"));
    fs::DirBuilder::new().mode(0o700).recursive(true).create(&own)?;
    fs::write(&settings, patience())?;
    let (trl, socket, settings) =
        (text(&trl.canonicalize()?)?, text(&own.join("trl.sock"))?, text(&settings)?);
    let words = ["--socket", &socket, "--config", &settings, "stdio", "--resume", "{key}"];
    Ok(std::iter::once(trl).chain(words.map(String::from)).collect())
}

/// They are there, and wanted, until they are [ended](Dead::end).
pub(crate) struct Dead {
    /// Those that go take their time, all at once.
    operators: Vec<(Client, &'static str)>,
    enough: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Dead {
    pub(crate) fn begin(trl: &Path, daemon: &Daemon, home: &Path) -> Result<Self> {
        let mut operator = daemon.operator()?;
        for name in GONE {
            add(&mut operator, name, vec!["/bin/false".into()])?;
        }
        for name in MUTE {
            add(&mut operator, name, vec!["/bin/sleep".into(), "1000000".into()])?;
        }
        let waiting = LOST.iter().map(|name| lose(&mut operator, trl, daemon, home, name));
        let waiting: Vec<SessionId> = waiting.collect::<Result<_>>()?;
        let enough = Arc::new(AtomicBool::new(false));
        let mut clients = Vec::new();
        for name in GONE.into_iter().chain(MUTE) {
            let (mut client, enough) = (daemon.client()?, Arc::clone(&enough));
            clients.push(std::thread::spawn(move || {
                while !enough.load(Ordering::Relaxed) {
                    let _: Result<SessionInfo> = client.call(Method::SessionCreate, &session_in(name));
                    std::thread::sleep(PAUSE);
                }
            }));
        }
        for session in waiting {
            let mut client = daemon.client()?;
            clients.push(std::thread::spawn(move || drop(client.run(&session, "true"))));
        }
        let all = GONE.into_iter().chain(MUTE).chain(LOST);
        let operators = all.map(|name| Ok((daemon.operator()?, name))).collect::<Result<_>>()?;
        Ok(Self { operators, enough, clients })
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.enough.store(true, Ordering::Relaxed);
        together(&mut self.operators, |(operator, name)| {
            let params = RuntimeRemoveParams { name: name.to_string(), drain: None, force: Some(true) };
            operator.call::<serde_json::Value>(Method::RuntimeRemove, &params).map(drop)
        })?;
        for client in self.clients {
            if client.join().is_err() {
                bail!("a client of a dead runtime died");
            }
        }
        Ok(())
    }
}

fn add(operator: &mut Client, name: &str, argv: Vec<String>) -> Result<()> {
    let spec = RuntimeSpec { name: Some(name.into()), argv, ..RuntimeSpec::new(RuntimeKind::Command) };
    operator.call::<serde_json::Value>(Method::RuntimeAdd, &spec).map(drop)
}

fn session_in(name: &str) -> CreateParams {
    CreateParams { runtime: Some(RuntimeWish::Named(name.into())), ..CreateParams::default() }
}

/// One that was up, with a session, until everything there was killed.
fn lose(operator: &mut Client, trl: &Path, daemon: &Daemon, home: &Path, name: &str) -> Result<SessionId> {
    let flag = home.join(format!("{name}.lost"));
    let _ = fs::remove_file(&flag);
    let script = format!("[ -e {} ] && exit 1; exec \"$@\"", flag.display());
    let mut words = vec!["/bin/sh".into(), "-c".into(), script, "sh".into()];
    words.extend(argv(trl, home, name)?);
    add(operator, name, words)?;
    let session = operator.create_with(session_in(name))?;
    fs::write(&flag, "")?;
    let there = home.join(name).display().to_string();
    for pid in descendants(daemon.pid()).into_iter().filter(|pid| speaks_of(*pid, &there)) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let info: RuntimeInfo = operator.call(Method::RuntimeGet, &RuntimeParams { name: name.into() })?;
        if info.state == RuntimeState::Waiting {
            return Ok(session);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    bail!("{name} was killed, and is still there")
}

fn speaks_of(pid: u32, path: &str) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| String::from_utf8_lossy(&words).contains(path))
}
