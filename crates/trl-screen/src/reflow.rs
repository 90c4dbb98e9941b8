//! A change of size, as the client does it: text that wrapped is laid out anew, except where the cursor is, because the
//! program there draws for itself.
//!
//! 1. Rows come or go at the bottom; when there is nothing below the cursor, history comes back or rows become history.
//! 2. The normal screen and its history are laid out for the new number of columns, in groups of rows that belong to one
//!    line of text ([`widen`], [`narrow`]).
//! 3. What is above the screen's first row is history again.
//!
//! Lines of the history are unpacked only when they change.

use std::collections::VecDeque;

use crate::buffer::Buffer;
use crate::cell::{Cell, Style};
use crate::history::{History, Line};
use crate::intern::Interned;
use crate::row::Row;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) cols: usize,
    pub(crate) rows: usize,
}

/// A line of the whole buffer, packed for as long as nothing changes in it.
enum Slot {
    Packed(Line),
    Open(Row),
}

impl Slot {
    fn blank() -> Self {
        Self::Open(Row::blank(Style::default()))
    }

    fn is_wrapped(&self) -> bool {
        match self {
            Self::Packed(line) => line.is_wrapped(),
            Self::Open(row) => row.wrapped,
        }
    }

    fn text_len(&self) -> usize {
        match self {
            Self::Packed(line) => line.text_len(),
            Self::Open(row) => row.text_len(),
        }
    }

    fn open(&mut self, interned: &mut Interned) -> &mut Row {
        if let Self::Packed(line) = self {
            *self = Self::Open(line.unpack(interned));
        }
        match self {
            Self::Open(row) => row,
            Self::Packed(_) => unreachable!("it was opened above"),
        }
    }

    fn resize(&mut self, from: usize, to: usize, interned: &mut Interned) {
        let same = match self {
            Self::Packed(line) => line.cells() <= to && (to < from || !line.is_padded()),
            Self::Open(_) => false,
        };
        if !same {
            self.open(interned).resize(from, to);
        }
    }
}

/// The lines of a buffer with its history, and where the screen begins among them.
struct Lines {
    slots: Vec<Slot>,
    base: usize,
    y: usize,
    /// Row of the saved cursor, counted like the lines.
    saved: i64,
}

impl Buffer {
    pub(crate) fn resize(&mut self, from: Size, to: Size, interned: &mut Interned) {
        if !self.rows.is_empty() {
            let mut lines = self.take_lines();
            if from.cols < to.cols {
                lines.slots.iter_mut().for_each(|slot| slot.resize(from.cols, to.cols, interned));
            }
            lines.change_rows(from.rows, to.rows);
            self.x = self.x.min(to.cols - 1);
            self.saved.x = self.saved.x.min(to.cols - 1);
            if self.history.is_some() && from.cols != to.cols {
                if from.cols < to.cols {
                    widen(&mut lines, from, to, interned);
                } else {
                    narrow(&mut lines, from, to, interned);
                }
            }
            if from.cols > to.cols {
                lines.slots.iter_mut().for_each(|slot| slot.resize(from.cols, to.cols, interned));
            }
            self.put_lines(lines, to.rows, interned);
        }
        self.top = 0;
        self.bottom = to.rows - 1;
        self.extend_tabs(to.cols);
    }

    fn take_lines(&mut self) -> Lines {
        let history = self.history.as_mut().map(History::take).unwrap_or_default();
        let base = history.len();
        let slots = history.into_iter().map(Slot::Packed);
        let slots = slots.chain(self.rows.drain(..).map(Slot::Open)).collect();
        Lines { slots, base, y: self.y, saved: self.saved.y + base as i64 }
    }

