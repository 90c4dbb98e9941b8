//! The first public client of this wire, the crate `claw-core-protocol` 0.1.0, unmodified, against the daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::collections::HashMap;

use claw_core_protocol::{
    ClawCoreClient, CreateSessionParams, DestroySessionParams, ExecRunParams, ExecRunResult,
};
use trl_testkit::shell::find_program;
use trl_testkit::{Daemon, available, eventually, procs_matching, sleeper};

async fn start() -> (Daemon, ClawCoreClient) {
    let daemon = Daemon::start(env!("CARGO_BIN_EXE_trl"));
    let client = connect(&daemon).await;
    (daemon, client)
}

async fn connect(daemon: &Daemon) -> ClawCoreClient {
    ClawCoreClient::connect(daemon.socket().to_str().expect("UTF-8")).await.expect("it connects")
}

async fn session(client: &mut ClawCoreClient) -> String {
    let made = client.create_session(CreateSessionParams::default()).await.expect("a session");
    assert_eq!(made.state, "idle");
    made.session_id
}

fn command(session: &str, text: &str, timeout_s: u64) -> ExecRunParams {
    ExecRunParams {
        session_id: session.into(),
        command: text.into(),
        timeout_s: Some(timeout_s),
        stdin: None,
        env: None,
    }
}

async fn run(client: &mut ClawCoreClient, session: &str, text: &str) -> ExecRunResult {
    client.exec_run(command(session, text, 30)).await.expect("a result")
}

#[tokio::test]
async fn ping_and_stats() {
    let (_daemon, mut client) = start().await;
    assert!(!client.ping().await.expect("a ping").version.is_empty());
    let id = session(&mut client).await;
    run(&mut client, &id, "true").await;
    let stats = client.stats().await.expect("stats");
    assert_eq!((stats.active_sessions, stats.total_commands_run), (1, 1));
    assert!(stats.memory_rss_bytes > 0 && stats.open_fds > 0);
}

#[tokio::test]
async fn create_info_list_destroy() {
    let (_daemon, mut client) = start().await;
    let params = CreateSessionParams {
        shell: Some("/bin/bash".into()),
        env: Some(HashMap::from([("GIVEN".into(), "yes".into())])),
        working_dir: Some("/usr".into()),
        name: Some("mine".into()),
        timeout_s: Some(60),
    };
    let made = client.create_session(params).await.expect("a session");
    assert_eq!((made.shell.as_str(), made.working_dir.as_str()), ("/bin/bash", "/usr"));
    let info = client.session_info(&made.session_id).await.expect("info");
    assert_eq!((info.name.as_deref(), info.timeout_s, info.command_count), (Some("mine"), 60, 0));
    assert!(info.env_keys.contains(&"GIVEN".to_string()));
    assert_eq!(run(&mut client, &made.session_id, "echo $GIVEN; pwd").await.stdout, "yes\n/usr\n");
    assert_eq!(client.list_sessions().await.expect("a list").sessions.len(), 1);
    let id = made.session_id.clone();
    let gone = client.destroy_session(DestroySessionParams { session_id: id, force: None }).await;
    assert_eq!(gone.expect("destroyed").state, "terminated");
    let info = client.session_info(&made.session_id).await.expect("info after the end");
    assert_eq!((info.state.as_str(), info.command_count), ("terminated", 1));
}

#[tokio::test]
async fn directory_and_variables_persist() {
    let (_daemon, mut client) = start().await;
    let id = session(&mut client).await;
    run(&mut client, &id, "cd /usr; export A=1; b=2").await;
    assert_eq!(run(&mut client, &id, "pwd; echo $A$b").await.stdout, "/usr\n12\n");
    let failed = run(&mut client, &id, "echo out; echo err >&2; (exit 3)").await;
    assert_eq!((failed.stdout.as_str(), failed.stderr.as_str(), failed.exit_code), ("out\n", "err\n", 3));
    let params = ExecRunParams {
        stdin: Some("given\n".into()),
        env: Some(HashMap::from([("K".into(), "v".into())])),
        ..command(&id, "cat; echo $K", 30)
    };
    assert_eq!(client.exec_run(params).await.expect("a result").stdout, "given\nv\n");
}

#[tokio::test]
async fn a_timeout_is_a_result_with_what_there_was() {
    let (_daemon, mut client) = start().await;
    let id = session(&mut client).await;
    let result =
        client.exec_run(command(&id, "echo part; sleep 1000", 2)).await.expect("a result, not an error");
    assert!(result.timed_out);
    assert_eq!(result.stdout, "part\n");
    assert_eq!(run(&mut client, &id, "echo fine").await.stdout, "fine\n");
}

#[tokio::test]
async fn a_background_child_holds_nothing_up() {
    let (_daemon, mut client) = start().await;
    let id = session(&mut client).await;
    let result = run(&mut client, &id, "sleep 4 & echo now").await;
    assert_eq!((result.stdout.as_str(), result.timed_out), ("now\n", false));
    let result = run(&mut client, &id, &format!("{} &", sleeper())).await;
    assert!(!result.timed_out && result.exit_code == 0);
}

#[tokio::test]
async fn megabytes_of_wide_characters_are_fine() {
    let (_daemon, mut client) = start().await;
    let id = session(&mut client).await;
    let result = run(&mut client, &id, "yes '\u{e9}\u{20ac}\u{1f980}' | head -c 5000000").await;
    assert!(!result.timed_out && result.stdout.len() > 500_000, "{} bytes", result.stdout.len());
    let strange = result.stdout.chars().find(|c| !"\u{e9}\u{20ac}\u{1f980}\n\u{fffd}".contains(*c));
    assert_eq!(strange, None);
}

#[tokio::test]
async fn destroy_kills_the_running_command() {
    let (daemon, mut client) = start().await;
    let id = session(&mut client).await;
    let nap = sleeper();
    let params = command(&id, &nap, 0);
    let running = tokio::spawn(async move { client.exec_run(params).await });
    let pattern = nap.clone();
    let seen =
        tokio::task::spawn_blocking(move || eventually("it runs", || procs_matching(&pattern).len() == 1));
    seen.await.expect("it runs");
    let mut second = connect(&daemon).await;
    let gone = second.destroy_session(DestroySessionParams { session_id: id, force: Some(true) }).await;
    assert_eq!(gone.expect("destroyed").state, "terminated");
    assert!(procs_matching(&nap).is_empty());
    // A result or a refusal, but an answer.
    let _ = running.await.expect("the task ends");
}

#[tokio::test]
async fn runtimes_with_large_address_spaces_run() {
    let (_daemon, mut client) = start().await;
    let id = session(&mut client).await;
    if available("node", find_program("node").is_some()) {
        assert_eq!(run(&mut client, &id, "node -e 'console.log(6*7)'").await.stdout, "42\n");
    }
    if available("python3", find_program("python3").is_some()) {
        assert_eq!(run(&mut client, &id, "python3 -c 'print(6*7)'").await.stdout, "42\n");
    }
}

#[tokio::test]
async fn errors_have_their_codes() {
    let (_daemon, mut client) = start().await;
    let error = client.session_info("s-zzzzzzzz").await.expect_err("unknown").to_string();
    assert!(error.contains(claw_core_protocol::error_codes::SESSION_NOT_FOUND), "{error}");
    let error = client.send_request("exec.run", serde_json::json!({"command": 3})).await.expect("an answer");
    assert_eq!(error.error.expect("an error").code, claw_core_protocol::error_codes::INVALID_PARAMS);
}
