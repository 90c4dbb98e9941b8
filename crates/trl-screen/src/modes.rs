//! What a program has switched on: how keys, mouse and paste are to be sent, and how text is written.

use serde::Serialize;

/// Which mouse events the program wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mouse {
    #[default]
    Off,
    /// Presses only (mode 9).
    X10,
    /// Presses and releases (1000).
    Clicks,
    /// Also motion while a button is down (1002).
    Drag,
    /// All motion (1003).
    Motion,
}

/// How mouse events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MouseEncoding {
    #[default]
    Plain,
    /// Mode 1006.
    Sgr,
    /// Mode 1016.
    SgrPixels,
}

/// Levels of the kitty keyboard protocol that are kept; the oldest goes first.
const KITTY_LEVELS: usize = 16;

/// Flags of the kitty keyboard protocol: those in force, and those below them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Kitty {
    pub(crate) flags: u8,
    pub(crate) below: Vec<u8>,
}

impl Kitty {
    pub(crate) fn push(&mut self, flags: u8) {
        if self.below.len() == KITTY_LEVELS {
            self.below.remove(0);
        }
        self.below.push(self.flags);
        self.flags = flags;
    }

    pub(crate) fn pop(&mut self, n: usize) {
        for _ in 0..n.min(KITTY_LEVELS + 1) {
            self.flags = self.below.pop().unwrap_or(0);
        }
    }

    /// `how`: 1 sets all flags, 2 adds, 3 takes away.
    pub(crate) fn set(&mut self, flags: u8, how: i32) {
        match how {
            2 => self.flags |= flags,
            3 => self.flags &= !flags,
            _ => self.flags = flags,
        }
    }
}

/// Everything a client must know to send what the program expects, and what a snapshot must bring back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent switches, named by the protocol")]
pub struct Modes {
    /// Cursor keys send SS3 sequences (1).
    pub application_cursor: bool,
    /// The keypad sends sequences (66, `ESC =`).
    pub application_keypad: bool,
    /// Pasted text is marked (2004).
    pub bracketed_paste: bool,
    /// Focus changes are reported (1004).
    pub focus: bool,
    /// The program asked to hold back drawing (2026).
    pub synchronized: bool,
    /// Rows are counted from the scroll region's first (6).
    pub origin: bool,
    /// Text wraps at the last column (7).
    pub autowrap: bool,
    /// Backspace goes to the row above where text wrapped (45).
    pub reverse_wrap: bool,
    /// New text moves old text to the right (ANSI 4).
    pub insert: bool,
    /// A line feed also returns (ANSI 20).
    pub newline: bool,
    /// The cursor is shown (25).
    pub cursor_visible: bool,
    /// The cursor blinks (12).
    pub cursor_blink: bool,
    /// The shape of DECSCUSR, 0 to 6.
    pub cursor_style: u8,
    pub mouse: Mouse,
    pub mouse_encoding: MouseEncoding,
    /// Flags of the kitty keyboard protocol in force.
    pub kitty_keyboard: u8,
    /// xterm's modifyOtherKeys, 0 to 2.
    pub modify_other_keys: u8,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            application_cursor: false,
            application_keypad: false,
            bracketed_paste: false,
            focus: false,
            synchronized: false,
            origin: false,
            autowrap: true,
            reverse_wrap: false,
            insert: false,
            newline: false,
            cursor_visible: true,
            cursor_blink: false,
            cursor_style: 0,
            mouse: Mouse::Off,
            mouse_encoding: MouseEncoding::Plain,
            kitty_keyboard: 0,
            modify_other_keys: 0,
        }
    }
}

impl Modes {
    /// DECSTR: mouse, blinking and line feeds are left as they are; so does the client.
    pub(crate) fn soft_reset(&mut self) {
        let fresh = Self::default();
        *self = Self {
            newline: self.newline,
            cursor_visible: self.cursor_visible,
            cursor_blink: self.cursor_blink,
            mouse: self.mouse,
            mouse_encoding: self.mouse_encoding,
            kitty_keyboard: self.kitty_keyboard,
            modify_other_keys: self.modify_other_keys,
            ..fresh
        };
    }

