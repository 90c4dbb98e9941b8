//! Commands that remove what they and the daemon share: rows 142 to 145, 153 and 158.

use trl_testkit::{Run, Shell, json, procs_matching, sleeper};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(142, "removes_its_session_directory", Shells::All, removes_its_session_directory),
    row(143, "session_directory_removed_while_idle", Shells::All, session_directory_removed_while_idle),
    row(144, "removes_one_name_in_it", Shells::All, removes_one_name_in_it),
    row(145, "removes_the_daemons_directory", Shells::All, removes_the_daemons_directory),
    row(153, "removes_its_working_directory", Shells::All, removes_its_working_directory),
    row(158, "removes_its_session_directory_and_exits", Shells::All, removes_its_session_directory_and_exits),
];

fn runtime_dir(c: &mut Case) -> String {
    c.daemon.place_of(&c.s.id).display().to_string()
}

fn session_dir(c: &mut Case) -> String {
    format!("{}/{}", runtime_dir(c), c.s.id)
}

/// The shell can report nothing any more and ends; its clone waits on a descriptor, out of reach of `rm`.
fn removes_its_session_directory(c: &mut Case) -> Outcome {
    let dir = session_dir(c);
    let left = sleeper();
    for _ in 0..3 {
        c.keep()?;
        let run = c.ends(&format!("{left} & echo gone; rm -rf {dir}"))?;
        req(run.out().starts_with("gone\n"), || format!("stdout {:?}", run.out()))?;
        req(run.shell_state != "kept", || format!("{}", run.json))?;
        c.want("echo $keep", kept_unless_reset(&run), 0)?;
        c.keep()?;
        c.want("exit 3", "", 3)?;
        c.kept()?;
        c.want_with("cat", json!({"stdin": "x", "env": {"A": "b"}, "working_dir": "/usr"}), "x", 0)?;
    }
    c.alive()?;
    let jobs = procs_matching(&left).len();
    // in ksh93 it is no process called sleep
    req(jobs == 3 || c.shell == Shell::Ksh93, || format!("{jobs} of 3 background jobs live"))
}

/// The next command is run as if nothing had been. Only a rollback point that was just being made may be lost.
fn session_directory_removed_while_idle(c: &mut Case) -> Outcome {
    let dir = session_dir(c);
    for _ in 0..3 {
        c.keep()?;
        c.alive()?;
        // At once: a slow removal may catch the daemon in the middle of putting things back, which costs a timeout.
        let away = format!("{}/away", c.daemon.runtime_dir().display());
        let removed = std::fs::rename(&dir, &away).and_then(|()| std::fs::remove_dir_all(&away));
        removed.map_err(|e| format!("{dir}: {e}"))?;
        let run = c.x("echo $keep; sh -c 'exit 5'");
        is(&run, kept_unless_reset(&run), 5)?;
        c.keep()?;
        c.want("exit 3", "", 3)?;
        c.kept()?;
    }
    c.alive()
}

/// What the result says of the shell is true.
fn kept_unless_reset(run: &Run) -> &'static str {
    if run.shell_state == "reset" { "\n" } else { "kept\n" }
}

/// Whatever the name, the worst is a timeout; no output is lost, and no state without a word.
fn removes_one_name_in_it(c: &mut Case) -> Outcome {
    let dir = session_dir(c);
    for name in ["s", "c0", "c1", "c2", "o", "e", "n", "l0", "l1", "l2", "h", "d"] {
        c.keep()?;
        let runs = [
            c.x_with(&format!("rm -f {dir}/{name}"), json!({"timeout_s": 1})),
            c.x_with("echo next", json!({"timeout_s": 1})),
            c.x("exit 3"),
        ];
        let [_, next, exit] = &runs;
        req(next.timed_out || next.stdout == b"next\n", || format!("{name}: {}", next.json))?;
        is(exit, "", 3).map_err(|why| format!("{name}: {why}"))?;
        let expected = runs.iter().map(kept_unless_reset).min().unwrap_or_default();
        c.want("echo $keep", expected, 0).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn removes_the_daemons_directory(c: &mut Case) -> Outcome {
    let dir = runtime_dir(c);
    c.keep()?;
    let run = c.ends(&format!("rm -rf {dir}"))?;
    c.want("echo $keep", kept_unless_reset(&run), 0)?;
    let mut other = c.daemon.session(c.shell);
    is(&other.run("echo other"), "other\n", 0)?;
    c.alive()
}

/// The result names it as it was called; one that is there may be called like a removed one.
fn removes_its_working_directory(c: &mut Case) -> Outcome {
    for name in ["gone", "there (deleted)"] {
        let dir = c.dir().dir(name).display().to_string();
        let command = format!("cd '{dir}'; {}", if name == "gone" { "rmdir ../gone" } else { "echo" });
        let run = c.ends(&command)?;
        req(run.json["working_dir"] == dir.as_str(), || format!("{}", run.json))?;
        let run = c.ends("true")?;
        req(run.json["working_dir"] == dir.as_str(), || format!("{}", run.json))?;
        c.ends("cd /")?;
    }
    c.alive()
}

fn removes_its_session_directory_and_exits(c: &mut Case) -> Outcome {
    let dir = session_dir(c);
    c.keep()?;
    for end in ["exit 4", "sh -c 'exit 4'"] {
        let run = c.ends(&format!("rm -rf {dir}; {end}"))?;
        is(&run, "", 4).map_err(|why| format!("{end}: {why}"))?;
        c.want("echo $keep", kept_unless_reset(&run), 0)?;
        c.keep()?;
    }
    Ok(())
}
