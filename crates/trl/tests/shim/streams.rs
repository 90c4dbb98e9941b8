//! What goes in and what comes out.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use trl_testkit::{Random, eventually};

use super::{bash, daemon, heard, ok, said};

#[test]
fn stdin_may_be_anything() {
    let daemon = daemon();
    let count = "wc -c";
    assert_eq!(ok(&mut bash(&daemon, count)), "0\n");
    let file = daemon.dir().file("file", vec![b'x'; 100_000]);
    assert_eq!(ok(bash(&daemon, count).stdin(File::open(file).unwrap())), "100000\n");
    // a pipe, fed while it runs
    let (read, mut write) = io::pipe().unwrap();
    let mut child = bash(&daemon, "read a; echo got $a; read b; echo $b $?").stdin(read).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    writeln!(write, "first").unwrap();
    let mut line = [0; 10];
    out.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"got first\n");
    drop(write);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("1\n", Some(0)));
    // a socket, which is what some programs give
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = bash(&daemon, count).stdin(OwnedFd::from(theirs)).spawn().unwrap();
    (&ours).write_all(b"12345").unwrap();
    drop(ours);
    assert_eq!(heard(&child.wait_with_output().unwrap()).out, "5\n");
}

/// A writer that never ends holds nothing up.
#[test]
fn stdin_that_nobody_reads_is_not_waited_for() {
    let daemon = daemon();
    let (read, write) = io::pipe().unwrap();
    assert_eq!(ok(bash(&daemon, "echo done").stdin(read)), "done\n");
    drop(write);
    let endless = File::open("/dev/zero").unwrap();
    assert_eq!(ok(bash(&daemon, "head -c 5 | wc -c").stdin(endless)), "5\n");
}

#[test]
fn bytes_are_what_they_were() {
    let daemon = daemon();
    let mut random = Random::seeded(7);
    let bytes: Vec<u8> = random.bytes(3_000_000);
    let file = daemon.dir().file("bytes", &bytes);
    let output = bash(&daemon, "tee /dev/stderr").stdin(File::open(file).unwrap()).output().unwrap();
    assert!(output.status.success());
    assert!(
        output.stdout == bytes && output.stderr == bytes,
        "{} {}",
        output.stdout.len(),
        output.stderr.len()
    );
}

/// Order shows where both streams are one.
#[test]
fn two_streams_in_one_pipe_keep_their_order() {
    let daemon = daemon();
    let (mut read, write) = io::pipe().unwrap();
    let text = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done";
    let mut child = {
        let mut command = bash(&daemon, text);
        command.stdout(write.try_clone().unwrap()).stderr(write).spawn().unwrap()
    };
    let mut both = String::new();
    read.read_to_string(&mut both).unwrap();
    assert!(child.wait().unwrap().success());
    let expected: String = (1..=9).map(|i| format!("{i}\ne{i}\n")).collect();
    assert_eq!(both, expected);
}

/// More than all buffers together: the command waits for whoever reads, and no byte is lost.
#[test]
fn a_slow_reader_gets_everything_in_its_own_time() {
    const BYTES: usize = 16 << 20;
    let daemon = daemon();
    let text = format!("yes xxxxxxx | head -c {BYTES}; echo over >&2");
    let mut child = bash(&daemon, &text).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [1; 4096];
    out.read_exact(&mut first).unwrap();
    // it stands still: what is written is what fits in between, however long nobody reads
    let written = || {
        let list = daemon.client().ok("exec.list", trl_testkit::json!({}));
        list["executions"][0]["stdout_bytes"].as_u64().unwrap()
    };
    let mut before = u64::MAX;
    eventually("it waits", || std::mem::replace(&mut before, written()) == before);
    assert!(before < BYTES as u64 / 2, "{before}");
    let mut count = first.len();
    let mut chunk = vec![0; 1 << 16];
    loop {
        let more = out.read(&mut chunk).unwrap();
        if more == 0 {
            break;
        }
        assert!(chunk[..more].iter().all(|b| b"x\n".contains(b)));
        count += more;
    }
    assert_eq!(count, BYTES);
    assert_eq!(heard(&child.wait_with_output().unwrap()).err, "over\n");
}

/// As `yes | head -1` ends.
#[test]
fn a_reader_that_goes_ends_it_as_it_would_end_a_shell() {
    let daemon = daemon();
    let (mut read, write) = io::pipe().unwrap();
    let mut child = bash(&daemon, "while :; do echo y; done").stdout(write).spawn().unwrap();
    let mut two = [0; 2];
    read.read_exact(&mut two).unwrap();
    drop(read);
    assert_eq!((&two, child.wait().unwrap().signal()), (b"y\n", Some(13)));
    eventually("nothing is left of it", || {
        let list = daemon.client().ok("exec.list", trl_testkit::json!({}));
        list["executions"][0]["status"] == "done"
    });
}

/// Programs share their pipes with others, who may make them non-blocking.
#[test]
fn a_pipe_that_does_not_block_is_written_all_the_same() {
    let daemon = daemon();
    let (mut read, write) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(write.as_fd(), true).unwrap();
    let mut child = bash(&daemon, "head -c 1000000 /dev/zero").stdout(write).spawn().unwrap();
    let mut all = Vec::new();
    read.read_to_end(&mut all).unwrap();
    assert_eq!((all.len(), child.wait().unwrap().code()), (1_000_000, Some(0)));
}

#[test]
fn output_may_go_to_files_and_nowhere() {
    let daemon = daemon();
    let path = daemon.dir().join("out");
    let file = File::create(&path).unwrap();
    let status =
        bash(&daemon, "echo a; echo b >&2").stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    assert!(status.success());
    assert_eq!(fs::read_to_string(path).unwrap(), "a\nb\n");
    let said = said(bash(&daemon, "echo a; exit 2").stdout(Stdio::null()));
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
}
