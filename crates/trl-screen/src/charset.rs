//! National and line-drawing sets: which character an ASCII code shows while a set is in use.

/// A designated set; ASCII is no set at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charset {
    /// The final byte that designates it.
    pub(crate) name: u8,
    from: &'static str,
    to: &'static str,
}

const fn set(name: u8, from: &'static str, to: &'static str) -> Charset {
    Charset { name, from, to }
}

const SETS: &[Charset] = &[
    set(b'0', "`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"),
    set(b'A', "#", "£"),
    set(b'4', "#@[\\]{|}~", "£¾i½|¨f¼´"),
    set(b'C', "[\\]^`{|}~", "ÄÖÅÜéäöåü"),
    set(b'5', "[\\]^`{|}~", "ÄÖÅÜéäöåü"),
    set(b'R', "#@[\\]{|}~", "£à°ç§éùè¨"),
    set(b'Q', "@[\\]^`{|}~", "àâçêîôéùèû"),
    set(b'K', "@[\\]{|}~", "§ÄÖÜäöüß"),
    set(b'Y', "#@[\\]`{|}~", "£§°çéùàòèì"),
    set(b'E', "@[\\]^`{|}~", "ÄÆØÅÜäæøåü"),
    set(b'6', "@[\\]^`{|}~", "ÄÆØÅÜäæøåü"),
    set(b'Z', "#@[\\]{|}", "£§¡Ñ¿°ñç"),
    set(b'H', "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"),
    set(b'7', "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"),
    set(b'=', "#@[\\]^_`{|}~", "ùàéçêîèôäöüû"),
];

/// `Some(None)` is ASCII; `None` is a name nobody knows.
pub(crate) fn by_name(name: u8) -> Option<Option<&'static Charset>> {
    if name == b'B' {
        return Some(None);
    }
    SETS.iter().find(|set| set.name == name).map(Some)
}

impl Charset {
    pub(crate) fn map(&self, code: u32) -> u32 {
        let at = self.from.bytes().position(|byte| u32::from(byte) == code);
        at.and_then(|at| self.to.chars().nth(at)).map_or(code, |char| char as u32)
    }
}

/// The four designated sets, and which is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Charsets {
    pub(crate) sets: [Option<&'static Charset>; 4],
    pub(crate) level: u8,
    /// Usually the set of the level; restoring a saved cursor brings back the set alone.
    pub(crate) current: Option<&'static Charset>,
}

impl Charsets {
    pub(crate) fn designate(&mut self, place: u8, set: Option<&'static Charset>) {
        self.sets[usize::from(place & 3)] = set;
        if self.level == place {
            self.current = set;
        }
    }

    pub(crate) fn shift(&mut self, level: u8) {
        self.level = level;
        self.current = self.sets[usize::from(level & 3)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_with_letters() {
        let lines = by_name(b'0').unwrap().unwrap();
        assert_eq!(lines.map(u32::from(b'q')), '─' as u32);
        assert_eq!(lines.map(u32::from(b'A')), u32::from(b'A'));
        assert_eq!(by_name(b'B'), Some(None));
        assert_eq!(by_name(b'!'), None);
        for set in SETS {
            assert_eq!(set.from.chars().count(), set.to.chars().count(), "{}", set.name);
        }
    }
}
