//! What is accepted as plain is run by real shells, and must be what the splitter said: these commands, these words.
//!
//! 1. `noise` makes texts: pieces of shell grammar at random, and commands of the corpus, mutated.
//! 2. Those that are plain, and name no program but the stubs, go into directories of their own, a batch at a time.
//! 3. Each shell sources them one by one, with nothing in its PATH but stubs that log their words.
//! 4. `expect` says which of the commands must have run, and which may have; the log must agree.
//!
//! `TRL_TEST_SECONDS` makes it longer, `TRL_TEST_SEED` repeats a run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod expect;
mod noise;
mod shells;

use std::collections::HashSet;

use trl_policy::{Command, ShellKind, Split, split};
use trl_testkit::{Random, Rounds};

/// Texts of the short tier.
const TEXTS: usize = 3000;

/// How many texts a shell is started for.
const BATCH: usize = 400;

mod soak {
    use super::*;

    #[test]
    fn shells_do_what_the_splitter_says() {
        let mut noise = noise::Noise::new(Random::from_environment());
        let shells = shells::Shells::find();
        let (mut made, mut plain) = (0_u64, 0_u64);
        let mut run: HashSet<String> = HashSet::new();
        let mut mismatches = Vec::new();
        let mut batch: Vec<(String, Vec<Command>)> = Vec::new();
        for _ in Rounds::new(TEXTS) {
            let text = noise.text();
            made += 1;
            if let Split::Plain(commands) = split(ShellKind::Sh, &text) {
                plain += 1;
                if expect::can_be_run(&text, &commands) && run.insert(text.clone()) {
                    batch.push((text, commands));
                }
            }
            if batch.len() == BATCH {
                mismatches.extend(shells.check(&batch));
                batch.clear();
            }
        }
        mismatches.extend(shells.check(&batch));
        let run = run.len() as u64;
        println!(
            "{made} strings, {plain} plain, {run} run by {}: {} mismatches",
            shells.names(),
            mismatches.len()
        );
        assert!(mismatches.is_empty(), "{}", mismatches[..mismatches.len().min(20)].join("\n"));
        assert!(run * 10 > made, "the noise is too wild to test anything: {run} of {made} were run");
    }
}
