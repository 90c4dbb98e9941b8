//! Durations and sizes as people write them: `30s`, `1m30s`, `500ms`, `0`; `4096`, `16MiB`.

use std::time::Duration;

use trl_proto::LONGEST;

/// Reads a duration as long as the wire takes one; a bare number counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let total = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => sum_of_parts(text),
    };
    match total {
        Some(total) if total <= LONGEST => Ok(total),
        Some(_) => Err(format!("`{text}` is longer than {} days", LONGEST.as_secs() / 86400)),
        None => Err(format!("`{text}` is not a duration; write 500ms, 30s, 2m, 1h30m or seconds")),
    }
}

/// `1h30m`: numbers with their units, one after another.
fn sum_of_parts(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(unit_at);
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

/// Reads a whole number, with `KiB`, `MiB` or `GiB` behind it if it counts bytes.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, scale) = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        .into_iter()
        .find_map(|(unit, scale)| text.strip_suffix(unit).map(|number| (number, scale)))
        .unwrap_or((text, 1));
    number.trim().parse::<u64>().ok()?.checked_mul(scale)
}

/// A number of bytes in its largest whole unit: `1000`, `64KiB`, `16MiB`. [`whole`] reads it back.
pub(crate) fn size(bytes: u64) -> String {
    [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, scale)| bytes >= *scale && bytes.is_multiple_of(*scale))
        .map_or_else(|| bytes.to_string(), |(unit, scale)| format!("{}{unit}", bytes / scale))
}

/// A duration for people, in its largest whole unit: `4s`, `3m`, `2h`, `5d`.
pub(crate) fn coarse(duration: Duration) -> String {
    match duration.as_secs() {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m", s / 60),
        s if s < 2 * 86400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse() {
        for (text, millis) in [
            ("0", 0),
            ("30", 30_000),
            ("2.5", 2_500),
            ("30s", 30_000),
            ("0.5s", 500),
            ("2m", 120_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("366d", 366 * 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "s", "-1", "-1s", "3x", "nan", "inf", "1 2", "3s4", "1e300", "367d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_parse() {
        assert_eq!(whole("4096"), Some(4096));
        assert_eq!(whole("16MiB"), Some(16 << 20));
        assert_eq!(size(16 << 20), "16MiB");
        assert_eq!(size(1000), "1000");
        assert_eq!(whole("-1"), None);
        assert_eq!(whole("99999999999GiB"), None);
    }

    #[test]
    fn coarse_durations_use_one_unit() {
        let shown = [4, 61, 7200, 86400, 200_000].map(|s| coarse(Duration::from_secs(s)));
        assert_eq!(shown, ["4s", "1m", "2h", "24h", "2d"]);
    }
}
