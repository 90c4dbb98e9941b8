//! No secret reaches the disk, and the names of what was left out are told.

use std::fs;
use std::path::Path;

use trl_testkit::{Shell, available, json};

use crate::{daemon, data_dir, keep, missing, restore};

/// Files below `dir` that hold `needle`.
fn holding(dir: &Path, needle: &[u8], found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            holding(&path, needle, found);
        } else if fs::read(&path).unwrap_or_default().windows(needle.len()).any(|w| w == needle) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn secrets_are_in_no_file_and_come_back_from_memory() {
    const SECRET: &str = "pl4nt3d$ecret";
    let daemon = daemon();
    for shell in Shell::ALL.into_iter().filter(|s| available(s.name(), s.program().is_some())) {
        let mut session = daemon.session_with(shell, json!({"secret_env": {"DB_PASS": SECRET}}));
        let plant = match shell {
            Shell::Fish => {
                "set -g url \"x://$DB_PASS@host\"; set -gx MY_TOKEN tok-12345678; set -g ok 1; function f; echo 'pl4nt3d$ecret'; end"
            }
            _ => {
                "url=\"x://$DB_PASS@host\"; export MY_TOKEN=tok-12345678; ok=1; alias a='echo pl4nt3d$ecret'; trap \"echo $DB_PASS\" INT; set -- \"$DB_PASS\"; copy=tok-12345678x"
            }
        };
        session.run(plant);
        let id = session.id.clone();
        let made = session.client().ok("checkpoint.create", json!({"session_id": id, "label": "l"}));
        let out = made["left_out"].to_string();
        for name in ["DB_PASS", "url", "MY_TOKEN"] {
            assert!(out.contains(name), "{shell}: {name} in {out}");
        }
        assert!(!out.contains("ecret"), "{out}");
        let checkpoint = made["checkpoint_id"].as_str().unwrap();
        let restored = restore(&mut session, checkpoint);
        let missing = missing(&restored);
        assert!(
            missing.contains(&"variable url".into()) && missing.contains(&"variable MY_TOKEN".into()),
            "{missing:?}"
        );
        assert!(!missing.contains(&"variable DB_PASS".into()), "{missing:?}");
        let show = if shell == Shell::Fish {
            "echo $DB_PASS $ok \"$url\" \"$MY_TOKEN\""
        } else {
            "echo $DB_PASS $ok \"${url-}\" \"${MY_TOKEN-}\""
        };
        assert_eq!(session.run(show).out().trim_end(), format!("{SECRET} 1"), "{shell}");
        session.run("cd /usr");
        keep(&mut session);
        session.client().ok("session.close", json!({"session_id": id}));
    }
    // the copy stands in a command, whose text the history has
    let checkpoints = data_dir(&daemon).join("workspaces");
    for (dir, needle) in [(data_dir(&daemon), SECRET), (checkpoints, "tok-12345678")] {
        let mut found = Vec::new();
        holding(&dir, needle.as_bytes(), &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
    let mut all = Vec::new();
    holding(&data_dir(&daemon), b"TRL-CHECKPOINT", &mut all);
    assert!(!all.is_empty(), "the search finds what is there");
}
