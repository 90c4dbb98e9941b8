//! Commands that end, replace, stop or signal their own shell: rows 48 to 55, 99, 146 and 147.

use trl_testkit::{json, sleeper};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(48, "exec_replaces_the_shell", Shells::All, exec_replaces_the_shell),
    row(49, "exit", Shells::All, exit),
    row(50, "kill_own_shell", Shells::All, kill_own_shell),
    row(51, "stop_own_shell", Shells::All, stop_own_shell),
    row(52, "kill_own_group", Shells::All, kill_own_group),
    row(53, "exit_trap_kills_group", Shells::Posix, exit_trap_kills_group),
    row(54, "term_handler_may_finish", Shells::Posix, term_handler_may_finish),
    row(55, "signal_with_trap_while_idle", Shells::Posix, signal_with_trap_while_idle),
    row(99, "kill_9_own_group", Shells::All, kill_9_own_group),
    row(146, "stop_own_group", Shells::All, stop_own_group),
    row(147, "stop_everything_of_the_session", Shells::Posix, stop_everything_of_the_session),
];

fn own_pid(c: &Case) -> &'static str {
    if c.shell.is_fish() { "$fish_pid" } else { "$$" }
}

fn exec_replaces_the_shell(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want("exec sh -c 'echo x; exit 9'", "x\n", 9)?;
    let sleeper = sleeper();
    c.times_out(&format!("echo go; exec {sleeper}"), "go")?;
    c.none_left(&sleeper)?;
    c.kept()
}

fn exit(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want("echo a; exit 3", "a\n", 3)?;
    c.want("exit 0", "", 0)?;
    c.ends("exit")?;
    c.kept()
}

/// After the first of these `$$` names a shell that is gone; its pid stays reserved, so later kills hit nothing.
fn kill_own_shell(c: &mut Case) -> Outcome {
    let own = own_pid(c);
    for (name, n) in [("9", 9), ("TERM", 15), ("HUP", 1), ("INT", 2), ("SEGV", 11)] {
        c.keep()?;
        let run = c.ends(&format!("kill -{name} {own}; sleep 0.3"))?;
        let expected = [128 + n, 256 + n, 0];
        req(expected.contains(&run.code), || format!("kill -{name} gave {}", run.code))?;
        c.kept().map_err(|why| format!("after kill -{name}: {why}"))?;
    }
    Ok(())
}

fn stop_own_shell(c: &mut Case) -> Outcome {
    let command = format!("kill -STOP {}", own_pid(c));
    let run = c.x_with(&command, json!({"timeout_s": 0.5}));
    req(run.timed_out || run.code == 0, || format!("code {}", run.code))?;
    c.alive()
}

fn kill_own_group(c: &mut Case) -> Outcome {
    c.keep()?;
    c.ends("kill 0; sleep 0.2")?;
    c.kept()
}

fn exit_trap_kills_group(c: &mut Case) -> Outcome {
    c.keep()?;
    c.ends("trap 'kill 0' EXIT; exit 3")?;
    c.kept()
}

/// The grace between TERM and KILL is for this: its output is kept and its code counts.
fn term_handler_may_finish(c: &mut Case) -> Outcome {
    let command = "trap 'echo cleanup; exit 7' TERM; echo ready; while :; do sleep 0.1; done";
    let run = c.times_out(command, "ready")?;
    req(run.out().contains("cleanup"), || format!("stdout {:?}", run.out()))?;
    req(run.code == 7, || format!("code {}", run.code))?;
    c.alive()
}

fn signal_with_trap_while_idle(c: &mut Case) -> Outcome {
    let (go, done) = (c.dir().fifo("go"), c.dir().fifo("done"));
    let mut signals = c.dir().listen("done");
    c.keep()?;
    let job = format!("sh -c 'read x <{go}; kill -USR1 $1; echo sent >{done}' sh $$ & :");
    c.want(&format!("trap 'echo T' USR1; {job}"), "", 0)?;
    let _open = c.dir().open_gate("go");
    req(signals.line() == "sent", || "the signal was not sent".into())?;
    // The trap's own output belongs to no command; whether it shows is the shell's affair, losing state is ours.
    let run = c.x("echo $keep");
    req(run.out().ends_with("kept\n"), || format!("stdout {:?}", run.out()))?;
    is(&c.x("echo two"), "two\n", 0)
}

/// The rollback point may be in the same group and die too: then a fresh shell takes over. Either way it is said.
fn kill_9_own_group(c: &mut Case) -> Outcome {
    let run = c.ends("kill -9 0; sleep 0.2")?;
    req(run.shell_state != "kept", || format!("shell_state {}", run.shell_state))?;
    c.alive()
}

/// The rollback point is in the group and stops with it; it is woken to take over, at once.
fn stop_own_group(c: &mut Case) -> Outcome {
    c.keep()?;
    let run = c.x_with("echo go; kill -STOP 0; sleep 0.1", json!({"timeout_s": 1}));
    req(run.timed_out && run.shell_state == "rolled_back", || format!("{}", run.json))?;
    let took = run.json["duration_ms"].as_u64().unwrap_or(u64::MAX);
    req(took < 2000, || format!("a timeout of 1 s took {took} ms"))?;
    c.kept()
}

/// By pid, keeper included: whoever is needed is woken.
fn stop_everything_of_the_session(c: &mut Case) -> Outcome {
    c.keep()?;
    let all = "for p in $PPID $(cat /proc/$PPID/task/$PPID/children); do kill -STOP $p; done";
    let run = c.x_with(&format!("echo go; {all}; sleep 0.1"), json!({"timeout_s": 1}));
    req(run.shell_state == "rolled_back", || format!("{}", run.json))?;
    c.kept()
}
