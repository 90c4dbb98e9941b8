//! What a call that drains an execution's output is told: the bytes since the last such call, no more of them than it
//! wants, with what lies between counted.

use trl_proto::exec::{Omitted, Outcome, Range};
use trl_proto::start::{Next, Progress, ProgressEnd};
use trl_proto::text::incomplete_tail;
use trl_proto::{Dialect, Text};

use crate::execution::Execution;
use crate::output::Log;

/// Where a reply begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Where the last one ended.
    LastTold,
    At(Next),
}

impl Execution {
    /// Tells how far it has come; with text beyond `most` bytes per stream only its beginning and its end.
    pub fn progress(&self, from: From, most: usize, dialect: Dialect) -> Progress {
        // Its state first: what it has written by its end is then all there.
        let finished = self.finished();
        let info = self.info();
        let mut told = self.told();
        let from = match from {
            From::LastTold => told.next,
            From::At(next) => next,
        };
        let ends = finished.as_ref().map(|f| (f.outcome.stdout_bytes, f.outcome.stderr_bytes));
        let out = Piece::read(&self.stdout, from.stdout, ends.map(|e| e.0), most);
        let err = Piece::read(&self.stderr, from.stderr, ends.map(|e| e.1), most);
        let next = Next { stdout: out.next, stderr: err.next };
        told.next =
            Next { stdout: told.next.stdout.max(next.stdout), stderr: told.next.stderr.max(next.stderr) };
        drop(told);
        let text = |bytes| if dialect == Dialect::Plain { Text::lossy(bytes) } else { Text::exact(bytes) };
        let (stdout, stderr) = (text(&out.bytes), text(&err.bytes));
        let gap = Omitted { stdout: out.gap, stderr: err.gap };
        let gap = (gap != Omitted::default()).then_some(gap);
        Progress {
            status: info.status,
            request_id: self.request(),
            session_id: info.session_id,
            terminal_id: info.terminal_id,
            stdout_encoding: stdout.encoding,
            stdout: stdout.data.into_owned(),
            stderr_encoding: stderr.encoding,
            stderr: stderr.data.into_owned(),
            gap: gap.clone(),
            next,
            end: match finished {
                // what its log lacks is another matter than what this text does
                Some(finished) => ProgressEnd::Done(Outcome { omitted: gap, ..finished.outcome.clone() }),
                None => ProgressEnd::NotYet {
                    execution_id: self.id.clone(),
                    elapsed_ms: info.elapsed_ms,
                    sandbox: self.sandbox.report(),
                },
            },
        }
    }
}

/// Some of a stream, with at most one gap.
struct Piece {
    bytes: Vec<u8>,
    gap: Option<Range>,
    next: u64,
}

impl Piece {
    /// From `from` to `end`, or as far as there is something: then a character that is not whole yet is left for later.
    fn read(log: &Log, from: u64, end: Option<u64>, most: usize) -> Self {
        let to = end.unwrap_or_else(|| log.total());
        let from = from.min(to);
        let half = (most / 2) as u64;
        let fits = to - from <= most as u64;
        let mut head = Run::read(log, from, if fits { to } else { from + half });
        let mut tail = Run { begin: to, bytes: Vec::new() };
        if head.next() < to {
            // Room that the beginning does not need, because nobody has it any more, is the end's.
            let room = (most - head.bytes.len()) as u64;
            tail = Run::read_last(log, if fits { head.next() } else { to - room }, to);
            head.drop_cut_end();
            tail.drop_cut_beginning();
        }
        if end.is_none() {
            if tail.bytes.is_empty() { head.drop_cut_end() } else { tail.drop_cut_end() }
        }
        if head.next() >= tail.begin || tail.bytes.is_empty() && fits {
            return Self { next: head.next(), bytes: head.bytes, gap: None };
        }
        let gap = Range { from: head.next(), to: tail.begin };
        Self { next: tail.next(), gap: Some(gap), bytes: [head.bytes, tail.bytes].concat() }
    }
}

/// Bytes that follow one another.
struct Run {
    begin: u64,
    bytes: Vec<u8>,
}

