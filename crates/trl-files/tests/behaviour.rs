//! What each operation does, on real files, hostile ones included.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{OFlags, mkdirat, openat};
use trl_files::change::{Depth, Replace};
use trl_files::glob::Hidden;
use trl_files::grep::Query;
use trl_files::watch::{Below, What};
use trl_files::write::{Expect, How, Parents, Was};
use trl_files::{Error, Files, Kind, Limits, Mode, Rel, Root, Rules};
use trl_sys::files::LOOK;

struct World {
    dir: tempfile::TempDir,
    files: Files,
}

fn world() -> World {
    world_with(Mode::Off)
}

fn world_with(mode: Mode) -> World {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("w")).unwrap();
    let root = Arc::new(Root::open(&dir.path().join("w")).unwrap());
    let files = Files::new(root, Arc::new(Rules::new(mode)), Limits::default()).unwrap();
    World { dir, files }
}

impl World {
    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("w").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn paths(&self, path: &str, depth: usize) -> Vec<String> {
        let found = self.files.list(&rel(path), depth, 1000).unwrap();
        found.items.iter().map(|item| item.place.to_str().unwrap().to_string()).collect()
    }
}

fn rel(path: impl AsRef<[u8]>) -> Rel {
    Rel::parse(path.as_ref().to_vec()).unwrap()
}

fn grep(world: &World, pattern: &str) -> Vec<(String, u64, String)> {
    let query = Query { pattern: pattern.into(), limit: 100, ..Query::default() };
    let hits = world.files.grep(&Rel::root(), &query).unwrap().items;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    hits.iter().map(|h| (h.place.to_string_lossy().into_owned(), h.line, text(&h.text))).collect()
}

#[test]
fn a_write_is_whole_keeps_the_mode_and_leaves_nothing_else() {
    let world = world();
    let made = world.files.write(&rel("a"), b"one\0\xff", &How::default()).unwrap();
    assert_eq!((made.was, made.meta.size), (Was::Nothing, 5));
    fs::set_permissions(world.at("a"), fs::Permissions::from_mode(0o751)).unwrap();
    let again = world.files.write(&rel("a"), b"two", &How::default()).unwrap();
    assert_eq!((again.was, again.meta.mode), (Was::AFile, 0o751));
    assert_ne!(again.meta.version(), made.meta.version());
    let given = How { mode: Some(0o600), ..How::default() };
    assert_eq!(world.files.write(&rel("a"), b"three", &given).unwrap().meta.mode, 0o600);
    assert_eq!(world.files.read(&rel("a"), 1, 3).unwrap().bytes, b"hre");
    assert!(world.files.read(&rel("a"), 99, 3).unwrap().bytes.is_empty());
    drop(world.files.draft(&rel("b"), &How::default()).unwrap());
    assert_eq!(world.paths("", 1), ["a"]);
}

#[test]
fn a_write_through_a_link_goes_to_its_file_and_never_out() {
    let world = world();
    world.put("real/f", "old");
    fs::write(world.dir.path().join("outside"), "safe").unwrap();
    symlink("real/f", world.at("link")).unwrap();
    symlink("../outside", world.at("out")).unwrap();
    symlink("nowhere", world.at("dangling")).unwrap();
    let done = world.files.write(&rel("link"), b"new", &How::default()).unwrap();
    assert_eq!(done.place, Path::new("real/f"));
    assert_eq!(fs::read(world.at("real/f")).unwrap(), b"new");
    assert!(world.at("link").is_symlink());
    let out = world.files.write(&rel("out"), b"x", &How::default()).unwrap_err();
    assert!(matches!(out, Error::Outside { .. }), "{out}");
    assert!(matches!(
        world.files.write(&rel("dangling"), b"x", &How::default()),
        Err(Error::NotFound { .. })
    ));
    assert_eq!(fs::read(world.dir.path().join("outside")).unwrap(), b"safe");
}

