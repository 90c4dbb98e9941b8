//! Two clocks: the wall clock for people, the monotonic one for everything that is measured or waited for.

use std::time::Instant;

use jiff::Timestamp;

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    pub monotonic: Instant,
    wall: Timestamp,
}

impl Stamp {
    pub fn now() -> Self {
        Self { monotonic: Instant::now(), wall: Timestamp::now() }
    }

    /// That long from now.
    pub fn in_future(by: std::time::Duration) -> Self {
        let now = Self::now();
        let wall = now.wall.checked_add(jiff::SignedDuration::try_from(by).unwrap_or_default());
        Self { monotonic: now.monotonic + by, wall: wall.unwrap_or(now.wall) }
    }

    /// A moment of an earlier daemon, by the wall clock; as far back on the other one as that goes.
    pub fn of_past(millis: i64) -> Self {
        let now = Self::now();
        let wall = Timestamp::from_millisecond(millis).unwrap_or(now.wall);
        let age = now.wall.as_millisecond().saturating_sub(millis);
        let age = std::time::Duration::from_millis(u64::try_from(age).unwrap_or(0));
        Self { monotonic: now.monotonic.checked_sub(age).unwrap_or(now.monotonic), wall }
    }

    /// Since 1970, on the wall clock.
    pub fn unix_millis(&self) -> i64 {
        self.wall.as_millisecond()
    }

    /// Whole seconds since 1970, on the wall clock.
    pub fn unix_seconds(&self) -> i64 {
        self.wall.as_second()
    }

    /// The same in microseconds: to put things in their order.
    pub fn unix_micros(&self) -> i64 {
        self.wall.as_microsecond()
    }

    /// Milliseconds are plenty for people.
    pub fn rfc3339(&self) -> String {
        let whole = Timestamp::from_millisecond(self.wall.as_millisecond()).unwrap_or(self.wall);
        format!("{whole:.3}")
    }
}
