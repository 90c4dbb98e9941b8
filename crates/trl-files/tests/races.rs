//! Somebody swaps links and directories, and mounts, while every operation runs: nothing outside is read or written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use trl_files::change::{Depth, Replace};
use trl_files::glob::Hidden;
use trl_files::grep::Query;
use trl_files::watch::Below;
use trl_files::write::{How, Parents};
use trl_files::{Error, Files, Limits, Mode, Rel, Root, Rules};
use trl_testkit::Rounds;

/// Rounds of the sixteen operations below in the short tier: more than six thousand tries.
const ROUNDS: usize = 400;
const SECRET: &str = "SECRET";

struct World {
    dir: tempfile::TempDir,
    files: Files,
}

fn world() -> World {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    for path in ["w/d", "w/deep/m", "outside/sub"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    for path in ["outside/secret", "outside/victim", "outside/f", "outside/sub/secret"] {
        fs::write(dir.path().join(path), format!("{SECRET}\n")).unwrap();
    }
    fs::write(dir.path().join("w/d/f"), "inside\n").unwrap();
    let root = Arc::new(Root::open(&dir.path().join("w")).unwrap());
    let files = Files::new(root, Arc::new(Rules::new(Mode::WorkspaceWrite)), Limits::default()).unwrap();
    World { dir, files }
}

/// All that is outside, with its content.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
                found.push((path, Vec::new()));
            } else {
                let content = fs::read(&path).unwrap();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

fn rel(path: &str) -> Rel {
    Rel::parse(path).unwrap()
}

/// What came of a try: whether it worked, and no secret in it.
fn safe<T: std::fmt::Debug>(what: &str, outcome: Result<T, Error>, worked: &AtomicUsize) {
    if let Ok(done) = outcome {
        worked.fetch_add(1, Ordering::Relaxed);
        let text = format!("{done:?}");
        let bytes = format!("{:?}", SECRET.as_bytes());
        let bytes = bytes.trim_matches(['[', ']']);
        assert!(
            !text.contains(bytes) && !text.contains("secret") && !text.contains("noise"),
            "{what}: {text}"
        );
    }
}

fn round(files: &Files, n: usize, worked: &AtomicUsize) {
    let query = Query { pattern: SECRET.into(), limit: 10, hidden: Hidden::Searched, ..Query::default() };
    let made = format!("d/made{n}");
    safe("read", files.read(&rel("d/secret"), 0, 100), worked);
    safe("read a swapped file", files.read(&rel("d/f"), 0, 100), worked);
    safe("read beside", files.read(&rel("deep/m/../../d/secret"), 0, 100), worked);
    safe("read above", files.read(&rel("deep/m/../secret"), 0, 100), worked);
    safe("stat", files.stat(&rel("d/secret")), worked);
    safe("list", files.list(&rel("d"), 3, 100), worked);
    safe("glob", files.glob(&Rel::root(), "**/s*", Hidden::Searched, 100), worked);
    safe("grep", files.grep(&Rel::root(), &query), worked);
    safe("write", files.write(&rel(&made), b"mine", &How::default()), worked);
    safe("write above", files.write(&rel("deep/m/../above"), b"mine", &How::default()), worked);
    safe("mkdir", files.mkdir(&rel(&format!("d/dir{n}")), Parents::Make), worked);
    safe("move", files.rename(&rel("d/victim"), &rel("stolen"), Replace::Allowed), worked);
    safe("move in", files.rename(&rel(&made), &rel("d/victim2"), Replace::Allowed), worked);
    safe("remove", files.remove(&rel("d/victim"), Depth::One), worked);
    safe("remove all", files.remove(&rel("d/sub"), Depth::All), worked);
    if let Ok(mut watch) = files.watch(&rel("d"), Below::All) {
        safe("watch", watch.gather(), worked);
    }
    let _ = files.remove(&rel(&format!("d/dir{n}")), Depth::All);
}

/// Runs the rounds while `swap` is done over and over.
fn race(world: &World, rounds: Rounds, swap: impl Fn() + Send + Sync) -> usize {
    let before = snapshot(&world.dir.path().join("outside"));
    let (over, swaps, worked) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for n in rounds {
                round(&world.files, n, &worked);
            }
        }));
        over.store(true, Ordering::Relaxed);
        rounds.unwrap();
    });
    assert_eq!(snapshot(&world.dir.path().join("outside")), before, "something outside was changed");
    assert!(swaps.load(Ordering::Relaxed) > 10, "nobody swapped anything");
    worked.load(Ordering::Relaxed)
}

