//! Control sequences: moving, erasing, scrolling, modes, and questions.

use crate::buffer::Stop;
use crate::cell::{Cell, PROTECTED, Style};
use crate::modes::Switch;
use crate::params::Params;
use crate::terminal::Terminal;

/// Prefix, intermediates and final byte in one number, as the parser counts them.
const fn name(bytes: &[u8]) -> u32 {
    let mut number = 0;
    let mut at = 0;
    while at < bytes.len() {
        number = number << 8 | bytes[at] as u32;
        at += 1;
    }
    number
}

macro_rules! names {
    ($($constant:ident = $bytes:literal;)*) => { $(const $constant: u32 = name($bytes);)* };
}

names! {
    ICH = b"@"; CUU = b"A"; CUD = b"B"; CUF = b"C"; CUB = b"D"; CNL = b"E"; CPL = b"F"; CHA = b"G"; CUP = b"H";
    CHT = b"I"; ED = b"J"; EL = b"K"; IL = b"L"; DL = b"M"; DCH = b"P"; SU = b"S"; SD = b"T"; ECH = b"X"; CBT = b"Z";
    HPA = b"`"; HPR = b"a"; REP = b"b"; DA1 = b"c"; VPA = b"d"; VPR = b"e"; HVP = b"f"; TBC = b"g"; SM = b"h"; RM = b"l";
    SGR = b"m"; DSR = b"n"; DECSTBM = b"r"; SCOSC = b"s"; WINDOW = b"t"; SCORC = b"u";
    SL = b" @"; SR = b" A"; DECSCUSR = b" q"; DECSTR = b"!p"; DECSCA = b"\"q"; DECIC = b"'}"; DECDC = b"'~";
    DECRQM_ANSI = b"$p"; DECRQM = b"?$p"; DECSED = b"?J"; DECSEL = b"?K"; DECSET = b"?h"; DECRST = b"?l"; DECDSR = b"?n";
    DA2 = b">c"; XTVERSION = b">q"; XTMODKEYS = b">m"; XTMODKEYS_OFF = b">n";
    KITTY_ASK = b"?u"; KITTY_PUSH = b">u"; KITTY_POP = b"<u"; KITTY_SET = b"=u";
}

/// Titles kept by the pushing of them.
const TITLES: usize = 10;

/// What erasing spares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spare {
    Nothing,
    Protected,
}

impl Terminal {
    pub(crate) fn control_sequence(&mut self, name: u32, params: &Params) {
        let (n, cols) = (params.count(), self.size.cols);
        match name {
            CUU => self.up(n),
            CUD => self.down(n),
            CUF | HPR => self.move_by(n as i64, 0),
            CUB => self.move_by(-(n as i64), 0),
            CNL => {
                self.down(n);
                self.buffer().x = 0;
            }
            CPL => {
                self.up(n);
                self.buffer().x = 0;
            }
            CHA | HPA => {
                let y = self.buffer().y as i64;
                self.set_cursor(n as i64 - 1, y);
            }
            CUP | HVP => self.set_cursor(i64::from(params.get(1).max(1)) - 1, n as i64 - 1),
            VPA => {
                let x = self.buffer().x as i64;
                self.set_cursor(x, n as i64 - 1);
            }
            VPR => self.move_by(0, n as i64),
            CHT | CBT => self.tabs(n.min(cols), name == CHT),
            TBC => self.tab_clear(params.get(0)),
            ED => self.erase_display(params.get(0), Spare::Nothing),
            DECSED => self.erase_display(params.get(0), Spare::Protected),
            EL => self.erase_line(params.get(0), Spare::Nothing),
            DECSEL => self.erase_line(params.get(0), Spare::Protected),
            ECH => self.erase_chars(n),
            ICH | DCH => self.shift_chars(n, name == ICH),
            IL | DL => self.shift_lines(n, name == IL),
            SU | SD => self.scroll_lines(n, name == SU),
            SL | SR | DECIC | DECDC => self.shift_columns(name, n),
            REP => self.repeat(n),
            _ => self.setting(name, params),
        }
    }

