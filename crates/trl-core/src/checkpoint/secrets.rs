//! What may not be kept: secret variables, and whatever else holds one of their values.
//!
//! Secret is what the session was given as `secret_env`, what is called like a secret, and what looks like one. A value counts
//! wherever it stands in a part, quoted or encoded; a part that holds one is left out as a whole, and its name is listed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use trl_proto::checkpoint::PartName;
use trl_store::redact::{Redactor, is_secret_name};
use zeroize::Zeroizing;

use crate::session::spec::Secrets;
use crate::shell::Kind;
use crate::shell::state::{Part, State, What};
use crate::shell::words::{statements, unquoted};

/// A shorter value stands in many places by chance: then only a part that is nothing else counts.
const SHORTEST_GIVEN: usize = 4;
/// For what is only called like a secret.
const SHORTEST_NAMED: usize = 8;

/// What is known of a session's secrets. It goes with what was found of its shell: the session may forget them.
#[derive(Clone)]
pub struct Hidden {
    given: Vec<(String, Zeroizing<String>)>,
    /// Knows values of variables that are called like a secret as well, also of those that are gone by now.
    redactor: Arc<Redactor>,
    /// What commands were given: a variable may have it.
    heard: Vec<Zeroizing<Vec<u8>>>,
}

impl Hidden {
    pub fn new(secrets: &Secrets, redactor: Arc<Redactor>, heard: Vec<Zeroizing<Vec<u8>>>) -> Self {
        Self { given: secrets.reveal(), redactor, heard }
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.given.iter().map(|(name, _)| name)).finish()
    }
}

/// The state without its secrets, and the names of what is missing.
pub fn without(state: State, hidden: &Hidden) -> (State, Vec<PartName>) {
    let kind = state.kind;
    let given = &hidden.given;
    let is_secret_name = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        given.iter().any(|(secret, _)| *secret == *name) || is_secret_name(&name)
    };
    let is_secret = |part: &Part| part.what == What::Variable && is_secret_name(&part.name);
    let long = |shortest: usize| move |value: &Zeroizing<Vec<u8>>| value.len() >= shortest;
    let mut values: Vec<Zeroizing<Vec<u8>>> =
        given.iter().map(|(_, value)| Zeroizing::new(value.as_bytes().to_vec())).collect();
    values.retain(long(SHORTEST_GIVEN));
    let named = state.parts.iter().filter(|p| is_secret(p)).flat_map(|p| values_in(kind, p));
    values.extend(named.filter(long(SHORTEST_NAMED)));
    let short = given.iter().filter(|(_, value)| !value.is_empty() && value.len() < SHORTEST_GIVEN);
    let short: BTreeSet<&[u8]> = short.map(|(_, value)| value.as_bytes()).collect();
    let heard: BTreeSet<&[u8]> = hidden.heard.iter().map(|line| line.as_slice()).collect();
    let was_heard = |value: &[u8]| {
        heard.contains(value.trim_ascii())
            || heard.iter().any(|line| line.len() >= SHORTEST_NAMED && contains(value, line))
    };
    // encoded, too
    let found = Redactor::new(values.iter().map(|value| String::from_utf8_lossy(value)));

    let holds_one = |part: &Part| {
        let plain = Zeroizing::new(unquoted(kind, &part.text));
        let stands_in = |value: &[u8]| {
            contains(&part.text, value) || contains(&plain, value) || contains(&part.name, value)
        };
        let looks_so = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            [&*hidden.redactor, &found].iter().any(|r| matches!(r.text(&text), Cow::Owned(_)))
        };
        values.iter().any(|value| stands_in(value))
            || [&part.text, &*plain, &part.name].iter().any(|text| looks_so(text))
            || (matches!(part.what, What::Variable | What::Arguments)
                && values_in(kind, part)
                    .iter()
                    .any(|value| short.contains(value.as_slice()) || was_heard(value)))
    };
    let (out, kept): (Vec<Part>, Vec<Part>) =
        state.parts.into_iter().partition(|part| is_secret(part) || holds_one(part));
    let mut names: Vec<PartName> = out.iter().map(|p| name_of(p, &values)).collect();
    // what a shell can be asked for only by value is listed once
    names.sort();
    names.dedup();
    (State { kind, parts: kept }, names)
}

/// A name may hold a value, too.
fn name_of(part: &Part, values: &[Zeroizing<Vec<u8>>]) -> PartName {
    let name = match values.iter().any(|value| contains(&part.name, value)) {
        true => String::new(),
        false => String::from_utf8_lossy(&part.name).into_owned(),
    };
    PartName { what: part.what.name().into(), name }
}

