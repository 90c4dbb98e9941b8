//! Bytes received on a link from a peer that may send anything.

use trl_link::frame::{Decoder, Item};
use trl_link::{Event, Identity, Key, Limits, Link, Side, Urgency};

fn link(side: Side) -> Link {
    let identity = Identity { side, key: Key([1; 16]), life: 1 + side as u64, greeting: Vec::new() };
    let mut link = Link::new(identity, Limits { credit: 4096, ..Limits::default() });
    let _ = link.connected();
    link
}

/// All that a connection says, up to its first mistake.
fn items(bytes: &[u8], piece: usize) -> Vec<Item> {
    let (mut decoder, mut found) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        loop {
            match decoder.take() {
                Ok(Some(item)) => found.push(item),
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found
}

/// Checks the property for one input.
pub fn check(bytes: &[u8]) {
    let piece = usize::from(*bytes.first().unwrap_or(&1)).max(1);
    let mut hello = Vec::new();
    link(Side::Near).transmit(&mut hello, 1);
    // Where a read ends says nothing about where a frame does, before the hello and after it.
    for stream in [bytes.to_vec(), [&hello, bytes].concat()] {
        assert_eq!(items(&stream, piece), items(&stream, usize::MAX));
    }
    // Two that have met, and a stream between them: one of them says anything.
    for side in [Side::Near, Side::Far] {
        let (mut near, mut far) = (link(Side::Near), link(Side::Far));
        let id = near.open(Urgency::Bulk).expect("the first");
        let _ = near.send(id, b"hello");
        for _ in 0..2 {
            let (mut out, mut back) = (Vec::new(), Vec::new());
            near.transmit(&mut out, 1 << 16);
            far.transmit(&mut back, 1 << 16);
            far.receive(&out).expect("what a link says is understood");
            near.receive(&back).expect("what a link says is understood");
        }
        let heard = if side == Side::Near { &mut near } else { &mut far };
        while heard.poll_event().is_some() {}
        let outcome = heard.receive(bytes);
        let mut held = 0;
        while let Some(event) = heard.poll_event() {
            if let Event::Data(_, bytes) = event {
                held += bytes.len();
            }
        }
        assert!(held <= bytes.len());
        let mut out = Vec::new();
        heard.transmit(&mut out, usize::MAX);
        if outcome.is_err() {
            assert!(out.is_empty() && heard.connected() == outcome);
        }
    }
}
