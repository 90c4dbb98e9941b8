//! The text that brings a fresh shell from its own state to another one.
//!
//! Only what differs is said, so what a shell sets up for itself and nobody changed is left alone.
//!
//! 1. Directory, umask and variables come first, while no function of the user's can stand in the way.
//! 2. Functions, each parsed by itself, before any alias could change their text.
//! 3. All else in one brace: it is read to its end before anything in it runs, so no alias and no option counts while
//!    it is read. Options come late, those that act on what follows last, and traps after them.

use std::collections::BTreeMap;

use super::{Part, State, What};
use crate::shell::kind::Kind;
use crate::shell::quote::quote_bytes;
use crate::shell::words::statements;

type Index<'a> = BTreeMap<(What, &'a [u8]), &'a Part>;

/// From `fresh` to `target`. Variables in `spared` are left as they are.
pub fn text(target: &State, fresh: &State, spared: &[Vec<u8>]) -> Vec<u8> {
    let mut script =
        Script { kind: target.kind, target: target.index(), fresh: fresh.index(), out: Vec::new(), spared };
    script.place();
    script.variables();
    script.functions();
    script.rest();
    script.out
}

struct Script<'a> {
    kind: Kind,
    target: Index<'a>,
    fresh: Index<'a>,
    out: Vec<u8>,
    spared: &'a [Vec<u8>],
}

impl<'a> Script<'a> {
    fn line(&mut self, words: &[&[u8]]) {
        self.out.extend(words.concat());
        self.out.push(b'\n');
    }