    /// The switch of a DEC private mode, for those that are nothing but a switch.
    fn switch(&mut self, mode: i32) -> Option<&mut bool> {
        Some(match mode {
            1 => &mut self.application_cursor,
            6 => &mut self.origin,
            7 => &mut self.autowrap,
            12 => &mut self.cursor_blink,
            25 => &mut self.cursor_visible,
            45 => &mut self.reverse_wrap,
            66 => &mut self.application_keypad,
            1004 => &mut self.focus,
            2004 => &mut self.bracketed_paste,
            2026 => &mut self.synchronized,
            _ => return None,
        })
    }

    /// Sets a DEC private mode; false for one that is not a mere mode.
    pub(crate) fn set_private(&mut self, mode: i32, to: Switch) -> bool {
        if let Some(switch) = self.switch(mode) {
            *switch = to == Switch::On;
            return true;
        }
        let on = to == Switch::On;
        match mode {
            9 => self.mouse = if on { Mouse::X10 } else { Mouse::Off },
            1000 => self.mouse = if on { Mouse::Clicks } else { Mouse::Off },
            1002 => self.mouse = if on { Mouse::Drag } else { Mouse::Off },
            1003 => self.mouse = if on { Mouse::Motion } else { Mouse::Off },
            1006 => self.mouse_encoding = if on { MouseEncoding::Sgr } else { MouseEncoding::Plain },
            1016 => self.mouse_encoding = if on { MouseEncoding::SgrPixels } else { MouseEncoding::Plain },
            _ => return false,
        }
        true
    }

    /// The value of DECRPM for a DEC private mode: 1 set, 2 reset, 3 and 4 for ever so, 0 not known.
    pub(crate) fn report_private(mut self, mode: i32, alternate: bool) -> u8 {
        let value = |on: bool| if on { 1 } else { 2 };
        if let Some(switch) = self.switch(mode) {
            return value(*switch);
        }
        match mode {
            8 | 1048 => 3 - u8::from(mode == 1048) * 2,
            67 | 1005 | 1015 => 4,
            9 => value(self.mouse == Mouse::X10),
            1000 => value(self.mouse == Mouse::Clicks),
            1002 => value(self.mouse == Mouse::Drag),
            1003 => value(self.mouse == Mouse::Motion),
            1006 => value(self.mouse_encoding == MouseEncoding::Sgr),
            1016 => value(self.mouse_encoding == MouseEncoding::SgrPixels),
            47 | 1047 | 1049 => value(alternate),
            _ => 0,
        }
    }

    /// The same for an ANSI mode.
    pub(crate) fn report_ansi(self, mode: i32) -> u8 {
        match mode {
            2 => 4,
            4 => 2 - u8::from(self.insert),
            12 => 3,
            20 => 2 - u8::from(self.newline),
            _ => 0,
        }
    }
}

/// DECSET or DECRST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_reported_as_they_were_set() {
        let mut modes = Modes::default();
        assert!(modes.set_private(2004, Switch::On) && modes.set_private(1002, Switch::On));
        assert_eq!((modes.report_private(2004, false), modes.report_private(1000, false)), (1, 2));
        assert_eq!((modes.report_private(1049, true), modes.report_private(31337, false)), (1, 0));
        assert!(!modes.set_private(1049, Switch::On));
        modes.soft_reset();
        assert_eq!((modes.bracketed_paste, modes.mouse), (false, Mouse::Drag));
    }

    #[test]
    fn keyboard_levels_are_bounded() {
        let mut kitty = Kitty::default();
        (0..100).for_each(|flags| kitty.push(flags));
        assert_eq!((kitty.flags, kitty.below.len()), (99, KITTY_LEVELS));
        kitty.pop(1);
        assert_eq!(kitty.flags, 98);
        kitty.pop(usize::MAX);
        assert_eq!(kitty.flags, 0);
    }
}
