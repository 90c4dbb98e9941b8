//! A Docker daemon of the test's own, which leaves nothing behind.
//!
//! 1. [`Dockerd::start`] runs `dockerd` in namespaces of its own: it sees no other Docker and no containerd, its mounts
//!    are nobody else's, and whatever it starts ends with it, also when the test is killed.
//! 2. Its images and containers are in a temporary directory. It has no bridge and touches no firewall: containers get
//!    the network `none`, or the host's.
//! 3. [`BUSYBOX`] is the image that is there from the start: one program under all its names, and two users.
//! 4. Dropping it ends its containers, then it, and removes what it left in control groups.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::daemon::{let_go, let_live};
use crate::process::{adopt_orphans, below, signal, wait_gone};
use crate::shell::{SYSTEM_PATH, find_program};
use crate::{PATIENCE, Scratch, available, comes_true};

/// The image that every [`Dockerd`] has. Its users are `root` and `me` (1000).
pub const BUSYBOX: &str = "tk/busybox:latest";

/// Makes it process 1 of what it starts, and hides what others have in `/run`.
const APART: [&str; 6] = [
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
    // Also when the test is killed, and with it `unshare`: see `--pdeathsig` below.
    "--kill-child",
];

#[derive(Debug)]
pub struct Dockerd {
    dir: Scratch,
    /// `unshare`; the daemon is its child.
    child: Child,
}

impl Dockerd {
    /// None when this machine cannot, which it says; in CI that is a failure.
    pub fn start() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let program = find_program("dockerd");
        if !available("being root, for dockerd", is_root)
            || !available("dockerd", program.is_some())
            || !available("busybox", find_program("busybox").is_some())
        {
            return None;
        }
        let mut dockerd = Self::launch(&program?);
        if !dockerd.gets_ready() {
            available("a dockerd that works", false);
            return None;
        }
        dockerd.import(BUSYBOX, &busybox(&[]));
        Some(dockerd)
    }

    fn launch(program: &Path) -> Self {
        adopt_orphans();
        let dir = Scratch::new();
        let log = fs::File::create(dir.join("log")).expect("a log file");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(words(program, dir.path()));
        let child = command
            .env_clear()
            .env("PATH", SYSTEM_PATH)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log)
            .spawn()
            .expect("setpriv starts");
        let_live(child.id().cast_signed());
        Self { dir, child }
    }

    fn gets_ready(&mut self) -> bool {
        let mut ended = false;
        let ready = comes_true(PATIENCE, &mut || {
            ended = self.child.try_wait().expect("our own child").is_some();
            ended || answers(&self.socket())
        });
        let works = ready && !ended;
        if !works {
            eprintln!("---- log of dockerd ----\n{}---- end of log ----", self.log());
        }
        works
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("docker.sock")
    }

    /// A directory of this daemon's own, gone with it: a place for a test's files too. Containers can mount from it.
    pub fn dir(&self) -> &Scratch {
        &self.dir
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Docker's own client for this daemon, for comparison; None when it is not installed.
    pub fn client(&self) -> Option<Command> {
        let mut command = Command::new(find_program("docker")?);
        command.env_clear().env("PATH", SYSTEM_PATH).env("HOME", self.dir.path());
        command.arg("--host").arg(format!("unix://{}", self.dir.text("docker.sock")));
        Some(command)
    }

    /// Makes an image of a tar archive.
    pub fn import(&self, name: &str, tar: &[u8]) {
        import(&self.socket(), name, tar);
    }

    /// The daemon itself; None when it has ended.
    fn daemon(&self) -> Option<i32> {
        let outer = self.child.id().cast_signed();
        below(outer).iter().find(|process| process.parent == outer).map(|process| process.pid)
    }

    /// As a crash, or an administrator in a hurry: it, and all that it runs.
    pub fn kill9(&mut self) {
        self.end(Signal::KILL);
    }

    fn end(&mut self, how: Signal) {
        if let Some(daemon) = self.daemon() {
            signal(daemon, how);
            wait_gone(daemon);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("---- log of dockerd ----\n{}---- end of log ----", self.log());
            self.end(Signal::KILL);
        } else {
            self.end(Signal::TERM);
        }
        let_go(self.child.id().cast_signed());
        remove_groups(name_of(self.dir.path()));
    }
}

