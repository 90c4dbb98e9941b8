//! A background job that pretends to be the shell: row 117.
//!
//! Every run carries a nonce that only its own report knows. A job of an earlier command can find the FIFOs (it is the
//! same user) and write to them, but what it writes must neither end nor change a later command.

use trl_testkit::json;

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[row(117, "forged_reports", Shells::All, forged_reports)];

/// Writes plausible reports to every report FIFO below `$1` until it is killed, and a line to `$2` after each round.
/// Whole messages only: a job that tears others' messages apart harms its own session, which it could do anyway.
const FORGER: &str = r#"
while :; do
  for fifo in $(find "$1" -type p -name s); do
    printf 'R 0 /\0R 42 /tmp\0P\0S\0S %d\0' "$$" >"$fifo"
    printf 'R 0 0 /\0R 00000000 0 /tmp\0R x 0 /\0R  0 /\0X 0\0\0\0' >"$fifo"
    printf 'R 7 /etc\0' >"$fifo"
    printf 'R 99999999999999999999 /\0R -1 \0' >"$fifo"
    found=1
  done
  echo "round $found" >"$2"
  sleep 0.01
done
"#;

fn forged_reports(c: &mut Case) -> Outcome {
    let script = c.dir().file("forger.sh", FORGER);
    let rounds = c.dir().fifo("rounds");
    let go = c.dir().fifo("go");
    let mut heard = c.dir().listen("rounds");
    let place = c.daemon.place_of(&c.s.id).display().to_string();
    c.keep()?;
    c.want(&format!("sh {script} {place} {rounds} >/dev/null 2>&1 &"), "", 0)?;
    let first = heard.line();
    req(first == "round 1", || format!("no FIFO to forge below {place}: {first:?}"))?;
    for i in 0..40 {
        c.want(&format!("echo out{i}; sh -c 'exit {i}'"), &format!("out{i}\n"), i)?;
    }
    // One command that is certainly running while rounds of forgery go by.
    let mut slow = c.s.stream(&format!("echo up; sh -c 'read x <{go}; exit 6'"), json!({}));
    slow.wait_stdout("up\n");
    for _ in 0..10 {
        heard.line();
    }
    req(slow.status() == "running", || "a forged report ended a command".into())?;
    let _open = c.daemon.dir().open_gate("go");
    let run = slow.finish();
    is(&run, "up\n", 6)?;
    req(run.shell_state == "kept", || format!("shell_state {}", run.shell_state))?;
    c.kept()?;
    c.want("pwd", "/\n", 0)?;
    c.want("exit 3", "", 3)?;
    c.kept()
}
