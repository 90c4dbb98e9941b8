//! A byte stream that brings a fresh terminal of the same size to this one's state.
//!
//! 1. Titles, colours; then history and rows of the normal screen, oldest first, so that they scroll into place.
//! 2. Tab stops, saved cursor, scroll region, cursor; then, if it is shown, the same of the alternate screen.
//! 3. Modes, cursor, pen, character sets.
//! 4. The character before the cursor once more, if a mark or a repetition could still refer to it or the next one wraps.
//! 5. What has been read of an unfinished sequence.
//!
//! All of it but the last two is inside synchronised output, so nobody sees it being drawn. It asks nothing and rings no
//! bell. Cells nothing was written to are skipped or erased, never filled with spaces: selecting, searching and another
//! width tell them apart.

use std::collections::BTreeSet;

use crate::buffer::{Buffer, Saved};
use crate::cell::{COLOR, Cell, EXTENDED, PROTECTED, Style, UNDERLINE, UNDERLINE_SHIFT};
use crate::charset::Charsets;
use crate::history::Line;
use crate::intern::{Ext, Interned};
use crate::modes::{Kitty, Modes, Mouse, MouseEncoding};
use crate::parser::Parser;
use crate::row::Row;
use crate::sgr;
use crate::terminal::Terminal;

/// A wide character that shows nothing: overwriting half of it leaves an empty cell with the pen's style.
const WIDE_SPACE: &str = "\u{3000}";

/// Writes the state of `terminal`, with at most `history` lines above the screen.
pub(crate) fn write(terminal: &Terminal, parser: &Parser, history: usize) -> Vec<u8> {
    let mut writer = Writer::new(terminal);
    writer.text("\x1b[?2026h");
    writer.names();
    if !terminal.alternate && terminal.alt.saved != Saved::default() {
        writer.text("\x1b[?47h");
        writer.saved_cursor(&terminal.alt);
        writer.text("\x1b[?47l");
        writer.place(0, 0);
    }
    writer.normal_screen(history);
    if terminal.alternate {
        writer.alternate_screen();
    }
    writer.modes();
    writer.finish();
    writer.out.extend(parser.continuation());
    writer.out
}