/// The values of a variable: one, or those of an array.
fn values_in(kind: Kind, part: &Part) -> Vec<Zeroizing<Vec<u8>>> {
    let words = statements(kind, &part.text).into_iter().flat_map(|s| s.words);
    if kind == Kind::Fish {
        // set -gx NAME VALUE...
        return words.skip(3).map(Zeroizing::new).collect();
    }
    let value = |word: Vec<u8>| {
        let at = word.iter().position(|b| *b == b'=').map_or(0, |at| at + 1);
        Zeroizing::new(word[at..].to_vec())
    };
    words.filter(|w| !w.starts_with(b"-")).map(value).collect()
}

fn contains(text: &[u8], value: &[u8]) -> bool {
    !value.is_empty() && text.windows(value.len()).any(|window| window == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(kind: Kind, dump: &[u8], secrets: &[(&str, &str)]) -> (Vec<u8>, Vec<String>) {
        let env = secrets.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
        let hidden = Hidden::new(&Secrets::new(env), Arc::default(), Vec::new());
        let (state, out) = without(State::read(kind, dump).unwrap(), &hidden);
        (state.encode(), out.into_iter().map(|p| format!("{} {}", p.what, p.name)).collect())
    }

    #[test]
    fn a_secret_is_left_out_by_its_name_and_wherever_its_value_stands() {
        let dump = b"v\0declare -x DB=\"pa\\\"ss\"\ndeclare -- url=\"x://pa\\\"ss@h\"\ndeclare -x GH_TOKEN=\"ghp_12345678\"\ndeclare -a l=([0]=\"a\" [1]=\"ghp_12345678\")\ndeclare -- ok=\"1\"\n\0f f\0f () \n{ \n    curl -u 'pa\"ss'\n}\n\0a\0alias p='echo pa\"ss'\n\0z\0\0";
        let (kept, out) = left(Kind::Bash, dump, &[("DB", "pa\"ss")]);
        assert_eq!(
            out,
            ["alias p", "function f", "variable DB", "variable GH_TOKEN", "variable l", "variable url"]
        );
        assert_eq!(kept, b"v ok\0declare -- ok=\"1\"\0");
    }

    #[test]
    fn what_only_looks_like_a_secret_or_is_encoded_is_left_out_and_names_of_secrets_are_not() {
        let dump = b"v\0declare -- p=\"https://me:hunter22@h/\"\ndeclare -- b=\"aHVudGVyMjItdmFsdWU=\"\ndeclare -x D=\"hunter22-value\"\n\0f f\0f () \n{ \n    curl -H \"Authorization: Bearer $T\" --token \"$T\"\n}\n\0z\0\0";
        let (kept, out) = left(Kind::Bash, dump, &[("D", "hunter22-value")]);
        assert_eq!(out, ["variable D", "variable b", "variable p"]);
        assert!(kept.starts_with(b"f f\0"));
    }

    #[test]
    fn what_a_command_was_given_is_left_out_where_a_shell_has_read_it() {
        let heard = ["otter", "magenta-otter-58"].map(|line| Zeroizing::new(line.as_bytes().to_vec()));
        let hidden = Hidden::new(&Secrets::default(), Arc::default(), heard.to_vec());
        let dump = b"v\0declare -- a=\"otter\"\ndeclare -- b=\"sea otters\"\ndeclare -a c=([0]=\"x\" [1]=\"<magenta-otter-58>\")\n\0q\0otter\0f otter\0otter () \n{ \n    :\n}\n\0z\0\0";
        let (state, out) = without(State::read(Kind::Bash, dump).unwrap(), &hidden);
        let out: Vec<String> = out.into_iter().map(|p| format!("{} {}", p.what, p.name)).collect();
        assert_eq!(out, ["arguments ", "variable a", "variable c"]);
        assert_eq!(state.parts.len(), 2);
    }

    #[test]
    fn a_short_secret_counts_only_alone() {
        let dump = b"v\0A='12'\nB='512'\nPIN='12'\n\0z\0\0";
        let (kept, out) = left(Kind::Dash, dump, &[("PIN", "12")]);
        assert_eq!(out, ["variable A", "variable PIN"]);
        assert_eq!(kept, b"v B\0B='512'\0");
    }

    #[test]
    fn values_are_found_through_every_shells_quoting() {
        for (kind, dump) in [
            (Kind::Zsh, &b"v\0typeset u=$'se\\ncr\\M-\\C-?et'\n\0z\0\0"[..]),
            (Kind::Dash, b"v\0u='se\ncr\xffet'\n\0z\0\0"),
            (Kind::Bash, b"v\0declare -- u=$'se\\ncr\\377et'\n\0z\0\0"),
            (Kind::Fish, b"v u\0set -g u se\\ncr\\Xffet\n\0z\0\0"),
        ] {
            let state = State::read(kind, dump).unwrap();
            assert_eq!(
                unquoted(kind, &state.parts[0].text).windows(8).filter(|w| *w == b"se\ncr\xffet").count(),
                1,
                "{kind:?}"
            );
        }
    }
}
