//! Links that break under output: after they heal everything goes on by the byte, and nothing is run twice.

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Rounds, Session, Streaming, eventually, json, procs_matching};

use crate::builder;

const LINKS: usize = 12;
/// What this makes is kept here as a whole, however late a client reads it.
const LINES: usize = 100_000;

/// Every relay of the daemon's, killed at once: whatever was on its way is lost in the middle.
fn cut_all() {
    eventually("all are connected", || procs_matching("stdio --resume").len() == LINKS);
    procs_matching("stdio --resume").into_iter().for_each(|relay| signal(relay, Signal::KILL));
}

#[test]
fn a_session_goes_on_when_its_link_is_back() {
    let daemon = builder().set("runtimes", "connect_s", 1).set("runtimes", "grace_s", 60).start();
    daemon.add_relay("box", json!({}));
    let mut session = Session::create(daemon.client(), json!({"runtime": "box", "working_dir": "/"}));
    assert_eq!(session.run("echo fine").out(), "fine\n");
    // The program that leads there is gone, and its engine lives.
    let place = daemon.runtime_dir().join("box");
    let away = daemon.runtime_dir().join("away");
    std::fs::rename(&place, &away).unwrap();
    procs_matching("stdio --resume").into_iter().for_each(|relay| signal(relay, Signal::KILL));
    let mut operator = daemon.operator();
    eventually("it is noticed", || operator.ok("runtime.get", json!({"name": "box"}))["state"] != "up");
    std::fs::rename(&away, &place).unwrap();
    assert_eq!(session.run("echo back").out(), "back\n");
}

mod soak {
    use super::*;

    #[test]
    fn output_goes_on_by_the_byte_over_links_that_are_cut_again_and_again() {
        let daemon = builder().set("runtimes", "grace_s", 60).start();
        let mut sessions: Vec<Session> = (0..LINKS)
            .map(|n| {
                let name = format!("box{n}");
                daemon.add_relay(&name, json!({}));
                Session::create(daemon.client(), json!({"runtime": name, "working_dir": "/"}))
            })
            .collect();
        for round in Rounds::new(1) {
            let marks: Vec<String> =
                (0..LINKS).map(|n| daemon.dir().text(&format!("ran{n}-{round}"))).collect();
            let mut runs: Vec<Streaming<'_>> = sessions
                .iter_mut()
                .zip(&marks)
                .map(|(session, mark)| {
                    session.stream(
                        &format!("echo x >>{mark}; seq 1 {LINES}; read x; echo $x"),
                        json!({"open_stdin": true}),
                    )
                })
                .collect();
            for place in ["1000", "30000", "60000", "90000"] {
                for run in &mut runs {
                    run.wait_stdout(&format!("\n{place}\n"));
                }
                cut_all();
            }
            let all: String = (1..=LINES).map(|n| format!("{n}\n")).collect();
            for (run, mark) in runs.into_iter().zip(&marks) {
                let mut run = run;
                run.input("the end\n");
                let run = run.finish();
                assert!(run.out() == format!("{all}the end\n"), "{} bytes, {}", run.stdout.len(), run.json);
                assert_eq!(std::fs::read_to_string(mark).unwrap(), "x\n", "it ran once");
            }
        }
    }
}
