//! Using up the machine: a sandbox is no limit, and a limit is no sandbox. Each bomb goes off free, in a sandbox, with
//! limits, and in both.

use trl_testkit::{Run, Value, available, json};

use super::daemon;
use super::document::{self, Line};
use super::stage::Stage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounds {
    Free,
    Sandbox,
    Limits,
    Both,
}

const ALL: [Bounds; 4] = [Bounds::Free, Bounds::Sandbox, Bounds::Limits, Bounds::Both];

struct Bomb {
    name: &'static str,
    attempt: &'static str,
    limits: fn() -> Value,
    holder: Holder,
}

/// What the bomb meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The limit of this name.
    Limit(&'static str),
    /// Shared memory of a size, of the sandbox.
    OwnMemory,
    Nothing,
}

const BOMBS: [Bomb; 5] = [
    Bomb {
        name: "a fork bomb: 200 processes, 40 allowed",
        attempt: "python3 tries.py processes 200",
        limits: || json!({"pids": 40}),
        holder: Holder::Limit("pids"),
    },
    Bomb {
        name: "a memory bomb: 200 MiB, 64 allowed",
        attempt: "python3 tries.py memory_of 200",
        limits: || json!({"memory_bytes": 64 << 20}),
        holder: Holder::Limit("memory_bytes"),
    },
    Bomb {
        name: "fill the disk with one file: 8 MB, 1 MiB allowed",
        attempt: "head -c 8000000 /dev/zero >filler && echo ESCAPED",
        limits: || json!({"file_size_bytes": 1 << 20}),
        holder: Holder::Limit("file_size_bytes"),
    },
    Bomb {
        name: "fill the disk with many small files",
        attempt: "for i in $(seq 16); do head -c 1000000 /dev/zero >filler$i || exit 1; done; echo ESCAPED",
        limits: || json!({"file_size_bytes": 1 << 20}),
        holder: Holder::Nothing,
    },
    Bomb {
        name: "fill shared memory: 320 MB in small files",
        attempt: "for i in 1 2 3 4 5; do head -c 64000000 /dev/zero >/dev/shm/trl-$VICTIM-$i || break; \
                  [ $i = 5 ] && echo ESCAPED; done; rm -f /dev/shm/trl-$VICTIM-*",
        limits: || json!({"file_size_bytes": 64 << 20}),
        holder: Holder::OwnMemory,
    },
];

impl Bounds {
    fn mode(self) -> &'static str {
        match self {
            Self::Free | Self::Limits => "off",
            Self::Sandbox | Self::Both => "workspace-write",
        }
    }

    fn has_limits(self) -> bool {
        matches!(self, Self::Limits | Self::Both)
    }
}

impl Holder {
    fn holds(self, bounds: Bounds) -> bool {
        match self {
            Self::Limit(_) => bounds.has_limits(),
            Self::OwnMemory => bounds.mode() != "off",
            Self::Nothing => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Limit(name) => name,
            Self::OwnMemory => "a tmpfs of its own",
            Self::Nothing => "nothing",
        }
    }
}

fn is_possible(bomb: &Bomb) -> bool {
    let room = || rustix::fs::statvfs("/dev/shm").is_ok_and(|of| of.f_bavail * of.f_frsize > 400 << 20);
    bomb.holder != Holder::OwnMemory || available("400 MiB of shared memory", room())
}

#[test]
fn limits_hold_what_a_sandbox_does_not_in_the_generated_table() {
    let daemon = daemon();
    let mut lines = Vec::new();
    for (n, bomb) in BOMBS.iter().enumerate() {
        let seen = is_possible(bomb).then(|| {
            let mut cells = ALL.map(|bounds| {
                let stage = Stage::new(&daemon, &format!("b{n}{bounds:?}"));
                let limits = if bounds.has_limits() { (bomb.limits)() } else { json!({}) };
                let mut session = stage.session_with(json!(bounds.mode()), json!({"limits": limits}));
                let run = session.run(bomb.attempt);
                // whoever was met by it goes on, or has another shell
                assert_eq!(session.run("echo on").out(), "on\n");
                cell(bomb, bounds, &run)
            });
            [&mut cells[..], &mut [bomb.holder.words()]].concat()
        });
        lines.push(Line { name: bomb.name, seen });
    }
    let head = ["attempt", "free", "in a sandbox", "with limits", "both", "held by"];
    document::check("use of the machine", &head, &lines);
}

fn cell(bomb: &Bomb, bounds: Bounds, run: &Run) -> &'static str {
    let happened = run.out().contains("ESCAPED");
    let said = format!("{}, {bounds:?}: {}", bomb.name, run.json);
    assert_eq!(happened, !bomb.holder.holds(bounds), "{said}");
    if let Holder::Limit(name) = bomb.holder
        && bounds.has_limits()
    {
        assert_eq!(run.json["usage"]["limit_hit"], name, "{said}");
    }
    if happened { "yes" } else { "-" }
}
