//! The screen as the rest of the daemon sees it: bytes in, state out.

use crate::decode::Decoder;
use crate::event::Fed;
use crate::modes::Modes;
use crate::osc::Theme;
use crate::parser::Parser;
use crate::reflow::Size;
use crate::snapshot;
use crate::terminal::Terminal;

/// A screen has at least two columns, or a wide character would have no place.
const MIN_COLS: u16 = 2;
const MIN_ROWS: u16 = 1;
/// More than any display has; a cell is 16 bytes.
const MAX_COLS: u16 = 1000;
const MAX_ROWS: u16 = 1000;

/// Bytes after which tables are looked at: what one piece can add is bounded.
const PIECE: usize = 64 * 1024;

/// A terminal's screen, built from what its program writes.
#[derive(Debug)]
pub struct Screen {
    pub(crate) terminal: Terminal,
    parser: Parser,
    decoder: Decoder,
    ground: u64,
}

/// A state, and which byte of the stream it stands before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Live bytes continue here. Bytes of an unfinished character are left to them.
    pub offset: u64,
    /// To be written to a terminal of the same size, fresh or just reset.
    pub bytes: Vec<u8>,
}

impl Screen {
    /// A blank screen; `history_bytes` bounds what is kept of the lines that leave it at the top.
    pub fn new(cols: u16, rows: u16, history_bytes: usize) -> Self {
        Self {
            terminal: Terminal::new(size(cols, rows), history_bytes),
            parser: Parser::default(),
            decoder: Decoder::default(),
            ground: 0,
        }
    }

    /// Takes what the program wrote. Where it was cut makes no difference.
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        for piece in bytes.chunks(PIECE) {
            self.feed_piece(piece);
            self.terminal.tidy();
        }
        std::mem::take(&mut self.terminal.fed)
    }

    fn feed_piece(&mut self, mut bytes: &[u8]) {
        while let Some(&first) = bytes.first() {
            if self.parser.is_ground() && self.decoder.pending() == 0 {
                let plain = bytes.iter().position(|byte| !matches!(byte, 0x20..0x7f)).unwrap_or(bytes.len());
                if plain > 0 {
                    let (text, rest) = bytes.split_at(plain);
                    self.terminal.offset += plain as u64;
                    self.terminal.print_ascii(text);
                    bytes = rest;
                    continue;
                }
                self.ground = self.terminal.offset;
            }
            self.terminal.offset += 1;
            if let Some(code) = self.decoder.push(first) {
                self.parser.advance(code, &mut self.terminal);
            }
            bytes = &bytes[1..];
        }
    }

    /// Another size. Sizes no display has are brought to the nearest that one could have.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        let to = size(cols, rows);
        if to != self.terminal.size {
            self.terminal.resize(to);
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (self.terminal.size.cols as u16, self.terminal.size.rows as u16)
    }

    /// The whole state, with all the history there is.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_with(usize::MAX)
    }

    /// The whole state, with at most so many lines of history.
    pub fn snapshot_with(&self, history_lines: usize) -> Snapshot {
        Snapshot {
            offset: self.terminal.offset - u64::from(self.decoder.pending()),
            bytes: snapshot::write(&self.terminal, &self.parser, history_lines),
        }
    }

    /// Bytes fed so far.
    pub fn offset(&self) -> u64 {
        self.terminal.offset
    }

    /// The last offset at which no sequence and no character was unfinished.
    pub fn ground_offset(&self) -> u64 {
        if self.parser.is_ground() && self.decoder.pending() == 0 {
            self.terminal.offset
        } else {
            self.ground
        }
    }

    pub fn modes(&self) -> Modes {
        self.terminal.modes
    }

    pub fn title(&self) -> &str {
        &self.terminal.title
    }

    /// The directory the shell last told.
    pub fn cwd(&self) -> Option<&str> {
        self.terminal.cwd.as_deref()
    }

    pub fn is_alternate(&self) -> bool {
        self.terminal.alternate
    }

    /// The colours a program is told when it asks.
    pub fn set_theme(&mut self, theme: Theme) {
        *self.terminal.palette.theme = theme;
    }
}

fn size(cols: u16, rows: u16) -> Size {
    Size {
        cols: usize::from(cols.clamp(MIN_COLS, MAX_COLS)),
        rows: usize::from(rows.clamp(MIN_ROWS, MAX_ROWS)),
    }
}
