//! Known values in bytes that come in pieces.
//!
//! What could be the beginning of a value is held back until more has come, or the end. Patterns are not looked for here: some
//! of them have no end.

use super::{Redactor, merged};

#[derive(Debug)]
pub struct RedactStream<'a> {
    redactor: &'a Redactor,
    held: Vec<u8>,
}

impl<'a> RedactStream<'a> {
    pub fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// What can be passed on.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let keep = self.redactor.longest.saturating_sub(1);
        self.pass(self.held.len().saturating_sub(keep))
    }

    /// The rest.
    pub fn finish(mut self) -> Vec<u8> {
        self.pass(self.held.len())
    }

    /// Everything before `upto`, but no value in part.
    fn pass(&mut self, upto: usize) -> Vec<u8> {
        let found = merged(self.redactor.values_in(&self.held));
        let upto = found.iter().find(|range| range.contains(&upto)).map_or(upto, |range| range.start);
        let mut out = Vec::with_capacity(upto);
        let mut at = 0;
        for range in found.into_iter().take_while(|range| range.end <= upto) {
            out.extend_from_slice(self.held.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(self.redactor.mark.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(self.held.get(at..upto).unwrap_or_default());
        self.held.drain(..upto);
        out
    }
}
