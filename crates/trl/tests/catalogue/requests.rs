//! Odd requests, and what the daemon does around a command: rows 130 to 141, 150 to 153.

use trl_testkit::{Builder, Random, Run, Shell, json, procs_matching, sleeper};

use crate::case::{BINARY, Case, Outcome, Row, Shells, is, req, row};
use crate::full::{Filler, TinyDisk};

const CLONING: &[Shell] = &[Shell::Dash, Shell::Bash, Shell::Zsh, Shell::Ash];

pub(crate) const ROWS: &[Row] = &[
    row(130, "cancel_races_completion", Shells::All, cancel_races_completion),
    row(131, "session_directory_full", Shells::All, session_directory_full)
        .not_in_containers("what a test mounts later is not mounted in the container"),
    row(132, "break_out_of_more_than_there_is", Shells::Posix, break_out_of_more_than_there_is),
    row(133, "sets_the_loop_variable", Shells::All, sets_the_loop_variable),
    row(134, "ten_megabytes_of_text", Shells::All, ten_megabytes_of_text),
    row(135, "nul_in_text", Shells::All, nul_in_text),
    row(136, "eight_megabytes_of_stdin", Shells::All, eight_megabytes_of_stdin),
    row(137, "on_exit_terminate", Shells::All, on_exit_terminate),
    row(138, "reset", Shells::All, reset),
    row(139, "renewal_idle_says_what_it_lost", Shells::Only(CLONING), renewal_idle_says_what_it_lost),
    row(140, "background_pids", Shells::PosixBut(&[Shell::Ksh93]), background_pids)
        .not_in_containers("a process has another pid there than on the host"),
    row(141, "result_stays_readable", Shells::All, result_stays_readable),
    row(150, "eval_break", Shells::All, eval_break),
    row(151, "a_program_comes_last_after_a_rollback", Shells::Posix, a_program_comes_last_after_a_rollback),
    row(
        153,
        "functions_named_like_builtins",
        Shells::Only(&[Shell::Bash, Shell::Zsh]),
        functions_named_like_builtins,
    ),
    row(152, "clones_are_nobodys_background", Shells::All, clones_are_nobodys_background),
];

/// Whichever comes first, the two replies must tell the same story.
fn cancel_races_completion(c: &mut Case) -> Outcome {
    let id = c.s.id.clone();
    let mut random = Random::seeded(130);
    let mut cancelled = 0;
    for i in 0..200 {
        let command = match random.below(4) {
            0 => "true".to_string(),
            1 => "sh -c :".to_string(),
            2 => "exit 0".to_string(),
            _ => format!("sleep 0.00{}", random.below(10)),
        };
        let run = c.s.start(&command, json!({}));
        let cancel = c.s.client().send("exec.cancel", json!({"session_id": id}));
        let reply = c.s.client().reply(cancel);
        let run = c.s.finish(run).map_err(|e| format!("{i}: refused: {}", e.json))?;
        let said = reply.as_ref().is_ok_and(|r| r["cancelled"] == true);
        req(said == run.cancelled, || format!("{i} {command}: cancel said {reply:?}, the run {}", run.json))?;
        req(run.cancelled || run.code == 0, || format!("{i} {command}: code {}", run.code))?;
        req(!run.timed_out, || format!("{i}: timed out"))?;
        let state = c.s.state();
        req(state == "idle", || format!("{i}: the session is {state}"))?;
        cancelled += u32::from(run.cancelled);
    }
    println!("{cancelled} of 200 were cancelled");
    c.alive()
}

