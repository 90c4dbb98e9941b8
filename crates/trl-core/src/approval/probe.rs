//! Asking a shell what names stand for, in its own words, and reading the answer.
//!
//! 1. [`text`] is a command for the session's shell. It changes nothing there and prints fields that end with NUL: first
//!    what could step in before any command (a DEBUG trap, aliases that count everywhere), then each name.
//! 2. [`read`] makes of that what the rules have to know. What it cannot read is unknown, and nobody vouches for it.
//!
//! The names are looked up by the shell itself, since only it knows its functions, aliases and hashed paths. Real builtins
//! are reached as the loop reaches them ([`script`]): functions that would stand before them are gone by then.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trl_proto::hitl::Executable;

use crate::shell::quote::quote;
use crate::shell::{Kind, script};

/// What a probe found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Something of the user's runs before each command, or is put in place of any word.
    pub intercepted: bool,
    pub executables: Vec<Executable>,
}

/// The command to run; its fields come back on stdout.
pub fn text(kind: Kind, names: &[String]) -> String {
    let builtin = script::builtin(kind);
    let end = format!("{builtin} printf '\\0'\n");
    let mut out = format!("{}{end}", before(kind));
    for name in names {
        let name = quote(kind, name);
        match kind {
            Kind::Bash | Kind::BashAsSh => {
                out += &format!("\\builtin type -t -- {name} || \\builtin :\n{end}");
                out += &format!("\\builtin type -p -- {name} || \\builtin :\n{end}");
            }
            Kind::Zsh => {
                out += &format!("\\builtin whence -w -- {name} || \\builtin :\n{end}");
                out += &format!("\\builtin whence -- {name} || \\builtin :\n{end}");
            }
            Kind::Dash | Kind::Ash | Kind::Ksh93 => {
                out += &format!("\\command -V {name} || \\command :\n{end}");
            }
            Kind::Fish => out += &format!("builtin type -t {name}\n{end}builtin type -p {name}\n{end}"),
        }
    }
    out
}

/// Prints something when a command may not be what it seems.
fn before(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => {
            "\\builtin trap -p DEBUG\ncase $- in *k*) \\builtin printf 'keyword\\n';; esac\ncase $BASHOPTS in *extglob*) \\builtin printf 'extglob\\n';; esac\n"
        }
        Kind::Zsh => {
            "\\builtin trap\n\\builtin setopt\n\\builtin alias -g\n\\builtin alias -s\n\\builtin whence -f TRAPDEBUG || \\builtin :\n"
        }
        Kind::Ksh93 => "\\command trap -p DEBUG\n",
        Kind::Dash | Kind::Ash | Kind::Fish => "",
    }
}

/// What a probe printed, for these names.
pub fn read(kind: Kind, names: &[String], printed: &[u8], cwd: &Path) -> Found {
    let mut fields = printed.split(|b| *b == 0).map(|f| f.strip_suffix(b"\n").unwrap_or(f));
    let intercepted = fields.next().is_none_or(|f| f.split(|b| *b == b'\n').any(intercepts));
    let mut executables = Vec::new();
    for name in names {
        let pair = matches!(kind, Kind::Bash | Kind::BashAsSh | Kind::Zsh | Kind::Fish);
        let (first, second) = (fields.next(), if pair { fields.next() } else { Some(&b""[..]) });
        let (Some(first), Some(second)) = (first.and_then(as_text), second.and_then(as_text)) else {
            executables.push(named(name, "unknown", None));
            continue;
        };
        let (what, path) = match kind {
            Kind::Zsh => (zsh_word(name, first), second),
            Kind::Bash | Kind::BashAsSh | Kind::Fish => (first, second),
            Kind::Dash | Kind::Ash | Kind::Ksh93 => described(name, first),
        };
        executables.push(match what {
            "file" => named(name, "file", cwd.join(path).to_str()),
            "builtin" | "function" | "alias" | "keyword" => named(name, what, None),
            "" => named(name, "missing", None),
            _ => named(name, "unknown", None),
        });
    }
    Found { intercepted, executables }
}

/// Options of zsh that change nothing about what a plain command is; the first two are how it is started.
const HARMLESS: [&[u8]; 8] =
    [b"nohashdirs", b"norcs", b"errexit", b"nounset", b"xtrace", b"pipefail", b"noclobber", b"autopushd"];

