//! One row of the screen.
//!
//! Cells are there only as far as something was written; the rest of the row is one cell, repeated. A blank row costs no
//! allocation, which is what most rows of an idle terminal are.

use crate::cell::{Cell, Style};

#[derive(Debug, Clone)]
pub(crate) struct Row {
    cells: Vec<Cell>,
    /// Stands for every cell after the last one; never has content.
    pad: Cell,
    /// Continues the row above: the text was too long for it.
    pub(crate) wrapped: bool,
}

impl Row {
    pub(crate) fn blank(style: Style) -> Self {
        Self { cells: Vec::new(), pad: Cell::empty(style), wrapped: false }
    }

    pub(crate) fn from_cells(cells: Vec<Cell>, pad: Cell) -> Self {
        Self { cells, pad, wrapped: false }
    }

    /// Forgets everything but the memory.
    pub(crate) fn reset(&mut self, style: Style) {
        self.cells.clear();
        self.pad = Cell::empty(style);
        self.wrapped = false;
    }

    pub(crate) fn pad(&self) -> Cell {
        self.pad
    }

    /// The cells that are there, without those the pad stands for anyway.
    pub(crate) fn written(&self) -> &[Cell] {
        let end = self.cells.iter().rposition(|cell| *cell != self.pad).map_or(0, |last| last + 1);
        &self.cells[..end]
    }

    pub(crate) fn get(&self, at: usize) -> Cell {
        self.cells.get(at).copied().unwrap_or(self.pad)
    }

    pub(crate) fn set(&mut self, at: usize, cell: Cell) {
        self.reach(at + 1);
        self.cells[at] = cell;
    }

    /// A run of narrow ASCII.
    pub(crate) fn write_ascii(&mut self, at: usize, text: &[u8], style: Style) {
        let end = at + text.len();
        if self.cells.len() <= at {
            self.reach(at);
            self.cells.extend(text.iter().map(|&byte| Cell::new(u32::from(byte), 1, style)));
            return;
        }
        self.reach(end);
        for (cell, &byte) in self.cells[at..end].iter_mut().zip(text) {
            *cell = Cell::new(u32::from(byte), 1, style);
        }
    }

    /// Makes the first `len` cells real.
    fn reach(&mut self, len: usize) {
        if self.cells.len() < len {
            self.cells.resize(len, self.pad);
        }
    }

    pub(crate) fn set_all(&mut self, cols: usize, cell: Cell) {
        self.cells.clear();
        self.cells.resize(cols, cell);
    }

    /// Shifts what is right of `at` by `n`; a wide character cut in half by it goes.
    pub(crate) fn insert(&mut self, at: usize, n: usize, fill: Cell, cols: usize) {
        let at = at % cols;
        self.reach(cols);
        if at > 0 && self.cells[at - 1].width() == 2 {
            self.cells[at - 1] = Cell::empty(fill.style());
        }
        let n = n.min(cols - at);
        self.cells.copy_within(at..cols - n, at + n);
        self.cells[at..at + n].fill(fill);
        if self.cells[cols - 1].width() == 2 {
            self.cells[cols - 1] = Cell::empty(fill.style());
        }
    }

    pub(crate) fn delete(&mut self, at: usize, n: usize, fill: Cell, cols: usize) {
        let at = at % cols;
        self.reach(cols);
        let n = n.min(cols - at);
        self.cells.copy_within(at + n..cols, at);
        self.cells[cols - n..].fill(fill);
        if at > 0 && self.cells[at - 1].width() == 2 {
            self.cells[at - 1] = Cell::empty(fill.style());
        }
        if self.cells[at].is_tail() {
            self.cells[at] = Cell::empty(fill.style());
        }
    }

    /// Erases from `start` up to `end`.
    pub(crate) fn erase(&mut self, start: usize, end: usize, fill: Cell, cols: usize) {
        let end = end.min(cols);
        if start > 0 && self.get(start - 1).width() == 2 {
            self.set(start - 1, Cell::empty(fill.style()));
        }
        if end > 0 && end < cols && self.get(end - 1).width() == 2 {
            self.set(end, Cell::empty(fill.style()));
        }
        if start >= end {
            return;
        }
        if end == cols {
            self.reach(start);
            self.cells.truncate(start);
            self.pad = fill;
        } else {
            self.reach(end);
            self.cells[start..end].fill(fill);
        }
    }

    /// As [`Row::erase`], but protected cells stay.
    pub(crate) fn erase_unprotected(&mut self, start: usize, end: usize, fill: Cell, cols: usize) {
        let end = end.min(cols);
        if start > 0 && self.get(start - 1).width() == 2 && !self.get(start - 1).is_protected() {
            self.set(start - 1, Cell::empty(fill.style()));
        }
        if end > 0 && end < cols && self.get(end - 1).width() == 2 && !self.get(end).is_protected() {
            self.set(end, Cell::empty(fill.style()));
        }
        for at in start..end {
            if !self.get(at).is_protected() {
                self.set(at, fill);
            }
        }
    }

    /// Columns up to the last character.
    pub(crate) fn text_len(&self) -> usize {
        let last = self.cells.iter().rposition(|cell| cell.has_content());
        last.map_or(0, |last| last + usize::from(self.cells[last].width()))
    }

    /// Another number of columns: new ones are blank.
    pub(crate) fn resize(&mut self, from: usize, to: usize) {
        if to > from && self.pad != Cell::BLANK {
            self.reach(from);
            self.pad = Cell::BLANK;
        }
        self.cells.truncate(to);
    }

    /// All cells, written or not.
    pub(crate) fn cells(&self, cols: usize) -> impl Iterator<Item = Cell> + '_ {
        (0..cols).map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        let mut row = Row::blank(Style::default());
        row.write_ascii(0, text.as_bytes(), Style::default());
        row
    }

    fn text(row: &Row, cols: usize) -> String {
        let shown = |cell: Cell| char::from_u32(cell.code()).filter(|c| *c != '\0').unwrap_or('.');
        row.cells(cols).map(shown).collect()
    }

    #[test]
    fn cells_move_left_and_right() {
        let mut a = row("abcdef");
        a.insert(2, 2, Cell::BLANK, 8);
        assert_eq!(text(&a, 8), "ab..cdef");
        a.delete(0, 3, Cell::BLANK, 8);
        assert_eq!(text(&a, 8), ".cdef...");
        a.erase(2, 99, Cell::BLANK, 8);
        assert_eq!((text(&a, 8), a.text_len()), (".c......".into(), 2));
    }

    #[test]
    fn half_a_wide_character_is_none() {
        let mut a = row("a");
        a.set(1, Cell::new('漢' as u32, 2, Style::default()));
        a.set(2, Cell::new(0, 0, Style::default()));
        let mut b = a.clone();
        b.erase(2, 3, Cell::BLANK, 8);
        assert_eq!(text(&b, 4), "a...");
        a.delete(2, 1, Cell::BLANK, 8);
        assert_eq!(text(&a, 4), "a...");
    }

    #[test]
    fn a_coloured_rest_ends_where_the_row_ended() {
        let red = Style { bg: 0x0100_0001, ..Style::default() };
        let mut a = Row::blank(red);
        a.resize(4, 6);
        assert_eq!((a.get(3).bg, a.get(4).bg), (red.bg, 0));
    }
}
