//! The machine of one reader: an empty home, `trl` on the `PATH`, and a daemon like that of `cargo xtask up`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use trl_testkit::process::{Process, adopt_orphans, below, own_pid, signal};
use trl_testkit::shell::SYSTEM_PATH;
use trl_testkit::{PATIENCE, Scratch, comes_true};

/// What the daemon makes below a home for itself.
const OF_THE_DAEMON: [&str; 6] =
    [".config", ".config/trl", ".config/trl/operator.token", ".local", ".local/share", DATA];
const DATA: &str = ".local/share/trl";

/// Commands that list what a page may have made in the daemon.
const LISTS: [&[&str]; 5] =
    [&["session", "ls"], &["term", "ls"], &["runtime", "ls"], &["token", "ls"], &["approve", "--list"]];

pub(crate) struct Machine {
    /// Home, temporary files, and the log of the daemon.
    dir: Scratch,
    runtime_dir: Scratch,
    daemon: Option<Child>,
    /// Where HTTP is served in place of port 7870.
    port: u16,
}

impl Machine {
    /// Without a daemon, and with a port on which the page can start one.
    pub(crate) fn new() -> Self {
        adopt_orphans();
        let (dir, runtime_dir) = (Scratch::new(), Scratch::in_memory());
        ["home", "tmp", "bin"].iter().for_each(|name| drop(dir.dir(name)));
        symlink(env!("CARGO_BIN_EXE_trl"), dir.join("bin/trl")).expect("a link");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        Self { dir, runtime_dir, daemon: None, port }
    }

    /// With a daemon like that of `cargo xtask up`, on a port of its own choice.
    pub(crate) fn with_daemon() -> Self {
        let mut machine = Self::new();
        let log = File::create(machine.dir.join("log")).expect("a log file");
        let mut serve = machine.trl();
        serve.args(["serve", "--http", "127.0.0.1:0"]);
        serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = serve.spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        machine.daemon = Some(child);
        let address = lines.map_while(Result::ok).find(|line| line.contains(" http://"));
        let port = address.and_then(|line| line.rsplit(':').next()?.parse().ok());
        machine.port =
            port.unwrap_or_else(|| panic!("it does not say where HTTP is served:\n{}", machine.log()));
        machine
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn home(&self) -> String {
        self.dir.text("home")
    }

    pub(crate) fn temporary_dir(&self) -> String {
        self.dir.text("tmp")
    }

    pub(crate) fn runtime_dir(&self) -> &Path {
        self.runtime_dir.path()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// The binary as the reader calls it.
    fn trl(&self) -> Command {
        self.program(&self.dir.text("bin/trl"))
    }

    /// A program in the home and with the environment of the reader.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.home());
        command.env("PATH", format!("{}:{SYSTEM_PATH}", self.dir.text("bin")));
        command.env("HOME", self.home()).env("TMPDIR", self.temporary_dir());
        command.env("XDG_RUNTIME_DIR", self.runtime_dir());
        command.envs([("USER", "me"), ("LANG", "C.UTF-8"), ("TERM", "xterm")]);
        command
    }

    /// The paths below the home that are not the daemon's own, and the temporary files.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        list(&self.dir.join("home"), "", &mut files);
        list(&self.dir.join("tmp"), "tmp/", &mut files);
        // The private temporary directories of sandboxes are below this one.
        files.remove(&format!("tmp/trl-{}-tmp", rustix::process::getuid().as_raw()));
        files
    }

    /// What the daemon lists: sessions, terminals, runtimes, tokens and requests. Empty without a daemon.
    pub(crate) fn lists(&self) -> String {
        let output = |args: &[&str]| self.trl().args(args).stdin(Stdio::null()).output().expect("trl runs");
        if !output(&["ping"]).status.success() {
            return String::new();
        }
        let lists = LISTS.map(|args| String::from_utf8_lossy(&output(args).stdout).into_owned());
        lists.join("\n")
    }

    /// Stops the daemon and waits until every process below this test, except `shell`, has ended.
    ///
    /// # Errors
    /// Names the processes that are left.
    pub(crate) fn stop(&mut self, shell: i32) -> Result<(), String> {
        // Without a daemon there is nothing to stop, and the command says so.
        let _ = self.trl().arg("stop").stdin(Stdio::null()).output();
        if let Some(mut child) = self.daemon.take() {
            trl_testkit::wait_gone(child.id().cast_signed());
            let _ = child.wait();
        }
        let strays = || below(own_pid()).into_iter().filter(|p| !p.is_zombie() && p.pid != shell);
        if comes_true(PATIENCE, &mut || strays().next().is_none()) {
            return Ok(());
        }
        Err(format!("processes left behind after `trl stop`: {:#?}", strays().collect::<Vec<Process>>()))
    }
}

impl Drop for Machine {
    /// After a failure nothing may stay either.
    fn drop(&mut self) {
        let left = below(own_pid()).into_iter().filter(|p| !p.is_zombie());
        left.for_each(|process| signal(process.pid, Signal::KILL));
        if let Some(mut child) = self.daemon.take() {
            let _ = child.wait();
        }
    }
}

/// Adds what is below `dir`, without what the daemon makes for itself, each path after `prefix`.
fn list(dir: &Path, prefix: &str, files: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let own = OF_THE_DAEMON.contains(&path.as_str());
        if is_dir && path != DATA {
            list(&entry.path(), &format!("{path}/"), files);
        }
        if !own {
            files.insert(path);
        }
    }
}
