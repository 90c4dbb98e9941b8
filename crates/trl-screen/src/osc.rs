//! Strings: titles, directories, links, notifications, command marks, colours, the clipboard.

use std::collections::BTreeMap;

use crate::event::Event;
use crate::intern::Link;
use crate::terminal::Terminal;

/// Bytes kept of a title, a directory or a notification.
const TEXT_BYTES: usize = 4096;

/// Bytes of a link's address; a longer one is no link.
const URI_BYTES: usize = 4096;

/// Places of the three special colours after the 256 of the palette.
const FOREGROUND: u16 = 256;
const BACKGROUND: u16 = 257;
const CURSOR: u16 = 258;

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// The colours the program is told when it asks, until it changes them. A client may report its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    pub foreground: Rgb,
    pub background: Rgb,
    pub cursor: Rgb,
    /// The first sixteen of the palette.
    pub palette: [Rgb; 16],
}

impl Default for Theme {
    fn default() -> Self {
        let rgb = |hex: u32| [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8];
        let palette = [
            0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf, 0x555753,
            0xef2929, 0x8ae234, 0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec,
        ];
        Self { foreground: [0xff; 3], background: [0; 3], cursor: [0xff; 3], palette: palette.map(rgb) }
    }
}

/// A theme and what the program changed in it.
#[derive(Debug, Default)]
pub(crate) struct Palette {
    pub(crate) theme: Box<Theme>,
    changed: BTreeMap<u16, Rgb>,
}

impl Palette {
    fn get(&self, place: u16) -> Rgb {
        if let Some(&color) = self.changed.get(&place) {
            return color;
        }
        match place {
            0..16 => self.theme.palette[usize::from(place)],
            FOREGROUND => self.theme.foreground,
            BACKGROUND => self.theme.background,
            CURSOR => self.theme.cursor,
            16..232 => {
                let step = |n: u16| if n.is_multiple_of(6) { 0 } else { (n % 6 * 40 + 55) as u8 };
                let n = place - 16;
                [step(n / 36), step(n / 6), step(n)]
            }
            _ => [(8 + (place.min(255) - 232) * 10) as u8; 3],
        }
    }

    /// Strings that bring the changes back.
    pub(crate) fn replay(&self) -> String {
        let set = |(&place, &[r, g, b]): (&u16, &Rgb)| {
            let color = format!("rgb:{r:02x}/{g:02x}/{b:02x}");
            match place {
                FOREGROUND..=CURSOR => format!("\x1b]{};{color}\x1b\\", place - FOREGROUND + 10),
                _ => format!("\x1b]4;{place};{color}\x1b\\"),
            }
        };
        self.changed.iter().map(set).collect()
    }
}

/// `rgb:r/g/b` with one to four digits each, or `#` with three to twelve.
fn parse_color(text: &str) -> Option<Rgb> {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = if let Some(rest) = lower.strip_prefix("rgb:") {
        rest.split('/').collect()
    } else {
        let rest = lower.strip_prefix('#').filter(|rest| rest.is_ascii() && rest.len() % 3 == 0)?;
        let each = rest.len() / 3;
        (0..3).map(|i| &rest[i * each..(i + 1) * each]).collect()
    };
    let parts: &[&str; 3] = parts.as_slice().try_into().ok()?;
    let part = |digits: &str| -> Option<u8> {
        if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let most = (1u32 << (4 * digits.len())) - 1;
        Some((u32::from_str_radix(digits, 16).ok()? * 255 / most) as u8)
    };
    Some([part(parts[0])?, part(parts[1])?, part(parts[2])?])
}

/// The beginning of a text, as long as may be kept.
fn cut(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_string()
}

impl Terminal {
    pub(crate) fn string(&mut self, text: &str, ended_by_bell: bool) {
        let (number, rest) = text.split_once(';').unwrap_or((text, ""));
        let Ok(number) = number.parse::<u16>() else { return };
        let end = if ended_by_bell { "\x07" } else { "\x1b\\" };
        match number {
            0 => {
                self.set_title(rest);
                self.icon = cut(rest);
            }
            1 => self.icon = cut(rest),
            2 => self.set_title(rest),
            4 => self.palette_colors(rest, end),
            7 => self.set_cwd(rest),
            8 => self.set_link(rest),
            9 => self.notification_or_progress(rest),
            10..=12 => self.special_colors(rest, number - 10, end),
            52 => self.clipboard(rest),
            99 => self.kitty_notification(rest),
            104 => self.reset_palette(rest),
            110..=112 => {
                self.palette.changed.remove(&(number - 110 + FOREGROUND));
            }
            133 | 633 => self.command_mark(rest),
            777 => self.urxvt_notification(rest),
            _ => {}
        }
    }

    pub(crate) fn set_title(&mut self, title: &str) {
        let title = cut(title);
        if title != self.title {
            self.title = title;
            self.event(Event::Title(self.title.clone()));
        }
    }

    /// `file://host/path`, with `%20` and the like.
    fn set_cwd(&mut self, uri: &str) {
        let Some(path) = uri.strip_prefix("file://").and_then(|rest| rest.find('/').map(|at| &rest[at..]))
        else {
            return;
        };
        let path = cut(&percent_decoded(path));
        if self.cwd.as_ref() != Some(&path) && !path.contains(char::is_control) {
            self.cwd = Some(path.clone());
            self.event(Event::Cwd(path));
        }
    }

