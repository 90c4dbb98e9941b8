//! A client that attaches at any byte of a terminal's output shows the same screen as one that was attached from the start,
//! then and afterwards.
//!
//! 1. Streams: real programs recorded now, on a terminal of their own (`judge/record.py`); synthetic ones that try
//!    each feature hard (`restore/synthetic.rs`), from a seed that is printed; emoji and ideographs (`restore/wide.rs`).
//!    `TRL_TEST_SEED` repeats a seed.
//! 2. At random cuts the model writes a snapshot.
//! 3. xterm.js, without a window, is the judge (`judge/judge.mjs`): a fresh one with the snapshot must equal an
//!    uninterrupted one in every field, at the cut and after 4 KiB more.
//!
//! Without node, its package, or a program: said and skipped, but never in CI.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "restore/random.rs"]
mod random;
#[path = "restore/recorded.rs"]
mod recorded;
#[path = "restore/synthetic.rs"]
mod synthetic;
#[path = "restore/wide.rs"]
mod wide;

use std::path::{Path, PathBuf};
use std::process::Command;

use random::Random;
use serde::{Deserialize, Serialize};
use trl_screen::{DumpedLine, Screen};
use trl_testkit::Rounds;

/// Of all cuts, both at once and later.
const BAR: f64 = 0.995;
/// Of each stream in a round. Of all cuts of a round, the bar lets one differ.
const RECORDED_CUTS: usize = 30;
const SYNTHETIC_CUTS: usize = 13;
const TAIL: usize = 4096;
/// Nothing the streams write is forgotten: histories are compared whole.
const HISTORY: usize = 64 << 20;

pub(crate) const COLS: u16 = 120;
pub(crate) const ROWS: u16 = 40;

/// What came from a program, and when the terminal changed its size.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) resizes: Vec<(usize, u16, u16)>,
}

#[derive(Serialize)]
struct Job {
    bytes: String,
    cols: u16,
    rows: u16,
    resizes: Vec<(usize, u16, u16)>,
    cuts: Vec<Cut>,
}

#[derive(Serialize)]
struct Cut {
    offset: usize,
    end: usize,
    cols: u16,
    rows: u16,
    snapshot: String,
    /// The normal screen with its history, as the model has it.
    text: Vec<String>,
}

#[derive(Deserialize)]
struct Verdict {
    offset: usize,
    at: Vec<String>,
    after: Vec<String>,
    /// Where the model's own text differs: not part of the bar, but worth knowing.
    model: Vec<String>,
}

fn judge_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge")
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Says what is missing; in CI that is a failure.
fn missing(what: &str) {
    assert!(!is_ci(), "in CI nothing may be missing: {what}");
    println!("skipped: {what}");
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// The next offset at which no character is cut.
fn boundary(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] & 0xc0 == 0x80 {
        at += 1;
    }
    at.min(bytes.len())
}

/// Feeds a stream up to every cut in turn and notes the snapshots.
fn cuts(stream: &Stream, count: usize, random: &mut Random) -> Vec<Cut> {
    let len = stream.bytes.len();
    let mut offsets: Vec<usize> = (0..count).map(|_| random.below(len + 1)).collect();
    offsets.sort_unstable();
    let mut screen = Screen::new(COLS, ROWS, HISTORY);
    let mut resizes = stream.resizes.iter().peekable();
    let mut at = 0;
    let mut cuts = Vec::new();
    for offset in offsets {
        while let Some(&(when, cols, rows)) = resizes.next_if(|resize| resize.0 < offset) {
            screen.feed(&stream.bytes[at..when]);
            screen.resize(cols, rows);
            at = when;
        }
        screen.feed(&stream.bytes[at..offset]);
        at = offset;
        let snapshot = screen.snapshot();
        let (cols, rows) = screen.size();
        let offset = snapshot.offset as usize;
        let end = boundary(&stream.bytes, (offset + TAIL).min(len));
        cuts.push(Cut { offset, end, cols, rows, snapshot: base64(&snapshot.bytes), text: text(&screen) });
    }
    cuts
}

/// History and rows; `>` before a row that continues the one above.
fn text(screen: &Screen) -> Vec<String> {
    let line = |line: &DumpedLine| {
        let mut text = String::new();
        let mut at = 0;
        while let Some(cell) = line.cells.get(at) {
            text += if cell.0.is_empty() { " " } else { &cell.0 };
            at += usize::from(cell.1.max(1));
        }
        format!("{}{}", if line.wrapped { '>' } else { ' ' }, text.trim_end())
    };
    screen.dump().normal.lines.iter().map(line).collect()
}

