//! The kernel, and what follows from it.

use trl_proto::doctor::{Finding, Health};
use trl_sys::cgroup::{Layout, Standing, Version};
use trl_sys::kernel::{self, Presence};

use super::info;

/// What the kernel offers.
pub fn features() -> Vec<Finding> {
    vec![
        info("kernel", "Kernel", kernel::release()),
        landlock(),
        seccomp(),
        user_namespaces(),
        cgroups(&Layout::here()),
        pidfd(),
        io_uring(),
    ]
}

fn landlock() -> Finding {
    let row = |status, value: String| Finding::new("landlock", "Landlock", status, value);
    match kernel::landlock_abi() {
        // What each version added is said where it matters.
        Some(abi @ 4..) => row(Health::Ok, format!("ABI {abi}")),
        Some(abi) => row(Health::Warn, format!("ABI {abi}"))
            .hint("ABI 4 (Linux 6.7) is the first that knows TCP ports; files are confined already"),
        None => row(Health::Warn, "absent".into())
            .hint("Linux 5.13 or newer with `landlock` among its security modules (lsm=...)"),
    }
}

fn seccomp() -> Finding {
    let row = |status, value: &str| Finding::new("seccomp", "seccomp", status, value);
    match kernel::seccomp_actions() {
        Some(actions) if actions.iter().any(|a| a == "user_notif") => {
            row(Health::Ok, "filters, with notification")
        }
        Some(_) => row(Health::Warn, "filters, without notification"),
        None => row(Health::Warn, "absent").hint("a kernel with CONFIG_SECCOMP_FILTER"),
    }
}

fn user_namespaces() -> Finding {
    let row = |status, value: &str| Finding::new("user_namespaces", "User namespaces", status, value);
    match kernel::user_namespaces() {
        Presence::Present => row(Health::Ok, "allowed"),
        Presence::Denied => row(Health::Warn, "not for this user")
            .hint("sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns"),
        Presence::Absent => row(Health::Warn, "absent"),
    }
}

fn cgroups(layout: &Layout) -> Finding {
    let mut controllers = layout.controllers();
    controllers.sort_unstable();
    let value = format!("{} ({})", layout.name(), controllers.join(" "));
    match layout.standing() {
        Standing::Usable(..) => Finding::new("cgroup", "Control groups", Health::Ok, value),
        Standing::Unusable(why) => Finding::new("cgroup", "Control groups", Health::Warn, value).hint(why),
    }
}

fn pidfd() -> Finding {
    match kernel::pidfd() {
        Presence::Present => Finding::new("pidfd", "pidfd", Health::Ok, "present"),
        Presence::Denied | Presence::Absent => Finding::new("pidfd", "pidfd", Health::Bad, "absent")
            .hint("Linux 5.3 or newer: nothing can be signalled safely without"),
    }
}

fn io_uring() -> Finding {
    let value = match kernel::io_uring() {
        Presence::Present => "present",
        Presence::Denied => "not for this user",
        Presence::Absent => "absent",
    };
    info("io_uring", "io_uring", value)
}

/// What there is to confine programs with; nothing does so yet.
pub fn sandbox() -> Finding {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(kernel::landlock_abi().map(|abi| format!("Landlock ABI {abi}")));
    parts.extend(kernel::seccomp_actions().map(|_| "seccomp".into()));
    parts.extend((kernel::user_namespaces() == Presence::Present).then(|| "user namespaces".into()));
    let offered = if parts.is_empty() { "nothing for one".into() } else { parts.join(" + ") };
    info("sandbox", "Sandbox", format!("none yet; the kernel offers {offered}"))
}

/// What holds programs to their limits here, and why it is not something better.
pub fn limits(standing: &Standing) -> Finding {
    let row = |status, value: String| Finding::new("limits", "Limits backend", status, value);
    match standing {
        Standing::Usable(version, controllers) => {
            let name = match version {
                Version::V1 => "cgroup v1",
                Version::V2 => "cgroup v2",
            };
            let missing: Vec<&str> = ["memory", "pids", "cpu"]
                .into_iter()
                .filter(|c| !controllers.iter().any(|have| have == c))
                .collect();
            let value = format!("{name}: {}", controllers.join(" "));
            match (missing.as_slice(), version) {
                ([], Version::V2) => row(Health::Ok, value),
                ([], Version::V1) => row(Health::Ok, value)
                    .hint("v2 kills a whole group at once; this machine has its controllers in v1"),
                (missing, _) => row(Health::Warn, value).hint(format!("no {} here", missing.join(", "))),
            }
        }
        Standing::Unusable(why) => row(
            Health::Warn,
            "rlimits and watching: no limit on cores, overshoot between looks".into(),
        )
        .hint(format!(
            "{why}; run the daemon as a service with Delegate=yes, or by `systemd-run --user -p Delegate=yes`"
        )),
    }
}
