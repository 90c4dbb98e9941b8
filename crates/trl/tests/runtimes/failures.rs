//! What goes wrong with a link, an engine or the machine there, and what a caller sees of it.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Daemon, Session, Way, eventually, json, procs_matching, sleeper};

use crate::{builder, get, output, session_in};

/// Links that are cut are waited for.
fn patient() -> Daemon {
    builder().set("runtimes", "grace_s", 60).start()
}

fn session(daemon: &Daemon, runtime: &str) -> Session {
    Session::create(daemon.client(), json!({"runtime": runtime, "working_dir": "/"}))
}

fn engines() -> Vec<i32> {
    procs_matching("--engine-of-link")
}

#[test]
fn a_link_that_is_cut_in_the_middle_of_frames_loses_nothing() {
    const LINES: usize = 60_000;
    let daemon = patient();
    let leash = daemon.add_leash("box");
    let mut session = session(&daemon, "box");
    let mark = daemon.dir().text("ran");
    // Cut in the greeting, in heads and in bodies, both ways; and after each of those, which may have been too early for any
    // headway, further on.
    let early = (1..1500).step_by(97).flat_map(|place| [(Way::Back, place), (Way::Out, place)]);
    let cuts = early.flat_map(|cut| [cut, (Way::Back, 4000 + 3 * cut.1), (Way::Out, 1000 + cut.1)]);
    leash.cut_after(cuts);
    let command = format!(
        "echo x >>{mark}; seq 1 {LINES}; while read -r line && [ \"$line\" ]; do echo \"$line\"; done"
    );
    let mut run = session.stream(&command, json!({"open_stdin": true, "timeout_s": 600}));
    run.wait_stdout("\n20000\n");
    leash.cut();
    let mut given = String::new();
    for number in 0.. {
        // Something is on its way in both directions, however early a link is cut.
        let line = format!("line {number} {:0>200}", number * number);
        run.input(&format!("{line}\n"));
        given += &format!("{line}\n");
        if leash.cuts_left() == 0 {
            break;
        }
    }
    run.input("\n");
    let run = run.finish();
    let all: String = (1..=LINES).map(|n| format!("{n}\n")).collect();
    assert!(run.out() == all + &given, "{} bytes, {}", run.stdout.len(), run.json);
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "x\n", "it ran once");
    assert!(get(&mut daemon.operator(), "box")["reconnects"].as_u64().unwrap() > 20);
}

/// A shell that says when it is started, and waits to be let go.
fn held_up(daemon: &Daemon) -> String {
    let dir = daemon.dir();
    let (here, go) = (dir.fifo("here"), dir.fifo("go"));
    dir.program("bin/dash", &format!("#!/bin/sh\necho here >{here}\nread x <{go}\nexec /bin/dash \"$@\"\n"))
}

#[test]
fn a_session_that_is_made_while_its_link_is_cut_is_there_when_it_has_healed() {
    let daemon = patient();
    let leash = daemon.add_leash("box");
    let shell = held_up(&daemon);
    let mut here = daemon.dir().listen("here");
    let mut client = daemon.client();
    let request =
        client.send("session.create", json!({"runtime": "box", "shell": shell, "working_dir": "/"}));
    assert_eq!(here.line(), "here");
    leash.cut();
    let _gate = daemon.dir().open_gate("go");
    let made = client.reply(request).unwrap();
    assert_eq!(output(&mut client, &made, "echo there"), "there");
    assert!(leash.accepted() > 1);
}

#[test]
fn a_session_that_nobody_wants_any_more_when_its_link_is_back_is_not_left_there() {
    let daemon = patient();
    let leash = daemon.add_leash("box");
    let shell = held_up(&daemon);
    let mut here = daemon.dir().listen("here");
    let mut client = daemon.client();
    client.send("session.create", json!({"runtime": "box", "shell": shell, "working_dir": "/"}));
    assert_eq!(here.line(), "here");
    leash.cut();
    drop(client);
    let _gate = daemon.dir().open_gate("go");
    eventually("it is connected again", || leash.accepted() > 1);
    let mut operator = daemon.operator();
    // Whoever asked is gone, and either way nothing is left that nobody knows of.
    for known in operator.ok("session.list", json!({}))["sessions"].as_array().unwrap() {
        let _ = operator.call("session.destroy", json!({"session_id": known["session_id"], "force": true}));
    }
    eventually("nothing of it is left", || procs_matching("bin/dash").is_empty());
    assert_eq!(get(&mut operator, "box")["sessions"], 0);
}

