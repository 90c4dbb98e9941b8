//! Every field of the state, for comparing two screens: with each other, or with another terminal's.

use serde::Serialize;

use crate::buffer::Buffer;
use crate::cell::{COLOR, Cell, EXTENDED, UNDERLINE};
use crate::modes::Modes;
use crate::row::Row;
use crate::screen::Screen;
use crate::snapshot::Writer;

/// A cell: text, width, foreground and background words, underline word, link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DumpedCell(pub String, pub u8, pub u32, pub u32, pub u32, pub String);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DumpedLine {
    pub wrapped: bool,
    pub cells: Vec<DumpedCell>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DumpedBuffer {
    /// History first.
    pub lines: Vec<DumpedLine>,
    pub x: usize,
    pub y: usize,
    pub top: usize,
    pub bottom: usize,
    pub tabs: Vec<usize>,
    /// Column, row, foreground, background, name of the set.
    pub saved: (usize, i64, u32, u32, u8),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dump {
    pub alternate: bool,
    pub normal: DumpedBuffer,
    pub alt: DumpedBuffer,
    pub modes: Modes,
    /// Foreground, background and underline words of the pen.
    pub pen: (u32, u32, u32),
    /// Names of the four sets and of the current one, and the level.
    pub charsets: ([u8; 4], u8, u8),
    pub title: String,
    pub icon: String,
    pub titles: Vec<(String, String)>,
    pub cwd: Option<String>,
    pub palette: String,
    pub kitty: Vec<Vec<u8>>,
}

/// The style of an underline counts only where there is one.
fn in_force(fg: u32, underline: u32) -> u32 {
    if fg & UNDERLINE == 0 { underline & COLOR } else { underline }
}

impl Dump {
    /// The first few differences, in words.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, a, b) in [("normal", &self.normal, &other.normal), ("alt", &self.alt, &other.alt)] {
            buffer_differences(name, a, b, &mut found);
        }
        let rest = |dump: &Self| {
            let blank = DumpedBuffer { lines: Vec::new(), tabs: Vec::new(), ..dump.normal };
            let dump = Self { normal: blank.clone(), alt: blank, ..dump.clone() };
            let Dump { alternate, modes, pen, charsets, title, icon, titles, cwd, palette, kitty, .. } = dump;
            format!(
                "{alternate} {modes:?} {pen:x?} {charsets:?} {title} {icon} {titles:?} {cwd:?} {palette:?} {kitty:?}"
            )
        };
        if rest(self) != rest(other) {
            found.push(format!("{} != {}", rest(self), rest(other)));
        }
        found.truncate(5);
        found
    }
}

fn buffer_differences(name: &str, a: &DumpedBuffer, b: &DumpedBuffer, found: &mut Vec<String>) {
    let geometry = |it: &DumpedBuffer| {
        let DumpedBuffer { lines, x, y, top, bottom, tabs, saved } = it;
        format!("{} lines, {x},{y} region {top},{bottom} tabs {tabs:?} saved {saved:x?}", lines.len())
    };
    if geometry(a) != geometry(b) {
        found.push(format!("{name}: {} != {}", geometry(a), geometry(b)));
    }
    for (at, (a, b)) in a.lines.iter().zip(&b.lines).enumerate() {
        if a.wrapped != b.wrapped {
            found.push(format!("{name} line {at}: wrapped {} != {}", a.wrapped, b.wrapped));
        }
        let cell = a.cells.iter().zip(&b.cells).position(|(a, b)| a != b);
        if let Some(x) = cell {
            found.push(format!("{name} line {at} column {x}: {:x?} != {:x?}", a.cells[x], b.cells[x]));
        }
    }
}

impl Screen {
    /// Everything, field by field.
    pub fn dump(&self) -> Dump {
        let terminal = &self.terminal;
        let name = |set: Option<&crate::charset::Charset>| set.map_or(b'B', |set| set.name);
        let charsets = terminal.charsets;
        let pen = terminal.pen;
        let levels = |kitty: &crate::modes::Kitty| kitty.below.iter().copied().chain([kitty.flags]).collect();
        Dump {
            alternate: terminal.alternate,
            normal: self.dump_buffer(&terminal.normal),
            alt: self.dump_buffer(&terminal.alt),
            modes: terminal.modes,
            pen: (pen.fg, pen.bg, in_force(pen.fg, pen.underline)),
            charsets: (charsets.sets.map(name), name(charsets.current), charsets.level),
            title: terminal.title.clone(),
            icon: terminal.icon.clone(),
            titles: terminal.titles.clone(),
            cwd: terminal.cwd.clone(),
            palette: terminal.palette.replay(),
            kitty: terminal.kitty.iter().map(levels).collect(),
        }
    }

    fn dump_buffer(&self, buffer: &Buffer) -> DumpedBuffer {
        let cols = self.terminal.size.cols;
        let mut lines = Vec::new();
        for at in 0..buffer.history_len() {
            if let Some(line) = buffer.history.as_ref().and_then(|history| history.get(at)) {
                let mut writer = Writer::new(&self.terminal);
                let row = writer.unpack(line);
                lines.push(self.dump_row(&row, |cell| writer.cell(cell)));
            }
        }
        for row in &buffer.rows {
            lines.push(self.dump_row(row, |cell| Writer::new(&self.terminal).cell(cell)));
        }
        let saved = buffer.saved;
        DumpedBuffer {
            lines,
            x: buffer.x,
            y: buffer.y,
            top: buffer.top,
            bottom: buffer.bottom,
            tabs: buffer.changed_tabs(cols).unwrap_or_else(|| (0..cols).step_by(8).collect()),
            saved: (saved.x, saved.y, saved.fg, saved.bg, saved.charset.map_or(b'B', |set| set.name)),
        }
    }

    fn dump_row(&self, row: &Row, mut text: impl FnMut(Cell) -> String) -> DumpedLine {
        let interned = &self.terminal.interned;
        let mut dump_cell = |cell: Cell| {
            let ext = if cell.bg & EXTENDED == 0 { None } else { Some(interned.ext_value(cell.ext)) };
            let link = ext.and_then(|ext| interned.link_value(ext.link)).map(|link| link.uri.to_string());
            DumpedCell(
                text(cell),
                cell.width(),
                cell.fg,
                cell.bg,
                ext.map_or(0, |ext| in_force(cell.fg, ext.underline)),
                link.unwrap_or_default(),
            )
        };
        DumpedLine {
            wrapped: row.wrapped,
            cells: row.cells(self.terminal.size.cols).map(&mut dump_cell).collect(),
        }
    }
}