/// A full disk under the session directory is a refusal that says so; with room again all is as before.
fn session_directory_full(c: &mut Case) -> Outcome {
    let Some(disk) = TinyDisk::mount() else {
        return Ok(());
    };
    let daemon = Builder::new(BINARY).set("", "runtime_dir", format!("{:?}", disk.path())).start();
    let mut session = daemon.session(c.shell);
    let run = session.run(c.pick("keep=kept", "set -g keep kept"));
    is(&run, "", 0)?;
    let big = format!("echo {}", "x".repeat(2 << 20));
    let refused = |outcome: Result<Run, trl_testkit::RpcError>| match outcome {
        Err(e) => req(e.code == "STORAGE_FULL", || format!("{}", e.json)),
        Ok(run) => Err(format!("ran all the same, code {}", run.code)),
    };
    refused(session.try_run(&big, json!({})))?;
    is(&session.run("echo $keep"), "kept\n", 0)?;
    refused(session.try_run("cat", json!({"stdin": "x".repeat(2 << 20)})))?;
    let filler = Filler::fill(disk.path());
    match session.try_run("echo squeezed", json!({})) {
        Ok(run) => is(&run, "squeezed\n", 0)?,
        refusal => refused(refusal)?,
    }
    drop(filler);
    is(&session.run("echo $keep"), "kept\n", 0)?;
    is(&session.run("exit 3"), "", 3)?;
    is(&session.run("echo $keep"), "kept\n", 0)
}

fn break_out_of_more_than_there_is(c: &mut Case) -> Outcome {
    c.keep()?;
    for command in ["break 2", "continue 2", "break 99", "for i in 1; do break 3; done", "return 300"] {
        c.ends(command)?;
        c.kept().map_err(|why| format!("after {command}: {why}"))?;
    }
    Ok(())
}

fn eval_break(c: &mut Case) -> Outcome {
    c.keep()?;
    for command in ["eval break", "eval continue"] {
        c.ends(command)?;
        c.kept()?;
    }
    Ok(())
}

/// A shell in a subshell may let the last program of a text take its place.
fn a_program_comes_last_after_a_rollback(c: &mut Case) -> Outcome {
    for (at, list) in
        ["cd /usr && /bin/true", "cd /; A=1 /bin/true", "cd /usr || :; env true"].iter().enumerate()
    {
        c.x("exit 3");
        let run = c.x(&format!("x={at}; {list}"));
        is(&run, "", 0)?;
        req(run.json["shell_state"] == "kept", || format!("{list}: {}", run.json["shell_state"]))?;
        let dir = if at == 1 { "/" } else { "/usr" };
        c.want("echo $x; pwd", &format!("{at}\n{dir}\n"), 0)?;
        let wrapped = c.x_with(&format!("y={at}; /bin/true"), json!({"env": {"E": "1"}}));
        req(wrapped.json["shell_state"] == "kept", || format!("with env: {}", wrapped.json["shell_state"]))?;
    }
    Ok(())
}

/// The loop and its clones reach the real ones.
fn functions_named_like_builtins(c: &mut Case) -> Outcome {
    c.keep()?;
    for name in ["trap", "printf", "read", "set", "source"] {
        c.want(&format!("{name}() {{ exit 7; }}"), "", 0)?;
        c.alive()?;
        let run = c.ends("exit 4")?;
        req(run.json["shell_state"] == "rolled_back", || format!("{name}: {}", run.json["shell_state"]))?;
        c.kept()?;
    }
    Ok(())
}

/// However fast commands come after each other.
fn clones_are_nobodys_background(c: &mut Case) -> Outcome {
    for _ in 0..100 {
        let run = c.x("echo hi");
        let pids = &run.json["background_pids"];
        req(pids.is_null(), || format!("a phantom: {pids}"))?;
    }
    Ok(())
}

fn sets_the_loop_variable(c: &mut Case) -> Outcome {
    c.keep()?;
    for value in ["x", "p", "n", "0", "", "/"] {
        let posix = format!("__trl={value}");
        let fish = format!("set -g __trl '{value}'");
        c.want(c.pick(&posix, &fish), "", 0)?;
        c.kept()?;
    }
    c.want("exit 3", "", 3)?;
    c.kept()
}

fn ten_megabytes_of_text(c: &mut Case) -> Outcome {
    let x = "x".repeat(10 << 20);
    let posix = format!("v='{x}'; echo ${{#v}}; unset v");
    let fish = format!("set v '{x}'; string length $v; set -e v");
    c.want(c.pick(&posix, &fish), "10485760\n", 0)?;
    c.alive()
}

