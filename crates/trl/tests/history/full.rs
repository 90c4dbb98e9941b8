//! A disk without room: nothing is recorded, and commands go on.

use std::process::Command;

use serde_json::json;
use trl_testkit::{PATIENCE, Scratch, comes_true};

use super::{builder, create, run};

/// A small file system of its own, gone with the value.
struct Small(Scratch);

impl Small {
    /// None where this machine does not let us.
    fn new() -> Option<Self> {
        let dir = Scratch::new();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn commands_go_on_without_room_and_records_come_back_with_it() {
    let Some(disk) = Small::new() else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let daemon = builder().arg("--data-dir").arg(disk.0.path().to_str().unwrap()).start();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    run(&mut client, &id, "echo before");
    super::history(&mut client, json!({}));
    let ballast = disk.0.path().join("ballast");
    // As much as there is room for. Without it there is room for all that the log of the database may grow to.
    let _ = std::fs::write(&ballast, vec![1; 32 << 20]);
    let failed = |client: &mut trl_testkit::Client| {
        client.ok("system.stats", json!({}))["records_failed"].as_u64().unwrap()
    };
    let mut n = 0;
    assert!(comes_true(PATIENCE, &mut || {
        n += 1;
        let result = run(&mut client, &id, &format!("printf %2000d {n}"));
        assert_eq!(result["exit_code"], 0);
        failed(&mut client) > 0
    }));
    assert_eq!(run(&mut client, &id, "echo still here")["stdout"], "still here\n");
    let refusals = daemon.log().matches("what happens is not kept").count();
    assert_eq!(refusals, 1, "said once:\n{}", daemon.log());

    std::fs::remove_file(&ballast).unwrap();
    run(&mut client, &id, "echo after");
    let entries = super::history(&mut client, json!({"query": "after"}));
    assert_eq!(entries.len(), 1);
    assert!(comes_true(PATIENCE, &mut || {
        run(&mut client, &id, "true");
        daemon.log().contains("records are kept again")
    }));
}

#[test]
fn a_session_that_cannot_be_kept_is_not_said_to_be() {
    let Some(disk) = Small::new() else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let daemon = builder().arg("--data-dir").arg(disk.0.path().to_str().unwrap()).start();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    run(&mut client, &id, "cd /usr");
    let ballast = disk.0.path().join("ballast");
    let _ = std::fs::write(&ballast, vec![1; 32 << 20]);
    run(&mut client, &id, &format!("V={}", "x".repeat(100_000)));
    client.refused("STORAGE_FULL", "session.close", json!({"session_id": id}));
    std::fs::remove_file(&ballast).unwrap();
    client.ok("session.get", json!({"session_id": id}));
    assert_eq!(run(&mut client, &id, "pwd")["stdout"], "/usr\n");
    client.ok("session.close", json!({"session_id": id}));
}

/// A state that cannot be put on the disk is no write of the store, and is refused like one.
#[test]
fn states_that_cannot_be_kept_are_in_the_doctors_count() {
    let daemon = builder().start();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    run(&mut client, &id, "cd /usr");
    let store = |client: &mut trl_testkit::Client| {
        let rows = client.ok("system.doctor", json!({}))["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "store").cloned();
        row.unwrap_or_else(|| panic!("no row of the store in {rows}"))
    };
    assert!(store(&mut client)["value"].as_str().unwrap().contains(" 0 refused"));
    let states = daemon.dir().join("home/.local/share/trl/workspaces");
    let _ = std::fs::remove_dir_all(&states);
    std::fs::write(&states, "no directory").unwrap();
    client.refused("STORAGE_FULL", "session.close", json!({"session_id": id}));
    let row = store(&mut client);
    assert!(row["value"].as_str().unwrap().contains(" 1 refused"), "{row}");
    assert_eq!(row["status"], "warn", "{row}");
}
