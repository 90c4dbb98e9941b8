//! A real `sshd` on the loopback, for the user who runs the test: a machine to log in to, which leaves nothing behind.
//!
//! 1. [`Sshd::start`] makes a host key and one key that is let in, and runs `sshd` with a config of its own.
//! 2. Whoever logs in has a home of their own ([`Sshd::home`]), and a runtime directory there.
//! 3. [`Sshd::options`] are the words that `ssh` needs before [`Sshd::target`]. Nothing of the developer's own config is
//!    read.
//! 4. [`Sshd::key`] lets another key in, for which everything is run by some other command, such as another shell.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::daemon::{let_go, let_live};
use crate::process::{adopt_orphans, below, signal, wait_gone};
use crate::shell::SYSTEM_PATH;
use crate::{PATIENCE, Scratch, Wire, available, comes_true};

const PROGRAM: &str = "/usr/sbin/sshd";
/// Where it wants to lock itself in before anybody is let in; packages make it when the machine starts.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

#[derive(Debug)]
pub struct Sshd {
    dir: Scratch,
    child: Child,
    address: String,
    port: u16,
}

impl Sshd {
    /// None when this machine cannot, which it says; in CI that is a failure.
    pub fn start() -> Option<Self> {
        let sshd = Self::launch(&[], "127.0.0.1", &[])?;
        sshd.let_in("let-in", None);
        Some(sshd)
    }

    /// Whoever logs in has these variables, whatever else would be said of them, and begins with this shell command.
    pub fn start_with(environment: &[(String, String)], login: &str) -> Option<Self> {
        let sshd = Self::launch(environment, "127.0.0.1", &[])?;
        sshd.let_in("let-in", Some(&format!("{login}; exec sh -c \"$SSH_ORIGINAL_COMMAND\"")));
        Some(sshd)
    }

    /// At the far end of a wire.
    pub fn start_behind(wire: &Wire) -> Option<Self> {
        let sshd = Self::launch(&[], wire.address(), &wire.far())?;
        sshd.let_in("let-in", None);
        Some(sshd)
    }

    fn launch(environment: &[(String, String)], address: &str, through: &[String]) -> Option<Self> {
        if !available("sshd", Path::new(PROGRAM).is_file())
            || !available("ssh", Path::new("/usr/bin/ssh").is_file())
        {
            return None;
        }
        adopt_orphans();
        let dir = Scratch::new();
        for name in ["home", "run"] {
            dir.dir(name);
        }
        for name in ["host", "let-in"] {
            make_key(&dir.join(name));
        }
        let port = free_port();
        let host = fs::read_to_string(dir.join("host.pub")).expect("a public key");
        dir.file("known_hosts", format!("[{address}]:{port} {host}"));
        let config = dir.file("sshd_config", config(&dir, address, port) + &set_env(environment));
        if rustix::process::geteuid().is_root() {
            let _ = fs::create_dir(PRIVILEGE_SEPARATION);
        }
        let log = fs::File::create(dir.join("log")).expect("a log file");
        let words: Vec<&str> =
            through.iter().map(String::as_str).chain([PROGRAM, "-D", "-e", "-f", &config]).collect();
        let child = Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", SYSTEM_PATH)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log)
            .spawn()
            .expect("sshd starts");
        let_live(child.id().cast_signed());
        let sshd = Self { dir, child, address: address.into(), port };
        let answers = comes_true(PATIENCE, &mut || sshd.log().contains("Server listening"));
        assert!(answers, "sshd does not answer:\n{}", sshd.log());
        Some(sshd)
    }

    /// Appends a key to those that are let in.
    fn let_in(&self, name: &str, command: Option<&str>) {
        let public = fs::read_to_string(self.dir.join(&format!("{name}.pub"))).expect("a public key");
        let set = |name: &str, value: &str| format!("environment=\"{name}={}\"", self.dir.text(value));
        let mut options = vec![set("HOME", "home"), set("XDG_RUNTIME_DIR", "run")];
        options.extend(command.map(|command| format!("command=\"{}\"", command.replace('"', "\\\""))));
        let path = self.dir.join("authorized_keys");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}{} {public}", options.join(","))).expect("a file");
    }

    /// The key of somebody for whom `command` is run, whatever is asked for: that is in `$SSH_ORIGINAL_COMMAND`.
    pub fn key(&self, name: &str, command: &str) -> PathBuf {
        let path = self.dir.join(name);
        make_key(&path);
        self.let_in(name, Some(command));
        path
    }

    /// The key of somebody whose shell is this one.
    pub fn key_with_shell(&self, shell: &str) -> PathBuf {
        self.key(&format!("key-{shell}"), &format!("exec {shell} -c \"$SSH_ORIGINAL_COMMAND\""))
    }

    /// A key that nobody is let in with.
    pub fn stranger(&self) -> PathBuf {
        let path = self.dir.join("stranger");
        make_key(&path);
        path
    }

    /// Where to log in, for somebody who is let in.
    pub fn options(&self) -> Vec<String> {
        self.options_with(&self.dir.join("let-in"))
    }

    /// The same with this key.
    pub fn options_with(&self, key: &Path) -> Vec<String> {
        let known = format!("-oUserKnownHostsFile={}", self.dir.text("known_hosts"));
        let key = key.to_str().expect("a UTF-8 path").to_string();
        let words = ["-F", "none", "-oIdentitiesOnly=yes", "-oStrictHostKeyChecking=yes"];
        let own = [known, "-p".into(), self.port.to_string(), "-i".into(), key];
        words.map(String::from).into_iter().chain(own).collect()
    }

    pub fn target(&self) -> String {
        let user = Command::new("id").arg("-un").output().expect("id runs").stdout;
        format!("{}@{}", String::from_utf8_lossy(&user).trim(), self.address)
    }

    /// Of whoever logs in.
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// A directory of this server's own, gone with it: a place for a test's files too.
    pub fn dir(&self) -> &Scratch {
        &self.dir
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// How many have logged in.
    pub fn logins(&self) -> usize {
        self.log().matches("Accepted publickey").count()
    }

    /// Ends every connection there is, as a network does; the next can be made.
    pub fn cut(&self) {
        let own = self.child.id().cast_signed();
        for process in below(own).into_iter().filter(|process| process.parent == own) {
            signal(process.pid, Signal::KILL);
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("---- log of sshd ----\n{}---- end of log ----", self.log());
        }
        let own = self.child.id().cast_signed();
        self.cut();
        signal(own, Signal::TERM);
        wait_gone(own);
        let_go(own);
        let _ = self.child.wait();
    }
}

fn config(dir: &Scratch, address: &str, port: u16) -> String {
    let (host, keys) = (dir.text("host"), dir.text("authorized_keys"));
    format!(
        "ListenAddress {address}:{port}\nHostKey {host}\nAuthorizedKeysFile {keys}\nPidFile none\nUsePAM no\n\
         StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitUserEnvironment yes\nPrintMotd no\nMaxStartups 1000\nLogLevel VERBOSE\n"
    )
}

/// All of them in one line: of several, the first would hold.
fn set_env(environment: &[(String, String)]) -> String {
    let set: String = environment.iter().map(|(name, value)| format!(" \"{name}={value}\"")).collect();
    if set.is_empty() { set } else { format!("SetEnv{set}\n") }
}

fn make_key(path: &Path) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "no key could be made");
}

/// Of nobody for the moment; sshd cannot say which one it chose.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
