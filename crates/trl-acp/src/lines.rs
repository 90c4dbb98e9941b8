//! Bytes to lines.

/// Collects what comes until a line is whole.
#[derive(Debug)]
pub struct Lines {
    held: Vec<u8>,
    most: usize,
    /// The rest of a line that was too long.
    skipping: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// It had more bytes than it may have; they are gone.
    TooLong,
}

impl Lines {
    /// No line has more than `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { held: Vec::new(), most, skipping: false }
    }

    /// Every line that ends in `bytes`; empty ones are none.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|b| *b == b'\n') {
            let (line, after) = rest.split_at(at);
            self.hold(line, &mut found);
            rest = after.get(1..).unwrap_or_default();
            self.end(&mut found);
        }
        self.hold(rest, &mut found);
        found
    }

    /// Bytes of a line that has not ended.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn hold(&mut self, bytes: &[u8], found: &mut Vec<Line>) {
        if self.skipping {
            return;
        }
        if self.held.len() + bytes.len() > self.most {
            self.held = Vec::new();
            self.skipping = true;
            found.push(Line::TooLong);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, found: &mut Vec<Line>) {
        let mut line = std::mem::take(&mut self.held);
        let skipped = std::mem::take(&mut self.skipping);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !skipped && !line.iter().all(u8::is_ascii_whitespace) {
            found.push(Line::Whole(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(most: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(most);
        pieces.iter().flat_map(|piece| lines.push(piece)).collect()
    }

    #[test]
    fn a_long_line_costs_only_itself() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(all(4, &[b"abcd\nabcde\nef\r\n\n \ngh"]), [whole("abcd"), Line::TooLong, whole("ef")]);
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_does_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(b'{')], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..10),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|at| &bytes[at[0]..at[1]]).collect();
            prop_assert_eq!(all(7, &pieces), all(7, &[&bytes]));
        }
    }
}
