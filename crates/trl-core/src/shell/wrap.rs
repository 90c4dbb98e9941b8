//! One command with its own environment and working directory, both restored after it whatever it did.
//!
//! The environment is a list of temporary assignments before the `.` that sources the command: every shell then
//! saves the old values, exports the new ones, and puts back value, absence and export flag when the `.` returns.
//! Nothing is remembered in variables the command could reach.

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

/// The wrapper file: `back` is where the shell is now.
pub fn text(kind: Kind, paths: &Paths, around: &Surroundings, places: (&str, &str)) -> String {
    let (stdin, back) = places;
    if kind == Kind::Fish {
        return fish(paths, around, places);
    }
    let run = run_line(kind, paths, stdin);
    // a bare eval is a special builtin: assignments before it would stay
    let run = if kind == Kind::Ksh93 { format!("command {run}") } else { run };
    let assignments: String = around.env.iter().map(|(k, v)| format!("{k}={} ", quote(kind, v))).collect();
    let run = format!("{assignments}{run}\n");
    let Some(dir) = &around.working_dir else { return run };
    let cd = |to: &str| {
        // no chpwd hooks of the user's
        let quiet = if kind == Kind::Zsh { "-q " } else { "" };
        format!("OLDPWD=\"${{OLDPWD-}}\" {} cd {quiet}-- {}", builtin(kind), quote(kind, to))
    };
    format!("{} || return 1\n{run}__trl=$?\n{} || :\nreturn \"$__trl\"\n", cd(dir), cd(back))
}

fn fish(paths: &Paths, around: &Surroundings, (stdin, back): (&str, &str)) -> String {
    let q = |value: &str| quote(Kind::Fish, value);
    let mut before = String::new();
    let mut after = String::new();
    for (i, (key, value)) in around.env.iter().enumerate() {
        before += &format!("builtin set -qgx {key}; and builtin set -l __trx{i} -gx; or builtin set -l __trx{i} -g\n");
        before += &format!("builtin set -qg {key}; and builtin set -l __trv{i} ${key}; or builtin set -l __trx{i}\n");
        before += &format!("builtin set -gx {key} {}\n", q(value));
        after += &format!("builtin set -eg {key}; builtin set -q __trx{i}[1]; and builtin set $__trx{i} {key} $__trv{i}\n");
    }
    if let Some(dir) = &around.working_dir {
        before += &format!("builtin cd {}; or return 1\n", q(dir));
        after += &format!("builtin cd {}\n", q(back));
    }
    let run = run_line(Kind::Fish, paths, stdin);
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
