//! Replays the saved inputs of `fuzz/seeds`, and mutations of them that are the same in every run.
//!
//! 1. `saved::*` feeds every saved file to its property.
//! 2. `mutated::*` feeds [`ROUNDS`] inputs made from those files with a fixed seed.
//! 3. An input that violates a property is written to the temporary directory, and its path printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use trl_fuzz_targets as targets;

/// Inputs per parser. A count, not a time, so that a slow machine feeds the same ones.
const ROUNDS: usize = 3000;
/// As the libFuzzer runs have it: long enough for a request that holds a whole script.
const LONGEST: usize = 4096;

/// The saved inputs of one parser in the order of their names.
fn saved_inputs(parser: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(parser);
    let mut files: Vec<PathBuf> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", dir.display());
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn replay_saved(parser: &str, check: fn(&[u8])) {
    for (path, input) in saved_inputs(parser) {
        eprintln!("{}", path.display());
        check(&input);
    }
}

fn replay_mutated(parser: &str, check: fn(&[u8])) {
    let inputs: Vec<Vec<u8>> = saved_inputs(parser).into_iter().map(|(_, input)| input).collect();
    let mut mutator = Mutator::new(0x0074_726c);
    for round in 0..ROUNDS {
        let input = mutator.next_input(&inputs);
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            let path = std::env::temp_dir().join(format!("trl-fuzz-{parser}-{round}"));
            fs::write(&path, &input).unwrap();
            panic!("round {round} violates the property; its input is in {}", path.display());
        }
    }
}

/// Changes saved inputs with a generator of fixed seed (SplitMix64).
struct Mutator {
    state: u64,
}

impl Mutator {
    fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 where there is none.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    fn next_input(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut input, inputs);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(32)).min(input.len());
        match self.below(7) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.next() as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].repeat(1 + self.below(8));
                input.splice(at..at, piece);
            }
            4 => {
                let byte = *b"\n\0 \"'`$(){}[]\\;&|:\x1b\xff".get(self.below(22)).unwrap_or(&b'x');
                input.splice(at..at, std::iter::repeat_n(byte, 1 + self.below(4)));
            }
            5 => {
                let other = &inputs[self.below(inputs.len())];
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.truncate(at),
        }
    }
}

macro_rules! replay {
    ($($parser:ident),* $(,)?) => {
        mod saved {
            $(#[test] fn $parser() { super::replay_saved(stringify!($parser), super::targets::$parser::check) })*
        }
        mod mutated {
            $(#[test] fn $parser() { super::replay_mutated(stringify!($parser), super::targets::$parser::check) })*
        }
        /// Every directory of saved inputs belongs to a parser that is replayed here.
        #[test]
        fn every_parser_is_replayed() {
            let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
            let mut saved: Vec<String> = fs::read_dir(seeds)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            let mut replayed = vec![$(stringify!($parser)),*];
            (saved.sort(), replayed.sort_unstable());
            assert_eq!(saved, replayed);
        }
    };
}

replay!(acp, case, control, envelope, link, policy, screen);
