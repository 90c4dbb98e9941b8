//! What a yes for longer would allow: a prefix that says what is done, never one that lets anything be done.

use crate::pattern::{FS_WRITE, base};
use crate::plain::Word;
use crate::programs::{is_interpreter, is_runner};

/// Programs whose first word says what they do.
const WITH_VERBS: [&str; 41] = [
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "go",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "rustup",
    "apt",
    "apt-get",
    "brew",
    "dnf",
    "apk",
    "systemctl",
    "gh",
    "glab",
    "terraform",
    "helm",
    "docker",
    "podman",
    "kubectl",
    "aws",
    "gcloud",
    "az",
    "dotnet",
    "mix",
    "rake",
    "rails",
    "composer",
    "bundle",
    "gem",
    "swift",
    "zig",
    "nix",
    "mvn",
    "make",
    "just",
];

/// Their second word says it: `docker compose up`, `npm run build`.
const WITH_TWO_VERBS: [(&str, &str); 16] = [
    ("docker", "compose"),
    ("docker", "container"),
    ("docker", "image"),
    ("npm", "run"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("bun", "run"),
    ("gh", "pr"),
    ("gh", "issue"),
    ("gh", "run"),
    ("git", "stash"),
    ("git", "remote"),
    ("git", "worktree"),
    ("aws", "s3"),
    ("uv", "pip"),
    ("go", "mod"),
];

/// Verbs that run what comes behind them, or change what later verbs do.
const RUNNING_VERBS: [&str; 26] = [
    "rebase",
    "difftool",
    "mergetool",
    "grep",
    "exec",
    "x",
    "dlx",
    "run",
    "run-script",
    "shell",
    "config",
    "alias",
    "bisect",
    "submodule",
    "filter-branch",
    "debug",
    "attach",
    "ssh",
    "repl",
    "eval",
    "develop",
    "create",
    "init",
    "extension",
    "generate",
    "tool",
];

/// Too much to be allowed by its name alone.
const STRONG: [&str; 40] = [
    "rm", "rmdir", "dd", "shred", "mkfs", "fdisk", "parted", "chmod", "chown", "chgrp", "chattr", "setfacl",
    "kill", "killall", "pkill", "shutdown", "reboot", "halt", "poweroff", "mount", "umount", "iptables",
    "useradd", "usermod", "passwd", "visudo", "curl", "wget", "nc", "ncat", "socat", "scp", "sftp", "mv",
    "cp", "ln", "tee", "install", "truncate", "source",
];

/// The prefix for a command that was asked for, if one makes sense.
pub(crate) fn prefix(words: &[Word]) -> Option<String> {
    let name = words.first()?.literal()?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte));
    let base = base(name);
    // What `./run.sh` is depends on where the shell is.
    let relative = name.contains('/') && !name.starts_with('/');
    if !plain || relative || matches!(name, "." | "[") || is_interpreter(name) || STRONG.contains(&base) {
        return None;
    }
    if !WITH_VERBS.contains(&base) {
        return (!is_runner(name) || base == "find" || base == "fd").then(|| name.to_string());
    }
    let verb = verb(words.get(1)?)?;
    if WITH_TWO_VERBS.contains(&(base, verb)) {
        let second = self::verb(words.get(2)?)?;
        let runs = base != "npm" && verb != "run" && RUNNING_VERBS.contains(&second);
        return (!runs).then(|| format!("{name} {verb} {second}"));
    }
    (!RUNNING_VERBS.contains(&verb)).then(|| format!("{name} {verb}"))
}

fn verb(word: &Word) -> Option<&str> {
    let text = word.literal()?;
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:.".contains(&byte));
    plain.then_some(text)
}

/// The rule for one more write to a file.
pub(crate) fn file(path: &str) -> Option<String> {
    let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+,@%:".contains(&byte));
    match path {
        _ if path.split('/').any(|part| part == "..")
            || path.contains('\'')
            || path.chars().any(char::is_control) =>
        {
            None
        }
        _ if plain && !path.is_empty() => Some(format!("{FS_WRITE} {path}")),
        _ if path.is_ascii() && !path.is_empty() => Some(format!("{FS_WRITE} '{path}'")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let words: Vec<Word> = text.split(' ').map(Word::exact).collect();
        prefix(&words)
    }

    #[test]
    fn a_prefix_says_what_is_done() {
        for (text, says) in [
            ("git push origin main", "git push"),
            ("cargo test -p x", "cargo test"),
            ("ls -la", "ls"),
            ("npm run build", "npm run build"),
            ("docker compose up -d", "docker compose up"),
            ("gh pr view 1", "gh pr view"),
            ("/opt/x/run.sh a", "/opt/x/run.sh"),
            ("make test", "make test"),
            ("find . -name x", "find"),
        ] {
            assert_eq!(of(text).as_deref(), Some(says), "{text}");
        }
    }

    #[test]
    fn nothing_is_offered_that_lets_anything_be_done() {
        for text in [
            "python x.py",
            "python3 -m pytest",
            "bash x.sh",
            "node a.js",
            "perl -e x",
            "env ls",
            "sudo ls",
            "xargs ls",
            "awk x",
            "sed -n x",
            "npx x",
            "make",
            "git",
            "git -C x push",
            "git config x y",
            "git rebase main",
            "setarch x86_64 true",
            "/lib64/ld-linux-x86-64.so.2 /bin/true",
            "cmake -E true",
            "capsh --print",
            "split a",
            "ssh-agent -k",
            "pyenv versions",
            "gcc --version",
            "qemu-x86_64 /bin/true",
            "docker run x",
            "docker exec x sh",
            "docker compose exec x sh",
            "kubectl exec x",
            "npm exec x",
            "uv run x",
            "ssh h",
            "rm -rf x",
            "curl x",
            "source x",
            "./run.sh a",
            "timeout 5 x",
            "cargo run",
            "go run x",
            ". x",
            "[ a ]",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