    /// Past functions of the user's.
    fn builtin(&self) -> &'static [u8] {
        match self.kind {
            Kind::Bash | Kind::BashAsSh | Kind::Zsh => b"\\builtin ",
            Kind::Dash | Kind::Ash | Kind::Ksh93 => b"\\command ",
            Kind::Fish => b"builtin ",
        }
    }

    fn wanted(&self, what: What) -> Vec<&'a Part> {
        self.target.range((what, &b""[..])..).take_while(|((w, _), _)| *w == what).map(|(_, p)| *p).collect()
    }

    fn found(&self, what: What) -> Vec<&'a Part> {
        self.fresh.range((what, &b""[..])..).take_while(|((w, _), _)| *w == what).map(|(_, p)| *p).collect()
    }

    fn differs(&self, part: &Part) -> bool {
        self.fresh.get(&(part.what, part.name.as_slice())).is_none_or(|fresh| fresh.text != part.text)
    }

    /// What the fresh shell has otherwise or not at all.
    fn changed(&self, what: What) -> Vec<&'a Part> {
        self.wanted(what).into_iter().filter(|p| self.differs(p)).collect()
    }

    /// What only the fresh shell has.
    fn gone(&self, what: What) -> Vec<&'a Part> {
        let wanted = |p: &&Part| self.target.contains_key(&(what, p.name.as_slice()));
        self.found(what).into_iter().filter(|p| !wanted(p)).collect()
    }

    fn place(&mut self) {
        for umask in self.changed(What::Umask) {
            self.line(&[b"umask ", &umask.text]);
        }
        let Some(dir) = self.target.get(&(What::Directory, &b""[..])).copied() else { return };
        let cd: &[u8] = match self.kind {
            // no hooks
            Kind::Zsh => b"cd -q -- ",
            Kind::Fish => b"builtin cd ",
            _ => b"cd -- ",
        };
        let word = quote_bytes(self.kind, &dir.text);
        let old = self.target.get(&(What::Variable, &b"OLDPWD"[..])).and_then(|p| value(self.kind, p));
        if let (Kind::Zsh, Some(old)) = (self.kind, old) {
            // `cd -` goes by a memory of its own there
            self.line(&[cd, &quote_bytes(self.kind, &old), b" && ", cd, &word]);
        } else if self.differs(dir) {
            self.line(&[cd, &word]);
        }
        if !self.target.contains_key(&(What::Variable, b"OLDPWD")) && self.differs(dir) {
            self.remove_variable(b"OLDPWD");
        }
    }

    fn remove_variable(&mut self, name: &[u8]) {
        let unset: &[u8] = match self.kind {
            Kind::Bash | Kind::BashAsSh => b"unset -v ",
            Kind::Fish => b"builtin set -eg ",
            _ => b"unset ",
        };
        self.line(&[unset, name]);
    }

    fn variables(&mut self) {
        for part in self.gone(What::Variable) {
            if !self.spared.contains(&part.name) {
                self.remove_variable(&part.name);
            }
        }
        for part in self.wanted(What::Variable) {
            self.variable(part);
        }
        for what in [What::Export, What::Readonly] {
            for part in self.changed(what) {
                self.line(&[&part.text]);
            }
        }
    }

    fn variable(&mut self, part: &Part) {
        let name = part.name.as_slice();
        let unexported = self.is_exported(&self.fresh, name) && !self.is_exported(&self.target, name);
        // `cd` has changed it
        let moved = name == b"OLDPWD";
        // setting it changes the language
        let late = name == b"POSIXLY_CORRECT";
        if late || !(self.differs(part) || unexported || moved) {
            return;
        }
        match self.kind {
            _ if !unexported => {}
            Kind::Bash | Kind::BashAsSh => self.line(&[b"declare +x ", name]),
            Kind::Zsh | Kind::Ksh93 => self.line(&[b"typeset +x ", name]),
            Kind::Dash | Kind::Ash | Kind::Fish => self.remove_variable(name),
        }
        let builtin: &[u8] = if self.kind == Kind::Fish { b"builtin " } else { b"" };
        let text = if self.kind == Kind::Zsh { with_digits(part) } else { part.text.clone() };
        self.line(&[builtin, &text]);
    }

    fn is_exported(&self, state: &Index<'_>, name: &[u8]) -> bool {
        let Some(part) = state.get(&(What::Variable, name)) else { return false };
        let flag = |x: u8| {
            let words = statements(self.kind, &part.text).into_iter().next().map(|s| s.words);
            let mut flags = words.unwrap_or_default().into_iter().skip(1);
            flags.next().is_some_and(|w| w.starts_with(b"-") && w.contains(&x))
        };
        match self.kind {
            Kind::Bash | Kind::BashAsSh | Kind::Ksh93 => flag(b'x'),
            Kind::Zsh => part.text.starts_with(b"export"),
            Kind::Fish => part.text.starts_with(b"set -gx"),
            Kind::Dash | Kind::Ash => state.contains_key(&(What::Export, name)),
        }
    }

    fn functions(&mut self) {
        for part in self.gone(What::Function) {
            let remove: &[u8] = match self.kind {
                Kind::Zsh => b"unfunction -- ",
                Kind::Fish => b"builtin functions -e ",
                _ => b"unset -f ",
            };
            self.line(&[remove, &quote_bytes(self.kind, &part.name)]);
        }
        let functions = self.changed(What::Function);
        if matches!(self.kind, Kind::Bash | Kind::BashAsSh) && !functions.is_empty() {
            // their patterns may need it to be read at all
            self.line(&[b"shopt -s extglob"]);
        }
        for part in functions {
            self.line(&[&part.text]);
        }
    }

    fn rest(&mut self) {
        if self.kind == Kind::Fish {
            return;
        }
        let builtin = self.builtin();
        self.line(&[b"{"]);
        if let Some(posix) = self.target.get(&(What::Variable, &b"POSIXLY_CORRECT"[..])).copied() {
            let prefix = if posix.text.starts_with(b"declare") { builtin } else { b"" };
            self.line(&[prefix, &posix.text]);
        }
        for part in self.changed(What::FunctionMark) {
            self.line(&[builtin, &part.text]);
        }
        match (self.wanted(What::Arguments).first(), self.found(What::Arguments).first()) {
            (Some(args), _) => self.line(&[builtin, b"set -- ", &args.text]),
            (None, Some(_)) => self.line(&[builtin, b"set --"]),
            (None, None) => {}
        }
        self.aliases();
        self.options();
        for part in self.gone(What::Trap) {
            self.line(&[builtin, b"trap - ", &part.name]);
        }
        for part in self.changed(What::Trap) {
            self.line(&[builtin, &part.text]);
        }
        self.line(&[builtin, b":"]);
        self.line(&[b"}"]);
    }

    fn aliases(&mut self) {
        let builtin = self.builtin();
        for part in self.gone(What::Alias) {
            let (suffix, name) = match part.name.strip_prefix(b"-s ") {
                Some(name) => (&b"-s "[..], name),
                None => (&b""[..], part.name.strip_prefix(b"-g ").unwrap_or(&part.name)),
            };
            self.line(&[builtin, b"unalias ", suffix, b"-- ", &quote_bytes(self.kind, name)]);
        }
        for part in self.changed(What::Alias) {
            self.line(&[builtin, &part.text]);
        }
    }

    fn options(&mut self) {
        let builtin = self.builtin();
        let emulation = self.wanted(What::Emulation).into_iter().find(|p| self.differs(p));
        if let Some(emulation) = emulation {
            self.line(&[builtin, b"emulate ", &emulation.text]);
        }
        let mut options = self.wanted(What::Option);
        // both set many others
        let all = emulation.is_some() || options.iter().any(|p| p.name == b"posix" && self.differs(p));
        let chosen = |p: &&Part| all && !p.name.starts_with(b"compat");
        options.retain(|p| chosen(p) || self.differs(p) || p.name == b"extglob");
        options.sort_by_key(|p| turn(&p.name));
        for part in options {
            self.line(&[builtin, &part.text]);
        }
    }
}

