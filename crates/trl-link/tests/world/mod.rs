//! Two links, the wires between them, and a naive model: what was taken on one side is what comes out on the other.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses its part, and a failure is meant to panic"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trl_link::{Event, Gone, Identity, Key, Limits, Link, Side, StreamId, Urgency};

pub(crate) const SIDES: [Side; 2] = [Side::Near, Side::Far];

pub(crate) fn other(side: Side) -> Side {
    if side == Side::Near { Side::Far } else { Side::Near }
}

pub(crate) fn identity(side: Side) -> Identity {
    let life = if side == Side::Near { 11 } else { 22 };
    Identity { side, key: Key([9; 16]), life, greeting: b"hi".to_vec() }
}

pub(crate) struct End {
    pub(crate) link: Link,
    /// Bytes on their way to this side.
    pub(crate) wire: VecDeque<u8>,
    /// What this side's caller sent, and what the other side's caller got of it.
    pub(crate) sent: BTreeMap<StreamId, Vec<u8>>,
    pub(crate) got: BTreeMap<StreamId, Vec<u8>>,
    pub(crate) unconsumed: BTreeMap<StreamId, usize>,
    pub(crate) ended: BTreeSet<StreamId>,
    pub(crate) end_seen: BTreeSet<StreamId>,
    pub(crate) reset_seen: BTreeSet<StreamId>,
    pub(crate) opened: BTreeSet<StreamId>,
    pub(crate) met: u32,
    pub(crate) resumed: u32,
    /// Bytes put on the wire by this side.
    pub(crate) written: usize,
}

impl End {
    fn new(side: Side, limits: Limits) -> Self {
        Self {
            link: Link::new(identity(side), limits),
            wire: VecDeque::new(),
            sent: BTreeMap::new(),
            got: BTreeMap::new(),
            unconsumed: BTreeMap::new(),
            ended: BTreeSet::new(),
            end_seen: BTreeSet::new(),
            reset_seen: BTreeSet::new(),
            opened: BTreeSet::new(),
            met: 0,
            resumed: 0,
            written: 0,
        }
    }
}

pub(crate) struct World {
    ends: [End; 2],
    pub(crate) limits: Limits,
    pub(crate) connected: bool,
    /// Streams that some caller reset.
    pub(crate) reset: BTreeSet<StreamId>,
    next_byte: u8,
}

impl World {
    pub(crate) fn new(limits: Limits) -> Self {
        let ends = SIDES.map(|side| End::new(side, limits));
        Self { ends, limits, connected: false, reset: BTreeSet::new(), next_byte: 0 }
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[usize::from(side == Side::Far)]
    }

    pub(crate) fn connect(&mut self) {
        for side in SIDES {
            let end = self.end(side);
            end.link.connected().unwrap();
            end.wire.clear();
        }
        self.connected = true;
    }

    /// What is on the wires is lost; the sides find out when they are told, if they are.
    pub(crate) fn cut(&mut self) {
        self.connected = false;
        self.ends.iter_mut().for_each(|end| end.wire.clear());
    }

    pub(crate) fn open(&mut self, urgency: Urgency) -> Result<StreamId, Gone> {
        let id = self.end(Side::Near).link.open(urgency)?;
        self.end(Side::Near).opened.insert(id);
        Ok(id)
    }

    pub(crate) fn send(&mut self, side: Side, id: StreamId, length: usize) -> usize {
        let first = self.next_byte;
        let bytes: Vec<u8> = (0..length).map(|i| first.wrapping_add((i % 251) as u8)).collect();
        let Ok(taken) = self.end(side).link.send(id, &bytes) else { return 0 };
        self.end(side).sent.entry(id).or_default().extend(&bytes[..taken]);
        self.next_byte = first.wrapping_add((taken % 256) as u8).wrapping_add(1);
        taken
    }

    pub(crate) fn finish(&mut self, side: Side, id: StreamId) {
        // A stream that is over cannot be ended any more.
        if self.end(side).link.send(id, b"") != Err(Gone::Over) {
            self.end(side).ended.insert(id);
        }
        self.end(side).link.end(id);
    }

    pub(crate) fn reset(&mut self, side: Side, id: StreamId) {
        self.reset.insert(id);
        self.end(side).link.reset(id);
    }