/// A file system with room for little.
fn full_disk(world: &World) {
    let small = world.dir.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(&small).status().unwrap();
    assert!(mounted.success());
    let files =
        Files::new(Arc::new(Root::open(&small).unwrap()), Arc::new(Rules::default()), Limits::default())
            .unwrap();
    files.write(&rel("old"), b"old", &How::default()).unwrap();
    let full = files.write(&rel("old"), &vec![1; 1 << 20], &How::default());
    assert!(matches!(full, Err(Error::Full)), "{full:?}");
    assert_eq!(files.read(&rel("old"), 0, 9).unwrap().bytes, b"old");
    assert_eq!(files.list(&Rel::root(), 1, 9).unwrap().items.len(), 1, "nothing is left of what did not fit");
}

mod soak {
    use super::*;

    #[test]
    fn a_directory_that_becomes_a_link_leads_nowhere() {
        let world = world();
        let (dir, link) = (world.dir.path().join("w/d"), world.dir.path().join("w/x"));
        symlink("../outside", &link).unwrap();
        let worked = race(&world, Rounds::new(ROUNDS), || {
            renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        });
        assert!(worked > 100, "only {worked} tries worked: the race was not one");
    }

    #[test]
    fn a_directory_that_is_moved_out_takes_nobody_along() {
        let world = world();
        let (inside, away) = (world.dir.path().join("w/deep/m"), world.dir.path().join("away"));
        fs::create_dir(&away).unwrap();
        fs::write(world.dir.path().join("secret"), SECRET).unwrap();
        let (file, other) = (world.dir.path().join("w/d/f"), world.dir.path().join("w/d/g"));
        symlink("../../outside/f", &other).unwrap();
        let worked = race(&world, Rounds::new(ROUNDS), || {
            fs::rename(&inside, away.join("m")).unwrap();
            // The file may be gone where the rounds have moved things.
            let _ = renameat_with(CWD, &file, CWD, &other, RenameFlags::EXCHANGE);
            fs::rename(away.join("m"), &inside).unwrap();
        });
        assert!(worked > 100, "only {worked} tries worked: the race was not one");
        assert!(!world.dir.path().join("above").exists() && !away.join("above").exists());
    }

    #[test]
    fn a_mount_that_comes_and_goes_is_never_entered() {
        // who is not root is, in a user namespace of its own
        let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        let apart: &[&str] = if root { &["-m"] } else { &["-r", "-m"] };
        let probe = Command::new("unshare").args(apart).arg("true").output();
        if !probe.is_ok_and(|done| done.status.success()) {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "CI must be able to mount");
            return eprintln!("SKIPPED: this user may not mount");
        }
        let this = std::env::current_exe().unwrap();
        let args = ["--exact", "soak::within_a_mount_namespace", "--ignored", "--nocapture"];
        let inner = Command::new("unshare")
            .args(apart)
            .args(["--propagation", "private"])
            .arg(this)
            .args(args)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&inner.stdout);
        eprint!("{}", String::from_utf8_lossy(&inner.stderr));
        assert!(
            inner.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&inner.stderr)
        );
    }

    /// Run by the test above, where mounts are nobody else's.
    #[test]
    #[ignore = "needs a mount namespace of its own"]
    fn within_a_mount_namespace() {
        let world = world();
        let (outside, inside) = (world.dir.path().join("outside"), world.dir.path().join("w/d"));
        let run =
            |program: &str, args: &[&Path]| Command::new(program).args(args).status().unwrap().success();
        let worked = race(&world, Rounds::new(ROUNDS / 2), || {
            assert!(run("mount", &[Path::new("--bind"), &outside, &inside]));
            assert!(run("umount", &[Path::new("-l"), &inside]));
        });
        assert!(worked > 100, "only {worked} tries worked: the race was not one");
        assert!(run("mount", &[Path::new("--bind"), &outside, &inside]));
        assert!(matches!(world.files.read(&rel("d/secret"), 0, 9), Err(Error::Outside { .. })));
        assert!(world.files.remove(&rel("d"), Depth::All).is_err());
        assert!(outside.join("secret").exists());
        assert!(run("umount", &[Path::new("-l"), &inside]));
        full_disk(&world);
    }
}