    fn put_lines(&mut self, mut lines: Lines, rows: usize, interned: &mut Interned) {
        lines.base = lines.base.min(lines.slots.len().saturating_sub(1));
        let mut screen = lines.slots.split_off(lines.base);
        if let Some(history) = &mut self.history {
            for slot in lines.slots {
                match slot {
                    Slot::Packed(line) => history.push_line(line),
                    Slot::Open(row) => history.push(&row, interned),
                }
            }
        }
        screen.truncate(rows);
        screen.resize_with(rows, Slot::blank);
        self.rows = VecDeque::with_capacity(rows);
        for mut slot in screen {
            let row = slot.open(interned);
            self.rows.push_back(std::mem::replace(row, Row::blank(Style::default())));
        }
        self.y = lines.y.min(rows - 1);
        self.saved.y = lines.saved - lines.base as i64;
        if self.history.is_none() {
            self.saved.y = self.saved.y.max(0);
        }
    }
}

impl Lines {
    fn change_rows(&mut self, from: usize, to: usize) {
        let mut added = 0;
        for _ in from..to {
            if self.base > 0 && self.slots.len() <= self.base + self.y + added + 1 {
                self.base -= 1;
                added += 1;
            } else {
                self.slots.push(Slot::blank());
            }
        }
        for _ in to..from {
            if self.slots.len() > self.base + self.y + 1 {
                self.slots.pop();
            } else {
                self.base += 1;
            }
        }
        self.y = self.y.min(to - 1) + added;
    }

    fn cursor(&self) -> usize {
        self.base + self.y
    }

    /// The cells of a group of rows in one piece, as many of each row as belong to the text.
    fn join(&mut self, start: usize, count: usize, cols: usize, interned: &mut Interned) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(count * cols);
        for at in start..start + count {
            self.slots[at].open(interned);
        }
        for i in 0..count {
            let len = self.part_len(start, count, i, cols);
            if let Slot::Open(row) = &self.slots[start + i] {
                cells.extend((0..len).map(|at| row.get(at)));
            }
        }
        cells
    }

    /// How many cells of the group's row `i` are text: all of them but in the last row. One less when a wide character had
    /// no room at the end.
    fn part_len(&self, start: usize, count: usize, i: usize, cols: usize) -> usize {
        let (Slot::Open(row), next) = (&self.slots[start + i], self.slots.get(start + i + 1)) else {
            return 0;
        };
        if i + 1 == count {
            return row.text_len();
        }
        let last = row.get(cols - 1);
        let next_is_wide = matches!(next, Some(Slot::Open(next)) if next.get(0).width() == 2);
        if !last.has_content() && last.width() == 1 && next_is_wide { cols - 1 } else { cols }
    }
}

/// More columns: rows that wrapped are joined, and what becomes empty goes.
fn widen(lines: &mut Lines, from: Size, to: Size, interned: &mut Interned) {
    let mut removed = Vec::new();
    let mut start = 0;
    while start + 1 < lines.slots.len() {
        let wrapped = lines.slots[start + 1..].iter().take_while(|slot| slot.is_wrapped()).count();
        let count = wrapped + 1;
        if wrapped > 0 && !(start..start + count).contains(&lines.cursor()) {
            let kept = widen_group(lines, start, count, (from.cols, to.cols), interned);
            removed.extend(start + kept..start + count);
        }
        start += count;
    }
    let mut next = removed.iter().copied().peekable();
    let mut at = 0;
    lines.slots.retain(|_| {
        let gone = next.next_if_eq(&at).is_some();
        at += 1;
        !gone
    });
    for _ in 0..removed.len() {
        if lines.base == 0 {
            lines.y = lines.y.saturating_sub(1);
            if lines.slots.len() < to.rows {
                lines.slots.push(Slot::blank());
            }
        } else {
            lines.base -= 1;
        }
    }
    if !removed.is_empty() {
        lines.saved = (lines.saved - removed.len() as i64).max(0);
    }
}

