//! Colours and attributes: reading them from `CSI m`, and writing them down again.

use std::fmt::Write;

use crate::cell::{
    BLINK, BOLD, COLOR, DIM, EXTENDED, INVERSE, INVISIBLE, ITALIC, MODE, MODE_16, MODE_256, MODE_RGB,
    OVERLINE, Pen, STRIKE, UNDERLINE, UNDERLINE_SHIFT,
};
use crate::params::Params;
use crate::terminal::Terminal;

impl Terminal {
    pub(crate) fn rendition(&mut self, params: &Params) {
        let mut at = 0;
        while at < params.len() {
            at += 1 + apply(&mut self.pen, params, at);
        }
        self.pen_changed();
    }

    /// The pen as parameters of `CSI m`.
    pub(crate) fn pen_parameters(&self) -> String {
        parameters(self.pen.fg, self.pen.bg, self.pen.underline)
    }
}

/// One parameter; returns how many more it used.
fn apply(pen: &mut Pen, params: &Params, at: usize) -> usize {
    let value = params.get(at);
    let color = |mode: u32, from: i32| mode | (value - from) as u32;
    match value {
        0 => pen.reset(),
        1 => pen.fg |= BOLD,
        2 => pen.bg |= DIM,
        3 => pen.bg |= ITALIC,
        4 => pen.set_underline_style(match params.subs(at).first() {
            Some(&style @ 0..=5) => style as u32,
            _ => 1,
        }),
        5 => pen.fg |= BLINK,
        7 => pen.fg |= INVERSE,
        8 => pen.fg |= INVISIBLE,
        9 => pen.fg |= STRIKE,
        21 => pen.set_underline_style(2),
        22 => {
            pen.fg &= !BOLD;
            pen.bg &= !DIM;
        }
        23 => pen.bg &= !ITALIC,
        24 => pen.set_underline_style(0),
        25 => pen.fg &= !BLINK,
        27 => pen.fg &= !INVERSE,
        28 => pen.fg &= !INVISIBLE,
        29 => pen.fg &= !STRIKE,
        30..=37 => paint(&mut pen.fg, color(MODE_16, 30)),
        40..=47 => paint(&mut pen.bg, color(MODE_16, 40)),
        90..=97 => paint(&mut pen.fg, color(MODE_16, 90) | 8),
        100..=107 => paint(&mut pen.bg, color(MODE_16, 100) | 8),
        39 => paint(&mut pen.fg, 0),
        49 => paint(&mut pen.bg, 0),
        38 | 48 | 58 => return extended_color(pen, params, at),
        53 => pen.bg |= OVERLINE,
        55 => pen.bg &= !OVERLINE,
        59 => {
            // The client takes "no colour" for the whitest one.
            paint(&mut pen.underline, COLOR);
            pen.note_extended();
        }
        _ => {}
    }
    0
}

fn paint(word: &mut u32, color: u32) {
    *word = *word & !COLOR | color;
}

/// 38, 48 and 58 with a palette index or red, green and blue, after semicolons or colons, with or without a colour space.
fn extended_color(pen: &mut Pen, params: &Params, at: usize) -> usize {
    // Target, kind, colour space, and three values.
    let mut slots = [0, 0, -1, 0, 0, 0];
    let (mut space, mut used) = (0, 0);
    loop {
        slots[used + space] = params.get(at + used);
        let subs = params.subs(at + used);
        if !subs.is_empty() {
            for (i, &sub) in subs.iter().enumerate() {
                if slots[1] == 5 {
                    space = 1;
                }
                match slots.get_mut(used + i + 1 + space) {
                    Some(slot) => *slot = sub,
                    None => break,
                }
            }
            break;
        }
        if (slots[1] == 5 && used + space >= 2) || (slots[1] == 2 && used + space >= 5) {
            break;
        }
        if slots[1] != 0 {
            space = 1;
        }
        used += 1;
        if at + used >= params.len() || used + space >= slots.len() {
            break;
        }
    }
    let byte = |slot: i32| (slot.max(0) & 0xff) as u32;
    let color = match slots[1] {
        2 => MODE_RGB | byte(slots[3]) << 16 | byte(slots[4]) << 8 | byte(slots[5]),
        5 => MODE_256 | byte(slots[3]),
        _ => return used,
    };
    match slots[0] {
        38 => paint(&mut pen.fg, color),
        48 => paint(&mut pen.bg, color),
        _ => paint(&mut pen.underline, color),
    }
    used
}

/// Parameters that lead from a reset pen to these attributes.
pub(crate) fn parameters(fg: u32, bg: u32, underline: u32) -> String {
    let mut out = String::with_capacity(40);
    out.push('0');
    let flags =
        [(fg, BOLD, ";1"), (bg, DIM, ";2"), (bg, ITALIC, ";3"), (fg, BLINK, ";5"), (fg, INVERSE, ";7")];
    let more = [(fg, INVISIBLE, ";8"), (fg, STRIKE, ";9"), (bg, OVERLINE, ";53")];
    for (word, flag, text) in flags.into_iter().chain(more) {
        if word & flag != 0 {
            out.push_str(text);
        }
    }
    if bg & EXTENDED != 0 {
        put_color(&mut out, underline, [58, 0, 0]);
    }
    if fg & UNDERLINE != 0 {
        match underline >> UNDERLINE_SHIFT {
            style @ 2..=5 if bg & EXTENDED != 0 => {
                let _ = write!(out, ";4:{style}");
            }
            _ => out.push_str(";4"),
        }
    }
    put_color(&mut out, fg, [38, 30, 90]);
    put_color(&mut out, bg, [48, 40, 100]);
    out
}