    pub(crate) fn consume(&mut self, side: Side, id: StreamId, most: usize) -> usize {
        let end = self.end(side);
        let held = end.unconsumed.entry(id).or_default();
        let bytes = (*held).min(most);
        *held -= bytes;
        end.link.consumed(id, bytes);
        bytes
    }

    pub(crate) fn transmit(&mut self, side: Side, room: usize) -> usize {
        let mut out = Vec::new();
        self.end(side).link.transmit(&mut out, room);
        self.end(side).written += out.len();
        if self.connected {
            self.end(other(side)).wire.extend(&out);
        }
        self.note(side);
        out.len()
    }

    /// So many bytes arrive on this side.
    pub(crate) fn deliver(&mut self, side: Side, most: usize) -> usize {
        let end = self.end(side);
        let length = most.min(end.wire.len());
        let bytes: Vec<u8> = end.wire.drain(..length).collect();
        end.link.receive(&bytes).unwrap();
        self.note(side);
        length
    }

    pub(crate) fn note(&mut self, side: Side) {
        let end = self.end(side);
        while let Some(event) = end.link.poll_event() {
            match event {
                Event::Met { version: 1, greeting } if greeting == b"hi" => end.met += 1,
                Event::Met { .. } => panic!("met a stranger"),
                Event::Resumed => end.resumed += 1,
                Event::Opened(id, _) => assert!(end.opened.insert(id), "{id} opened twice"),
                Event::Data(id, bytes) => {
                    assert!(!end.end_seen.contains(&id), "data after the end of {id}");
                    *end.unconsumed.entry(id).or_default() += bytes.len();
                    end.got.entry(id).or_default().extend(bytes);
                }
                Event::Ended(id) => assert!(end.end_seen.insert(id), "{id} ended twice"),
                Event::Reset(id) => assert!(end.reset_seen.insert(id), "{id} reset twice"),
                Event::Writable(_) | Event::Pong(_) | Event::Silent => {}
            }
        }
        self.check(side);
    }

    /// What holds at every moment.
    fn check(&mut self, side: Side) {
        let (window, credit) = (self.limits.window as usize, u64::from(self.limits.credit));
        let end = self.end(side);
        assert!(end.link.retained_bytes() <= window + window / 2 + trl_link::frame::MOST_PAYLOAD + 7);
        for id in &end.opened {
            assert!(end.link.unconsumed(*id) <= credit);
        }
        let got = std::mem::take(&mut self.end(side).got);
        for (id, bytes) in &got {
            let sent = &self.end(other(side)).sent[id];
            assert!(sent.starts_with(bytes), "{id}: what came is not what was sent");
        }
        self.end(side).got = got;
    }

    /// Lets everything arrive, and callers take all of it.
    pub(crate) fn settle(&mut self) {
        if !self.connected {
            self.connect();
        }
        loop {
            let mut moved = 0;
            for side in SIDES {
                moved += self.transmit(side, 32 * 1024);
                moved += self.deliver(other(side), usize::MAX);
                let ids: Vec<StreamId> = self.end(side).unconsumed.keys().copied().collect();
                moved += ids.into_iter().map(|id| self.consume(side, id, usize::MAX)).sum::<usize>();
            }
            if moved == 0 {
                return;
            }
        }
    }

    /// Everything that was sent has come, once, and every end with it.
    pub(crate) fn check_settled(&mut self) {
        assert_eq!(self.ends[0].opened, self.ends[1].opened);
        for side in SIDES {
            let sent = self.end(side).sent.clone();
            let ended = self.end(side).ended.clone();
            let reset = self.reset.clone();
            let end = self.end(other(side));
            for (id, bytes) in sent.iter().filter(|(id, bytes)| !reset.contains(id) && !bytes.is_empty()) {
                assert!(end.got.get(id) == Some(bytes), "{id} from {side:?}: not all has come");
            }
            let seen: BTreeSet<_> = end.end_seen.difference(&reset).copied().collect();
            assert_eq!(seen, ended.difference(&reset).copied().collect::<BTreeSet<_>>());
        }
        let live = |world: &mut Self, side| world.end(side).link.streams();
        assert_eq!(live(self, Side::Near), live(self, Side::Far));
    }
}
