//! Output that shows where it belongs: 64-byte lines that begin with their number.
//!
//! The producer runs inside the measured shells; the checker walks along what arrives and finds the first byte
//! that is missing, doubled or changed.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use anyhow::{Context, Result, ensure};

const LINE: usize = 64;
const DIGITS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Valid UTF-8: travels as a JSON string.
    Text,
    /// Not UTF-8: travels as base64.
    Binary,
    /// What `/dev/zero` gives.
    Zero,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Zero => "zeros",
        }
    }

    /// The shell command that writes `bytes` of it.
    pub(crate) fn command(self, bytes: u64) -> Result<String> {
        let me = std::env::current_exe()?;
        Ok(match self {
            Self::Zero => format!("head -c {bytes} /dev/zero"),
            kind => format!("'{}' --produce {} {bytes}", me.display(), kind.name()),
        })
    }
}

/// A place in the pattern; moves on as bytes are taken or compared.
pub(crate) struct Pattern {
    line: [u8; LINE],
    at: usize,
    numbered: bool,
    offset: u64,
}

impl Pattern {
    pub(crate) fn at(kind: Kind, offset: u64) -> Self {
        let body = |i: usize| match kind {
            Kind::Text => b'a' + (i % 26) as u8,
            Kind::Binary => 0x80 + i as u8,
            Kind::Zero => 0,
        };
        let mut line = [0u8; LINE];
        for (i, byte) in line.iter_mut().enumerate() {
            *byte = body(i);
        }
        let numbered = kind != Kind::Zero;
        if numbered {
            let number = format!("{:0DIGITS$}", offset / LINE as u64);
            line[..DIGITS].copy_from_slice(number.as_bytes());
            line[LINE - 1] = b'\n';
        }
        Self { line, at: (offset % LINE as u64) as usize, numbered, offset }
    }

    /// The next bytes, at most `max` and at least one.
    fn piece(&mut self, max: usize) -> &[u8] {
        if self.at == LINE {
            self.at = 0;
            self.next_line();
        }
        let from = self.at;
        self.at = LINE.min(from + max);
        self.offset += (self.at - from) as u64;
        &self.line[from..self.at]
    }

    fn next_line(&mut self) {
        if !self.numbered {
            return;
        }
        for digit in self.line[..DIGITS].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
    }

    pub(crate) fn expect(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let offset = self.offset;
            let piece = self.piece(bytes.len());
            let (head, rest) = bytes.split_at(piece.len());
            ensure!(head == piece, "the output is wrong near byte {offset}");
            bytes = rest;
        }
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        let mut filled = 0;
        while filled < buffer.len() {
            let piece = self.piece(buffer.len() - filled);
            buffer[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        }
    }
}

/// `--produce KIND BYTES`: the pattern on stdout.
pub(crate) fn produce(words: &[String]) -> Result<()> {
    let [kind, bytes] = words else { anyhow::bail!("--produce text|binary BYTES") };
    let kind = if kind == "text" { Kind::Text } else { Kind::Binary };
    let mut left: u64 = bytes.parse().context("BYTES")?;
    // The file and not `Stdout`: that one would look for line ends in every block.
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut pattern = Pattern::at(kind, 0);
    let mut buffer = vec![0u8; 64 << 10];
    while left > 0 {
        let part = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        pattern.fill(&mut buffer[..part]);
        out.write_all(&buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_is_what_is_expected_from_anywhere() {
        for kind in [Kind::Text, Kind::Binary, Kind::Zero] {
            let mut bytes = vec![0u8; 10_000];
            Pattern::at(kind, 0).fill(&mut bytes);
            for from in [0, 1, 63, 64, 65, 640, 6399] {
                let mut pattern = Pattern::at(kind, from as u64);
                for chunk in bytes[from..].chunks(77) {
                    pattern.expect(chunk).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_lost_byte_and_a_lost_line_are_found() {
        let mut bytes = vec![0u8; 1000];
        Pattern::at(Kind::Text, 0).fill(&mut bytes);
        assert!(Pattern::at(Kind::Text, 0).expect(&bytes[1..]).is_err());
        assert!(Pattern::at(Kind::Text, 0).expect(&bytes[LINE..]).is_err());
    }
}
