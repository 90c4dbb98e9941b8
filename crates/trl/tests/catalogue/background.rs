//! Children that outlive their command: rows 30 to 39.

use trl_testkit::{Shell, comes_true, sleeper, wait_gone};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(30, "ends_while_child_holds_stdout", Shells::All, ends_while_child_holds_stdout),
    row(31, "late_output_stays_with_its_command", Shells::All, late_output_stays_with_its_command),
    row(32, "endless_background_writer", Shells::All, endless_background_writer),
    row(33, "last_pid_across_commands", Shells::Posix, last_pid_across_commands),
    row(34, "wait_across_commands", Shells::Posix, wait_across_commands),
    row(35, "no_foreign_job", Shells::Posix, no_foreign_job),
    row(36, "kill_job_across_commands", Shells::PosixBut(&[Shell::Dash]), kill_job_across_commands),
    row(37, "no_output_lost_at_the_end", Shells::All, no_output_lost_at_the_end),
    row(38, "five_megabytes_on_both_streams", Shells::All, five_megabytes_on_both_streams),
    row(39, "job_ends_while_idle", Shells::All, job_ends_while_idle),
];

fn ends_while_child_holds_stdout(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    for command in [format!("{sleeper} &"), format!("nohup {sleeper} &"), format!("{sleeper} >/dev/null &")] {
        c.ends(&command)?;
    }
    c.alive()?;
    c.count(&sleeper, 3, "not all alive")
}

/// The background child writes while the next command runs: nothing of it may be in that one's result.
fn late_output_stays_with_its_command(c: &mut Case) -> Outcome {
    let (go, done) = (c.dir().fifo("go"), c.dir().fifo("done"));
    let job = format!("read x <{go}; echo LATE; echo LERR >&2; echo x >{done}");
    let posix = format!("({job}) & echo now");
    let fish = format!("sh -c '{job}' & echo now");
    let first = c.x(c.pick(&posix, &fish));
    is(&first, "now\n", 0)?;
    let second = c.x(&format!("echo go >{go}; sh -c 'read x <{done}'; echo second"));
    is(&second, "second\n", 0)?;
    req(second.stderr.is_empty(), || format!("stderr mixed: {:?}", second.err()))?;
    for (stream, since, wanted) in [("stdout", 4, "LATE\n"), ("stderr", 0, "LERR\n")] {
        let mut seen = Vec::new();
        let arrived = comes_true(trl_testkit::PATIENCE, &mut || {
            seen = c.s.output(&first.execution_id, stream, since);
            seen == wanted.as_bytes()
        });
        req(arrived, || format!("late {stream} is {:?}", String::from_utf8_lossy(&seen)))?;
    }
    Ok(())
}

fn endless_background_writer(c: &mut Case) -> Outcome {
    let run = c.ends("yes >&1 & echo hi")?;
    let cut = run.json.get("omitted").is_some();
    req(cut || run.out().contains("hi"), || "the command's own output is lost".into())?;
    c.want("echo two", "two\n", 0)?;
    c.want(c.pick("kill $!", "kill $last_pid"), "", 0)
}

fn last_pid_across_commands(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    c.want(&format!("{sleeper} & p=$!"), "", 0)?;
    c.want("[ $p = $! ] && kill $! && echo killed", "killed\n", 0)?;
    c.count(&sleeper, 0, "still there")
}

fn wait_across_commands(c: &mut Case) -> Outcome {
    c.want("(sleep 0.2; exit 9) &", "", 0)?;
    c.want("wait $!; echo $?", "9\n", 0)
}

fn no_foreign_job(c: &mut Case) -> Outcome {
    c.want("wait; echo done", "done\n", 0)?;
    let run = c.x("jobs");
    req(run.stdout.is_empty(), || format!("jobs: {}", run.out()))?;
    c.want("sleep 0.1 & wait; echo done2", "done2\n", 0)
}

fn kill_job_across_commands(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    c.want(&format!("{sleeper} &"), "", 0)?;
    let run = c.x("kill %1");
    req(run.code == 0, || format!("kill %1 gave {}: {}", run.code, run.err()))?;
    c.count(&sleeper, 0, "still there")
}

fn no_output_lost_at_the_end(c: &mut Case) -> Outcome {
    for i in 0..300 {
        let command = match i % 2 {
            0 => format!("head -c {} /dev/zero; echo END{i}", 1000 + i * 97),
            _ => format!("echo END{i}"),
        };
        let run = c.x(&command);
        req(run.out().ends_with(&format!("END{i}\n")), || {
            format!("lost at {i}: {} bytes", run.stdout.len())
        })?;
    }
    Ok(())
}

/// More than is kept in memory: head and tail are there, the middle is counted, nothing is lost silently.
fn five_megabytes_on_both_streams(c: &mut Case) -> Outcome {
    let run = c.x("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2; echo x");
    for (stream, text, total) in [("stdout", &run.stdout, 5_000_002), ("stderr", &run.stderr, 5_000_000)] {
        let counted = run.json[format!("{stream}_bytes")].as_u64();
        req(counted == Some(total), || format!("{stream}_bytes is {counted:?}"))?;
        let cut = &run.json["omitted"][stream];
        let missing = cut["to"].as_u64().unwrap_or(0) - cut["from"].as_u64().unwrap_or(0);
        req(text.len() as u64 + missing == total, || {
            format!("{stream}: {} bytes, omitted {cut}", text.len())
        })?;
    }
    req(run.stdout.ends_with(b"\0x\n") && run.stdout.starts_with(b"\0"), || "head or tail is wrong".into())
}

fn job_ends_while_idle(c: &mut Case) -> Outcome {
    let go = c.dir().fifo("go");
    let run = c.x(&format!("sh -c 'read x <{go}' & echo started"));
    is(&run, "started\n", 0)?;
    let shell = c.s.pid();
    c.count(&format!("read x <{go}"), 1, "the job did not start")?;
    let job = trl_testkit::procs_matching(&format!("read x <{go}"))[0];
    let _open = c.dir().open_gate("go");
    wait_gone(job);
    c.alive()?;
    req(c.s.pid() == shell, || "the shell was replaced while idle".into())
}
