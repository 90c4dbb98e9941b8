//! Properties that the parsers keep for any input, one module per parser.
//!
//! Two runners feed them. `tests/replay.rs` runs the saved inputs of `fuzz/seeds` and mutations of them that are the same in
//! every run, on the stable compiler. The libFuzzer programs in `fuzz/` search with coverage and random seeds; an input
//! they find is saved below `fuzz/seeds`, so that the replay covers it from then on.
//!
//! A violated property panics.
#![allow(clippy::expect_used)]

pub mod acp;
pub mod case;
pub mod control;
pub mod envelope;
pub mod link;
pub mod policy;
pub mod screen;