/// In which turn an option is set: those that set others first, then those that act on the very next command, and last the one
/// that may end the shell.
fn turn(name: &[u8]) -> u8 {
    match name {
        b"posix" => 0,
        // it sets errtrace and functrace
        b"extdebug" => 1,
        b"nounset" | b"unset" | b"noexec" | b"exec" | b"xtrace" | b"verbose" | b"posixbuiltins" => 3,
        b"errexit" | b"errreturn" => 4,
        _ => 2,
    }
}

/// The value of a variable that has one.
fn value(kind: Kind, part: &Part) -> Option<Vec<u8>> {
    let words = statements(kind, &part.text).into_iter().next()?.words;
    let word = words.into_iter().find(|w| w.contains(&b'='))?;
    let at = word.iter().position(|b| *b == b'=')?;
    Some(word[at + 1..].to_vec())
}

/// zsh prints the digits of a float, but not how many it is to have.
fn with_digits(part: &Part) -> Vec<u8> {
    let Some(at) = part.text.windows(4).position(|w| w == b" -F " || w == b" -E ") else {
        return part.text.clone();
    };
    let scientific = part.text[at + 2] == b'E';
    let digits = value(Kind::Zsh, part).map_or(0, |value| {
        let after = value.splitn(2, |b| *b == b'.').nth(1).unwrap_or_default();
        after.iter().take_while(|b| b.is_ascii_digit()).count() + usize::from(scientific)
    });
    let (before, after) = part.text.split_at(at + 3);
    [before, format!(" {digits}").as_bytes(), after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(kind: Kind, dump: &[u8]) -> State {
        State::read(kind, dump).unwrap()
    }

    fn lines(target: &[u8], fresh: &[u8], spared: &[&str]) -> Vec<String> {
        let spared: Vec<Vec<u8>> = spared.iter().map(|n| n.as_bytes().to_vec()).collect();
        let script = text(&state(Kind::Bash, target), &state(Kind::Bash, fresh), &spared);
        String::from_utf8(script).unwrap().lines().map(String::from).collect()
    }

    #[test]
    fn only_what_differs_is_said_and_secrets_stay() {
        let fresh = b"c\0/\0u\x000022\n\0v\0declare -x A=\"1\"\ndeclare -x B=\"2\"\ndeclare -x T=\"s\"\n\0o\0set +o errexit\nset +o noglob\n\0z\0\0";
        let target = b"c\0/\0u\x000022\n\0v\0declare -x A=\"1\"\ndeclare -- C=\"3\"\n\0o\0set -o errexit\nset -o noglob\n\0z\0\0";
        assert_eq!(
            lines(target, fresh, &["T"]),
            [
                "unset -v B",
                "declare -- C=\"3\"",
                "{",
                "\\builtin set -o noglob",
                "\\builtin set -o errexit",
                "\\builtin :",
                "}",
            ]
        );
        assert_eq!(lines(fresh, fresh, &[]), ["{", "\\builtin :", "}"]);
    }

    #[test]
    fn a_variable_that_is_no_longer_exported_is_not_exported_again() {
        let fresh = b"v\0declare -x A=\"1\"\n\0z\0\0";
        let target = b"v\0declare -- A=\"1\"\n\0z\0\0";
        assert_eq!(lines(target, fresh, &[])[..2], ["declare +x A", "declare -- A=\"1\""]);
    }

    #[test]
    fn a_float_keeps_its_digits() {
        let part = |text: &str| Part { what: What::Variable, name: b"f".to_vec(), text: text.into() };
        assert_eq!(with_digits(&part("typeset -F f=3.142")), b"typeset -F 3 f=3.142");
        assert_eq!(with_digits(&part("typeset -E f=1.0000e+10")), b"typeset -E 5 f=1.0000e+10");
    }
}
