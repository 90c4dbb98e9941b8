//! One bomb of each kind, in a session. Another session beside it goes on.

use trl_testkit::{Daemon, Session, Shell, json};

use crate::{FORK_BOMB, MIB, backend, daemon, session};

/// The session that met a limit, and one that did not.
struct Beside {
    daemon: Daemon,
    other: Session,
}

impl Beside {
    fn new() -> Self {
        let daemon = daemon();
        let mut other = daemon.session(Shell::Dash);
        other.run("mine=untouched; cd /usr");
        Self { daemon, other }
    }

    /// Whatever happened next door.
    fn is_unharmed(&mut self) {
        let said = self.other.run("echo $mine; pwd");
        assert_eq!((said.out().as_str(), said.shell_state.as_str()), ("untouched\n/usr\n", "kept"));
        self.daemon.client().ok("system.ping", json!({}));
    }
}

/// Whether the kernel refuses their forks or the daemon ends them: the shell goes on, with its rollback point.
#[test]
fn what_is_left_running_does_not_take_the_shells_place() {
    let daemon = daemon();
    let mut session = session(&daemon, json!({"pids": 20}));
    session.run("x=1; cd /usr");
    let many = session.run("i=0; while [ $i -lt 40 ]; do sleep 9753 & i=$((i+1)); done 2>/dev/null");
    // without the kernel's help they are counted now and then, and this is over soon
    if many.json["usage"]["backend"] != "rlimits" {
        assert_eq!(many.json["usage"]["limit_hit"], "pids", "{}", many.json);
    }
    session.run("x=2");
    let ended = session.run("exit 3");
    assert_eq!((ended.code, ended.shell_state.as_str()), (3, "rolled_back"), "{}", ended.json);
    let after = session.run("echo $x; pwd");
    assert_eq!((after.out().as_str(), after.shell_state.as_str()), ("2\n/usr\n", "kept"));
    session.destroy();
    assert_eq!(daemon.client().ok("system.stats", json!({}))["resets"], 0);
    assert!(!daemon.log().contains("could not be renewed"), "{}", daemon.log());
}

/// Its children are killed for being too many; that they were is said, however fast it ends then.
#[test]
fn who_ends_well_after_a_storm_has_met_the_limit_all_the_same() {
    let daemon = daemon();
    let mut client = daemon.client();
    for _ in 0..8 {
        let params = json!({"command": format!("{FORK_BOMB}; b 0 1 2>/dev/null & wait; exit 0"),
            "limits": {"pids": 40}, "yield_ms": 30_000});
        let done = client.ok("exec.start", params);
        assert_eq!(done["usage"]["limit_hit"], "pids", "{done:.600}");
    }
}

#[test]
fn a_file_does_not_fill_the_disk() {
    let mut beside = Beside::new();
    let mut bomb = session(&beside.daemon, json!({"file_size_bytes": MIB}));
    let file = beside.daemon.dir().text("filler");
    let run = bomb.run(&format!("exec 3>{file}; head -c 50000000 /dev/zero >&3"));
    assert_eq!(run.json["usage"]["limit_hit"], "file_size_bytes", "{}", run.json);
    assert_eq!(run.code, 153, "128 and SIGXFSZ");
    assert_eq!(std::fs::metadata(&file).expect("a file").len(), MIB);
    assert_eq!(bomb.run("echo on").out(), "on\n");
    beside.is_unharmed();
}

#[test]
fn output_stops_where_it_may() {
    let mut beside = Beside::new();
    let mut bomb = session(&beside.daemon, json!({"output_bytes": 100_000}));
    let run = bomb.run("yes");
    assert_eq!(run.json["usage"]["limit_hit"], "output_bytes", "{}", run.json);
    let printed = run.json["stdout_bytes"].as_u64().unwrap() + run.json["stderr_bytes"].as_u64().unwrap();
    assert_eq!(printed, 100_000);
    assert!(!run.timed_out && !run.cancelled);
    let both = bomb.run("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2");
    let printed = both.json["stdout_bytes"].as_u64().unwrap() + both.json["stderr_bytes"].as_u64().unwrap();
    assert_eq!(
        (printed, &both.json["usage"]["limit_hit"]),
        (100_000, &json!("output_bytes")),
        "{:.200}",
        both.json
    );
    assert_eq!(bomb.run("echo on").out(), "on\n");
    beside.is_unharmed();
}

#[test]
fn time_runs_out_whatever_timeout_is_asked_for() {
    let mut beside = Beside::new();
    let mut bomb = session(&beside.daemon, json!({"wall_s": 0.3}));
    let run = bomb.run("sleep 60");
    assert_eq!(run.json["usage"]["limit_hit"], "wall_s", "{}", run.json);
    assert!(run.timed_out);
    let sooner = bomb.run_with("sleep 60", json!({"timeout_s": 0.1}));
    assert_eq!((sooner.timed_out, &sooner.json["usage"]["limit_hit"]), (true, &json!(null)));
    beside.is_unharmed();
}

#[test]
fn descriptors_are_counted_for_each_process() {
    let daemon = daemon();
    let mut bomb = session(&daemon, json!({"open_files": 32}));
    assert_eq!(bomb.run("ulimit -n; ulimit -Hn").out(), "32\n32\n");
}

#[test]
fn a_direct_command_is_held_to_its_limits_too() {
    let daemon = daemon();
    let mut client = daemon.client();
    let argv =
        json!(["/bin/sh", "-c", "head -c 400000000 /dev/zero | tail; sleep 60 & sleep 60 & echo over"]);
    let made = client.ok("session.create", json!({"argv": argv, "limits": {"memory_bytes": 32 * MIB}}));
    let execution = made["execution_id"].clone();
    let mut result = json!(null);
    trl_testkit::eventually("it is over", || {
        result = client.ok("exec.result", json!({"execution_id": execution}));
        result["status"] == "done"
    });
    assert_eq!(result["usage"]["scope"], "execution", "{result}");
    assert_eq!(result["usage"]["limit_hit"], "memory_bytes", "{result}");
}