impl Run {
    fn next(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    /// From `from` on, up to `to` or the first gap.
    fn read(log: &Log, from: u64, to: u64) -> Self {
        let slice = log.read_on(from, room(from, to));
        Self { begin: from, bytes: if slice.gap.is_none() { slice.bytes } else { Vec::new() } }
    }

    /// Up to `to`, from `from` or the end of the last gap on.
    fn read_last(log: &Log, from: u64, to: u64) -> Self {
        let mut run = Self::read(log, from, to);
        while run.next() < to {
            let slice = log.read(run.next(), room(run.next(), to)).slice;
            if slice.offset >= to || slice.bytes.is_empty() {
                return Self { begin: to, bytes: Vec::new() };
            }
            run = Self::read(log, slice.offset, to);
        }
        run
    }

    /// A character that is cut at the end is not told.
    fn drop_cut_end(&mut self) {
        let cut = incomplete_tail(&self.bytes);
        if cut < self.bytes.len() {
            self.bytes.truncate(self.bytes.len() - cut);
        }
    }

    /// Nor one that is cut where the text goes on after a gap.
    fn drop_cut_beginning(&mut self) {
        const LONGEST: usize = 3;
        let cut = self.bytes.iter().take(LONGEST).take_while(|byte| **byte & 0xC0 == 0x80).count();
        if cut < self.bytes.len() {
            self.bytes.drain(..cut);
            self.begin += cut as u64;
        }
    }
}

fn room(from: u64, to: u64) -> usize {
    usize::try_from(to - from).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::output::{Budget, Capacity};

    fn piece(written: &[u8], capacity: Capacity, from: u64, end: Option<u64>, most: usize) -> Piece {
        let log = Log::new(capacity, Budget::new(usize::MAX), None);
        log.append(written);
        Piece::read(&log, from, end, most)
    }

    #[test]
    fn what_fits_is_told_whole() {
        let piece = piece(b"hello", Capacity::tail(100), 0, None, 5);
        assert_eq!((&piece.bytes[..], piece.gap, piece.next), (&b"hello"[..], None, 5));
    }

    #[test]
    fn of_what_does_not_the_beginning_and_the_end_are() {
        let piece = piece(b"0123456789", Capacity::tail(100), 0, None, 4);
        assert_eq!(
            (&piece.bytes[..], piece.gap, piece.next),
            (&b"0189"[..], Some(Range { from: 2, to: 8 }), 10)
        );
    }

    #[test]
    fn of_what_has_lost_its_beginning_as_much_of_the_end_is_told_as_fits() {
        let piece = piece(b"0123456789", Capacity::tail(4), 0, Some(10), 4);
        assert_eq!((&piece.bytes[..], piece.gap), (&b"6789"[..], Some(Range { from: 0, to: 6 })));
    }

    #[test]
    fn a_character_is_told_whole_or_not_at_all() {
        let text = "ää".as_bytes();
        assert_eq!(piece(&text[..3], Capacity::tail(100), 0, None, 100).next, 2);
        assert_eq!(
            piece(&text[..3], Capacity::tail(100), 0, Some(3), 100).bytes.len(),
            3,
            "at the end all is told"
        );
        let cut = piece("aäöüß".as_bytes(), Capacity::tail(100), 0, None, 5);
        assert_eq!((std::str::from_utf8(&cut.bytes).unwrap(), cut.next), ("aß", 9));
    }

    proptest! {
        /// A buffer that is written to, trimmed and drained in any order tells each byte once or counts it as gone.
        #[test]
        fn drains_between_writes_tell_everything_once(
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), any::<bool>()), 0..30),
            keep in 1usize..64,
        ) {
            let log = Log::new(Capacity::tail(keep), Budget::new(usize::MAX), None);
            let (mut model, mut next) = (Vec::new(), 0u64);
            let drained = |model: &[u8], next: u64, end: Option<u64>| {
                let piece = Piece::read(&log, next, end, usize::MAX);
                let from = piece.gap.map_or(next, |gap| gap.to);
                assert!(piece.gap.is_none_or(|gap| gap.from == next), "a gap begins where the last one ended");
                assert_eq!(&model[from as usize..piece.next as usize], &piece.bytes[..]);
                piece.next
            };
            for (write, drain) in steps {
                log.append(&write);
                model.extend_from_slice(&write);
                prop_assert_eq!(log.snapshot(), &model[model.len().saturating_sub(keep)..]);
                if drain {
                    next = drained(&model, next, None);
                }
            }
            let end = model.len() as u64;
            prop_assert_eq!(drained(&model, next, Some(end)), end);
        }

        /// Bytes and gap together are exactly the stream, whatever was kept of it.
        #[test]
        fn nothing_is_told_wrong_or_twice(
            written in prop::collection::vec(any::<u8>(), 0..200),
            keep in 2usize..100,
            tail_only: bool,
            from in 0u64..220,
            most in 2usize..120,
        ) {
            let capacity = if tail_only { Capacity::tail(keep) } else { Capacity::head_and_tail(keep) };
            let end = written.len() as u64;
            let piece = piece(&written, capacity, from, Some(end), most);
            prop_assert!(piece.bytes.len() <= most);
            prop_assert_eq!(piece.next, end);
            let from = from.min(end);
            let expect: Vec<u8> = match piece.gap {
                None => written[from as usize..].to_vec(),
                Some(gap) => {
                    prop_assert!(from <= gap.from && gap.from < gap.to && gap.to <= end);
                    [&written[from as usize..gap.from as usize], &written[gap.to as usize..]].concat()
                }
            };
            prop_assert_eq!(piece.bytes, expect);
        }
    }
}
