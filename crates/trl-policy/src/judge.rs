//! What the rules say of one simple command, with all it is wrapped in.
//!
//! 1. A deny that its words are.
//! 2. What it runs, if it is a wrapper: [`crate::wrapper`] takes it apart, and the inner command is judged in its turn.
//! 3. An ask, a deny it may become, a [`crate::caution`].
//! 4. An allow; then the default.
//!
//! The strictest of all these holds.

use std::fmt::Write as _;

use trl_proto::hitl::Verdict;

use crate::caution::{Weight, caution, weigh};
use crate::file::{Place, is_a_sink};
use crate::literal::{any_command, any_inner};
use crate::plain::{Split, Word};
use crate::programs::{is_interpreter, is_runner};
use crate::rules::{Entry, Found, RuleSet, stricter};
use crate::shell::ShellKind;
use crate::split::split;
use crate::suggest;
use crate::wrapper::{Inner, Own, Wrapped, unwrap};

/// Wrappers in wrappers; more than anyone means.
const MAX_DEPTH: usize = 8;

/// What was found out about something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ruling {
    pub(crate) verdict: Verdict,
    pub(crate) rule: Option<String>,
    pub(crate) reason: Option<String>,
    /// What would make it an allow.
    pub(crate) grant: Option<String>,
}

impl Ruling {
    pub(crate) fn allow() -> Self {
        Self { verdict: Verdict::Allow, rule: None, reason: None, grant: None }
    }

    pub(crate) fn ask(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ask, rule: None, reason: Some(reason.into()), grant: None }
    }

    fn by(entry: &Entry) -> Self {
        Self {
            verdict: entry.verdict,
            rule: Some(entry.text.clone()),
            reason: entry.reason.clone(),
            grant: None,
        }
    }

    /// Both hold: the stricter one is what is said.
    pub(crate) fn and(self, other: Self) -> Self {
        if stricter(self.verdict, other.verdict) != self.verdict {
            return other;
        }
        if self.verdict != other.verdict {
            return self;
        }
        let grant = if self.grant == other.grant { self.grant } else { None };
        Self { grant, rule: self.rule.or(other.rule), reason: self.reason.or(other.reason), ..other }
    }
}

