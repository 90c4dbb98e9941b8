//! What must hold for every stream: cuts make no difference, a snapshot is the state, nothing panics or grows without
//! bound.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use trl_screen::Screen;

/// A piece of a stream: text and sequences that terminals know, and noise.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        Just(String::new()),
        (0..12u32).prop_map(|n| n.to_string()),
        (0..2000u32).prop_map(|n| n.to_string())
    ];
    let numbers = proptest::collection::vec(number, 0..4).prop_map(|list| list.join(";"));
    let csi = (numbers.clone(), "[@A-Za-z`]").prop_map(|(n, last)| format!("\x1b[{n}{last}"));
    let private =
        (proptest::sample::select(MODES), "[hl]").prop_map(|(mode, last)| format!("\x1b[?{mode}{last}"));
    let sgr = "(38;5;[0-9]{1,3}|48;2;1;2;[0-9]{1,3}|4:[0-5]|58;5;9|[0-9]{1,2}|10[0-7])"
        .prop_map(|n| format!("\x1b[{n}m"));
    let special = proptest::sample::select(SPECIAL).prop_map(str::to_string);
    let text = prop_oneof![
        "[ -~]{1,30}",
        "[a-z漢字é\u{301}😀\u{200d}한]{1,12}",
        Just("\r\n".to_string()),
        Just("\n".to_string()),
        Just("x".repeat(90)),
    ];
    let known = prop_oneof![4 => text, 3 => csi, 2 => sgr, 1 => private, 2 => special];
    prop_oneof![
        20 => known.prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..12),
    ]
}

const MODES: &[u32] =
    &[1, 3, 6, 7, 12, 25, 45, 47, 66, 9, 1000, 1002, 1003, 1004, 1006, 1016, 1047, 1048, 1049, 2004, 2026];

