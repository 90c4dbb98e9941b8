//! Any bytes as a case file: they are a case that makes sense, or every error has a place within them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trl_core::case::parse::parse;

fuzz_target!(|bytes: &[u8]| {
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
});
