//! From a mode to lists of paths.
//!
//! | | read | write | net |
//! |---|---|---|---|
//! | `read-only` | system, workspace, configured | nothing | none |
//! | `workspace-write` | system, workspace, configured | workspace but what is protected, private TMPDIR, configured | none |
//! | `custom` | system, `read`, `write` | `write`, private TMPDIR | none |
//!
//! `net` and `deny` can be given with every mode. What is the daemon's own is denied always, and a boundary that would
//! have to cut it out of something writable is refused: nothing could be made there any more.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use trl_proto::Error;
use trl_proto::sandbox::{Mode, Net, SandboxParams};

/// Programs and their libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// What programs look up about the system: names, addresses, certificates, the loader's cache. No keys, no passwords.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "environment",
    "ethertypes",
    "fish",
    "fonts",
    "gai.conf",
    "gitattributes",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "openssl",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "redhat-release",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "skel",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xdg",
    "zsh",
    "zshenv",
    "zshrc",
];

/// What the kernel says about itself, the machine, and processes: of those outside no more than their command lines.
const KERNEL: &[&str] = &["/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"];

/// Whoever asks for a sandbox names its workspace. Were it one of these, the sandbox would be none.
const NO_WORKSPACE: &[&str] = &[
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/dev", "/proc", "/sys",
];

/// Nor one of these, in which everybody has a place; what is below may be one.
const NOBODYS_WORKSPACE: &[&str] = &[
    "/root",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/run",
    "/run/user",
    "/srv",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/spool",
];

/// Opened for reading and writing by everybody.
pub(super) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// What a policy is resolved against.
#[derive(Debug)]
pub struct Grounds<'a> {
    /// Where the program starts.
    pub working_dir: &'a Path,
    /// What the daemon was started with as its home, which is never a workspace.
    pub home: Option<&'a Path>,
    /// Homes of the people of this machine, which are none either.
    pub people: &'a [PathBuf],
    /// Configured: `~/` is the home.
    pub read_dirs: &'a [String],
    pub write_dirs: &'a [String],
    pub protect: &'a [String],
    /// What is the daemon's and nobody else's: socket, data, tokens, session directories.
    pub own: &'a [PathBuf],
    /// Where a private TMPDIR would be.
    pub tmp_dir: &'a Path,
    /// The directory the daemon gave a workspace, when the program starts in one: wherever it is, it may be a workspace.
    pub given: Option<&'a Path>,
}

impl Default for Grounds<'_> {
    fn default() -> Self {
        Self {
            working_dir: Path::new("/"),
            home: None,
            people: &[],
            read_dirs: &[],
            write_dirs: &[],
            protect: &[],
            own: &[],
            tmp_dir: Path::new("/"),
            given: None,
        }
    }
}

/// What may be read and written, without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub mode: Mode,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub deny: Vec<PathBuf>,
    /// The workspace, as the kernel calls it; `custom` has none.
    pub around: Option<PathBuf>,
    /// The writable directory in which `protect` holds.
    pub workspace: Option<PathBuf>,
    pub protect: Vec<String>,
    pub private_tmp: bool,
    pub net: Net,
}

