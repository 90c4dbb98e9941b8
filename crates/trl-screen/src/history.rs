//! Rows that left the screen at the top, packed and bounded by bytes.
//!
//! A packed line is a small header and then its text in UTF-8, with control bytes, which no cell holds, for the rest: a
//! change of style, cells nothing was written to, clusters, and cells whose width is not what their character has.
//! A line of a log takes about its own length.

use std::collections::VecDeque;

use crate::cell::{Cell, EXTENDED, Style};
use crate::grapheme::width;
use crate::intern::{Interned, Marks};
use crate::row::Row;

const EMPTY: u8 = 0x00;
/// A cell of unusual width: width, character.
const ODD: u8 = 0x01;
/// A cluster: width, length, text.
const CLUSTER: u8 = 0x02;
/// Beside a cluster's width: the second cell of a wide one follows.
const WITH_TAIL: u8 = 0x10;
/// A style: which of its three words follow, and they.
const STYLE: u8 = 0x03;
/// A number of empty cells.
const GAP: u8 = 0x04;

const WRAPPED: u8 = 1;
const PADDED: u8 = 2;
const HAS_EXT: u8 = 4;

/// Flags, cells (two bytes), columns of text (two bytes).
const HEADER: usize = 5;

/// What a line costs beside its bytes: the pointer and the allocator's share.
const OVERHEAD: usize = 32;

/// A row in its packed form.
#[derive(Debug, Clone)]
pub(crate) struct Line(Box<[u8]>);

impl Line {
    pub(crate) fn pack(row: &Row, interned: &Interned, scratch: &mut Vec<u8>) -> Self {
        let cells = row.written();
        scratch.clear();
        let mut flags = if row.wrapped { WRAPPED } else { 0 };
        scratch.push(0);
        scratch.extend((cells.len() as u16).to_le_bytes());
        scratch.extend((row.text_len() as u16).to_le_bytes());
        if row.pad() != Cell::BLANK {
            flags |= PADDED;
            put_style(row.pad().style(), scratch);
        }
        let mut style = Style::default();
        let mut at = 0;
        while at < cells.len() {
            let start = scratch.len();
            scratch
                .extend(cells[at..].iter().map_while(|cell| cell.plain().filter(|_| cell.style() == style)));
            at += scratch.len() - start;
            let Some(cell) = cells.get(at) else { break };
            if cell.style() != style {
                style = cell.style();
                if style.bg & EXTENDED != 0 {
                    flags |= HAS_EXT;
                }
                scratch.push(STYLE);
                put_style(style, scratch);
                continue;
            }
            at += put_cell(&cells[at..], interned, scratch);
        }
        scratch[0] = flags;
        Self(scratch.as_slice().into())
    }

    pub(crate) fn unpack(&self, interned: &mut Interned) -> Row {
        let mut reader = Reader { bytes: &self.0[HEADER..] };
        let pad = if self.0[0] & PADDED == 0 { Cell::BLANK } else { Cell::empty(reader.style()) };
        let mut cells = Vec::with_capacity(self.cells());
        let mut style = Style::default();
        while let Some(byte) = reader.byte() {
            match byte {
                EMPTY => cells.push(Cell::empty(style)),
                GAP => {
                    let n = reader.u16();
                    cells.resize(cells.len() + usize::from(n), Cell::empty(style));
                }
                STYLE => style = reader.style(),
                ODD => {
                    let width = reader.byte().unwrap_or(1);
                    let code = reader.code();
                    cells.push(Cell::new(code, width, style));
                }
                CLUSTER => {
                    let width = reader.byte().unwrap_or(1);
                    let index = interned.cluster(reader.text());
                    cells.push(Cell::new(0, 0, style).with_cluster(index, width & !WITH_TAIL));
                    if width & WITH_TAIL != 0 {
                        cells.push(Cell::new(0, 0, style));
                    }
                }
                0x20..0x7f => cells.push(Cell::new(u32::from(byte), 1, style)),
                _ => {
                    let code = reader.rest_of_code(byte);
                    let width = width(code);
                    cells.push(Cell::new(code, width, style));
                    if width == 2 {
                        cells.push(Cell::new(0, 0, style));
                    }
                }
            }
        }
        let mut row = Row::from_cells(cells, pad);
        row.wrapped = self.is_wrapped();
        row
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        self.0[0] & WRAPPED != 0
    }

    fn has_ext(&self) -> bool {
        self.0[0] & HAS_EXT != 0
    }

    /// Whether the rest of the row has a colour.
    pub(crate) fn is_padded(&self) -> bool {
        self.0[0] & PADDED != 0
    }

    pub(crate) fn cells(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[1], self.0[2]]))
    }

    pub(crate) fn text_len(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[3], self.0[4]]))
    }

    fn cost(&self) -> usize {
        self.0.len() + OVERHEAD
    }
}

fn put_style(style: Style, out: &mut Vec<u8>) {
    let words = [style.fg, style.bg, style.ext];
    let which = (0..3).filter(|&i| words[i] != 0).fold(0, |which, i| which | 1 << i);
    out.push(which);
    words.iter().filter(|word| **word != 0).for_each(|word| out.extend(word.to_le_bytes()));
}

