//! Output of a terminal program: no panic, the same screen however the bytes are cut, and a snapshot that restores it.

use trl_screen::Screen;

/// Checks the property for one input.
pub fn check(bytes: &[u8]) {
    let (cols, rows) =
        (u16::from(*bytes.first().unwrap_or(&80)), u16::from(*bytes.last().unwrap_or(&24)) % 50);
    let mut whole = Screen::new(cols, rows, 8192);
    whole.feed(bytes);
    let mut pieces = Screen::new(cols, rows, 8192);
    for piece in bytes.chunks(usize::from(cols).max(1)) {
        pieces.feed(piece);
    }
    assert_eq!(whole.snapshot(), pieces.snapshot());
    let (cols, rows) = whole.size();
    let mut restored = Screen::new(cols, rows, 8192);
    let fed = restored.feed(&whole.snapshot().bytes);
    assert!(fed.replies.is_empty(), "a snapshot asks nothing");
    whole.resize(rows, cols);
    whole.feed(bytes);
    assert!(whole.history_bytes() <= 8192);
    let _ = (whole.snapshot(), whole.text(), whole.ansi(), whole.cells());
}