#[test]
fn conditions_and_caps_hold() {
    let world = world();
    let how = |expect| How { expect, ..How::default() };
    let first = world.files.write(&rel("a"), b"1", &how(Expect::Nothing)).unwrap();
    assert!(matches!(world.files.write(&rel("a"), b"2", &how(Expect::Nothing)), Err(Error::Exists { .. })));
    let version = Expect::Version(first.meta.version());
    let mut draft = world.files.draft(&rel("a"), &how(version.clone())).unwrap();
    draft.write(b"3").unwrap();
    fs::write(world.at("a"), "somebody else").unwrap();
    assert!(matches!(draft.commit(), Err(Error::Changed { .. })));
    assert!(matches!(world.files.write(&rel("a"), b"4", &how(version)), Err(Error::Changed { .. })));
    let small = Limits { file_bytes: 3, ..Limits::default() };
    let root = Arc::new(Root::open(&world.at("")).unwrap());
    let files = Files::new(root, Arc::new(Rules::default()), small).unwrap();
    assert!(matches!(files.write(&rel("b"), b"four", &How::default()), Err(Error::TooLarge { most: 3 })));
    assert_eq!(world.paths("", 1), ["a"]);
}

#[test]
fn nothing_but_files_is_opened_and_nothing_waits() {
    let world = world();
    trl_sys::fifo::make(&world.at("fifo")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.at("socket")).unwrap();
    for name in ["fifo", "socket"] {
        assert!(matches!(world.files.read(&rel(name), 0, 1), Err(Error::Invalid { .. })), "{name}");
        assert!(
            matches!(world.files.write(&rel(name), b"x", &How::default()), Err(Error::Invalid { .. })),
            "{name}"
        );
        assert_eq!(world.files.stat(&rel(name)).unwrap().meta.kind, Kind::Other);
    }
    symlink("/dev/zero", world.at("zero")).unwrap();
    assert!(matches!(world.files.read(&rel("zero"), 0, 1), Err(Error::Outside { .. })));
    assert_eq!(grep(&world, "x"), []);
    fs::create_dir(world.at("d")).unwrap();
    assert!(matches!(world.files.read(&rel("d"), 0, 1), Err(Error::Invalid { .. })));
    assert!(matches!(world.files.write(&rel("d"), b"x", &How::default()), Err(Error::Invalid { .. })));
}

#[test]
fn hostile_names_are_names() {
    let world = world();
    let names: [&[u8]; 6] = [b"new\nline", b"\xff\xfe", b"-rf", b"a b'\"$(x)", "é".as_bytes(), b"..."];
    for name in names {
        world.files.write(&rel(name), b"x", &How::default()).unwrap();
        assert_eq!(world.files.read(&rel(name), 0, 9).unwrap().bytes, b"x");
    }
    let found = world.files.list(&Rel::root(), 1, 100).unwrap();
    let mut listed: Vec<&[u8]> = found.items.iter().map(|i| i.place.as_os_str().as_bytes()).collect();
    let mut expected = names.to_vec();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    let long = "x".repeat(300);
    assert!(matches!(world.files.write(&rel(long), b"x", &How::default()), Err(Error::Invalid { .. })));
}

#[test]
fn directories_are_made_moved_and_removed() {
    let world = world();
    assert!(matches!(world.files.mkdir(&rel("a/b"), Parents::MustExist), Err(Error::NotFound { .. })));
    assert_eq!(world.files.mkdir(&rel("a/b/c"), Parents::Make).unwrap().1, Was::Nothing);
    assert_eq!(world.files.mkdir(&rel("a/b/c"), Parents::Make).unwrap().1, Was::AFile);
    assert!(matches!(world.files.mkdir(&rel("a/b"), Parents::MustExist), Err(Error::Exists { .. })));
    world.put("a/f", "f");
    world.put("g", "g");
    assert!(matches!(world.files.rename(&rel("a/f"), &rel("g"), Replace::Never), Err(Error::Exists { .. })));
    world.files.rename(&rel("a/f"), &rel("g"), Replace::Allowed).unwrap();
    assert_eq!(fs::read(world.at("g")).unwrap(), b"f");
    assert!(matches!(
        world.files.rename(&rel("a"), &rel("a/b/x"), Replace::Never),
        Err(Error::Invalid { .. })
    ));
    assert!(matches!(world.files.remove(&rel("a"), Depth::One), Err(Error::Invalid { .. })));
    for bad in ["", ".", "..", "a/.."] {
        assert!(world.files.remove(&rel(bad), Depth::All).is_err(), "{bad:?}");
    }
    symlink("../outside", world.at("a/link")).unwrap();
    fs::create_dir(world.dir.path().join("outside")).unwrap();
    fs::write(world.dir.path().join("outside/keep"), "x").unwrap();
    world.files.remove(&rel("a"), Depth::All).unwrap();
    assert_eq!(world.paths("", 1), ["g"]);
    assert!(world.dir.path().join("outside/keep").exists(), "a link is removed, not what it leads to");
}

