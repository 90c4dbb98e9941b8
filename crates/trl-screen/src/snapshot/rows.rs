//! The rows: history and screen, drawn so that every cell, written or not, comes out as it is.

use super::*;

/// A wide character that shows nothing: overwriting half of it leaves an empty cell with the pen's style.
const WIDE_SPACE: &str = "\u{3000}";

impl Writer<'_> {
    pub(super) fn normal_screen(&mut self, most: usize) {
        let buffer = &self.terminal.normal;
        let skipped = buffer.history_len().saturating_sub(most);
        let saved_at = self.saved_in_history(buffer, skipped);
        let mut above = None;
        for at in skipped..buffer.history_len() {
            let line = buffer.history.as_ref().and_then(|history| history.get(at));
            if let Some(row) = line.map(|line| self.unpack(line)) {
                self.next_row(&row, above.as_ref());
                above = Some(row);
            }
            if saved_at == Some(at) {
                // Restoring it goes to the top of the screen, until the history is cleared and the row counts again.
                self.set_style(Style::default());
                self.csi(buffer.saved.x.min(self.cols() - 1) + 1, 'G');
                self.save(buffer);
                self.x = buffer.saved.x.min(self.cols() - 1);
            }
        }
        self.unpacked = None;
        let mut above = above.as_ref();
        for row in &buffer.rows {
            self.next_row(row, above);
            above = Some(row);
        }
        self.set_style(Style::default());
        self.geometry(buffer, &self.terminal.kitty[0]);
    }

    /// The line of the history in which the saved cursor is, if it was saved at all.
    pub(super) fn saved_in_history(&self, buffer: &Buffer, skipped: usize) -> Option<usize> {
        let line = buffer.saved.y + buffer.history_len() as i64;
        let never = Saved { y: -(buffer.history_len() as i64), ..Saved::default() };
        (buffer.saved.y < 0 && buffer.saved != never).then_some(line.max(skipped as i64) as usize)
    }

    /// A row of the history, to be written next.
    pub(crate) fn unpack(&mut self, line: &Line) -> Row {
        let mut clusters = Interned::default();
        let row = line.unpack(&mut clusters);
        self.unpacked = Some(clusters);
        row
    }

    pub(super) fn put_cell(&mut self, cell: Cell) {
        if cell.is_ascii() {
            self.out.push(cell.code() as u8);
        } else {
            let mut room = [0; 4];
            let text = text_of(self.terminal, self.unpacked.as_ref(), cell, &mut room);
            self.out.extend(text.as_bytes());
        }
    }

    pub(super) fn alternate_screen(&mut self) {
        let buffer = &self.terminal.alt;
        self.set_style(Style::default());
        self.text("\x1b[?47h");
        self.place(0, 0);
        let mut above: Option<&Row> = None;
        for row in &buffer.rows {
            self.next_row(row, above);
            above = Some(row);
        }
        self.set_style(Style::default());
        self.geometry(buffer, &self.terminal.kitty[1]);
    }

    /// Goes to the next row, if there is one above, and draws it.
    pub(super) fn next_row(&mut self, row: &Row, above: Option<&Row>) {
        let mut dirty = BTreeSet::new();
        match above {
            Some(above) if row.wrapped => self.wrap(above, row, &mut dirty),
            Some(_) => {
                self.plain_background();
                self.text("\r\n");
                self.x = 0;
            }
            None if row.wrapped && self.terminal.size.rows > 1 => {
                // It continues a row that is no more: wrap into it, and let the one above scroll away.
                self.csi(self.cols(), 'G');
                self.text("  \x1b[S");
                self.place(0, 0);
                dirty.insert(0);
            }
            None => {}
        }
        self.draw(row, dirty);
    }

    /// Goes to the next row by writing beyond the last column, which alone marks the row as a continuation.
    pub(super) fn wrap(&mut self, above: &Row, row: &Row, dirty: &mut BTreeSet<usize>) {
        let cols = self.cols();
        let continues = row.get(0).has_content() && row.get(0).width() == 1;
        if self.x == cols
            && continues
            && row.get(0).style().bg & (COLOR | EXTENDED) == 0
            && odd_columns(row, cols).is_empty()
        {
            // The first character does it itself.
            self.x = 0;
            return;
        }
        let last = above.get(cols - 1);
        let empty = !last.has_content() && !last.is_tail();
        if self.x < cols {
            let at = if last.is_tail() { cols - 2 } else { cols - 1 };
            self.csi(at + 1, 'G');
            self.x = at;
            if !empty {
                self.draw_text(above.get(at), at);
            }
        }
        dirty.insert(0);
        if empty && !last.style().is_background_only() {
            // A wide character that has no room leaves such a cell behind.
            self.set_style(last.style());
            self.text(WIDE_SPACE);
            self.set_style(Style::default());
            self.text("\x1b[K\r");
            self.x = 0;
            dirty.insert(1);
            return;
        }
        if empty {
            self.text(" ");
        }
        self.plain_background();
        self.text(" \r");
        self.x = 0;
        if empty && self.terminal.size.rows > 1 {
            self.text("\x1b[A");
            self.csi(cols, 'G');
            self.set_style(last.style());
            self.text("\x1b[X\x1b[B\r");
        }
    }

    /// Draws a row whose cells are blank but for the `dirty` ones.
    pub(super) fn draw(&mut self, row: &Row, mut dirty: BTreeSet<usize>) {
        let cols = self.cols();
        let odd = odd_columns(row, cols);
        if !odd.is_empty() {
            self.draw_odd(row, &odd, &mut dirty);
        }
        let end = row.written().len();
        let mut at = 0;
        while at < end {
            let cell = row.get(at);
            if cell.has_content() {
                self.draw_text(cell, at);
                at += usize::from(cell.width().max(1));
                continue;
            }
            let n =
                (at..end).take_while(|&next| row.get(next) == cell && !row.get(next).has_content()).count();
            self.draw_empty(cell, at..at + n, &dirty);
            at += n;
        }
        self.draw_empty(row.pad(), end.max(at)..cols, &dirty);
    }

    pub(super) fn move_to(&mut self, at: usize) {
        if at > self.x {
            self.csi(at - self.x, 'C');
            self.x = at;
        }
    }

    pub(super) fn draw_text(&mut self, cell: Cell, at: usize) {
        let width = usize::from(cell.width());
        if at + width > self.cols() {
            return;
        }
        self.move_to(at);
        self.set_style(cell.style());
        let before = self.printed.filter(|(end, _)| *end == self.out.len()).map(|(_, printed)| printed);
        let mut room = [0; 4];
        let text = text_of(self.terminal, self.unpacked.as_ref(), cell, &mut room);
        let first = text.chars().next().map_or(0, u32::from);
        let printed = grapheme::cell(text);
        if grapheme::step(first, before).joins {
            // After any sequence it joins nothing.
            self.force_style(cell.style());
        }
        self.put_cell(cell);
        self.printed = printed.map(|printed| (self.out.len(), printed));
        self.x = at + width.max(1);
    }

    pub(super) fn draw_empty(&mut self, cell: Cell, range: std::ops::Range<usize>, dirty: &BTreeSet<usize>) {
        if range.is_empty() || cell.is_tail() || !cell.style().is_background_only() {
            return;
        }
        if cell.style() != Style::default() {
            self.move_to(range.start);
            self.set_style(cell.style());
            self.csi(range.len(), 'X');
            return;
        }
        for &at in dirty.range(range) {
            self.move_to(at);
            self.plain_background();
            self.text("\x1b[X");
        }
    }

    /// What is left of wide characters that were cut in half: empty cells with more than a background, and second halves
    /// without a first. They are made in the same ways, and their neighbours drawn afterwards.
    ///
    /// A cell is made with the help of the one after it, so this goes from left to right. The last ones of a row are made
    /// with the help of the one before, from right to left.
    pub(super) fn draw_odd(&mut self, row: &Row, odd: &[usize], dirty: &mut BTreeSet<usize>) {
        let columns = (0..self.cols()).rev();
        let at_end = odd.iter().rev().zip(columns).take_while(|(at, x)| *at == x && !row.get(*x).is_tail());
        let (others, last) = odd.split_at(odd.len() - at_end.count());
        for &at in others {
            if row.get(at).is_tail() {
                self.cut_wide(row.get(at).style(), at);
            } else {
                self.overwrite_half(row.get(at).style(), at, at + 1, dirty);
            }
        }
        for &at in last.iter().rev().filter(|&&at| at > 0) {
            self.overwrite_half(row.get(at).style(), at - 1, at - 1, dirty);
        }
        dirty.retain(|at| !odd.contains(at));
        self.text("\r");
        self.x = 0;
    }

    /// Makes the second half of a wide character at `at`, without the first.
    fn cut_wide(&mut self, style: Style, at: usize) {
        self.set_style(style);
        self.csi(at, 'G');
        self.text(WIDE_SPACE);
        self.set_style(Style::default());
        self.csi(at + 1, 'G');
        self.text("\x1b[@");
        self.csi(at, 'G');
        self.text("\x1b[P");
    }

    /// Writes a wide character at `wide`, and a narrow one at `narrow`, over half of it. The other half is left empty, with
    /// this style.
    fn overwrite_half(&mut self, style: Style, wide: usize, narrow: usize, dirty: &mut BTreeSet<usize>) {
        self.plain_background();
        self.csi(wide + 1, 'G');
        self.text(WIDE_SPACE);
        self.csi(narrow + 1, 'G');
        self.set_style(style);
        self.text(" ");
        dirty.insert(narrow);
    }
}

/// The text of a cell of the terminal, or of a row of its history that was unpacked with these clusters.
fn text_of<'a>(
    terminal: &'a Terminal,
    unpacked: Option<&'a Interned>,
    cell: Cell,
    room: &'a mut [u8; 4],
) -> &'a str {
    match unpacked {
        Some(clusters) if cell.is_cluster() => clusters.cluster_text(cell.code()),
        _ => terminal.cell_text(cell, room),
    }
}

/// Nothing written, but more than a background colour.
fn is_odd(cell: Cell) -> bool {
    !cell.has_content() && cell.width() > 0 && !cell.style().is_background_only()
}

/// Columns that cannot be drawn simply by writing or erasing.
fn odd_columns(row: &Row, cols: usize) -> Vec<usize> {
    let end = if is_odd(row.pad()) { cols } else { row.written().len() };
    let cut = |at: usize| at > 0 && row.get(at).is_tail() && row.get(at - 1).width() != 2;
    (0..end).filter(|&at| is_odd(row.get(at)) || cut(at)).collect()
}
