//! The words of a shell's command line, as far as one has to know them to stand in for that shell. Pure.
//!
//! dash, bash and zsh agree on what matters: options come first, `-c` says that the first word after them is the command,
//! and what follows that is `$0`, `$1` and so on. Nothing is judged here: the real shell gets every word as it came.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What a shell would do with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Run the text that is this word.
    Command { text: usize },
    /// Run the file that is this word.
    Script,
    /// Run what comes from stdin: a script, or a person.
    Stdin,
    /// Say something about itself.
    About,
    /// Say what is wrong with its words.
    Mistake,
}

/// What was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) task: Task,
    /// Whether all options are ones that a shell which already runs can do without: `-c`, and which files it reads first.
    pub(super) plain: bool,
    /// Where the options stand that make it read the files of a login or of a person.
    pub(super) welcoming: Vec<usize>,
}

/// Which of the two ways to read `-o` a shell has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The name of an option is the next word.
    Usual,
    /// Or what is left of this one.
    Zsh,
}

impl Dialect {
    pub(super) fn of(shell: &OsStr) -> Self {
        if shell.as_bytes().ends_with(b"zsh") { Self::Zsh } else { Self::Usual }
    }
}

/// Reads the words after the shell's own name.
pub(super) fn read(words: &[OsString], dialect: Dialect) -> Words {
    let mut seen = Seen::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let word = word.as_bytes();
        at += 1;
        match word {
            b"-" | b"--" => break,
            [b'-', b'-', name @ ..] => at += seen.long(name, at - 1),
            [b'-' | b'+', letters @ ..] if !letters.is_empty() => {
                at += seen.letters(word[0], letters, dialect, at - 1);
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    let task = match words.get(at) {
        _ if seen.about => Task::About,
        Some(_) if seen.inline => Task::Command { text: at },
        None if seen.inline => Task::Mistake,
        Some(_) if !seen.from_stdin => Task::Script,
        _ => Task::Stdin,
    };
    Words { task, plain: !seen.odd, welcoming: seen.welcoming }
}

#[derive(Default)]
struct Seen {
    inline: bool,
    from_stdin: bool,
    about: bool,
    odd: bool,
    welcoming: Vec<usize>,
}

impl Seen {
    /// How many further words belong to it.
    fn long(&mut self, name: &[u8], at: usize) -> usize {
        match name {
            b"version" | b"help" => self.about = true,
            b"noprofile" | b"norc" => {}
            b"login" => self.welcoming.push(at),
            b"rcfile" | b"init-file" | b"emulate" => {
                self.odd = true;
                return 1;
            }
            _ => self.odd = true,
        }
        0
    }

    fn letters(&mut self, sign: u8, letters: &[u8], dialect: Dialect, at: usize) -> usize {
        let mut further = 0;
        for (i, letter) in letters.iter().enumerate() {
            match (sign, letter) {
                (b'-', b'c') => self.inline = true,
                (b'-', b'l' | b'i') => {
                    if self.welcoming.last() != Some(&at) {
                        self.welcoming.push(at);
                    }
                }
                (b'-', b's') => {
                    self.from_stdin = true;
                    self.odd = true;
                }
                (b'-', b'f') if dialect == Dialect::Zsh => {}
                (_, b'o' | b'O') => {
                    self.odd = true;
                    if dialect == Dialect::Zsh && i + 1 < letters.len() {
                        return further;
                    }
                    further += 1;
                }
                _ => self.odd = true,
            }
        }
        further
    }
}

/// The words without what makes a shell read the files of a login or of a person.
pub(super) fn unwelcoming(words: &[OsString], read: &Words) -> Vec<OsString> {
    let spared = |(at, word): (usize, &OsString)| match word.as_bytes() {
        _ if !read.welcoming.contains(&at) => Some(word.clone()),
        [b'-', b'-', ..] => None,
        letters => {
            let left: Vec<u8> = letters.iter().copied().filter(|l| *l != b'l' && *l != b'i').collect();
            (left != b"-").then(|| OsStr::from_bytes(&left).to_owned())
        }
    };
    words.iter().enumerate().filter_map(spared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn task(line: &str) -> Task {
        read(&words(line), Dialect::Usual).task
    }

    #[test]
    fn every_way_to_say_c_is_understood() {
        for (line, text) in [
            ("-c CMD", 1),
            ("-c CMD name a b", 1),
            ("-lc CMD", 1),
            ("-l -c CMD", 2),
            ("-c -l CMD", 2),
            ("-ilc CMD", 1),
            ("-i -c CMD", 2),
            ("-ec CMD", 1),
            ("-ce CMD", 1),
            ("--login -c CMD", 2),
            ("--noprofile --norc -c CMD", 3),
            ("-euo pipefail -c CMD", 3),
            ("-o errexit -o pipefail -c CMD", 5),
            ("-O extglob +o history -c CMD", 5),
            ("-oc pipefail CMD", 2),
            ("--rcfile f -c CMD", 3),
            ("-c -- CMD", 2),
            ("+e -c CMD", 2),
        ] {
            assert_eq!(task(line), Task::Command { text }, "{line}");
        }
        assert_eq!(read(&words("-f -opipefail -c CMD"), Dialect::Zsh).task, Task::Command { text: 3 });
        assert_eq!(read(&words("-o pipefail -c CMD"), Dialect::Zsh).task, Task::Command { text: 3 });
    }

    #[test]
    fn what_is_no_command_is_told_apart() {
        for (line, expected) in [
            ("", Task::Stdin),
            ("-i", Task::Stdin),
            ("-s a b", Task::Stdin),
            ("-", Task::Stdin),
            ("file a", Task::Script),
            ("-e file -c", Task::Script),
            ("-- file", Task::Script),
            ("--version", Task::About),
            ("--help -c CMD", Task::About),
            ("-c", Task::Mistake),
            ("-l -c", Task::Mistake),
        ] {
            assert_eq!(task(line), expected, "{line}");
        }
    }

    #[test]
    fn only_options_that_change_nothing_later_are_plain() {
        for (line, plain) in [
            ("-c CMD", true),
            ("-lc CMD a b", true),
            ("--noprofile --norc -c CMD", true),
            ("-ec CMD", false),
            ("-euo pipefail -c CMD", false),
            ("--posix -c CMD", false),
            ("-f -c CMD", false),
        ] {
            assert_eq!(read(&words(line), Dialect::Usual).plain, plain, "{line}");
        }
        assert!(read(&words("-f -c CMD"), Dialect::Zsh).plain);
    }

    #[test]
    fn a_login_can_be_left_out() {
        for (line, left) in [
            ("-l -c CMD -l", "-c CMD -l"),
            ("-lc CMD", "-c CMD"),
            ("-ilec CMD", "-ec CMD"),
            ("--login -c CMD", "-c CMD"),
            ("-c -l CMD", "-c CMD"),
            ("-c CMD", "-c CMD"),
        ] {
            let line = words(line);
            assert_eq!(unwelcoming(&line, &read(&line, Dialect::Usual)), words(left));
        }
    }
}
