//! One Docker daemon for all tests of a run, with a container for each daemon that is tested at a time.
//!
//! 1. A run is whoever started this test process, such as nextest. Whichever of its tests comes first starts a Docker of the
//!    run's own, under a lock. It ends with the run: a process that waits for that takes everything down.
//! 2. [`Slot::take`]: a place that nobody else has for now, which is held by a lock on a file, and so is free again however
//!    the test ends. Its container stays for the next.
//! 3. The container is this machine again: its directories, but processes of its own. Its environment names links in the
//!    slot, which are turned to the files of the daemon whose slot it is.
//! 4. What a test runs in a container is found by the container's pid namespace ([`places`]), and what a session says of a
//!    process is what it is called there ([`as_known_here`]).

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::daemon::let_live;
use crate::dockerd::{answers, ask, import, words};
use crate::process::{Process, parent};
use crate::shell::{SYSTEM_PATH, find_program};
use crate::{PATIENCE, Scratch, available, comes_true, eventually};

/// Directories that are only there to be mounted on.
const IMAGE: &str = "tk/machine:latest";
/// What a container has by itself.
const ITS_OWN: [&str; 5] = ["proc", "sys", "dev", "run", "lost+found"];
/// Variables that name a directory of the daemon's; the slot has a link for each.
const LINKED: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];

/// Slots that this test process has.
static PLACES: Mutex<Vec<Place>> = Mutex::new(Vec::new());

/// The processes of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    namespace: PathBuf,
    /// What there is as long as the container.
    own: [i32; 2],
}

impl Place {
    pub(crate) fn has(&self, pid: i32) -> bool {
        !self.own.contains(&pid) && namespace(pid).is_some_and(|namespace| namespace == self.namespace)
    }
}

fn namespace(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

pub(crate) fn places() -> Vec<Place> {
    lock_places().clone()
}

/// What a process of one of our containers is called outside of it; the same where there is none.
pub(crate) fn as_known_here(pid: i32) -> i32 {
    let places = places();
    let inner = |outer: i32| -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{outer}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("NSpid:"))?;
        line.split_whitespace().last()?.parse().ok()
    };
    let is_it = |process: &Process| {
        places.iter().any(|place| place.has(process.pid)) && inner(process.pid) == Some(pid)
    };
    let processes = if places.is_empty() { Vec::new() } else { crate::process::all() };
    processes.into_iter().find(is_it).map_or(pid, |process| process.pid)
}

fn lock_places() -> MutexGuard<'static, Vec<Place>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A container that is one daemon's for now.
#[derive(Debug)]
pub(crate) struct Slot {
    number: usize,
    run: PathBuf,
    place: Place,
    _held: File,
}

impl Slot {
    /// For a daemon with this environment. None when this machine cannot, which it says.
    pub(crate) fn take(environment: &[(String, String)]) -> Option<Self> {
        let run = run()?;
        let (number, held) = (0..).find_map(|number| Some((number, free(&run, number)?)))?;
        let slot = slot_dir(&run, number);
        for name in LINKED {
            let (_, target) = environment.iter().find(|(known, _)| known == name).expect("a directory");
            let _ = fs::remove_file(slot.join(name));
            symlink(target, slot.join(name)).expect("a link");
        }
        let place = container(&run, number, environment);
        lock_places().push(place.clone());
        Some(Self { number, run, place, _held: held })
    }

    pub(crate) fn container(&self) -> String {
        name(self.number)
    }

    /// What runs there, beside what always does.
    pub(crate) fn left(&self) -> Vec<Process> {
        let has = |process: &Process| !process.is_zombie() && self.place.has(process.pid);
        crate::process::all().into_iter().filter(has).collect()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.run.join("docker.sock")
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock_places().retain(|place| *place != self.place);
    }
}

fn name(number: usize) -> String {
    format!("slot-{number}")
}

fn slot_dir(run: &Path, number: usize) -> PathBuf {
    run.join(name(number))
}

