//! A moment on the wall clock, as the store keeps it: whole milliseconds since 1970.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The caller says what time it is: the store has no clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(i64);

impl Moment {
    pub fn now() -> Self {
        Self(Timestamp::now().as_millisecond())
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// None unless it is a time with its offset, as the wire has them.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<Timestamp>().ok().map(|stamp| Self(stamp.as_millisecond()))
    }

    pub fn rfc3339(self) -> String {
        let stamp = Timestamp::from_millisecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH);
        format!("{stamp:.3}")
    }

    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Moment {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_writes() {
        let moment = Moment::from_millis(1_767_225_600_123);
        assert_eq!(moment.rfc3339(), "2026-01-01T00:00:00.123Z");
        assert_eq!(Moment::parse(&moment.rfc3339()), Some(moment));
        assert_eq!(Moment::parse("yesterday"), None);
    }
}
