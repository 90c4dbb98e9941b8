//! The agent of a session is sent messages, and asks a person before it uses a tool. The tool is TRL's own, which agents ask about
//! in their settings' name: the permission is the agent's, the command is TRL's.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use trl_testkit::agent::Telling;
use trl_testkit::{Client, eventually};

use super::{NO_NETWORK, Order, World, gemini_home, opencode};

/// An agent that speaks the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agent {
    OpenCode,
    Gemini,
}

impl Agent {
    /// With the case `coder`, whose agent this is.
    fn world(self) -> World {
        let world = World::new();
        let mut env = BTreeMap::from(NO_NETWORK.map(|(name, value)| (name, value.to_string())));
        let command = match self {
            Self::OpenCode => {
                let ask = json!({"permission": {"trl_exec_command": "ask"}});
                world.project_file("opencode.json", &opencode(&world.model, ask));
                vec!["opencode", "acp"]
            }
            Self::Gemini => {
                gemini_home(&world, json!({}));
                env.insert("GOOGLE_GEMINI_BASE_URL", world.model.url());
                env.insert("GEMINI_API_KEY", "none".into());
                vec!["gemini", "-m", "gemini-2.5-pro", "--acp"]
            }
        };
        let dir = world.daemon.dir();
        dir.dir("config/trl/cases");
        let agent = json!({"command": command, "env": env});
        let case = dir.file("config/trl/cases/coder.yaml", format!("agent: {agent}\n"));
        fs::set_permissions(case, fs::Permissions::from_mode(0o600)).unwrap();
        world
    }

    fn name(self) -> &'static str {
        match self {
            Self::OpenCode => "OpenCode",
            Self::Gemini => "gemini-cli",
        }
    }

    /// What becomes of its conversation when it was killed in the middle of its first answer.
    fn resumed(self) -> &'static str {
        match self {
            Self::OpenCode => "loaded",
            // It keeps none in which it has not answered.
            Self::Gemini => "new",
        }
    }
}

fn session(world: &World, client: &mut Client) -> Value {
    let dir = world.project();
    client.ok("session.create", json!({"case_id": "coder", "working_dir": dir, "shell": "/bin/sh"}))
}

/// Sends the order; resolves with the request that a person has to answer.
fn send_until_asked(
    client: &mut Client,
    operator: &mut Client,
    session: &Value,
    order: &Order,
) -> (Telling, Value) {
    let mut telling = Telling::send(client, session, &order.words());
    let asked = telling.wait(client, "permission");
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    let shown = request["command"].as_str().unwrap();
    assert!(shown.contains(&order.command), "a person does not see what is asked: {shown}");
    eventually("it waits for a person", || {
        let info = operator.ok("session.info", json!({"session_id": session["session_id"]}));
        info["state"] == "waiting_hitl" && info["pending_requests"] == json!([request["request_id"]])
    });
    (telling, request)
}

fn answer(operator: &mut Client, request: &Value, decision: &str) {
    let (id, digest) = (&request["request_id"], &request["digest"]);
    operator.ok("hitl.respond", json!({"request_id": id, "digest": digest, "decision": decision}));
}

/// A person is asked in the middle, and a yes lets it go on.
fn goes_on_after_a_yes(agent: Agent) {
    let (world, order) = (agent.world(), Order::number(1));
    let (mut client, mut operator) = (world.daemon.client(), world.daemon.operator());
    let session = session(&world, &mut client);
    let (telling, request) = send_until_asked(&mut client, &mut operator, &session, &order);
    assert!(world.ran(&order).is_none(), "nobody has said yes");
    answer(&mut operator, &request, "approve");
    let told = telling.finish(&mut client);
    assert_eq!(told.reason(), "end_turn", "{told:?}");
    assert_eq!(told.of("permission_resolved")[0]["state"], "approved");
    assert!(told.text().contains(&order.prints), "{}", told.text());
    let started = told.of("started")[0];
    assert_eq!((&started["agent"]["name"], &started["mcp"]), (&json!(agent.name()), &json!(true)));
    if started["own_shell"] == "off" {
        let offered =
            |request: &Value| request["tools"].as_array().is_some_and(|tools| tools.contains(&json!("bash")));
        assert!(!world.model.requests().iter().any(offered), "its own shell is said to be off");
    }
    world.assert_ran(&order);
}

fn does_nothing_after_a_no(agent: Agent) {
    let (world, order) = (agent.world(), Order::number(1));
    let (mut client, mut operator) = (world.daemon.client(), world.daemon.operator());
    let session = session(&world, &mut client);
    let (telling, request) = send_until_asked(&mut client, &mut operator, &session, &order);
    answer(&mut operator, &request, "reject");
    let told = telling.finish(&mut client);
    assert_eq!(told.of("permission_resolved")[0]["state"], "rejected");
    assert!(!told.text().contains(&order.prints), "{}", told.text());
    assert!(world.ran(&order).is_none(), "somebody has said no");
}

/// The question outlives the killed daemon, and its yes is given when the agent asks again.
fn goes_on_after_a_crash(agent: Agent) {
    let (mut world, order) = (agent.world(), Order::number(1));
    let (mut client, mut operator) = (world.daemon.client(), world.daemon.operator());
    let session = session(&world, &mut client);
    let (telling, request) = send_until_asked(&mut client, &mut operator, &session, &order);
    world.daemon.kill9();
    world.daemon.relaunch();

    let (mut client, mut operator) = (world.daemon.client(), world.daemon.operator());
    let history = client.ok("agent.history", json!({"session_id": session["session_id"]}));
    let message = &history["messages"][0];
    let interrupted = (&json!(telling.message_id), &json!("interrupted"));
    assert_eq!((&message["message_id"], &message["stop_reason"]), interrupted);
    let pending = operator.ok("hitl.list", json!({}));
    assert_eq!(pending["requests"][0]["request_id"], request["request_id"], "it is still there");
    answer(&mut operator, &request, "approve");
    assert!(world.ran(&order).is_none(), "nothing is done by itself");

    let told = Telling::send(&mut client, &session, &order.words()).finish(&mut client);
    let resumed = &told.of("started")[0]["resumed"];
    assert_eq!((told.reason(), resumed), ("end_turn", &json!(agent.resumed())), "{told:?}");
    assert!(told.of("permission").is_empty(), "nobody is asked twice");
    assert!(told.text().contains(&order.prints), "{}", told.text());
    world.assert_ran(&order);

    // The yes was for this, and for once.
    let other = Order::number(2);
    let (telling, request) = send_until_asked(&mut client, &mut operator, &session, &other);
    answer(&mut operator, &request, "approve");
    assert!(telling.finish(&mut client).text().contains(&other.prints));
    world.assert_ran(&other);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn opencode_goes_on_after_a_yes() {
    goes_on_after_a_yes(Agent::OpenCode);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn opencode_does_nothing_after_a_no() {
    does_nothing_after_a_no(Agent::OpenCode);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn opencode_goes_on_after_a_crash() {
    goes_on_after_a_crash(Agent::OpenCode);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn gemini_cli_goes_on_after_a_yes() {
    goes_on_after_a_yes(Agent::Gemini);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn gemini_cli_does_nothing_after_a_no() {
    does_nothing_after_a_no(Agent::Gemini);
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn gemini_cli_goes_on_after_a_crash() {
    goes_on_after_a_crash(Agent::Gemini);
}
