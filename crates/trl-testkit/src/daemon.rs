//! The real binary as a daemon in a directory of its own.
//!
//! 1. [`Builder`] collects settings, environment and the place it runs in.
//! 2. [`Builder::start`] runs `trl serve` and waits for its ready line. It inherits nothing of the developer's
//!    environment but `PATH` made of system directories.
//! 3. Dropping a [`Daemon`] sends SIGTERM, waits for the end and then checks that no process of it is left. When the
//!    test is failing already, it prints the daemon's log instead.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::{Process, adopt_orphans, below, own_pid, readable, signal, wait_gone};
use crate::runtime::{Elsewhere, Far};
use crate::shell::SYSTEM_PATH;
use crate::{Client, Http, PATIENCE, Scratch, Session, Shell, Terminal, comes_true};

/// Direct children of this test process that are daemons (or a Docker) still meant to live.
static LIVE: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Where the daemon process itself lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// As process 1 of a new pid namespace.
    PidNamespace,
}

#[derive(Debug, Clone)]
pub struct Builder {
    binary: PathBuf,
    /// Section to its keys and values; the empty section is the top level.
    settings: BTreeMap<String, BTreeMap<String, String>>,
    env: Vec<(String, String)>,
    args: Vec<String>,
    place: Place,
    /// Words before the program, which it is started by.
    through: Vec<String>,
    open_files: Option<u32>,
    /// Below its runtime directory.
    socket: &'static str,
}

impl Builder {
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            settings: BTreeMap::new(),
            env: Vec::new(),
            args: Vec::new(),
            place: Place::Here,
            through: Vec::new(),
            open_files: None,
            socket: "trl.sock",
        }
    }

    /// Puts its socket where programs look for it that are told the runtime directory and nothing else.
    #[must_use]
    pub fn at_the_usual_place(mut self) -> Self {
        self.socket = "trl/trl.sock";
        self
    }

    /// One setting of the config file, in place of an earlier one; `value` is TOML.
    #[must_use]
    pub fn set(mut self, section: &str, key: &str, value: impl Display) -> Self {
        self.settings.entry(section.into()).or_default().insert(key.into(), value.to_string());
        self
    }

    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// A further argument of `trl serve`.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Serves HTTP on a free port of this machine.
    #[must_use]
    pub fn http(self) -> Self {
        self.arg("--http").arg("127.0.0.1:0")
    }

    /// Runs it as process 1 of a new pid namespace.
    #[must_use]
    pub fn as_pid_1(mut self) -> Self {
        self.place = Place::PidNamespace;
        self
    }

    /// Has it started by these words, which become it.
    #[must_use]
    pub fn through(mut self, words: Vec<String>) -> Self {
        self.through = words;
        self
    }

    /// Lets it have no more descriptors than this.
    #[must_use]
    pub fn open_files(mut self, most: u32) -> Self {
        self.open_files = Some(most);
        self
    }

    pub fn start(self) -> Daemon {
        adopt_orphans();
        let dir = Scratch::new();
        for name in ["home", "config/trl", "bin"] {
            dir.dir(name);
        }
        let run = Scratch::in_memory();
        if let Some((dir, _)) = self.socket.rsplit_once('/') {
            run.dir(dir);
        }
        let mut daemon = Daemon {
            builder: self,
            dir,
            run,
            elsewhere: None,
            child: None,
            pid: 0,
            ready_line: String::new(),
            http: None,
        };
        let (binary, most) = (&daemon.builder.binary, daemon.builder.open_files);
        daemon.elsewhere = Elsewhere::prepare(binary, &daemon.environment_elsewhere(), most);
        daemon.write_config();
        daemon.launch();
        daemon
    }

    fn config_text(&self) -> String {
        let section = |(name, keys): (&String, &BTreeMap<String, String>)| {
            let head = if name.is_empty() { String::new() } else { format!("[{name}]\n") };
            let lines: String = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            head + &lines
        };
        self.settings.iter().map(section).collect()
    }
}

