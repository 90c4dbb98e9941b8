//! The terminal itself: two screens, a pen, modes; and what printing and controls do to them.
//!
//! 1. [`crate::parser`] says what came; this file prints, moves and scrolls.
//! 2. `csi.rs` has the control sequences, `sgr.rs` colours and attributes, `osc.rs` the strings.
//! 3. Where terminals differ, this one does what xterm.js does, for that is what people look at; the restore test is the
//!    judge.

use crate::buffer::{Buffer, Saved};
use crate::cell::{Cell, EXTENDED, Pen, Style};
use crate::charset::{self, Charsets};
use crate::event::{Event, Fed};
use crate::grapheme::{self, Printed};
use crate::intern::{CLUSTER_CODES, Ext, Interned, Marks};
use crate::modes::{Kitty, Modes};
use crate::osc::Palette;
use crate::params::Params;
use crate::parser::Actions;
use crate::reflow::Size;

#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) size: Size,
    pub(crate) normal: Buffer,
    pub(crate) alt: Buffer,
    pub(crate) alternate: bool,
    pub(crate) pen: Pen,
    /// The pen's rarer attributes, looked up once per change.
    pen_ext: u32,
    pub(crate) charsets: Charsets,
    pub(crate) modes: Modes,
    /// The character just printed: the next one may join it, REP repeats it. `None` after anything else.
    pub(crate) printed: Option<Printed>,
    pub(crate) interned: Interned,
    /// Of the normal and of the alternate screen.
    pub(crate) kitty: [Kitty; 2],
    pub(crate) title: String,
    pub(crate) icon: String,
    pub(crate) titles: Vec<(String, String)>,
    pub(crate) cwd: Option<String>,
    pub(crate) palette: Palette,
    pub(crate) fed: Fed,
    /// Bytes of the stream so far.
    pub(crate) offset: u64,
    history_bytes: usize,
}

