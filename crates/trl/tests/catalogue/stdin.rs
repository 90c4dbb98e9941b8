//! A command's stdin: rows 20 to 24.

use trl_testkit::{Random, json};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(20, "stdin_default_is_dev_null", Shells::All, default_is_dev_null),
    row(21, "stdin_bytes", Shells::All, bytes),
    row(22, "stdin_open", Shells::All, open),
    row(23, "stdin_closed_at_once", Shells::All, closed_at_once),
    row(24, "stdin_eater_leaves_control_alone", Shells::All, eater_leaves_control_alone),
];

fn default_is_dev_null(c: &mut Case) -> Outcome {
    c.want("cat", "", 0)?;
    let run = c.x("read x");
    req(run.code == 1, || format!("read at end of input gave {}", run.code))?;
    c.want("stat -L -c %F /dev/stdin", "character special file\n", 0)
}

fn bytes(c: &mut Case) -> Outcome {
    let bytes = Random::seeded(21).bytes(300_000);
    let given = trl_proto::text::to_base64(&bytes);
    let run = c.x_with("cat", json!({"stdin": given, "stdin_encoding": "base64"}));
    req(run.stdout == bytes, || format!("mismatch: {} bytes, code {}", run.stdout.len(), run.code))?;
    let run = c.x_with("cat", json!({"stdin": "caf\u{e9}\n"}));
    is(&run, "caf\u{e9}\n", 0)
}

fn open(c: &mut Case) -> Outcome {
    let mut cat = c.s.stream("cat; echo done", json!({"open_stdin": true}));
    cat.input("one\n");
    cat.wait_stdout("one\n");
    cat.input("two\n");
    cat.wait_stdout("two\n");
    cat.close_input();
    is(&cat.finish(), "one\ntwo\ndone\n", 0)?;
    // Bytes given first come first.
    let mut cat = c.s.stream("cat; echo done", json!({"open_stdin": true, "stdin": "zero\n"}));
    cat.input("one\n");
    cat.close_input();
    is(&cat.finish(), "zero\none\ndone\n", 0)
}

fn closed_at_once(c: &mut Case) -> Outcome {
    let mut cat = c.s.stream("cat; echo done", json!({"open_stdin": true}));
    cat.close_input();
    is(&cat.finish(), "done\n", 0)
}

fn eater_leaves_control_alone(c: &mut Case) -> Outcome {
    c.want("cat >/dev/null; head -c 100 >/dev/null", "", 0)?;
    c.alive()
}
