//! "Did you mean": the known name closest to one that was mistyped.

/// The candidate nearest to `word`, when it is near enough to be a likely slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(word, c), c))
        .filter(|(distance, c)| *distance <= 1 + c.len() / 3)
        // of short words that much is no likeness: `foo` is not `log`
        .filter(|(distance, c)| distance * 2 <= word.len().max(c.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_neighbour_and_noise_does_not() {
        assert_eq!(nearest("timeout", ["timeout_s", "command"]), Some("timeout_s"));
        assert_eq!(nearest("zzz", ["timeout_s", "command"]), None);
        assert_eq!(nearest("foo", ["log"]), None);
        assert_eq!(nearest("maks", ["max"]), Some("max"));
    }
}
