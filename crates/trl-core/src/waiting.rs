//! Waiting for an execution: for its end, for something it says, for its silence. Waiting changes nothing about it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::bytes::{Regex, RegexBuilder};
use trl_proto::Error;
use trl_proto::exec::Stream;
use trl_proto::start::{Matched, Reason, Until};

use crate::execution::Execution;
use crate::output::Log;

/// A match may be this long and lie anywhere; a longer one is found if it comes at once.
const LONGEST_MATCH: u64 = 8 * 1024;
/// Read at a time.
const CHUNK: usize = 1 << 20;
/// What a pattern may grow to when it is compiled.
const MOST_PATTERN: usize = 1 << 20;

/// What ends a wait, beside the end itself.
#[derive(Debug, Default)]
pub struct Conditions {
    searches: Vec<Search>,
    /// So many bytes beyond the offset, in these streams together.
    bytes: Option<(u64, u64)>,
    idle: Option<Duration>,
    streams: Vec<Stream>,
}

impl Conditions {
    /// The end and nothing else.
    pub fn end() -> Self {
        Self::default()
    }

    pub fn new(until: &Until, execution: &Execution) -> Result<Self, Error> {
        if until.exit == Some(true)
            && (until.pattern.is_some() || until.idle_ms.is_some() || until.bytes.is_some())
        {
            return Err(Error::invalid("`exit: true` says that nothing else ends the wait"));
        }
        let on_terminal = execution.place.terminal().is_some();
        let streams = match until.stream {
            Some(Stream::Tty) if !on_terminal => {
                return Err(Error::invalid("it has no terminal: its streams are stdout and stderr"));
            }
            Some(stream) => vec![stream],
            None if on_terminal => vec![Stream::Tty],
            None => vec![Stream::Stdout, Stream::Stderr],
        };
        let since = until.since.unwrap_or(0);
        let searches = match &until.pattern {
            None => Vec::new(),
            Some(pattern) => {
                let regex = compile(pattern)?;
                streams.iter().map(|stream| Search::new(regex.clone(), *stream, since)).collect()
            }
        };
        Ok(Self {
            searches,
            bytes: until.bytes.map(|count| (since, count)),
            idle: until.idle_ms.map(Duration::from_millis),
            streams,
        })
    }

    /// Does one hold?
    fn met(&mut self, execution: &Execution) -> Option<(Reason, Option<Matched>)> {
        if let Some(matched) = self.searches.iter_mut().find_map(|s| s.look(execution.log(s.stream))) {
            return Some((Reason::Pattern, Some(matched)));
        }
        let written = |since: u64| -> u64 {
            self.streams.iter().map(|stream| execution.log(*stream).total().saturating_sub(since)).sum()
        };
        let enough = self.bytes.is_some_and(|(since, count)| written(since) >= count);
        enough.then_some((Reason::Bytes, None))
    }
}

fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern)
        .size_limit(MOST_PATTERN)
        .dfa_size_limit(MOST_PATTERN)
        .build()
        .map_err(|e| Error::invalid(format!("`pattern`: {e}")).hint("the syntax is that of the regex crate"))
}

/// Until one of the conditions holds, the execution ends, or it is that late. An execution that was refused says why.
pub async fn wait(
    execution: &Arc<Execution>,
    mut conditions: Conditions,
    deadline: Instant,
) -> Result<(Reason, Option<Matched>), Error> {
    let mut quiet_since = Instant::now();
    loop {
        // read before the conditions are looked at: what is written meanwhile wakes us
        let seen = (execution.stdout.total(), execution.stderr.total());
        let finished = execution.finished().is_some();
        if let Some(met) = conditions.met(execution) {
            return Ok(met);
        }
        if finished {
            return Ok((Reason::Exit, None));
        }
        let silence = conditions.idle.map(|idle| quiet_since + idle);
        tokio::select! {
            biased;
            over = execution.wait() => drop(over?),
            () = grown(&execution.stdout, seen.0), if conditions.listens() => quiet_since = Instant::now(),
            () = grown(&execution.stderr, seen.1), if conditions.listens() => quiet_since = Instant::now(),
            () = tokio::time::sleep_until(deadline.into()) => return Ok((Reason::Timeout, None)),
            () = at(silence) => return Ok((Reason::Idle, None)),
        }
    }
}

