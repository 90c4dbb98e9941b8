//! Any order of sends, ends, resets, cuts and reconnections: byte by byte what was sent is what comes.

#![allow(clippy::unwrap_used, reason = "in a test a failure is meant to panic")]

mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use trl_link::{Limits, Side, StreamId, Urgency};
use world::{SIDES, World, other};

#[derive(Debug, Clone)]
enum Step {
    Open(Urgency),
    Send(Side, prop::sample::Index, usize),
    Finish(Side, prop::sample::Index),
    Reset(Side, prop::sample::Index),
    Consume(Side, prop::sample::Index, usize),
    Transmit(Side, usize),
    Deliver(Side, usize),
    Cut,
    /// One side notices a cut before there is a new connection.
    Notice(Side),
    Connect,
    Tick(Side),
}

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(SIDES.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<prop::sample::Index>;
    let urgency = prop::sample::select(vec![Urgency::Urgent, Urgency::Bulk]);
    let few = || prop_oneof![0..12usize, 0..400usize, 0..40_000usize];
    prop_oneof![
        2 => urgency.prop_map(Step::Open),
        8 => (side(), which(), few()).prop_map(|(s, w, n)| Step::Send(s, w, n)),
        1 => (side(), which()).prop_map(|(s, w)| Step::Finish(s, w)),
        1 => (side(), which()).prop_map(|(s, w)| Step::Reset(s, w)),
        5 => (side(), which(), few()).prop_map(|(s, w, n)| Step::Consume(s, w, n)),
        8 => (side(), few()).prop_map(|(s, n)| Step::Transmit(s, n)),
        8 => (side(), few()).prop_map(|(s, n)| Step::Deliver(s, n)),
        1 => Just(Step::Cut),
        1 => side().prop_map(Step::Notice),
        2 => Just(Step::Connect),
        1 => side().prop_map(Step::Tick),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    (prop_oneof![1..50u32, 1000..60_000u32], 64 * 1024..100_000u32, 1..70_000usize)
        .prop_map(|(credit, window, waiting)| Limits { credit, window, waiting, silent_ticks: u32::MAX })
}

fn take(world: &mut World, step: &Step) {
    let near = |world: &mut World| world.end(Side::Near).opened.iter().copied().collect::<Vec<StreamId>>();
    // A side speaks only of streams it knows.
    let pick = |world: &mut World, side: Side, which: &prop::sample::Index| {
        let known: Vec<StreamId> = match side {
            Side::Near => near(world),
            Side::Far => world.end(side).opened.iter().copied().collect(),
        };
        (!known.is_empty()).then(|| known[which.index(known.len())])
    };
    match step {
        Step::Open(urgency) => drop(world.open(*urgency)),
        Step::Send(side, which, length) => {
            if let Some(id) = pick(world, *side, which) {
                world.send(*side, id, *length);
            }
        }
        Step::Finish(side, which) => {
            if let Some(id) = pick(world, *side, which) {
                world.finish(*side, id);
            }
        }
        Step::Reset(side, which) => {
            if let Some(id) = pick(world, *side, which) {
                world.reset(*side, id);
            }
        }
        Step::Consume(side, which, bytes) => {
            if let Some(id) = pick(world, *side, which) {
                let _ = world.consume(*side, id, *bytes);
            }
        }
        Step::Transmit(side, room) => drop(world.transmit(*side, *room)),
        Step::Deliver(side, bytes) => drop(world.deliver(*side, *bytes)),
        Step::Cut => world.cut(),
        Step::Notice(side) => {
            if !world.connected {
                world.end(*side).link.disconnected();
            }
        }
        Step::Connect => {
            if !world.connected {
                world.connect();
            }
        }
        Step::Tick(side) => {
            world.end(*side).link.tick();
            world.note(*side);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(limits in limits(), steps in vec(step(), 1..250)) {
        let mut world = World::new(limits);
        world.connect();
        for step in &steps {
            take(&mut world, step);
        }
        world.settle();
        world.check_settled();
    }

    /// The same when cuts come thick: hellos and what is sent again are cut, too.
    #[test]
    fn cuts_upon_cuts_are_mended(
        limits in limits(),
        sends in vec((side(), 1..30_000usize), 1..20),
        cuts in vec((side(), 0..200usize, 0..40_000usize), 1..40),
    ) {
        let mut world = World::new(limits);
        let ids = [Urgency::Urgent, Urgency::Bulk].map(|urgency| world.open(urgency).unwrap());
        world.settle();
        for (i, (side, length)) in sends.iter().enumerate() {
            world.send(*side, ids[i % 2], *length);
        }
        for (first, few, more) in cuts {
            world.connect();
            for (side, bytes) in [(first, few), (other(first), more), (first, more), (other(first), few)] {
                world.transmit(other(side), bytes);
                world.deliver(side, bytes);
            }
            world.cut();
        }
        world.settle();
        world.check_settled();
    }

    /// Whatever a peer says, it is an error or it is taken, in bounded memory, and never a panic.
    #[test]
    fn noise_is_refused(bytes in vec(any::<u8>(), 0..400), side in side()) {
        let mut world = World::new(Limits::default());
        world.open(Urgency::Bulk).unwrap();
        world.settle();
        let link = &mut world.end(side).link;
        let first = link.receive(&bytes);
        if first.is_err() {
            prop_assert_eq!(link.receive(b"more"), first.clone());
            prop_assert_eq!(link.connected(), first);
        }
    }
}
