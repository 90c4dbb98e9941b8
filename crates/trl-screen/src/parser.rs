//! Code points to actions: the state machine of the VT500 family, with the client's choices where the family leaves
//! some.
//!
//! ```text
//!            ESC          [            0-9 ; :        @-~
//! Ground ---------> Escape ----> CsiEntry ----> CsiParam ----> Ground (csi)
//!    ^                | ]  P  _ ^ X
//!    |   BEL, ST      v
//!    +------------ Osc, Dcs..., Ignored strings
//! ```
//!
//! Strings are kept up to a limit and forgotten beyond it. Controls inside a sequence are carried out at once. What has
//! been read of an unfinished sequence can be written down again ([`Parser::continuation`]), bounded like everything.

use crate::params::Params;

/// Bytes kept of an OSC or DCS string. A longer one has no effect.
const STRING_BYTES: usize = 128 * 1024;

/// Who carries the actions out.
pub(crate) trait Actions {
    fn print(&mut self, code: u32);
    fn execute(&mut self, control: u8);
    /// `prefix` and intermediates, then the final byte, in one number: `?$p` is `0x3f_2470`.
    fn csi(&mut self, name: u32, params: &Params);
    fn esc(&mut self, name: u32);
    fn osc(&mut self, text: &str, ended_by_bell: bool);
    fn dcs(&mut self, name: u32, params: &Params, text: &str);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    EscapeIntermediate,
    CsiEntry,
    CsiParam,
    CsiIntermediate,
    CsiIgnore,
    Osc,
    DcsEntry,
    DcsParam,
    DcsIntermediate,
    DcsIgnore,
    DcsData,
    /// SOS, PM and APC: nothing in them is for us.
    IgnoredString,
}

#[derive(Debug, Clone)]
pub(crate) struct Parser {
    state: State,
    params: Params,
    /// Prefix and intermediates, oldest in the highest byte.
    collected: u32,
    text: String,
    too_long: bool,
    dcs_name: u32,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::Ground,
            params: Params::default(),
            collected: 0,
            text: String::new(),
            too_long: false,
            dcs_name: 0,
        }
    }
}

impl Parser {
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// One code point further.
    pub(crate) fn advance(&mut self, code: u32, actions: &mut impl Actions) {
        if self.string(code, actions) || self.anywhere(code, actions) {
            return;
        }
        // Only ASCII is left, and in the ground state everything printable.
        match self.state {
            State::Ground => match code {
                0..0x20 => actions.execute(code as u8),
                0x7f..0xa0 => {}
                _ => actions.print(code),
            },
            _ if code > 0x7f => self.beyond_ascii(code),
            _ => self.sequence(code as u8, actions),
        }
    }

    /// Inside a string that is kept.
    fn string(&mut self, code: u32, actions: &mut impl Actions) -> bool {
        match (self.state, code) {
            (State::Osc, 0x07 | 0x18 | 0x1a | 0x1b | 0x9c) => self.end_osc(code, actions),
            (State::Osc, 0..0x20) => {}
            (State::Osc, 0x80..0xa0) => return false,
            (State::Osc, _) => self.keep(code),
            (State::DcsData, 0x18 | 0x1a | 0x1b | 0x9c) => self.end_dcs(code, actions),
            (State::DcsData, 0x7f) => {}
            (State::DcsData, 0x80..0xa0) => return false,
            (State::DcsData, _) => self.keep(code),
            _ => return false,
        }
        true
    }

    /// What has the same meaning in every state.
    fn anywhere(&mut self, code: u32, actions: &mut impl Actions) -> bool {
        match code {
            0x1b => self.enter(State::Escape),
            0x18 | 0x1a | 0x80..0x90 | 0x91..0x98 | 0x99 | 0x9a => {
                self.state = State::Ground;
                actions.execute(code as u8);
            }
            0x90 => self.enter(State::DcsEntry),
            0x9b => self.enter(State::CsiEntry),
            0x9c => self.state = State::Ground,
            0x9d => self.start_osc(),
            0x98 | 0x9e | 0x9f => self.state = State::IgnoredString,
            _ => return false,
        }
        true
    }

    fn beyond_ascii(&mut self, _code: u32) {
        // Ignored where everything is; anywhere else it spoils the sequence.
        if !matches!(self.state, State::CsiIgnore | State::DcsIgnore) {
            self.state = State::Ground;
        }
    }

    fn sequence(&mut self, byte: u8, actions: &mut impl Actions) {
        match self.state {
            State::Ground | State::Osc | State::DcsData | State::IgnoredString => {}
            State::Escape | State::EscapeIntermediate => self.escape(byte, actions),
            State::CsiEntry | State::CsiParam | State::CsiIntermediate | State::CsiIgnore => {
                self.csi(byte, actions);
            }
            State::DcsEntry | State::DcsParam | State::DcsIntermediate | State::DcsIgnore => self.dcs(byte),
        }
    }

