//! libFuzzer entry for `trl_fuzz_targets::policy`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trl_fuzz_targets::policy::check(bytes));
