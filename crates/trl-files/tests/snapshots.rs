//! Snapshots of real files by the system's git, hostile workspaces included.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use trl_files::snapshot::{Caps, Doing, Fault, Snapshots};
use trl_files::{Error, Files, Limits, Mode, Root, Rules};

struct World {
    dir: tempfile::TempDir,
}

/// A workspace `w`, and beside it what nobody may touch.
fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("w")).unwrap();
    fs::create_dir(dir.path().join("outside")).unwrap();
    World { dir }
}

impl World {
    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join("w").join(path)
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn snapshots(&self) -> Snapshots {
        self.snapshots_with(Rules::new(Mode::Off), Caps::default())
    }

    fn snapshots_with(&self, rules: Rules, caps: Caps) -> Snapshots {
        let root = Arc::new(Root::open(&self.at("")).unwrap());
        let files = Files::new(root, Arc::new(rules), Limits::default()).unwrap();
        Snapshots::new(&self.dir.path().join("kept.git"), files, caps).unwrap()
    }

    /// Everything in the workspace but git's own directories: names, kinds, bytes.
    fn tree(&self) -> Vec<(PathBuf, u32, Vec<u8>)> {
        tree(&self.at(""))
    }
}

fn tree(top: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![top.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(top).unwrap().to_path_buf();
            let bytes = if meta.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
            } else if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                if meta.is_dir() {
                    left.push(path.clone());
                }
                continue;
            };
            found.push((name, meta.permissions().mode(), bytes));
        }
    }
    found.sort();
    found
}

fn changes(snapshots: &Snapshots, id: &str) -> Vec<(String, Doing)> {
    let plan = snapshots.plan(id).unwrap();
    plan.changes.into_iter().map(|c| (c.path.to_string_lossy().into_owned(), c.doing)).collect()
}

