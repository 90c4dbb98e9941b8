//! Quoting: the only way a value becomes shell text.

use super::kind::Kind;

/// `value` as one word of the shell's language, whatever is in it.
pub fn quote(kind: Kind, value: &str) -> String {
    let mut word = String::with_capacity(value.len() + 2);
    word.push('\'');
    for c in value.chars() {
        match (kind, c) {
            (Kind::Fish, '\'' | '\\') => word.extend(['\\', c]),
            (_, '\'') => word.push_str("'\\''"),
            _ => word.push(c),
        }
    }
    word.push('\'');
    word
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