/// Writes rows; knows what the terminal on the other end has in hand.
pub(crate) struct Writer<'a> {
    terminal: &'a Terminal,
    pub(crate) out: Vec<u8>,
    style: Style,
    link: u32,
    /// Column of the other end's cursor while rows are written.
    x: usize,
    /// The screen's saved cursor was used to make a style.
    saved_used: bool,
    /// Clusters of the history's row being written, which is unpacked for it.
    unpacked: Option<Interned>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(terminal: &'a Terminal) -> Self {
        Self {
            terminal,
            out: Vec::new(),
            style: Style::default(),
            link: 0,
            x: 0,
            saved_used: false,
            unpacked: None,
        }
    }

    fn cols(&self) -> usize {
        self.terminal.size.cols
    }

    fn text(&mut self, text: &str) {
        self.out.extend(text.as_bytes());
    }

    /// `CSI n` and a final byte.
    fn csi(&mut self, n: usize, last: char) {
        self.text(&format!("\x1b[{n}{last}"));
    }

    fn place(&mut self, x: usize, y: usize) {
        self.text(&format!("\x1b[{};{}H", y + 1, x + 1));
        self.x = x;
    }

    // Attributes.

    pub(crate) fn set_style(&mut self, style: Style) {
        if style != self.style {
            self.force_style(style);
        }
    }

    fn force_style(&mut self, style: Style) {
        let ext = self.terminal.interned.ext_value(style.ext);
        let underlined = ext.underline >> UNDERLINE_SHIFT != 0;
        let usual = (style.bg & EXTENDED != 0) == (underlined || ext.link != 0)
            && (style.fg & UNDERLINE != 0) == underlined;
        if !usual {
            self.restored_style(style, ext);
            return;
        }
        if ext.link != self.link {
            self.open_link(ext.link);
        }
        let parameters = sgr::parameters(style.fg, style.bg, ext.underline);
        self.text(&format!("\x1b[{}m", if parameters == "0" { "" } else { &parameters }));
        self.protection(style.bg);
        self.style = style;
    }

    fn protection(&mut self, bg: u32) {
        if bg & PROTECTED != 0 {
            self.text("\x1b[1\"q");
        }
    }

    /// A style whose parts contradict each other, as restoring a cursor makes them: it brings colours and flags back, but
    /// neither the way of underlining nor the link. So it is made in the same way.
    fn restored_style(&mut self, style: Style, ext: Ext) {
        self.flags(style.fg, style.bg);
        self.text("\x1b7\x1b[m");
        self.saved_used = true;
        if ext.underline >> UNDERLINE_SHIFT != 0 {
            self.text(&format!("\x1b[4:{}m", ext.underline >> UNDERLINE_SHIFT));
        }
        self.text(&sgr::underline_color(ext.underline));
        self.open_link(ext.link);
        self.text("\x1b8");
        if style.bg & EXTENDED == 0 {
            // Ending a link, even none, looks at the parts again and takes the flag away.
            self.open_link(0);
        }
        self.style = style;
    }

    /// Colours and flags alone, by whatever underline or link sets them.
    fn flags(&mut self, fg: u32, bg: u32) {
        self.text(&format!("\x1b[{}m", sgr::parameters(fg, bg, 1 << UNDERLINE_SHIFT)));
        self.protection(bg);
        if bg & EXTENDED != 0 && fg & UNDERLINE == 0 {
            self.text("\x1b]8;;about:blank\x1b\\");
            self.link = u32::MAX;
        } else if bg & EXTENDED == 0 && fg & UNDERLINE != 0 {
            self.text("\x1b7\x1b[m\x1b8");
            self.open_link(0);
        } else if bg & EXTENDED == 0 && self.link != 0 {
            self.open_link(0);
        }
    }

    fn open_link(&mut self, link: u32) {
        self.link = link;
        match self.terminal.interned.link_value(link) {
            Some(link) => {
                let text = format!("\x1b]8;{};{}\x1b\\", link.params, link.uri);
                self.text(&text);
            }
            None => self.text("\x1b]8;;\x1b\\"),
        }
    }

    /// Rows that come in while scrolling have the pen's background.
    fn plain_background(&mut self) {
        if self.style.bg & COLOR != 0 {
            self.set_style(Style::default());
        }
    }

    // Rows.

    fn normal_screen(&mut self, most: usize) {
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
        for row in &buffer.rows {
            self.next_row(row, above.as_ref());
            above = Some(row.clone());
        }
        self.set_style(Style::default());
        self.geometry(buffer, &self.terminal.kitty[0]);
    }

    /// The line of the history in which the saved cursor is, if it was saved at all.
    fn saved_in_history(&self, buffer: &Buffer, skipped: usize) -> Option<usize> {
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

    fn put_cell(&mut self, cell: Cell) {
        match &self.unpacked {
            Some(clusters) if cell.is_cluster() => {
                self.out.extend(clusters.cluster_text(cell.code()).as_bytes())
            }
            _ => {
                let mut room = [0; 4];
                self.out.extend(self.terminal.cell_text(cell, &mut room).as_bytes());
            }
        }
    }

    fn alternate_screen(&mut self) {
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
    fn next_row(&mut self, row: &Row, above: Option<&Row>) {
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
    fn wrap(&mut self, above: &Row, row: &Row, dirty: &mut BTreeSet<usize>) {
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
    fn draw(&mut self, row: &Row, mut dirty: BTreeSet<usize>) {
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

    fn move_to(&mut self, at: usize) {
        if at > self.x {
            self.csi(at - self.x, 'C');
            self.x = at;
        }
    }

    fn draw_text(&mut self, cell: Cell, at: usize) {
        let width = usize::from(cell.width());
        if at + width > self.cols() {
            return;
        }
        self.move_to(at);
        self.set_style(cell.style());
        if width == 0 {
            // A mark on its own: after any sequence it joins nothing.
            self.force_style(cell.style());
        }
        self.put_cell(cell);
        self.x = at + width.max(1);
    }

    fn draw_empty(&mut self, cell: Cell, range: std::ops::Range<usize>, dirty: &BTreeSet<usize>) {
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
    /// without a first. They are made in the same ways, from left to right, and their neighbours drawn afterwards.
    fn draw_odd(&mut self, row: &Row, odd: &[usize], dirty: &mut BTreeSet<usize>) {
        let cols = self.cols();
        for &at in odd {
            let style = row.get(at).style();
            if row.get(at).is_tail() {
                self.set_style(style);
                self.csi(at, 'G');
                self.text(WIDE_SPACE);
                self.set_style(Style::default());
                self.csi(at + 1, 'G');
                self.text("\x1b[@");
                self.csi(at, 'G');
                self.text("\x1b[P");
                continue;
            }
            let (wide, narrow) = if at + 1 < cols { (at, at + 1) } else { (at - 1, at - 1) };
            self.plain_background();
            self.csi(wide + 1, 'G');
            self.text(WIDE_SPACE);
            self.csi(narrow + 1, 'G');
            self.set_style(style);
            self.text(" ");
            dirty.insert(narrow);
        }
        dirty.retain(|at| !odd.contains(at));
        self.text("\r");
        self.x = 0;
    }

    // Beside the rows.

    fn names(&mut self) {
        let terminal = self.terminal;
        for (title, icon) in &terminal.titles {
            self.name(title, icon);
            self.text("\x1b[22;0t");
        }
        self.name(&terminal.title, &terminal.icon);
        if let Some(cwd) = &terminal.cwd {
            let path: String = cwd.bytes().map(percent_encoded).collect();
            self.text(&format!("\x1b]7;file://{path}\x1b\\"));
        }
        self.text(&terminal.palette.replay());
    }

    fn name(&mut self, title: &str, icon: &str) {
        if !(title.is_empty() && icon.is_empty() && self.terminal.titles.is_empty()) {
            self.text(&format!("\x1b]2;{title}\x1b\\\x1b]1;{icon}\x1b\\"));
        }
    }

    /// Tab stops, saved cursor, region, cursor and keyboard levels of a screen.
    fn geometry(&mut self, buffer: &Buffer, kitty: &Kitty) {
        let (cols, rows) = (self.cols(), self.terminal.size.rows);
        if let Some(stops) = buffer.changed_tabs(cols) {
            self.text("\x1b[3g");
            for stop in stops {
                self.place(stop, 0);
                self.text("\x1bH");
            }
        }
        if std::mem::take(&mut self.saved_used) || (buffer.saved != Saved::default() && buffer.saved.y >= 0) {
            self.saved_cursor(buffer);
        }
        if (buffer.top, buffer.bottom) != (0, rows - 1) {
            self.text(&format!("\x1b[{};{}r", buffer.top + 1, buffer.bottom + 1));
        }
        self.place(buffer.x.min(cols - 1), buffer.y);
        if let Some((first, others)) = kitty.below.split_first() {
            self.text(&format!("\x1b[={first}u"));
            others.iter().chain([&kitty.flags]).for_each(|flags| self.text(&format!("\x1b[>{flags}u")));
        } else if kitty.flags != 0 {
            self.text(&format!("\x1b[={}u", kitty.flags));
        }
    }

    fn saved_cursor(&mut self, buffer: &Buffer) {
        let saved = buffer.saved;
        let last = self.terminal.size.rows as i64 - 1;
        self.place(saved.x.min(self.cols() - 1), saved.y.clamp(0, last) as usize);
        self.save(buffer);
    }

    /// Saves the cursor where it is, with pen and set.
    fn save(&mut self, buffer: &Buffer) {
        let saved = buffer.saved;
        if (saved.fg, saved.bg) != (0, 0) {
            self.flags(saved.fg, saved.bg);
        }
        if let Some(set) = saved.charset {
            self.text(&format!("\x1b({}", set.name as char));
        }
        self.text("\x1b7");
        if saved.charset.is_some() {
            self.text("\x1b(B");
        }
        if (saved.fg, saved.bg) != (0, 0) {
            if self.link != 0 {
                self.open_link(0);
            }
            self.text("\x1b[m");
            self.style = Style::default();
        }
    }

    /// Everything that does not disturb what is still to be written.
    fn modes(&mut self) {
        let Modes { mouse, mouse_encoding, cursor_style, modify_other_keys, .. } = self.terminal.modes;
        let modes = self.terminal.modes;
        let switches = [
            (modes.application_cursor, "\x1b[?1h"),
            (modes.application_keypad, "\x1b="),
            (!modes.autowrap, "\x1b[?7l"),
            (modes.cursor_blink, "\x1b[?12h"),
            (!modes.cursor_visible, "\x1b[?25l"),
            (modes.reverse_wrap, "\x1b[?45h"),
            (modes.focus, "\x1b[?1004h"),
            (modes.bracketed_paste, "\x1b[?2004h"),
            (modes.newline, "\x1b[20h"),
            (mouse == Mouse::X10, "\x1b[?9h"),
            (mouse == Mouse::Clicks, "\x1b[?1000h"),
            (mouse == Mouse::Drag, "\x1b[?1002h"),
            (mouse == Mouse::Motion, "\x1b[?1003h"),
            (mouse_encoding == MouseEncoding::Sgr, "\x1b[?1006h"),
            (mouse_encoding == MouseEncoding::SgrPixels, "\x1b[?1016h"),
            (modes.origin, "\x1b[?6h"),
        ];
        switches.iter().filter(|(on, _)| *on).for_each(|(_, text)| self.text(text));
        if cursor_style != 0 {
            self.text(&format!("\x1b[{cursor_style} q"));
        }
        if modify_other_keys != 0 {
            self.text(&format!("\x1b[>4;{modify_other_keys}m"));
        }
    }

    /// Cursor, pen, character sets; and the character before the cursor where it still matters.
    fn finish(&mut self) {
        let terminal = self.terminal;
        let buffer = terminal.shown();
        let cols = self.cols();
        let joined = self.joined_cell();
        let pending = buffer.x >= cols;
        let brought_back = self.pen_and_charsets(buffer, pending && joined.is_none());
        match joined {
            Some(cell) => self.place_in_region(buffer.x - usize::from(cell.width()), buffer.y),
            None if pending => self.draw_last(buffer),
            None => self.place_in_region(buffer.x, buffer.y),
        }
        if joined.is_none() && pending {
            self.charsets();
        }
        if !brought_back {
            self.pen_style();
            if terminal.pen.bg & EXTENDED == 0 {
                self.text(&sgr::underline_color(terminal.pen.underline));
            }
        }
        if terminal.modes.insert {
            if let Some(cell) = joined {
                self.csi(usize::from(cell.width()), 'P');
            }
            self.text("\x1b[4h");
        }
        if !terminal.modes.synchronized {
            self.text("\x1b[?2026l");
        }
        if let Some(cell) = joined {
            self.put_cell(cell);
        }
    }

    /// The pen, as far as it can be had without touching the saved cursor.
    fn pen_style(&mut self) {
        let (pen, style) = (self.terminal.pen, self.terminal.style());
        let link = if pen.bg & EXTENDED == 0 { 0 } else { pen.link };
        if link != self.link {
            self.open_link(link);
        }
        self.text(&format!("\x1b[{}m", sgr::parameters(style.fg, style.bg, pen.underline)));
        self.protection(style.bg);
    }

    fn can_restore_pen(&self, buffer: &Buffer) -> bool {
        let (pen, saved) = (self.terminal.pen, buffer.saved);
        let underlined = pen.underline_style() != 0;
        let usual = (pen.bg & EXTENDED != 0) == (underlined || pen.link != 0)
            && (pen.fg & UNDERLINE != 0) == underlined;
        // a link that is opened or closed sets the flag by what there is
        let flag_by_link = (pen.bg & EXTENDED != 0) == (underlined || pen.link != 0);
        !usual
            && (pen.fg ^ saved.fg) & UNDERLINE == 0
            && ((pen.bg ^ saved.bg) & EXTENDED == 0 || flag_by_link)
    }

    /// A pen whose parts contradict each other comes from restoring a cursor, so that is how it is brought back; then what
    /// was changed since.
    fn restored_pen(&mut self, buffer: &Buffer) -> bool {
        let (pen, saved) = (self.terminal.pen, buffer.saved);
        if !self.can_restore_pen(buffer) {
            return false;
        }
        self.text("\x1b[m");
        if pen.underline_style() != 0 {
            self.text(&format!("\x1b[4:{}m", pen.underline_style()));
        }
        self.text(&sgr::underline_color(pen.underline));
        self.open_link(pen.link);
        self.text("\x1b8");
        self.text(&sgr::change((saved.fg, saved.bg), (pen.fg, pen.bg)));
        if (pen.bg ^ saved.bg) & PROTECTED != 0 {
            self.text(if pen.bg & PROTECTED == 0 { "\x1b[0\"q" } else { "\x1b[1\"q" });
        }
        if (pen.bg ^ saved.bg) & EXTENDED != 0 {
            self.open_link(pen.link);
        }
        true
    }

    /// The cell of the character just printed, when printing it again leads where we are.
    fn joined_cell(&self) -> Option<Cell> {
        let terminal = self.terminal;
        let buffer = terminal.shown();
        let join = usize::from(terminal.join);
        let at = buffer.x.checked_sub(join).filter(|_| join > 0)?;
        let cell = buffer.rows.get(buffer.y)?.get(at);
        let fits =
            cell.has_content() && usize::from(cell.width()) == join && cell.style() == terminal.style();
        let first = terminal.cell_text(cell, &mut [0; 4]).chars().next()?;
        let kept = terminal.charsets.current.is_none_or(|set| set.map(first as u32) == first as u32);
        let starts = crate::width::width(first as u32) == terminal.join;
        (fits && kept && starts).then_some(cell)
    }

    fn place_in_region(&mut self, x: usize, y: usize) {
        let buffer = self.terminal.shown();
        let y = if self.terminal.modes.origin { y.saturating_sub(buffer.top) } else { y };
        self.place(x, y);
    }

    /// Writes the last character of the row again: only so the cursor gets beyond it.
    fn draw_last(&mut self, buffer: &Buffer) {
        let cols = self.cols();
        let Some(row) = buffer.rows.get(buffer.y) else { return };
        let last = row.get(cols - 1);
        let (cell, at) = if last.is_tail() { (row.get(cols - 2), cols - 2) } else { (last, cols - 1) };
        self.text("\x1b(B\x0f");
        self.place_in_region(at, buffer.y);
        self.force_style(cell.style());
        if cell.has_content() {
            self.put_cell(cell);
        } else {
            self.text(" ");
        }
    }

    /// What restoring the cursor has to bring back, and the character sets. Says whether the pen is done.
    fn pen_and_charsets(&mut self, buffer: &Buffer, last_comes: bool) -> bool {
        let charsets = self.terminal.charsets;
        let usual = charsets.sets[usize::from(charsets.level & 3)];
        if last_comes {
            return false;
        }
        if charsets.current != usual && charsets.current == buffer.saved.charset {
            // Only restoring a cursor brings a set back without its place.
            self.charsets();
            let done = self.restored_pen(buffer);
            if !done {
                self.text("\x1b8");
            }
            return done;
        }
        let done = self.restored_pen(buffer) || self.restored_from_alternate();
        if done || charsets != Charsets::default() {
            self.charsets();
        }
        done
    }

    /// The pen may come from the other screen's saved cursor, which can be had as long as that screen is not shown.
    fn restored_from_alternate(&mut self) -> bool {
        let terminal = self.terminal;
        if terminal.alternate || !self.can_restore_pen(&terminal.alt) {
            return false;
        }
        self.text("\x1b[?47h");
        let done = self.restored_pen(&terminal.alt);
        self.text("\x1b[?47l");
        done
    }

    fn charsets(&mut self) {
        let charsets = self.terminal.charsets;
        for (set, place) in charsets.sets.iter().zip(["(", ")", "*", "+"]) {
            let name = set.map_or(b'B', |set| set.name);
            self.text(&format!("\x1b{place}{}", name as char));
        }
        self.text(["\x0f", "\x0e", "\x1bn", "\x1bo"][usize::from(charsets.level & 3)]);
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

fn percent_encoded(byte: u8) -> String {
    match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}

/// Lines on their own, for those who read instead of restoring.
impl Writer<'_> {
    /// The characters of a row; spaces where there are none.
    pub(crate) fn plain(&mut self, row: &Row) -> String {
        let end = row.text_len();
        let mut at = 0;
        while at < end {
            let cell = row.get(at);
            if cell.has_content() {
                self.put_cell(cell);
            } else {
                self.text(" ");
            }
            at += usize::from(cell.width().max(1));
        }
        String::from_utf8(std::mem::take(&mut self.out)).unwrap_or_default()
    }

    /// The text of one cell.
    pub(crate) fn cell(&mut self, cell: Cell) -> String {
        self.put_cell(cell);
        String::from_utf8(std::mem::take(&mut self.out)).unwrap_or_default()
    }

    /// A row with its attributes, pen reset at the end.
    pub(crate) fn line(&mut self, row: &Row) -> String {
        let cols = self.cols();
        let end = if row.pad() == Cell::BLANK { row.written().len() } else { cols };
        let mut at = 0;
        while at < end {
            let cell = row.get(at);
            self.set_style(cell.style());
            if cell.has_content() {
                self.put_cell(cell);
            } else {
                self.text(" ");
            }
            at += usize::from(cell.width().max(1));
        }
        self.set_style(Style::default());
        String::from_utf8(std::mem::take(&mut self.out)).unwrap_or_default()
    }
}
