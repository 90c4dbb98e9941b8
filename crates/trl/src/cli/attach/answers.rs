//! What our own terminal says without being typed at. Pure.

/// What was typed, without what our terminal itself answered to questions it saw.
pub(in crate::cli) fn without_answers(bytes: &[u8]) -> Vec<u8> {
    let mut typed = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match answer(rest) {
            Some(len) => rest = &rest[len..],
            None => {
                typed.push(*first);
                rest = &rest[1..];
            }
        }
    }
    typed
}

/// How long the answer is that stands at the beginning.
fn answer(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b'[', sequence @ ..] => {
            let end = sequence.iter().position(|b| (0x40..=0x7e).contains(b))?;
            let (params, last) = (&sequence[..end], sequence[end]);
            let marked = matches!(params.first(), Some(b'?' | b'>' | b'='));
            let is_answer = match last {
                b'c' | b'u' | b'y' => marked,
                b'n' | b't' => !params.is_empty(),
                // F3 with Shift, Ctrl or Alt looks like a cursor in the first row
                b'R' => params.contains(&b';') && !params.starts_with(b"1;"),
                _ => false,
            };
            is_answer.then_some(2 + end + 1)
        }
        // of colours, the clipboard, the version: up to BEL or ST
        [0x1b, b']' | b'P', text @ ..] => {
            let bell = text.iter().position(|b| *b == 0x07).map(|at| at + 1);
            let st = text.windows(2).position(|w| w == b"\x1b\\").map(|at| at + 2);
            Some(2 + [bell, st].into_iter().flatten().min()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_our_own_terminal_are_not_typed() {
        let typed = b"a\x1b[A\x1b[1;5R\x1bOP\x1b[200~paste\x1b[201~";
        assert_eq!(without_answers(typed), typed);
        for answer in [
            &b"\x1b[?62;22c"[..],
            b"\x1b[>0;276;0c",
            b"\x1b[24;80R",
            b"\x1b[?2026;2$y",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1bP>|term 1\x1b\\",
            b"\x1b[?0u",
        ] {
            let around = [b"x", answer, b"y"].concat();
            assert_eq!(without_answers(&around), b"xy", "{answer:?}");
        }
    }
}