    fn set_link(&mut self, rest: &str) {
        let Some((params, uri)) = rest.split_once(';') else { return };
        if uri.is_empty() && !params.trim().is_empty() {
            return;
        }
        let fits = !uri.is_empty() && uri.len() + params.len() <= URI_BYTES;
        self.pen.link =
            if fits { self.interned.link(Link { params: params.trim().into(), uri: uri.into() }) } else { 0 };
        self.pen.note_extended();
        self.pen_changed();
    }

    fn notification_or_progress(&mut self, rest: &str) {
        // ConEmu's numbers share the code: 9;4 is a progress bar, 9;9 a directory.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let first = rest.split(';').next().unwrap_or_default();
        let numbered = is_number(first) && rest.contains(';');
        if !rest.is_empty() && !numbered {
            self.notification(None, rest);
        }
    }

    fn notification(&mut self, title: Option<&str>, body: &str) {
        self.event(Event::Notification { title: title.map(cut), body: cut(body) });
    }

    /// `notify;title;body`
    fn urxvt_notification(&mut self, rest: &str) {
        if let Some(rest) = rest.strip_prefix("notify;") {
            match rest.split_once(';') {
                Some((title, body)) => self.notification(Some(title), body),
                None => self.notification(None, rest),
            }
        }
    }

    /// `key=value:key=value;text`
    fn kitty_notification(&mut self, rest: &str) {
        let (meta, text) = rest.split_once(';').unwrap_or(("", rest));
        let value = |key: &str| meta.split(':').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        let part = value("p").unwrap_or("title");
        if matches!(part, "title" | "body") && value("e") != Some("1") && !text.is_empty() {
            self.notification(None, text);
        }
    }

    /// OSC 133, and VS Code's 633 as far as it is the same.
    fn command_mark(&mut self, rest: &str) {
        let (mark, rest) = rest.split_once(';').unwrap_or((rest, ""));
        let event = match mark {
            "A" => Event::Prompt,
            "B" => Event::Input,
            "C" => {
                let line = rest.split(';').find_map(|pair| pair.strip_prefix("cmdline="));
                Event::CommandStarted { command: line.map(cut) }
            }
            "D" => {
                Event::CommandEnded { exit_code: rest.split(';').next().and_then(|code| code.parse().ok()) }
            }
            _ => return,
        };
        self.event(event);
    }

    /// Writing is the server's to allow; reading is never answered.
    fn clipboard(&mut self, rest: &str) {
        if let Some((selection, data)) = rest.split_once(';')
            && data != "?"
        {
            self.event(Event::ClipboardWrite { selection: cut(selection), data: data.to_string() });
        }
    }

    // Colours.

    fn palette_colors(&mut self, rest: &str, end: &str) {
        let mut parts = rest.split(';');
        while let (Some(index), Some(color)) = (parts.next(), parts.next()) {
            let Some(index) = index.parse().ok().filter(|index| *index < 256u16) else { continue };
            if color == "?" {
                self.color_report(&format!("4;{index}"), index, end);
            } else if let Some(color) = parse_color(color) {
                self.palette.changed.insert(index, color);
            }
        }
    }

    fn special_colors(&mut self, rest: &str, first: u16, end: &str) {
        for (color, place) in rest.split(';').zip(first..3) {
            if color == "?" {
                self.color_report(&(place + 10).to_string(), place + FOREGROUND, end);
            } else if let Some(color) = parse_color(color) {
                self.palette.changed.insert(place + FOREGROUND, color);
            }
        }
    }

    fn color_report(&mut self, what: &str, place: u16, end: &str) {
        let [r, g, b] = self.palette.get(place);
        self.fed.reply(format!("\x1b]{what};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{end}"));
    }

    fn reset_palette(&mut self, rest: &str) {
        if rest.is_empty() {
            self.palette.changed.retain(|place, _| *place >= FOREGROUND);
        }
        for index in rest.split(';').filter_map(|index| index.parse::<u16>().ok()) {
            if index < FOREGROUND {
                self.palette.changed.remove(&index);
            }
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_all_forms() {
        assert_eq!(parse_color("rgb:ff/80/0"), Some([255, 128, 0]));
        assert_eq!(parse_color("rgb:ffff/8080/0000"), Some([255, 128, 0]));
        assert_eq!(parse_color("#F80"), Some([255, 136, 0]));
        assert_eq!(parse_color("#ff8000"), Some([255, 128, 0]));
        for bad in ["", "red", "#ff", "rgb:1/2", "rgb:1/2/3/4", "#ggg", "rgb:12345/0/0", "#é"] {
            assert_eq!(parse_color(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_palette_is_the_usual_one() {
        let palette = Palette::default();
        assert_eq!((palette.get(16), palette.get(231)), ([0; 3], [255; 3]));
        assert_eq!((palette.get(208), palette.get(232), palette.get(255)), ([255, 135, 0], [8; 3], [238; 3]));
    }

    #[test]
    fn percent_signs_are_decoded() {
        assert_eq!(percent_decoded("/a%20b%C3%A9%zz%4"), "/a bé%zz%4");
    }
}
