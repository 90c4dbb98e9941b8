//! Terminals that flood: they are read elsewhere than quiet ones, and nobody must be able to tell.

use trl_testkit::{Attached, Daemon, json};

use crate::terminals::{attach, create};
use crate::{builder, operator};

/// With room for everything these tests write: how fast the machine is must make no difference.
fn daemon() -> Daemon {
    builder().set("terminals", "ring_bytes", 16 << 20).start()
}

fn numbers(to: u64) -> Vec<u8> {
    (1..=to).map(|n| format!("{n}\n")).collect::<String>().into_bytes()
}

/// Reads until so many bytes more have come, and returns them.
fn read(client: &mut Attached, count: usize) -> Vec<u8> {
    let from = client.bytes.len();
    client.until(|c| c.bytes.len() >= from + count);
    client.bytes[from..].to_vec()
}

/// A client beside a shell script that has said `ready` and waits for a line.
fn beside(daemon: &Daemon, script: &str) -> (String, Attached) {
    let script = format!("stty -echo -onlcr; echo ready; {script}");
    let id = create(&operator(daemon), &json!({"argv": ["sh", "-c", script]}));
    let mut client = attach(daemon, &id, "client=c");
    // as bytes or in a picture
    client.until(|c| c.next() == "ready\n".len() as u64);
    (id, client)
}

#[test]
fn floods_come_and_go_and_every_byte_is_there() {
    let daemon = daemon();
    let http = operator(&daemon);
    let (id, mut client) = beside(&daemon, "while read -r n; do seq 1 $n; done; exit 7");
    for round in 0..4 {
        let flood = numbers(60_000);
        client.input(b"60000\n");
        if round == 2 {
            http.ok("terminal.resize", json!({"terminal_id": id, "cols": 100, "rows": 30}));
        }
        assert!(read(&mut client, flood.len()) == flood, "round {round}");
        // Between two floods it answers as ever.
        client.input(b"3\n");
        assert_eq!(read(&mut client, 6), b"1\n2\n3\n", "round {round}");
    }
    client.input(b"\x04");
    client.until(|c| c.exit.is_some());
    assert_eq!(client.exit.as_ref().unwrap()["code"], 7);
}

#[test]
fn a_flood_that_ends_with_its_program_is_whole() {
    let daemon = daemon();
    let (_, mut client) = beside(&daemon, "read go; seq 1 200000; kill -9 $$");
    let from = client.bytes.len();
    client.input(b"\n");
    client.until(|c| c.exit.is_some());
    assert!(client.bytes[from..] == numbers(200_000));
    assert_eq!(client.exit.as_ref().unwrap()["signal"], "KILL");
}

#[test]
fn a_flood_can_be_destroyed_and_leaves_nothing() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = create(&http, &json!({"argv": ["sh", "-c", "yes & exec yes"]}));
    let mut client = attach(&daemon, &id, "client=c&mode=view");
    client.until(|c| c.next() > 1 << 20);
    let gone = http.ask("DELETE", &format!("/api/terminals/{id}"), &[], b"");
    assert_eq!((gone.status, gone.json()["signal"].as_str()), (200, Some("HUP")));
    assert_eq!(http.get(&format!("/api/terminals/{id}")).status, 404);
    client.until(|c| c.exit.is_some());
}
