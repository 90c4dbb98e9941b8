//! Bytes on the control channel of a shell, where any process of the session can write.

use trl_core::shell::report::{Splitter, parse};

/// Checks the property for one input.
pub fn check(bytes: &[u8]) {
    let _ = parse(bytes);
    let whole = Splitter::default().push(bytes);
    // Where a read ends says nothing about where a message does. (Far below the length at which noise is dropped.)
    let mut splitter = Splitter::default();
    let mut pieces = Vec::new();
    for piece in bytes.chunks(usize::from(*bytes.first().unwrap_or(&1)).max(1)) {
        pieces.extend(splitter.push(piece));
    }
    assert_eq!(pieces, whole);
    // After whatever came, the next message is understood.
    splitter.push(b"\0");
    assert_eq!(splitter.push(b"P p 4aB6c8D\0").len(), 1);
}
