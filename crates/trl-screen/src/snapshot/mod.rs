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

mod rows;
mod state;

use std::collections::BTreeSet;

use crate::buffer::{Buffer, Saved};
use crate::cell::{COLOR, Cell, EXTENDED, PROTECTED, Style, UNDERLINE, UNDERLINE_SHIFT};
use crate::charset::Charsets;
use crate::grapheme::{self, Printed};
use crate::history::Line;
use crate::intern::{Ext, Interned};
use crate::modes::{Kitty, Modes, Mouse, MouseEncoding};
use crate::parser::Parser;
use crate::row::Row;
use crate::sgr;
use crate::terminal::Terminal;

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
    /// The character written last and the length of `out` after it: with nothing in between, the next one may join it.
    printed: Option<(usize, Printed)>,
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
            printed: None,
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
        self.text("\x1b[");
        self.text(if parameters == "0" { "" } else { &parameters });
        self.text("m");
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
