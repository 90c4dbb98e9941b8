//! `trl attach` on a real terminal: that of a second daemon.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use trl_testkit::{Attached, Daemon, Proxy, Random, Terminal, eventually, json, process, procs_matching};

use crate::{builder, daemon};

/// A terminal of `there` in which a person attaches to one of `daemon`.
fn attach(there: &Daemon, daemon: &Daemon, terminal: &str, more: &[&str]) -> Terminal {
    let (trl, socket) = (env!("CARGO_BIN_EXE_trl"), daemon.socket().to_string_lossy().into_owned());
    let argv: Vec<&str> = [&[trl, "--socket", &socket, "attach", terminal][..], more].concat();
    there.terminal(json!({"argv": argv, "cols": 90, "rows": 30}))
}

#[test]
fn a_person_types_sees_detaches_and_comes_back() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"name": "work"}));
    let mut person = attach(&there, &daemon, "work", &[]);
    eventually("the window decides", || work.info()["cols"] == 90 && work.info()["rows"] == 30);
    person.enter("echo $((6*7)); stty size");
    eventually("it is seen", || person.screen().contains("42") && person.screen().contains("30 90"));
    assert!(work.screen().contains("42"));
    person.ok("terminal.resize", json!({"cols": 70, "rows": 20}));
    eventually("a resize is passed on", || work.info()["cols"] == 70);
    person.input("\x1cd");
    eventually("detached", || person.info()["exit_code"] == 0);
    assert_eq!(work.info()["state"], "running");
    let mut again = attach(&there, &daemon, &work.id.clone(), &[]);
    eventually("the past is there again", || again.screen().contains("42"));
    again.enter("exit 5");
    eventually("its code is ours", || again.info()["exit_code"] == 5);
}

#[test]
fn a_full_screen_program_is_shown_as_it_is() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"argv": ["vim", "-u", "NONE"], "cols": 90, "rows": 30}));
    eventually("vim is up", || work.screen().contains("~"));
    work.input("ihello there\x1b");
    eventually("typed", || work.screen().contains("hello there"));
    let mut person = attach(&there, &daemon, &work.id.clone(), &[]);
    eventually("the same picture", || person.screen() == work.screen());
    assert_eq!(person.ok("terminal.screen", json!({}))["alternate"], true);
    person.input(":q!\r");
    eventually("it has ended", || person.info()["exit_code"] == 0);
}

#[test]
fn a_watcher_types_nothing_and_nothing_there_is_an_error() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({}));
    work.enter("echo seen");
    let mut watcher = attach(&there, &daemon, &work.id.clone(), &["--read-only"]);
    eventually("it is seen", || watcher.screen().contains("seen"));
    watcher.enter("echo typed");
    assert_eq!(work.info()["cols"], 80);
    watcher.input("\x1cd");
    eventually("detached", || watcher.info()["exit_code"] == 0);
    assert!(!work.screen().contains("typed"));
    let mut lost = attach(&there, &daemon, "nobody", &[]);
    eventually("it says so", || lost.info()["exit_code"] == 1 && lost.screen().contains("no terminal"));
}

/// A person whose shell notes how its terminal is set before and after `trl attach`, and its code.
struct Person {
    terminal: Terminal,
    before: String,
    after: String,
}

impl Person {
    fn at(there: &Daemon, socket: &Path, args: &str) -> Self {
        let dir = there.dir();
        let (before, after) = (dir.text("before"), dir.text("after"));
        let (trl, socket) = (env!("CARGO_BIN_EXE_trl"), socket.display());
        let script = format!(
            "stty -g >{before}\n{trl} --socket {socket} attach {args}\ncode=$?\nstty -g >{after}\necho \"code=$code\"\n"
        );
        let script = dir.program("person", &script);
        let terminal = there.terminal(json!({"argv": ["/bin/sh", script], "cols": 90, "rows": 30}));
        Self { terminal, before, after }
    }

    /// The process of `trl attach`.
    fn pid() -> i32 {
        let mut found = Vec::new();
        eventually("it runs", || {
            found = procs_matching(" attach ");
            found.len() == 1
        });
        found[0]
    }

    /// Waits for its end: the code, and what stands on the screen. The terminal must be set as it was.
    fn left(&mut self) -> (i64, String) {
        self.terminal.ended();
        let read = |path: &str| std::fs::read_to_string(path).expect("stty ran");
        assert_eq!(read(&self.after), read(&self.before), "the terminal is not set as before");
        let screen = self.terminal.screen();
        let code = screen.rsplit("code=").next().and_then(|rest| rest.split_whitespace().next());
        (code.and_then(|code| code.parse().ok()).unwrap_or(-1), screen)
    }
}