#[test]
fn a_very_deep_tree_is_listed_as_far_as_paths_go_and_removed_whole() {
    let world = world();
    let mut dir = rustix::fs::open(world.at(""), LOOK, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..3000 {
        mkdirat(&dir, "d", rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
        dir = openat(&dir, "d", LOOK, rustix::fs::Mode::empty()).unwrap();
    }
    drop(dir);
    assert_eq!(world.paths("", 64).len(), 64);
    assert!(world.files.glob(&Rel::root(), "**/x", Hidden::Searched, 10).unwrap().items.is_empty());
    world.files.remove(&rel("d"), Depth::All).unwrap();
    assert_eq!(world.paths("", 1).len(), 0);
}

#[test]
fn a_hundred_thousand_entries_are_bounded() {
    let world = world();
    let top = rustix::fs::open(world.at(""), LOOK, rustix::fs::Mode::empty()).unwrap();
    for n in 0..100_000 {
        openat(&top, format!("f{n:06}"), OFlags::CREATE, rustix::fs::Mode::RUSR).unwrap();
    }
    let found = world.files.list(&Rel::root(), 1, 1000).unwrap();
    assert_eq!((found.items.len(), found.truncated), (1000, true));
    assert_eq!(found.items[999].place, Path::new("f000999"));
    let found = world.files.glob(&Rel::root(), "f09999?", Hidden::LeftOut, 100).unwrap();
    assert_eq!((found.items.len(), found.truncated), (10, false));
}

#[test]
fn a_sparse_gigabyte_is_read_where_it_is_asked_for() {
    let world = world();
    let file = fs::File::create(world.at("big")).unwrap();
    file.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"end", (1 << 30) - 3).unwrap();
    let piece = world.files.read(&rel("big"), (1 << 30) - 3, 100).unwrap();
    assert_eq!((piece.bytes.as_slice(), piece.size), (&b"end"[..], 1 << 30));
    assert_eq!(grep(&world, "end"), [], "binary");
}

#[test]
fn ignore_files_are_honoured_from_any_starting_point() {
    let world = world();
    world.put(".gitignore", "target/\n*.log\n!keep.log\n");
    world.put("sub/.ignore", "private\n");
    for path in [
        "a.rs",
        "b.log",
        "keep.log",
        "target/x.rs",
        "sub/private",
        "sub/deep/c.rs",
        "sub/deep/d.log",
        ".git/e.rs",
    ] {
        world.put(path, "needle\n");
    }
    let glob = |path: &str, hidden| {
        let found = world.files.glob(&rel(path), "**", hidden, 100).unwrap();
        found.items.iter().map(|p| p.to_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(glob("", Hidden::LeftOut), [".gitignore", "a.rs", "keep.log", "sub/.ignore", "sub/deep/c.rs"]);
    assert_eq!(glob("sub/deep", Hidden::LeftOut), ["sub/deep/c.rs"]);
    assert_eq!(glob("", Hidden::Searched).len(), 10);
    let hits: Vec<String> = grep(&world, "needle").into_iter().map(|(path, ..)| path).collect();
    assert_eq!(hits, ["a.rs", "keep.log", "sub/deep/c.rs"]);
}

#[test]
fn lines_are_found_with_what_is_around_them() {
    let world = world();
    world.put("f", "one\ntwo\nthree needle\nfour\nneedle five\r\n");
    let query = Query { pattern: r"needle\b".into(), context: 1, limit: 10, ..Query::default() };
    let found = world.files.grep(&rel("f"), &query).unwrap();
    let hit = &found.items[0];
    assert_eq!((hit.line, hit.offset, hit.text.as_slice()), (3, 8, &b"three needle"[..]));
    assert_eq!((&hit.before, &hit.after), (&vec![b"two".to_vec()], &vec![b"four".to_vec()]));
    assert_eq!(found.items[1].text, b"needle five");
    let one = Query { limit: 1, ..query };
    let found = world.files.grep(&Rel::root(), &one).unwrap();
    assert_eq!((found.items.len(), found.truncated), (1, true));
    for bad in ["(", "a{1000000}"] {
        let query = Query { pattern: bad.into(), limit: 1, ..Query::default() };
        assert!(matches!(world.files.grep(&Rel::root(), &query), Err(Error::Invalid { .. })), "{bad}");
    }
}

/// Every way to write to `.git/hooks`, by its name, a link, a move or a removal, in each mode.
#[test]
fn modes_hold_by_whatever_name_a_place_is_called() {
    type Attempt = fn(&Files) -> Result<(), Error>;
    let attempts: [(&str, Attempt); 11] = [
        ("write", |f| f.write(&rel(".git/hooks/x"), b"", &How::default()).map(drop)),
        ("through a link", |f| f.write(&rel("link/x"), b"", &How::default()).map(drop)),
        ("through a link to a file", |f| f.write(&rel("hook"), b"", &How::default()).map(drop)),
        ("dots", |f| f.write(&rel("src/../.git/./hooks/x"), b"", &How::default()).map(drop)),
        ("mkdir", |f| f.mkdir(&rel("link/sub"), Parents::MustExist).map(drop)),
        ("move into", |f| f.rename(&rel("src/evil"), &rel("link/evil"), Replace::Never).map(drop)),
        ("move away", |f| f.rename(&rel(".git"), &rel("git"), Replace::Never).map(drop)),
        ("move a tree over", |f| f.rename(&rel("fake"), &rel("src/.git"), Replace::Never).map(drop)),
        ("remove", |f| f.remove(&rel("link/pre-commit"), Depth::One).map(drop)),
        ("remove above", |f| f.remove(&rel(".git"), Depth::All).map(drop)),
        ("cases", |f| {
            f.write(&rel(".trl/cases/x.yaml"), b"", &How { parents: Parents::Make, ..How::default() })
                .map(drop)
        }),
    ];
    for mode in [Mode::Off, Mode::ReadOnly, Mode::WorkspaceWrite] {
        for (name, attempt) in attempts {
            let world = world_with(mode.clone());
            for path in [".git/hooks/pre-commit", ".git/config", "src/evil", "fake/hooks/pre-commit"] {
                world.put(path, "safe");
            }
            symlink(".git/hooks", world.at("link")).unwrap();
            symlink(".git/hooks/pre-commit", world.at("hook")).unwrap();
            let done = attempt(&world.files);
            if mode == Mode::Off {
                assert!(done.is_ok(), "{name}: {done:?}");
                continue;
            }
            assert!(matches!(done, Err(Error::Denied { .. })), "{mode:?} {name}: {done:?}");
            assert_eq!(fs::read(world.at(".git/hooks/pre-commit")).unwrap(), b"safe", "{name}");
            assert_eq!(fs::read_dir(world.at(".git/hooks")).unwrap().count(), 1, "{name}");
        }
        let world = world_with(mode.clone());
        let plain = world.files.write(&rel("plain"), b"", &How::default());
        assert_eq!(plain.is_ok(), mode != Mode::ReadOnly, "{mode:?}");
    }
}

#[test]
fn no_directory_is_made_on_the_way_to_what_may_not_be() {
    let world = world_with(Mode::WorkspaceWrite);
    let make = How { parents: Parents::Make, ..How::default() };
    for path in ["sub/.git/hooks", "sub/.git/hooks/deep/pre-commit"] {
        assert!(matches!(world.files.mkdir(&rel(path), Parents::Make), Err(Error::Denied { .. })));
        assert!(matches!(world.files.write(&rel(path), b"", &make), Err(Error::Denied { .. })));
    }
    assert!(!world.at("sub").exists());
}

#[test]
fn a_deny_list_hides_what_it_names_from_everything() {
    let world = world();
    world.put("secret/key", "needle");
    world.put("open", "needle");
    symlink("secret", world.at("link")).unwrap();
    let denied = Rules::new(Mode::Off).deny([fs::canonicalize(world.at("secret")).unwrap()]);
    let files = world.files.with_access(Arc::new(denied));
    for path in ["secret", "secret/key", "link/key"] {
        let refused = files.stat(&rel(path)).is_err_and(|e| matches!(e, Error::Denied { .. }));
        assert!(refused, "{path}");
        assert!(files.read(&rel(path), 0, 1).is_err(), "{path}");
    }
    let names = |items: Vec<trl_files::list::Listed>| items.into_iter().map(|i| i.place).collect::<Vec<_>>();
    assert_eq!(names(files.list(&Rel::root(), 9, 99).unwrap().items), [Path::new("link"), Path::new("open")]);
    let query = Query { pattern: "needle".into(), limit: 9, ..Query::default() };
    assert_eq!(files.grep(&Rel::root(), &query).unwrap().items.len(), 1);
    assert!(files.rename(&rel("secret"), &rel("mine"), Replace::Never).is_err());
    assert!(files.watch(&rel("link"), Below::All).is_err());
}

#[test]
fn changes_are_told_once_and_only_those_inside() {
    let world = world();
    world.put("sub/old", "");
    let mut watch = world.files.watch(&Rel::root(), Below::All).unwrap();
    world.put("sub/new", "1");
    world.put("sub/new", "22");
    world.put("fresh/deep/f", "");
    fs::remove_file(world.at("sub/old")).unwrap();
    world.files.write(&rel("whole"), b"x", &How::default()).unwrap();
    let batch = watch.gather().unwrap();
    let told: Vec<(&str, What)> = batch.changes.iter().map(|c| (c.place.to_str().unwrap(), c.what)).collect();
    assert_eq!(
        told,
        [
            ("fresh", What::Created),
            ("fresh/deep", What::Created),
            ("fresh/deep/f", What::Created),
            ("sub/new", What::Created),
            ("sub/old", What::Removed),
            ("whole", What::Created),
        ]
    );
    assert!(!batch.missed);
    let moved = world.dir.path().join("moved");
    fs::rename(world.at("sub"), &moved).unwrap();
    fs::write(moved.join("private"), "").unwrap();
    let batch = watch.gather().unwrap();
    assert!(batch.changes.iter().all(|c| c.place != Path::new("sub/private")), "{batch:?}");
    for n in 0..3000 {
        fs::write(world.at(&format!("many{n}")), "").unwrap();
    }
    let batch = watch.gather().unwrap();
    assert!(batch.missed && batch.changes.len() <= 1000);
}

#[test]
fn a_search_without_end_ends() {
    let world = world();
    for n in 0..50 {
        world.put(&format!("d{n}/f"), "x");
    }
    let root = Arc::new(Root::open(&world.at("")).unwrap());
    let hurried = Limits { patience: Duration::ZERO, ..Limits::default() };
    let files = Files::new(Arc::clone(&root), Arc::new(Rules::default()), hurried).unwrap();
    assert!(files.glob(&Rel::root(), "**", Hidden::LeftOut, 100).unwrap().truncated);
    let few = Limits { visits: 10, ..Limits::default() };
    let files = Files::new(root, Arc::new(Rules::default()), few).unwrap();
    let found = files.list(&Rel::root(), 9, 1000).unwrap();
    assert!(found.truncated && found.items.len() <= 10);
}

#[test]
fn what_the_system_forbids_is_forbidden() {
    let world = world();
    world.put("f", "x");
    fs::set_permissions(world.at("f"), fs::Permissions::from_mode(0o000)).unwrap();
    let read = world.files.read(&rel("f"), 0, 1);
    if rustix::process::geteuid().is_root() {
        assert!(read.is_ok(), "root may");
    } else {
        assert!(matches!(read, Err(Error::Forbidden { .. })));
        let write = world.files.write(&rel("f"), b"y", &How::default());
        assert!(matches!(write, Err(Error::Forbidden { .. })), "a rename would have replaced it");
    }
    assert!(world.files.stat(&rel(OsStr::new("f").as_bytes())).is_ok());
}