/// Lays a group out for more columns; returns how many of its rows are still needed.
fn widen_group(
    lines: &mut Lines,
    start: usize,
    count: usize,
    (from, to): (usize, usize),
    interned: &mut Interned,
) -> usize {
    let cells = lines.join(start, count, from, interned);
    let mut rows: Vec<Vec<Cell>> = vec![Vec::new()];
    for cell in cells {
        let full = rows.last().is_some_and(|row| row.len() == to);
        if full {
            let mut next = Vec::new();
            if let Some(last) = rows.last_mut().and_then(|row| row.last_mut())
                && last.width() == 2
            {
                next.push(std::mem::replace(last, Cell::BLANK));
            }
            rows.push(next);
        }
        if let Some(row) = rows.last_mut() {
            row.push(cell);
        }
    }
    while rows.len() > 1 && rows.last().is_some_and(|row| !row.iter().any(|cell| cell.has_content())) {
        rows.pop();
    }
    let kept = rows.len().min(count);
    for (slot, cells) in lines.slots[start..].iter_mut().zip(rows).take(kept) {
        let wrapped = slot.is_wrapped();
        let mut row = Row::from_cells(cells, Cell::BLANK);
        row.wrapped = wrapped;
        *slot = Slot::Open(row);
    }
    kept
}

/// Fewer columns: what no longer fits wraps. From the last line to the first, as the screen is anchored at its bottom.
fn narrow(lines: &mut Lines, from: Size, to: Size, interned: &mut Interned) {
    let mut inserts: Vec<(usize, Vec<Row>)> = Vec::new();
    let mut inserted = 0;
    let mut at = lines.slots.len();
    while at > 0 {
        at -= 1;
        let Some(slot) = lines.slots.get(at) else { continue };
        if !slot.is_wrapped() && slot.text_len() <= to.cols {
            continue;
        }
        let end = at + 1;
        while at > 0 && lines.slots[at].is_wrapped() {
            at -= 1;
        }
        let count = end - at;
        if (at..end).contains(&lines.cursor()) {
            continue;
        }
        let new = narrow_group(lines, at, count, (from.cols, to.cols), interned);
        let added = new.len();
        if added > 0 {
            inserts.push((end + inserted, new));
            inserted += added;
        }
        for _ in 0..added {
            if lines.base > 0 {
                if lines.base + to.rows < lines.slots.len() + inserted {
                    lines.base += 1;
                }
            } else if lines.y < to.rows - 1 {
                lines.y += 1;
                lines.slots.pop();
            } else {
                lines.base += 1;
            }
        }
        lines.saved = (lines.saved + added as i64).min((lines.base + to.rows) as i64 - 1);
    }
    insert_all(lines, inserts, inserted);
}

/// Lays a group out for fewer columns in the rows it has; returns the rows it needs beyond them.
fn narrow_group(
    lines: &mut Lines,
    start: usize,
    count: usize,
    (from, to): (usize, usize),
    interned: &mut Interned,
) -> Vec<Row> {
    let cells = lines.join(start, count, from, interned);
    let mut new = Vec::new();
    let mut rest = cells.as_slice();
    let mut i = 0;
    while !rest.is_empty() {
        let len = match rest.get(to - 1) {
            Some(last) if last.width() == 2 => to - 1,
            Some(_) => to,
            None => rest.len(),
        };
        let (part, more) = rest.split_at(len.max(1));
        rest = more;
        if i < count {
            let row = lines.slots[start + i].open(interned);
            part.iter().enumerate().for_each(|(at, cell)| row.set(at, *cell));
            if part.len() < to {
                row.set(part.len(), Cell::BLANK);
            }
        } else {
            let mut row = Row::from_cells(part.to_vec(), Cell::BLANK);
            row.wrapped = true;
            new.push(row);
        }
        i += 1;
    }
    new
}

/// All insertions at once, from the last to the first; positions count what was inserted before them.
fn insert_all(lines: &mut Lines, inserts: Vec<(usize, Vec<Row>)>, inserted: usize) {
    let mut old = std::mem::take(&mut lines.slots);
    let total = old.len() + inserted;
    let mut new: Vec<Slot> = Vec::with_capacity(total);
    let mut inserts = inserts.into_iter().peekable();
    let mut done = 0;
    while new.len() < total {
        if let Some((_, rows)) = inserts.next_if(|(start, _)| start + 1 > old.len() + done) {
            done += rows.len();
            new.extend(rows.into_iter().rev().map(Slot::Open));
        } else {
            new.push(old.pop().unwrap_or_else(Slot::blank));
        }
    }
    new.reverse();
    lines.slots = new;
}
