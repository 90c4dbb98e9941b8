//! The id of a request that is too long to be held in memory, so that its sender gets an answer and does not wait for one.
//!
//! 1. [`IdSearch`] is fed the bytes of one JSON object, in pieces of any size.
//! 2. It follows strings and nesting, and remembers the value of the member `id` of the outermost object.
//!
//! It does not check that the bytes are JSON. Its memory is bounded by [`LONGEST_ID`].

use serde_json::value::RawValue;

/// The most bytes that a request's id may have to be found.
const LONGEST_ID: usize = 256;

/// A search for the member `id` of one JSON object.
#[derive(Debug, Default)]
pub(super) struct IdSearch {
    depth: usize,
    text: Text,
    member: Member,
    /// The first bytes of the key or the value that is read at depth 1.
    token: Vec<u8>,
    found: Option<Vec<u8>>,
}

/// Whether the next byte belongs to a JSON string.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// The part of a member of the outermost object that is read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Member {
    #[default]
    Key,
    Id,
    OtherValue,
}

impl IdSearch {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// Returns the id as JSON: a string or a number. None when there is none, or one that is cut off or too long.
    pub(super) fn finish(self) -> Option<Box<RawValue>> {
        let found = String::from_utf8(self.found?).ok()?;
        let is_scalar =
            found.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
        RawValue::from_string(found).ok().filter(|_| is_scalar)
    }

    fn step(&mut self, byte: u8) {
        match (self.text, byte) {
            (Text::Escaped, _) => self.read(byte, Text::Inside),
            (Text::Inside, b'\\') => self.read(byte, Text::Escaped),
            (Text::Inside, b'"') => self.read(byte, Text::Outside),
            (Text::Inside, _) => self.read(byte, Text::Inside),
            (Text::Outside, b'"') => self.read(byte, Text::Inside),
            (Text::Outside, b'{' | b'[') => {
                // A value that is nested is no id: what is read of it here is not a whole value.
                self.read(byte, Text::Outside);
                self.depth += 1;
                if self.depth == 1 {
                    self.begin(Member::Key);
                }
            }
            (Text::Outside, b'}' | b']') => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            (Text::Outside, b',') if self.depth == 1 => {
                self.end_value();
                self.begin(Member::Key);
            }
            (Text::Outside, b':') if self.depth == 1 => {
                let is_id = self.member == Member::Key && self.token.trim_ascii() == br#""id""#;
                self.begin(if is_id { Member::Id } else { Member::OtherValue });
            }
            (Text::Outside, _) => self.read(byte, Text::Outside),
        }
    }

    fn read(&mut self, byte: u8, text: Text) {
        self.text = text;
        // One byte more than an id may have shows that it is too long.
        if self.depth == 1 && self.token.len() <= LONGEST_ID {
            self.token.push(byte);
        }
    }

    fn begin(&mut self, member: Member) {
        self.member = member;
        self.token.clear();
    }

    fn end_value(&mut self) {
        if self.member == Member::Id && self.token.len() <= LONGEST_ID {
            self.found = Some(self.token.trim_ascii().to_vec());
        }
        self.begin(Member::Key);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn search(text: &str, piece: usize) -> Option<String> {
        let mut search = IdSearch::default();
        text.as_bytes().chunks(piece).for_each(|piece| search.feed(piece));
        search.finish().map(|id| id.get().to_string())
    }

    #[test]
    fn an_id_stands_before_or_after_the_parameters() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}}"#, Some("7")),
            (
                r#"{"method":"m","params":{"a":[{"id":8}],"s":"\",\"id\":9,"},"id" : "a\"b" }"#,
                Some(r#""a\"b""#),
            ),
            (r#" {"id": -1.5e3, "params": "cut her"#, Some("-1.5e3")),
            (r#"{"params": "cut", "id": 12"#, None),
            (r#"{"id": null}"#, None),
            (r#"{"id": [1]}"#, None),
            (r#"{"id": {"id": 1}}"#, None),
            (r#"{"ids": 1, "x": "id"}"#, None),
            (r#"[{"id": 1}]"#, None),
            ("no JSON at all", None),
        ] {
            assert_eq!(search(text, 3).as_deref(), id, "{text}");
        }
        let long = |length: usize| format!(r#"{{"id": "{}"}}"#, "x".repeat(length));
        assert!(search(&long(LONGEST_ID - 10), 5).is_some());
        assert_eq!(search(&long(LONGEST_ID), 5), None);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[\\PC\"\\\\{}\\[\\],:]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let members = prop::collection::vec(
                (prop_oneof![Just("id".to_string()), "\\PC{0,4}"], inner.clone()),
                0..4,
            );
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_id_is_the_one_that_a_parser_finds(
            before in value(), after in value(), id in value(), piece in 1_usize..40, pretty in any::<bool>(),
        ) {
            let all = json!({"a": before, "id": id, "z": after});
            let text = if pretty { format!("{all:#}") } else { all.to_string() };
            let expected = (all["id"].is_string() || all["id"].is_number()).then(|| all["id"].to_string());
            prop_assert_eq!(search(&text, piece), expected);
        }
    }
}
