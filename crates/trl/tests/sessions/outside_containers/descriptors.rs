//! A daemon that may open few files: every limit is a refusal that says so, and nothing else suffers.

use rustix::process::Signal;
use trl_testkit::{Client, Shell, Value, eventually, json, process, procs_matching, sleeper};

use crate::builder;

fn pressed(answer: Result<Value, trl_testkit::RpcError>) -> bool {
    match answer {
        Ok(_) => false,
        Err(e) if e.code == "RESOURCE_PRESSURE" => true,
        Err(e) => panic!("{}", e.json),
    }
}

#[test]
fn sessions_stop_where_the_descriptors_do() {
    let daemon = builder().open_files(256).start();
    let mut client = daemon.client();
    let most = client.ok("system.info", json!({}))["max_sessions"].as_u64().expect("a number");
    assert!((1..10).contains(&most), "{most}");
    let mut made: Vec<_> = (0..most).map(|_| daemon.session(Shell::Bash)).collect();
    client.refused("MAX_SESSIONS_REACHED", "session.create", json!({}));
    for session in &mut made {
        let mut open = session.stream("echo up; cat", json!({"open_stdin": true}));
        open.wait_stdout("up\n");
        open.cancel();
        open.finish();
    }
    let used = client.ok("system.stats", json!({}))["open_fds"].as_u64().expect("a number");
    assert!(used < 256 - 100, "{used} descriptors");
}

#[test]
fn background_jobs_that_hold_every_pipe_stop_new_commands_and_nothing_else() {
    let daemon = builder().open_files(256).start();
    let mut session = daemon.session(Shell::Dash);
    let (id, job) = (session.id.clone(), sleeper());
    let params = json!({"session_id": id, "command": format!("{job} & echo started")});
    let mut jobs = 0;
    while !pressed(session.client().call("exec.run", params.clone())) {
        jobs += 1;
        assert!(jobs < 200, "no end to it");
    }
    assert!(jobs > 5, "{jobs}");
    // The reply to the last command may come before its job is the program that is looked for: a shell replies when it has
    // forked, and the job is still that shell until its exec.
    eventually("no job was killed for want of a descriptor", || procs_matching(&job).len() == jobs);
    let left = procs_matching(&job);
    assert_eq!(session.state(), "idle");
    assert_eq!(daemon.client().ok("exec.run", json!({"command": "echo else"}))["stdout"], "else\n");
    left.into_iter().for_each(|pid| process::signal(pid, Signal::KILL));
    eventually("it runs again", || {
        let run = session.client().call("exec.run", json!({"session_id": id, "command": "echo again"}));
        !pressed(run.clone()) && run.is_ok_and(|run| run["stdout"] == "again\n")
    });
}

#[test]
fn connections_have_a_share_of_their_own() {
    let daemon = builder().open_files(256).start();
    let mut first = daemon.session(Shell::Dash);
    let crowd: Vec<Client> = (0..200).map(|_| daemon.client()).collect();
    assert_eq!(first.run("echo fine").out(), "fine\n");
    first.client().ok("session.create", json!({}));
    drop(crowd);
    eventually("there is room again", || {
        let mut client = daemon.client();
        client.write_line(r#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#);
        client.read_line().is_some()
    });
}
