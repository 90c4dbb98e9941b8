//! Rules from several places, compiled into one set.
//!
//! 1. Each [`Source`] is read by itself: its patterns are parsed, its rules tried on their own `match` and `not_match`.
//! 2. `deny` wins over `ask`, `ask` over `allow`, wherever they stand.
//! 3. A source with a mistake loses its allows and keeps its denies and asks, as far as they can be read. Since it may have
//!    had more of them, nothing is allowed any more without asking, until it is mended: [`RuleSet::problems`] says where.
//! 4. A source that may only narrow has no allows, and its default counts only where it is stricter.
//!
//! This does not judge commands; [`crate::judge`] does.

use std::collections::HashMap;

use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::Verdict;
use trl_proto::one_line;

use crate::caution::never_allowed;
use crate::decide::decides;
use crate::file::{FilePattern, Place};
use crate::pattern::{Near, Pattern, base, covers, nears};
use crate::plain::Word;

/// What a source may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Everything: a file of the user's own.
    Full,
    /// Deny and ask, never allow: a file the agent could have written.
    NarrowOnly,
    /// Allow, and nothing else: what people said yes to. Without it more is asked, so a mistake in it needs no care.
    Grants,
}

/// Where rules come from.
#[derive(Debug, Clone)]
pub struct Source {
    /// For people: a file's name, `this session`.
    pub name: String,
    pub trust: Trust,
    /// The rules, or why they cannot be read.
    pub spec: Result<ApprovalSpec, String>,
}

/// A mistake in a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    pub source_name: String,
    /// Counted from 1.
    pub rule: Option<usize>,
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{}: rule {rule}: {}", self.source_name, self.message),
            None => write!(f, "{}: {}", self.source_name, self.message),
        }
    }
}

/// One pattern of one rule.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pattern: Pattern,
    /// As it is written.
    pub(crate) text: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<String>,
}

/// All rules that hold at a time.
#[derive(Debug, Clone)]
pub struct RuleSet {
    /// By the name of the command, without its directory.
    words: HashMap<String, Vec<Entry>>,
    files: Vec<Entry>,
    pub(crate) default: Verdict,
    pub(crate) denies: usize,
    asks: usize,
    /// The sources that might have said more.
    pub(crate) broken: Vec<String>,
    problems: Vec<Problem>,
}

/// What the rules say of some words.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    pub(crate) deny: Option<&'a Entry>,
    pub(crate) may_be_denied: Option<&'a Entry>,
    pub(crate) ask: Option<&'a Entry>,
    pub(crate) allow: Option<&'a Entry>,
}

impl RuleSet {
    /// Never fails: what cannot be read asks.
    #[must_use]
    pub fn compile(sources: &[Source]) -> Self {
        let mut set = Self::empty();
        let mut default = None;
        let mut floor = Verdict::Allow;
        let mut spoken = false;
        for source in sources {
            let before = set.words.len() + set.files.len();
            set.add(source);
            spoken |= source.trust == Trust::Full && set.words.len() + set.files.len() > before;
            let Some(own) = source.spec.as_ref().ok().and_then(|spec| spec.default) else { continue };
            match source.trust {
                Trust::Full => default = Some(own),
                Trust::NarrowOnly => floor = stricter(floor, own),
                Trust::Grants => {}
            }
        }
        // Where nobody wrote a rule nothing is asked; where somebody did, the rest is. Whoever only narrows has no say in that.
        let unsaid = if spoken { Verdict::Ask } else { Verdict::Allow };
        set.default = stricter(default.unwrap_or(unsaid), floor);
        set
    }

    fn empty() -> Self {
        Self {
            words: HashMap::new(),
            files: Vec::new(),
            default: Verdict::Ask,
            denies: 0,
            asks: 0,
            broken: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// What is wrong with the sources, for people to mend.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether everything is allowed, whatever it is.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.default == Verdict::Allow && self.denies == 0 && self.asks == 0 && self.broken.is_empty()
    }

    fn add(&mut self, source: &Source) {
        let problem = |rule, message| Problem { source_name: source.name.clone(), rule, message };
        let mut problems = Vec::new();
        let mut entries = Vec::new();
        match &source.spec {
            Err(error) => problems.push(problem(None, error.clone())),
            Ok(spec) => {
                for (at, rule) in spec.rules.iter().enumerate() {
                    let (of_rule, mistakes) = read_rule(rule);
                    entries.extend(of_rule);
                    problems.extend(mistakes.into_iter().map(|message| problem(Some(at + 1), message)));
                }
            }
        }
        let whole = problems.is_empty();
        for entry in entries {
            let counts = match entry.verdict {
                Verdict::Allow => whole && source.trust != Trust::NarrowOnly,
                Verdict::Ask | Verdict::Deny => source.trust != Trust::Grants,
            };
            if counts {
                self.insert(entry);
            }
        }
        if !whole && source.trust != Trust::Grants {
            self.broken.push(source.name.clone());
        }
        self.problems.extend(problems);
    }

    fn insert(&mut self, entry: Entry) {
        match entry.verdict {
            Verdict::Deny => self.denies += 1,
            Verdict::Ask => self.asks += 1,
            Verdict::Allow => {}
        }
        match &entry.pattern {
            Pattern::Words(words) => {
                let name = words.first().map(|name| base(name).to_string()).unwrap_or_default();
                self.words.entry(name).or_default().push(entry);
            }
            Pattern::File(_) => self.files.push(entry),
        }
    }

    /// What the rules say of these words; the command's name is known exactly.
    pub(crate) fn of_words(&self, words: &[Word]) -> Found<'_> {
        let mut found = Found::default();
        let name = words.first().and_then(Word::literal).unwrap_or_default();
        for entry in self.words.get(base(name)).into_iter().flatten() {
            let Pattern::Words(pattern) = &entry.pattern else { continue };
            match entry.verdict {
                Verdict::Allow if covers(pattern, words) => note(&mut found.allow, entry),
                Verdict::Allow => {}
                verdict => found.note(entry, verdict, nears(pattern, words)),
            }
        }
        found
    }