fn named(skipped: &[(PathBuf, String)]) -> Vec<&str> {
    skipped.iter().map(|(path, _)| path.to_str().unwrap()).collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn what_was_there_comes_back_and_what_was_not_goes() {
    let world = world();
    world.put("a/plain", "one\r\ntwo\n");
    world.put("a/binary", (0..=255u8).cycle().take(700_000).collect::<Vec<_>>());
    world.put("empty", "");
    world.put("run", "#!/bin/sh\n");
    world.chmod("run", 0o755);
    world.put("private", "mine");
    world.chmod("private", 0o600);
    fs::write(world.at(OsStr::from_bytes(b"odd \"\\\n\xff name")), "odd").unwrap();
    symlink("a/plain", world.at("link")).unwrap();
    symlink("/nowhere/at all", world.at("dangling")).unwrap();
    let before = world.tree();
    let snapshots = world.snapshots();
    let taken = snapshots.take().unwrap();
    assert_eq!((taken.files, taken.skipped), (8, vec![]));
    assert_eq!(taken.bytes, before.iter().map(|(_, _, bytes)| bytes.len() as u64).sum::<u64>());
    assert_eq!(changes(&snapshots, &taken.id), []);

    world.put("a/plain", "other");
    fs::remove_file(world.at("a/binary")).unwrap();
    fs::remove_file(world.at("private")).unwrap();
    world.chmod("run", 0o644);
    fs::remove_file(world.at("link")).unwrap();
    world.put("link/now/a", "directory");
    fs::remove_file(world.at("dangling")).unwrap();
    world.put("dangling", "a file now");
    world.put("new/deep/file", "x");
    let plan = snapshots.plan(&taken.id).unwrap();
    let expected = [
        ("a/binary", Doing::Create),
        ("a/plain", Doing::Modify),
        ("dangling", Doing::Modify),
        ("link", Doing::Create),
        ("link/now/a", Doing::Delete),
        ("new/deep/file", Doing::Delete),
        ("private", Doing::Create),
        ("run", Doing::Modify),
    ]
    .map(|(path, doing)| (path.to_string(), doing));
    assert_eq!(changes(&snapshots, &taken.id), expected);

    let restored = snapshots.restore(&taken.id, Some(&plan.digest)).unwrap();
    assert_eq!((restored.written, restored.deleted, restored.failed), (6, 2, vec![]));
    assert_eq!(world.tree(), before);
    assert!(!world.at("new").exists(), "what a restore empties goes");
    assert_eq!(changes(&snapshots, &taken.id), []);
}

#[test]
fn a_restore_does_what_was_seen_or_nothing() {
    let world = world();
    world.put("f", "old");
    let snapshots = world.snapshots();
    let id = snapshots.take().unwrap().id;
    world.put("f", "new");
    let seen = snapshots.plan(&id).unwrap();
    assert_eq!(snapshots.plan(&id).unwrap(), seen);
    world.put("f", "newer");
    assert_ne!(snapshots.plan(&id).unwrap().digest, seen.digest);
    assert!(matches!(snapshots.restore(&id, Some(&seen.digest)), Err(Error::Changed { .. })));
    assert_eq!(fs::read(world.at("f")).unwrap(), b"newer");
    assert_eq!(snapshots.restore(&id, None).unwrap().written, 1);
    assert_eq!(fs::read(world.at("f")).unwrap(), b"old");
}

/// Everything git can be told to run, told by files of a workspace that is a repository itself.
#[test]
fn nothing_in_a_workspace_makes_git_run_or_change_anything() {
    let world = world();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let done = command.args(arguments).current_dir(world.at("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(done.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().status.success(), "{arguments:?}");
    };
    let canary = world.dir.path().join("canary");
    let run = format!("touch {}; cat", canary.display());
    git(&["init", "--quiet"]);
    for (key, value) in [
        ("filter.evil.clean", run.as_str()),
        ("filter.evil.smudge", &run),
        ("filter.evil.process", &run),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", &run),
        ("core.sshCommand", &run),
        ("core.pager", &run),
        ("diff.evil.textconv", &run),
        ("core.autocrlf", "true"),
        ("core.hooksPath", "hooks"),
    ] {
        git(&["config", key, value]);
    }
    for hook in ["pre-auto-gc", "reference-transaction", "post-checkout", "post-index-change"] {
        world.put(&format!("hooks/{hook}"), format!("#!/bin/sh\n{run}\n"));
        world.chmod(&format!("hooks/{hook}"), 0o755);
    }
    world.put(
        ".gitattributes",
        "* filter=evil diff=evil text=auto eol=crlf ident\n*.utf working-tree-encoding=UTF-16\n",
    );
    world.put(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch\n\tupdate = !touch\n");
    world.put("crlf", "a\r\nb\nc\r\n$Id$\n");
    world.put("x.utf", "text\n");
    world.put(".gitconfig", format!("[core]\n\tfsmonitor = {run}\n"));
    world.put("nested/.git/config", "[core]\n\tbare = false\n");
    world.put("nested/file", "kept");
    world.put("module/.git", "gitdir: ../.git/modules/x\n");
    world.put("module/file", "kept too");
    let before = world.tree();
    let snapshots = world.snapshots();
    let taken = snapshots.take().unwrap();
    assert_eq!(taken.skipped, []);
    for (path, _, _) in &before {
        if !path.iter().any(|name| name == ".git") {
            fs::remove_file(world.at(path)).unwrap();
        }
    }
    let restored = snapshots.restore(&taken.id, None).unwrap();
    assert_eq!((restored.written, restored.failed), (taken.files, vec![]));
    assert_eq!(world.tree(), before, "bytes, modes, and the repositories' own files");
    snapshots.forget(&taken.id).unwrap();
    assert!(!canary.exists(), "something was run");
}

#[test]
fn what_was_passed_over_then_is_left_alone_even_when_it_is_not_any_more() {
    let world = world();
    world.put(".gitignore", "target/\n*.log\n");
    world.put("target/debug/out", "built");
    world.put("noise.log", "log");
    world.put("venv/.gitignore", "*\n");
    world.put("venv/lib", "x");
    world.put("large", vec![7; 5000]);
    world.put("kept", "k");
    let caps = Caps { file_bytes: 4000, ..Caps::default() };
    let snapshots = world.snapshots_with(Rules::default(), caps);
    let taken = snapshots.take().unwrap();
    assert_eq!((taken.files, named(&taken.skipped)), (2, vec!["large"]));
    fs::remove_file(world.at(".gitignore")).unwrap();
    fs::remove_file(world.at("venv/.gitignore")).unwrap();
    world.put("large", "small by now");
    world.put("since", "new");
    let expected = [(".gitignore".to_string(), Doing::Create), ("since".to_string(), Doing::Delete)];
    assert_eq!(changes(&snapshots, &taken.id), expected);
    snapshots.restore(&taken.id, None).unwrap();
    for stays in ["target/debug/out", "noise.log", "venv/lib", "large", "kept"] {
        assert!(world.at(stays).exists(), "{stays}");
    }
    // And one that is larger than the cap by now comes back all the same.
    world.put("kept", vec![7; 5000]);
    assert_eq!(snapshots.restore(&taken.id, None).unwrap().written, 1);
    assert_eq!(fs::read(world.at("kept")).unwrap(), b"k");
}

#[test]
fn caps_hold_and_say_which() {
    let world = world();
    for n in 0..5 {
        world.put(&format!("f{n}"), vec![n; 100]);
    }
    let taking = |caps| world.snapshots_with(Rules::default(), caps).take();
    let few = taking(Caps { files: 4, ..Caps::default() }).unwrap_err();
    assert!(matches!(few, Error::Snapshot(Fault::TooMuch { what: "files", most: 4 })), "{few}");
    let small = taking(Caps { bytes: 499, ..Caps::default() }).unwrap_err();
    assert!(matches!(small, Error::Snapshot(Fault::TooMuch { what: "bytes", most: 499 })), "{small}");
    assert_eq!(world.snapshots().list().unwrap(), Vec::<String>::new(), "nothing is kept of those");
    let fits = taking(Caps { files: 5, bytes: 500, file_bytes: 100 }).unwrap();
    assert_eq!((fits.files, fits.bytes, fits.skipped), (5, 500, vec![]));
}

#[test]
fn what_cannot_be_read_or_kept_is_named() {
    let world = world();
    world.put("denied/secret", "s");
    world.put("good", "g");
    world.put(".GIT/config", "upper");
    world.put("closed", "c");
    world.chmod("closed", 0o000);
    world.put("closed-dir/f", "c");
    world.chmod("closed-dir", 0o000);
    symlink("good", world.at("sub.gitmodules")).unwrap();
    symlink("good", world.at(".gitmodules")).unwrap();
    trl_sys::fifo::make(&world.at("pipe")).unwrap();
    let rules = Rules::default().deny([world.at("denied")]);
    let snapshots = world.snapshots_with(rules, Caps::default());
    let taken = snapshots.take().unwrap();
    let mut skipped = named(&taken.skipped);
    skipped.sort_unstable();
    let mut expected = vec![".GIT", ".GIT/config", ".gitmodules", "closed", "closed-dir", "denied", "pipe"];
    if is_root() {
        expected.retain(|path| !path.starts_with("closed"));
    }
    assert_eq!(skipped, expected);
    world.chmod("closed-dir", 0o700);
    let plan = changes(&snapshots, &taken.id);
    assert_eq!(plan, [], "none of them is touched");
}

#[test]
fn a_restore_is_held_to_what_may_be_written_and_goes_on() {
    let world = world();
    world.put(".trl/cases/one.yaml", "old");
    world.put("f", "old");
    let id = world.snapshots().take().unwrap().id;
    world.put(".trl/cases/one.yaml", "new");
    world.put(".trl/cases/two.yaml", "new");
    world.put("f", "new");
    let held = world.snapshots_with(Rules::new(Mode::WorkspaceWrite), Caps::default());
    let restored = held.restore(&id, None).unwrap();
    assert_eq!((restored.written, restored.deleted), (1, 0));
    assert_eq!(named(&restored.failed), [".trl/cases/two.yaml", ".trl/cases/one.yaml"]);
    assert_eq!(fs::read(world.at(".trl/cases/one.yaml")).unwrap(), b"new");
    assert_eq!(fs::read(world.at("f")).unwrap(), b"old");
}

/// A directory became a link, to inside or outside: what the link leads to is not touched.
#[test]
fn a_restore_never_goes_through_links() {
    let world = world();
    world.put("d/f", "kept");
    world.put("e/f", "kept");
    world.put("g", "kept");
    world.put("other/f", "other");
    world.put("victim", "victim");
    fs::write(world.dir.path().join("outside/f"), "outside").unwrap();
    let snapshots = world.snapshots();
    let id = snapshots.take().unwrap().id;
    for dir in ["d", "e"] {
        fs::remove_dir_all(world.at(dir)).unwrap();
    }
    symlink("../outside", world.at("d")).unwrap();
    symlink("other", world.at("e")).unwrap();
    fs::remove_file(world.at("g")).unwrap();
    symlink("victim", world.at("g")).unwrap();
    let restored = snapshots.restore(&id, None).unwrap();
    assert_eq!(restored.failed, []);
    for path in ["d/f", "e/f", "g"] {
        assert_eq!(fs::read(world.at(path)).unwrap(), b"kept", "{path}");
        assert!(!world.at(path).is_symlink() && !world.at(path).parent().unwrap().is_symlink(), "{path}");
    }
    assert_eq!(fs::read(world.at("other/f")).unwrap(), b"other");
    assert_eq!(fs::read(world.at("victim")).unwrap(), b"victim");
    assert_eq!(fs::read(world.dir.path().join("outside/f")).unwrap(), b"outside");
}

/// Somebody swaps a directory and a link to the outside all the time.
#[test]
fn no_swap_of_a_directory_gets_a_byte_in_or_out() {
    let world = world();
    world.put("d/f", "inside");
    fs::write(world.dir.path().join("outside/f"), "SECRET").unwrap();
    symlink("../outside", world.at("l")).unwrap();
    let snapshots = world.snapshots();
    let first = snapshots.take().unwrap().id;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, world.at("d"), CWD, world.at("l"), RenameFlags::EXCHANGE);
            }
        });
        for round in 0..40 {
            let id = snapshots.take().unwrap().id;
            let kept = Command::new("git")
                .args(["--git-dir"])
                .arg(world.dir.path().join("kept.git"))
                .args(["grep", "SECRET", &format!("refs/trl/{id}")])
                .output()
                .unwrap();
            assert!(kept.stdout.is_empty(), "{}", String::from_utf8_lossy(&kept.stdout));
            // Whatever it can do with a tree that will not hold still, it does inside.
            let _ = snapshots.restore(if round % 2 == 0 { &first } else { &id }, None);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(tree(&world.dir.path().join("outside")).len(), 1);
    assert_eq!(fs::read(world.dir.path().join("outside/f")).unwrap(), b"SECRET");
}

