//! A screen's rows, cursor, scroll region, tab stops and saved cursor; the normal one also has the history.
//!
//! Everything here is geometry: what scrolls where, what moves into the history. What a sequence means is in
//! [`crate::screen`]; what a change of columns does is in [`crate::reflow`].

use std::collections::VecDeque;

use crate::cell::{Cell, Style};
use crate::charset::Charset;
use crate::history::History;
use crate::intern::{Interned, Marks};
use crate::row::Row;

/// Columns between the tab stops a terminal starts with.
const TAB: usize = 8;

/// What DECSC keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Saved {
    pub(crate) x: usize,
    /// Row relative to the screen's first: it moves up with the text when that scrolls into the history.
    pub(crate) y: i64,
    pub(crate) fg: u32,
    pub(crate) bg: u32,
    pub(crate) charset: Option<&'static Charset>,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    /// As many as the screen has rows; none while the alternate screen is not in use.
    pub(crate) rows: VecDeque<Row>,
    pub(crate) history: Option<History>,
    /// May be one beyond the last column: the next character wraps.
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) top: usize,
    pub(crate) bottom: usize,
    /// `None` while nobody changed them.
    tabs: Option<Vec<bool>>,
    pub(crate) saved: Saved,
}

impl Buffer {
    /// The normal screen, which has rows and a history from the start.
    pub(crate) fn normal(rows: usize, history_bytes: usize) -> Self {
        let mut buffer = Self::alternate(rows);
        buffer.history = Some(History::new(history_bytes));
        buffer.fill(rows, Style::default());
        buffer
    }

    pub(crate) fn alternate(rows: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            history: None,
            x: 0,
            y: 0,
            top: 0,
            bottom: rows - 1,
            tabs: None,
            saved: Saved::default(),
        }
    }

    pub(crate) fn fill(&mut self, rows: usize, style: Style) {
        if self.rows.is_empty() {
            self.rows.extend((0..rows).map(|_| Row::blank(style)));
        }
    }

    /// Back to an unused alternate screen; the saved cursor stays.
    pub(crate) fn retire(&mut self, rows: usize) {
        *self = Self { saved: self.saved, ..Self::alternate(rows) };
    }

    pub(crate) fn row(&mut self) -> &mut Row {
        let y = self.y.min(self.rows.len() - 1);
        &mut self.rows[y]
    }

    pub(crate) fn history_len(&self) -> usize {
        self.history.as_ref().map_or(0, History::len)
    }

    /// One line up within the region; at the top of the screen it goes into the history.
    pub(crate) fn scroll(&mut self, style: Style, interned: &Interned) -> &mut Row {
        let (top, bottom) = (self.top, self.bottom.min(self.rows.len() - 1));
        let mut row = if top == 0 {
            let row = self.rows.pop_front().unwrap_or_else(|| Row::blank(style));
            if let Some(history) = &mut self.history {
                history.push(&row, interned);
                self.saved.y -= 1;
            }
            row
        } else {
            self.rows.remove(top).unwrap_or_else(|| Row::blank(style))
        };
        row.reset(style);
        self.rows.insert(bottom, row);
        &mut self.rows[bottom]
    }

    /// `n` lines leave at `from`, as many blank ones come in at `to`.
    pub(crate) fn rotate(&mut self, from: usize, to: usize, n: usize, style: Style) {
        let last = self.rows.len() - 1;
        let (from, to) = (from.min(last), to.min(last));
        for _ in 0..n.min(from.abs_diff(to) + 1) {
            let mut row = self.rows.remove(from).unwrap_or_else(|| Row::blank(style));
            row.reset(style);
            self.rows.insert(to, row);
        }
    }

    pub(crate) fn clear_history(&mut self) {
        if let Some(history) = &mut self.history {
            self.saved.y += history.len() as i64;
            history.clear();
        }
    }

    fn is_tab(&self, at: usize) -> bool {
        match &self.tabs {
            None => at.is_multiple_of(TAB),
            Some(tabs) => tabs.get(at).copied().unwrap_or(false),
        }
    }

    pub(crate) fn next_tab(&self, cols: usize) -> usize {
        (self.x + 1..cols).find(|&at| self.is_tab(at)).unwrap_or(cols - 1)
    }

    pub(crate) fn previous_tab(&self, from: usize, cols: usize) -> usize {
        (0..from).rev().find(|&at| self.is_tab(at)).unwrap_or(0).min(cols - 1)
    }

    fn own_tabs(&mut self, cols: usize) -> &mut Vec<bool> {
        let tabs = self.tabs.get_or_insert_with(|| (0..cols).map(|at| at.is_multiple_of(TAB)).collect());
        if tabs.len() <= cols {
            tabs.resize(cols + 1, false);
        }
        tabs
    }

    pub(crate) fn set_tab(&mut self, cols: usize, stop: Stop) {
        let x = self.x.min(cols);
        self.own_tabs(cols)[x] = stop == Stop::Here;
    }

    pub(crate) fn clear_tabs(&mut self, cols: usize) {
        self.own_tabs(cols).fill(false);
    }

    /// The stops, when they are not those of a fresh terminal.
    pub(crate) fn changed_tabs(&self, cols: usize) -> Option<Vec<usize>> {
        self.tabs.as_ref()?;
        if (0..cols).all(|at| self.is_tab(at) == at.is_multiple_of(TAB)) {
            return None;
        }
        Some((0..cols).filter(|&at| self.is_tab(at)).collect())
    }

    /// New columns continue the usual stops after the last one there is.
    pub(crate) fn extend_tabs(&mut self, cols: usize) {
        if self.tabs.is_none() {
            return;
        }
        let from = if self.is_tab(cols) { cols } else { self.previous_tab(cols, cols) };
        let tabs = self.own_tabs(cols);
        (from..cols).step_by(TAB).for_each(|at| tabs[at] = true);
    }

    pub(crate) fn mark(&self, interned: &mut Interned, marks: &mut Marks) {
        for cell in self.rows.iter().flat_map(|row| row.written()) {
            mark_cell(*cell, marks);
        }
        if let Some(history) = &self.history {
            history.mark(interned, marks);
        }
    }
}

fn mark_cell(cell: Cell, marks: &mut Marks) {
    if cell.is_cluster() {
        marks.cluster(cell.code());
    }
    if cell.ext != 0 {
        marks.ext(cell.ext);
    }
}

/// Whether there is to be a tab stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Here,
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_stops_can_be_moved() {
        let mut buffer = Buffer::normal(2, 0);
        assert_eq!(buffer.next_tab(20), 8);
        buffer.x = 3;
        buffer.set_tab(20, Stop::Here);
        assert_eq!(buffer.previous_tab(8, 20), 3);
        assert_eq!(buffer.changed_tabs(20), Some(vec![0, 3, 8, 16]));
        buffer.set_tab(20, Stop::Gone);
        assert_eq!(buffer.changed_tabs(20), None);
        buffer.clear_tabs(20);
        assert_eq!(buffer.next_tab(20), 19);
        buffer.extend_tabs(30);
        assert_eq!(buffer.changed_tabs(30), None);
    }

    #[test]
    fn only_the_top_of_the_screen_becomes_history() {
        let (mut buffer, interned) = (Buffer::normal(3, 1000), Interned::default());
        buffer.scroll(Style::default(), &interned);
        buffer.top = 1;
        buffer.scroll(Style::default(), &interned);
        assert_eq!((buffer.history_len(), buffer.rows.len(), buffer.saved.y), (1, 3, -1));
    }
}
