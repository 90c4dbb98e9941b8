//! Where a field stands in the text of a case. Looked up only once something is wrong.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};
use trl_proto::case::CaseError;

use super::check::Fault;
use super::parse::options;

/// Any YAML, with the place of each part.
enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Other,
}

/// Each fault with the place of its field, or of the closest one around it that is there.
pub(super) fn place(text: &str, faults: Vec<Fault>) -> Vec<CaseError> {
    let tree = tree(text);
    let located = |fault: Fault| {
        let at = tree.as_ref().and_then(|tree| find(tree, &fault.field));
        CaseError {
            line: at.map(|at| at.line()),
            column: at.map(|at| at.column()),
            field: (!fault.field.is_empty()).then_some(fault.field),
            message: fault.message,
            hint: fault.hint,
        }
    };
    faults.into_iter().map(located).collect()
}

/// The field whose name or value begins at this place.
pub(super) fn field_at(text: &str, line: u64, column: u64) -> Option<String> {
    named_at(&tree(text)?.value, (line, column))
}

fn tree(text: &str) -> Option<Spanned<Node>> {
    serde_saphyr::from_str_with_options(text, options()).ok()
}

fn find(tree: &Spanned<Node>, field: &str) -> Option<Location> {
    let mut node = &tree.value;
    let mut at = None;
    for step in field.split('.').filter(|step| !step.is_empty()) {
        let next = match node {
            Node::Map(entries) => entries.iter().find(|(name, _)| name.value == step).map(|(_, value)| value),
            Node::List(items) => step.parse::<usize>().ok().and_then(|n| items.get(n)),
            Node::Other => None,
        };
        let Some(next) = next else { break };
        at = Some(next.referenced);
        node = &next.value;
    }
    at.filter(|at| at.line() > 0)
}

fn named_at(node: &Node, at: (u64, u64)) -> Option<String> {
    let is_at = |place: &Location| (place.line(), place.column()) == at;
    let below = |name: String, value: &Spanned<Node>| match named_at(&value.value, at) {
        Some(rest) => Some(format!("{name}.{rest}")),
        None => is_at(&value.referenced).then_some(name),
    };
    match node {
        Node::Map(entries) => entries.iter().find_map(|(name, value)| {
            if is_at(&name.referenced) { Some(name.value.clone()) } else { below(name.value.clone(), value) }
        }),
        Node::List(items) => items.iter().enumerate().find_map(|(n, item)| below(n.to_string(), item)),
        Node::Other => None,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
id: x
env:
  A: 1
approval:
  rules:
    - deny: [a, b]
    - allow: []
";

    fn at(field: &str) -> Option<(u64, u64)> {
        find(&tree(TEXT).unwrap(), field).map(|at| (at.line(), at.column()))
    }

    #[test]
    fn fields_are_found_by_their_paths() {
        assert_eq!(at("id"), Some((1, 5)));
        assert_eq!(at("env.A"), Some((3, 6)));
        assert_eq!(at("approval.rules.0.deny.1"), Some((6, 17)));
        assert_eq!(at("approval.rules.1.allow"), Some((7, 14)));
        // what is not there is shown at what is around it
        assert_eq!(at("env.B"), at("env"));
        assert_eq!(at("shell"), None);
    }

    #[test]
    fn places_are_found_by_line_and_column() {
        assert_eq!(field_at(TEXT, 3, 3).as_deref(), Some("env.A"));
        assert_eq!(field_at(TEXT, 3, 6).as_deref(), Some("env.A"));
        assert_eq!(field_at(TEXT, 6, 14).as_deref(), Some("approval.rules.0.deny.0"));
        assert_eq!(field_at(TEXT, 99, 1), None);
    }
}
