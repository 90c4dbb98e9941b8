//! Lines from an agent that speaks the Agent Client Protocol, at every point of a conversation.

use trl_acp::{Dialogue, Heard, Line, Lines, Opening, Pieces, Reply};

fn lines(bytes: &[u8], piece: usize) -> Vec<Line> {
    let mut lines = Lines::new(1024);
    bytes.chunks(piece.max(1)).flat_map(|piece| lines.push(piece)).collect()
}

/// Checks the property for one input.
pub fn check(bytes: &[u8]) {
    let piece = usize::from(*bytes.first().unwrap_or(&1));
    let found = lines(bytes, piece);
    // Where a read ends says nothing about where a line does.
    assert_eq!(found, lines(bytes, usize::MAX));
    let (mut dialogue, mut pieces) = (Dialogue::default(), Pieces::default());
    dialogue.begin("0");
    for line in found {
        let Line::Whole(line) = line else { continue };
        match dialogue.hear(&line) {
            Err(_) => break,
            Ok(Heard::Initialized(_)) => {
                let known = Some("a".to_string());
                assert!(dialogue.open(Opening { known, ..Opening::default() }).ends_with(b"\n"));
            }
            Ok(Heard::Opened { .. } | Heard::Ended(_) | Heard::Failed(_)) => {
                assert!(dialogue.prompt("x").is_some_and(|line| line.ends_with(b"\n")));
            }
            Ok(Heard::Call { id, .. }) => {
                // An answer is one line, whatever the question was called.
                let answer = dialogue.answer(&id, Reply::Done);
                assert_eq!(answer.iter().filter(|byte| **byte == b'\n').count(), 1);
            }
            Ok(Heard::Update(update)) => drop(pieces.push(update)),
            Ok(Heard::Write(line)) => assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1),
            Ok(Heard::Nothing) => {}
        }
    }
}