/// Writes the first cell, or more when they belong together; returns how many.
fn put_cell(cells: &[Cell], interned: &Interned, out: &mut Vec<u8>) -> usize {
    let cell = cells[0];
    let wide =
        cell.width() == 2 && cells.get(1).is_some_and(|next| next.is_tail() && next.style() == cell.style());
    if cell.is_cluster() {
        let text = interned.cluster_text(cell.code());
        out.extend([CLUSTER, cell.width() | if wide { WITH_TAIL } else { 0 }]);
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.as_bytes());
        return 1 + usize::from(wide);
    }
    let code = cell.code();
    if code == 0 && cell.width() == 1 {
        return put_gap(cells, out);
    }
    let usual = cell.width() == width(code) && (cell.width() == 1 || wide);
    if !usual {
        out.extend([ODD, cell.width()]);
    }
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend(char.encode_utf8(&mut [0; 4]).as_bytes());
    if usual { usize::from(cell.width()) } else { 1 }
}

fn put_gap(cells: &[Cell], out: &mut Vec<u8>) -> usize {
    let n = cells.iter().take_while(|cell| **cell == cells[0]).count();
    if n < 4 {
        out.push(EMPTY);
        return 1;
    }
    out.push(GAP);
    out.extend((n as u16).to_le_bytes());
    n
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(n.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        self.take(2).try_into().map_or(0, u16::from_le_bytes)
    }

    fn word(&mut self) -> u32 {
        self.take(4).try_into().map_or(0, u32::from_le_bytes)
    }

    fn style(&mut self) -> Style {
        let which = self.byte().unwrap_or(0);
        let mut word = |bit| if which & bit == 0 { 0 } else { self.word() };
        Style { fg: word(1), bg: word(2), ext: word(4) }
    }

    fn text(&mut self) -> &'a str {
        let len = self.u16();
        std::str::from_utf8(self.take(usize::from(len))).unwrap_or_default()
    }

    fn code(&mut self) -> u32 {
        let first = self.byte().unwrap_or(0);
        self.rest_of_code(first)
    }

    fn rest_of_code(&mut self, first: u8) -> u32 {
        let (more, bits) = match first {
            0..0x80 => return u32::from(first),
            0x80..0xe0 => (1, first & 0x1f),
            0xe0..0xf0 => (2, first & 0x0f),
            _ => (3, first & 0x07),
        };
        self.take(more).iter().fold(u32::from(bits), |code, byte| code << 6 | u32::from(byte & 0x3f))
    }
}

/// The lines, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: VecDeque<Line>,
    bytes: usize,
    limit: usize,
    /// Lines forgotten since the beginning.
    dropped: u64,
    scratch: Vec<u8>,
}

impl History {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Line> {
        self.lines.get(at)
    }

    pub(crate) fn push(&mut self, row: &Row, interned: &Interned) {
        let line = Line::pack(row, interned, &mut self.scratch);
        self.push_line(line);
    }

    pub(crate) fn push_line(&mut self, line: Line) {
        self.bytes += line.cost();
        self.lines.push_back(line);
        while self.bytes > self.limit {
            match self.lines.pop_front() {
                Some(gone) => {
                    self.bytes -= gone.cost();
                    self.dropped += 1;
                }
                None => break,
            }
        }
    }

    /// Everything, oldest first; nothing is left. A resize puts back what it made of it.
    pub(crate) fn take(&mut self) -> VecDeque<Line> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn clear(&mut self) {
        self.dropped += self.lines.len() as u64;
        (self.lines, self.bytes) = (VecDeque::new(), 0);
    }

    pub(crate) fn mark(&self, interned: &mut Interned, marks: &mut Marks) {
        for line in self.lines.iter().filter(|line| line.has_ext()) {
            line.unpack(interned).written().iter().for_each(|cell| marks.ext(cell.ext));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_went() {
        let mut interned = Interned::default();
        let bold = Style { fg: crate::cell::BOLD | 0x0300_1234, ..Style::default() };
        let mut row = Row::blank(Style { bg: 0x0100_0004, ..Style::default() });
        row.write_ascii(0, b"plain", Style::default());
        row.write_ascii(20, b"bold", bold);
        let cluster = interned.cluster("e\u{301}");
        row.set(30, Cell::new(0, 1, bold).with_cluster(cluster, 1));
        row.set(31, Cell::new('漢' as u32, 2, bold));
        row.set(32, Cell::new(0, 0, bold));
        row.set(33, Cell::new(0x301, 0, bold));
        row.set(34, Cell::new(0, 0, bold));
        row.set(35, Cell::new('é' as u32, 1, Style::default()));
        row.wrapped = true;
        let line = Line::pack(&row, &interned, &mut Vec::new());
        let back = line.unpack(&mut interned);
        assert_eq!(back.written(), row.written());
        assert_eq!((back.pad(), back.wrapped, line.text_len()), (row.pad(), true, 36));
        assert!(line.0.len() < 100);
    }

    #[test]
    fn history_is_bounded_by_bytes() {
        let (mut history, interned) = (History::new(10_000), Interned::default());
        let mut row = Row::blank(Style::default());
        row.write_ascii(0, &[b'x'; 100], Style::default());
        for _ in 0..1000 {
            history.push(&row, &interned);
        }
        assert!(history.bytes() <= 10_000 && history.len() > 50);
        assert_eq!(history.len() as u64 + history.dropped(), 1000);
    }
}
