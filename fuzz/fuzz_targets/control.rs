//! libFuzzer entry for `trl_fuzz_targets::control`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trl_fuzz_targets::control::check(bytes));
