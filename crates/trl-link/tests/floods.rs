//! A flood keeps nobody else waiting, and nobody's absence costs more than so much memory.

#![allow(clippy::unwrap_used, reason = "in a test a failure is meant to panic")]

mod world;

use trl_link::frame::{Decoder, Frame, HEADER, Item, MOST_PAYLOAD};
use trl_link::link::MOST_STREAMS;
use trl_link::{Breach, Event, Gone, Limits, Link, Side, StreamId, Urgency};
use world::{World, identity};

fn frames(bytes: &[u8]) -> Vec<Frame> {
    // A hello of anybody's, so that frames come next.
    let mut hello = Vec::new();
    let mut link = Link::new(identity(Side::Near), Limits::default());
    link.connected().unwrap();
    link.transmit(&mut hello, 1);
    let mut decoder = Decoder::default();
    decoder.push(&hello);
    decoder.push(bytes);
    let mut found = Vec::new();
    while let Some(item) = decoder.take().unwrap() {
        if let Item::Frame(frame) = item {
            found.push(frame);
        }
    }
    found
}

fn transmitted(link: &mut Link, room: usize) -> Vec<Frame> {
    let mut out = Vec::new();
    link.transmit(&mut out, room);
    frames(&out)
}

fn data(frames: &[Frame]) -> Vec<StreamId> {
    frames.iter().filter_map(|f| if let Frame::Data(id, _) = f { Some(*id) } else { None }).collect()
}

#[test]
fn a_cancel_overtakes_a_flood() {
    let mut world = World::new(Limits::default());
    let [flood, cancel] = [Urgency::Bulk, Urgency::Urgent].map(|urgency| world.open(urgency).unwrap());
    world.settle();
    while world.send(Side::Near, flood, 100_000) > 0 {}
    let link = &mut world.end(Side::Near).link;
    assert_eq!(data(&transmitted(link, 20_000)), [flood, flood]);
    link.send(cancel, b"cancel").unwrap();
    assert_eq!(data(&transmitted(link, 20_000))[..2], [cancel, flood]);
}

#[test]
fn a_cancel_gets_through_when_nothing_is_acknowledged_any_more() {
    let limits = Limits { window: 64 * 1024, credit: 1 << 20, ..Limits::default() };
    let mut world = World::new(limits);
    let [flood, cancel] = [Urgency::Bulk, Urgency::Urgent].map(|urgency| world.open(urgency).unwrap());
    world.settle();
    // The other side is there but does not read: nothing is delivered.
    while world.send(Side::Near, flood, 100_000) > 0 {
        world.transmit(Side::Near, usize::MAX);
    }
    let link = &mut world.end(Side::Near).link;
    let full = link.retained_bytes();
    assert!((64 * 1024..64 * 1024 + MOST_PAYLOAD + HEADER).contains(&full), "{full}");
    assert!(transmitted(link, 1).is_empty());
    link.send(cancel, b"cancel").unwrap();
    assert_eq!(data(&transmitted(link, usize::MAX)), [cancel]);
    link.reset(flood);
    assert_eq!(transmitted(link, usize::MAX), [Frame::Reset(flood)]);
    // Even what is urgent has an end.
    while world.send(Side::Near, cancel, 100_000) > 0 {
        world.transmit(Side::Near, usize::MAX);
    }
    assert!(world.end(Side::Near).link.retained_bytes() <= 64 * 1024 / 4 * 5 + MOST_PAYLOAD + HEADER);
}

#[test]
fn streams_take_turns() {
    let mut world = World::new(Limits { waiting: 1 << 20, ..Limits::default() });
    let ids: Vec<StreamId> = (0..10).map(|_| world.open(Urgency::Bulk).unwrap()).collect();
    world.settle();
    for id in &ids {
        world.send(Side::Near, *id, 3 * MOST_PAYLOAD);
    }
    let order = data(&transmitted(&mut world.end(Side::Near).link, 30 * (MOST_PAYLOAD + HEADER)));
    assert_eq!(order, [ids.clone(), ids.clone(), ids].concat());
}

#[test]
fn a_stream_nobody_reads_stops_alone() {
    let limits = Limits { credit: 1000, ..Limits::default() };
    let mut world = World::new(limits);
    let [stuck, read] = [Urgency::Bulk; 2].map(|urgency| world.open(urgency).unwrap());
    for _ in 0..50 {
        world.send(Side::Near, stuck, 700);
        world.send(Side::Near, read, 700);
        if !world.connected {
            world.connect();
        }
        for _ in 0..4 {
            for side in world::SIDES {
                world.transmit(side, 4000);
                world.deliver(world::other(side), usize::MAX);
                world.consume(side, read, usize::MAX);
            }
        }
    }
    let far = world.end(Side::Far);
    assert_eq!((far.got[&stuck].len(), far.got[&read].len()), (1000, 50 * 700));
}

