//! Children that try to get away from their command: rows 120 to 127.

use trl_testkit::shell::find_program;
use trl_testkit::{available, json, sleeper};

use crate::case::{Case, Outcome, Row, Shells, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(120, "setsid_child_dies_on_timeout", Shells::All, setsid_child_dies_on_timeout),
    row(121, "setsid_child_dies_on_destroy", Shells::All, setsid_child_dies_on_destroy),
    row(122, "double_forked_daemon_dies_on_destroy", Shells::All, double_forked_daemon_dies_on_destroy),
    row(123, "child_of_a_thread_dies_on_timeout", Shells::All, child_of_a_thread_dies_on_timeout),
    row(124, "fork_storm_under_timeout", Shells::All, fork_storm_under_timeout),
    row(125, "destroy_kills_a_deaf_command", Shells::All, destroy_kills_a_deaf_command),
    row(126, "cancel_takes_everything", Shells::All, cancel_takes_everything),
    row(127, "earlier_setsid_child_survives_timeout", Shells::All, earlier_setsid_child_survives_timeout),
];

fn setsid_child_dies_on_timeout(c: &mut Case) -> Outcome {
    let (away, front) = (sleeper(), sleeper());
    let command = format!("setsid {away} & setsid sh -c '{away} & {away} & echo go; wait' & {front}");
    c.times_out(&command, "go")?;
    c.none_left(&away)?;
    c.none_left(&front)?;
    c.alive()
}

fn setsid_child_dies_on_destroy(c: &mut Case) -> Outcome {
    let away = sleeper();
    let mut other = c.daemon.session(c.shell);
    other.run(&format!("setsid {away} >/dev/null 2>&1 &"));
    c.count(&away, 1, "the child did not start")?;
    other.destroy();
    c.none_left(&away)?;
    c.alive()
}

/// Detached in every way a daemon knows: own session, orphaned, no environment, no descriptors, other directory.
fn double_forked_daemon_dies_on_destroy(c: &mut Case) -> Outcome {
    let away = sleeper();
    let script =
        format!("cd /; exec </dev/null >/dev/null 2>&1; (setsid sh -c '{away} & {away} & wait' &) &");
    let script = c.dir().program("daemonize.sh", &format!("#!/bin/sh\ntrap '' HUP TERM\n{script}\n"));
    let mut other = c.daemon.session(c.shell);
    let run = other.run(&format!("nohup env -i PATH=/usr/bin:/bin setsid sh {script} >/dev/null 2>&1 &"));
    req(!run.timed_out, || "timed out".into())?;
    c.count(&away, 3, "the daemon did not start")?;
    other.destroy();
    c.none_left(&away)?;
    c.alive()
}

/// `/proc/PID/task/PID/children` shows only what the main thread forked: the tree must be read by thread.
fn child_of_a_thread_dies_on_timeout(c: &mut Case) -> Outcome {
    if !available("python3", find_program("python3").is_some()) {
        return Ok(());
    }
    let away = sleeper();
    let seconds = away.trim_start_matches("sleep ");
    let script = c.dir().file(
        "threads.py",
        format!(
            "import subprocess, threading\n\
             def work():\n    \
                 child = subprocess.Popen(['sleep', '{seconds}'], start_new_session=True)\n    \
                 print('go', flush=True)\n    \
                 child.wait()\n\
             thread = threading.Thread(target=work)\n\
             thread.start()\n\
             thread.join()\n"
        ),
    );
    c.times_out(&format!("python3 {script}"), "go")?;
    c.none_left(&away)?;
    c.alive()
}

/// Thirty-one processes, all deaf to TERM, all forking without pause: killed one by one they would outrun the killer.
fn fork_storm_under_timeout(c: &mut Case) -> Outcome {
    let text = "trap '' TERM HUP INT\n\
                if [ $1 -gt 0 ]; then sh $0 $(($1-1)) & sh $0 $(($1-1)) & fi\n\
                echo up\n\
                while :; do (:); sh -c 'exit 0' & done\n";
    let script = c.dir().file("storm.sh", text);
    c.keep()?;
    c.times_out(&format!("sh {script} 4"), "up")?;
    c.none_left(&script)?;
    c.kept()
}

fn destroy_kills_a_deaf_command(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    for force in [false, true] {
        let mut other = c.daemon.session(c.shell);
        let id = other.id.clone();
        let mut deaf =
            other.stream(&format!("sh -c \"trap '' TERM; echo up; {sleeper}; {sleeper}\""), json!({}));
        deaf.wait_stdout("up\n");
        let gone = c.s.client().ok("session.destroy", json!({"session_id": id, "force": force}));
        req(gone["state"] == "terminated", || format!("destroy gave {gone}"))?;
        c.none_left(&sleeper)?;
        let run = deaf.finish();
        req(run.code != 0, || "a killed command has code 0".into())?;
    }
    c.alive()
}

fn cancel_takes_everything(c: &mut Case) -> Outcome {
    c.keep()?;
    let (front, away) = (sleeper(), sleeper());
    let mut run = c.s.stream(&format!("setsid {away} & echo part; {front}; echo after"), json!({}));
    run.wait_stdout("part\n");
    let reply = run.cancel();
    req(reply["cancelled"] == true, || format!("cancel gave {reply}"))?;
    let run = run.finish();
    req(run.cancelled && !run.timed_out, || format!("{}", run.json))?;
    req(run.stdout == b"part\n", || format!("stdout {:?}", run.out()))?;
    c.none_left(&front)?;
    c.none_left(&away)?;
    c.kept()
}

fn earlier_setsid_child_survives_timeout(c: &mut Case) -> Outcome {
    let (earlier, now) = (sleeper(), sleeper());
    c.ends(&format!("setsid {earlier} >/dev/null 2>&1 &"))?;
    c.count(&earlier, 1, "the child did not start")?;
    c.times_out(&format!("echo go; setsid {now} & {now}"), "go")?;
    c.none_left(&now)?;
    c.count(&earlier, 1, "an earlier command's child was killed")
}
