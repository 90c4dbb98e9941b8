//! The `Range` header: one range of bytes, or none.

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Some {
        from: u64,
        length: u64,
    },
    /// The range lies beyond the end.
    Nothing,
}

/// A range that is none, or several, is as if it had not been sent.
pub(super) fn wanted(header: Option<&str>, size: u64) -> Part {
    let Some(range) = header.and_then(|text| text.trim().strip_prefix("bytes=")) else { return Part::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return Part::Whole };
    // Nothing, or digits and no more than those.
    let number = |text: &str| -> Option<Option<u64>> {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        if text.is_empty() { Some(None) } else { text.parse().ok().filter(|_| digits).map(Some) }
    };
    let (Some(first), Some(last)) = (number(first), number(last)) else { return Part::Whole };
    match (first, last) {
        (None, None) => Part::Whole,
        // The last so many.
        (None, Some(count)) if count == 0 || size == 0 => Part::Nothing,
        (None, Some(count)) => {
            let length = count.min(size);
            Part::Some { from: size - length, length }
        }
        (Some(from), Some(to)) if from > to => Part::Whole,
        (Some(from), _) if from >= size => Part::Nothing,
        (Some(from), to) => Part::Some { from, length: to.unwrap_or(u64::MAX).min(size - 1) - from + 1 },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        let some = |from, length| Part::Some { from, length };
        for (header, part) in [
            ("bytes=0-0", some(0, 1)),
            ("bytes=2-5", some(2, 4)),
            ("bytes=2-", some(2, 8)),
            ("bytes=-3", some(7, 3)),
            ("bytes=-99", some(0, 10)),
            ("bytes=5-99", some(5, 5)),
            ("bytes=10-", Part::Nothing),
            ("bytes=10-12", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,4-5", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("items=0-1", Part::Whole),
        ] {
            assert_eq!(wanted(Some(header), 10), part, "{header}");
        }
        assert_eq!(wanted(None, 10), Part::Whole);
        assert_eq!(wanted(Some("bytes=0-"), 0), Part::Nothing);
    }

    proptest! {
        #[test]
        fn no_range_leaves_the_file(from in 0u64..100, to in 0u64..200, size in 0u64..100, form in 0u8..3) {
            let header = match form {
                0 => format!("bytes={from}-{to}"),
                1 => format!("bytes={from}-"),
                _ => format!("bytes=-{to}"),
            };
            if let Part::Some { from, length } = wanted(Some(&header), size) {
                prop_assert!(length > 0 && from + length <= size);
            }
        }
    }
}