/// The `unshare` call that makes its child process 1; None when this machine does not let us.
pub fn pid_namespace() -> Option<Vec<&'static str>> {
    let tried = [
        vec!["unshare", "-rpf", "--mount-proc", "--kill-child"],
        vec!["unshare", "-pf", "--mount-proc", "--kill-child"],
    ];
    tried.into_iter().find(|argv| {
        let probe = Command::new(argv[0]).args(&argv[1..]).arg("true").stderr(Stdio::null()).status();
        probe.is_ok_and(|s| s.success())
    })
}

#[derive(Debug)]
pub struct Daemon {
    builder: Builder,
    /// Home, config and log.
    dir: Scratch,
    /// Runtime directory and socket, in memory where the machine has such a place.
    run: Scratch,
    /// Where its sessions live, if that is not here.
    elsewhere: Option<Elsewhere>,
    child: Option<Child>,
    pid: i32,
    ready_line: String,
    /// What follows `http on` in the second line, where there is one.
    http: Option<String>,
}

impl Daemon {
    /// A daemon with default settings.
    pub fn start(binary: &str) -> Self {
        Builder::new(binary).start()
    }

    fn write_config(&self) {
        let mut builder = self.builder.clone();
        let config = self.dir.text("config/trl/config.toml");
        let far = Far { binary: &self.builder.binary, config: &config, dir: self.run.path() };
        for (section, key, value) in self.elsewhere.iter().flat_map(|elsewhere| elsewhere.settings(&far)) {
            builder = builder.set(section, key, value);
        }
        let text = builder.config_text();
        self.dir.file("config/trl/config.toml", text);
    }

    /// The binary with this daemon's environment, and no arguments yet.
    pub fn command(&self) -> Command {
        self.with_environment(Command::new(&self.builder.binary))
    }

    fn with_environment(&self, mut command: Command) -> Command {
        command.env_clear().envs(self.environment()).current_dir("/");
        command
    }

    fn environment(&self) -> Vec<(String, String)> {
        let dir = |name: &str| self.dir.text(name);
        let own = [
            ("PATH", SYSTEM_PATH.to_string()),
            ("HOME", dir("home")),
            ("XDG_CONFIG_HOME", dir("config")),
            ("XDG_RUNTIME_DIR", self.run.path().to_str().expect("a UTF-8 path").into()),
            ("USER", "tester".into()),
            ("LANG", "C.UTF-8".into()),
            ("RUST_BACKTRACE", "1".into()),
        ];
        let passed = ["LLVM_PROFILE_FILE", "RUST_LOG", "TMPDIR"];
        let passed = passed.into_iter().filter_map(|key| Some((key, std::env::var(key).ok()?)));
        let own = own.into_iter().chain(passed).map(|(key, value)| (key.to_string(), value));
        own.chain(self.builder.env.iter().cloned()).collect()
    }

    /// That of whoever logs in where its sessions live. What is meant for the daemon is not for another one.
    pub(crate) fn environment_elsewhere(&self) -> Vec<(String, String)> {
        self.environment().into_iter().filter(|(key, _)| !key.starts_with("TRL_")).collect()
    }

    fn launch(&mut self) {
        assert!(self.try_launch(), "no ready line; its log:\n{}", self.log());
    }

