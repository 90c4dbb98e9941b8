//! A case file: the result is a valid case, or a list of one-line errors whose places lie within the file.

use trl_core::case::parse::parse;

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
                assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error:?}");
            }
        }
    }
}
