//! The tests again as an ordinary user, `nobody`: those for which root's powers can make a difference.
//!
//! 1. The tests are those that the build step has built. Only running them goes through `setpriv`, which cargo calls a runner.
//! 2. The user gets a home, a temporary and a runtime directory of its own, and a plain PATH.
//! 3. Where the user cannot reach the repository (a checkout below root's home), the tests run in a mount namespace that shows
//!    the closed directories with the same content and an open mode. Nothing outside of that namespace changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::outcome::Outcome;
use super::rust_tests::{nextest, usual_profile};
use crate::{needs, place};

const USER: &str = "nobody";

/// Tests that do the same for every user: pure computation, what one shell does like another, many rounds of what one round
/// covers, and a client from PyPI whose Python may be in root's home.
const ALIKE: &str = "package(trl-proto) + package(trl-policy) + package(trl-screen) + package(trl-link) \
    + package(trl-fuzz-targets) + package(xtask) + package(bench) \
    + (binary(catalogue) & test(/^(ash|fish|ksh93|zsh)::/)) + test(/(^|::)soak::/) + (binary(mcp) & test(/^clients::/))";

/// Tests that only root can run: they start a Docker daemon, log in somewhere, or make a network, a clock or a file system.
const ROOTS: &str =
    "(package(trl-docker) & binary(real)) + binary(elsewhere) + binary(partition) + test(/(^|::)as_root::/)";

/// Filter of the step `user-smoke`: limits, the socket, sandboxes without generated escapes, and the life of sessions.
const SMOKE: &str = "package(trl) & (binary(limits) + binary(wire) + (binary(sandbox) - test(/^escapes::generated::/)) \
    + (binary(sessions) & test(/^lifecycle::/)))";

struct User {
    uid: u32,
    gid: u32,
}

pub(super) fn tests() -> Outcome {
    run(&format!("not ({ALIKE} + {ROOTS})"))
}

pub(super) fn smoke() -> Outcome {
    run(&format!("({SMOKE}) - ({ALIKE} + {ROOTS})"))
}

fn run(filter: &str) -> Outcome {
    if !place::is_root() {
        return Outcome::Skipped("this is an ordinary user already: the tests step has run them".into());
    }
    if !needs::has_program("setpriv") {
        return Outcome::Skipped("setpriv (package util-linux) is missing".into());
    }
    match prepare() {
        Ok(stage) => stage.run(filter),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// The directories of the user, removed at the end of the run.
struct Stage {
    user: User,
    private: PathBuf,
    /// Directories above the repository or the target directory that the user cannot enter, outermost first.
    closed: Vec<PathBuf>,
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
    let mut closed = Vec::new();
    for inside in [place::root().to_path_buf(), place::target_dir()?] {
        closed.extend(inside.ancestors().filter(|dir| !is_open(dir)).map(PathBuf::from));
    }
    // The outermost first: a path sorts before those it begins.
    closed.sort();
    closed.dedup();
    Ok(Stage { user, private, closed })
}

/// Shows each closed directory, given as `$1` up to a word `--`, with the same content and mode 0755; then becomes the rest
/// of the words. Runs in a mount namespace of its own.
const OPEN: &str = r#"
set -e
while [ "$1" != -- ]; do
    content=$(mktemp -d)
    mount --rbind "$1" "$content"
    mount -t tmpfs -o mode=0755 open "$1"
    ls -A "$content" | while IFS= read -r name; do
        if [ -L "$content/$name" ]; then cp -P "$content/$name" "$1/$name"; continue; fi
        if [ -d "$content/$name" ]; then mkdir "$1/$name"; else : >"$1/$name"; fi
        mount --rbind "$content/$name" "$1/$name"
    done
    shift
done
shift
# From the inside of the new mounts.
cd "$PWD"
exec "$@"
"#;

impl Stage {
    fn run(&self, filter: &str) -> Outcome {
        eprintln!("as uid {}: {filter}", self.user.uid);
        let host = match place::host() {
            Ok(host) => host,
            Err(error) => return Outcome::of(Err(error)),
        };
        nextest(usual_profile(), |command| {
            command.env(place::target_variable(&host, "RUNNER"), self.runner()).args(["--filterset", filter]);
            if !self.closed.is_empty() {
                *command = self.opened(command);
            }
        })
    }

    /// The command in a mount namespace in which the user reaches the repository.
    fn opened(&self, command: &Command) -> Command {
        let mut opened = Command::new("unshare");
        opened.args(["--mount", "--propagation", "private", "sh", "-c", OPEN, "sh"]);
        opened.args(&self.closed).arg("--").arg(command.get_program()).args(command.get_args());
        opened.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        opened.current_dir(command.get_current_dir().unwrap_or(place::root()));
        opened
    }

    /// The words before each test's command. Cargo keeps root's environment; the tests get this one.
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
}

/// Whether everybody may list and enter a directory.
fn is_open(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|found| found.permissions().mode() & 0o005 == 0o005)
}

fn find_user(name: &str) -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let found = fields.next()? == name;
        found.then_some(fields)
    })?;
    Some(User { uid: fields.nth(1)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
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
