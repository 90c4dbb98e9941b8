//! The moment a session's task wakes up by itself.

use std::pin::Pin;
use std::time::Instant;

use tokio::time::Sleep;

/// One timer for the life of a task, moved only forwards: to move it costs the runtime a system call, and in a burst of
/// commands each would. So it may ring early, and whoever waits looks at the clock.
#[derive(Debug, Default)]
pub struct Alarm {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Resolves at `moment` or before. Cancel-safe.
    pub async fn wait(&mut self, moment: Option<Instant>) {
        let Some(moment) = moment else { return std::future::pending().await };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(moment.into())));
        if timer.is_elapsed() || timer.deadline() > moment.into() {
            timer.as_mut().reset(moment.into());
        }
        timer.await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_earlier_moment_counts_and_a_later_one_rings_early_once() {
        let now = || tokio::time::Instant::now().into_std();
        let start = now();
        let at = |s: u64| Some(start + Duration::from_secs(s));
        let mut alarm = Alarm::default();
        let given_up = tokio::time::timeout(Duration::from_secs(1), alarm.wait(at(60))).await;
        assert!(given_up.is_err());
        alarm.wait(at(5)).await;
        assert_eq!(now(), at(5).unwrap());
        let given_up = tokio::time::timeout(Duration::from_secs(1), alarm.wait(at(10))).await;
        assert!(given_up.is_err());
        alarm.wait(at(20)).await;
        assert_eq!(now(), at(10).unwrap(), "still set to the earlier moment");
        alarm.wait(at(20)).await;
        assert_eq!(now(), at(20).unwrap());
    }
}