impl Policy {
    /// None for `off`.
    pub fn resolve(wish: SandboxParams, grounds: &Grounds<'_>) -> Result<Option<Self>, Error> {
        if wish.mode != Mode::Custom && (wish.read.is_some() || wish.write.is_some()) {
            return Err(Error::invalid("`read` and `write` are lists of the mode `custom`")
                .hint("sandbox.read_dirs and sandbox.write_dirs in the config are for the other modes"));
        }
        if wish.mode == Mode::Off {
            if wish.deny.is_some() || wish.net.is_some_and(|net| net != Net::All) {
                return Err(Error::invalid("`deny` and `net` need a sandbox, and its mode is `off`"));
            }
            return Ok(None);
        }
        let mut read = Vec::new();
        let mut write = Vec::new();
        let (mut around, mut workspace) = (None, None);
        match wish.mode {
            Mode::Off => {}
            Mode::Custom => {
                read.extend(checked(wish.read.unwrap_or_default(), "read")?);
                write.extend(checked(wish.write.unwrap_or_default(), "write")?);
            }
            Mode::ReadOnly | Mode::WorkspaceWrite => {
                let own = checked_workspace(grounds)?;
                read.push(own.clone());
                around = Some(own.clone());
                read.extend(configured(grounds.read_dirs, grounds.home));
                if wish.mode == Mode::WorkspaceWrite {
                    write.push(own.clone());
                    write.extend(configured(grounds.write_dirs, grounds.home));
                    workspace = Some(own);
                }
            }
        }
        let mut deny = checked(wish.deny.unwrap_or_default(), "deny")?;
        deny.extend(grounds.own.iter().map(|path| without_links(path)));
        if let Some(workspace) = workspace.iter().find(|w| deny.iter().any(|d| w.starts_with(d))) {
            return Err(Error::invalid(format!(
                "{} is denied, and cannot be the workspace",
                workspace.display()
            )));
        }
        let write: Vec<PathBuf> = write.iter().map(|path| without_links(path)).collect();
        check_own(&write, grounds)?;
        let is_denied = |path: &PathBuf| deny.iter().any(|denied| path.starts_with(denied));
        let read = read.iter().chain(&write).map(|path| without_links(path)).chain(system());
        let read = read.filter(|path| !is_denied(path));
        Ok(Some(Self {
            mode: wish.mode,
            read: read.collect(),
            write: write.iter().filter(|p| !is_denied(p)).cloned().collect(),
            deny,
            around,
            workspace,
            protect: grounds.protect.to_vec(),
            private_tmp: wish.mode != Mode::ReadOnly,
            net: wish.net.unwrap_or_default(),
        }))
    }

    /// What the lists say about a path.
    pub fn about(&self, path: &Path) -> Allowed {
        // The closest word counts: a denied place may be inside an allowed one, and the other way round.
        let depth = |list: &[PathBuf]| {
            list.iter().filter(|p| path.starts_with(p)).map(|p| p.components().count()).max().unwrap_or(0)
        };
        let (read, write, deny) = (depth(&self.read), depth(&self.write), depth(&self.deny));
        match () {
            () if deny > 0 && deny >= read.max(write) => Allowed::Nothing,
            () if write > 0 && self.is_protected(path) => Allowed::Reading,
            () if write > 0 => Allowed::Writing,
            () if read > 0 => Allowed::Reading,
            () => Allowed::Nothing,
        }
    }

    fn is_protected(&self, path: &Path) -> bool {
        let Some(rest) = self.workspace.as_deref().and_then(|w| path.strip_prefix(w).ok()) else {
            return false;
        };
        trl_sys::sandbox::is_protected(rest, self.protect.iter().map(Path::new))
    }
}

/// What may be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    Nothing,
    Reading,
    Writing,
}

/// What there is of the system, without links. To look at all of it takes longer than all else here, and it seldom changes.
fn system() -> Vec<PathBuf> {
    static KNOWN: Mutex<Option<(Instant, Vec<PathBuf>)>> = Mutex::new(None);
    const FRESH: Duration = Duration::from_secs(30);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, paths)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
        return paths.clone();
    }
    let named = SYSTEM.iter().chain(KERNEL).map(PathBuf::from);
    let all = named.chain(ETC.iter().map(|name| Path::new("/etc").join(name)));
    let paths: BTreeSet<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    known.insert((Instant::now(), paths.into_iter().collect())).1.clone()
}

/// Paths of a request: they must be ones, and be there.
fn checked(paths: Vec<String>, field: &str) -> Result<Vec<PathBuf>, Error> {
    let one = |text: String| {
        let path = Path::new(&text);
        let plain = path.is_absolute() && !path.components().any(|c| c == Component::ParentDir);
        if !plain || text.contains('\0') {
            return Err(Error::invalid(format!(
                "`sandbox.{field}`: {text:?} is not an absolute path without `..`"
            )));
        }
        if field != "deny" && !path.exists() {
            return Err(Error::invalid(format!("`sandbox.{field}`: {text} does not exist")));
        }
        Ok(without_links(path))
    };
    paths.into_iter().map(one).collect()
}

