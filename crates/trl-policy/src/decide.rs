//! A command in, a judgement out.
//!
//! 1. The text is split; an opaque one is one segment, which asks unless a deny stands in it.
//! 2. Each command is a segment, and so is each file it writes. Each must be allowed on its own.
//! 3. The strictest segment decides.

use std::ops::Range;

use trl_proto::exec;
use trl_proto::hitl::{Segment, Verdict};

use crate::file::{Place, is_a_socket};
use crate::judge::{Judge, Ruling};
use crate::literal::parts;
use crate::pattern::FS_WRITE;
use crate::plain::{Command, Direction, Split, Word};
use crate::rules::{RuleSet, stricter};
use crate::shell::ShellKind;
use crate::split::split;

/// Where a command is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub shell: ShellKind,
    pub place: Place<'a>,
}

/// Whether somebody can type into a program later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    Possible,
    Impossible,
}

/// What the rules say of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// In the order of the command.
    pub segments: Vec<Segment>,
    /// The commands it would run. An allow holds only while the shell resolves each of them to the program it was judged
    /// as, without an alias or a function in between; [`crate`] says what else.
    pub names: Vec<String>,
    /// Of the segment that decided.
    pub reason: Option<String>,
}

/// Judges the text of a command.
#[must_use]
pub fn decide(rules: &RuleSet, scene: Scene<'_>, command: &str) -> Judgement {
    if rules.is_open() {
        return conclude(vec![segment(command, Some(0..command.len()), Ruling::allow())], Vec::new());
    }
    let mut judge = Judge::new(rules, scene.shell);
    let commands = match split(scene.shell, command) {
        Split::Plain(commands) => commands,
        Split::Opaque(opaque) => {
            let ruling = judge.opaque(command, opaque.why);
            let whole = segment(command, Some(0..command.len()), ruling);
            return conclude(vec![Segment { parts: parts(command), ..whole }], Vec::new());
        }
    };
    let mut segments = Vec::with_capacity(commands.len());
    let mut place = scene.place;
    for one in &commands {
        let earlier = std::mem::take(&mut judge.names);
        let ruling = simple(&mut judge, one, place);
        let moves = judge.names.iter().any(|name| changes_directory(name));
        segments.push(segment(&command[one.at.clone()], Some(one.at.clone()), ruling));
        segments.extend(writes(&judge, one, place, command));
        if moves {
            place.cwd = None;
        }
        names_of_both(&mut judge.names, earlier);
    }
    conclude(segments, judge.names)
}

/// Judges a program that is started without a shell.
#[must_use]
pub fn judge_argv(rules: &RuleSet, argv: &[String], typing: Typing) -> Judgement {
    let words: Vec<Word> = argv.iter().map(Word::exact).collect();
    let text = argv.join(" ");
    if rules.is_open() {
        return conclude(vec![segment(&text, None, Ruling::allow())], Vec::new());
    }
    let mut judge = Judge::new(rules, ShellKind::Other);
    let mut ruling = judge.command(&words);
    if typing == Typing::Possible {
        let mut verb = vec![Word::exact("exec.start")];
        verb.extend(words);
        ruling = typed(&judge, &verb, ruling);
    }
    conclude(vec![segment(&text, None, ruling)], judge.names)
}

/// Judges a terminal that is about to be opened with this program in it.
#[must_use]
pub fn judge_terminal(rules: &RuleSet, argv: &[String]) -> Judgement {
    let text = format!("terminal.create {}", argv.join(" "));
    if rules.is_open() {
        return conclude(vec![segment(&text, None, Ruling::allow())], Vec::new());
    }
    let words: Vec<Word> = argv.iter().map(Word::exact).collect();
    let mut judge = Judge::new(rules, ShellKind::Other);
    let ruling = judge.command(&words);
    let mut verb = vec![Word::exact("terminal.create")];
    verb.extend(words);
    let ruling = typed(&judge, &verb, ruling);
    conclude(vec![segment(&text, None, ruling)], judge.names)
}

/// Why a variable that comes with a command has to be looked at; None when it may be set.
#[must_use]
pub fn doubt_variable(rules: &RuleSet, name: &str) -> Option<String> {
    let ruling = Judge::new(rules, ShellKind::Other).variable(name);
    let asks = !rules.is_open() && ruling.verdict != Verdict::Allow;
    asks.then(|| ruling.reason.unwrap_or_else(|| format!("{name} can change what is run")))
}