impl Conditions {
    fn listens(&self) -> bool {
        !self.searches.is_empty() || self.bytes.is_some() || self.idle.is_some()
    }
}

async fn grown(log: &Log, beyond: u64) {
    log.wait_for_growth(beyond).await;
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// One stream, searched as it grows.
#[derive(Debug)]
struct Search {
    regex: Regex,
    stream: Stream,
    /// A match may begin from here on.
    from: u64,
}

impl Search {
    fn new(regex: Regex, stream: Stream, from: u64) -> Self {
        Self { regex, stream, from }
    }

    fn look(&mut self, log: &Log) -> Option<Matched> {
        loop {
            // One byte more than is searched: what stands before decides whether a line begins there.
            let before = self.from.min(1);
            let slice = log.read_on(self.from - before, CHUNK);
            let skip = if slice.gap.is_some() { 0 } else { before as usize };
            if slice.bytes.len() <= skip {
                return None;
            }
            if let Some(found) = self.regex.find_at(&slice.bytes, skip) {
                let at = |index: usize| slice.offset + index as u64;
                return Some(Matched { stream: self.stream, from: at(found.start()), to: at(found.end()) });
            }
            let searched = slice.next();
            self.from = self.from.max(slice.offset).max(searched.saturating_sub(LONGEST_MATCH));
            if searched >= log.total() {
                return None;
            }
            if slice.bytes.len() < CHUNK {
                // what follows is gone: no match spans that
                self.from = log.read(searched, 1).slice.offset;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Budget, Capacity};

    fn log(bytes: usize) -> Arc<Log> {
        Log::new(Capacity::tail(bytes), Budget::new(usize::MAX), None)
    }

    fn search(pattern: &str, from: u64) -> Search {
        Search::new(compile(pattern).unwrap(), Stream::Stdout, from)
    }

    fn range(found: Option<Matched>) -> Option<(u64, u64)> {
        found.map(|m| (m.from, m.to))
    }

    #[test]
    fn a_match_may_come_in_pieces() {
        let (log, mut search) = (log(1 << 20), search("lis+tening on", 0));
        for piece in ["starting... lis", "sss", "tening o"] {
            log.append(piece.as_bytes());
            assert_eq!(search.look(&log), None);
        }
        log.append(b"n 80");
        assert_eq!(range(search.look(&log)), Some((12, 27)));
    }

    #[test]
    fn a_line_begins_after_a_newline_and_nowhere_else() {
        let log = log(1 << 20);
        log.append(b"x$ \n");
        let mut first = search("(?m)^\\$ ", 1);
        assert_eq!(first.look(&log), None, "byte 1 is not the beginning of a line");
        log.append(b"$ ");
        assert_eq!(range(first.look(&log)), Some((4, 6)));
        assert_eq!(range(search("^x", 0).look(&log)), Some((0, 1)));
        assert_eq!(search("^x", 2).look(&log), None);
    }

    #[test]
    fn what_fell_out_is_not_searched_and_what_is_left_is() {
        let (log, mut search) = (log(8), search("b+", 0));
        log.append(b"bbbbaaaaaaaa");
        assert_eq!(search.look(&log), None);
        log.append(b"aab");
        assert_eq!(range(search.look(&log)), Some((14, 15)));
    }

    #[test]
    fn a_gap_in_the_middle_is_passed() {
        let log = Log::new(Capacity::head_and_tail(40_000), Budget::new(usize::MAX), None);
        let mut search = search("needle", 0);
        for _ in 0..100 {
            log.append(&[b'.'; 1000]);
            assert_eq!(search.look(&log), None);
        }
        log.append(b"needle");
        assert_eq!(range(search.look(&log)), Some((100_000, 100_006)));
    }

    #[test]
    fn a_long_stream_is_searched_to_its_end() {
        let (log, mut search) = (log(8 << 20), search("needle", 0));
        log.append(&vec![b'.'; 5 << 20]);
        log.append(b"needle");
        assert_eq!(range(search.look(&log)), Some((5 << 20, (5 << 20) + 6)));
    }

    #[test]
    fn a_pattern_that_is_none_or_too_much_is_refused() {
        assert!(compile("(").is_err());
        assert!(compile("\\w{1000}{1000}").is_err());
    }
}
