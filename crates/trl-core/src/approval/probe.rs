//! Asking a shell what names stand for and what else would run with a command, in its own words, and reading the answer.
//!
//! 1. [`text`] is a command for the session's shell. It changes nothing there and prints fields that end with NUL: traps and
//!    other hooks, what changes how commands are read, the exported variables, then each name. Where the loop has to print the
//!    traps ([`script::prints_traps`]), its field comes before the text's.
//! 2. [`read`] makes of that what the rules have to know. What it cannot read is unknown, and nobody vouches for it.
//! 3. [`state`] holds hooks and variables against what the session started with.
//!
//! The names are looked up by the shell itself, since only it knows its functions, aliases and hashed paths. Real builtins
//! are reached as the loop reaches them ([`script`]): functions that would stand before them are gone by then.

mod state;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trl_proto::hitl::Executable;

pub use self::state::{Start, TRAP, VARIABLE};
use crate::shell::quote::quote;
use crate::shell::{Kind, script};

/// What a probe found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Commands are read in another way than usual, or something of the user's is put in place of a word.
    pub intercepted: bool,
    /// The meaning of each name, then every trap, and every variable that steers programs and has changed since the session
    /// started.
    pub executables: Vec<Executable>,
}

/// The command to run; its fields come back on stdout.
pub fn text(kind: Kind, names: &[String]) -> String {
    let builtin = script::builtin(kind);
    let end = format!("{builtin} printf '\\0'\n");
    let hooks =
        if script::prints_traps(kind) { String::new() } else { format!("{}{end}", state::hooks(kind)) };
    let mut out = format!("{hooks}{}{end}{}{end}", before(kind), state::variables(kind));
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

/// Prints something when a command may not be what it seems: options, aliases for any word, functions that run on their own or
/// in other shells, and code in `PS4`, which runs as soon as commands are traced.
fn before(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => {
            r#"case $- in *k*) \builtin printf 'keyword\n';; esac
case $BASHOPTS in *extglob*|*extdebug*) \builtin printf 'option\n';; esac
case ${PS4-} in *[\$\`]*) \builtin printf 'PS4\n';; esac
\builtin declare -Fx || \builtin :
\builtin declare -F command_not_found_handle || \builtin :
"#
        }
        Kind::Zsh => {
            r#"\builtin setopt
\builtin alias -g
\builtin alias -s
\builtin typeset +fm 'TRAP*' || \builtin :
\builtin whence -f command_not_found_handler chpwd zshexit || \builtin :
\builtin print -rl -- ${chpwd_functions-} ${zshexit_functions-}
"#
        }
        Kind::Dash | Kind::Ash => "case ${PS4-} in *[\\$\\`]*) \\command printf 'PS4\\n';; esac\n",
        Kind::Ksh93 => {
            r#"case ${PS4-} in *[\$\`]*) \command printf 'PS4\n';; esac
case "$(\command typeset +f)" in *.*) \command printf 'discipline\n';; esac
"#
        }
        Kind::Fish => "",
    }
}

/// Parses the output of a probe for `names`. `start` is the environment that the session started with.
pub fn read(kind: Kind, names: &[String], printed: &[u8], cwd: &Path, start: &Start<'_>) -> Found {
    let mut raw = printed.split(|b| *b == 0);
    let hooks = raw.next();
    let mut fields = raw.map(|f| f.strip_suffix(b"\n").unwrap_or(f));
    let intercepted = fields.next().is_none_or(|f| f.split(|b| *b == b'\n').any(intercepts));
    let variables = fields.next();
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
    executables.extend(state::traps(kind, hooks.unwrap_or_default()));
    executables.extend(state::changed(kind, variables.unwrap_or_default(), start));
    Found { intercepted, executables }
}

/// Options of zsh that change nothing about what a plain command is; the first two are how it is started.
const HARMLESS: [&[u8]; 8] =
    [b"nohashdirs", b"norcs", b"errexit", b"nounset", b"xtrace", b"pipefail", b"noclobber", b"autopushd"];

fn intercepts(line: &[u8]) -> bool {
    !line.is_empty() && !HARMLESS.contains(&line)
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
    use crate::env::Env;
    use crate::session::spec::Secrets;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    fn start(env: &Env) -> Start<'_> {
        static AROUND: Env = Env::new();
        static SECRETS: std::sync::LazyLock<Secrets> = std::sync::LazyLock::new(Secrets::default);
        Start { env, around: &AROUND, secrets: &SECRETS }
    }

    fn read_plain(kind: Kind, names: &[String], printed: &[u8]) -> Found {
        read(kind, names, printed, Path::new("/w"), &start(&Env::new()))
    }

    #[test]
    fn answers_of_each_family_are_read() {
        let two = names(&["ls", "cd"]);
        let whats = |found: &Found| found.executables.iter().map(|e| e.what.clone()).collect::<Vec<_>>();
        let bash = read_plain(Kind::Bash, &two, b"\0\0\0file\n\0/usr/bin/ls\n\0builtin\n\0\0");
        assert_eq!((bash.intercepted, whats(&bash)), (false, names(&["file", "builtin"])));
        assert_eq!(bash.executables[0].path.as_deref(), Some("/usr/bin/ls"));
        let zsh = read_plain(Kind::Zsh, &two, b"\0\0\0ls: alias\n\0ls -l\n\0cd: builtin\n\0cd\n\0");
        assert_eq!(whats(&zsh), names(&["alias", "builtin"]));
        let printed = b"\0\0\0ls is a tracked alias for /bin/ls\n\0cd is a shell function\n\0";
        assert_eq!(whats(&read_plain(Kind::Dash, &two, printed)), names(&["file", "function"]));
        let here = read_plain(Kind::Dash, &names(&["./tool"]), b"\0\0\0./tool is ./tool\n\0");
        assert_eq!(
            (here.executables[0].what.as_str(), here.executables[0].path.as_deref()),
            ("file", Some("/w/./tool"))
        );
        let gone = read_plain(Kind::Dash, &names(&["nosuch"]), b"\0\0\0nosuch: not found\n\0");
        assert_eq!(whats(&gone), names(&["missing"]));
    }

    #[test]
    fn hooks_and_variables_follow_the_names() {
        let one = names(&["ls"]);
        let printed = b"trap -- 'x' DEBUG\ntrap -- '' SIGHUP\n\0\0declare -x LD_AUDIT=\"x\"\ndeclare -x HOME=\"/h\"\n\0file\n\0/bin/ls\n\0";
        let env = Env::from([("HOME".into(), "/h".into())]);
        let found = read(Kind::Bash, &one, printed, Path::new("/w"), &start(&env));
        let seen: Vec<_> = found.executables.iter().map(|e| (e.name.as_str(), e.what.as_str())).collect();
        assert_eq!(seen, [("ls", "file"), ("DEBUG", TRAP), ("LD_AUDIT", VARIABLE)]);
        assert!(!found.intercepted);
        let silent = read_plain(Kind::Bash, &one, b"");
        assert_eq!((silent.intercepted, silent.executables[0].what.as_str()), (true, "unknown"));
    }
}
