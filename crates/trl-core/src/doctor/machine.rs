//! The kernel, and what follows from it.

use trl_proto::doctor::{Finding, Health};
use trl_proto::sandbox::Mode;
use trl_sys::cgroup::{Layout, Standing, Version};
use trl_sys::kernel::{self, Presence};
use trl_sys::lineage::{self, Witness};
use trl_sys::sandbox::Layer;

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
        clients(),
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

/// How the daemon finds out whether a client is a process of a session.
fn clients() -> Finding {
    let row = |status, value: &str| Finding::new("clients", "Client processes", status, value);
    if std::process::id() == 1 {
        let value = "the daemon is process 1: orphans of sessions and of everybody else come to it";
        return row(Health::Warn, value).hint(
            "clients whose parents have ended are refused; start the container with an init process (`docker run --init`)",
        );
    }
    match lineage::witness() {
        Witness::Kernel => row(Health::Ok, "their parents are known from the kernel's process handles"),
        Witness::Table => row(Health::Ok, "their parents are known from /proc"),
        Witness::PartOfTable => row(Health::Warn, "their parents may be unknown: /proc hides processes of other users").hint(
            "clients that have a parent process of another user are refused; mount /proc with hidepid=0, or with gid= a group of this user, or use Linux 6.13 or newer",
        ),
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

/// What confines programs here, what is missing of it, and who gets it without asking.
pub fn sandbox(usual: Mode) -> Finding {
    let abi = kernel::landlock_abi().map(|abi| format!("Landlock ABI {abi}"));
    let seccomp = kernel::seccomp_actions().map(|_| "seccomp".into());
    let namespaces = (kernel::mount_namespaces() == Presence::Present).then(|| "namespaces".into());
    let parts: Vec<String> = [abi, seccomp, namespaces].into_iter().flatten().collect();
    let backend = if parts.is_empty() { "nothing".into() } else { parts.join(" + ") };
    let value = format!("{backend}; usual mode {}", usual.name());
    let missing: Vec<&str> = trl_sys::sandbox::missing().iter().map(Layer::name).collect();
    if missing.is_empty() {
        return Finding::new("sandbox", "Sandbox", Health::Ok, value);
    }
    let hint = format!("cannot be enforced: {}; a sandbox wants `best_effort` here", missing.join(", "));
    Finding::new("sandbox", "Sandbox", Health::Warn, value).hint(hint)
}

/// Whether a program could get round a question that is asked about it.
pub fn approval_boundary(usual: Mode) -> Finding {
    let row = |status, value: String| Finding::new("approval_boundary", "Approval boundary", status, value);
    match usual {
        Mode::Off => row(Health::Warn, "advisory".into()).hint(
            "programs run as you and reach all you reach; sandbox.mode = \"workspace-write\" enforces it",
        ),
        mode => row(Health::Ok, format!("enforced: what agents run is in {}", mode.name())),
    }
}

/// Why nobody is held to an amount of disk space.
pub fn disk_quota() -> Finding {
    let value = "none: `limits.disk_bytes` is refused; `file_size_bytes` limits each file";
    Finding::new("disk_quota", "Disk quota", Health::Info, value)
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
