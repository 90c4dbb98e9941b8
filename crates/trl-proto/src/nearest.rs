//! "Did you mean": the known name closest to one that was mistyped.

/// The candidate nearest to `word`, when it is near enough to be a likely slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(word, c), c))
        .filter(|(distance, c)| *distance <= 1 + c.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Reads serde's "unknown field" message and adds the nearest known field to it.
///
/// The message is the only place where serde names both the field and its siblings.
pub fn explain_unknown_field(message: &str) -> Option<String> {
    let rest = message.split_once("unknown field `")?.1;
    let (field, rest) = rest.split_once('`')?;
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(match nearest(field, known.iter().copied()) {
        Some(near) => format!("unknown field `{field}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown field `{field}`; no fields are expected here"),
        None => format!("unknown field `{field}`; known fields: {}", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_neighbour_and_noise_does_not() {
        assert_eq!(nearest("timeout", ["timeout_s", "command"]), Some("timeout_s"));
        assert_eq!(nearest("zzz", ["timeout_s", "command"]), None);
    }

    #[test]
    fn serde_messages_are_understood() {
        let text =
            explain_unknown_field("unknown field `comand`, expected one of `command`, `env` at line 1");
        assert_eq!(text.as_deref(), Some("unknown field `comand`; did you mean `command`?"));
    }
}
