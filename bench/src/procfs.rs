//! What the kernel says about other processes.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The number behind `key` of `/proc/PID/status` (kB for sizes).
pub(crate) fn status(pid: u32, key: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    field(&text, key).with_context(|| format!("{key} in {path}"))
}

fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// All processes below `pid`.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children_of_all_threads(pid);
    let mut next = 0;
    while let Some(&child) = found.get(next) {
        found.extend(children_of_all_threads(child));
        next += 1;
    }
    found
}

/// A child belongs to the thread that made it.
fn children_of_all_threads(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return vec![] };
    let lists = threads.flatten().filter_map(|t| fs::read_to_string(t.path().join("children")).ok());
    lists
        .flat_map(|text| text.split_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<_>>())
        .collect()
}

pub(crate) fn comm(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_string()
}

/// Processor time of all threads of a process so far.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let ticks = ticks(&text).with_context(|| format!("times in {path}"))?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The name before them may hold anything, also spaces and brackets.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Proportional share of memory, in KiB.
pub(crate) fn pss(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    field(&text, "Pss").with_context(|| format!("Pss in {path}"))
}

/// The peak of a process's memory above what it had at the start of `work`, in KiB.
///
/// The kernel keeps the peak and forgets it on request; where that is not allowed, the memory is sampled.
pub(crate) fn peak_growth<T>(pid: u32, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    let before = status(pid, "VmRSS")?;
    let forgotten = fs::write(format!("/proc/{pid}/clear_refs"), "5").is_ok();
    let (done, peak) = if forgotten {
        let done = work()?;
        (done, status(pid, "VmHWM")?)
    } else {
        sampled(pid, work)?
    };
    Ok((done, peak.saturating_sub(before)))
}

fn sampled<T>(pid: u32, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let sampler = scope.spawn(move || {
            let mut peak = 0;
            loop {
                peak = peak.max(status(pid, "VmRSS").unwrap_or(0));
                let wait = stopped.recv_timeout(Duration::from_millis(2));
                if wait != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    return peak;
                }
            }
        });
        let done = work();
        drop(stop);
        let peak = sampler.join().map_err(|_| anyhow::anyhow!("the sampler died"))?;
        Ok((done?, peak))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "VmPeakX:\t1 kB\nVmPeak:\t 22 kB\nThreads:\t3\n";
        assert_eq!(
            (field(text, "VmPeak"), field(text, "Threads"), field(text, "Vm")),
            (Some(22), Some(3), None)
        );
    }

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 50 6 0 0 20 0 1 0 9";
        assert_eq!(ticks(stat), Some(56));
        assert!(cpu(std::process::id()).is_ok());
    }

    #[test]
    fn growth_is_seen_either_way() {
        let me = std::process::id();
        let grow = || Ok(std::hint::black_box(vec![1u8; 32 << 20]).len());
        let (_, kib) = peak_growth(me, grow).unwrap();
        assert!(kib > 16 << 10, "{kib}");
        let before = status(me, "VmRSS").unwrap();
        let (_held, peak) = sampled(me, || {
            let held = std::hint::black_box(vec![1u8; 32 << 20]);
            std::thread::sleep(Duration::from_millis(20));
            Ok(held)
        })
        .unwrap();
        assert!(peak > before + (16 << 10), "{peak} {before}");
    }
}
