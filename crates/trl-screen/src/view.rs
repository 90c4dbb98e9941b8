//! What a person would see, for those who cannot: as text, with escape sequences, or cell by cell.

use serde::Serialize;

use crate::cell::{
    BLINK, BOLD, Cell, DIM, EXTENDED, INVERSE, INVISIBLE, ITALIC, MODE, MODE_16, MODE_256, MODE_RGB,
    OVERLINE, STRIKE, Style, UNDERLINE, UNDERLINE_SHIFT,
};
use crate::intern::Ext;
use crate::modes::Modes;
use crate::row::Row;
use crate::screen::Screen;
use crate::snapshot::Writer;

/// A colour of the palette, or one by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Color {
    Index(u8),
    Rgb(u8, u8, u8),
}

/// Text of one style within a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "attributes are independent of each other")]
pub struct Span {
    /// The first column, from 0.
    pub x: u16,
    /// How many columns it takes; wide characters take two.
    pub width: u16,
    /// Cells nothing was written to are spaces.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fg: Option<Color>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bg: Option<Color>,
    #[serde(skip_serializing_if = "is_false")]
    pub bold: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub dim: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub italic: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub blink: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub inverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub hidden: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub strike: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub overline: bool,
    /// `single`, `double`, `curly`, `dotted` or `dashed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underline: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underline_color: Option<Color>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cursor {
    pub x: u16,
    pub y: u16,
    pub visible: bool,
    /// The next character goes to the row below.
    pub wraps: bool,
    /// The shape of DECSCUSR, 0 to 6.
    pub style: u8,
}

/// Everything there is to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    pub cols: u16,
    pub rows: u16,
    pub cursor: Cursor,
    pub alternate: bool,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    pub modes: Modes,
    /// From the top; a row without anything has no spans.
    pub lines: Vec<Vec<Span>>,
    /// Lines above the screen.
    pub history_lines: u64,
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Ansi,
}

/// A line that left the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryLine {
    /// Counted from the first line ever, until a change of width lays the history out anew.
    pub number: u64,
    /// Continues the line before.
    pub wrapped: bool,
    pub text: String,
}

impl Screen {
    /// The rows as text, without the spaces at their ends.
    pub fn text(&self) -> String {
        let rows = self.terminal.shown().rows.iter();
        rows.map(|row| self.row_text(row).trim_end().to_string()).collect::<Vec<_>>().join("\n")
    }

    /// The rows with colours and attributes, each starting from a reset pen.
    pub fn ansi(&self) -> String {
        let rows = self.terminal.shown().rows.iter();
        rows.map(|row| Writer::new(&self.terminal).line(row)).collect::<Vec<_>>().join("\r\n")
    }

    pub fn cells(&self) -> View {
        let (cols, rows) = self.size();
        let terminal = &self.terminal;
        let buffer = terminal.shown();
        View {
            cols,
            rows,
            cursor: Cursor {
                x: (buffer.x as u16).min(cols - 1),
                y: buffer.y as u16,
                visible: terminal.modes.cursor_visible,
                wraps: buffer.x >= usize::from(cols),
                style: terminal.modes.cursor_style,
            },
            alternate: terminal.alternate,
            title: terminal.title.clone(),
            cwd: terminal.cwd.clone(),
            modes: terminal.modes,
            lines: buffer.rows.iter().map(|row| self.spans(row)).collect(),
            history_lines: terminal.normal.history_len() as u64,
        }
    }

    /// The number of the oldest line still there, and of the one after the last.
    pub fn history_range(&self) -> std::ops::Range<u64> {
        let history = self.terminal.normal.history.as_ref();
        let first = history.map_or(0, |history| history.dropped());
        first..first + self.terminal.normal.history_len() as u64
    }

    /// What the history costs.
    pub fn history_bytes(&self) -> usize {
        self.terminal.normal.history.as_ref().map_or(0, |history| history.bytes())
    }

    /// At most `count` lines before line `before`, oldest first.
    pub fn history(&self, before: u64, count: usize, format: Format) -> Vec<HistoryLine> {
        let range = self.history_range();
        let Some(history) = &self.terminal.normal.history else { return Vec::new() };
        let end = before.clamp(range.start, range.end);
        let start = end.saturating_sub(count as u64).max(range.start);
        let line = |number: u64| {
            let line = history.get((number - range.start) as usize)?;
            let mut writer = Writer::new(&self.terminal);
            let row = writer.unpack(line);
            let text = match format {
                Format::Text => writer.plain(&row).trim_end().to_string(),
                Format::Ansi => writer.line(&row),
            };
            Some(HistoryLine { number, wrapped: row.wrapped, text })
        };
        (start..end).filter_map(line).collect()
    }

    fn row_text(&self, row: &Row) -> String {
        Writer::new(&self.terminal).plain(row)
    }

    fn spans(&self, row: &Row) -> Vec<Span> {
        let cols = self.terminal.size.cols;
        let mut spans: Vec<(Style, Span)> = Vec::new();
        let mut at = 0;
        let end = if row.pad() == Cell::BLANK { row.written().len() } else { cols };
        while at < end {
            let cell = row.get(at);
            let width = cell.width().max(1);
            if spans.last().is_none_or(|(style, _)| *style != cell.style()) {
                spans.push((cell.style(), self.span(at, cell.style())));
            }
            if let Some((_, span)) = spans.last_mut() {
                span.width += u16::from(width);
                match self.terminal.cell_text(cell, &mut [0; 4]) {
                    "" => span.text.push(' '),
                    text => span.text.push_str(text),
                }
            }
            at += usize::from(width);
        }
        spans.into_iter().map(|(_, span)| span).collect()
    }

    fn span(&self, x: usize, style: Style) -> Span {
        let (fg, bg) = (style.fg, style.bg);
        let ext = if bg & EXTENDED == 0 {
            Ext { underline: 0, link: 0 }
        } else {
            self.terminal.interned.ext_value(style.ext)
        };
        let underline = match ext.underline >> UNDERLINE_SHIFT {
            2 => "double",
            3 => "curly",
            4 => "dotted",
            5 => "dashed",
            _ => "single",
        };
        Span {
            x: x as u16,
            fg: color(fg),
            bg: color(bg),
            bold: fg & BOLD != 0,
            dim: bg & DIM != 0,
            italic: bg & ITALIC != 0,
            blink: fg & BLINK != 0,
            inverse: fg & INVERSE != 0,
            hidden: fg & INVISIBLE != 0,
            strike: fg & STRIKE != 0,
            overline: bg & OVERLINE != 0,
            underline: (fg & UNDERLINE != 0).then_some(underline),
            underline_color: color(ext.underline),
            link: self.terminal.interned.link_value(ext.link).map(|link| link.uri.to_string()),
            ..Span::default()
        }
    }
}

fn color(word: u32) -> Option<Color> {
    let [_, r, g, b] = word.to_be_bytes();
    match word & MODE {
        MODE_16 | MODE_256 => Some(Color::Index(b)),
        MODE_RGB => Some(Color::Rgb(r, g, b)),
        _ => None,
    }
}
