//! Random texts, near enough to shell to be accepted now and then.

use trl_testkit::Random;

/// What texts are made of. No `/` but in `/dev/null`: nothing is written outside the directory of the case.
const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\\\n",
    " \\\n",
    ";",
    "; ",
    " && ",
    "&&",
    " || ",
    "||",
    " | ",
    "|",
    " & ",
    "&",
    "& ",
    "'",
    "\"",
    "\\",
    "\\\\",
    "\\ ",
    "''",
    "\"\"",
    "'x y'",
    "\"x y\"",
    "\"$x\"",
    "\"${x}\"",
    "'$x'",
    "\\$x",
    "$x",
    "${x}",
    "$y",
    "$?",
    "$@",
    "\"$@\"",
    "$",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    "{}",
    "{a,b}",
    "[",
    "]",
    "[x]",
    "[[",
    "*",
    "?",
    "~",
    "~x",
    "=",
    "==",
    "=a",
    "x=",
    "x=1",
    "FOO=bar ",
    "FOO='b c' ",
    "+=",
    "!",
    "!a",
    "! ",
    "!=",
    "#",
    " # x",
    "\n# note\n",
    "^",
    "%",
    "%1",
    "@",
    ",",
    ":",
    ".",
    "..",
    "-",
    "--",
    "-x",
    "--x=y",
    "+",
    "_",
    "0",
    "1",
    "2",
    "12",
    "<",
    ">",
    ">>",
    "> o",
    ">o",
    "2>&1",
    ">&2",
    "2>o",
    "1>&-",
    "> /dev/null",
    "2>/dev/null",
    "< i",
    "<i",
    "<1-5>",
    "<&",
    "&>",
    "|&",
    ">|",
    ">!",
    "<<",
    "<<<",
    "<<E",
    "<<'E'\nx $y\nE\n",
    "<<E\nplain\nE\n",
    "<<\"E E\"",
    "<<-E",
    "E\n",
    "\nE",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{1}",
    "\u{7f}",
    "\u{a0}",
    "\u{2003}",
    "é",
    "'é'",
    "\"é\\\"\"",
    "日本",
    "'日本'",
    "a",
    "b",
    "c",
    "git",
    "fa",
    "fb",
    "x",
    "y",
    "o",
    "i",
    "push",
    "if",
    "then",
    "fi",
    "do",
    "in",
    "time",
    "function",
    "a b",
    "a;b",
    "a&&b",
    "'a'",
    "\"b\"",
    "a\\",
    "\\a",
    "a'b'c",
    "a\"b\"c",
    "$'a'",
    "$\"a\"",
    "${x:-a}",
    "$x[1]",
    "$((1))",
    "'it'\\''s'",
    "\"a\\nb\"",
    "\"a\\$b\"",
    "\"a\\`b\"",
    "\"!\"",
    "\"x!\"",
    "'!x'",
    "x~1",
    "x^",
    "x@{1}",
    "x#y",
    "a=b=c",
    "*.rs",
    "x*",
];

const STUBS: &[&str] = &["a", "b", "c", "git", "fa", "fb"];
const CORPUS: &str = include_str!("../corpus.txt");

#[derive(Debug)]
pub(crate) struct Noise {
    random: Random,
    corpus: Vec<String>,
}

impl Noise {
    pub(crate) fn new(random: Random) -> Self {
        let corpus = CORPUS.lines().filter(|line| !line.is_empty()).map(tame).collect();
        Self { random, corpus }
    }

    pub(crate) fn text(&mut self) -> String {
        match self.below(10) {
            0..=3 => self.sentence(),
            4..=6 => self.salad(),
            _ => self.mutated(),
        }
    }

    /// Stubs with words, joined by operators: mostly well formed.
    fn sentence(&mut self) -> String {
        let mut text = String::new();
        for at in 0..=self.below(3) {
            if at > 0 {
                text.push_str(self.pick(&[" && ", "||", " | ", "; ", "\n", ";", " & ", "|\n", "&& \\\n"]));
            }
            if self.below(8) == 0 {
                text.push_str(self.pick(&["FOO=bar ", "x='p q' ", "A= ", "A=*", "y=$x "]));
            }
            text.push_str(self.pick(STUBS));
            for _ in 0..self.below(4) {
                text.push(' ');
                for _ in 0..=self.below(2) {
                    text.push_str(self.pick(PIECES));
                }
            }
        }
        text
    }

    /// A stub and anything behind it.
    fn salad(&mut self) -> String {
        let mut text = self.pick(STUBS).to_string();
        for _ in 0..=self.below(7) {
            text.push_str(self.pick(PIECES));
        }
        text
    }

    fn mutated(&mut self) -> String {
        let at = self.below(self.corpus.len());
        let mut text: Vec<char> = self.corpus[at].chars().collect();
        for _ in 0..self.below(4) {
            let at = self.below(text.len() + 1);
            match self.below(3) {
                0 => drop(text.splice(at..at, self.pick(PIECES).chars())),
                1 if at < text.len() => drop(text.remove(at)),
                _ if at < text.len() => drop(text.splice(at..=at, self.pick(PIECES).chars())),
                _ => {}
            }
        }
        text.into_iter().collect()
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.random.below(limit as u64)).unwrap_or(0)
    }
}

/// A command of the corpus with stubs for programs and without paths.
fn tame(line: &str) -> String {
    let mut text = String::new();
    let mut at_start = true;
    for piece in line
        .replace('␤', "\n")
        .replace('/', "_")
        .replace("_dev_null", "/dev/null")
        .split_inclusive([' ', '\n'])
    {
        let word = piece.trim_end();
        let is_name =
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if at_start && is_name {
            text.push_str(STUBS[word.len() % STUBS.len()]);
            text.push_str(&piece[word.len()..]);
        } else {
            text.push_str(piece);
        }
        at_start =
            piece.ends_with('\n') || word.ends_with(['|', '&', ';']) || (at_start && word.contains('='));
    }
    text
}