/// The words that run a Docker daemon of its own in `dir`.
pub(crate) fn words(program: &Path, dir: &Path) -> Vec<String> {
    let text = |name: &str| dir.join(name).to_str().expect("a UTF-8 path").to_string();
    let script = "mount -t tmpfs tmpfs /run && exec \"$@\"";
    let own = [
        ["--data-root", &text("data")],
        ["--exec-root", &text("exec")],
        ["--pidfile", &text("pid")],
        ["--cgroup-parent", &format!("/{}", name_of(dir))],
        ["--host", &format!("unix://{}", text("docker.sock"))],
    ];
    let fixed = ["--iptables=false", "--ip6tables=false", "--bridge=none", "--shutdown-timeout=1"];
    let start = ["sh", "-c", script, "sh", program.to_str().expect("a UTF-8 path")];
    APART.into_iter().chain(start).chain(fixed).chain(own.concat()).map(String::from).collect()
}

pub(crate) fn answers(socket: &Path) -> bool {
    ask(socket, "GET /_ping", "", &[]).is_ok_and(|answer| answer.starts_with("HTTP/1.0 200"))
}

/// Makes an image of a tar archive.
pub(crate) fn import(socket: &Path, name: &str, tar: &[u8]) {
    let line = format!("POST /images/create?fromSrc=-&repo={name}");
    let answer = ask(socket, &line, "application/x-tar", tar).expect("an answer of dockerd");
    let fine = answer.starts_with("HTTP/1.0 200") && !answer.contains("errorDetail");
    assert!(fine, "the image was not imported: {answer}");
}

/// One request as bytes, so that nothing under test is needed for it.
pub(crate) fn ask(socket: &Path, line: &str, kind: &str, body: &[u8]) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.0\r\nHost: docker\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn name_of(dir: &Path) -> &str {
    dir.file_name().and_then(|name| name.to_str()).expect("a UTF-8 name")
}

/// Its control groups: one of version 2, or one in each hierarchy of version 1. Killed processes may be in them for a
/// moment more.
fn remove_groups(name: &str) {
    let top = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(top).into_iter().flatten().flatten().map(|entry| entry.path());
    for group in hierarchies.chain([top.into()]).map(|hierarchy| hierarchy.join(name)) {
        comes_true(PATIENCE, &mut || {
            let inner = fs::read_dir(&group).into_iter().flatten().flatten();
            inner.filter(|entry| entry.path().is_dir()).for_each(|entry| {
                let _ = fs::remove_dir(entry.path());
            });
            !group.exists() || fs::remove_dir(&group).is_ok()
        });
    }
}

/// The layer of an image like [`BUSYBOX`] in which this program finds the libraries it wants, if it wants any.
pub fn layer_for(program: &Path) -> Vec<u8> {
    busybox(&libraries(program))
}

/// A tar archive with busybox under all its names, the libraries it needs, if it is not static, and others.
fn busybox(others: &[String]) -> Vec<u8> {
    let program = find_program("busybox").expect("checked at the start");
    let dir = Scratch::new();
    for name in ["bin", "etc", "tmp", "root"] {
        dir.dir(name);
    }
    fs::copy(&program, dir.join("bin/busybox")).expect("a copy");
    for library in libraries(&program).iter().chain(others) {
        let name = library.trim_start_matches('/');
        dir.dir(Path::new(name).parent().and_then(Path::to_str).expect("a directory"));
        fs::copy(library, dir.join(name)).expect("a copy");
    }
    for name in output(Command::new(&program).arg("--list")).lines().filter(|name| *name != "busybox") {
        symlink("busybox", dir.join("bin").join(name)).expect("a link");
    }
    dir.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000:me:/tmp:/bin/sh\n");
    dir.file("etc/group", "root:x:0:\nme:x:1000:\n");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--mode=a+rX", "--owner=0", "--group=0", "--directory"]).arg(dir.path()).arg(".");
    let packed = tar.output().expect("tar runs");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    packed.stdout
}

/// What the loader would load, and the loader; nothing for a static program.
fn libraries(program: &Path) -> Vec<String> {
    let told = output(Command::new("ldd").arg(program));
    let words = told.lines().flat_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    words.map(String::from).collect()
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("a program of the system starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
