//! Keys by name, as the bytes a terminal sends for them.

/// The bytes of one key.
pub(super) type Key = Vec<u8>;

/// For the long help.
pub(super) const NAMES: &str = "\
Keys: Enter Tab Escape Space Backspace Delete Insert Up Down Left Right Home End PageUp PageDown F1 to F12, or one \
character. C- before it is Ctrl, M- is Alt, S- is Shift (of Tab, arrows and the like): C-c, M-x, C-Right, S-Tab.";

/// How a key is sent.
enum Sent {
    /// As this byte or character.
    Plain(String),
    /// `ESC [ 1 ; MODIFIERS letter`; without modifiers `ESC [ letter`.
    Letter(char),
    /// `ESC O letter` without modifiers (F1 to F4).
    Application(char),
    /// `ESC [ number ; MODIFIERS ~`.
    Number(u8),
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

/// Reads `Enter`, `C-c`, `M-x`, `S-Tab`, `F5` or one character.
pub(super) fn parse(text: &str) -> Result<Key, String> {
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
    let sent = find(name).ok_or_else(|| format!("`{text}` is no key; see --help"))?;
    bytes(&sent, modifiers).ok_or_else(|| format!("no terminal sends anything for `{text}`"))
}

fn find(name: &str) -> Option<Sent> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(Sent::Plain(only.into()));
    }
    Some(match name.to_ascii_lowercase().as_str() {
        "enter" | "return" => Sent::Plain("\r".into()),
        "tab" => Sent::Plain("\t".into()),
        "escape" | "esc" => Sent::Plain("\x1b".into()),
        "space" => Sent::Plain(" ".into()),
        "backspace" => Sent::Plain("\x7f".into()),
        "up" => Sent::Letter('A'),
        "down" => Sent::Letter('B'),
        "right" => Sent::Letter('C'),
        "left" => Sent::Letter('D'),
        "home" => Sent::Letter('H'),
        "end" => Sent::Letter('F'),
        "insert" => Sent::Number(2),
        "delete" => Sent::Number(3),
        "pageup" => Sent::Number(5),
        "pagedown" => Sent::Number(6),
        function => function_key(function)?,
    })
}

fn function_key(name: &str) -> Option<Sent> {
    Some(match name.strip_prefix('f')?.parse::<u8>().ok()? {
        1 => Sent::Application('P'),
        2 => Sent::Application('Q'),
        3 => Sent::Application('R'),
        4 => Sent::Application('S'),
        5 => Sent::Number(15),
        // the gaps are those of the keyboard this numbering comes from
        n @ 6..=10 => Sent::Number(n + 11),
        n @ 11..=12 => Sent::Number(n + 12),
        _ => return None,
    })
}

/// None when there is no such combination.
fn bytes(sent: &Sent, modifiers: Modifiers) -> Option<Key> {
    let (number, plain) = (modifiers.number(), modifiers == Modifiers::default());
    Some(match sent {
        Sent::Plain(text) => return character(text, modifiers),
        Sent::Letter(letter) if plain => format!("\x1b[{letter}").into(),
        Sent::Application(letter) if plain => format!("\x1bO{letter}").into(),
        Sent::Number(key) if plain => format!("\x1b[{key}~").into(),
        Sent::Letter(letter) | Sent::Application(letter) => format!("\x1b[1;{number}{letter}").into(),
        Sent::Number(key) => format!("\x1b[{key};{number}~").into(),
    })
}

fn character(text: &str, modifiers: Modifiers) -> Option<Key> {
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
        [b'-'] => Some(0x1f),
        [b'?'] => Some(0x7f),
        [b'/'] => Some(0x1f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_a_terminal_sends() {
        let cases: [(&str, &[u8]); 22] = [
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
            ("C-Right", b"\x1b[1;5C"),
            ("Delete", b"\x1b[3~"),
            ("F1", b"\x1bOP"),
            ("F5", b"\x1b[15~"),
            ("F10", b"\x1b[21~"),
            ("F12", b"\x1b[24~"),
            ("S-PageUp", b"\x1b[5;2~"),
        ];
        for (name, expected) in cases {
            assert_eq!(parse(name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for name in ["", "Entre", "F13", "F0", "X-a", "C-é", "S-a", "C-"] {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