/// The lock of this slot, if nobody has it.
fn free(run: &Path, number: usize) -> Option<File> {
    let dir = slot_dir(run, number);
    fs::create_dir_all(&dir).expect("a directory");
    let file = File::create(dir.join("lock")).expect("a file");
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// The directory of this run, in which a Docker daemon answers.
fn run() -> Option<PathBuf> {
    let program = find_program("dockerd");
    if !available("being root, for dockerd", rustix::process::geteuid().is_root())
        || !available("dockerd", program.is_some())
    {
        return None;
    }
    let runner = parent(crate::process::own_pid()).expect("a parent");
    let dir = std::env::temp_dir().join(format!("tk-run-{runner}"));
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.expect("a directory");
    let lock = File::create(dir.join("lock")).expect("a file");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    let socket = dir.join("docker.sock");
    if !answers(&socket) {
        launch(&program?, &dir, runner);
        let log = || fs::read_to_string(dir.join("log")).unwrap_or_default();
        assert!(comes_true(PATIENCE, &mut || answers(&socket)), "dockerd does not answer: {}", log());
        import(&socket, IMAGE, &mount_points());
    }
    Some(dir)
}

/// Starts it, and who ends it with the run.
fn launch(program: &Path, dir: &Path, runner: i32) {
    let log = File::create(dir.join("log")).expect("a log file");
    let own = dir.to_str().expect("a UTF-8 path");
    let name = dir.file_name().and_then(|name| name.to_str()).expect("a UTF-8 name");
    // `unshare` takes no other signal, and everything below it goes with it. Groups go from the inside out, once
    // the last process in them is gone, which takes a moment.
    let script = format!(
        "\"$@\" & tail --pid={runner} -f /dev/null; kill -KILL $!; wait; \
         for try in $(seq 50); do find /sys/fs/cgroup -depth -type d -path '*/{name}*' -exec rmdir {{}} + && break; \
         sleep 0.1; done; rm -rf {own}"
    );
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", &script, "sh"]).args(words(program, dir));
    let mut keeper = command
        .env_clear()
        .env("PATH", SYSTEM_PATH)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a descriptor"))
        .stderr(log)
        .spawn()
        .expect("setsid starts");
    let_live(keeper.id().cast_signed());
    // Longer than this test, as a rule.
    std::thread::spawn(move || keeper.wait());
}

/// The directories and links at the root of this machine.
fn top() -> Vec<(String, Option<PathBuf>)> {
    let entries = fs::read_dir("/").expect("a root").flatten();
    let named = entries.map(|entry| (entry.file_name().into_string().expect("UTF-8"), entry.path()));
    named
        .filter(|(name, path)| path.is_dir() && !ITS_OWN.contains(&name.as_str()))
        .map(|(name, path)| (name, fs::read_link(path).ok()))
        .collect()
}

fn mount_points() -> Vec<u8> {
    let dir = Scratch::new();
    for (name, link) in top() {
        match link {
            Some(target) => symlink(target, dir.join(&name)).expect("a link"),
            None => drop(dir.dir(&name)),
        }
    }
    let packed = Command::new("tar").args(["--create", "--directory"]).arg(dir.path()).arg(".").output();
    packed.expect("tar runs").stdout
}

/// The container of a slot, which is made when it is not there.
fn container(run: &Path, number: usize, environment: &[(String, String)]) -> Place {
    let (socket, name) = (run.join("docker.sock"), name(number));
    let call = |line: &str, body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        ask(&socket, line, "application/json", body.as_bytes()).expect("an answer of dockerd")
    };
    let inspect = format!("GET /containers/{name}/json");
    let mut found = call(&inspect, &Value::Null);
    if !found.starts_with("HTTP/1.0 200") {
        let made = call(
            &format!("POST /containers/create?name={name}"),
            &wanted(&slot_dir(run, number), environment),
        );
        assert!(made.starts_with("HTTP/1.0 201"), "{made}");
        let started = call(&format!("POST /containers/{name}/start"), &Value::Null);
        assert!(started.starts_with("HTTP/1.0 204"), "{started}");
        found = call(&inspect, &Value::Null);
    }
    let (_, body) = found.split_once("\r\n\r\n").expect("a body");
    let found: Value = serde_json::from_str(body).expect("JSON");
    let id = found["Id"].as_str().expect("an id");
    of_container(id)
}

fn wanted(slot: &Path, environment: &[(String, String)]) -> Value {
    let env = environment.iter().map(|(name, value)| match LINKED.contains(&name.as_str()) {
        true => format!("{name}={}", slot.join(name).display()),
        false => format!("{name}={value}"),
    });
    let mounted = top().into_iter().filter(|(_, link)| link.is_none()).map(|(name, _)| name);
    let binds = mounted.chain(["dev/shm".into(), "sys".into()]).map(|name| format!("/{name}:/{name}"));
    // Our program is copied into a container once, and these are many.
    let shelf = slot.with_file_name("bin");
    fs::create_dir_all(&shelf).expect("a directory");
    let binds = binds.chain([format!("{}:/.trl/bin", shelf.display())]);
    json!({
        "Image": IMAGE,
        // It collects the dead.
        "Cmd": ["/bin/bash", "-c", "sleep infinity & wait"],
        "Env": env.collect::<Vec<_>>(),
        "HostConfig": {
            "Binds": binds.collect::<Vec<_>>(),
            "NetworkMode": "host",
            // What a user of this machine may, its shells may.
            "CapAdd": ["SYS_ADMIN", "SYS_PTRACE"],
            "SecurityOpt": ["seccomp=unconfined"],
            "MaskedPaths": [],
            "ReadonlyPaths": [],
        },
    })
}

/// Its two processes of its own, as they are known here: the first of its namespace, and the one below it. Right after its
/// start it may not have both.
fn of_container(id: &str) -> Place {
    let mut place = None;
    eventually("a container has its processes", || {
        let table = crate::process::all();
        let find = |fits: &dyn Fn(&&Process) -> bool| Some(table.iter().find(fits)?.pid);
        place = (|| {
            let shim = find(&|p| p.cmdline.contains("containerd-shim") && p.cmdline.contains(id))?;
            let init = find(&|p| p.parent == shim && p.cmdline.ends_with("sleep infinity & wait"))?;
            let sleep = find(&|p| p.parent == init && p.cmdline == "sleep infinity")?;
            Some(Place { namespace: namespace(init)?, own: [init, sleep] })
        })();
        place.is_some()
    });
    place.expect("just found")
}