    fn setting(&mut self, name: u32, params: &Params) {
        match name {
            SM => self.ansi_modes(params, Switch::On),
            RM => self.ansi_modes(params, Switch::Off),
            DECSET => params.values().iter().for_each(|mode| self.private_mode(*mode, Switch::On)),
            DECRST => params.values().iter().for_each(|mode| self.private_mode(*mode, Switch::Off)),
            SGR => self.rendition(params),
            DECSTBM => self.set_region(params),
            DECSTR => self.soft_reset(),
            DECSCUSR => self.modes.cursor_style = u8::try_from(params.get(0)).unwrap_or(0).min(6),
            DECSCA => match params.get(0) {
                1 => self.pen.bg |= PROTECTED,
                0 | 2 => self.pen.bg &= !PROTECTED,
                _ => {}
            },
            SCOSC => self.save_cursor(),
            SCORC => self.restore_cursor(),
            WINDOW => self.window(params),
            XTMODKEYS if params.get(0) == 4 => self.modes.modify_other_keys = params.get(1).clamp(0, 3) as u8,
            XTMODKEYS if params.get(0) == 0 => self.modes.modify_other_keys = 0,
            XTMODKEYS_OFF if params.get(0) == 4 => self.modes.modify_other_keys = 0,
            KITTY_PUSH | KITTY_POP | KITTY_SET => self.kitty_keys(name, params),
            _ => self.question(name, params),
        }
    }

    // Moving.

    pub(crate) fn set_cursor(&mut self, x: i64, y: i64) {
        let origin = self.modes.origin;
        let buffer = self.buffer();
        let y = if origin { y + buffer.top as i64 } else { y };
        buffer.x = x.max(0) as usize;
        buffer.y = y.max(0) as usize;
        self.restrict(self.size.cols - 1);
    }

    /// Relative, but (like the client) the region's first row is added again when rows are counted from there.
    fn move_by(&mut self, dx: i64, dy: i64) {
        self.restrict(self.size.cols - 1);
        let (x, y) = (self.buffer().x as i64, self.buffer().y as i64);
        self.set_cursor(x + dx, y + dy);
    }

    fn up(&mut self, n: usize) {
        let buffer = self.buffer();
        let most = buffer.y.checked_sub(buffer.top).unwrap_or(n);
        self.move_by(0, -(n.min(most) as i64));
    }

    fn down(&mut self, n: usize) {
        let buffer = self.buffer();
        let most = buffer.bottom.checked_sub(buffer.y).unwrap_or(n);
        self.move_by(0, n.min(most) as i64);
    }

    fn tabs(&mut self, n: usize, forward: bool) {
        let cols = self.size.cols;
        let buffer = self.buffer();
        if buffer.x >= cols {
            return;
        }
        for _ in 0..n {
            buffer.x = if forward { buffer.next_tab(cols) } else { buffer.previous_tab(buffer.x, cols) };
        }
    }

    pub(crate) fn tab_set(&mut self) {
        let cols = self.size.cols;
        self.buffer().set_tab(cols, Stop::Here);
    }

    fn tab_clear(&mut self, which: i32) {
        let cols = self.size.cols;
        match which {
            0 => self.buffer().set_tab(cols, Stop::Gone),
            3 => self.buffer().clear_tabs(cols),
            _ => {}
        }
    }

    fn set_region(&mut self, params: &Params) {
        let rows = self.size.rows;
        let top = params.count();
        let bottom = match params.get(1) {
            0 => rows,
            bottom => (bottom as usize).min(rows),
        };
        if bottom > top {
            let buffer = self.buffer();
            (buffer.top, buffer.bottom) = (top - 1, bottom - 1);
            self.set_cursor(0, 0);
        }
    }

    // Erasing.

    fn erase_row(&mut self, y: usize, from: usize, to: usize, spare: Spare) {
        let (fill, cols) = (Cell::empty(self.erased()), self.size.cols);
        let row = &mut self.buffer().rows[y];
        match spare {
            Spare::Nothing => row.erase(from, to, fill, cols),
            Spare::Protected => row.erase_unprotected(from, to, fill, cols),
        }
    }

    fn erase_rows(&mut self, rows: std::ops::Range<usize>, spare: Spare) {
        let (erased, cols) = (self.erased(), self.size.cols);
        for row in self.buffer().rows.range_mut(rows) {
            match spare {
                Spare::Nothing => row.reset(erased),
                Spare::Protected => {
                    (0..cols)
                        .filter(|&at| !row.get(at).is_protected())
                        .collect::<Vec<_>>()
                        .into_iter()
                        .for_each(|at| row.set(at, Cell::empty(erased)));
                    row.wrapped = false;
                }
            }
        }
    }

