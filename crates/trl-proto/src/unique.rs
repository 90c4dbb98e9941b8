//! Maps of strings in which no name is there twice. Parsers differ in which of the two they take.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::untrusted::one_line;

type Map = BTreeMap<String, String>;

/// For `#[serde(deserialize_with)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Map>, D::Error> {
    source.deserialize_option(Optional)
}

struct Optional;

impl<'de> Visitor<'de> for Optional {
    type Value = Option<Map>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry::<String, String>()? {
            if map.contains_key(&name) {
                let name = one_line(&name);
                return Err(A::Error::custom(format_args!("the name `{name}` is there twice")));
            }
            map.insert(name, value);
        }
        Ok(Some(map))
    }
}
