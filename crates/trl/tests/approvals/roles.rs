use serde_json::json;

use super::{daemon, next_request, shell, subscribe, with_rules};

#[test]
fn only_the_operator_answers() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    let params =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
    daemon.client().refused("FORBIDDEN", "hitl.respond", params.clone());
    daemon.client().refused("FORBIDDEN", "hitl.audit", json!({}));
    for role in ["agent", "viewer"] {
        let token = daemon.token(role, json!({}));
        let mut client = daemon.client();
        client.ok("system.auth", json!({"token": token["token"]}));
        client.refused("FORBIDDEN", "hitl.respond", params.clone());
        // a viewer watches everything, another agent's requests are none of its business
        let seen = client.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len();
        assert_eq!(seen, usize::from(role == "viewer"), "{role}");
        let one = client.call("hitl.get", json!({"request_id": request["request_id"]}));
        assert_eq!(one.is_ok(), role == "viewer", "{role}");
    }
    // the agent that asked may look, and wait
    let mut agent = daemon.client();
    assert_eq!(agent.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len(), 1);
    let waited = agent.ok("hitl.wait", json!({"request_id": request["request_id"], "timeout_s": 0.05}));
    assert_eq!(waited["state"], "pending");
}

/// Not for remote runtimes: the daemon does not know the processes of a remote session and rejects them all.
mod local {
    use super::*;

    #[test]
    fn a_process_of_a_session_cannot_answer_whatever_token_it_holds() {
        let daemon = with_rules("default: allow\n");
        let mut session = shell(&daemon);
        let (socket, token) = (daemon.socket(), daemon.operator_token());
        let calls = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"system.auth","params":{{"token":"{token}"}}}}
{{"jsonrpc":"2.0","id":2,"method":"hitl.list","params":{{}}}}
{{"jsonrpc":"2.0","id":3,"method":"hitl.respond","params":{{"request_id":"r-aaaaaaaaaa","digest":"","decision":"approve"}}}}
"#
        );
        let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.stdin.buffer.read())\ns.shutdown(1)\nsys.stdout.write(s.makefile().read())";
        let run = session.run_with(
            &format!("/usr/bin/python3 -c '{script}' {}", socket.display()),
            json!({"stdin": calls}),
        );
        let said = run.out();
        assert_eq!(said.matches("FORBIDDEN").count(), 3, "{said} {}", run.err());
    }
}