/// Judges a write that no command makes: `fs.write` and its like.
#[must_use]
pub fn judge_file_write(rules: &RuleSet, place: Place<'_>, path: &str) -> Judgement {
    let text = format!("{FS_WRITE} {path}");
    let ruling = if rules.is_open() {
        Ruling::allow()
    } else {
        Judge::new(rules, ShellKind::Other).file(Some(path), place)
    };
    conclude(vec![segment(&text, None, ruling)], Vec::new())
}

/// Whether a rule that is alone in its set decides a command, a verb or a write. For its self-tests.
pub(crate) fn decides(rules: &RuleSet, text: &str) -> bool {
    let place = Place { cwd: Some("/workspace"), root: Some("/workspace") };
    let judgement = match text.strip_prefix(FS_WRITE).map(str::trim) {
        Some(path) if !path.is_empty() => judge_file_write(rules, place, path),
        _ => decide(rules, Scene { shell: ShellKind::Bash, place }, text),
    };
    judgement.segments.iter().any(|segment| segment.rule.is_some())
}

/// Everything that is typed into it later is covered by the answer, so only a rule for the verb itself allows it.
fn typed(judge: &Judge<'_>, verb: &[Word], program: Ruling) -> Ruling {
    if program.verdict == Verdict::Deny && program.rule.is_some() {
        return program;
    }
    let found = judge.rules.of_words(verb);
    let own = Judge::new(judge.rules, ShellKind::Other).command(verb);
    if found.deny.is_some() || (found.allow.is_some() && own.verdict == Verdict::Allow) {
        return own;
    }
    judge.at_least_ask("everything typed into it later is covered by the answer")
}

fn simple(judge: &mut Judge<'_>, command: &Command, place: Place<'_>) -> Ruling {
    let mut ruling = if command.words.is_empty() { Ruling::allow() } else { judge.command(&command.words) };
    for one in &command.assignments {
        ruling = ruling.and(judge.variable(&one.name));
    }
    for one in &command.redirections {
        ruling = match (one.direction, one.target.literal()) {
            (Direction::Here, Some(body)) => match judge.denied_in(body) {
                Some(denial) => ruling.and(denial),
                None => ruling,
            },
            (Direction::Read, Some(path)) if is_a_socket(path) => {
                ruling.and(judge.at_least_ask("it connects to a host"))
            }
            (Direction::Read, None) => {
                ruling.and(judge.at_least_ask("it reads a file whose name is not known"))
            }
            _ => ruling,
        };
    }
    // Which file that is depends on what ran before it, so nobody can look at it beforehand.
    let moved = place.cwd.is_none() || judge.names.iter().any(|name| changes_directory(name));
    let relative = judge.names.iter().any(|name| name.contains('/') && !name.starts_with('/'));
    if moved && relative && ruling.verdict == Verdict::Allow && ruling.rule.is_some() {
        return judge.at_least_ask("its program is looked up in a directory that is not known");
    }
    ruling
}

/// A segment for each file a command writes by a redirection.
fn writes(judge: &Judge<'_>, command: &Command, place: Place<'_>, text: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    for one in &command.redirections {
        if !matches!(one.direction, Direction::Write | Direction::Append)
            || one.target.literal().is_some_and(crate::file::is_a_sink)
        {
            continue;
        }
        let ruling = judge.file(one.target.literal(), place);
        segments.push(segment(&text[one.at.clone()], Some(one.at.clone()), ruling));
    }
    segments
}

fn changes_directory(name: &str) -> bool {
    matches!(name, "cd" | "pushd" | "popd" | "chdir" | "eval" | "source" | ".")
}

/// Each name once, in the order they came.
fn names_of_both(names: &mut Vec<String>, mut earlier: Vec<String>) {
    names.retain(|name| !earlier.contains(name));
    earlier.append(names);
    *names = earlier;
}

fn segment(text: &str, at: Option<Range<usize>>, ruling: Ruling) -> Segment {
    Segment {
        text: text.to_string(),
        at: at.map(|at| exec::Range { from: at.start as u64, to: at.end as u64 }),
        verdict: ruling.verdict,
        rule: ruling.rule,
        reason: ruling.reason,
        would_allow: ruling.grant,
        parts: Vec::new(),
    }
}

fn conclude(segments: Vec<Segment>, names: Vec<String>) -> Judgement {
    let verdict = segments.iter().fold(Verdict::Allow, |verdict, segment| stricter(verdict, segment.verdict));
    let reason =
        segments.iter().find(|segment| segment.verdict == verdict).and_then(|segment| segment.reason.clone());
    Judgement { verdict, segments, names, reason }
}