#[test]
fn while_the_other_side_is_away_little_is_taken_and_room_is_told_of() {
    let limits = Limits { waiting: 1000, ..Limits::default() };
    let mut world = World::new(limits);
    let id = world.open(Urgency::Bulk).unwrap();
    assert_eq!(world.send(Side::Near, id, 5000), 1000);
    assert_eq!(world.send(Side::Near, id, 5000), 0);
    world.connect();
    let near = world.end(Side::Near);
    near.link.transmit(&mut Vec::new(), 1 << 20);
    world.cut();
    world.connect();
    for side in [Side::Far, Side::Near] {
        world.transmit(side, 1 << 20);
    }
    let near = world.end(Side::Near);
    let hello: Vec<u8> = near.wire.drain(..).collect();
    near.link.receive(&hello).unwrap();
    near.link.transmit(&mut Vec::new(), 1 << 20);
    let events: Vec<Event> = std::iter::from_fn(|| near.link.poll_event()).collect();
    assert!(events.contains(&Event::Writable(id)), "{events:?}");
}

#[test]
fn streams_that_come_and_go_meanwhile_are_counted() {
    let mut link = Link::new(identity(Side::Near), Limits::default());
    let mut opened = 0;
    while let Ok(id) = link.open(Urgency::Bulk) {
        link.reset(id);
        opened += 1;
    }
    assert!(opened < MOST_STREAMS && link.open(Urgency::Urgent) == Err(Gone::Full));
    assert_eq!(Link::new(identity(Side::Far), Limits::default()).open(Urgency::Bulk), Err(Gone::NotHere));
}

#[test]
fn silence_is_asked_about_then_given_up_and_the_link_goes_on() {
    let limits = Limits { silent_ticks: 3, ..Limits::default() };
    let mut world = World::new(limits);
    let id = world.open(Urgency::Bulk).unwrap();
    world.settle();
    let near = world.end(Side::Near);
    // Heard of just now; then twice nothing; then given up.
    near.link.tick();
    assert!(transmitted(&mut near.link, 100).is_empty());
    for _ in 0..2 {
        near.link.tick();
        assert_eq!(transmitted(&mut near.link, 100)[0], Frame::Ping(0));
    }
    near.link.tick();
    assert_eq!((near.link.poll_event(), near.link.is_up()), (Some(Event::Silent), false));
    world.cut();
    world.send(Side::Near, id, 10);
    world.settle();
    world.check_settled();
    // One answer is enough to be taken for alive.
    for _ in 0..20 {
        world.end(Side::Near).link.tick();
        world.settle();
        assert!(world.end(Side::Near).link.is_up());
    }
    world.end(Side::Near).link.ping(77);
    world.transmit(Side::Near, 100);
    world.deliver(Side::Far, 100);
    let mut pong = Vec::new();
    world.end(Side::Far).link.transmit(&mut pong, 100);
    let near = world.end(Side::Near);
    near.link.receive(&pong).unwrap();
    assert_eq!(near.link.poll_event(), Some(Event::Pong(77)));
}

#[test]
fn breaches_are_named_and_final() {
    let told = |side: Side, frames: &[Frame]| {
        let mut world = World::new(Limits { credit: 10, ..Limits::default() });
        let id = world.open(Urgency::Bulk).unwrap();
        world.settle();
        assert_eq!(id, StreamId(1));
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let link = &mut world.end(side).link;
        let breach = link.receive(&bytes).unwrap_err();
        assert_eq!((link.connected(), link.is_up()), (Err(breach.clone()), false));
        breach
    };
    let (one, two) = (StreamId(1), StreamId(2));
    assert_eq!(told(Side::Near, &[Frame::Open(two, Urgency::Bulk)]), Breach::NotYours);
    assert_eq!(told(Side::Far, &[Frame::Open(one, Urgency::Bulk)]), Breach::OutOfTurn(one));
    assert_eq!(told(Side::Far, &[Frame::Data(two, vec![1])]), Breach::NotOpen(two));
    assert_eq!(told(Side::Far, &[Frame::End(StreamId(0))]), Breach::NotOpen(StreamId(0)));
    assert_eq!(told(Side::Far, &[Frame::Data(one, vec![1; 11])]), Breach::OverCredit(one));
    assert_eq!(told(Side::Far, &[Frame::End(one), Frame::Data(one, vec![1])]), Breach::AfterEnd(one));
    assert_eq!(told(Side::Far, &[Frame::Ack(99)]), Breach::Count { claimed: 99, least: 0, most: 0 });
    let many: Vec<Frame> =
        (0..MOST_STREAMS as u32).map(|i| Frame::Open(StreamId(i + 2), Urgency::Bulk)).collect();
    assert_eq!(told(Side::Far, &many), Breach::TooManyStreams);
}