/// Paths of the config: those that are there.
fn configured(paths: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let absolute = |text: &String| match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(text)).filter(|p| p.is_absolute()),
    };
    paths.iter().filter_map(absolute).filter(|p| p.exists()).collect()
}

fn checked_workspace(grounds: &Grounds<'_>) -> Result<PathBuf, Error> {
    let workspace = without_links(grounds.working_dir);
    let homes: Vec<PathBuf> =
        grounds.home.map(without_links).into_iter().chain(grounds.people.iter().cloned()).collect();
    let within = |dir: &Path| workspace.starts_with(dir);
    if grounds.given.is_some_and(|given| within(&without_links(given))) {
        return Ok(workspace);
    }
    let why = match () {
        () if workspace == Path::new("/") => "holds everything",
        () if homes.iter().any(|home| home.starts_with(&workspace)) => "holds the home of a user",
        () if NO_WORKSPACE.iter().any(|dir| within(Path::new(dir))) => "is the system's",
        () if NOBODYS_WORKSPACE.iter().any(|dir| workspace == Path::new(dir)) => "holds what is others'",
        () if is_services(&workspace) => "is where the system's services keep what they know",
        () if homes.iter().any(|home| is_hidden_in(&workspace, home)) => {
            "is where programs keep what they know of a user"
        }
        () if is_protected_elsewhere(&workspace, grounds.protect) => {
            "is what a sandbox around it would protect"
        }
        () => return Ok(workspace),
    };
    if configured(grounds.write_dirs, grounds.home).iter().any(|dir| within(&without_links(dir))) {
        return Ok(workspace);
    }
    Err(Error::invalid(format!(
        "the workspace of a sandbox is its working directory, and {} {why}",
        workspace.display()
    ))
    .hint("give `working_dir`: a directory that may be read as a whole"))
}

/// Below `/var` or `/run`, and root's: what is anybody else's there may be a place to work in.
fn is_services(path: &Path) -> bool {
    let within = |dir: &str| path.starts_with(dir);
    (within("/var") || within("/run"))
        && !within("/var/tmp")
        && path.metadata().is_ok_and(|meta| meta.uid() == 0)
}

/// In the hooks of a repository, or among the cases of another workspace: whoever works there decides what runs there.
fn is_protected_elsewhere(path: &Path, protect: &[String]) -> bool {
    let is_repository = |dir: &Path| dir.join("objects").is_dir() && dir.join("refs").is_dir();
    let has_cases = |dir: &Path| {
        let names = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        names.filter_map(|path| path.extension().map(OsStr::to_owned)).any(|e| e == "yaml" || e == "yml")
    };
    let is_one = |place: &Path, name: &str| match name.strip_prefix(".git/") {
        Some(inner) => {
            place.ends_with(inner)
                && place.ancestors().nth(Path::new(inner).components().count()).is_some_and(is_repository)
        }
        None => place.ends_with(name) && has_cases(&place.join("cases")),
    };
    path.ancestors().any(|place| protect.iter().any(|name| is_one(place, name)))
}

/// Below a name that begins with a dot, such as `~/.ssh` and `~/.config`.
fn is_hidden_in(path: &Path, home: &Path) -> bool {
    let below = path.strip_prefix(home).ok().and_then(|rest| rest.components().next());
    below.is_some_and(|name| name.as_os_str().as_bytes().starts_with(b"."))
}

/// Nothing writable may hold, or be, something of the daemon's.
fn check_own(write: &[PathBuf], grounds: &Grounds<'_>) -> Result<(), Error> {
    let own: Vec<PathBuf> = grounds.own.iter().map(|path| without_links(path)).collect();
    let meets = |path: &&PathBuf| own.iter().any(|own| own.starts_with(path) || path.starts_with(own));
    match write.iter().find(meets) {
        None => Ok(()),
        Some(path) => Err(Error::invalid(format!(
            "{} cannot be written from a sandbox: the daemon's own files are there",
            path.display()
        ))),
    }
}

