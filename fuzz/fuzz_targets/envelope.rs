//! libFuzzer entry for `trl_fuzz_targets::envelope`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trl_fuzz_targets::envelope::check(bytes));
