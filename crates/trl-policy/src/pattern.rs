//! A rule's pattern: the first words of a command, or `fs.write` and a path.
//!
//! An allow matches only what is known exactly. A deny or an ask errs the other way: what it may be, it may be.

use crate::file::FilePattern;
use crate::plain::{Known, Split, Word};
use crate::shell::ShellKind;
use crate::split::split;

/// The verb of file writes.
pub(crate) const FS_WRITE: &str = "fs.write";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    Words(Vec<String>),
    File(FilePattern),
}

/// How far a command is from what a deny or an ask names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Near {
    No,
    /// Its words may become it, or it has the same words in another order or spelling.
    Maybe,
    Yes,
}

impl Pattern {
    /// Reads a pattern as it is written in a rule; the error ends a sentence that begins with the pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let commands = match split(ShellKind::Sh, text) {
            Split::Plain(commands) => commands,
            Split::Opaque(opaque) => return Err(format!("is not made of plain words: {opaque}")),
        };
        let [command] = commands.as_slice() else {
            return Err(format!("is {} commands; a pattern is the first words of one", commands.len()));
        };
        if !command.assignments.is_empty() || !command.redirections.is_empty() {
            return Err("has an assignment or a redirection; a pattern has words only".into());
        }
        let mut words = Vec::new();
        for word in &command.words {
            match word.literal() {
                Some(text) => words.push(text.to_string()),
                None => {
                    let spelled = text.get(word.at.clone()).unwrap_or_default();
                    return Err(format!(
                        "has `{spelled}`, which a shell expands; patterns are literal words, quote it if it is meant so"
                    ));
                }
            }
        }
        match words.as_slice() {
            [verb] if verb == FS_WRITE => Ok(Self::File(FilePattern::everything())),
            [verb, path] if verb == FS_WRITE => FilePattern::parse(path).map(Self::File),
            [verb, ..] if verb == FS_WRITE => Err("has more than one path".into()),
            _ => Ok(Self::Words(words)),
        }
    }
}

/// Whether an allow covers a command.
pub(crate) fn covers(pattern: &[String], words: &[Word]) -> bool {
    words.len() >= pattern.len() && pattern.iter().zip(words).all(|(want, word)| word.literal() == Some(want))
}

/// Whether a deny or an ask is about a command. The name is compared without its directory.
pub(crate) fn nears(pattern: &[String], words: &[Word]) -> Near {
    let (Some((want, wanted)), Some((name, rest))) = (pattern.split_first(), words.split_first()) else {
        return Near::No;
    };
    let Some(name) = name.literal() else { return Near::No };
    if base(want) != base(name) {
        return Near::No;
    }
    let other_path = want.contains('/') && want != name;
    if !other_path && covers(wanted, rest) {
        return Near::Yes;
    }
    if wanted.is_empty() || has_all(wanted, rest) { Near::Maybe } else { Near::No }
}

/// Whether all words of a pattern are among those of a command: options anywhere, the others in their order.
fn has_all(wanted: &[String], words: &[Word]) -> bool {
    let mut at = 0;
    wanted.iter().all(|want| {
        if want.starts_with('-') && want.len() > 1 {
            return words.iter().any(|word| is_option(want, word)) || has_letters(want, words);
        }
        match words[at.min(words.len())..].iter().position(|word| word.may_be(want)) {
            Some(found) => {
                // A word that becomes several may stand for the next one too.
                at += found + usize::from(words[at + found].known == Known::Exactly);
                true
            }
            None => false,
        }
    })
}

/// `--force` is also spelled `--forc` and `--force=yes`.
fn is_option(want: &str, word: &Word) -> bool {
    let Some(text) = word.literal() else { return word.may_be(want) };
    let (stem, _) = text.split_once('=').unwrap_or((text, ""));
    stem == want
        || (want.starts_with("--") && stem.len() > 3 && (want.starts_with(stem) || stem.starts_with(want)))
}

/// `-rf` is also spelled `-fr` and `-r -f`.
fn has_letters(want: &str, words: &[Word]) -> bool {
    let letters = &want[1..];
    letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && letters.chars().all(|letter| {
            words.iter().any(|word| {
                word.literal().is_some_and(|text| {
                    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
                })
            })
        })
}

/// A program's name without its directory.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        match split(ShellKind::Sh, text) {
            Split::Plain(mut commands) => commands.remove(0).words,
            Split::Opaque(opaque) => panic!("{opaque}"),
        }
    }

    fn near(pattern: &str, text: &str) -> Near {
        match Pattern::parse(pattern).unwrap() {
            Pattern::Words(pattern) => nears(&pattern, &words(text)),
            Pattern::File(_) => panic!("a path"),
        }
    }

    #[test]
    fn an_allow_wants_exactly_its_words() {
        let pattern = ["git".to_string(), "status".to_string()];
        assert!(covers(&pattern, &words("git status -s $x *")));
        assert!(covers(&pattern, &words("'git' \"status\"")));
        for text in ["git", "git $x", "git stat*", "git -C . status", "/tmp/git status", "git 'status '"] {
            assert!(!covers(&pattern, &words(text)), "{text}");
        }
    }

    #[test]
    fn a_deny_is_hard_to_spell_around() {
        assert_eq!(near("git push --force", "git push --force origin"), Near::Yes);
        assert_eq!(near("git push --force", "/usr/bin/git push --force"), Near::Yes);
        assert_eq!(near("git push --force", "git push origin --force"), Near::Maybe);
        assert_eq!(near("git push --force", "git -C x push --forc"), Near::Maybe);
        assert_eq!(near("git push --force", "git push $x"), Near::Maybe);
        assert_eq!(near("git push --force", "git $x"), Near::Maybe);
        assert_eq!(near("git push --force", "git push origin main"), Near::No);
        assert_eq!(near("rm -rf", "rm -fr x"), Near::Maybe);
        assert_eq!(near("rm -rf", "rm -r -f x"), Near::Maybe);
        assert_eq!(near("rm -rf", "rm -r x"), Near::No);
        assert_eq!(near("/usr/bin/git push", "git push"), Near::Maybe);
        assert_eq!(near("git", "git x"), Near::Yes);
    }

    #[test]
    fn patterns_are_literal_words() {
        for (text, says) in [
            ("", "0 commands"),
            ("a; b", "2 commands"),
            ("A=1 b", "assignment"),
            ("a > b", "redirection"),
            ("git *", "`*`, which a shell expands"),
            ("a $(b)", "plain words"),
            ("fs.write a b", "more than one path"),
        ] {
            let error = Pattern::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