    fn escape(&mut self, byte: u8, actions: &mut impl Actions) {
        let first = self.state == State::Escape;
        match byte {
            0..0x20 => actions.execute(byte),
            0x20..0x30 => {
                self.collect(byte);
                self.state = State::EscapeIntermediate;
            }
            b'[' if first => self.enter(State::CsiEntry),
            b']' if first => self.start_osc(),
            b'P' if first => self.enter(State::DcsEntry),
            b'X' | b'^' | b'_' if first => self.state = State::IgnoredString,
            0x7f.. => {}
            _ => {
                self.state = State::Ground;
                actions.esc(self.collected << 8 | u32::from(byte));
            }
        }
    }

    fn csi(&mut self, byte: u8, actions: &mut impl Actions) {
        match (self.state, byte) {
            (_, 0..0x20) => actions.execute(byte),
            (_, 0x7f..) => {}
            (State::CsiIgnore, 0x40..) => self.state = State::Ground,
            (State::CsiIgnore, _) => {}
            (_, 0x40..) => {
                self.state = State::Ground;
                actions.csi(self.collected << 8 | u32::from(byte), &self.params);
            }
            (_, 0x20..0x30) => {
                self.collect(byte);
                self.state = State::CsiIntermediate;
            }
            (State::CsiIntermediate, _) => self.state = State::CsiIgnore,
            (_, 0x30..0x3c) => {
                self.params.push(byte);
                self.state = State::CsiParam;
            }
            (State::CsiEntry, _) => {
                self.collect(byte);
                self.state = State::CsiParam;
            }
            _ => self.state = State::CsiIgnore,
        }
    }

    fn dcs(&mut self, byte: u8) {
        match (self.state, byte) {
            (State::DcsIgnore, _) | (_, 0..0x20 | 0x7f..) => {}
            (_, 0x40..) => {
                self.dcs_name = self.collected << 8 | u32::from(byte);
                self.begin_string(State::DcsData);
            }
            (_, 0x20..0x30) => {
                self.collect(byte);
                self.state = State::DcsIntermediate;
            }
            (State::DcsIntermediate, _) => self.state = State::DcsIgnore,
            (_, 0x30..0x3c) => {
                self.params.push(byte);
                self.state = State::DcsParam;
            }
            (State::DcsEntry, _) => {
                self.collect(byte);
                self.state = State::DcsParam;
            }
            _ => self.state = State::DcsIgnore,
        }
    }

    fn enter(&mut self, state: State) {
        self.params.clear();
        self.collected = 0;
        self.state = state;
    }

    fn collect(&mut self, byte: u8) {
        self.collected = self.collected << 8 | u32::from(byte);
    }

    fn start_osc(&mut self) {
        self.begin_string(State::Osc);
    }

    fn begin_string(&mut self, state: State) {
        self.text.clear();
        self.too_long = false;
        self.state = state;
    }

    fn keep(&mut self, code: u32) {
        if self.too_long {
            return;
        }
        if self.text.len() >= STRING_BYTES {
            self.text = String::new();
            self.too_long = true;
        } else if let Some(char) = char::from_u32(code) {
            self.text.push(char);
        }
    }

    fn end_osc(&mut self, code: u32, actions: &mut impl Actions) {
        let text = std::mem::take(&mut self.text);
        if !self.too_long && code != 0x18 && code != 0x1a {
            actions.osc(&text, code == 0x07);
        }
        self.end_string(code);
    }

    fn end_dcs(&mut self, code: u32, actions: &mut impl Actions) {
        let text = std::mem::take(&mut self.text);
        if !self.too_long && code != 0x18 && code != 0x1a {
            actions.dcs(self.dcs_name, &self.params, &text);
        }
        self.end_string(code);
    }

    /// An escape both ends the string and starts the next sequence, which is often the `ESC \` of the end itself.
    fn end_string(&mut self, code: u32) {
        self.enter(if code == 0x1b { State::Escape } else { State::Ground });
    }

    /// What to write to a parser in the ground state to bring it where this one is.
    pub(crate) fn continuation(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.state {
            State::Ground => {}
            State::Escape | State::EscapeIntermediate => {
                out.push(0x1b);
                out.extend(self.collected_bytes());
            }
            State::CsiEntry | State::CsiParam | State::CsiIntermediate => {
                out.extend(b"\x1b[");
                self.introduction(&mut out, self.state == State::CsiEntry);
            }
            State::CsiIgnore => out.extend(b"\x1b[0?"),
            State::Osc => {
                out.extend(b"\x1b]");
                // A string too long has no effect, nor has one without a number.
                out.extend(if self.too_long { b"-" } else { self.text.as_bytes() });
            }
            State::DcsEntry | State::DcsParam | State::DcsIntermediate => {
                out.extend(b"\x1bP");
                self.introduction(&mut out, self.state == State::DcsEntry);
            }
            State::DcsIgnore => out.extend(b"\x1bP0?"),
            State::DcsData => self.dcs_continuation(&mut out),
            State::IgnoredString => out.extend(b"\x1b_"),
        }
        out
    }

