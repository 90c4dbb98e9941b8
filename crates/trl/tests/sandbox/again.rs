//! One sandbox after another: what a program leaves in its workspace must not widen the next one's boundary.

use std::path::Path;

use trl_testkit::{Client, Daemon, Value, json};

use super::{builder, daemon, in_workspace};

/// Runs in a fresh sandbox.
fn run(client: &mut Client, workspace: &str, command: &str) -> Value {
    let params = json!({"command": command, "working_dir": workspace, "sandbox": "workspace-write"});
    client.ok("exec.start", params)
}

fn place(daemon: &Daemon, name: &str) -> String {
    daemon.dir().dir(name);
    daemon.dir().text(name)
}

#[test]
fn a_git_directory_that_was_closed_stays_closed() {
    let daemon = daemon();
    let workspace = place(&daemon, "ws/repo/.git/hooks");
    let workspace = workspace.strip_suffix("/repo/.git/hooks").unwrap();
    let mut client = daemon.client();
    run(&mut client, workspace, "chmod 0300 repo/.git");
    run(&mut client, workspace, "chmod 0755 repo/.git; echo x >repo/.git/hooks/pre-commit");
    assert!(!Path::new(workspace).join("repo/.git/hooks/pre-commit").exists());
    // nor one in a directory whose names cannot be followed
    run(&mut client, workspace, "chmod 0755 repo/.git; chmod 0600 repo");
    run(&mut client, workspace, "chmod 0755 repo; echo x >repo/.git/hooks/pre-commit");
    std::fs::set_permissions(
        Path::new(workspace).join("repo"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    assert!(!Path::new(workspace).join("repo/.git/hooks/pre-commit").exists());
}

#[test]
fn a_repository_without_its_marks_is_still_one() {
    let daemon = daemon();
    let workspace = place(&daemon, "ws");
    for name in ["bare/objects", "bare/refs", "bare/hooks"] {
        daemon.dir().dir(&format!("ws/{name}"));
    }
    std::fs::write(daemon.dir().join("ws/bare/HEAD"), "ref: refs/heads/main").unwrap();
    let mut client = daemon.client();
    run(&mut client, &workspace, "cd bare; mv HEAD h; mv refs r; mv objects o");
    run(
        &mut client,
        &workspace,
        "echo x >bare/hooks/post-receive; cd bare; mv h HEAD; mv r refs; mv o objects",
    );
    assert!(!daemon.dir().join("ws/bare/hooks/post-receive").exists());
    assert!(daemon.dir().join("ws/bare/refs").is_dir());
}

#[test]
fn what_is_protected_is_no_workspace() {
    let daemon = daemon();
    for name in [
        "ws/.git/hooks/deep",
        "ws/.git/objects",
        "ws/.git/refs",
        "ws/.trl/cases",
        "ws/hooks",
        "empty/.trl",
        "project/cases",
    ] {
        daemon.dir().dir(name);
    }
    std::fs::write(daemon.dir().join("ws/.trl/cases/a.yaml"), "{}").unwrap();
    let mut client = daemon.client();
    for (name, may) in [
        ("ws/.git/hooks", false),
        ("ws/.git/hooks/deep", false),
        ("ws/.trl", false),
        ("ws/.trl/cases", false),
        // ordinary names elsewhere
        ("ws/hooks", true),
        ("empty/.trl", true),
        ("project/cases", true),
    ] {
        let params =
            json!({"command": "true", "working_dir": daemon.dir().text(name), "sandbox": "workspace-write"});
        match may {
            true => drop(client.ok("exec.start", params)),
            false => drop(client.refused("INVALID_PARAMS", "exec.start", params)),
        }
    }
}

/// A name that leads elsewhere since: whoever names it is told where that is.
#[test]
fn a_reply_says_which_directory_it_was_around() {
    let daemon = daemon();
    let workspace = place(&daemon, "ws/sub").strip_suffix("/sub").unwrap().to_string();
    let elsewhere = place(&daemon, "elsewhere");
    let mut client = daemon.client();
    run(&mut client, &workspace, &format!("mv sub old; ln -s {elsewhere} sub"));
    let done = run(&mut client, &format!("{workspace}/sub"), "true");
    let real = std::fs::canonicalize(&elsewhere).unwrap();
    assert_eq!(done["sandbox"]["workspace"], real.to_str().unwrap());
}

#[test]
fn whoever_is_held_does_not_get_the_daemons_secrets() {
    let daemon = builder().set("sandbox", "mode", "\"workspace-write\"").start();
    let mut asked = in_workspace(&daemon, "ws", json!("workspace-write"));
    asked["pass_env"] = json!(["AWS_SECRET_ACCESS_KEY"]);
    asked["command"] = json!("env");
    let refused = daemon.client().refused("FORBIDDEN", "exec.start", asked.clone());
    assert!(refused.message.contains("AWS_SECRET_ACCESS_KEY"), "{}", refused.message);
    let done = daemon.operator().ok("exec.start", asked);
    assert!(done["stdout"].as_str().unwrap().contains(super::SECRET), "{done}");
}

#[test]
fn with_a_configured_mode_a_command_runs_where_it_is_told_to() {
    let daemon = builder().set("sandbox", "mode", "\"workspace-write\"").start();
    let workspace = place(&daemon, "ws");
    let mut client = daemon.client();
    let done = client.ok("exec.run", json!({"command": "pwd; echo x >made", "working_dir": workspace}));
    assert_eq!(done["exit_code"], 0, "{done}");
    assert!(daemon.dir().join("ws/made").exists());
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(["run", "pwd"]).current_dir(&workspace);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