    fn erase_display(&mut self, what: i32, spare: Spare) {
        let (cols, rows) = (self.size.cols, self.size.rows);
        self.restrict(cols);
        let (x, y) = (self.buffer().x, self.buffer().y);
        match what {
            0 => {
                self.erase_row(y, x, cols, spare);
                if x == 0 {
                    self.buffer().row().wrapped = false;
                }
                self.erase_rows(y + 1..rows, spare);
            }
            1 => {
                self.erase_row(y, 0, x + 1, spare);
                self.buffer().row().wrapped = false;
                if x + 1 >= cols && y + 1 < rows {
                    self.buffer().rows[y + 1].wrapped = false;
                }
                self.erase_rows(0..y, spare);
            }
            2 => self.erase_rows(0..rows, spare),
            3 => self.buffer().clear_history(),
            _ => {}
        }
    }

    fn erase_line(&mut self, what: i32, spare: Spare) {
        let cols = self.size.cols;
        self.restrict(cols);
        let (x, y) = (self.buffer().x, self.buffer().y);
        match what {
            0 => self.erase_row(y, x, cols, spare),
            1 => self.erase_row(y, 0, x + 1, spare),
            2 => self.erase_row(y, 0, cols, spare),
            _ => return,
        }
        if what == 2 || (what == 0 && x == 0) {
            self.buffer().row().wrapped = false;
        }
    }

    fn erase_chars(&mut self, n: usize) {
        self.restrict(self.size.cols - 1);
        let (x, y) = (self.buffer().x, self.buffer().y);
        self.erase_row(y, x, x.saturating_add(n), Spare::Nothing);
    }

    // Inserting, deleting, scrolling.

    fn shift_chars(&mut self, n: usize, insert: bool) {
        let (fill, cols) = (Cell::empty(self.erased()), self.size.cols);
        self.restrict(cols - 1);
        let buffer = self.buffer();
        let x = buffer.x;
        if insert {
            buffer.row().insert(x, n, fill, cols);
        } else {
            buffer.row().delete(x, n, fill, cols);
        }
    }

    fn in_region(&mut self) -> bool {
        let buffer = self.buffer();
        (buffer.top..=buffer.bottom).contains(&buffer.y)
    }

    fn shift_lines(&mut self, n: usize, insert: bool) {
        self.restrict(self.size.cols - 1);
        if !self.in_region() {
            return;
        }
        let erased = self.erased();
        let buffer = self.buffer();
        let (y, bottom) = (buffer.y, buffer.bottom);
        if insert {
            buffer.rotate(bottom, y, n, erased);
        } else {
            buffer.rotate(y, bottom, n, erased);
        }
        buffer.x = 0;
    }

    fn scroll_lines(&mut self, n: usize, up: bool) {
        let erased = self.erased();
        let buffer = self.buffer();
        let (top, bottom) = (buffer.top, buffer.bottom);
        if up {
            buffer.rotate(top, bottom, n, erased);
        } else {
            buffer.rotate(bottom, top, n, Style::default());
        }
    }

    fn shift_columns(&mut self, name: u32, n: usize) {
        if !self.in_region() {
            return;
        }
        let (fill, cols) = (Cell::empty(self.erased()), self.size.cols);
        let buffer = self.buffer();
        let x = if name == DECIC || name == DECDC { buffer.x } else { 0 };
        for row in buffer.rows.range_mut(buffer.top..=buffer.bottom) {
            match name {
                SR | DECIC => row.insert(x, n, fill, cols),
                _ => row.delete(x, n, fill, cols),
            }
            row.wrapped = false;
        }
    }

    /// More than a screenful shows nothing new.
    fn repeat(&mut self, n: usize) {
        let Some(printed) = self.printed else { return };
        let Some(at) = self.buffer().x.checked_sub(usize::from(printed.width)) else { return };
        let cell = self.buffer().row().get(at);
        let text = self.cell_text(cell, &mut [0; 4]).to_string();
        for _ in 0..n.min(self.size.cols * self.size.rows) {
            text.chars().for_each(|char| self.print_code(char as u32));
        }
    }

    // Modes.

    fn ansi_modes(&mut self, params: &Params, to: Switch) {
        for mode in params.values() {
            match mode {
                4 => self.modes.insert = to == Switch::On,
                20 => self.modes.newline = to == Switch::On,
                _ => {}
            }
        }
    }

