//! Ids: a one- or two-letter kind, a dash, and random lower-case letters and digits.
//!
//! They are names, not secrets: who may use one is decided by the principal, never by knowing the id.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// No `0`, `1`, `l` or `o`: an id is read aloud and typed by people. 32 letters, so a byte maps evenly.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

fn random<const N: usize>(prefix: &str) -> Box<str> {
    let bytes: [u8; N] = crate::random::bytes();
    let tail = bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)]));
    prefix.chars().chain(tail).collect::<String>().into()
}

fn well_formed(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|tail| {
        (1..=32).contains(&tail.len()) && tail.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

/// Parses within the visit, so that the reader still knows where the text stood.
struct Read<T>(PhantomData<T>);

impl<T: FromStr<Err = String>> de::Visitor<'_> for Read<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// A fresh random id.
            pub fn random() -> Self {
                Self(random::<$len>($prefix))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                if well_formed(text, $prefix) {
                    Ok(Self(text.into()))
                } else {
                    Err(format!("\"{}\" is not an id of the form {}...", crate::one_line(text), $prefix))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::openapi::id_schema($prefix)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_str(Read(PhantomData))
            }
        }
    };
}

id!(
    /// A resident session: `s-xxxxxxxx`.
    SessionId, "s-", 8
);
id!(
    /// One execution: `e-xxxxxxxxxx`.
    ExecutionId, "e-", 10
);
id!(
    /// One terminal: `t-xxxxxxxx`.
    TerminalId, "t-", 8
);
id!(
    /// The kept state of a session: `c-xxxxxxxxxx`.
    CheckpointId, "c-", 10
);
id!(
    /// A command that waits for a person: `r-xxxxxxxxxx`.
    RequestId, "r-", 10
);
id!(
    /// A message to a session's agent: `m-xxxxxxxxxx`.
    MessageId, "m-", 10
);
id!(
    /// One subscription to pushes of a connection: `st-xxxxxxxx`.
    StreamId, "st-", 8
);
id!(
    /// A token, by its public name: `tok-xxxxxxxx`.
    TokenId, "tok-", 8
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_parse_back() {
        for _ in 0..100 {
            let id = SessionId::random();
            assert_eq!(id.as_str().len(), 10);
            assert_eq!(id.as_str().parse::<SessionId>().unwrap(), id);
        }
    }

    #[test]
    fn foreign_kinds_and_path_tricks_are_refused() {
        for bad in ["", "s-", "e-abc", "s-../x", "s-ABC", "s-a b", "t-abcdefgh"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
