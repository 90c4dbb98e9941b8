//! Quoting: the only way a value becomes shell text.

use super::kind::Kind;

/// `value` as one word of the shell's language, whatever is in it.
pub fn quote(kind: Kind, value: &str) -> String {
    let mut word = String::with_capacity(value.len() + 2);
    word.push('\'');
    for c in value.chars() {
        match escape(kind, c) {
            Some(escape) => word.push_str(escape),
            None => word.push(c),
        }
    }
    word.push('\'');
    word
}

/// The same for what may be no text.
pub fn quote_bytes(kind: Kind, value: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in value {
        match escape(kind, char::from(*byte)) {
            Some(escape) => word.extend(escape.as_bytes()),
            None => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

fn escape(kind: Kind, c: char) -> Option<&'static str> {
    match (kind, c) {
        (Kind::Fish, '\'') => Some("\\'"),
        (Kind::Fish, '\\') => Some("\\\\"),
        (_, '\'') => Some("'\\''"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_real_shell_reads_back_what_was_quoted(value in "[^\\x00]{0,40}") {
            let script = format!("printf %s {}", quote(Kind::Dash, &value));
            let out = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(out.stdout, value.as_bytes());
        }
    }
}