/// A control group matters to these tests: a virtual machine with cgroup v2 repeats them.
mod groups {
    use super::*;

    #[test]
    fn a_fork_bomb_in_the_background_does_not_outlive_its_session() {
        let mut beside = Beside::new();
        let mut bomb = session(&beside.daemon, json!({"pids": 40}));
        bomb.run(&format!("{FORK_BOMB}; b 0 60 >/dev/null 2>&1 &"));
        beside.is_unharmed();
        bomb.destroy();
        beside.is_unharmed();
    }

    #[test]
    fn processor_time_runs_out() {
        let mut beside = Beside::new();
        let mut bomb = session(&beside.daemon, json!({"cpu_time_s": 0.4}));
        // Many short commands use less together than one may: the time counts for each.
        for _ in 0..3 {
            let short = bomb.run("true");
            assert_eq!((short.code, &short.json["usage"]["limit_hit"]), (0, &json!(null)), "{}", short.json);
        }
        let run = bomb.run("while :; do :; done");
        let usage = &run.json["usage"];
        assert_eq!(usage["limit_hit"], "cpu_time_s", "{}", run.json);
        assert!(usage["cpu_ms"].as_u64().expect("a time") >= 390, "{usage}");
        assert!(!run.timed_out && !run.cancelled);
        assert_eq!(bomb.run("echo on").out(), "on\n");
        beside.is_unharmed();
    }

    #[test]
    fn a_share_of_a_processor_is_all_there_is() {
        let daemon = daemon();
        let kind = backend(&daemon);
        let mut slow = session(&daemon, json!({"cpu": 0.2, "cpu_time_s": 60}));
        let info = slow.info();
        if kind == "rlimits" {
            assert_eq!(info["limits"]["not_enforced"], json!(["cpu"]), "{info}");
            return;
        }
        assert_eq!(info["limits"]["enforced"], json!(["cpu", "cpu_time_s"]), "{info}");
        let run = slow.run_with("while :; do :; done", json!({"timeout_s": 1.0}));
        assert!(run.timed_out);
        // A fifth of its time, and what was given out when it began; a whole processor would be five times as much.
        let (used, took) =
            (run.json["usage"]["cpu_ms"].as_u64().unwrap(), run.json["duration_ms"].as_u64().unwrap());
        assert!(used <= took / 2, "{used} of {took} ms");
    }

    #[test]
    fn a_started_process_is_held_to_its_own_limits() {
        let daemon = daemon();
        let backend = backend(&daemon);
        let mut client = daemon.client();
        for (tty, limits, command, hit) in [
            (false, json!({"memory_bytes": 32 * MIB}), "head -c 400000000 /dev/zero | tail", "memory_bytes"),
            (false, json!({"output_bytes": 1000}), "yes", "output_bytes"),
            (true, json!({"cpu_time_s": 0.3}), "while :; do :; done", "cpu_time_s"),
            (true, json!({"wall_s": 0.3}), "sleep 60", "wall_s"),
        ] {
            let started = client.ok(
                "exec.start",
                json!({"command": command, "tty": tty, "limits": limits, "yield_ms": 30_000, "working_dir": "/"}),
            );
            let result = client.ok("exec.result", json!({"execution_id": started["execution_id"]}));
            assert_eq!(result["usage"]["limit_hit"], hit, "{started} {result:.300}");
            assert_eq!(result["usage"]["scope"], "execution", "{result:.300}");
            assert_eq!(result["usage"]["backend"], backend, "{result:.300}");
            assert_eq!(result["usage"]["not_enforced"], json!([]), "{result:.300}");
        }
        let mut session = daemon.session(Shell::Dash);
        let inside = json!({"command": "true", "session_id": session.id, "limits": {"pids": 5}});
        session.client().refused("INVALID_PARAMS", "exec.start", inside);
    }

    /// An ordinary user repeats these there, in a control group that was delegated to it.
    mod delegated {
        use super::*;

        #[test]
        fn a_memory_bomb_ends_alone() {
            let mut beside = Beside::new();
            let mut bomb = session(&beside.daemon, json!({"memory_bytes": 32 * MIB}));
            bomb.run("before=still-here");
            // tail keeps the last line of its input, which never ends
            let run = bomb.run("head -c 400000000 /dev/zero | tail; echo code $?");
            let usage = &run.json["usage"];
            assert_eq!(usage["limit_hit"], "memory_bytes", "{}", run.json);
            if backend(&beside.daemon) != "rlimits" {
                assert_eq!(usage["oom_killed"], true);
                let peak = usage["memory_peak_bytes"].as_u64().expect("a peak");
                assert!((16 * MIB..=33 * MIB).contains(&peak), "{peak}");
            }
            assert_eq!(bomb.run("echo $before").out(), "still-here\n");
            let calm = bomb.run("true");
            assert_eq!(calm.json["usage"]["limit_hit"], json!(null), "{}", calm.json);
            beside.is_unharmed();
        }

        #[test]
        fn a_fork_bomb_is_contained() {
            let mut beside = Beside::new();
            let mut bomb = session(&beside.daemon, json!({"pids": 40}));
            let run = bomb.run(&format!("{FORK_BOMB}; b 0 1"));
            let hit = &run.json["usage"]["limit_hit"];
            assert_eq!(hit, "pids", "{}", run.json);
            beside.is_unharmed();
            bomb.destroy();
            beside.is_unharmed();
        }
    }
}