    fn dcs_continuation(&self, out: &mut Vec<u8>) {
        out.extend(b"\x1bP");
        self.introduction(out, false);
        out.push(self.dcs_name as u8);
        if !self.too_long {
            out.extend(self.text.as_bytes());
        }
    }

    /// Prefix, parameters, intermediates.
    fn introduction(&self, out: &mut Vec<u8>, nothing_yet: bool) {
        if nothing_yet {
            return;
        }
        let bytes = self.collected_bytes();
        let (prefix, intermediates): (Vec<u8>, Vec<u8>) = bytes.into_iter().partition(|b| *b >= b'<');
        out.extend(prefix);
        self.params.replay(out);
        out.extend(intermediates);
    }

    fn collected_bytes(&self) -> Vec<u8> {
        self.collected.to_be_bytes().into_iter().filter(|byte| *byte != 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes down what it is asked to do.
    #[derive(Debug, Default, PartialEq)]
    struct Story(Vec<String>);

    impl Actions for Story {
        fn print(&mut self, code: u32) {
            self.0.push(format!("print {code:x}"));
        }
        fn execute(&mut self, control: u8) {
            self.0.push(format!("execute {control:x}"));
        }
        fn csi(&mut self, name: u32, params: &Params) {
            let subs: Vec<&[i32]> = (0..params.len()).map(|at| params.subs(at)).collect();
            self.0.push(format!("csi {name:x} {:?} {subs:?}", params.values()));
        }
        fn esc(&mut self, name: u32) {
            self.0.push(format!("esc {name:x}"));
        }
        fn osc(&mut self, text: &str, _: bool) {
            // The first characters without a number say nothing; only that there is no effect.
            if text.starts_with(|c: char| c.is_ascii_digit()) {
                self.0.push(format!("osc {text}"));
            }
        }
        fn dcs(&mut self, name: u32, _: &Params, text: &str) {
            self.0.push(format!("dcs {name:x} {text}"));
        }
    }

    fn tell(text: &[u8]) -> Vec<String> {
        let (mut parser, mut story) = (Parser::default(), Story::default());
        text.iter().for_each(|&byte| parser.advance(u32::from(byte), &mut story));
        story.0
    }

    #[test]
    fn sequences_are_told_apart() {
        assert_eq!(tell(b"a\x1b[?25;1h"), ["print 61", "csi 3f68 [25, 1] [[], []]"]);
        assert_eq!(tell(b"\x1b]2;t\x1b\\\x1b(0"), ["osc 2;t", "esc 5c", "esc 2830"]);
        assert_eq!(tell(b"\x1b[3\n1mX"), ["execute a", "csi 6d [31] [[]]", "print 58"]);
        assert_eq!(tell(b"\x1bP$qm\x1b\\"), ["dcs 2471 m", "esc 5c"]);
        assert_eq!(tell(b"\x1b_hidden\x1b\\\x1b[1?2mA"), ["esc 5c", "print 41"]);
    }

    #[test]
    fn endless_strings_are_dropped() {
        let (mut parser, mut story) = (Parser::default(), Story::default());
        b"\x1b]2;".iter().for_each(|&byte| parser.advance(u32::from(byte), &mut story));
        for _ in 0..3 * STRING_BYTES {
            parser.advance(u32::from(b'x'), &mut story);
        }
        assert!(parser.text.capacity() <= 2 * STRING_BYTES);
        assert_eq!(parser.continuation(), b"\x1b]-");
        parser.advance(7, &mut story);
        assert_eq!(story, Story::default());
    }

    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            3 => proptest::sample::select(&b"\x1b[]P?;:0123mhHq$ \"'_\\\x07\n\x18!>=<~"[..]),
            1 => 0u8..0xa0,
        ];
        proptest::collection::vec(byte, 0..60)
    }

    proptest! {
        #[test]
        fn a_continuation_leads_to_the_same_place(before in noise(), after in noise()) {
            let (mut parser, mut ignored) = (Parser::default(), Story::default());
            before.iter().for_each(|&byte| parser.advance(u32::from(byte), &mut ignored));
            let mut story = Story::default();
            let mut copy = Parser::default();
            copy.text.reserve(1);
            let mut replayed = Story::default();
            parser.continuation().iter().for_each(|&byte| copy.advance(u32::from(byte), &mut replayed));
            prop_assert_eq!(&replayed, &Story::default(), "a continuation has no effect of its own");
            for &byte in &after {
                parser.advance(u32::from(byte), &mut story);
                copy.advance(u32::from(byte), &mut replayed);
            }
            prop_assert_eq!(story, replayed);
        }
    }
}