#[test]
fn a_snapshot_that_is_forgotten_is_gone_and_the_others_are_not() {
    let world = world();
    let snapshots = world.snapshots();
    assert!(matches!(snapshots.plan("0123456789abcdef"), Err(Error::Snapshot(Fault::Unknown { .. }))));
    snapshots.forget("0123456789abcdef").unwrap();
    let none = snapshots.take().unwrap();
    assert_eq!((none.files, none.bytes), (0, 0));
    world.put("f", "one");
    let one = snapshots.take().unwrap().id;
    world.put("f", "two");
    let two = snapshots.take().unwrap().id;
    let mut all = snapshots.list().unwrap();
    all.sort();
    let mut expected = vec![none.id.clone(), one.clone(), two.clone()];
    expected.sort();
    assert_eq!(all, expected);
    snapshots.forget(&one).unwrap();
    snapshots.forget(&one).unwrap();
    for bad in [one.as_str(), "HEAD", "../../HEAD", ""] {
        assert!(
            matches!(snapshots.restore(bad, None), Err(Error::Snapshot(Fault::Unknown { .. }))),
            "{bad:?}"
        );
    }
    fs::remove_file(world.at("f")).unwrap();
    snapshots.restore(&two, None).unwrap();
    assert_eq!(fs::read(world.at("f")).unwrap(), b"two");
    snapshots.restore(&none.id, None).unwrap();
    assert_eq!(world.tree(), []);
}

