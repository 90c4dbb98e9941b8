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
        Kind::Zsh => format!(
            "{}{}\\builtin . {}\n",
            refusals(kind, paths, around),
            assignments(kind, around),
            paths.inner()
        ),
        Kind::Dash | Kind::Ash | Kind::Ksh93 => posix(kind, paths, around),
    };
    let outer = match (kind, &around.working_dir) {
        // `cd -` goes by a memory of its own there, which only going there and back restores
        (Kind::Zsh, Some(_)) => format!(
            "{outer}__trl=$?\n\\builtin cd -q -- \"${{OLDPWD-}}\" && \\builtin cd -q -- {}\n\\builtin return $__trl\n",
            quote(kind, places.back)
        ),
        _ => outer,
    };
    Wrapper { outer, inner }
}

/// Temporary assignments. OLDPWD is among them: our own `cd`s must not show.
fn assignments(kind: Kind, around: &Surroundings) -> String {
    let mut words: String = around.env.iter().map(|(k, v)| format!("{k}={} ", quote(kind, v))).collect();
    if names(around).len() > around.env.len() {
        words += "OLDPWD=\"${OLDPWD-}\" ";
    }
    words
}

/// An assignment to a readonly variable ends what it stands in, without a word where the user can see it. So it stands in
/// an `eval`, and `x` begins by saying that it was reached.
fn posix(kind: Kind, paths: &Paths, around: &Surroundings) -> String {
    let run = format!("{}{} . {}", assignments(kind, around), builtin(kind), paths.inner());
    let names: Vec<&str> = names(around);
    let which = match names.as_slice() {
        [one] => format!("{one} is"),
        _ => format!("one of {} is", names.join(", ")),
    };
    format!(
        "__trl=w\n\\command eval {}\n__trl=\"$__trl $?\"\ncase $__trl in w\\ *) {}; __trl=1;; esac\n\\return \"${{__trl##* }}\"\n",
        quote(kind, &run),
        complaint(kind, paths, &which)
    )
}

/// The variables that are changed for the command.
fn names(around: &Surroundings) -> Vec<&str> {
    let mut names: Vec<&str> = around.env.keys().map(String::as_str).collect();
    if around.working_dir.is_some() && !around.env.contains_key("OLDPWD") {
        names.push("OLDPWD");
    }
    names
}

/// Says on the command's stderr why it was not run.
fn complaint(kind: Kind, paths: &Paths, which: &str) -> String {
    let text = quote(kind, &format!("trl: {which} readonly in this session; the command was not run"));
    let builtin = if kind == Kind::Fish { "builtin" } else { builtin(kind) };
    format!("{builtin} printf '%s\\n' {text} >{}", paths.stderr())
}

/// Where the shell can be asked, nothing is begun that cannot be carried through.
fn refusals(kind: Kind, paths: &Paths, around: &Surroundings) -> String {
    let refusal = |name: &&str| {
        let (attributes, sign) = match kind {
            Kind::Zsh => (format!("${{{name}+${{(t){name}}}}}"), "readonly"),
            _ => (format!("${{{name}+${{{name}@a}}}}"), "r"),
        };
        let complaint = complaint(kind, paths, &format!("{name} is"));
        format!("case {attributes} in *{sign}*) {complaint}; \\builtin return 1;; esac\n")
    };
    names(around).iter().map(refusal).collect()
}

/// The file `x`: export, change directory, run, change back.
fn stage(kind: Kind, paths: &Paths, around: &Surroundings, places: Places<'_>) -> String {
    let mut text = String::new();
    match kind {
        // its temporary assignments are not exported
        Kind::Zsh => {
            around.env.keys().for_each(|key| text += &format!("\\builtin export {key}\n"));
        }
        Kind::Dash | Kind::Ash | Kind::Ksh93 => text += "__trl=x\n",
        Kind::Bash | Kind::BashAsSh | Kind::Fish => {}
    }
    let run = run_line(kind, paths, places.stdin);
    let Some(dir) = &around.working_dir else { return format!("{text}{run}\n") };
    // -q: no chpwd hooks of the user's
    let quiet = if kind == Kind::Zsh { "-q " } else { "" };
    let cd = |to: &str| format!("{} cd {quiet}-- {}", builtin(kind), quote(kind, to));
    let back = match kind {
        Kind::Bash | Kind::Zsh => "\\builtin return",
        _ => "\\return",
    };
    format!(
        "{text}{} || {back} 1\n{run}\n__trl=$?\n{} || {} :\n{back} \"$__trl\"\n",
        cd(dir),
        cd(places.back),
        builtin(kind),
    )
}

/// bash: the second word of the list restores everything and returns the command's code. A `break 2` of the command's
/// skips it, and a `readonly` makes it impossible; then the shell ends and its clone takes over.
fn bash(kind: Kind, paths: &Paths, around: &Surroundings) -> String {
    let keys = names(around);
    let saved: String = keys.iter().map(|k| format!("${{{k}+${{{k}@A}};}} ")).collect();
    let exports: String =
        around.env.iter().map(|(k, v)| format!("\\builtin export {k}={}\n", quote(kind, v))).collect();
    format!(
        "{refusals}for __trl in go \"__trl=\\$?; \\\\builtin unset -v {names} || \\\\builtin exit \\$__trl; {saved}\\\\builtin return \\$__trl\"; do\ncase $__trl in\n\
         go) for __trl in go; do\n{exports}{source} {inner}\ndone;;\n*) \\builtin eval \"$__trl\";;\nesac\ndone\n\\builtin exit 0\n",
        refusals = refusals(kind, paths, around),
        names = keys.join(" "),
        source = if kind == Kind::Bash { "\\builtin ." } else { "\\command ." },
        inner = paths.inner(),
    )
}

fn fish(paths: &Paths, around: &Surroundings, places: Places<'_>) -> String {
    let q = |value: &str| quote(Kind::Fish, value);
    let mut before = String::from("builtin set -l __trr\n");
    let mut after = String::new();
    for (i, (key, value)) in around.env.iter().enumerate() {
        before += &format!(
            "builtin set -qgx {key}; and builtin set -l __trx{i} -gx; or builtin set -l __trx{i} -g\n"
        );
        before += &format!(
            "builtin set -qg {key}; and builtin set -l __trv{i} ${key}; or builtin set -l __trx{i}\n"
        );
        // a `set` that works leaves the status as it was
        before += &format!(
            "builtin true; builtin set -gx {key} {} 2>/dev/null; or builtin set __trr {key}\n",
            q(value)
        );
        after += &format!(
            "builtin set -eg {key} 2>/dev/null; builtin set -q __trx{i}[1]; and builtin set $__trx{i} {key} $__trv{i}\n"
        );
    }
    if let Some(dir) = &around.working_dir {
        before += &format!("builtin cd {}; or return 1\n", q(dir));
        after += &format!("builtin cd {}\n", q(places.back));
    }
    let run = run_line(Kind::Fish, paths, places.stdin);
    let complaint = complaint(Kind::Fish, paths, "a variable of `env` is");
    format!(
        "{before}if builtin set -q __trr[1]\n{complaint}\nbuiltin false\nelse\nbuiltin true\n{run}\nend\nbuiltin set -l __trs $status\n{after}return $__trs\n"
    )
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
