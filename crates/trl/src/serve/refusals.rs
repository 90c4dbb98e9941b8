//! The log of refused connections: one line for the first, and one with a count for those that follow it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Refusals for the same reason within this time are one line.
const PERIOD: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    /// Those that were not logged yet, by the reason. A reason that is not here was not met in the last [`PERIOD`].
    unsaid: Arc<Mutex<HashMap<Arc<str>, u64>>>,
}

impl Refusals {
    /// Logs a refusal, or counts it. There are only a few different reasons: none has text of a client in it.
    pub(super) fn note(&self, reason: &str) {
        if let Some(more) = self.unsaid().get_mut(reason) {
            *more += 1;
            return;
        }
        let reason: Arc<str> = reason.into();
        self.unsaid().insert(Arc::clone(&reason), 0);
        tracing::warn!(%reason, "a connection was refused");
        let refusals = self.clone();
        tokio::spawn(async move { refusals.count(reason).await });
    }

    /// Logs how many more there were, period by period, until there are none.
    async fn count(&self, reason: Arc<str>) {
        loop {
            tokio::time::sleep(PERIOD).await;
            let mut unsaid = self.unsaid();
            match unsaid.get_mut(&reason).map(std::mem::take) {
                Some(more) if more > 0 => tracing::warn!(%reason, more, "connections were refused"),
                _ => {
                    unsaid.remove(&reason);
                    return;
                }
            }
        }
    }

    fn unsaid(&self) -> MutexGuard<'_, HashMap<Arc<str>, u64>> {
        self.unsaid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
