//! A conversation that is cut after every single byte, in both directions, goes on as if nothing had been.

#![allow(clippy::unwrap_used, reason = "in a test a failure is meant to panic")]

mod world;

use trl_link::{Breach, Limits, Link, Side, Urgency};
use world::{SIDES, World, identity, other};

fn limits() -> Limits {
    Limits { credit: 40, waiting: 100, ..Limits::default() }
}

/// Two streams, sends on both sides, an end, a reset; `cut` is the side whose bytes stop after so many.
fn converse(cut: Option<(Side, usize)>) -> World {
    let mut world = World::new(limits());
    world.connect();
    let mut left = cut;
    let [first, second, third] =
        [Urgency::Bulk, Urgency::Urgent, Urgency::Bulk].map(|urgency| world.open(urgency).unwrap());
    for round in 0..6 {
        world.send(Side::Near, first, 30);
        if round > 1 {
            world.send(Side::Far, first, 25);
            world.send(Side::Far, second, 7);
        }
        match round {
            2 => world.finish(Side::Near, second),
            3 => world.reset(Side::Near, third),
            4 => world.finish(Side::Far, second),
            _ => {}
        }
        for side in SIDES {
            world.transmit(side, 200);
            let arriving = match left {
                Some((from, bytes)) if from == side && bytes < world.end(other(side)).wire.len() => {
                    world.deliver(other(side), bytes);
                    world.cut();
                    world.connect();
                    left = None;
                    continue;
                }
                Some((from, bytes)) if from == side => {
                    let length = world.end(other(side)).wire.len();
                    left = Some((from, bytes - length));
                    length
                }
                _ => usize::MAX,
            };
            world.deliver(other(side), arriving);
            world.consume(side, first, 20);
        }
    }
    world
}

#[test]
fn a_cut_after_any_byte_changes_nothing() {
    let mut whole = converse(None);
    let lengths = SIDES.map(|side| whole.end(side).written);
    whole.settle();
    whole.check_settled();
    assert!(lengths.iter().all(|length| *length > 250), "{lengths:?}");
    for (side, length) in SIDES.into_iter().zip(lengths) {
        for byte in 0..length {
            let mut world = converse(Some((side, byte)));
            world.settle();
            world.check_settled();
            let names = SIDES.map(|side| world.end(side).resumed);
            assert!(names.iter().all(|resumed| *resumed <= 1));
        }
    }
}

#[test]
fn one_that_started_anew_is_not_taken_for_what_it_was() {
    let mut world = World::new(limits());
    world.open(Urgency::Bulk).unwrap();
    world.settle();
    world.cut();
    let mut anew = identity(Side::Far);
    anew.life = 33;
    world.end(Side::Far).link = Link::new(anew, limits());
    world.connect();
    world.transmit(Side::Far, 1000);
    let near = world.end(Side::Near);
    let hello: Vec<u8> = near.wire.drain(..).collect();
    assert_eq!(near.link.receive(&hello), Err(Breach::Restarted));
    assert_eq!(near.link.connected(), Err(Breach::Restarted));
}

#[test]
fn another_link_another_side_and_another_version_are_refused_and_the_link_stays() {
    let refused = |change: fn(&mut Vec<u8>)| {
        let mut world = World::new(limits());
        world.connect();
        world.transmit(Side::Far, 1000);
        let near = world.end(Side::Near);
        let mut hello: Vec<u8> = near.wire.drain(..).collect();
        change(&mut hello);
        let refused = near.link.receive(&hello).unwrap_err();
        world.cut();
        world.settle();
        assert_eq!(world.end(Side::Near).met, 1, "after {refused}");
        refused
    };
    assert_eq!(refused(|hello| hello[15] ^= 1), Breach::WrongKey);
    assert_eq!(refused(|hello| hello[14] = 1), Breach::SameSide);
    let newer = refused(|hello| hello[10..14].copy_from_slice(&[0, 7, 0, 9]));
    assert_eq!(newer, Breach::Version { ours: (1, 1), theirs: (7, 9) });
    assert!(newer.to_string().contains("versions 1 to 1"), "{newer}");
    // An engine that speaks newer versions as well as ours is spoken to in ours.
    let mut world = World::new(limits());
    world.connect();
    world.transmit(Side::Far, 1000);
    world.end(Side::Near).wire[13] = 9;
    world.deliver(Side::Near, 1000);
    assert_eq!(world.end(Side::Near).met, 1);
}

#[test]
fn what_a_login_script_prints_is_passed_over_and_can_be_shown() {
    let mut world = World::new(limits());
    world.open(Urgency::Bulk).unwrap();
    world.connect();
    world.end(Side::Near).wire.extend(b"Last login: Tue\r\nmotd\n");
    world.settle();
    world.check_settled();
    assert_eq!(world.end(Side::Near).link.noise().as_deref(), Some("Last login: Tue  motd"));
}
