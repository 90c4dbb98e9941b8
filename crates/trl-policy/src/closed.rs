//! A closed lexer for shells nobody has studied: few characters, and each means itself everywhere.
//!
//! Words of letters, digits and `_ . / : , + - @` (and `=` behind the first word), and `'...'` without backslash, quote,
//! `!` and newline; joined by `;`, newline, `&&`, `||` and `|`. No expansions, redirections, assignments.

use crate::plain::{Command, Joint, Known, Opaque, Word};
use crate::split::is_plain_name;

pub(crate) fn read(text: &str) -> Result<Vec<Command>, Opaque> {
    let bytes = text.as_bytes();
    let mut commands: Vec<Command> = Vec::new();
    let mut pos = 0;
    loop {
        let must_follow = commands.last().is_some_and(|command| command.joint != Joint::Then);
        while matches!(bytes.get(pos), Some(b' ' | b'\n')) && !(must_follow && bytes[pos] == b'\n') {
            pos += 1;
        }
        if pos == bytes.len() && !must_follow {
            return Ok(commands);
        }
        let mut command = simple(bytes, &mut pos)?;
        command.joint = joint(bytes, &mut pos)?;
        commands.push(command);
    }
}

fn simple(bytes: &[u8], pos: &mut usize) -> Result<Command, Opaque> {
    let from = *pos;
    let mut command = Command {
        words: Vec::new(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        at: from..from,
        joint: Joint::Then,
    };
    loop {
        while bytes.get(*pos) == Some(&b' ') {
            *pos += 1;
        }
        if matches!(bytes.get(*pos), None | Some(b'\n' | b';' | b'&' | b'|')) {
            break;
        }
        let word = word(bytes, pos, command.words.is_empty())?;
        if command.words.is_empty() && !is_plain_name(&word.text) {
            return Err(Opaque { why: "a reserved word or an odd name", at: from });
        }
        command.words.push(word);
        command.at.end = *pos;
    }
    if command.words.is_empty() {
        return Err(Opaque { why: "an operator without a command", at: *pos });
    }
    Ok(command)
}

fn word(bytes: &[u8], pos: &mut usize, first: bool) -> Result<Word, Opaque> {
    let from = *pos;
    let mut text = Vec::new();
    if bytes[from] == b'\'' && !first {
        let inner = &bytes[from + 1..];
        let len = inner.iter().position(|byte| *byte == b'\'').unwrap_or(inner.len());
        let sound =
            inner[..len].iter().all(|byte| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'\\' | b'!'));
        if len == inner.len() || !sound {
            return Err(Opaque { why: "a quoted string", at: from });
        }
        text.extend_from_slice(&inner[..len]);
        *pos = from + len + 2;
    } else {
        while let Some(byte) = bytes.get(*pos) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {}
                b'_' | b'.' | b'/' | b':' | b',' | b'+' | b'-' => {}
                b'@' | b'=' if !first && *pos > from => {}
                _ => break,
            }
            text.push(*byte);
            *pos += 1;
        }
    }
    if *pos == from || !matches!(bytes.get(*pos), None | Some(b' ' | b'\n' | b';' | b'&' | b'|')) {
        return Err(Opaque { why: "a character that not every shell reads alike", at: *pos });
    }
    // Only ASCII was taken.
    Ok(Word { text: String::from_utf8_lossy(&text).into_owned(), known: Known::Exactly, at: from..*pos })
}

fn joint(bytes: &[u8], pos: &mut usize) -> Result<Joint, Opaque> {
    let (joint, len) = match (bytes.get(*pos), bytes.get(*pos + 1)) {
        (None, _) => (Joint::Then, 0),
        (Some(b'\n'), _) => (Joint::Then, 1),
        (Some(b';'), next) if next != Some(&b';') => (Joint::Then, 1),
        (Some(b'&'), Some(b'&')) => (Joint::And, 2),
        (Some(b'|'), Some(b'|')) => (Joint::Or, 2),
        (Some(b'|'), next) if next != Some(&b'&') => (Joint::Pipe, 1),
        _ => return Err(Opaque { why: "an operator that not every shell reads alike", at: *pos }),
    };
    *pos += len;
    Ok(joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simplest_commands_are_plain_everywhere() {
        let commands = read("git log -n 3 --format=oneline && grep 'a b' x/y.txt | wc -l; ls\n").unwrap();
        let words: Vec<Vec<_>> =
            commands.iter().map(|c| c.words.iter().map(|w| w.text.as_str()).collect()).collect();
        assert_eq!(
            words,
            [
                vec!["git", "log", "-n", "3", "--format=oneline"],
                vec!["grep", "a b", "x/y.txt"],
                vec!["wc", "-l"],
                vec!["ls"],
            ]
        );
    }

    #[test]
    fn all_else_is_opaque() {
        for text in [
            "a \"b\"", "a $b", "a *", "a > b", "a=b", "a b=", "a &", "a &&", "a ;; b", "(a)", "and a",
            "not a", "begin", "a 'b\\'", "a 'b", "a 'b'c", "a\tb", "a ~", "a {b}", "a @b", "a =b", "a |& b",
            "a %1", "a ^b", "a #b", "a\\b",
        ] {
            let read = read(text);
            assert!(read.is_err() || text == "a b=", "{text:?}: {read:?}");
        }
    }
}
