//! Timeouts: everything the command started dies, the shell is what it was before: rows 40 to 47.

use trl_testkit::{procs_matching, sleeper};

use crate::case::{Case, Outcome, Row, Shells, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(40, "timeout_sleep", Shells::All, sleep),
    row(41, "timeout_busy_loop", Shells::All, busy_loop),
    row(42, "timeout_child_ignores_term", Shells::All, child_ignores_term),
    row(43, "timeout_shell_ignores_term", Shells::Posix, shell_ignores_term),
    row(44, "timeout_pipeline_and_grandchildren", Shells::All, pipeline_and_grandchildren),
    row(45, "timeout_spares_earlier_background_job", Shells::All, spares_earlier_background_job),
    row(46, "timeout_takes_own_background_job", Shells::All, takes_own_background_job),
    row(47, "timeout_takes_double_forked_orphan", Shells::Posix, takes_double_forked_orphan),
];

fn sleep(c: &mut Case) -> Outcome {
    c.keep()?;
    let sleeper = sleeper();
    let run = c.times_out(&format!("echo part; {sleeper}; echo after"), "part")?;
    req(run.stdout == b"part\n", || format!("stdout {:?}", run.out()))?;
    req(!run.cancelled, || "a timeout is no cancel".into())?;
    req(run.shell_state != "kept", || "the result does not say that the shell was rolled back".into())?;
    c.none_left(&sleeper)?;
    c.kept()
}

fn busy_loop(c: &mut Case) -> Outcome {
    c.times_out(c.pick("while :; do :; done", "while true; end"), "")?;
    c.alive()
}

fn child_ignores_term(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    c.times_out(&format!("sh -c \"trap '' TERM; echo deaf; {sleeper}; {sleeper}\""), "deaf")?;
    c.none_left(&sleeper)?;
    c.alive()
}

fn shell_ignores_term(c: &mut Case) -> Outcome {
    c.times_out("trap '' TERM; echo deaf; while :; do :; done", "deaf")?;
    c.alive()?;
    let sleeper = sleeper();
    let command = format!("trap '' TERM; echo deaf; {sleeper}; while :; do {sleeper}; done");
    c.times_out(&command, "deaf")?;
    c.none_left(&sleeper)?;
    c.alive()
}

fn pipeline_and_grandchildren(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    let family = format!("sh -c '{sleeper} & {sleeper} & echo born; wait'");
    c.times_out(&format!("echo go; {sleeper} | {sleeper} | cat; {family}"), "go")?;
    c.none_left(&sleeper)?;
    c.times_out(&family, "born")?;
    c.none_left(&sleeper)?;
    c.alive()
}

fn spares_earlier_background_job(c: &mut Case) -> Outcome {
    let (earlier, now) = (sleeper(), sleeper());
    c.want(&format!("{earlier} &"), "", 0)?;
    c.count(&earlier, 1, "the earlier background job did not start")?;
    c.times_out(&format!("echo go; {now}"), "go")?;
    c.alive()?;
    let left = procs_matching(&earlier).len();
    req(left == 1, || format!("the earlier background job was killed: {left} left"))?;
    c.none_left(&now)
}

fn takes_own_background_job(c: &mut Case) -> Outcome {
    let (behind, front) = (sleeper(), sleeper());
    c.times_out(&format!("{behind} & echo go; {front}"), "go")?;
    c.none_left(&behind)?;
    c.none_left(&front)?;
    c.alive()
}

fn takes_double_forked_orphan(c: &mut Case) -> Outcome {
    let (orphan, front) = (sleeper(), sleeper());
    c.times_out(&format!("( ( {orphan} & ) ); echo go; {front}"), "go")?;
    c.none_left(&orphan)?;
    c.alive()
}
