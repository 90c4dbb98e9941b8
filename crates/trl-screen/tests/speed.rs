//! Figures for the model, not a bar: `cargo test --release -p trl-screen --test speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::time::Instant;

use trl_screen::Screen;

const PIECE: usize = 16 * 1024;

fn corpora() -> Vec<(&'static str, String)> {
    let repeat = |text: &dyn Fn(usize) -> String| (0..60_000).map(text).collect::<String>();
    vec![
        (
            "ascii log",
            repeat(&|n| {
                format!(
                    "2026-01-01T00:00:{:02} INFO worker-{n} handled request /api/v1/items/{n} in {} ms\r\n",
                    n % 60,
                    n % 997
                )
            }),
        ),
        (
            "colours",
            repeat(&|n| {
                format!(
                    "\x1b[1;3{}mword\x1b[0m \x1b[38;5;{}mother\x1b[48;2;1;2;{}m third\x1b[m\r\n",
                    n % 8,
                    n % 256,
                    n % 256
                )
            }),
        ),
        ("wide", repeat(&|n| format!("漢字とかな한국어 e\u{301} → {n} 日本語の文章が続きます\r\n"))),
        (
            "redraws",
            repeat(&|n| {
                format!(
                    "\x1b[{};1H\x1b[K\x1b[7m line {n} \x1b[m some text of a status display\x1b[{};80H{n}",
                    n % 40 + 1,
                    n % 40 + 1
                )
            }),
        ),
        ("wraps", repeat(&|n| format!("{}\x1b]0;title {n}\x07\r\n", "a long line ".repeat(20)))),
    ]
}

#[test]
#[ignore = "a figure, which debug builds would spoil"]
fn throughput() {
    let (mut bytes, mut seconds) = (0, 0.0);
    for (name, text) in corpora() {
        let mut screen = Screen::new(120, 40, 16 << 20);
        let start = Instant::now();
        text.as_bytes().chunks(PIECE).for_each(|piece| drop(screen.feed(piece)));
        let took = start.elapsed().as_secs_f64();
        bytes += text.len();
        seconds += took;
        let start = Instant::now();
        let snapshot = screen.snapshot_with(0).bytes.len();
        let (snapshot_us, lines) = (start.elapsed().as_micros(), screen.history_range());
        println!(
            "{name:<10} {:>7.0} MB/s  history {} lines in {} KiB  snapshot of the screen {snapshot} bytes in {snapshot_us} us",
            text.len() as f64 / took / 1e6,
            lines.end - lines.start,
            screen.history_bytes() / 1024,
        );
    }
    println!("all        {:>7.0} MB/s", bytes as f64 / seconds / 1e6);
}
