//! The tests again, without root's powers: those to which that can make a difference.
//!
//! 1. `nobody` is who runs them: there on every system, with rights to nothing.
//! 2. Tests are built as before; only running them goes through `setpriv`, which cargo calls a runner.
//! 3. The user gets a home, a temporary and a runtime directory of its own, and a plain PATH.
//! 4. When it cannot reach the repository (a checkout under root's home), a copy that it can reach is tested.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::steps::Outcome;
use crate::{checks, needs, place};

const USER: &str = "nobody";

/// To whom the tests run makes no difference here: what computes and asks no kernel, what one shell does like another, what
/// shows only after many rounds, and what a client says that others wrote (whose Python may be in root's home).
const ALIKE: &str = "package(trl-proto) + package(trl-policy) + package(trl-screen) + package(trl-link) \
    + (binary(catalogue) & test(/^(ash|fish|ksh93|zsh)::/)) + test(soak) + (binary(mcp) & test(/^clients::/))";

/// What this user cannot do at all: a Docker daemon is started for it, somebody logs in, a network is made, or a clock, or a
/// file system that is full.
const ROOTS: &str = "(package(trl-docker) & binary(real)) + binary(elsewhere) + binary(partition) \
    + test(another_clock_there_changes_no_duration_and_no_time_that_is_shown) \
    + test(a_full_disk_there_is_told_as_it_would_be_here)";

struct User {
    uid: u32,
    gid: u32,
}

pub(crate) fn tests() -> Outcome {
    if !place::is_root() {
        return Outcome::Skipped("this already is an ordinary user".into());
    }
    if !needs::has_program("setpriv") {
        return Outcome::Skipped("setpriv (package util-linux) is missing".into());
    }
    match prepare() {
        Ok(stage) => stage.run(),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// All that the second run needs; what was made for it goes when it is over.
struct Stage {
    user: User,
    /// Removed at the end.
    private: PathBuf,
    repository: PathBuf,
    target: PathBuf,
}

fn prepare() -> Result<Stage> {
    let user = find_user(USER).context("no user `nobody` in /etc/passwd")?;
    let private = std::env::temp_dir().join(format!("trl-xtask-{}", std::process::id()));
    for name in ["", "home", "tmp", "run"] {
        let dir = private.join(name);
        fs::create_dir(&dir)?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        chown(&dir, Some(user.uid), Some(user.gid))?;
    }
    let (mut repository, mut target) = (place::root().to_path_buf(), place::target_dir()?);
    if !user.reaches(&repository.join("Cargo.toml")) || !user.reaches(&target) {
        // Kept between runs: the copy is cheap, its build is not.
        let copy = std::env::temp_dir().join("trl-xtask-copy");
        eprintln!("{} is closed to others: testing a copy in {}", repository.display(), copy.display());
        make_own(&copy)?;
        copy_tree(&repository, &copy)?;
        (repository, target) = (copy.clone(), copy.join("target"));
    }
    Ok(Stage { user, private, repository, target })
}

impl Stage {
    fn run(&self) -> Outcome {
        eprintln!(
            "as uid {}, without what is alike for everybody: {ALIKE}, or root's: {ROOTS}",
            self.user.uid
        );
        let host = match place::host() {
            Ok(host) => host,
            Err(error) => return Outcome::of(Err(error)),
        };
        checks::nextest(&self.repository, |command| {
            command
                .env(place::target_variable(&host, "RUNNER"), self.runner())
                .env("CARGO_TARGET_DIR", &self.target)
                .args(["--filterset", &format!("not ({ALIKE} + {ROOTS})")]);
        })
    }

    /// What stands before each test's command: cargo itself keeps root's environment, the tests get this one.
    fn runner(&self) -> String {
        let mut words = self.user.setpriv().to_vec();
        words.extend(["--", "env"].map(String::from));
        for name in ["CONFIG_HOME", "DATA_HOME", "CACHE_HOME", "STATE_HOME"] {
            words.push(format!("--unset=XDG_{name}"));
        }
        for (name, dir) in [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_RUNTIME_DIR", "run")] {
            words.push(format!("{name}={}", self.private.join(dir).display()));
        }
        words.extend([
            format!("PATH={}", needs::SYSTEM_PATH),
            format!("USER={USER}"),
            format!("LOGNAME={USER}"),
        ]);
        words.join(" ")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.private);
    }
}

impl User {
    fn setpriv(&self) -> [String; 4] {
        let (uid, gid) = (self.uid, self.gid);
        ["setpriv".into(), format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".into()]
    }

    fn reaches(&self, path: &Path) -> bool {
        let [setpriv, flags @ ..] = self.setpriv();
        let mut command = Command::new(setpriv);
        place::succeeds(command.args(flags).args(["--", "test", "-r"]).arg(path))
    }
}

fn find_user(name: &str) -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let found = fields.next()? == name;
        found.then_some(fields)
    })?;
    Some(User { uid: fields.nth(1)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
}

/// The name is known to everybody, so it must not be somebody else's: what is in there is built and run as root.
fn make_own(dir: &Path) -> Result<()> {
    if let Err(error) = fs::create_dir(dir) {
        let there = fs::symlink_metadata(dir).with_context(|| format!("{}: {error}", dir.display()))?;
        ensure!(there.is_dir() && there.uid() == 0, "{} is not root's own directory", dir.display());
    }
    Ok(fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?)
}

/// Sources only: what is built and what git keeps stays where it is. Unchanged files keep their time, so that a second
/// copy does not build everything anew.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        // The judge's packages are few, and the tests cannot do without them.
        let packages = entry.file_name() == "node_modules" && !from.ends_with("tests/judge");
        let skipped = packages || ["target", ".git"].iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !skipped {
            copy_tree(&source, &copy)?;
        } else if kind.is_file() && !same(&source, &copy) {
            fs::copy(&source, &copy)?;
        }
    }
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let root = find_user("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert!(find_user("no such user").is_none());
    }
}