/// Git packs what is left when many are forgotten, and the space comes back.
#[test]
fn what_nobody_needs_is_removed_from_the_disk() {
    let world = world();
    let snapshots = world.snapshots();
    let mut ids = Vec::new();
    for round in 0..21u32 {
        // More than git keeps as single files.
        for n in 0..120 {
            world.put(&format!("f{n}"), format!("{round} {n}"));
        }
        ids.push(snapshots.take().unwrap().id);
    }
    let packs = || fs::read_dir(world.dir.path().join("kept.git/objects/pack")).unwrap().count();
    assert!(packs() > 40);
    let last = ids.pop().unwrap();
    for id in &ids {
        snapshots.forget(id).unwrap();
    }
    assert!(packs() < 40, "{} files", packs());
    fs::remove_file(world.at("f7")).unwrap();
    assert_eq!(snapshots.restore(&last, None).unwrap().written, 1);
    assert_eq!(fs::read(world.at("f7")).unwrap(), b"20 7");
}

#[test]
fn damage_is_noticed_before_anything_is_changed() {
    let world = world();
    world.put("a", "one");
    world.put("b", "two");
    let snapshots = world.snapshots();
    let id = snapshots.take().unwrap().id;
    let objects = world.dir.path().join("kept.git/objects");
    for (path, _, _) in tree(&objects) {
        fs::set_permissions(objects.join(&path), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let mut hash = Command::new("git");
    hash.args(["hash-object", "--stdin"]).stdin(fs::File::open(world.at("b")).unwrap());
    let oid = String::from_utf8(hash.output().unwrap().stdout).unwrap();
    let (dir, file) = oid.trim().split_at(2);
    fs::remove_file(objects.join(dir).join(file)).unwrap();
    world.put("a", "changed");
    world.put("b", "changed");
    world.put("c", "new");
    let error = snapshots.restore(&id, None).unwrap_err();
    assert!(matches!(error, Error::Snapshot(Fault::Damaged { .. })), "{error}");
    assert_eq!(fs::read(world.at("a")).unwrap(), b"changed");
    assert!(world.at("c").exists());
}

#[test]
fn a_place_in_the_workspace_is_no_place_for_its_snapshots() {
    let world = world();
    let root = Arc::new(Root::open(&world.at("")).unwrap());
    let files = |rules| Files::new(Arc::clone(&root), Arc::new(rules), Limits::default()).unwrap();
    let inside = world.at("data/kept.git");
    let open = Snapshots::new(&inside, files(Rules::default()), Caps::default());
    assert!(matches!(open, Err(Error::Invalid { .. })));
    // A workspace that has the daemon's own directory in it never sees that.
    let held =
        Snapshots::new(&inside, files(Rules::default().deny([world.at("data")])), Caps::default()).unwrap();
    world.put("f", "x");
    assert_eq!(held.take().unwrap().files, 1);
    assert_eq!(held.take().unwrap().files, 1);
}

#[test]
fn one_at_a_time() {
    let world = world();
    world.put("f", "x");
    let snapshots = world.snapshots();
    let id = snapshots.take().unwrap().id;
    let lock = fs::File::open(world.dir.path().join("kept.git/trl.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(matches!(snapshots.take(), Err(Error::Snapshot(Fault::Busy))));
    assert!(matches!(snapshots.restore(&id, None), Err(Error::Snapshot(Fault::Busy))));
    assert_eq!(changes(&snapshots, &id), [], "looking is free");
    drop(lock);
    snapshots.take().unwrap();
}

/// Prints what it takes; there is no bar but the test's own limit.
#[test]
fn ten_thousand_files() {
    let world = world();
    for n in 0..10_000 {
        world.put(&format!("d{}/f{n}", n % 100), format!("file {n}\n").repeat(1 + n % 200));
    }
    let snapshots = world.snapshots();
    let timed = |what: &str, work: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        work();
        eprintln!("{what}: {:.0} ms", start.elapsed().as_secs_f64() * 1000.0);
    };
    let mut id = String::new();
    timed("the first snapshot of 10 000 files", &mut || id = snapshots.take().unwrap().id);
    timed("the second", &mut || drop(snapshots.take().unwrap()));
    world.put("d0/f0", "changed");
    timed("a plan", &mut || assert_eq!(snapshots.plan(&id).unwrap().changes.len(), 1));
    for n in 0..100 {
        fs::remove_dir_all(world.at(format!("d{n}"))).unwrap();
    }
    timed("a restore of all", &mut || assert_eq!(snapshots.restore(&id, None).unwrap().written, 10_000));
    assert_eq!(changes(&snapshots, &id), []);
}
