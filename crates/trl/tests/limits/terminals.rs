//! The same in terminals, whose whole life counts.

use trl_testkit::json;

use crate::{FORK_BOMB, MIB, daemon};

#[test]
fn each_limit_ends_a_terminal_and_is_named() {
    let daemon = daemon();
    let mut beside = daemon.terminal(json!({}));
    for (limits, script, hit) in [
        (json!({"wall_s": 0.3}), "sleep 60", "wall_s"),
        (json!({"output_bytes": 100_000}), "yes", "output_bytes"),
        (json!({"cpu_time_s": 0.3}), "while :; do :; done", "cpu_time_s"),
        (json!({"memory_bytes": 32 * MIB}), "head -c 400000000 /dev/zero | tail", "memory_bytes"),
        (json!({"file_size_bytes": MIB}), "exec head -c 9000000 /dev/zero >$HOME/filler", "file_size_bytes"),
    ] {
        let argv = json!(["/bin/sh", "-c", script]);
        let mut terminal = daemon.terminal(json!({"argv": argv, "limits": limits}));
        let info = terminal.ended();
        assert_eq!(info["usage"]["limit_hit"], hit, "{info}");
        assert_eq!(info["usage"]["scope"], "execution", "{info}");
        assert!(info["limits"]["enforced"].as_array().expect("a list").contains(&json!(hit)), "{info}");
    }
    beside.enter("echo fi''ne");
    beside.wait_line("fine");
}

/// A control group matters to these tests: a virtual machine with cgroup v2 repeats them.
mod groups {
    use super::*;

    #[test]
    fn a_fork_bomb_in_a_terminal_is_contained() {
        let daemon = daemon();
        let mut beside = daemon.terminal(json!({}));
        let argv = json!(["/bin/sh", "-c", format!("{FORK_BOMB}; b 0 60")]);
        let mut bomb = daemon.terminal(json!({"argv": argv, "limits": {"pids": 40}}));
        beside.enter("echo fi''ne");
        beside.wait_line("fine");
        if bomb.info()["limits"]["backend"] == "rlimits" {
            assert_eq!(bomb.ended()["usage"]["limit_hit"], "pids");
        } else {
            trl_testkit::eventually("the kernel refuses forks", || {
                bomb.screen().contains("fork") || bomb.info()["state"] == "exited"
            });
            bomb.destroy();
        }
    }
}
