//! What there is beside the rows: titles, tab stops, saved cursors, modes, and the pen the next character is written with.

use super::*;

impl Writer<'_> {
    pub(super) fn names(&mut self) {
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

    pub(super) fn name(&mut self, title: &str, icon: &str) {
        if !(title.is_empty() && icon.is_empty() && self.terminal.titles.is_empty()) {
            self.text(&format!("\x1b]2;{title}\x1b\\\x1b]1;{icon}\x1b\\"));
        }
    }

    /// Tab stops, saved cursor, region, cursor and keyboard levels of a screen.
    pub(super) fn geometry(&mut self, buffer: &Buffer, kitty: &Kitty) {
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

    pub(super) fn saved_cursor(&mut self, buffer: &Buffer) {
        let saved = buffer.saved;
        let last = self.terminal.size.rows as i64 - 1;
        self.place(saved.x.min(self.cols() - 1), saved.y.clamp(0, last) as usize);
        self.save(buffer);
    }

    /// Saves the cursor where it is, with pen and set.
    pub(super) fn save(&mut self, buffer: &Buffer) {
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
    pub(super) fn modes(&mut self) {
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
    pub(super) fn finish(&mut self) {
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
                // Only the first character of a cell moves others aside.
                let first = terminal.cell_text(cell, &mut [0; 4]).chars().next().map_or(0, u32::from);
                self.csi(usize::from(grapheme::width(first)), 'P');
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
    pub(super) fn pen_style(&mut self) {
        let (pen, style) = (self.terminal.pen, self.terminal.style());
        let link = if pen.bg & EXTENDED == 0 { 0 } else { pen.link };
        if link != self.link {
            self.open_link(link);
        }
        self.text(&format!("\x1b[{}m", sgr::parameters(style.fg, style.bg, pen.underline)));
        self.protection(style.bg);
    }

    pub(super) fn can_restore_pen(&self, buffer: &Buffer) -> bool {
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
    pub(super) fn restored_pen(&mut self, buffer: &Buffer) -> bool {
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

    /// Returns the cell of the character just printed, if printing that cell again leads to the same state.
    pub(super) fn joined_cell(&self) -> Option<Cell> {
        let terminal = self.terminal;
        let buffer = terminal.shown();
        let printed = terminal.printed?;
        let at = buffer.x.checked_sub(usize::from(printed.width))?;
        let cell = buffer.rows.get(buffer.y)?.get(at);
        let fits = cell.has_content() && cell.width() == printed.width && cell.style() == terminal.style();
        let mut room = [0; 4];
        let text = terminal.cell_text(cell, &mut room);
        let charset = terminal.charsets.current;
        let kept = charset.is_none_or(|set| text.chars().all(|char| set.map(char as u32) == char as u32));
        (fits && kept && grapheme::cell(text) == Some(printed)).then_some(cell)
    }

    pub(super) fn place_in_region(&mut self, x: usize, y: usize) {
        let buffer = self.terminal.shown();
        let y = if self.terminal.modes.origin { y.saturating_sub(buffer.top) } else { y };
        self.place(x, y);
    }

    /// Writes the last character of the row again: only so the cursor gets beyond it.
    pub(super) fn draw_last(&mut self, buffer: &Buffer) {
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
    pub(super) fn pen_and_charsets(&mut self, buffer: &Buffer, last_comes: bool) -> bool {
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
    pub(super) fn restored_from_alternate(&mut self) -> bool {
        let terminal = self.terminal;
        if terminal.alternate || !self.can_restore_pen(&terminal.alt) {
            return false;
        }
        self.text("\x1b[?47h");
        let done = self.restored_pen(&terminal.alt);
        self.text("\x1b[?47l");
        done
    }

    pub(super) fn charsets(&mut self) {
        let charsets = self.terminal.charsets;
        for (set, place) in charsets.sets.iter().zip(["(", ")", "*", "+"]) {
            let name = set.map_or(b'B', |set| set.name);
            self.text(&format!("\x1b{place}{}", name as char));
        }
        self.text(["\x0f", "\x0e", "\x1bn", "\x1bo"][usize::from(charsets.level & 3)]);
    }
}

fn percent_encoded(byte: u8) -> String {
    match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}
