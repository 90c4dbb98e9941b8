//! Keys by name, as the bytes a terminal in these modes sends for them: the way xterm does it.

use crate::modes::Modes;

/// A key and its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    sent: Sent,
    modifiers: Modifiers,
}

/// How a key is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sent {
    /// As this byte or character.
    Plain(String),
    /// `ESC [ letter`, or `ESC O letter` where cursor keys are application keys; with modifiers `ESC [ 1 ; MODIFIERS letter`.
    Cursor(char),
    /// `ESC O letter` without modifiers (F1 to F4), as [`Sent::Cursor`] with them.
    Function(char),
    /// `ESC [ number ~`, with modifiers `ESC [ number ; MODIFIERS ~`.
    Number(u8),
    /// Of the keypad: this character, or `ESC O letter` where its keys are application keys.
    Keypad(char, char),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl Modifiers {
    /// As xterm counts them, from 1 for none.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }
}

impl std::str::FromStr for Key {
    type Err = String;

    /// Reads `Enter`, `C-c`, `M-x`, `S-Tab`, `F5` or one character.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut modifiers = Modifiers::default();
        let mut name = text;
        while let Some((modifier, rest)) = name.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
            match modifier {
                "C" => modifiers.ctrl = true,
                "M" => modifiers.alt = true,
                "S" => modifiers.shift = true,
                _ => break,
            }
            name = rest;
        }
        let sent = find(name).ok_or_else(|| format!("`{text}` is no key"))?;
        let key = Self { sent, modifiers };
        match key.bytes(&Modes::default()) {
            Some(_) => Ok(key),
            None => Err(format!("no terminal sends anything for `{text}`")),
        }
    }
}

impl Key {
    /// What a terminal in these modes sends for it.
    pub fn encode(&self, modes: &Modes) -> Vec<u8> {
        // which combinations there are does not depend on modes, and was asked when it was read
        self.bytes(modes).unwrap_or_default()
    }

    /// None when there is no such combination.
    fn bytes(&self, modes: &Modes) -> Option<Vec<u8>> {
        let (number, bare) = (self.modifiers.number(), self.modifiers == Modifiers::default());
        Some(match &self.sent {
            Sent::Plain(text) => return character(text, self.modifiers),
            Sent::Cursor(letter) if bare && !modes.application_cursor => format!("\x1b[{letter}").into(),
            Sent::Cursor(letter) | Sent::Function(letter) if bare => format!("\x1bO{letter}").into(),
            Sent::Cursor(letter) | Sent::Function(letter) => format!("\x1b[1;{number}{letter}").into(),
            Sent::Number(key) if bare => format!("\x1b[{key}~").into(),
            Sent::Number(key) => format!("\x1b[{key};{number}~").into(),
            Sent::Keypad(_, letter) if bare && modes.application_keypad => format!("\x1bO{letter}").into(),
            Sent::Keypad(plain, _) if bare => plain.to_string().into(),
            Sent::Keypad(..) => return None,
        })
    }
}

fn find(name: &str) -> Option<Sent> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(Sent::Plain(only.into()));
    }
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "enter" | "return" => Sent::Plain("\r".into()),
        "tab" => Sent::Plain("\t".into()),
        "escape" | "esc" => Sent::Plain("\x1b".into()),
        "space" => Sent::Plain(" ".into()),
        "backspace" => Sent::Plain("\x7f".into()),
        "up" => Sent::Cursor('A'),
        "down" => Sent::Cursor('B'),
        "right" => Sent::Cursor('C'),
        "left" => Sent::Cursor('D'),
        "home" => Sent::Cursor('H'),
        "end" => Sent::Cursor('F'),
        "insert" => Sent::Number(2),
        "delete" => Sent::Number(3),
        "pageup" => Sent::Number(5),
        "pagedown" => Sent::Number(6),
        _ => function_key(&name).or_else(|| keypad_key(&name))?,
    })
}

fn function_key(name: &str) -> Option<Sent> {
    Some(match name.strip_prefix('f')?.parse::<u8>().ok()? {
        1 => Sent::Function('P'),
        2 => Sent::Function('Q'),
        3 => Sent::Function('R'),
        4 => Sent::Function('S'),
        5 => Sent::Number(15),
        // the gaps are those of the keyboard this numbering comes from
        n @ 6..=10 => Sent::Number(n + 11),
        n @ 11..=12 => Sent::Number(n + 12),
        _ => return None,
    })
}