/// Said yes to, and not begun: the shell that is to say once more what its names stand for is out of reach.
#[test]
fn what_was_approved_and_has_not_begun_can_be_cancelled() {
    let daemon = patient();
    daemon.dir().file("config/trl/approvals.yaml", "default: allow\nrules:\n- ask: [touch]\n");
    daemon.add_relay("box", json!({}));
    let mut session = session(&daemon, "box");
    let made = daemon.dir().text("made");
    let mut operator = daemon.operator();
    operator.ok("events.subscribe", json!({}));
    let run = session.start(&format!("touch {made}"), json!({}));
    let asked = operator.event("hitl.requested");
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    let [engine] = engines().try_into().unwrap();
    signal(engine, Signal::STOP);
    let (id, digest) = (&request["request_id"], &request["digest"]);
    operator.ok("hitl.respond", json!({"request_id": id, "digest": digest, "decision": "approve"}));
    let cancelled = operator.ok("exec.cancel", json!({"execution_id": request["execution_id"]}));
    assert_eq!(cancelled["cancelled"], true, "{cancelled}");
    signal(engine, Signal::CONT);
    assert!(session.finish(run).unwrap().json["cancelled"] == true);
    assert_eq!(session.run("echo on").out(), "on\n");
    assert!(!std::path::Path::new(&made).exists());
}

/// Two gateways may bring the program to a machine at once, and one of them takes the other's place.
#[test]
fn a_program_whose_file_was_replaced_while_it_started_starts_its_engine_all_the_same() {
    let daemon = patient();
    let words: Vec<String> = serde_json::from_value(daemon.relay("box")["argv"].clone()).unwrap();
    let copy = daemon.dir().text("copy");
    let script = format!(
        "cp '{}' '{copy}' && exec 3<'{copy}' && rm '{copy}' && exec /proc/self/fd/3 \"$@\"",
        words[0]
    );
    let shell = ["sh", "-c", &script, "sh"].map(String::from);
    let argv: Vec<String> = shell.into_iter().chain(words.into_iter().skip(1)).collect();
    daemon.operator().ok("runtime.add", json!({"name": "box", "kind": "command", "argv": argv}));
    assert_eq!(session(&daemon, "box").run("echo there").out(), "there\n");
}

#[test]
fn an_engine_that_is_killed_takes_its_sessions_along_and_they_can_be_opened_again() {
    let daemon = patient();
    daemon.add_relay("box", json!({}));
    let mut session = session(&daemon, "box");
    let nap = sleeper();
    let request = session.start(&nap, json!({}));
    eventually("it runs", || procs_matching(&nap).len() == 1);
    let [engine] = engines().try_into().unwrap();
    signal(engine, Signal::KILL);
    let told = session.finish(request).unwrap_err();
    assert_eq!((told.code.as_str(), told.detail("began")), ("RUNTIME_UNAVAILABLE", &json!(true)));
    assert_eq!(told.detail("runtime"), "box");
    eventually("the session is closed", || session.state() == "closed");
    eventually("what ran there is gone", || procs_matching(&nap).is_empty());
    let id = session.id.clone();
    session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(session.run("echo again").out(), "again\n");
}

#[test]
fn input_for_a_process_whose_place_is_still_being_reached_arrives() {
    let daemon = patient();
    let leash = daemon.add_leash("box");
    let mut client = daemon.client();
    client.ok("runtime.health", json!({"name": "box"}));
    // So slowly that it is known here long before it is there.
    leash.slow_down(16);
    let wish = json!({"runtime": "box", "working_dir": "/", "command": "read line; echo \"got $line\"", "yield_ms": 0});
    let id = client.ok("exec.start", wish)["execution_id"].clone();
    let request = client.send("exec.input", json!({"execution_id": id, "data": "this\n"}));
    client.reply(request).unwrap();
    let done = client.ok("exec.wait", json!({"execution_id": id, "until": {"exit": true}, "timeout_s": 30}));
    assert_eq!(done["stdout"], "got this\n", "{done}");
}

#[test]
fn a_flood_over_a_slow_link_holds_up_neither_a_cancel_nor_anybody_else() {
    let daemon = patient();
    let leash = daemon.add_leash("box");
    let (mut floods, mut other) = (session(&daemon, "box"), session(&daemon, "box"));
    let nap = sleeper();
    let mut waits = other.stream(&format!("echo waiting; {nap}"), json!({}));
    waits.wait_stdout("waiting");
    leash.slow_down(8192);
    let mut flood = floods.stream("yes | head -c 100000000; echo flooded", json!({}));
    flood.wait_stdout("y\n");
    // All of these are answered while the flood goes on, which it will for a long time.
    waits.cancel();
    assert!(waits.finish().cancelled);
    assert_eq!(other.run("echo on").out(), "on\n");
    let health = daemon.operator().ok("runtime.health", json!({"name": "box"}));
    assert_eq!(health["healthy"], true, "{health}");
    assert_eq!(flood.status(), "running");
    flood.cancel();
    let run = flood.finish();
    assert!(run.cancelled && run.stdout.len() < 100_000_000, "{}", run.json);
}