/// Answers each line it reads, by number, and twenty numbered lines more.
const COUNTER: &str = "stty -echo; echo ready; i=0; while read -r n; do echo \"<$n>\"; k=0; \
    while [ $k -lt 20 ]; do echo \"line $i\"; i=$((i+1)); k=$((k+1)); done; done";

/// Everything `trl attach` wrote from the program's first answer on.
fn written(there: &Daemon, person: &mut Person, last: &str) -> String {
    let generation = person.terminal.info()["gen"].as_str().expect("a generation").to_string();
    let query = format!("gen={generation}&since=0&mode=view");
    let mut eyes = Attached::open(&there.http(), &there.operator_token(), &person.terminal.id, &query);
    eyes.until_text(last);
    let text = String::from_utf8_lossy(&eyes.bytes).into_owned();
    text[text.find("<0>").expect("its first answer")..].to_string()
}

#[test]
fn connections_cut_below_it_lose_nothing_and_double_nothing() {
    let (daemon, there) = (daemon(), builder().http().start());
    let proxy = Proxy::to(&daemon.socket());
    daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", COUNTER], "cols": 90, "rows": 30}));
    // The first connection asks for the name, the second is the terminal's; all have room for the greeting.
    let mut random = Random::seeded(7);
    proxy.cut_after(std::iter::once(1 << 20).chain((0..60).map(|_| 1500 + random.below(2000) as usize)));
    let mut person = Person::at(&there, &proxy.socket(), "work");
    person.terminal.wait("ready");
    let rounds = 60;
    for round in 0..rounds {
        person.terminal.enter(&format!("{round}"));
        if round % 10 == 9 {
            proxy.cut();
        }
    }
    let last = format!("line {}\r\n", rounds * 20 - 1);
    let expected: String = (0..rounds)
        .map(|n| {
            let lines: String = (n * 20..n * 20 + 20).map(|i| format!("line {i}\r\n")).collect();
            format!("<{n}>\r\n{lines}")
        })
        .collect();
    let written = written(&there, &mut person, &last);
    assert!(written == expected, "{} bytes, {} expected:\n{written:.3000}", written.len(), expected.len());
    assert!(proxy.accepted() > 20, "only {} connections", proxy.accepted());
    person.terminal.input("\x1cd");
    assert_eq!(person.left().0, 0);
}

#[test]
fn one_that_is_away_for_a_while_says_so_and_shows_the_screen_anew() {
    let (daemon, there) = (daemon(), daemon());
    let proxy = Proxy::to(&daemon.socket());
    let mut work =
        daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", COUNTER], "cols": 90, "rows": 30}));
    let mut person = Person::at(&there, &proxy.socket(), "work");
    person.terminal.enter("1");
    person.terminal.wait("line 19");
    proxy.refuse();
    person.terminal.wait("trying again");
    let tries = proxy.accepted();
    person.terminal.enter("typed meanwhile");
    eventually("it goes on trying", || proxy.accepted() > tries + 1);
    work.input("2\r");
    work.wait("line 39");
    proxy.allow();
    work.wait("<typed meanwhile>");
    work.wait("line 59");
    eventually("both show the same", || person.terminal.screen() == work.screen());
    assert_eq!(work.screen().matches("<typed meanwhile>").count(), 1);
    // Away again, and the keys that detach are heard.
    proxy.refuse();
    person.terminal.wait("trying again");
    person.terminal.input("\x1cd");
    let (code, screen) = person.left();
    assert!(code == 0 && screen.contains("detached"), "{screen}");
}

#[test]
fn a_watcher_stays_a_watcher_after_a_reconnect() {
    let (daemon, there) = (daemon(), daemon());
    let proxy = Proxy::to(&daemon.socket());
    let mut work = daemon.terminal(json!({"name": "work"}));
    let mut watcher = Person::at(&there, &proxy.socket(), "--read-only work");
    work.enter("echo before$((1+1))");
    watcher.terminal.wait("before2");
    let before = proxy.accepted();
    proxy.cut();
    eventually("it is back", || proxy.accepted() > before && work.info()["clients"] == 1);
    watcher.terminal.enter("echo typed");
    work.enter("echo after$((1+1))");
    watcher.terminal.wait("after2");
    assert_eq!((&work.info()["cols"], &work.info()["rows"]), (&json!(80), &json!(24)));
    watcher.terminal.input("\x1cd");
    assert_eq!(watcher.left().0, 0);
    assert!(!work.screen().contains("typed"), "{}", work.screen());
}

#[test]
fn what_is_typed_just_before_a_detach_arrives() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"name": "work"}));
    let mut person = Person::at(&there, &daemon.socket(), "work");
    eventually("it is attached", || work.info()["clients"] == 1);
    person.terminal.input("echo last$((1+1))\r\x1cd");
    assert_eq!(person.left().0, 0);
    work.wait("last2");
}