/// Judges commands, and notes the names of the programs they would run.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) rules: &'a RuleSet,
    pub(crate) shell: ShellKind,
    pub(crate) names: Vec<String>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(rules: &'a RuleSet, shell: ShellKind) -> Self {
        Self { rules, shell, names: Vec::new() }
    }

    pub(crate) fn command(&mut self, words: &[Word]) -> Ruling {
        self.words(words, self.shell, 0)
    }

    fn words(&mut self, words: &[Word], shell: ShellKind, depth: usize) -> Ruling {
        let Some(name) = words.first().and_then(Word::literal) else {
            return self.at_least_ask("the command it runs is not known");
        };
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_string());
        }
        let found = self.rules.of_words(words);
        if let Some(deny) = found.deny {
            return Ruling::by(deny);
        }
        if let Some(deny) = self.hidden_denial(name, words) {
            return deny;
        }
        if depth > MAX_DEPTH {
            return self.at_least_ask("too many wrappers");
        }
        match unwrap(words, shell) {
            Wrapped::No => self.leaf(words, shell, &found),
            Wrapped::Unclear(why) => self.at_least_ask(format!("`{name}`: {why}")),
            Wrapped::Yes { own, inner, variables, caution } => {
                let mut ruling = match own {
                    Own::Judged => self.leaf(words, shell, &found),
                    Own::Transparent => Self::asked(&found).unwrap_or_else(Ruling::allow),
                };
                if let Some(why) = caution {
                    ruling = ruling.and(self.at_least_ask(why));
                }
                for variable in &variables {
                    ruling = ruling.and(self.variable(variable));
                }
                for inner in inner {
                    ruling = ruling.and(self.inner(&inner, shell, depth + 1));
                }
                ruling
            }
        }
    }

    fn inner(&mut self, inner: &Inner, shell: ShellKind, depth: usize) -> Ruling {
        match inner {
            Inner::Words(words) => self.words(words, shell, depth),
            Inner::Script(text, shell) => self.script(text, *shell, depth),
        }
    }

    /// Text that a wrapper gives to a shell: every command in it must be allowed, and none may write a file.
    fn script(&mut self, text: &str, shell: ShellKind, depth: usize) -> Ruling {
        let commands = match split(shell, text) {
            Split::Plain(commands) => commands,
            Split::Opaque(opaque) => {
                return self.opaque(text, &format!("the text it runs has {}", opaque.why));
            }
        };
        let mut ruling = Ruling::allow();
        for command in &commands {
            let quiet =
                command.redirections.iter().all(|one| one.target.literal().is_some_and(is_quiet_target));
            if !quiet {
                ruling = ruling.and(self.at_least_ask("the text it runs redirects to a file"));
            }
            for one in &command.assignments {
                ruling = ruling.and(self.variable(&one.name));
            }
            if !command.words.is_empty() {
                ruling = ruling.and(self.words(&command.words, shell, depth));
            }
        }
        ruling
    }

    /// A text that was not taken apart.
    pub(crate) fn opaque(&self, text: &str, why: &str) -> Ruling {
        self.denied_in(text).unwrap_or_else(|| self.at_least_ask(format!("it cannot be taken apart: {why}")))
    }

    /// A deny that stands somewhere in a text.
    pub(crate) fn denied_in(&self, text: &str) -> Option<Ruling> {
        if self.rules.denies == 0 {
            return None;
        }
        let mut denial = None;
        any_command(text, &mut |words| {
            denial = self.rules.denial(words).map(Ruling::by);
            denial.is_some()
        });
        denial
    }

    /// A deny among the words of a program that runs others: hidden behind options, or in a string.
    fn hidden_denial(&self, name: &str, words: &[Word]) -> Option<Ruling> {
        if self.rules.denies == 0 || words.len() < 2 {
            return None;
        }
        if is_runner(name) || is_interpreter(name) {
            let mut denial = None;
            any_inner(words, &mut |words| {
                denial = self.rules.denial(words).map(Ruling::by);
                denial.is_some()
            });
            return denial;
        }
        None
    }

    /// A command that runs nothing but itself.
    fn leaf(&self, words: &[Word], shell: ShellKind, found: &Found<'_>) -> Ruling {
        if let Some(ruling) = Self::asked(found) {
            return ruling;
        }
        if let Some(entry) = self.denied_behind(words) {
            return Ruling::ask(format!("it has the words of `{}`, which is denied", entry.text));
        }
        if let Some(why) = caution(words, shell) {
            return self.at_least_ask(why);
        }
        match found.allow {
            Some(entry) => self.if_whole(Ruling::by(entry)),
            None => self.unknown(suggest::prefix(words)),
        }
    }

    /// Programs nobody knows may run others, too. One word is too little to go by.
    fn denied_behind(&self, words: &[Word]) -> Option<&Entry> {
        let prints = matches!(words.first().and_then(Word::literal), Some("echo" | "printf"));
        if self.rules.denies == 0 || prints {
            return None;
        }
        (1..words.len())
            .find_map(|at| self.rules.denial(&words[at..]).filter(|entry| entry.text.contains(' ')))
    }

    fn asked(found: &Found<'_>) -> Option<Ruling> {
        match (found.may_be_denied, found.ask) {
            (Some(entry), _) => Some(Ruling::ask(format!("it may be `{}`, which is denied", entry.text))),
            (None, Some(entry)) => Some(Ruling::by(entry)),
            (None, None) => None,
        }
    }

    /// A write to a file, by a redirection or without a shell.
    pub(crate) fn file(&self, path: Option<&str>, place: Place<'_>) -> Ruling {
        if path.is_some_and(is_a_sink) {
            return Ruling::allow();
        }
        let found = self.rules.of_file(path, place);
        if let Some(deny) = found.deny {
            return Ruling::by(deny);
        }
        if let Some(ruling) = Self::asked(&found) {
            return ruling;
        }
        match (found.allow, path) {
            (Some(entry), _) => self.if_whole(Ruling::by(entry)),
            (None, Some(path)) => {
                // A relative path of a rule is below the workspace, which need not be where the shell is.
                let grant = if path.starts_with('/') {
                    suggest::file(path)
                } else {
                    in_place(path, place).as_deref().and_then(suggest::file)
                };
                let mut ruling = self.unknown(grant);
                if ruling.verdict != Verdict::Allow {
                    ruling.reason = Some("it writes a file".into());
                }
                ruling
            }
            (None, None) => self.at_least_ask("it writes a file whose name is not known"),
        }
    }

    /// A variable set for a command, or for all later ones.
    pub(crate) fn variable(&self, name: &str) -> Ruling {
        match weigh(name) {
            Weight::Harmless => Ruling::allow(),
            Weight::Unknown if self.rules.default == Verdict::Allow => Ruling::allow(),
            Weight::Unknown | Weight::Heavy => self.at_least_ask(format!("it sets {name}")),
        }
    }

    /// What no rule knows.
    pub(crate) fn unknown(&self, grant: Option<String>) -> Ruling {
        match self.rules.default {
            Verdict::Allow => self.if_whole(Ruling::allow()),
            Verdict::Ask => {
                let grant = if self.rules.broken.is_empty() { grant } else { None };
                Ruling { grant, ..Ruling::ask("no rule knows it") }
            }
            Verdict::Deny => Ruling {
                verdict: Verdict::Deny,
                rule: None,
                reason: Some("no rule allows it".into()),
                grant: None,
            },
        }
    }

    /// What no allow can cover.
    pub(crate) fn at_least_ask(&self, why: impl Into<String>) -> Ruling {
        Ruling { verdict: stricter(Verdict::Ask, self.rules.default), ..Ruling::ask(why) }
    }

    /// An allow holds only while all rules can be read.
    fn if_whole(&self, ruling: Ruling) -> Ruling {
        if self.rules.broken.is_empty() {
            return ruling;
        }
        let mut why = "the rules cannot all be read:".to_string();
        for name in &self.rules.broken {
            let _ = write!(why, " {name}");
        }
        Ruling::ask(why)
    }
}

/// An absolute path, when it is known where the command runs.
fn in_place(path: &str, place: Place<'_>) -> Option<String> {
    Some(format!("{}/{path}", place.cwd?.trim_end_matches('/')))
}

fn is_quiet_target(target: &str) -> bool {
    is_a_sink(target) || matches!(target, "1" | "2")
}