/// zsh can only list all its traps and options; most of them come to nothing before a command.
fn intercepts(line: &[u8]) -> bool {
    let trap = line.starts_with(b"trap -- ") && !line.ends_with(b" DEBUG");
    !line.is_empty() && !trap && !HARMLESS.contains(&line)
}

fn as_text(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok()
}

/// `git: command`, as `whence -w` says it.
fn zsh_word(name: &str, said: &str) -> &'static str {
    match said.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
        Some("command" | "hashed") => "file",
        Some("builtin") => "builtin",
        Some("function") => "function",
        Some("alias") => "alias",
        Some("reserved") => "keyword",
        Some("none") => "",
        _ => "unknown",
    }
}

/// `git is /usr/bin/git`, as `command -V` says it.
fn described<'a>(name: &str, said: &'a str) -> (&'static str, &'a str) {
    let Some(rest) = said.strip_prefix(name) else { return ("unknown", "") };
    if said.is_empty() || rest.starts_with(':') {
        return ("", "");
    }
    let Some(rest) = rest.strip_prefix(" is ") else { return ("unknown", "") };
    match rest {
        path if path.starts_with('/') || path == name => ("file", path),
        _ if rest.starts_with("a tracked alias for /") => ("file", &rest["a tracked alias for ".len()..]),
        "a shell builtin" | "a special shell builtin" | "a shell builtin version of" => ("builtin", ""),
        "a function" | "a shell function" | "an undefined function" => ("function", ""),
        "a shell keyword" | "a keyword" => ("keyword", ""),
        _ if rest.starts_with("an alias for ") => ("alias", ""),
        _ => ("unknown", ""),
    }
}

/// A name and what it stands for, with the identity of its file.
pub fn named(name: &str, what: &str, path: Option<&str>) -> Executable {
    let identity = path.and_then(|path| identity(Path::new(path)));
    Executable { name: name.into(), what: what.into(), path: path.map(String::from), identity }
}

/// Device, inode, size and time of change: another file, or other contents, are another identity.
pub fn identity(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    let (dev, ino, size) = (meta.dev(), meta.ino(), meta.size());
    Some(format!("{dev:x}:{ino:x}:{size:x}:{:x}.{:x}", meta.ctime(), meta.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn answers_of_each_family_are_read() {
        let two = names(&["ls", "cd"]);
        let whats = |found: &Found| found.executables.iter().map(|e| e.what.clone()).collect::<Vec<_>>();
        let bash = read(Kind::Bash, &two, b"\0file\n\0/usr/bin/ls\n\0builtin\n\0\0", Path::new("/w"));
        assert_eq!((bash.intercepted, whats(&bash)), (false, names(&["file", "builtin"])));
        assert_eq!(bash.executables[0].path.as_deref(), Some("/usr/bin/ls"));
        let zsh = read(Kind::Zsh, &two, b"\0ls: alias\n\0ls -l\n\0cd: builtin\n\0cd\n\0", Path::new("/w"));
        assert_eq!(whats(&zsh), names(&["alias", "builtin"]));
        let dash = read(
            Kind::Dash,
            &two,
            b"\0ls is a tracked alias for /bin/ls\n\0cd is a shell function\n\0",
            Path::new("/w"),
        );
        assert_eq!(whats(&dash), names(&["file", "function"]));
        let here = read(Kind::Dash, &names(&["./tool"]), b"\0./tool is ./tool\n\0", Path::new("/w"));
        assert_eq!(
            (here.executables[0].what.as_str(), here.executables[0].path.as_deref()),
            ("file", Some("/w/./tool"))
        );
        let gone = read(Kind::Dash, &names(&["nosuch"]), b"\0nosuch: not found\n\0", Path::new("/w"));
        assert_eq!(whats(&gone), names(&["missing"]));
    }

    #[test]
    fn what_steps_in_between_and_what_is_missing_is_seen() {
        let one = names(&["ls"]);
        assert!(
            read(Kind::Bash, &one, b"trap -- 'x' DEBUG\n\0file\n\0/bin/ls\n\0", Path::new("/w")).intercepted
        );
        let silent = read(Kind::Bash, &one, b"", Path::new("/w"));
        assert_eq!(silent.executables[0].what, "unknown");
    }
}