#[test]
fn two_gateways_on_one_machine_have_nothing_to_do_with_each_other() {
    let [one, other] = [patient(), patient()];
    // The same directory there, as it is with one user of one machine.
    let shared = one.relay("box");
    for daemon in [&one, &other] {
        let spec = trl_testkit::merged(json!({"name": "box"}), shared.clone());
        daemon.operator().ok("runtime.add", spec);
    }
    let [mut here, mut there] = [&one, &other].map(|daemon| session(daemon, "box"));
    here.run("WHO=one");
    there.run("WHO=other");
    assert_eq!(
        (here.run("echo $WHO").out(), there.run("echo $WHO").out()),
        ("one\n".into(), "other\n".into())
    );
    assert_eq!(engines().len(), 2);
    for daemon in [&one, &other] {
        assert_eq!(daemon.client().ok("session.list", json!({}))["sessions"].as_array().unwrap().len(), 1);
    }
    let engine = get(&mut one.operator(), "box")["engine"]["pid"].as_i64().unwrap();
    signal(i32::try_from(engine).unwrap(), Signal::KILL);
    eventually("its session is closed", || here.state() == "closed");
    assert_eq!(there.run("echo $WHO").out(), "other\n");
}

/// An ordinary user can neither give a process another clock nor mount a file system.
mod as_root {
    use super::*;

    #[test]
    fn another_clock_there_changes_no_duration_and_no_time_that_is_shown() {
        let day = "86400";
        let apart = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", day, "--boottime", day];
        let works = std::process::Command::new(apart[0]).args(&apart[1..]).arg("true").status();
        if !trl_testkit::available("a time namespace (unshare)", works.is_ok_and(|status| status.success())) {
            return;
        }
        let daemon = patient();
        let relay = daemon.relay("box");
        let argv: Vec<&str> = apart
            .into_iter()
            .chain(relay["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()))
            .collect();
        daemon.operator().ok("runtime.add", json!({"name": "box", "kind": "command", "argv": argv}));
        let mut client = daemon.client();
        let before = client.ok("system.ping", json!({}));
        let made = session_in(&mut client, json!("box"));
        let uptime = "read seconds rest </proc/uptime; echo ${seconds%%.*}";
        let there: u64 = output(&mut client, &made, uptime).parse().unwrap();
        let host = session_in(&mut client, json!("host"));
        let here: u64 = output(&mut client, &host, uptime).parse().unwrap();
        assert!(there > here + 80_000, "it has another clock: {there}, {here}");
        let mut session = Session::known(daemon.client(), made["session_id"].as_str().unwrap());
        let run = session.run("true");
        assert!(run.json["duration_ms"].as_u64().unwrap() < 60_000, "{}", run.json);
        let run = session.run_with("echo part; sleep 1000", json!({"timeout_s": 0.5}));
        assert!(run.timed_out && run.json["duration_ms"].as_u64().unwrap() < 60_000, "{}", run.json);
        let info = session.info();
        let hosts = client.ok("session.info", json!({"session_id": host["session_id"]}));
        assert!(info["created_at"].as_str() <= hosts["created_at"].as_str(), "{info} {hosts} {before}");
    }

    #[test]
    fn a_full_disk_there_is_told_as_it_would_be_here() {
        let full = trl_testkit::Scratch::new();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(full.path())
            .status();
        if !trl_testkit::available("mounting a small tmpfs", mounted.is_ok_and(|status| status.success())) {
            return;
        }
        let _unmounts = Mounted(full.path());
        std::fs::set_permissions(full.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let daemon = patient();
        let relay = daemon.relay("box");
        let words = relay["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_string());
        let runtime_dir = format!("XDG_RUNTIME_DIR={}", full.path().display());
        let argv: Vec<String> = ["env".to_string(), runtime_dir].into_iter().chain(words).collect();
        daemon.operator().ok("runtime.add", json!({"name": "box", "kind": "command", "argv": argv}));
        let mut client = daemon.client();
        let made = session_in(&mut client, json!("box"));
        assert_eq!(output(&mut client, &made, "echo fine"), "fine");
        let filler = full.join("filler");
        let filled = std::process::Command::new("dd")
            .args(["if=/dev/zero", &format!("of={}", filler.display())])
            .stderr(std::process::Stdio::null())
            .status();
        assert!(!filled.unwrap().success(), "there is no room left");
        let big = format!("true {:x>20000}", "");
        let told =
            client.call("exec.run", json!({"session_id": made["session_id"], "command": big})).unwrap_err();
        assert_eq!(told.code, "STORAGE_FULL", "{}", told.json);
        assert_eq!(told.detail("runtime"), "box", "{}", told.json);
        let told = client.call("session.create", json!({"runtime": "box", "working_dir": "/"})).unwrap_err();
        assert_eq!(
            (told.code.as_str(), told.detail("runtime")),
            ("STORAGE_FULL", &json!("box")),
            "{}",
            told.json
        );
        std::fs::remove_file(filler).unwrap();
        assert_eq!(output(&mut client, &made, "echo fine again"), "fine again");
    }

    struct Mounted<'a>(&'a std::path::Path);

    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
        }
    }
}
