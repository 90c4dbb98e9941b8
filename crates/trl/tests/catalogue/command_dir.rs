//! Working directory of one command, alone and together with its environment: rows 110 to 116.

use trl_testkit::{comes_true, json};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};
use crate::command_env::sees;

pub(crate) const ROWS: &[Row] = &[
    row(110, "dir_is_restored", Shells::All, is_restored),
    row(111, "dir_restored_after_cd", Shells::All, restored_after_cd),
    row(112, "dir_keeps_oldpwd", Shells::Posix, keeps_oldpwd),
    row(113, "dir_refused", Shells::All, refused),
    row(114, "dir_and_env_with_exit", Shells::All, with_exit),
    row(115, "dir_and_env_with_timeout", Shells::All, with_timeout),
    row(116, "dir_and_env_of_a_background_child", Shells::All, of_a_background_child),
];

fn is_restored(c: &mut Case) -> Outcome {
    c.want("cd /usr", "", 0)?;
    c.want_with("pwd; sh -c 'pwd -P'; echo $PWD", json!({"working_dir": "/etc"}), "/etc\n/etc\n/etc\n", 0)?;
    c.want("pwd; sh -c 'pwd -P'; echo $PWD", "/usr\n/usr\n/usr\n", 0)
}

fn restored_after_cd(c: &mut Case) -> Outcome {
    c.want("cd /usr", "", 0)?;
    c.want_with("cd /; pwd", json!({"working_dir": "/etc"}), "/\n", 0)?;
    c.want("pwd", "/usr\n", 0)?;
    // Restored even where the way back is gone while the command runs.
    let dir = c.dir().text("gone");
    c.want(&format!("mkdir {dir}; cd {dir}"), "", 0)?;
    c.want_with(&format!("rmdir {dir}; pwd"), json!({"working_dir": "/etc"}), "/etc\n", 0)?;
    c.alive()?;
    c.want("cd /usr; pwd", "/usr\n", 0)
}

fn keeps_oldpwd(c: &mut Case) -> Outcome {
    c.want("cd /etc; cd /usr", "", 0)?;
    c.want_with("cd /; cd /", json!({"working_dir": "/var"}), "", 0)?;
    c.want("echo $OLDPWD; cd - >/dev/null; pwd", "/etc\n/etc\n", 0)
}

fn refused(c: &mut Case) -> Outcome {
    let file = c.dir().file("a-file", "");
    let mark = c.dir().text("ran");
    let cases =
        [("etc", ["WORKING_DIR_INVALID", "INVALID_PARAMS"]), ("/nonexistent/d", ["WORKING_DIR_INVALID"; 2])];
    for (dir, codes) in cases.into_iter().chain([(file.as_str(), ["WORKING_DIR_INVALID"; 2])]) {
        match c.s.try_run(&format!("touch {mark}"), json!({"working_dir": dir})) {
            Err(e) => req(codes.contains(&e.code.as_str()), || format!("{dir}: {}", e.code))?,
            Ok(run) => return Err(format!("{dir} was accepted, code {}", run.code)),
        }
    }
    req(!c.dir().join("ran").exists(), || "the command ran all the same".into())?;
    c.want("pwd", "/\n", 0)
}

/// A command that ends its shell: the rollback point must know nothing of its environment and directory.
fn with_exit(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want(c.pick("cd /usr; export K=old", "cd /usr; set -gx K old"), "", 0)?;
    let extra = json!({"working_dir": "/etc", "env": {"K": "new"}});
    c.want_with("pwd; echo $K; exit 3", extra, "/etc\nnew\n", 3)?;
    c.want("pwd", "/usr\n", 0)?;
    sees(c, "old", "old")?;
    c.kept()
}

fn with_timeout(c: &mut Case) -> Outcome {
    c.keep()?;
    c.want("cd /usr", "", 0)?;
    for timeout_s in [0.3, 3.0, 20.0] {
        let extra = json!({"working_dir": "/etc", "env": {"K": "new"}, "timeout_s": timeout_s});
        let run = c.x_with("pwd; echo $K; sleep 1000", extra);
        req(run.timed_out, || format!("did not time out: {}", run.code))?;
        c.want("pwd", "/usr\n", 0)?;
        sees(c, "unset", "unset")?;
        c.kept()?;
        if run.out() == "/etc\nnew\n" {
            return Ok(());
        }
    }
    Err("never got as far as printing".into())
}

/// What was set for the command stays with the children it started.
fn of_a_background_child(c: &mut Case) -> Outcome {
    let go = c.dir().fifo("go");
    let extra = json!({"working_dir": "/etc", "env": {"K": "new"}});
    let first = c.x_with(&format!("sh -c 'read x <{go}; pwd -P; echo $K' &"), extra);
    is(&first, "", 0)?;
    sees(c, "unset", "unset")?;
    let _open = c.dir().open_gate("go");
    let mut late = Vec::new();
    let arrived = comes_true(trl_testkit::PATIENCE, &mut || {
        late = c.s.output(&first.execution_id, "stdout", 0);
        late == b"/etc\nnew\n"
    });
    req(arrived, || format!("the child printed {:?}", String::from_utf8_lossy(&late)))
}
