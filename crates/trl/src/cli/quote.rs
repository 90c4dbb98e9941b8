//! From arguments to shell text: one argument is shell text already, several are quoted word by word.

use std::ffi::OsString;

/// Words the shell would take for its own grammar if they stood first and unquoted.
const RESERVED: [&str; 21] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "until",
    "for",
    "in",
    "select",
    "function",
    "time",
    "coproc",
    "foreach",
    "end",
    "repeat",
    "nocorrect",
];

/// The command text for `arguments` (not empty), or what is wrong with them.
pub(super) fn shell_text(arguments: &[OsString]) -> Result<String, String> {
    let words: Vec<&str> = arguments
        .iter()
        .map(|word| word.to_str().ok_or_else(|| format!("{word:?} is not valid UTF-8, which the wire needs")))
        .collect::<Result<_, _>>()?;
    match words.as_slice() {
        [text] => Ok((*text).to_string()),
        words => Ok(join(words)),
    }
}

/// Shell text that runs exactly these words as a command and its arguments.
fn join(words: &[&str]) -> String {
    let mut text = String::new();
    for (position, word) in words.iter().enumerate() {
        if position > 0 {
            text.push(' ');
        }
        let place = if position == 0 { Place::Command } else { Place::Argument };
        push_quoted(&mut text, word, place);
    }
    text
}

#[derive(PartialEq, Eq)]
enum Place {
    Command,
    Argument,
}

fn push_quoted(text: &mut String, word: &str, place: Place) {
    if is_plain(word, &place) {
        text.push_str(word);
        return;
    }
    text.push('\'');
    text.push_str(&word.replace('\'', r"'\''"));
    text.push('\'');
}

/// Does every shell read `word` as itself? Quotes are always right; this only keeps what people read short.
fn is_plain(word: &str, place: &Place) -> bool {
    let harmless = |b: u8| b.is_ascii_alphanumeric() || b"_-./:,@+".contains(&b);
    match place {
        // `A=1` would be an assignment.
        Place::Command => !word.is_empty() && word.bytes().all(harmless) && !RESERVED.contains(&word),
        // zsh takes a leading `=` for a path lookup.
        Place::Argument => {
            !word.is_empty() && !word.starts_with('=') && word.bytes().all(|b| harmless(b) || b == b'=')
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn text(words: &[&str]) -> String {
        shell_text(&words.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn one_argument_is_shell_text() {
        assert_eq!(text(&["echo $HOME | wc"]), "echo $HOME | wc");
    }

    #[test]
    fn several_arguments_are_words() {
        assert_eq!(text(&["ls", "-la", "a b"]), "ls -la 'a b'");
        assert_eq!(text(&["echo", "it's", "$HOME", ""]), r"echo 'it'\''s' '$HOME' ''");
        assert_eq!(text(&["A=1", "b=2"]), "'A=1' b=2");
        assert_eq!(text(&["if", "=ls", "~"]), "'if' '=ls' '~'");
    }

    #[test]
    fn what_the_wire_cannot_carry_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        assert!(shell_text(&[OsString::from_vec(vec![0xff])]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_back_the_same_words(words in prop::collection::vec("[^\0]*", 1..5)) {
            let mut all = vec!["printf", "%s\\0"];
            all.extend(words.iter().map(String::as_str));
            let output = Command::new("/bin/sh").arg("-c").arg(join(&all)).output().unwrap();
            let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        }
    }
}
