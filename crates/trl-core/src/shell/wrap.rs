//! One command with its own environment and working directory, both restored after it whatever it did.
//!
//! Two files: the loop sources `w`, which saves, sources `x`, and restores; `x` sets the stage and sources the command.
//!
//! - dash, ash, ksh93, zsh: `w` sources `x` with temporary assignments before it. The shell itself saves the old
//!   values and puts back value, absence and export flag when the `.` returns.
//! - bash lets an `export` inside escape that, so there `w` keeps a restoring text in the word list of a `for`.
//! - fish has no temporary assignments; `w` saves into variables of its own block.
//!
//! Either way nothing is remembered where the command could reach it.

use std::collections::BTreeMap;

use super::files::Paths;
use super::kind::Kind;
use super::quote::quote;
use super::script::{builtin, run_line};

/// What is special about a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    pub env: BTreeMap<String, String>,
    pub working_dir: Option<String>,
}

impl Surroundings {
    pub fn is_plain(&self) -> bool {
        self.env.is_empty() && self.working_dir.is_none()
    }
}

/// A name every shell accepts on the left of `=`.
pub fn valid_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Where the command's stdin comes from, and where the shell is now.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub stdin: &'a str,
    pub back: &'a str,
}

/// The files `w` and `x`.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrapper {
    pub outer: String,
    pub inner: String,
}

pub fn wrapper(kind: Kind, paths: &Paths, around: &Surroundings, places: Places<'_>) -> Wrapper {
    let inner = match kind {
        Kind::Fish => String::new(),
        _ => stage(kind, paths, around, places),
    };
    let outer = match kind {
        Kind::Fish => fish(paths, around, places),
        Kind::Bash | Kind::BashAsSh => bash(kind, paths, around),
        _ => format!("{}{} . {}\n", assignments(kind, around), builtin(kind), paths.inner()),
    };
    let outer = match (kind, &around.working_dir) {
        // `cd -` goes by a memory of its own there, which only going there and back restores
        (Kind::Zsh, Some(_)) => format!(
            "{outer}__trl=$?\nbuiltin cd -q -- \"${{OLDPWD-}}\" && builtin cd -q -- {}\nreturn $__trl\n",
            quote(kind, places.back)
        ),
        _ => outer,
    };
    Wrapper { outer, inner }
}

/// Temporary assignments. OLDPWD is among them: our own `cd`s must not show.
fn assignments(kind: Kind, around: &Surroundings) -> String {
    let mut words: String = around.env.iter().map(|(k, v)| format!("{k}={} ", quote(kind, v))).collect();
    if around.working_dir.is_some() && !around.env.contains_key("OLDPWD") {
        words += "OLDPWD=\"${OLDPWD-}\" ";
    }
    words
}

/// The file `x`: export, change directory, run, change back.
fn stage(kind: Kind, paths: &Paths, around: &Surroundings, places: Places<'_>) -> String {
    let mut text = String::new();
    if kind == Kind::Zsh {
        // its temporary assignments are not exported
        around.env.keys().for_each(|key| text += &format!("builtin export {key}\n"));
    }
    let run = run_line(kind, paths, places.stdin);
    let Some(dir) = &around.working_dir else { return format!("{text}{run}\n") };
    // -q: no chpwd hooks of the user's
    let quiet = if kind == Kind::Zsh { "-q " } else { "" };
    let cd = |to: &str| format!("{} cd {quiet}-- {}", builtin(kind), quote(kind, to));
    format!("{text}{} || return 1\n{run}\n__trl=$?\n{} || :\nreturn \"$__trl\"\n", cd(dir), cd(places.back))
}

/// bash: the second word of the list restores everything and returns the command's code. A `break 2` of the command's
/// skips it, and a `readonly` makes it impossible; then the shell ends and its clone takes over.
fn bash(kind: Kind, paths: &Paths, around: &Surroundings) -> String {
    let mut keys: Vec<&str> = around.env.keys().map(String::as_str).collect();
    if around.working_dir.is_some() && !around.env.contains_key("OLDPWD") {
        keys.push("OLDPWD");
    }
    let saved: String = keys.iter().map(|k| format!("${{{k}+${{{k}@A}};}} ")).collect();
    let exports: String =
        around.env.iter().map(|(k, v)| format!("builtin export {k}={}\n", quote(kind, v))).collect();
    format!(
        "for __trl in go \"__trl=\\$?; builtin unset -v {names} || builtin exit \\$__trl; {saved}builtin return \\$__trl\"; do\ncase $__trl in\n\
         go) for __trl in go; do\n{exports}{source} {inner}\ndone;;\n*) builtin eval \"$__trl\";;\nesac\ndone\nbuiltin exit 0\n",
        names = keys.join(" "),
        source = if kind == Kind::Bash { "builtin ." } else { "command ." },
        inner = paths.inner(),
    )
}

fn fish(paths: &Paths, around: &Surroundings, places: Places<'_>) -> String {
    let q = |value: &str| quote(Kind::Fish, value);
    let mut before = String::new();
    let mut after = String::new();
    for (i, (key, value)) in around.env.iter().enumerate() {
        before += &format!(
            "builtin set -qgx {key}; and builtin set -l __trx{i} -gx; or builtin set -l __trx{i} -g\n"
        );
        before += &format!(
            "builtin set -qg {key}; and builtin set -l __trv{i} ${key}; or builtin set -l __trx{i}\n"
        );
        before += &format!("builtin set -gx {key} {}\n", q(value));
        after += &format!(
            "builtin set -eg {key}; builtin set -q __trx{i}[1]; and builtin set $__trx{i} {key} $__trv{i}\n"
        );
    }
    if let Some(dir) = &around.working_dir {
        before += &format!("builtin cd {}; or return 1\n", q(dir));
        after += &format!("builtin cd {}\n", q(places.back));
    }
    let run = run_line(Kind::Fish, paths, places.stdin);
    format!("{before}{run}\nbuiltin set -l __trs $status\n{after}return $__trs\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_names_are_seen() {
        for bad in ["", "1a", "a-b", "a b", "a=b", "ä", "$(x)"] {
            assert!(!valid_name(bad), "{bad}");
        }
        assert!(valid_name("_A1"));
    }
}