const SPECIAL: &[&str] = &[
    "\x1b7",
    "\x1b8",
    "\x1bD",
    "\x1bE",
    "\x1bM",
    "\x1bH",
    "\x1b=",
    "\x1b>",
    "\x1b(0",
    "\x1b(B",
    "\x1b)0",
    "\x0e",
    "\x0f",
    "\t",
    "\x08",
    "\x07",
    "\r",
    "\x1b#8",
    "\x1b[!p",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[20h",
    "\x1b[20l",
    "\x1b[2 q",
    "\x1b[1\"q",
    "\x1b[0\"q",
    "\x1b[?J",
    "\x1b[?K",
    "\x1b[3g",
    "\x1b[>1u",
    "\x1b[<u",
    "\x1b[=5u",
    "\x1b[>4;2m",
    "\x1b]0;title\x07",
    "\x1b]7;file://host/tmp/a%20b\x1b\\",
    "\x1b]8;id=1;http://example.com\x1b\\",
    "\x1b]8;;\x1b\\",
    "\x1b]4;1;#ff0000\x1b\\",
    "\x1b]11;rgb:10/20/30\x07",
    "\x1b]133;A\x07",
    "\x1b[22t",
    "\x1b[23t",
    "\x1b[c",
    "\x1b[6n",
    "\x1b[2;5r",
    "\x1b[r",
    "\x1b[3'}",
    "\x1b[2'~",
    "\x1b[2 @",
    "\x1b[2 A",
    "\x1bc",
    "\x1b[5b",
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn fed(cols: u16, rows: u16, bytes: &[u8]) -> Screen {
    let mut screen = Screen::new(cols, rows, 100_000);
    screen.feed(bytes);
    screen
}

/// What differs, but for saved cursors off the screen: they come back at its edge.
fn differences(a: &Screen, b: &Screen) -> Vec<String> {
    let edge = |screen: &Screen| {
        let mut dump = screen.dump();
        for buffer in [&mut dump.normal, &mut dump.alt] {
            buffer.saved.0 = buffer.saved.0.min(39);
            buffer.saved.1 = buffer.saved.1.clamp(0, 7);
        }
        dump
    };
    edge(a).differences(&edge(b))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn where_input_is_cut_makes_no_difference(bytes in stream(), cuts in proptest::collection::vec(1usize..40, 1..30)) {
        let whole = fed(40, 8, &bytes);
        let mut pieces = Screen::new(40, 8, 100_000);
        let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            pieces.feed(now);
            rest = later;
        }
        prop_assert_eq!(differences(&whole, &pieces), [""; 0]);
        prop_assert_eq!(whole.ground_offset(), pieces.ground_offset());
        prop_assert_eq!(whole.snapshot(), pieces.snapshot());
    }

    #[test]
    fn nothing_panics(pieces in proptest::collection::vec((stream(), 0u16..1200, 0u16..60), 1..5)) {
        let mut screen = Screen::new(1, 1, 10_000);
        for (bytes, cols, rows) in pieces {
            screen.feed(&bytes);
            screen.resize(cols, rows);
            screen.snapshot();
            screen.text();
            screen.ansi();
            screen.cells();
            prop_assert!(screen.history_bytes() <= 10_000);
        }
    }
}

/// Beyond the last column the cursor waits for the next character. That cannot be brought back when the column was
/// blanked since, nor on the screen that is not shown; the design note names both.
fn waits_in_vain(screen: &Screen) -> bool {
    let dump = screen.dump();
    let blank = |buffer: &trl_screen::DumpedBuffer| {
        let row = (buffer.lines.len() + buffer.y).checked_sub(8).and_then(|row| buffer.lines.get(row));
        row.and_then(|line| line.cells.get(39)).is_none_or(|cell| cell.0.is_empty())
    };
    let (shown, hidden) = if dump.alternate { (&dump.alt, &dump.normal) } else { (&dump.normal, &dump.alt) };
    hidden.x >= 40 || (shown.x >= 40 && blank(shown))
}

const SEED: u64 = 20;

/// Streams from which a snapshot must lead to an equal state, now and after more bytes. Characters cut in half and marks
/// on their own are left to the client's judgement in `restore.rs`.
fn plain_piece() -> impl Strategy<Value = Vec<u8>> {
    piece().prop_filter("only what a stream can bring back", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        !text.contains(['漢', '字', '한', '\u{301}', '\u{200d}', '\u{fffd}']) && !text.contains("\x1b[?6")
    })
}

proptest! {
    // Always the same streams: the states that cannot be brought back are rare, and whether one of a new kind comes up must
    // not decide whether a change may land. Another seed here looks further.
    #![proptest_config(ProptestConfig {
        cases: 512, max_shrink_iters: 4000, failure_persistence: None, rng_seed: RngSeed::Fixed(SEED), ..ProptestConfig::default()
    })]

    #[test]
    fn a_snapshot_is_the_state(
        before in proptest::collection::vec(plain_piece(), 0..40),
        after in proptest::collection::vec(plain_piece(), 0..10),
    ) {
        let (before, after) = (before.concat(), after.concat());
        let mut first = fed(40, 8, &before);
        prop_assume!(!waits_in_vain(&first));
        let snapshot = first.snapshot();
        let mut second = Screen::new(40, 8, 100_000);
        let fed = second.feed(&snapshot.bytes);
        prop_assert!(fed.replies.is_empty(), "a snapshot asks nothing");
        prop_assert!(!fed.events.iter().any(|it| it.event == trl_screen::Event::Bell), "nor rings");
        let written = String::from_utf8_lossy(&snapshot.bytes).escape_debug().to_string();
        prop_assert_eq!(differences(&first, &second), [""; 0], "{} from {}", written, String::from_utf8_lossy(&before).escape_debug());
        first.feed(&after);
        second.feed(&before[snapshot.offset as usize..]);
        second.feed(&after);
        prop_assert_eq!(differences(&first, &second), [""; 0], "later");
    }
}
