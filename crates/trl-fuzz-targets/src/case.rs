//! A case file: the result is a valid case, or a list of errors whose places lie within the file, and of which each part is one
//! line of bounded length.

use trl_core::case::parse::parse;
use trl_proto::untrusted::is_invisible;

/// Characters of a part of an error.
const LONGEST: usize = 1100;

/// Checks the property for one input.
pub fn check(bytes: &[u8]) {
    match parse(bytes, Some("x")) {
        Ok(case) => assert!(case.id.is_none_or(|id| id == "x")),
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(
                    error.line.is_none_or(|line| (1..=bytes.len() as u64 + 1).contains(&line)),
                    "{error:?}"
                );
                assert!(!error.message.is_empty(), "{error:?}");
                for part in [Some(error.message), error.field, error.hint].into_iter().flatten() {
                    assert!(part.chars().count() <= LONGEST && !part.chars().any(is_invisible), "{part}");
                }
            }
        }
    }
}