    /// False when it ended without its ready line.
    fn try_launch(&mut self) -> bool {
        let mut argv = self.builder.through.clone();
        if self.builder.place == Place::PidNamespace {
            let unshare = pid_namespace().expect("checked by the test: pid namespaces work here");
            argv.extend(unshare.into_iter().map(String::from));
        }
        if let Some(most) = self.builder.open_files {
            let script = format!("ulimit -n {most}; exec \"$@\"");
            argv.extend(["sh".into(), "-c".into(), script, "sh".into()]);
        }
        argv.push(self.builder.binary.to_str().expect("a UTF-8 path").into());
        argv.extend(["serve".into(), "--socket".into(), self.run.text(self.builder.socket)]);
        argv.extend(["--config".into(), self.dir.text("config/trl/config.toml")]);
        argv.extend(self.builder.args.iter().cloned());
        let mut program = Command::new(&argv[0]);
        program.args(&argv[1..]);
        let log =
            fs::OpenOptions::new().create(true).append(true).open(self.dir.join("log")).expect("a log file");
        let mut child = self
            .with_environment(program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        let outer = child.id().cast_signed();
        let_live(outer);
        self.pid = outer;
        let ready = read_line(&mut child);
        let second = (ready.is_some() && self.serves_http()).then(|| read_line(&mut child)).flatten();
        self.http = second.and_then(|line| Some(line.split_once(" http on ")?.1.to_string()));
        self.child = Some(child);
        let Some(ready) = ready else { return false };
        self.ready_line = ready;
        if self.builder.place == Place::PidNamespace {
            self.pid = below(outer).iter().find(|p| p.parent == outer).expect("unshare has a child").pid;
        }
        true
    }

    /// Has this variable in its environment from the next start on, or not any more.
    pub fn set_env(&mut self, key: &str, value: Option<&str>) {
        self.builder.env.retain(|(known, _)| known != key);
        self.builder.env.extend(value.map(|value| (key.to_string(), value.to_string())));
    }

    /// As [`Daemon::relaunch`]; false when it ended before it was ready, as one may that is to be killed.
    pub fn relaunch_or_die(&mut self) -> bool {
        assert!(self.child.is_none(), "the daemon still runs");
        if self.try_launch() {
            return true;
        }
        self.reap();
        false
    }

    /// Starts it again in the same directory after it ended.
    pub fn relaunch(&mut self) {
        assert!(self.child.is_none(), "the daemon still runs");
        self.launch();
    }

    fn serves_http(&self) -> bool {
        self.builder.args.iter().any(|arg| arg == "--http")
    }

    /// Its HTTP door; panics when it was started without one.
    pub fn http(&self) -> Http {
        Http::at(self.http.as_deref().expect("started with Builder::http"))
    }

    /// A token made by the operator, with further parameters of `token.create`.
    pub fn token(&self, role: &str, extra: Value) -> Value {
        let params = crate::merged(json!({"name": "test", "role": role}), extra);
        self.operator().ok("token.create", params)
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn ready_line(&self) -> &str {
        &self.ready_line
    }

    pub fn socket(&self) -> PathBuf {
        self.run.join(self.builder.socket)
    }

    pub fn runtime_dir(&self) -> &Path {
        self.run.path()
    }

    /// Where the directory of this session is: that of the daemon, or of the engine that has it.
    pub fn place_of(&self, session: &str) -> PathBuf {
        let places = fs::read_dir(self.run.join("trl/sessions")).expect("session directories");
        let mut places = places.map(|place| place.expect("an entry").path());
        places.find(|place| place.join(session).is_dir()).expect("the session's directory")
    }

    /// A directory of this daemon's own, gone with it: a place for a test's files too.
    pub fn dir(&self) -> &Scratch {
        &self.dir
    }

    pub fn operator_token(&self) -> String {
        let text = fs::read_to_string(self.dir.join("config/trl/operator.token")).expect("a token file");
        text.trim().to_string()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    pub fn operator(&self) -> Client {
        let mut client = self.client();
        client.authenticate(&self.operator_token());
        client
    }

    /// A session of this shell in `/`.
    pub fn session(&self, shell: Shell) -> Session {
        self.session_with(shell, json!({}))
    }

    /// A session with further parameters of `session.create`.
    pub fn session_with(&self, shell: Shell, extra: Value) -> Session {
        let base = json!({"shell": self.shell_path(shell), "working_dir": "/"});
        Session::create(self.client(), crate::merged(base, extra))
    }

    /// A terminal in `/` with these parameters of `terminal.create`; a plain `sh` unless they say otherwise.
    pub fn terminal(&self, extra: Value) -> Terminal {
        let mut base = json!({"working_dir": "/", "env": {"PS1": "$ "}});
        if extra.get("argv").is_none() && extra.get("shell").is_none() {
            base["shell"] = json!("/bin/sh");
        }
        Terminal::create(self.client(), crate::merged(base, extra))
    }

    /// A terminal on which a shell runs `script`.
    pub fn terminal_running(&self, script: &str) -> Terminal {
        self.terminal(json!({"argv": ["/bin/sh", "-c", script]}))
    }

    /// How this shell is named on the wire.
    pub fn shell_path(&self, shell: Shell) -> String {
        let program = shell.program().unwrap_or_else(|| panic!("{shell} is not installed"));
        if shell != Shell::Ash {
            return program.to_str().expect("a UTF-8 path").to_string();
        }
        let link = self.dir.join("bin/ash");
        if !link.exists() {
            symlink(program, &link).expect("a link");
        }
        self.dir.text("bin/ash")
    }

    /// Kills the daemon process as a crash would.
    pub fn kill9(&mut self) {
        signal(self.pid, Signal::KILL);
        self.reap();
    }

    /// SIGTERM, and the status it ends with.
    pub fn stop(&mut self) -> ExitStatus {
        signal(self.pid, Signal::TERM);
        self.reap()
    }

    /// Waits for the end of a daemon that was told to end.
    pub fn reap(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("a running daemon");
        let outer = child.id().cast_signed();
        wait_gone(outer);
        let_go(outer);
        child.wait().expect("our own child")
    }

    fn left(&self) -> Vec<Process> {
        let there = match &self.elsewhere {
            Some(Elsewhere::Docker(slot)) => slot.left(),
            _ => Vec::new(),
        };
        strays().into_iter().chain(there).collect()
    }

    /// Fails when any process of this daemon is still there. Call it after the daemon ended.
    pub fn assert_nothing_left(&self) {
        if !comes_true(PATIENCE, &mut || self.left().is_empty()) {
            let left = self.left();
            left.iter().for_each(|stray| signal(stray.pid, Signal::KILL));
            panic!("processes left behind: {left:#?}\nlog:\n{}", self.log());
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("---- daemon log ----\n{}---- end of log ----", self.log());
            if let Some(mut child) = self.child.take() {
                signal(self.pid, Signal::KILL);
                let _ = child.kill();
                let _ = child.wait();
                let_go(child.id().cast_signed());
            }
            self.left().iter().for_each(|stray| signal(stray.pid, Signal::KILL));
            return;
        }
        if self.child.is_some() {
            self.stop();
        }
        // What is left of it there is in sight then.
        if let Some(Elsewhere::Ssh(sshd)) = self.elsewhere.take_if(|place| matches!(place, Elsewhere::Ssh(_)))
        {
            drop(sshd);
        }
        self.assert_nothing_left();
    }
}

/// What is meant to live beside the daemons of this test, with everything below it.
pub(crate) fn let_live(pid: i32) {
    lock_live().push(pid);
}

pub(crate) fn let_go(pid: i32) {
    lock_live().retain(|live| *live != pid);
}

fn lock_live() -> std::sync::MutexGuard<'static, Vec<i32>> {
    LIVE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Live processes this test caused that belong to no daemon still meant to live.
fn strays() -> Vec<Process> {
    let live = lock_live().clone();
    let kept: Vec<i32> =
        live.iter().flat_map(|pid| below(*pid)).map(|p| p.pid).chain(live.iter().copied()).collect();
    below(own_pid()).into_iter().filter(|p| !p.is_zombie() && !kept.contains(&p.pid)).collect()
}

/// The first line of the child's stdout, which stays open; None when it ended without one.
fn read_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.as_mut().expect("piped");
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        if !readable(stdout, PATIENCE) || stdout.read(&mut byte).ok()? == 0 {
            return None;
        }
        match byte[0] {
            b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
            other => line.push(other),
        }
    }
}
