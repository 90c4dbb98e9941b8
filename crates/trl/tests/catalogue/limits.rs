//! Limits a command sets on its own shell, huge state, and the loop's own variables: rows 88 to 94, 97, 148, 149.

use trl_testkit::{Shell, json};

use crate::case::{Case, Outcome, Row, Shells, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(88, "ulimit_files", Shells::Posix, ulimit_files),
    row(89, "ulimit_cpu", Shells::All, ulimit_cpu),
    row(90, "ulimit_memory", Shells::Posix, ulimit_memory),
    row(91, "huge_environment", Shells::Posix, huge_environment),
    row(92, "endless_recursion", Shells::All, endless_recursion),
    row(93, "unset_path_pwd_home", Shells::Posix, unset_path_pwd_home),
    row(94, "readonly_loop_variable", Shells::Posix, readonly_loop_variable),
    row(97, "forty_rollbacks_keep_state", Shells::Posix, forty_rollbacks_keep_state),
    row(148, "state_too_large_for_a_snapshot", Shells::Only(&[Shell::Fish, Shell::Ksh93]), state_too_large),
    row(149, "the_nonce_is_in_no_variable", Shells::All, the_nonce_is_in_no_variable),
];

/// With no descriptor left the shell cannot even report: it dies, and the rollback point takes over.
fn ulimit_files(c: &mut Case) -> Outcome {
    c.ends("ulimit -n 3")?;
    c.alive()?;
    c.ends("ulimit -f 0")?;
    c.alive()
}

fn ulimit_cpu(c: &mut Case) -> Outcome {
    c.ends(c.pick("ulimit -t 1; while :; do :; done", "ulimit -t 1; while true; end"))?;
    c.alive()
}

fn ulimit_memory(c: &mut Case) -> Outcome {
    c.ends("ulimit -v 30000; x=$(head -c 60000000 /dev/zero | tr '\\0' a)")?;
    c.alive()
}

fn huge_environment(c: &mut Case) -> Outcome {
    let many = "i=0; b=$(head -c 9000 /dev/zero | tr '\\0' a); \
                while [ $i -lt 100 ]; do export V$i=$b; i=$((i+1)); done";
    c.want(many, "", 0)?;
    c.want("/bin/true", "", 0)?;
    c.want("export BIG=$(head -c 200000 /dev/zero | tr '\\0' b)", "", 0)?;
    let run = c.x("/bin/true");
    req(matches!(run.code, 1 | 126 | 127), || format!("too big an environment gave {}", run.code))?;
    c.want("echo ok ${#BIG}", "ok 200000\n", 0)?;
    c.want("exit 3", "", 3)?;
    c.want("echo ${#BIG}", "200000\n", 0)
}

/// bash has no limit of its own and may run into the timeout; the others must end by themselves.
fn endless_recursion(c: &mut Case) -> Outcome {
    c.keep()?;
    let command = c.pick("g() { g; }; g", "function g; g; end; g");
    if c.shell == Shell::Bash {
        c.x_with(command, json!({"timeout_s": 5}));
    } else {
        c.ends(command)?;
    }
    c.kept()
}

fn unset_path_pwd_home(c: &mut Case) -> Outcome {
    c.want("unset PATH PWD OLDPWD HOME", "", 0)?;
    c.want("echo x", "x\n", 0)?;
    c.want("exit 3", "", 3)?;
    c.alive()
}

fn readonly_loop_variable(c: &mut Case) -> Outcome {
    c.keep()?;
    c.ends("readonly __trl")?;
    c.kept()
}

fn forty_rollbacks_keep_state(c: &mut Case) -> Outcome {
    for i in 0..40 {
        c.want(&format!("v{i}={i}; h{i}() {{ echo H{i}; }}"), "", 0)?;
        c.want("exit 1", "", 1)?;
    }
    c.want("echo $v0 $v39; h7", "0 39\nH7\n", 0)
}

/// The older snapshot stays whole; a rollback to it says how many commands it undoes.
fn state_too_large(c: &mut Case) -> Outcome {
    let kill = c.pick("kill -9 $$", "kill -9 $fish_pid");
    c.keep()?;
    let huge = "head -c 17000000 /dev/zero | tr '\\0' a";
    let (posix, fish) = (format!("big=$({huge})"), format!("set -g big ({huge})"));
    c.want(c.pick(&posix, &fish), "", 0)?;
    c.want("echo still $keep", "still kept\n", 0)?;
    let run = c.ends(kill)?;
    req(run.shell_state == "rolled_back", || format!("{}", run.json))?;
    req(run.json["lost_commands"] == 2, || format!("{}", run.json))?;
    c.kept()?;
    let run = c.ends(kill)?;
    req(run.json["lost_commands"].is_null(), || format!("{}", run.json))?;
    c.kept()
}

/// Whoever knows it could report in the shell's name.
fn the_nonce_is_in_no_variable(c: &mut Case) -> Outcome {
    c.want("set | grep '^__tr' | grep -E '[0-9]{9}'", "", 1)?;
    let (posix, fish) = ("f() { set; }; f", "function f; set; end; f");
    let command = format!("{} | grep '^__tr' | grep -E '[0-9]{{9}}'", c.pick(posix, fish));
    c.want(&command, "", 1)?;
    c.want_with("set | grep '^__tr' | grep -E '[0-9]{9}'", json!({"env": {"A": "b"}}), "", 1)
}