    /// The deny that these words are, if they are one.
    pub(crate) fn denial(&self, words: &[Word]) -> Option<&Entry> {
        if self.denies == 0 {
            return None;
        }
        self.of_words(words).deny
    }

    /// What the rules say of a write to a file; nothing is known of the path when there is none.
    pub(crate) fn of_file(&self, path: Option<&str>, place: Place<'_>) -> Found<'_> {
        let mut found = Found::default();
        for entry in &self.files {
            let Pattern::File(pattern) = &entry.pattern else { continue };
            let near = match path {
                Some(path) => pattern.holds(path, place),
                None if *pattern == FilePattern::everything() => Near::Yes,
                None => Near::Maybe,
            };
            match entry.verdict {
                Verdict::Allow if near == Near::Yes => note(&mut found.allow, entry),
                Verdict::Allow => {}
                verdict => found.note(entry, verdict, near),
            }
        }
        found
    }
}

impl<'a> Found<'a> {
    fn note(&mut self, entry: &'a Entry, verdict: Verdict, near: Near) {
        match (verdict, near) {
            (_, Near::No) => {}
            (Verdict::Deny, Near::Yes) => note(&mut self.deny, entry),
            (Verdict::Deny, Near::Maybe) => note(&mut self.may_be_denied, entry),
            _ => note(&mut self.ask, entry),
        }
    }
}

/// The first one found is the one that is named.
fn note<'a>(place: &mut Option<&'a Entry>, entry: &'a Entry) {
    if place.is_none() {
        *place = Some(entry);
    }
}

pub(crate) fn stricter(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Deny, _) | (_, Verdict::Deny) => Verdict::Deny,
        (Verdict::Ask, _) | (_, Verdict::Ask) => Verdict::Ask,
        (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
    }
}

/// The patterns of a rule, and what is wrong with it.
fn read_rule(rule: &RuleSpec) -> (Vec<Entry>, Vec<String>) {
    let mut entries = Vec::new();
    let mut mistakes = Vec::new();
    for (verdict, patterns) in
        [(Verdict::Allow, &rule.allow), (Verdict::Ask, &rule.ask), (Verdict::Deny, &rule.deny)]
    {
        for text in patterns {
            match Pattern::parse(text) {
                Ok(pattern) => {
                    let never = never_matches(&pattern).filter(|_| verdict == Verdict::Allow);
                    mistakes.extend(never.map(|why| {
                        format!(
                            "`{}` can never be allowed by a rule: {why}; take it out of `allow`",
                            one_line(text)
                        )
                    }));
                    entries.push(Entry { pattern, text: text.clone(), verdict, reason: rule.reason.clone() });
                }
                Err(why) => mistakes.push(format!("`{}` {why}", one_line(text))),
            }
        }
    }
    if rule.allow.is_empty() && rule.ask.is_empty() && rule.deny.is_empty() {
        mistakes.push("it has no `allow`, `ask` or `deny`".into());
    }
    if mistakes.is_empty() {
        mistakes = self_test(rule, &entries);
    }
    (entries, mistakes)
}

/// Why no command that begins so can do without a person.
fn never_matches(pattern: &Pattern) -> Option<&'static str> {
    let Pattern::Words(words) = pattern else { return None };
    never_allowed(&words.iter().map(Word::exact).collect::<Vec<_>>())
}

/// Tries a rule, alone, on the commands it says it is for.
fn self_test(rule: &RuleSpec, entries: &[Entry]) -> Vec<String> {
    if rule.matches.is_empty() && rule.not_match.is_empty() {
        return Vec::new();
    }
    let mut alone = RuleSet::empty();
    entries.iter().cloned().for_each(|entry| alone.insert(entry));
    let missed = rule.matches.iter().filter(|text| !decides(&alone, text));
    let caught = rule.not_match.iter().filter(|text| decides(&alone, text));
    missed
        .map(|text| format!("`match` has `{}`, which it does not decide", one_line(text)))
        .chain(caught.map(|text| format!("`not_match` has `{}`, which it decides", one_line(text))))
        .collect()
}