    fn private_mode(&mut self, mode: i32, to: Switch) {
        if self.modes.set_private(mode, to) {
            if mode == 6 {
                self.set_cursor(0, 0);
            }
            return;
        }
        match (mode, to) {
            (2, Switch::On) => (0..4).for_each(|place| self.charsets.designate(place, None)),
            (1048, Switch::On) => self.save_cursor(),
            (1048, Switch::Off) => self.restore_cursor(),
            (1049, Switch::On) => {
                self.save_cursor();
                self.show_alternate();
            }
            (1049, Switch::Off) => {
                self.show_normal();
                self.restore_cursor();
            }
            (47 | 1047, Switch::On) => self.show_alternate(),
            (47 | 1047, Switch::Off) => self.show_normal(),
            _ => {}
        }
    }

    fn kitty_keys(&mut self, name: u32, params: &Params) {
        let kitty = &mut self.kitty[usize::from(self.alternate)];
        let flags = (params.get(0) & 0x1f) as u8;
        match name {
            KITTY_PUSH => kitty.push(flags),
            KITTY_POP => kitty.pop(params.count()),
            _ => kitty.set(flags, params.get(1)),
        }
        self.modes.kitty_keyboard = kitty.flags;
    }

    /// Window operations: only the size may be asked for, and titles are put aside and taken back. A title is never told:
    /// whoever can set it could type with it.
    fn window(&mut self, params: &Params) {
        let (cols, rows) = (self.size.cols, self.size.rows);
        match params.get(0) {
            18 => self.fed.reply(format!("\x1b[8;{rows};{cols}t")),
            19 => self.fed.reply(format!("\x1b[9;{rows};{cols}t")),
            22 => {
                if self.titles.len() == TITLES {
                    self.titles.remove(0);
                }
                self.titles.push((self.title.clone(), self.icon.clone()));
            }
            23 => {
                if let Some((title, icon)) = self.titles.pop() {
                    self.set_title(&title);
                    self.icon = icon;
                }
            }
            _ => {}
        }
    }

    // Questions. The answers are what xterm.js would say, as it is what shows the result.

    fn question(&mut self, name: u32, params: &Params) {
        let first = params.get(0);
        match (name, first) {
            (DA1, 0) => self.fed.reply("\x1b[?1;2c"),
            (DA2, 0) => self.fed.reply("\x1b[>0;276;0c"),
            (DSR, 5) => self.fed.reply("\x1b[0n"),
            (DSR, 6) => self.cursor_report(""),
            (DECDSR, 6) => self.cursor_report("?"),
            (DECRQM_ANSI, mode) => {
                let value = self.modes.report_ansi(mode);
                self.fed.reply(format!("\x1b[{mode};{value}$y"));
            }
            (DECRQM, mode) => {
                let value = self.modes.report_private(mode, self.alternate);
                self.fed.reply(format!("\x1b[?{mode};{value}$y"));
            }
            (XTVERSION, 0) => self.fed.reply(concat!("\x1bP>|trl(", env!("CARGO_PKG_VERSION"), ")\x1b\\")),
            (KITTY_ASK, _) => {
                let flags = self.modes.kitty_keyboard;
                self.fed.reply(format!("\x1b[?{flags}u"));
            }
            _ => {}
        }
    }

    fn cursor_report(&mut self, prefix: &str) {
        let (origin, cols) = (self.modes.origin, self.size.cols);
        let buffer = self.buffer();
        let y = if origin { buffer.y.saturating_sub(buffer.top) } else { buffer.y };
        let x = buffer.x.min(cols - 1);
        self.fed.reply(format!("\x1b[{prefix}{};{}R", y + 1, x + 1));
    }

    /// DECRQSS and XTGETTCAP.
    pub(crate) fn device_string(&mut self, name: u32, text: &str) {
        const DECRQSS: u32 = self::name(b"$q");
        const XTGETTCAP: u32 = self::name(b"+q");
        if name == XTGETTCAP {
            // Nothing is known by that name: better said than waited for.
            return self.fed.reply("\x1bP0+r\x1b\\");
        }
        if name != DECRQSS {
            return;
        }
        let protected = u8::from(self.pen.bg & PROTECTED != 0);
        let (top, bottom) = (self.buffer().top + 1, self.buffer().bottom + 1);
        let answer = match text {
            "\"q" => format!("1$r{protected}\"q"),
            "\"p" => "1$r61;1\"p".to_string(),
            "r" => format!("1$r{top};{bottom}r"),
            "m" => format!("1$r{}m", self.pen_parameters()),
            " q" => format!("1$r{} q", self.modes.cursor_style),
            _ => "0$r".to_string(),
        };
        self.fed.reply(format!("\x1bP{answer}\x1b\\"));
    }
}
