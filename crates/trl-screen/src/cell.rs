//! One cell of the grid, the colours and attributes it carries, and the pen that writes it.
//!
//! A cell is 16 plain bytes. What does not fit, clusters of several code points and the rarer attributes (underline
//! style and colour, links), is an index into [`crate::intern`]. Moving cells is moving memory.

/// Colour mode and value share one word: two bits of mode above 24 bits of value.
pub(crate) const COLOR: u32 = 0x03ff_ffff;
pub(crate) const MODE: u32 = 0x0300_0000;
pub(crate) const MODE_16: u32 = 0x0100_0000;
pub(crate) const MODE_256: u32 = 0x0200_0000;
pub(crate) const MODE_RGB: u32 = 0x0300_0000;

/// Flags above the foreground colour.
pub(crate) const INVERSE: u32 = 1 << 26;
pub(crate) const BOLD: u32 = 1 << 27;
pub(crate) const UNDERLINE: u32 = 1 << 28;
pub(crate) const BLINK: u32 = 1 << 29;
pub(crate) const INVISIBLE: u32 = 1 << 30;
pub(crate) const STRIKE: u32 = 1 << 31;

/// Flags above the background colour.
pub(crate) const ITALIC: u32 = 1 << 26;
pub(crate) const DIM: u32 = 1 << 27;
/// The cell has an entry in the table of rarer attributes.
pub(crate) const EXTENDED: u32 = 1 << 28;
pub(crate) const PROTECTED: u32 = 1 << 29;
pub(crate) const OVERLINE: u32 = 1 << 30;

const CODE: u32 = 0x001f_ffff;
const CLUSTER: u32 = 0x0020_0000;
const WIDTH_SHIFT: u32 = 22;

/// What a cell shows, how wide it is, and with which attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// 21 bits of code point or cluster index, one bit that says which, two bits of width.
    content: u32,
    pub(crate) fg: u32,
    pub(crate) bg: u32,
    /// Index of the rarer attributes, 0 for none.
    pub(crate) ext: u32,
}

impl Cell {
    /// Nothing was ever written here.
    pub(crate) const BLANK: Self = Self { content: 1 << WIDTH_SHIFT, fg: 0, bg: 0, ext: 0 };

    pub(crate) fn new(code: u32, width: u8, style: Style) -> Self {
        Self {
            content: code | u32::from(width) << WIDTH_SHIFT,
            fg: style.fg,
            bg: style.bg,
            ext: if style.bg & EXTENDED == 0 { 0 } else { style.ext },
        }
    }

    /// An empty cell that keeps a style, as erasing and wide characters cut in half leave it.
    pub(crate) fn empty(style: Style) -> Self {
        Self::new(0, 1, style)
    }

    pub(crate) fn style(self) -> Style {
        Style { fg: self.fg, bg: self.bg, ext: self.ext }
    }

    /// The code point, or the cluster's index.
    pub(crate) fn code(self) -> u32 {
        self.content & CODE
    }

    pub(crate) fn is_cluster(self) -> bool {
        self.content & CLUSTER != 0
    }

    pub(crate) fn width(self) -> u8 {
        (self.content >> WIDTH_SHIFT) as u8
    }

    pub(crate) fn has_content(self) -> bool {
        self.content & (CODE | CLUSTER) != 0
    }

    /// One character of one byte.
    pub(crate) fn is_ascii(self) -> bool {
        !self.is_cluster() && (1..0x80).contains(&self.code())
    }

    /// The byte of a character that is one and takes one column: most of what terminals show.
    pub(crate) fn plain(self) -> Option<u8> {
        const SPACE: u32 = 1 << WIDTH_SHIFT | 0x20;
        let above_space = self.content.wrapping_sub(SPACE);
        (above_space < 0x5f).then_some(self.content as u8)
    }

    /// The second cell of a wide character.
    pub(crate) fn is_tail(self) -> bool {
        self.width() == 0 && !self.has_content()
    }

    pub(crate) fn is_protected(self) -> bool {
        self.bg & PROTECTED != 0
    }

    pub(crate) fn with_code(self, code: u32, width: u8) -> Self {
        Self { content: code & CODE | u32::from(width) << WIDTH_SHIFT, ..self }
    }

    pub(crate) fn with_cluster(self, index: u32, width: u8) -> Self {
        Self { content: index & CODE | CLUSTER | u32::from(width) << WIDTH_SHIFT, ..self }
    }
}

/// Attributes as cells carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub(crate) fg: u32,
    pub(crate) bg: u32,
    pub(crate) ext: u32,
}

impl Style {
    /// The background colour alone: what erasing leaves.
    pub(crate) fn background(self) -> Self {
        Self { fg: 0, bg: self.bg & COLOR, ext: 0 }
    }

    pub(crate) fn is_background_only(self) -> bool {
        self == self.background()
    }
}

/// Underline style in three bits above the underline colour.
pub(crate) const UNDERLINE_SHIFT: u32 = 26;

/// What the next character is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pen {
    pub(crate) fg: u32,
    pub(crate) bg: u32,
    /// Underline style and colour, in force only while `bg` says [`EXTENDED`].
    pub(crate) underline: u32,
    /// Index of the open link, 0 for none.
    pub(crate) link: u32,
}

impl Pen {
    pub(crate) fn underline_style(self) -> u32 {
        self.underline >> UNDERLINE_SHIFT
    }

    pub(crate) fn set_underline_style(&mut self, style: u32) {
        self.underline = self.underline & COLOR | style << UNDERLINE_SHIFT;
        if style == 0 {
            self.fg &= !UNDERLINE;
        } else {
            self.fg |= UNDERLINE;
        }
        self.note_extended();
    }

    /// Keeps the flag in step with what it stands for.
    pub(crate) fn note_extended(&mut self) {
        if self.underline_style() == 0 && self.link == 0 {
            self.bg &= !EXTENDED;
        } else {
            self.bg |= EXTENDED;
        }
    }

    /// SGR 0: everything but the link.
    pub(crate) fn reset(&mut self) {
        *self = Self { link: self.link, ..Self::default() };
        self.note_extended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_sixteen_bytes() {
        assert_eq!(size_of::<Cell>(), 16);
        let cell = Cell::new('漢' as u32, 2, Style { fg: BOLD, ..Style::default() });
        assert_eq!((cell.code(), cell.width(), cell.has_content()), ('漢' as u32, 2, true));
        assert!(Cell::new(0, 0, Style::default()).is_tail());
        assert!(!Cell::BLANK.has_content() && !Cell::BLANK.is_tail());
    }

    #[test]
    fn the_link_outlives_a_reset_of_the_pen() {
        let mut pen = Pen { link: 3, ..Pen::default() };
        pen.set_underline_style(3);
        pen.reset();
        assert_eq!((pen.link, pen.underline_style()), (3, 0));
        assert_ne!(pen.bg & EXTENDED, 0);
    }
}