/// The name the kernel has for it: of the part that exists, with the rest as it is.
fn without_links(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            return match path.strip_prefix(there) {
                Ok(rest) if rest.as_os_str().is_empty() => real,
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        lists: [Vec<String>; 3],
        own: Vec<PathBuf>,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for made in ["home/project/.git/hooks", "home/tools", "home/.config/trl", "elsewhere"] {
                std::fs::create_dir_all(dir.path().join(made)).unwrap();
            }
            let own = vec![dir.path().join("home/.config/trl")];
            let protect = trl_sys::sandbox::PROTECTED.map(String::from).to_vec();
            Self { lists: [vec!["~/tools".into(), "~/missing".into()], Vec::new(), protect], own, dir }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(name)
        }

        fn resolve(&self, working_dir: &str, wish: SandboxParams) -> Result<Option<Policy>, Error> {
            let [read_dirs, write_dirs, protect] = &self.lists;
            Policy::resolve(
                wish,
                &Grounds {
                    working_dir: &self.at(working_dir),
                    home: Some(&self.at("home")),
                    people: &[self.at("others")],
                    read_dirs,
                    write_dirs,
                    protect,
                    own: &self.own,
                    given: None,
                    tmp_dir: &self.at("tmp"),
                },
            )
        }

        fn policy(&self, wish: impl Into<SandboxParams>) -> Policy {
            self.resolve("home/project", wish.into()).unwrap().unwrap()
        }
    }

    #[test]
    fn modes_allow_what_they_say() {
        let place = Place::new();
        let read_only = place.policy(Mode::ReadOnly);
        let writing = place.policy(Mode::WorkspaceWrite);
        for (path, reading, with_writing) in [
            ("home/project/x", Allowed::Reading, Allowed::Writing),
            ("home/project/.git/index", Allowed::Reading, Allowed::Writing),
            ("home/project/.git/hooks/pre-commit", Allowed::Reading, Allowed::Reading),
            ("home/project/sub/.git/hooks/pre-commit", Allowed::Reading, Allowed::Reading),
            ("home/project/.trl/cases/a.yaml", Allowed::Reading, Allowed::Reading),
            ("home/project/cases/a.yaml", Allowed::Reading, Allowed::Writing),
            ("home/project/sub/.trl/a", Allowed::Reading, Allowed::Writing),
            ("home/tools/bin", Allowed::Reading, Allowed::Reading),
            ("home/.ssh/id", Allowed::Nothing, Allowed::Nothing),
            ("home", Allowed::Nothing, Allowed::Nothing),
            ("elsewhere/x", Allowed::Nothing, Allowed::Nothing),
        ] {
            let path = place.at(path);
            assert_eq!(read_only.about(&path), reading, "{}", path.display());
            assert_eq!(writing.about(&path), with_writing, "{}", path.display());
        }
        assert_eq!(writing.about(Path::new("/usr/bin/env")), Allowed::Reading);
        assert_eq!(writing.about(Path::new("/etc/shadow")), Allowed::Nothing);
        assert_eq!((read_only.private_tmp, writing.private_tmp), (false, true));
        assert_eq!((read_only.net, read_only.write.len()), (Net::None, 0));
    }

    #[test]
    fn a_home_is_no_workspace() {
        let place = Place::new();
        for dir in ["home", "", "/"] {
            for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
                let refused = place.resolve(dir, mode.into()).unwrap_err();
                assert!(refused.hint.unwrap().contains("working_dir"), "{dir}");
            }
        }
        assert!(place.resolve("elsewhere", Mode::WorkspaceWrite.into()).is_ok());
    }

    #[test]
    fn nor_is_what_programs_know_of_the_user_or_the_system() {
        let mut place = Place::new();
        std::fs::create_dir_all(place.at("home/.ssh/deep")).unwrap();
        for dir in
            ["home/.ssh", "home/.ssh/deep", "/etc", "/usr/share", "/proc/self", "/var", "/home", "/srv"]
        {
            for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
                assert!(place.resolve(dir, mode.into()).is_err(), "{dir}");
            }
        }
        std::fs::create_dir(place.at("elsewhere/.hidden")).unwrap();
        assert!(place.resolve("elsewhere/.hidden", Mode::WorkspaceWrite.into()).is_ok());
        place.lists[1] = vec!["~/.ssh/deep".into()];
        assert!(
            place.resolve("home/.ssh/deep", Mode::WorkspaceWrite.into()).is_ok(),
            "whoever configured it"
        );
        assert!(place.resolve("home/.ssh", Mode::WorkspaceWrite.into()).is_err());
    }

    #[test]
    fn nor_is_the_home_of_anybody_else() {
        let place = Place::new();
        std::fs::create_dir_all(place.at("others/.ssh")).unwrap();
        std::fs::create_dir_all(place.at("others/project")).unwrap();
        for dir in ["others", "others/.ssh"] {
            assert!(place.resolve(dir, Mode::ReadOnly.into()).is_err(), "{dir}");
        }
        assert!(place.resolve("others/project", Mode::ReadOnly.into()).is_ok());
    }

    #[test]
    fn what_is_the_daemons_is_never_reached() {
        let place = Place::new();
        let text = |name: &str| place.at(name).display().to_string();
        let wish = |write: &str| SandboxParams {
            read: Some(vec!["/".into()]),
            write: Some(vec![text(write)]),
            ..Mode::Custom.into()
        };
        let policy = place.resolve("home", wish("elsewhere")).unwrap().unwrap();
        assert_eq!(policy.about(&place.at("home/.config/trl/operator.token")), Allowed::Nothing);
        assert_eq!(policy.about(&place.at("home/.ssh")), Allowed::Reading);
        for write in ["home", "home/.config", "home/.config/trl"] {
            assert!(place.resolve("home", wish(write)).is_err(), "{write}");
        }
        assert!(place.resolve("home/.config/trl", Mode::WorkspaceWrite.into()).is_err());
        let read = |name: &str| SandboxParams { read: Some(vec![text(name)]), ..Mode::Custom.into() };
        std::fs::write(place.at("home/.config/trl/operator.token"), "").unwrap();
        for name in ["home/.config/trl", "home/.config/trl/operator.token"] {
            let policy = place.resolve("home", read(name)).unwrap().unwrap();
            assert!(!policy.read.iter().any(|p| p.starts_with(place.at("home"))), "{name}");
        }
        assert!(place.resolve("home/.config/trl", Mode::ReadOnly.into()).is_err());
        let place = Place { own: vec![place.at("elsewhere")], ..place };
        let policy = place.resolve("elsewhere", Mode::ReadOnly.into()).unwrap().unwrap();
        assert_eq!(policy.about(&place.at("elsewhere/operator.token")), Allowed::Nothing);
    }

    #[test]
    fn lists_belong_to_custom_and_are_absolute() {
        let place = Place::new();
        let with = |mode: Mode, read: &str| SandboxParams { read: Some(vec![read.into()]), ..mode.into() };
        assert!(place.resolve("elsewhere", with(Mode::ReadOnly, "/usr")).is_err());
        for path in ["usr", "/usr/../etc", "/nonexistent/x", "/a\0b"] {
            assert!(place.resolve("elsewhere", with(Mode::Custom, path)).is_err(), "{path:?}");
        }
        let denied = SandboxParams { deny: Some(vec!["/usr/lib".into()]), ..Mode::ReadOnly.into() };
        let policy = place.resolve("elsewhere", denied).unwrap().unwrap();
        assert_eq!(policy.about(Path::new("/usr/lib/x")), Allowed::Nothing);
        let off = SandboxParams { net: Some(Net::None), ..Mode::Off.into() };
        assert!(place.resolve("elsewhere", off).is_err());
        assert_eq!(place.resolve("elsewhere", Mode::Off.into()).unwrap(), None);
    }

    #[test]
    fn links_are_followed_before_anything_is_compared() {
        let place = Place::new();
        std::os::unix::fs::symlink(place.at("home"), place.at("way")).unwrap();
        assert!(place.resolve("way", Mode::WorkspaceWrite.into()).is_err());
        let policy = place.resolve("way/project", Mode::WorkspaceWrite.into()).unwrap().unwrap();
        assert_eq!(policy.workspace, Some(place.at("home/project")));
    }
}