fn nul_in_text(c: &mut Case) -> Outcome {
    match c.s.try_run("echo a\0b", json!({})) {
        Err(e) => req(e.code == "INVALID_PARAMS", || format!("{}", e.json))?,
        Ok(run) => return Err(format!("ran: {:?}", run.out())),
    }
    c.alive()
}

fn eight_megabytes_of_stdin(c: &mut Case) -> Outcome {
    let bytes = Random::seeded(136).bytes(8 << 20);
    let file = c.dir().file("big", &bytes);
    let extra = json!({"stdin": trl_proto::text::to_base64(&bytes), "stdin_encoding": "base64"});
    c.want_with(&format!("cmp - {file} && echo same"), extra.clone(), "same\n", 0)?;
    // Not reading it is fine too, and leaves nothing for the next command.
    c.want_with("head -c 1 >/dev/null; echo done", extra, "done\n", 0)?;
    c.want("cat", "", 0)
}

fn on_exit_terminate(c: &mut Case) -> Outcome {
    let mut other = c.daemon.session_with(c.shell, json!({"on_exit": "terminate"}));
    is(&other.run("echo a; false"), "a\n", 1)?;
    is(&other.run("sh -c 'exit 3'"), "", 3)?;
    is(&other.run("echo b; exit 3"), "b\n", 3)?;
    let refused = other.try_run("echo c", json!({}));
    req(refused.is_err_and(|e| e.code == "SESSION_TERMINATED"), || "the session still runs commands".into())?;
    let state = other.state();
    req(state == "terminated", || format!("the session is {state}"))?;
    c.alive()
}

fn reset(c: &mut Case) -> Outcome {
    let mut other = c.daemon.session_with(c.shell, json!({"env": {"GIVEN": "yes"}}));
    let id = other.id.clone();
    other.run(c.pick("keep=kept; cd /usr; unset GIVEN", "set -g keep kept; cd /usr; set -e GIVEN"));
    let before = other.pid();
    other.client().ok("session.reset", json!({"session_id": id}));
    req(other.pid() != before, || "the shell is the same".into())?;
    is(&other.run("echo \"[$keep]$GIVEN\""), "[]yes\n", 0)?;
    is(&other.run("exit 4"), "", 4)?;
    is(&other.run("echo $GIVEN"), "yes\n", 0)?;
    c.alive()
}

/// Faster bursts for a looser rollback, honestly counted.
fn renewal_idle_says_what_it_lost(c: &mut Case) -> Outcome {
    let mut other = c.daemon.session_with(c.shell, json!({"renewal": "idle"}));
    for i in 1..=20 {
        is(&other.run(&format!("count={i}")), "", 0)?;
    }
    let run = other.run("exit 3");
    is(&run, "", 3)?;
    let lost = run.json["lost_commands"].as_u64().unwrap_or(0);
    let now = other.run("echo ${count-0}").out();
    req(now == format!("{}\n", 20 - lost), || format!("{lost} commands lost, but count is {now:?}"))
}

fn background_pids(c: &mut Case) -> Outcome {
    let sleeper = sleeper();
    let run = c.ends(&format!("{sleeper} & true"))?;
    c.count(&sleeper, 1, "the child did not start")?;
    let pid = procs_matching(&sleeper)[0];
    let told = run.json["background_pids"].as_array().cloned().unwrap_or_default();
    req(told.contains(&json!(pid)), || format!("{pid} is not in {told:?}"))?;
    let run = c.x("true");
    let told = run.json["background_pids"].as_array().cloned().unwrap_or_default();
    req(!told.contains(&json!(pid)), || "a later command is said to have left it".into())
}

fn result_stays_readable(c: &mut Case) -> Outcome {
    let run = c.x("echo out; echo err >&2; sh -c 'exit 5'");
    let again = c.s.client().ok("exec.result", json!({"execution_id": run.execution_id}));
    req(again["status"] == "done", || format!("{again}"))?;
    let again = Run::of(again);
    is(&again, "out\n", 5)?;
    req(again.stderr == b"err\n", || format!("stderr {:?}", again.err()))
}
