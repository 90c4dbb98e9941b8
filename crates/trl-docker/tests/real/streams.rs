//! Files into containers, and programs there by their streams.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use trl_docker::{Archive, Attached, Error, Exec, Meta, Wanted};

use crate::{World, argv, idler, sh};

const META: Meta = Meta { mode: 0o750, uid: 1000, gid: 1000, modified: 1_000_000_000 };

async fn started(world: &World, container: &str, script: &str) -> Attached {
    world.docker.exec(container, &Exec { argv: sh(script), ..Exec::default() }).await.unwrap()
}

pub(crate) async fn files_are_placed(world: &World) {
    // Before it is started, too.
    let id = world.docker.create(&idler()).await.unwrap().id;
    let script = b"#!/bin/sh\necho \"$1 from $0\"\n".to_vec();
    let archive = Archive::new()
        .dir("opt/trl", Meta { mode: 0o1777, uid: 0, gid: 0, ..META })
        .and_then(|archive| archive.file("opt/trl/greet", META, script.clone()))
        .unwrap();
    world.docker.put_archive(&id, "/", archive).await.unwrap();
    world.docker.start(&id).await.unwrap();
    let (said, code) = world.run(&id, "stat -c '%a %u %g %s %Y' /opt/trl/greet; stat -c %a /opt/trl").await;
    assert_eq!((said, code), (format!("750 1000 1000 {} 1000000000\n1777\n", script.len()), 0));
    let greet = Exec { argv: argv(&["/opt/trl/greet", "hello"]), user: Some("me".into()), ..Exec::default() };
    let told = world.heard(&id, &greet).await;
    assert_eq!(told, ("hello from /opt/trl/greet\n".into(), String::new(), 0));
    let nowhere = world.docker.put_archive(&id, "/no/such", Archive::new()).await.unwrap_err();
    assert!(nowhere.is_not_found(), "{nowhere}");
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn a_file_is_read_while_it_is_sent(world: &World) {
    let id = world.idle(idler()).await;
    let length = 40 << 20;
    let archive = Archive::new().file_from("big", META, length, tokio::io::repeat(b'x')).unwrap();
    world.docker.put_archive(&id, "/tmp", archive).await.unwrap();
    assert_eq!(world.run(&id, "tr -d x </tmp/big; wc -c </tmp/big").await.0, format!("{length}\n"));
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn a_file_that_is_cut_is_an_error(world: &World) {
    let id = world.idle(idler()).await;
    let archive = Archive::new().file_from("cut", META, 1000, io::Cursor::new(b"short")).unwrap();
    let told = world.docker.put_archive(&id, "/tmp", archive).await;
    assert!(
        matches!(&told, Err(Error::Lost { cause, .. }) if cause.to_string().contains("995 more")),
        "{told:?}"
    );
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn a_program_answers(world: &World) {
    let id = world.idle(idler()).await;
    let mut cat = started(world, &id, "exec cat").await;
    for size in [1, 2, 100, 1, 40_000, 1] {
        let question = vec![b'q'; size];
        cat.write_all(&question).await.unwrap();
        let mut answer = vec![0; size];
        cat.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, question);
    }
    cat.shutdown().await.unwrap();
    assert_eq!(cat.read(&mut [0; 1]).await.unwrap(), 0);
    assert_eq!(world.docker.exit_code(&cat.id).await.unwrap(), 0);
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn a_program_is_run_as_it_was_wanted(world: &World) {
    let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let id = world.idle(Wanted { env: env(&[("A", "1"), ("B", "2")]), ..idler() }).await;
    let exec = Exec {
        argv: sh("id -un; pwd; echo $A $B"),
        env: env(&[("B", "two words")]),
        user: Some("1000".into()),
        working_dir: Some("/etc".into()),
    };
    assert_eq!(world.heard(&id, &exec).await, ("me\n/etc\n1 two words\n".into(), String::new(), 0));
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn complaints_are_kept_aside(world: &World) {
    let id = world.idle(idler()).await;
    let script = "echo out; seq 1 9999 >&2; echo more; echo the reason >&2; exit 7";
    let (said, words, code) = world.heard(&id, &Exec { argv: sh(script), ..Exec::default() }).await;
    assert_eq!((said.as_str(), code), ("out\nmore\n", 7));
    assert!(words.ends_with("9999\nthe reason") && words.len() < 10_000, "{words}");
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn the_end_of_input_is_told(world: &World) {
    let id = world.idle(idler()).await;
    let script = "wc -c; echo and on";
    let mut counter = started(world, &id, script).await;
    counter.write_all(b"four").await.unwrap();
    // Whoever lets go of the input ends it, and can go on reading.
    drop(counter.input);
    let mut said = String::new();
    counter.output.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "4\nand on\n");
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn floods_pass_both_ways(world: &World) {
    const BYTES: usize = 64 << 20;
    let id = world.idle(idler()).await;
    let Attached { mut input, mut output, .. } = started(world, &id, "exec cat").await;
    let pattern: Vec<u8> = (0..251).cycle().take(251 * 400).collect();
    let up = async {
        let mut left = BYTES;
        while left > 0 {
            let piece = &pattern[..left.min(pattern.len())];
            input.write_all(piece).await.unwrap();
            left -= piece.len();
        }
        input.shutdown().await.unwrap();
    };
    let down = async {
        let (mut seen, mut buf) = (0, vec![0; 128 << 10]);
        loop {
            let got = output.read(&mut buf).await.unwrap();
            if got == 0 {
                return seen;
            }
            let wrong =
                buf[..got].iter().enumerate().find(|(at, byte)| usize::from(**byte) != (seen + at) % 251);
            assert_eq!(wrong, None, "after {seen}");
            seen += got;
        }
    };
    assert_eq!(tokio::join!(up, down).1, BYTES);
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn a_program_that_is_not_there_is_told(world: &World) {
    let id = world.idle(idler()).await;
    let missing = Exec { argv: argv(&["/no/such"]), ..Exec::default() };
    let (said, words, code) = world.heard(&id, &missing).await;
    assert!((said + &words).contains("no such file") && [126, 127].contains(&code), "{code}");
    let told = world.docker.exec("nobody", &missing).await;
    assert!(told.is_err_and(|error| error.is_not_found()));
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn many_programs_run_at_once(world: &World) {
    let id = world.idle(idler()).await;
    let mut cats = Vec::new();
    for _ in 0..10 {
        cats.push(started(world, &id, "exec cat").await);
    }
    for (number, cat) in cats.iter_mut().enumerate() {
        cat.write_all(&[number as u8]).await.unwrap();
    }
    for (number, cat) in cats.iter_mut().enumerate().rev() {
        assert_eq!(cat.read_u8().await.unwrap(), number as u8);
    }
    world.docker.remove(&id).await.unwrap();
    for mut cat in cats {
        assert_eq!(cat.read(&mut [0; 1]).await.unwrap(), 0, "it ended with its container");
    }
}

pub(crate) async fn what_a_killed_daemon_leaves(world: &mut World) {
    let id = world.idle(idler()).await;
    let mut cat = started(world, &id, "exec cat").await;
    cat.write_all(b"x").await.unwrap();
    assert_eq!(cat.read_u8().await.unwrap(), b'x');
    world.dockerd.kill9();
    assert!(matches!(cat.read(&mut [0; 1]).await, Ok(0) | Err(_)));
    let told = world.docker.inspect(&id).await;
    assert!(matches!(told, Err(Error::Deserted { .. })), "{told:?}");
}
