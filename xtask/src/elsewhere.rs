//! The black-box tests again, with every session and terminal in a runtime elsewhere: what holds here holds there.
//!
//! The runtime is a program that gives a byte stream to an engine of its own. Left out is what is about this machine and
//! not about sessions ([`ABOUT_HERE`]); the catalogue is run in one shell, since where a shell is makes no difference to
//! what it does.

use crate::checks;
use crate::place;
use crate::steps::Outcome;

/// What is run.
const SUITES: &str = "package(trl) & (binary(sessions) + binary(unified) + binary(terminals) + binary(approvals) \
    + binary(checkpoints) + binary(history) + binary(claw_client) + (binary(catalogue) & test(/^bash::/)))";

/// A process of such a session is nobody the daemon knows, so it is turned away rather than held to its session; and a
/// change to files there is refused where a rule asks, and not waited for.
const ABOUT_HERE: &str = "(binary(terminals) & test(/^inside::/)) + test(a_process_of_a_session) \
    + test(no_secret_is_in_any_file_that_an_approval_left)";

pub(crate) fn tests() -> Outcome {
    eprintln!("in a runtime elsewhere, without what is about this machine: {ABOUT_HERE}");
    checks::nextest(place::root(), |command| {
        command.env("TRL_TEST_RUNTIME", "command");
        command.args(["--filterset", &format!("({SUITES}) - ({ABOUT_HERE})")]);
    })
}
