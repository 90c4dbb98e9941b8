//! The screen model alone: how fast it reads, what its lines weigh, how long a picture takes.

use std::time::Instant;

use anyhow::Result;
use trl_screen::Screen;

use crate::Plan;
use crate::report::{Bar, Report};

const COLS: u16 = 120;
const ROWS: u16 = 40;
const PIECE: usize = 16 * 1024;
const HISTORY: usize = 64 << 20;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let lines = plan.pick(60_000, 6000);
    let (mut bytes, mut seconds) = (0, 0.0);
    for (name, line) in CORPUS {
        let text: String = (0..lines).map(line).collect();
        let mut screen = Screen::new(COLS, ROWS, HISTORY);
        let start = Instant::now();
        text.as_bytes().chunks(PIECE).for_each(|piece| drop(screen.feed(piece)));
        let took = start.elapsed().as_secs_f64();
        bytes += text.len();
        seconds += took;
        let start = Instant::now();
        let picture = screen.snapshot_with(0).bytes.len();
        let picture_us = start.elapsed().as_micros();
        let kept = screen.history_range();
        let per_line = screen.history_bytes() as f64 / (kept.end - kept.start).max(1) as f64;
        report.value(
            format!("{name} into the model"),
            format!("a line of history {per_line:.0} bytes, a picture {picture} bytes in {picture_us} us"),
            (text.len() as f64 / took / 1e6, " MB/s"),
            Bar::Shown,
        );
    }
    let all = bytes as f64 / seconds / 1e6;
    report.value("all of it", format!("{} MB", bytes / 1_000_000), (all, " MB/s"), Bar::AtLeast(50.0));
    Ok(())
}

type Line = fn(usize) -> String;

const CORPUS: [(&str, Line); 5] = [
    ("an ASCII log", |n| {
        let (second, ms) = (n % 60, n % 997);
        format!(
            "2026-01-01T00:00:{second:02} INFO worker-{n} handled request /api/v1/items/{n} in {ms} ms\r\n"
        )
    }),
    ("colours", |n| {
        let (few, many) = (n % 8, n % 256);
        format!("\x1b[1;3{few}mword\x1b[0m \x1b[38;5;{many}mother\x1b[48;2;1;2;{many}m third\x1b[m\r\n")
    }),
    ("wide characters", |n| format!("漢字とかな한국어 e\u{301} → {n} 日本語の文章が続きます\r\n")),
    ("redraws", |n| {
        let row = n % 40 + 1;
        format!("\x1b[{row};1H\x1b[K\x1b[7m line {n} \x1b[m some text of a status display\x1b[{row};80H{n}")
    }),
    ("wraps and titles", |n| format!("{}\x1b]0;title {n}\x07\r\n", "a long line ".repeat(20))),
];
