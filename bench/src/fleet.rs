//! Many sessions at once: one thread each, all let go together.

use std::sync::Barrier;
use std::time::Instant;

use anyhow::{Result, anyhow};

/// Runs `work` on every item at the same time; seconds until the last one is done.
pub(crate) fn together<T: Send>(items: &mut [T], work: impl Fn(&mut T) -> Result<()> + Sync) -> Result<f64> {
    let ready = Barrier::new(items.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .iter_mut()
            .map(|item| {
                scope.spawn(|| {
                    ready.wait();
                    work(item)
                })
            })
            .collect();
        ready.wait();
        let start = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a thread died"))??;
        }
        Ok(start.elapsed().as_secs_f64())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_are_worked_on_and_one_failure_is_enough() {
        let mut items = [1, 2, 3];
        together(&mut items, |n| {
            *n += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(items, [2, 3, 4]);
        assert!(together(&mut items, |n| if *n == 3 { Err(anyhow!("no")) } else { Ok(()) }).is_err());
    }
}
