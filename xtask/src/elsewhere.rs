//! The black-box tests again, with every session and terminal in a runtime elsewhere: what holds here holds there.
//!
//! Once on a machine behind a real sshd, once in containers of a real Docker daemon; the test kit sees to both. Left out
//! is what is about this machine and not about sessions ([`ABOUT_HERE`], [`ABOUT_CONTAINERS`]); the catalogue is run in one
//! shell, since where a shell is makes no difference to what it does.

use crate::checks;
use crate::place;
use crate::steps::Outcome;

/// What is run.
const SUITES: &str = "package(trl) & (binary(sessions) + binary(unified) + binary(terminals) + binary(approvals) \
    + binary(checkpoints) + binary(history) + binary(claw_client) + (binary(catalogue) & test(/^bash::/)) \
    + binary(limits) + binary(files) + binary(cases) + binary(wire) + binary(rust_client))";

/// What is not so elsewhere, or not about where sessions are:
///
/// - A process of such a session is nobody the daemon knows, so it is turned away rather than held to its session (`inside`,
///   `nobody_inside`, `an_agent_in_a_session`, `a_process_of_a_session`).
/// - Checkpoints of such sessions keep no files, their files have no HTTP routes (`files_are_put`), and a shell that is replaced
///   while idle is no event (`a_shell_lost`): docs/design/0011-runtimes.md.
/// - The tests say `host`, or that a token may use no other (`what_is_wider`, `other_ceilings`); they look for a keeper or its
///   group below this daemon (`leavings`); or their settings are the engine's, too, whose word nobody goes beyond
///   (`the_settings_hold`).
const ABOUT_HERE: &str = "(binary(terminals) & test(/^inside::/)) + test(a_process_of_a_session) \
    + (binary(checkpoints) & test(/^files::/)) + (binary(wire) & test(/^inside::/)) + test(nobody_inside_a_session) \
    + test(an_agent_in_a_session_cannot) + test(files_are_put_shown_found_and_removed) \
    + test(a_shell_lost_while_idle_is_an_event) + test(row_by_row_what_is_wider_has_no_effect) \
    + test(other_ceilings_hold_against_what_the_case_says) + (binary(limits) & test(/^leavings::/)) \
    + test(the_settings_hold_for_everybody_and_only_operators_go_beyond)";

/// What is not so in a container of these tests:
///
/// - It is a boundary, and two tests expect none.
/// - Its engine may open more files than the daemon (`descriptors`), and has the environment that the container was made
///   with (`what_is_named`, `the_operator_can_name`).
/// - The number that a process has there, which a command printed, is another one here (`nothing_of_it_is_left`,
///   `140_background_pids`); and what a test mounts here later is not mounted there (`131_session_directory_full`).
const ABOUT_CONTAINERS: &str = "test(a_command_waits_for_its_answer_and_the_session_says_so) \
    + test(a_person_goes_through_them_with_one_key_each) \
    + (binary(sessions) & test(/^descriptors::/)) + test(what_is_named_comes_through) \
    + test(the_operator_can_name_variables_for_everyone) + test(nothing_of_it_is_left_when_it_ends) \
    + test(/140_background_pids|131_session_directory_full/)";

pub(crate) fn ssh() -> Outcome {
    tests("ssh", ABOUT_HERE)
}

pub(crate) fn docker() -> Outcome {
    tests("docker", &format!("{ABOUT_HERE} + {ABOUT_CONTAINERS}"))
}

fn tests(runtime: &str, left_out: &str) -> Outcome {
    eprintln!("without what is about this machine: {left_out}");
    checks::nextest(place::root(), |command| {
        command.env("TRL_TEST_RUNTIME", runtime);
        command.args(["--filterset", &format!("({SUITES}) - ({left_out})")]);
    })
}