impl Terminal {
    pub(crate) fn new(size: Size, history_bytes: usize) -> Self {
        Self {
            size,
            normal: Buffer::normal(size.rows, history_bytes),
            alt: Buffer::alternate(size.rows),
            alternate: false,
            pen: Pen::default(),
            pen_ext: 0,
            charsets: Charsets::default(),
            modes: Modes::default(),
            printed: None,
            interned: Interned::default(),
            kitty: Default::default(),
            title: String::new(),
            icon: String::new(),
            titles: Vec::new(),
            cwd: None,
            palette: Palette::default(),
            fed: Fed::default(),
            offset: 0,
            history_bytes,
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        if self.alternate { &mut self.alt } else { &mut self.normal }
    }

    pub(crate) fn shown(&self) -> &Buffer {
        if self.alternate { &self.alt } else { &self.normal }
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.fed.push(self.offset, event);
    }

    /// What the pen writes with.
    pub(crate) fn style(&self) -> Style {
        Style { fg: self.pen.fg, bg: self.pen.bg, ext: self.pen_ext }
    }

    /// What erased cells look like.
    pub(crate) fn erased(&self) -> Style {
        self.style().background()
    }

    pub(crate) fn pen_changed(&mut self) {
        self.pen_ext = if self.pen.bg & EXTENDED == 0 {
            0
        } else {
            self.interned.ext(Ext { underline: self.pen.underline, link: self.pen.link })
        };
    }

    /// Forgets what no cell shows any more, when it has become much.
    pub(crate) fn tidy(&mut self) {
        if !self.interned.is_due() {
            return;
        }
        let mut marks = Marks::default();
        self.normal.mark(&mut self.interned, &mut marks);
        self.alt.mark(&mut self.interned, &mut marks);
        marks.link(self.pen.link);
        marks.ext(self.pen_ext);
        self.interned.sweep(marks);
    }

    pub(crate) fn resize(&mut self, to: Size) {
        let from = self.size;
        self.normal.resize(from, to, &mut self.interned);
        self.alt.resize(from, to, &mut self.interned);
        self.size = to;
    }

    // Printing.

    /// Printable ASCII in one go, when nothing stands in the way.
    pub(crate) fn print_ascii(&mut self, mut text: &[u8]) {
        let joins = self.printed.is_some_and(|printed| !printed.ends_before_ascii());
        if self.charsets.current.is_some() || self.modes.insert || joins {
            text.iter().for_each(|&byte| self.print(u32::from(byte)));
            return;
        }
        let (style, cols) = (self.style(), self.size.cols);
        self.split_wide_before(style);
        while !text.is_empty() {
            if self.buffer().x >= cols {
                if self.modes.autowrap {
                    self.wrap(0);
                } else {
                    self.buffer().x = cols - 1;
                    text = &text[text.len() - 1..];
                }
            }
            let buffer = self.buffer();
            let (now, later) = text.split_at(text.len().min(cols - buffer.x));
            let x = buffer.x;
            buffer.row().write_ascii(x, now, style);
            buffer.x += now.len();
            text = later;
        }
        self.split_wide_after(style);
        self.printed = Some(Printed::ASCII);
    }

    /// The first half of a wide character whose second half is about to be overwritten.
    fn split_wide_before(&mut self, style: Style) {
        let buffer = self.buffer();
        let x = buffer.x;
        if x > 0 && buffer.row().get(x - 1).width() == 2 {
            buffer.row().set(x - 1, Cell::empty(style));
        }
    }

    /// The second half of one whose first half was overwritten.
    fn split_wide_after(&mut self, style: Style) {
        let cols = self.size.cols;
        let buffer = self.buffer();
        let x = buffer.x;
        if x < cols && buffer.row().get(x).is_tail() {
            buffer.row().set(x, Cell::empty(style));
        }
    }

    /// Goes on to the next row, which is marked as the continuation of this one. The last `moved` cells go along: those of a
    /// character that has become wider than the room it had.
    fn wrap(&mut self, moved: usize) {
        let (style, erased, size) = (self.style(), self.erased(), self.size);
        let (buffer, interned) =
            if self.alternate { (&mut self.alt, &self.interned) } else { (&mut self.normal, &self.interned) };
        let from = buffer.x.saturating_sub(moved);
        let cells: Vec<Cell> = (from..from + moved).map(|at| buffer.row().get(at)).collect();
        (from..size.cols).for_each(|at| buffer.row().set(at, Cell::empty(style)));
        buffer.x = moved;
        buffer.y += 1;
        if buffer.y == buffer.bottom + 1 {
            buffer.y -= 1;
            buffer.scroll(erased, interned).wrapped = true;
        } else {
            buffer.y = buffer.y.min(size.rows - 1);
            buffer.row().wrapped = true;
        }
        cells.into_iter().enumerate().for_each(|(at, cell)| buffer.row().set(at, cell));
    }

    pub(crate) fn print_code(&mut self, code: u32) {
        let code = match self.charsets.current {
            Some(set) if code < 127 => set.map(code),
            _ => code,
        };
        let (style, cols) = (self.style(), self.size.cols);
        self.split_wide_before(style);
        let before = self.printed.map_or(0, |printed| usize::from(printed.width));
        let step = grapheme::step(code, self.printed);
        self.printed = Some(step.printed);
        let width = step.printed.width;
        let had = if step.joins { before } else { 0 };
        let more = usize::from(width) - had;
        if self.buffer().x + more > cols {
            if self.modes.autowrap {
                self.wrap(had);
            } else {
                self.buffer().x = cols - 1;
                if width == 2 {
                    return;
                }
            }
        }
        if step.joins && self.buffer().x > 0 {
            self.join(code, width, more, style);
        } else {
            self.put(code, width, more, style);
        }
        self.split_wide_after(style);
    }

    /// Puts a character into a cell of its own; in insert mode, `room` cells move aside for it.
    fn put(&mut self, code: u32, width: u8, room: usize, style: Style) {
        let (cols, insert) = (self.size.cols, self.modes.insert);
        let buffer = self.buffer();
        let x = buffer.x;
        let row = buffer.row();
        if insert {
            row.insert(x, room, Cell::empty(style), cols);
            if row.get(cols - 1).width() == 2 {
                row.set(cols - 1, Cell::empty(style));
            }
        }
        row.set(x, Cell::new(code, width, style));
        if width == 2 {
            row.set(x + 1, Cell::new(0, 0, style));
        }
        buffer.x += usize::from(width);
    }

    /// Adds a character to the cell before the cursor, which is `width` columns wide from then on, `more` than it was.
    fn join(&mut self, code: u32, width: u8, more: usize, style: Style) {
        let (buffer, interned) = if self.alternate {
            (&mut self.alt, &mut self.interned)
        } else {
            (&mut self.normal, &mut self.interned)
        };
        let x = buffer.x;
        let back = if buffer.row().get(x - 1).width() > 0 { 1 } else { 2 };
        let Some(at) = x.checked_sub(back) else { return };
        let cell = buffer.row().get(at);
        let Some(char) = char::from_u32(code) else { return };
        let cell = if cell.is_cluster() {
            let text = interned.cluster_text(cell.code());
            if text.chars().count() < CLUSTER_CODES {
                let text = format!("{text}{char}");
                cell.with_cluster(interned.cluster(&text), width)
            } else {
                cell.with_cluster(cell.code(), width)
            }
        } else if let Some(first) = char::from_u32(cell.code()).filter(|_| cell.has_content()) {
            cell.with_cluster(interned.cluster(&format!("{first}{char}")), width)
        } else {
            cell.with_code(code, width)
        };
        buffer.row().set(at, cell);
        (x..x + more).for_each(|tail| buffer.row().set(tail, Cell::new(0, 0, style)));
        buffer.x += more;
    }

    /// The text of a cell.
    pub(crate) fn cell_text<'a>(&'a self, cell: Cell, room: &'a mut [u8; 4]) -> &'a str {
        if cell.is_cluster() {
            return self.interned.cluster_text(cell.code());
        }
        match char::from_u32(cell.code()) {
            Some(char) if cell.has_content() => char.encode_utf8(room),
            _ => "",
        }
    }

    // Controls.

    pub(crate) fn line_feed(&mut self) {
        let (erased, size) = (self.erased(), self.size);
        if self.modes.newline {
            self.buffer().x = 0;
        }
        let (buffer, interned) =
            if self.alternate { (&mut self.alt, &self.interned) } else { (&mut self.normal, &self.interned) };
        buffer.y += 1;
        if buffer.y == buffer.bottom + 1 {
            buffer.y -= 1;
            buffer.scroll(erased, interned);
        } else if buffer.y >= size.rows {
            buffer.y = size.rows - 1;
        } else {
            buffer.row().wrapped = false;
        }
        if buffer.x >= size.cols {
            buffer.x = size.cols - 1;
        }
    }

    fn backspace(&mut self) {
        let cols = self.size.cols;
        if !self.modes.reverse_wrap {
            self.restrict(cols - 1);
            let buffer = self.buffer();
            buffer.x = buffer.x.saturating_sub(1);
            return;
        }
        self.restrict(cols);
        let buffer = self.buffer();
        if buffer.x > 0 {
            buffer.x -= 1;
        } else if buffer.y > buffer.top && buffer.y <= buffer.bottom && buffer.row().wrapped {
            buffer.row().wrapped = false;
            buffer.y -= 1;
            buffer.x = cols - 1;
            let last = buffer.row().get(cols - 1);
            if last.width() > 0 && !last.has_content() {
                buffer.x -= 1;
            }
        }
        self.restrict(cols - 1);
    }

    /// Keeps the cursor on the screen, and in the region when rows are counted from there.
    pub(crate) fn restrict(&mut self, last_x: usize) {
        let (origin, rows) = (self.modes.origin, self.size.rows);
        let buffer = self.buffer();
        buffer.x = buffer.x.min(last_x);
        buffer.y = if origin { buffer.y.clamp(buffer.top, buffer.bottom) } else { buffer.y.min(rows - 1) };
    }

    pub(crate) fn index(&mut self) {
        self.restrict(self.size.cols - 1);
        let (erased, rows) = (self.erased(), self.size.rows);
        let (buffer, interned) =
            if self.alternate { (&mut self.alt, &self.interned) } else { (&mut self.normal, &self.interned) };
        buffer.y += 1;
        if buffer.y == buffer.bottom + 1 {
            buffer.y -= 1;
            buffer.scroll(erased, interned);
        } else if buffer.y >= rows {
            buffer.y = rows - 1;
        }
        self.restrict(self.size.cols - 1);
    }

    fn reverse_index(&mut self) {
        self.restrict(self.size.cols - 1);
        let erased = self.erased();
        let buffer = self.buffer();
        if buffer.y == buffer.top {
            let (top, bottom) = (buffer.top, buffer.bottom);
            buffer.rotate(bottom, top, 1, erased);
        } else {
            buffer.y = buffer.y.saturating_sub(1);
            self.restrict(self.size.cols - 1);
        }
    }

    fn tab(&mut self) {
        let cols = self.size.cols;
        let buffer = self.buffer();
        if buffer.x < cols {
            buffer.x = buffer.next_tab(cols);
        }
    }

    // Saved cursor, screens, resets.

    pub(crate) fn save_cursor(&mut self) {
        let (pen, charset) = (self.pen, self.charsets.current);
        let buffer = self.buffer();
        buffer.saved = Saved { x: buffer.x, y: buffer.y as i64, fg: pen.fg, bg: pen.bg, charset };
    }

    pub(crate) fn restore_cursor(&mut self) {
        let buffer = self.buffer();
        let saved = buffer.saved;
        buffer.x = saved.x;
        buffer.y = saved.y.max(0) as usize;
        (self.pen.fg, self.pen.bg) = (saved.fg, saved.bg);
        self.pen_changed();
        self.charsets.current = saved.charset;
        self.restrict(self.size.cols - 1);
    }

    pub(crate) fn show_alternate(&mut self) {
        if self.alternate {
            return;
        }
        let erased = self.erased();
        self.alt.fill(self.size.rows, erased);
        (self.alt.x, self.alt.y) = (self.normal.x, self.normal.y);
        self.alternate = true;
        self.modes.kitty_keyboard = self.kitty[1].flags;
        self.event(Event::Screen { alternate: true });
    }

    pub(crate) fn show_normal(&mut self) {
        if !self.alternate {
            return;
        }
        (self.normal.x, self.normal.y) = (self.alt.x, self.alt.y);
        self.alt.retire(self.size.rows);
        self.kitty[1] = Kitty::default();
        self.alternate = false;
        self.modes.kitty_keyboard = self.kitty[0].flags;
        self.event(Event::Screen { alternate: false });
    }

    pub(crate) fn soft_reset(&mut self) {
        let rows = self.size.rows;
        self.modes.soft_reset();
        self.modes.cursor_visible = true;
        self.pen = Pen::default();
        self.pen_changed();
        self.charsets = Charsets::default();
        let buffer = self.buffer();
        (buffer.top, buffer.bottom) = (0, rows - 1);
        buffer.saved = Saved::default();
    }

    fn full_reset(&mut self) {
        let (size, cursor_visible) = (self.size, self.modes.cursor_visible);
        let (newline, cursor_blink) = (self.modes.newline, self.modes.cursor_blink);
        self.normal = Buffer::normal(size.rows, self.history_bytes);
        self.alt = Buffer::alternate(size.rows);
        if std::mem::take(&mut self.alternate) {
            self.event(Event::Screen { alternate: false });
        }
        self.pen = Pen::default();
        self.pen_changed();
        self.charsets = Charsets::default();
        // The client leaves these three as they are.
        self.modes = Modes { cursor_visible, newline, cursor_blink, ..Modes::default() };
        self.kitty = Default::default();
    }

    fn alignment_pattern(&mut self) {
        let cols = self.size.cols;
        let cell = Cell::new(u32::from(b'E'), 1, self.style());
        self.set_cursor(0, 0);
        let buffer = self.buffer();
        let y = buffer.y;
        for row in buffer.rows.iter_mut().skip(y) {
            row.set_all(cols, cell);
            row.wrapped = false;
        }
        self.set_cursor(0, 0);
    }

    fn designate(&mut self, place: u8, name: u8) {
        if let Some(set) = charset::by_name(name) {
            self.charsets.designate(place, set);
        }
    }
}

impl Actions for Terminal {
    fn print(&mut self, code: u32) {
        self.print_code(code);
    }