/// Sets the colour alone, for a pen that does not underline.
pub(crate) fn underline_color(underline: u32) -> String {
    let mut out = String::new();
    put_color(&mut out, underline, [58, 0, 0]);
    if out.is_empty() { out } else { format!("\x1b[{}m", &out[1..]) }
}

/// The sequence from one set of colours and flags to another, underlining aside.
pub(crate) fn change((fg0, bg0): (u32, u32), (fg, bg): (u32, u32)) -> String {
    let mut out = String::new();
    let mut off = |gone: bool, code: &str| out.push_str(if gone { code } else { "" });
    let (fg_gone, bg_gone) = (fg0 & !fg, bg0 & !bg);
    let weight_gone = fg_gone & BOLD != 0 || bg_gone & DIM != 0;
    off(weight_gone, ";22");
    off(bg_gone & ITALIC != 0, ";23");
    off(fg_gone & BLINK != 0, ";25");
    off(fg_gone & INVERSE != 0, ";27");
    off(fg_gone & INVISIBLE != 0, ";28");
    off(fg_gone & STRIKE != 0, ";29");
    off(bg_gone & OVERLINE != 0, ";55");
    let (fg0, bg0) = if weight_gone { (fg0 & !BOLD, bg0 & !DIM) } else { (fg0, bg0) };
    let (fg_new, bg_new) = (fg & !fg0 & !COLOR & !UNDERLINE, bg & !bg0 & !COLOR & !EXTENDED);
    out.push_str(&parameters(fg_new, bg_new, 0)[1..]);
    for (from, to, codes, none) in [(fg0, fg, [38, 30, 90], ";39"), (bg0, bg, [48, 40, 100], ";49")] {
        if (from ^ to) & COLOR != 0 {
            out.push_str(if to & MODE == 0 { none } else { "" });
            put_color(&mut out, to, codes);
        }
    }
    if out.is_empty() { out } else { format!("\x1b[{}m", &out[1..]) }
}

/// `codes`: extended, the first eight, the bright eight.
fn put_color(out: &mut String, word: u32, codes: [u32; 3]) {
    let [extended, first, bright] = codes;
    let value = word & 0x00ff_ffff;
    match word & MODE {
        MODE_16 if first == 0 => put_numbers(out, &[extended, 5, value]),
        MODE_16 if value < 8 => put_numbers(out, &[first + value]),
        MODE_16 => put_numbers(out, &[bright + (value & 7)]),
        MODE_256 => put_numbers(out, &[extended, 5, value]),
        MODE_RGB => put_numbers(out, &[extended, 2, value >> 16, value >> 8 & 0xff, value & 0xff]),
        _ => {}
    }
}

/// Pictures are taken of every flood: this is several times as fast as formatting.
fn put_numbers(out: &mut String, numbers: &[u32]) {
    fn put(out: &mut String, n: u32) {
        if n >= 10 {
            put(out, n / 10);
        }
        out.push(char::from(b'0' + (n % 10) as u8));
    }
    for n in numbers {
        out.push(';');
        put(out, *n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pen(text: &str) -> Pen {
        let mut params = Params::default();
        text.bytes().for_each(|byte| params.push(byte));
        let mut pen = Pen::default();
        let mut at = 0;
        while at < params.len() {
            at += 1 + apply(&mut pen, &params, at);
        }
        pen
    }

    #[test]
    fn every_spelling_of_a_colour_is_read() {
        let orange = MODE_RGB | 0x00ff_8000;
        for text in ["38;2;255;128;0", "38:2::255:128:0", "1;38:2:7:255:128:0;3"] {
            assert_eq!(pen(text).fg & COLOR, orange, "{text}");
        }
        for text in ["48;5;208", "48:5:208", "7;48;5;208;1"] {
            assert_eq!(pen(text).bg & COLOR, MODE_256 | 208, "{text}");
        }
        assert_eq!(pen("38;5").fg, MODE_256);
        assert_eq!(pen("4:3;58;5;9").underline, 3 << UNDERLINE_SHIFT | MODE_256 | 9);
        assert_eq!(pen("1;4;0"), Pen::default());
    }

    proptest! {
        #[test]
        fn attributes_are_written_as_they_are_read(text in "[0-9]{1,3}(;([0-9]{1,3}|38;5;[0-9]{1,3}|48;2;[0-9];[0-9]{2};255|4:[0-5]|58:5:7)){0,8}") {
            let mut before = pen(&text);
            let after = pen(&parameters(before.fg, before.bg, before.underline));
            if before.bg & EXTENDED == 0 {
                before.underline = 0;
            }
            prop_assert_eq!(before, after);
        }
    }
}
