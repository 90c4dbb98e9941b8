//! The first words on every connection: which versions, which link, who speaks, how much of the link it has.
//!
//! Its form stays for ever, since it is read before a version is agreed on: later versions add fields at its end, which
//! earlier ones pass over.

use std::fmt;
use std::str::FromStr;

use crate::breach::Breach;
use crate::link::Side;

/// Unlikely in what login scripts print, and no text.
pub const MAGIC: &[u8; 8] = b"\0trl\xf5lk\n";
/// The versions of the protocol that this code speaks.
pub const VERSIONS: (u16, u16) = (1, 1);
/// What the program above may say of itself.
pub const MOST_GREETING: usize = 1024;

const FIXED: usize = 2 + 2 + 1 + 16 + 8 + 8 + 8 + 4 + 4 + 2;
/// Later versions may add this much.
const MOST_BODY: usize = 4096;
/// The longest that is read as one.
pub const MOST_SIZE: usize = MAGIC.len() + 2 + MOST_BODY;

/// Names a link, so that a connection reaches the state that belongs to it. A name, not a secret: it stands on command
/// lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; 16]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Key {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let digits: Vec<u8> = text
            .chars()
            .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect::<Option<_>>()
            .ok_or(NoKey)?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect();
        bytes.try_into().map(Self).map_err(|_| NoKey)
    }
}

/// Not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoKey;

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Oldest and newest version it speaks.
    pub versions: (u16, u16),
    pub side: Side,
    pub key: Key,
    /// Which life of that side this is.
    pub own: u64,
    /// Which life of the other side it knows; 0 when it has not met one.
    pub known: u64,
    /// Frames that have come.
    pub received: u64,
    /// Bytes it keeps unacknowledged: an acknowledgement is due well before that many.
    pub window: u32,
    /// Bytes it takes on a fresh stream.
    pub credit: u32,
    /// For the program above.
    pub greeting: Vec<u8>,
}

impl Hello {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let greeting = &self.greeting[..self.greeting.len().min(MOST_GREETING)];
        out.extend(MAGIC);
        out.extend(((FIXED + greeting.len()) as u16).to_be_bytes());
        out.extend(self.versions.0.to_be_bytes());
        out.extend(self.versions.1.to_be_bytes());
        out.push(self.side.code());
        out.extend(self.key.0);
        out.extend(self.own.to_be_bytes());
        out.extend(self.known.to_be_bytes());
        out.extend(self.received.to_be_bytes());
        out.extend(self.window.to_be_bytes());
        out.extend(self.credit.to_be_bytes());
        out.extend((greeting.len() as u16).to_be_bytes());
        out.extend(greeting);
    }

    /// Reads one that begins here, and how long it is; None until it is all there.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Breach> {
        let Some((length, rest)) = bytes.get(MAGIC.len()..).and_then(|b| b.split_first_chunk()) else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes(*length));
        if length > MOST_BODY {
            return Err(Breach::TooLong(length));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let hello = Self::parse(body).ok_or(Breach::Malformed(0))?;
        Ok(Some((hello, MAGIC.len() + 2 + length)))
    }

    fn parse(mut body: &[u8]) -> Option<Self> {
        let body = &mut body;
        let versions = (u16::from_be_bytes(take(body)?), u16::from_be_bytes(take(body)?));
        let [side] = take(body)?;
        Some(Self {
            versions,
            side: Side::of_code(side)?,
            key: Key(take(body)?),
            own: u64::from_be_bytes(take(body)?),
            known: u64::from_be_bytes(take(body)?),
            received: u64::from_be_bytes(take(body)?),
            window: u32::from_be_bytes(take(body)?),
            credit: u32::from_be_bytes(take(body)?),
            greeting: {
                let length = usize::from(u16::from_be_bytes(take(body)?));
                body.get(..length)?.to_vec()
            },
        })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// The newest version both speak.
pub fn agree(ours: (u16, u16), theirs: (u16, u16)) -> Result<u16, Breach> {
    let version = ours.1.min(theirs.1);
    if version < ours.0.max(theirs.0) {
        return Err(Breach::Version { ours, theirs });
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            versions: (1, 3),
            side: Side::Near,
            key: Key([7; 16]),
            own: 1,
            known: 0,
            received: 9,
            window: 5,
            credit: 6,
            greeting: b"{}".to_vec(),
        }
    }

    #[test]
    fn a_hello_comes_back_also_with_fields_of_the_future() {
        let mut bytes = Vec::new();
        hello().encode(&mut bytes);
        assert_eq!(Hello::decode(&bytes), Ok(Some((hello(), bytes.len()))));
        for cut in MAGIC.len()..bytes.len() {
            assert_eq!(Hello::decode(&bytes[..cut]), Ok(None));
        }
        let length = u16::try_from(bytes.len() - MAGIC.len() - 2 + 3).unwrap();
        bytes[MAGIC.len()..MAGIC.len() + 2].copy_from_slice(&length.to_be_bytes());
        bytes.extend(b"new");
        assert_eq!(Hello::decode(&bytes), Ok(Some((hello(), bytes.len()))));
    }

    #[test]
    fn the_newest_version_of_both_is_spoken_or_none() {
        assert_eq!(agree((1, 3), (2, 5)), Ok(3));
        assert_eq!(agree((1, 1), (1, 1)), Ok(1));
        assert_eq!(agree((1, 2), (3, 4)), Err(Breach::Version { ours: (1, 2), theirs: (3, 4) }));
        assert!(agree((3, 4), (1, 2)).is_err());
    }
}
