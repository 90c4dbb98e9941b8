//! The same races as in `trl-files`, through the daemon.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use trl_testkit::{Rounds, Value, json, merged};

use crate::{daemon, operator, workspace};

fn tries(n: usize) -> [(&'static str, Value); 9] {
    [
        ("fs.list", json!({"path": "d", "depth": 3})),
        ("fs.stat", json!({"path": "d/secret"})),
        ("fs.read", json!({"path": "d/secret"})),
        ("fs.write", json!({"path": format!("d/f{n}"), "data": "mine"})),
        ("fs.mkdir", json!({"path": format!("d/m{n}")})),
        ("fs.move", json!({"path": "d/secret", "to": "stolen"})),
        ("fs.remove", json!({"path": "d/secret"})),
        ("fs.glob", json!({"pattern": "**", "include_ignored": true})),
        ("fs.grep", json!({"pattern": "SECRE[T]", "include_ignored": true})),
    ]
}

mod soak {
    use super::*;

    #[test]
    fn a_directory_that_becomes_a_link_leads_nowhere() {
        let daemon = daemon();
        let dir = workspace(&daemon, "w");
        let outside = daemon.dir().dir("outside");
        fs::write(outside.join("secret"), "SECRET").unwrap();
        fs::create_dir(dir.join("d")).unwrap();
        symlink(&outside, dir.join("abs")).unwrap();
        symlink("../outside", dir.join("x")).unwrap();
        let over = AtomicBool::new(false);
        let http = operator(&daemon);
        let mut worked = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    renameat_with(CWD, dir.join("d"), CWD, dir.join("x"), RenameFlags::EXCHANGE).unwrap();
                }
            });
            let mut client = daemon.client();
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for n in Rounds::new(120) {
                    for (method, params) in tries(n) {
                        let params = merged(json!({"workspace_id": "w"}), params);
                        let said = match client.call(method, params) {
                            Ok(reply) => {
                                worked += 1;
                                reply.to_string()
                            }
                            Err(refused) => refused.json.to_string(),
                        };
                        assert!(!said.contains("SECRET"), "{method}: {said}");
                    }
                    let got = http.get("/api/workspaces/w/files/d/secret");
                    assert!(!got.text().contains("SECRET"));
                    http.ask("PUT", "/api/workspaces/w/files/d/put", &[], b"mine");
                    http.ask("DELETE", "/api/workspaces/w/files/d/secret", &[], b"");
                }
            }));
            over.store(true, Ordering::Relaxed);
            done.unwrap();
        });
        assert!(worked > 100, "{worked}");
        let left: Vec<_> = fs::read_dir(&outside).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(
            (left.as_slice(), fs::read(outside.join("secret")).unwrap()),
            (&["secret".into()][..], b"SECRET".to_vec())
        );
    }
}