/// `KP` and what is printed on the key; `KPEnter`.
fn keypad_key(name: &str) -> Option<Sent> {
    let plain = match name.strip_prefix("kp")? {
        "enter" => '\r',
        other => other.chars().next().filter(|_| other.chars().count() == 1)?,
    };
    let letter = match plain {
        digit @ '0'..='9' => char::from(b'p' + (digit as u8 - b'0')),
        '\r' => 'M',
        '*' => 'j',
        '+' => 'k',
        ',' => 'l',
        '-' => 'm',
        '.' => 'n',
        '/' => 'o',
        '=' => 'X',
        _ => return None,
    };
    Some(Sent::Keypad(plain, letter))
}

fn character(text: &str, modifiers: Modifiers) -> Option<Vec<u8>> {
    let mut key = if modifiers.ctrl { vec![control(text)?] } else { text.as_bytes().to_vec() };
    match (modifiers.shift, text) {
        (false, _) => {}
        (true, "\t") => key = b"\x1b[Z".to_vec(),
        // a capital letter is typed as such
        (true, _) => return None,
    }
    if modifiers.alt {
        key.insert(0, 0x1b);
    }
    Some(key)
}

/// What Ctrl makes of a key.
fn control(text: &str) -> Option<u8> {
    match *text.as_bytes() {
        [letter @ (b'a'..=b'z' | b'A'..=b'Z' | b'@' | b'['..=b'_')] => Some(letter & 0x1f),
        [b' ' | b'2'] => Some(0),
        // beside `_` on most keyboards
        [b'-' | b'/'] => Some(0x1f),
        [b'?'] => Some(0x7f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(name: &str, modes: &Modes) -> Vec<u8> {
        name.parse::<Key>().map(|key| key.encode(modes)).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn keys_are_what_a_terminal_sends() {
        let cases: [(&str, &[u8]); 25] = [
            ("Enter", b"\r"),
            ("Tab", b"\t"),
            ("S-Tab", b"\x1b[Z"),
            ("Escape", b"\x1b"),
            ("Backspace", b"\x7f"),
            ("C-c", b"\x03"),
            ("C-C", b"\x03"),
            ("C-\\", b"\x1c"),
            ("C-Space", b"\0"),
            ("M-x", b"\x1bx"),
            ("C-M-c", b"\x1b\x03"),
            ("-", b"-"),
            ("C--", b"\x1f"),
            ("é", "é".as_bytes()),
            ("Up", b"\x1b[A"),
            ("Home", b"\x1b[H"),
            ("C-Right", b"\x1b[1;5C"),
            ("Delete", b"\x1b[3~"),
            ("F1", b"\x1bOP"),
            ("F5", b"\x1b[15~"),
            ("F10", b"\x1b[21~"),
            ("F12", b"\x1b[24~"),
            ("S-PageUp", b"\x1b[5;2~"),
            ("KP5", b"5"),
            ("KPEnter", b"\r"),
        ];
        for (name, expected) in cases {
            assert_eq!(encoded(name, &Modes::default()), expected, "{name}");
        }
    }

    #[test]
    fn cursor_keys_follow_their_mode_and_nothing_else_does() {
        let modes = Modes { application_cursor: true, ..Modes::default() };
        for (name, letter) in
            [("Up", 'A'), ("Down", 'B'), ("Right", 'C'), ("Left", 'D'), ("Home", 'H'), ("End", 'F')]
        {
            assert_eq!(encoded(name, &modes), format!("\x1bO{letter}").as_bytes(), "{name}");
            // with a modifier there is only one form
            let held = format!("C-{name}");
            assert_eq!(encoded(&held, &modes), format!("\x1b[1;5{letter}").as_bytes(), "{held}");
        }
        for name in ["Enter", "Delete", "PageDown", "F1", "F5", "S-F1", "C-x", "M-x", "KP0", "S-Tab"] {
            assert_eq!(encoded(name, &modes), encoded(name, &Modes::default()), "{name}");
        }
    }

    #[test]
    fn the_keypad_follows_its_mode() {
        let modes = Modes { application_keypad: true, ..Modes::default() };
        let cases: [(&str, &[u8]); 6] = [
            ("KP0", b"\x1bOp"),
            ("KP9", b"\x1bOy"),
            ("KPEnter", b"\x1bOM"),
            ("KP+", b"\x1bOk"),
            ("KP-", b"\x1bOm"),
            ("KP/", b"\x1bOo"),
        ];
        for (name, expected) in cases {
            assert_eq!(encoded(name, &modes), expected, "{name}");
        }
        assert_eq!(encoded("KP-", &Modes::default()), b"-");
        assert_eq!(encoded("Up", &modes), b"\x1b[A");
        assert_eq!(encoded("5", &modes), b"5");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for name in ["", "Entre", "F13", "F0", "X-a", "C-é", "S-a", "C-", "KP", "KPx", "C-KP5"] {
            assert!(name.parse::<Key>().is_err(), "{name}");
        }
    }
}