#[test]
fn signals_end_it_with_the_terminal_as_it_was() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let (daemon, there) = (daemon(), daemon());
        let script = "printf '\\033[?1049h\\033[?1000h\\033[?2004h\\033[?1h'; echo full; cat";
        let mut work = daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", script]}));
        let mut person = Person::at(&there, &daemon.socket(), "work");
        person.terminal.wait("full");
        assert_eq!(person.terminal.ok("terminal.screen", json!({}))["alternate"], true);
        process::signal(Person::pid(), signal);
        let (left, screen) = person.left();
        assert_eq!(left, code, "{screen}");
        assert!(screen.contains("detached") && !screen.contains("full"), "{screen}");
        // Modes of the program do not stay behind either: a snapshot would bring them back.
        let snapshot = String::from_utf8_lossy(&person.terminal.snapshot()).into_owned();
        for mode in ["?1049h", "?1000h", "?2004h", "?1h"] {
            assert!(!snapshot.contains(mode), "{mode} in {snapshot:?}");
        }
        assert_eq!(work.info()["state"], "running");
    }
}

#[test]
fn the_end_of_the_program_is_its_own_and_all_of_it_is_shown() {
    let (daemon, there) = (daemon(), daemon());
    daemon.terminal(
        json!({"name": "work", "argv": ["/bin/sh", "-c", "read x; seq 1 5000; exit 9"], "cols": 90, "rows": 30}),
    );
    let mut person = Person::at(&there, &daemon.socket(), "work");
    eventually("it is attached", || {
        daemon.client().ok("terminal.list", json!({}))["terminals"][0]["clients"] == 1
    });
    person.terminal.enter("");
    let (code, screen) = person.left();
    assert!(code == 9 && screen.contains("5000") && screen.contains("ended with code 9"), "{screen}");
}

#[test]
fn a_daemon_that_is_gone_is_given_up() {
    let (mut daemon, there) = (daemon(), daemon());
    daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", "echo here; cat"]}));
    let mut person = Person::at(&there, &daemon.socket(), "--retry 1s work");
    person.terminal.wait("here");
    daemon.kill9();
    let (code, screen) = person.left();
    assert!(code == 1 && screen.contains("trl: the daemon is gone"), "{screen}");
    assert!(screen.contains("trying again"), "{screen}");
}

#[test]
fn one_that_ends_in_order_or_knows_nothing_of_it_is_not_waited_for() {
    let (mut daemon, there) = (daemon(), daemon());
    let proxy = Proxy::to(&daemon.socket());
    daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", "echo here; cat"]}));
    let mut person = Person::at(&there, &proxy.socket(), "--retry 1h work");
    person.terminal.wait("here");
    daemon.kill9();
    person.terminal.wait("trying again");
    daemon.relaunch();
    let (code, screen) = person.left();
    assert!(code == 1 && screen.contains("there is no such terminal"), "{screen}");
    let other = daemon.terminal(json!({"name": "work", "argv": ["/bin/sh", "-c", "echo here; cat"]}));
    let mut person = Person::at(&there, &daemon.socket(), &format!("--retry 1h {}", other.id));
    person.terminal.wait("here");
    daemon.stop();
    let (code, screen) = person.left();
    // Its program is ended with it, and whichever is told first counts.
    assert!(code == 129 || screen.contains("the daemon is ending"), "{code} {screen}");
}

#[test]
fn one_that_was_stopped_takes_its_terminal_again() {
    let (daemon, there) = (daemon(), daemon());
    let mut work = daemon.terminal(json!({"name": "work", "cols": 90, "rows": 30}));
    let mut person = Person::at(&there, &daemon.socket(), "work");
    person.terminal.wait("$");
    let pid = Person::pid();
    let pts = std::fs::read_link(format!("/proc/{pid}/fd/0")).expect("a terminal");
    let stty = |what: &str| {
        let set = Command::new("stty").arg(what).arg("-F").arg(&pts).output().expect("stty runs");
        String::from_utf8_lossy(&set.stdout).into_owned()
    };
    assert!(stty("-a").contains("-icanon"));
    process::signal(pid, Signal::STOP);
    stty("sane");
    assert!(!stty("-a").contains("-icanon"));
    process::signal(pid, Signal::CONT);
    eventually("it is raw again", || stty("-a").contains("-icanon"));
    person.terminal.enter("echo on$((1+1))");
    work.wait("on2");
    eventually("both show the same", || person.terminal.screen() == work.screen());
    person.terminal.input("\x1cd");
    person.left();
}