    fn execute(&mut self, control: u8) {
        match control {
            0x07 => self.event(Event::Bell),
            0x08 => self.backspace(),
            b'\t' => self.tab(),
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => self.buffer().x = 0,
            0x0e => self.charsets.shift(1),
            0x0f => self.charsets.shift(0),
            0x84 => self.index(),
            0x85 => {
                self.buffer().x = 0;
                self.index();
            }
            0x88 => self.tab_set(),
            _ => {}
        }
        self.printed = None;
    }

    fn csi(&mut self, name: u32, params: &Params) {
        self.control_sequence(name, params);
        // REP prints and keeps what it repeated only until here.
        self.printed = None;
    }

    fn esc(&mut self, name: u32) {
        let [.., intermediate, last] = name.to_be_bytes();
        match (intermediate, last) {
            (0, b'7') => self.save_cursor(),
            (0, b'8') => self.restore_cursor(),
            (0, b'D') => self.index(),
            (0, b'E') => {
                self.buffer().x = 0;
                self.index();
            }
            (0, b'H') => self.tab_set(),
            (0, b'M') => self.reverse_index(),
            (0, b'=') => self.modes.application_keypad = true,
            (0, b'>') => self.modes.application_keypad = false,
            (0, b'c') => self.full_reset(),
            (0, b'n' | b'}') => self.charsets.shift(2),
            (0, b'o' | b'|') => self.charsets.shift(3),
            (0, b'~') => self.charsets.shift(1),
            (b'%', b'@' | b'G') => {
                self.charsets.shift(0);
                self.charsets.designate(0, None);
            }
            (b'(', _) => self.designate(0, last),
            (b')' | b'-', _) => self.designate(1, last),
            (b'*' | b'.', _) => self.designate(2, last),
            (b'+', _) => self.designate(3, last),
            (b'#', b'8') => self.alignment_pattern(),
            _ => {}
        }
        self.printed = None;
    }

    fn osc(&mut self, text: &str, ended_by_bell: bool) {
        self.string(text, ended_by_bell);
        self.printed = None;
    }

    fn dcs(&mut self, name: u32, _params: &Params, text: &str) {
        self.device_string(name, text);
        self.printed = None;
    }
}
