//! The black-box tests again, with every session and terminal in a remote runtime: behind a real sshd, or in containers of a
//! real Docker daemon. The test kit starts both.
//!
//! Tests in a module `local` are about the machine of the daemon and are left out; in containers, those in
//! `outside_containers` are too. Each such module says why. The catalogue runs in bash only: where a shell runs makes no
//! difference between shells.

use super::outcome::Outcome;
use super::rust_tests::selected;

/// Everything about sessions and terminals.
const WHOLE: &str = "package(trl) & (binary(sessions) + binary(unified) + binary(terminals) + binary(approvals) \
    + binary(checkpoints) + binary(history) + binary(claw_client) + (binary(catalogue) & test(/^bash::/)) \
    + binary(limits) + binary(files) + binary(cases) + binary(wire) + binary(rust_client))";

/// One suite for each of: commands and their state, fresh processes, terminals, a client from outside.
const SMOKE: &str = "package(trl) & ((binary(sessions) & test(/^(lifecycle|output)::/)) \
    + (binary(unified) & test(/^(start|wait)::/)) + (binary(terminals) & test(/^life::/)) + binary(claw_client))";

const LOCAL: &str = "test(/(^|::)local::/)";
const OUTSIDE_CONTAINERS: &str = "test(/(^|::)outside_containers::/)";
const SOAK: &str = "test(/(^|::)soak::/)";

pub(super) fn ssh() -> Outcome {
    tests("ssh", &format!("{WHOLE} - ({LOCAL} + {SOAK})"))
}

pub(super) fn ssh_smoke() -> Outcome {
    tests("ssh", &format!("{SMOKE} - ({LOCAL} + {SOAK})"))
}

pub(super) fn docker() -> Outcome {
    tests("docker", &format!("{WHOLE} - ({LOCAL} + {OUTSIDE_CONTAINERS} + {SOAK})"))
}

pub(super) fn docker_smoke() -> Outcome {
    tests("docker", &format!("{SMOKE} - ({LOCAL} + {OUTSIDE_CONTAINERS} + {SOAK})"))
}

fn tests(runtime: &str, filter: &str) -> Outcome {
    selected(filter, &[("TRL_TEST_RUNTIME", runtime)])
}