fn judge(stream: &Stream, cuts: Vec<Cut>, dir: &Path) -> Vec<Verdict> {
    let job =
        Job { bytes: base64(&stream.bytes), cols: COLS, rows: ROWS, resizes: stream.resizes.clone(), cuts };
    let path = dir.join(format!("{}.json", stream.name));
    std::fs::write(&path, serde_json::to_vec(&job).unwrap()).unwrap();
    let done = Command::new("node").arg(judge_dir().join("judge.mjs")).arg(&path).output().unwrap();
    assert!(done.status.success(), "{}: {}", stream.name, String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).unwrap();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[derive(Default)]
struct Score {
    cuts: usize,
    at: usize,
    after: usize,
    both: usize,
}

impl Score {
    fn add(&mut self, verdicts: &[Verdict]) {
        self.cuts += verdicts.len();
        self.at += verdicts.iter().filter(|verdict| verdict.at.is_empty()).count();
        self.after += verdicts.iter().filter(|verdict| verdict.after.is_empty()).count();
        self.both += verdicts.iter().filter(|v| v.at.is_empty() && v.after.is_empty()).count();
    }

    fn line(&self, name: &str) -> String {
        let percent = |n: usize| 100.0 * n as f64 / self.cuts.max(1) as f64;
        let (cuts, at, after) = (self.cuts, percent(self.at), percent(self.after));
        format!("{name:<12} {cuts:>4} cuts  at the cut {at:>6.2} %  later {after:>6.2} %")
    }

    fn assert_above_bar(&self) {
        println!("{}", self.line("all"));
        let equal = self.both as f64 / self.cuts.max(1) as f64;
        assert!(
            equal >= BAR,
            "{:.2} % of {} cuts are restored, the bar is {:.2} %",
            equal * 100.0,
            self.cuts,
            BAR * 100.0
        );
    }
}

/// A node with the package installed.
fn has_judge() -> bool {
    let node = Command::new("node").arg("--version").output().is_ok_and(|done| done.status.success());
    if !node {
        missing("node");
        return false;
    }
    if !judge_dir().join("node_modules/@xterm/addon-unicode-graphemes").is_dir() {
        missing("the judge's packages: npm ci in tests/judge, or cargo xtask test");
        return false;
    }
    true
}

/// Cuts each stream so often, and adds what the judge says to the score. Judges work beside each other.
fn check(streams: &[Stream], count: usize, random: &mut Random, total: &mut Score) {
    let dir = tempfile::tempdir().unwrap();
    let judges = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for streams in streams.chunks(judges) {
        let cut: Vec<_> = streams.iter().map(|stream| cuts(stream, count, random)).collect();
        let verdicts: Vec<_> = std::thread::scope(|scope| {
            let dir = dir.path();
            let judged =
                streams.iter().zip(cut).map(|(stream, cuts)| scope.spawn(move || judge(stream, cuts, dir)));
            let judged: Vec<_> = judged.collect();
            judged.into_iter().map(|judged| judged.join().expect("verdicts")).collect()
        });
        for (stream, verdicts) in streams.iter().zip(verdicts) {
            tell(stream, &verdicts);
            total.add(&verdicts);
        }
    }
}

fn tell(stream: &Stream, verdicts: &[Verdict]) {
    let mut score = Score::default();
    score.add(verdicts);
    println!("{} of {} bytes", score.line(&stream.name), stream.bytes.len());
    for verdict in verdicts.iter().filter(|v| !(v.at.is_empty() && v.after.is_empty())).take(3) {
        println!("    cut at {}: {:?}; later: {:?}", verdict.offset, verdict.at, verdict.after);
    }
    if let Some(verdict) = verdicts.iter().find(|verdict| !verdict.model.is_empty()) {
        println!("    the model itself differs at {}: {:?}", verdict.offset, verdict.model);
    }
}

/// The widths of the model are those of the client. `UPDATE_TABLE=1` takes them over from a new version of the client.
#[test]
fn the_table_of_widths_is_current() {
    if !has_judge() {
        return;
    }
    let done = Command::new("node").arg(judge_dir().join("table.mjs")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/grapheme/table.rs");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        std::fs::write(&path, &done.stdout).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == done.stdout, "{} is not what table.mjs prints", path.display());
}

mod soak {
    use super::*;

    #[test]
    fn recorded_programs_are_restored() {
        if !has_judge() {
            return;
        }
        let (mut random, mut score) = (Random::from_environment(), Score::default());
        for _ in Rounds::new(1) {
            check(&recorded::streams(), RECORDED_CUTS, &mut random, &mut score);
        }
        score.assert_above_bar();
    }

    #[test]
    fn emoji_and_ideographs_are_restored() {
        if !has_judge() {
            return;
        }
        let (mut random, mut score) = (Random::from_environment(), Score::default());
        for _ in Rounds::new(2) {
            check(&wide::streams(random.seed()), SYNTHETIC_CUTS, &mut random, &mut score);
        }
        score.assert_above_bar();
    }

    #[test]
    fn synthetic_streams_are_restored() {
        if !has_judge() {
            return;
        }
        let (mut random, mut score) = (Random::known(), Score::default());
        for _ in Rounds::new(1) {
            check(&synthetic::streams(random.seed()), SYNTHETIC_CUTS, &mut random, &mut score);
        }
        score.assert_above_bar();
    }
}
