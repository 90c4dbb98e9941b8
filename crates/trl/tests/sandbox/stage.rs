//! Where one attempt happens: a workspace, an outside with secrets, victims and ears, and a session in some mode.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use trl_testkit::{Daemon, Run, Session, Shell, Value, json};

use super::rows::{On, Row};

pub(crate) const PRIVATE: &str = "nobody-inside-reads-this";

/// Whoever runs this test.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) daemon: &'a Daemon,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_name: String,
    abstract_ear: UnixListener,
    datagrams: UnixDatagram,
    /// Servers that must be ended.
    servers: Vec<Child>,
    /// Variables for the attempt.
    pub(crate) env: Vec<(String, String)>,
    /// Kept alive for the attempt.
    pub(crate) others: Vec<Session>,
    /// A variable of the daemon's that the session without a sandbox asks for by its name.
    pub(crate) named: Option<&'static str>,
    shared: Option<String>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(daemon: &'a Daemon, name: &str) -> Self {
        let dir = daemon.dir();
        let at = |part: &str| dir.dir(&format!("{name}/{part}"));
        let (workspace, outside) = (at("ws"), at("out"));
        for made in ["ws/.git/hooks", "ws/sub/.git/hooks", "ws/.trl/cases", "ws/inside", "ws/mnt"] {
            at(made);
        }
        fs::write(workspace.join("tries.py"), include_str!("tries.py")).unwrap();
        fs::write(outside.join("secret"), PRIVATE).unwrap();
        fs::write(outside.join("file"), "as it was").unwrap();
        let unix = UnixListener::bind(outside.join("u")).unwrap();
        let datagrams = UnixDatagram::bind(outside.join("d")).unwrap();
        let abstract_name = format!("trl-test-{}-{name}", std::process::id());
        let address = trl_sys::stream::without_path(&abstract_name).unwrap();
        let abstract_ear = UnixListener::bind_addr(&address).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        abstract_ear.set_nonblocking(true).unwrap();
        let victim = Command::new("sleep").arg("1000").env("VICTIMS", PRIVATE).spawn().unwrap();
        let mut stage = Self {
            daemon,
            workspace,
            outside,
            victim,
            tcp,
            udp,
            unix,
            abstract_name,
            abstract_ear,
            datagrams,
            servers: Vec::new(),
            env: Vec::new(),
            others: Vec::new(),
            named: None,
            shared: None,
        };
        stage.describe();
        stage
    }

    fn describe(&mut self) {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
        let facts = [
            ("OUT", self.outside.display().to_string()),
            ("VICTIM", self.victim.id().to_string()),
            ("TCP", port(self.tcp.local_addr())),
            ("UDP", port(self.udp.local_addr())),
            ("ABSTRACT", self.abstract_name.clone()),
            ("TRL", env!("CARGO_BIN_EXE_trl").to_string()),
            ("SOCKET", self.daemon.socket().display().to_string()),
            ("TOKEN", self.daemon.dir().text("config/trl/operator.token")),
            ("RUNTIME", self.daemon.runtime_dir().display().to_string()),
        ];
        self.env.extend(facts.map(|(name, value)| (name.to_string(), value)));
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.push((name.into(), value.into()));
    }

    /// Starts something outside that lives as long as the stage.
    pub(crate) fn serve(&mut self, program: &str, args: &[&str]) {
        let child = Command::new(program)
            .args(args)
            .current_dir(&self.outside)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.servers.push(child.unwrap());
    }

    /// A file of the workspace.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.workspace.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Shared memory of this number is there for the attempt.
    pub(crate) fn share(&mut self, id: &str) {
        self.shared = Some(id.into());
        self.set("SHM", id);
    }

    fn params(&self, sandbox: &Value) -> Value {
        let env: BTreeMap<String, Value> = self.env.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let named: Vec<&str> = self.named.into_iter().filter(|_| sandbox == "off").collect();
        json!({"working_dir": self.workspace, "sandbox": sandbox, "env": env, "pass_env": named})
    }

    pub(crate) fn session(&self, sandbox: Value) -> Session {
        self.session_with(sandbox, json!({}))
    }

    pub(crate) fn session_with(&self, sandbox: Value, more: Value) -> Session {
        self.daemon.session_with(Shell::Bash, trl_testkit::merged(self.params(&sandbox), more))
    }

    pub(crate) fn try_it(&self, mode: &str, row: &Row) -> Run {
        let sandbox = match row.net {
            Some(net) if mode != "off" => json!({"mode": mode, "net": net}),
            _ => json!(mode),
        };
        match row.on {
            On::Session => self.session(sandbox).run(row.attempt),
            On::Terminal => {
                let attempt = json!({"command": row.attempt, "tty": true, "yield_ms": 30_000});
                let start = trl_testkit::merged(self.params(&sandbox), attempt);
                Run::of(self.daemon.client().ok("exec.start", start))
            }
        }
    }

    // ---- what can have happened

    pub(crate) fn reads(&self, name: &str) -> String {
        fs::read_to_string(self.outside.join(name)).unwrap_or_default()
    }

    pub(crate) fn victim(&self) -> u32 {
        self.victim.id()
    }

    pub(crate) fn is_victim_alive(&mut self) -> bool {
        self.victim.try_wait().unwrap().is_none()
    }

    pub(crate) fn heard_tcp(&self) -> bool {
        self.tcp.accept().is_ok()
    }

    pub(crate) fn heard_udp(&self) -> bool {
        self.udp.recv(&mut [0; 8]).is_ok()
    }

    pub(crate) fn heard_unix(&self) -> bool {
        self.unix.accept().is_ok()
    }

    pub(crate) fn heard_abstract(&self) -> bool {
        self.abstract_ear.accept().is_ok()
    }

    pub(crate) fn heard_datagram(&self) -> bool {
        self.datagrams.recv(&mut [0; 8]).is_ok()
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        for child in self.servers.iter_mut().chain([&mut self.victim]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(id) = &self.shared {
            let _ = Command::new("ipcrm").args(["-m", id]).stderr(Stdio::null()).status();
        }
    }
}
