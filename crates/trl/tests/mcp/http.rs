//! The same tools at `/mcp`: stateless, behind the door's guard, as whoever holds the token.

use std::path::Path;

use serde_json::{Value, json};
use trl_testkit::{Daemon, Http, Reply};

use super::{approvals, with_http};

const NEWEST: &str = "2026-07-28";

/// One request of the protocol up to 2025-11-25, by somebody who never said hello: nothing is remembered anyhow.
fn send(http: &Http, method: &str, params: Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    post(http, &[], &body)
}

fn post(http: &Http, headers: &[(&str, &str)], body: &Value) -> Reply {
    let mut all =
        vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    all.extend_from_slice(headers);
    http.ask("POST", "/mcp", &all, body.to_string().as_bytes())
}

/// The message of an answer, as JSON or as the last event.
fn message(reply: &Reply) -> Value {
    let text = reply.text();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let last = events.rfind(|data| !data.is_empty()).map(String::from);
    serde_json::from_str(&last.unwrap_or(text)).unwrap_or_else(|e| panic!("{e}: {}", reply.text()))
}

fn call(http: &Http, tool: &str, arguments: Value) -> Value {
    let reply = send(http, "tools/call", json!({"name": tool, "arguments": arguments}));
    let message = message(&reply);
    assert_eq!(message["id"], 7, "{message}");
    message["result"].clone()
}

fn holder(daemon: &Daemon, role: &str, more: Value) -> Http {
    daemon.http().with_token(daemon.token(role, more)["token"].as_str().unwrap())
}

#[test]
fn tools_work_without_a_hello_and_across_connections() {
    let daemon = with_http();
    let http = holder(&daemon, "agent", json!({}));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = message(&send(&http, "initialize", hello));
    assert_eq!(hello["result"]["serverInfo"]["name"], "trl");
    let list = message(&send(&http, "tools/list", json!({})));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 10);
    let done = call(&http, "exec_command", json!({"cmd": "echo hi; exit 3"}));
    assert_eq!(done["structuredContent"]["exit_code"], 3, "{done}");
    let made = call(&http, "new_session", json!({"name": "w", "shell": "bash"}));
    let session = &made["structuredContent"]["session_id"];
    call(&http, "exec_command", json!({"cmd": "X=1", "session": session}));
    let seen = call(&http, "exec_command", json!({"cmd": "echo $X", "session": session}));
    assert_eq!(seen["structuredContent"]["stdout"], "1\n");
    let read = message(&send(&http, "resources/read", json!({"uri": "trl://sessions"})));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains(session.as_str().unwrap()));
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&http, &[], &notice).status, 202);
}

/// What is not offered is not there, and what is not there is named.
#[test]
fn what_there_is_not_is_refused_by_name() {
    let daemon = with_http();
    let http = holder(&daemon, "agent", json!({}));
    for method in
        ["prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "resources/subscribe"]
    {
        let params = json!({"name": "x", "uri": "x", "level": "info", "ref": {"type": "ref/prompt", "name": "x"},
            "argument": {"name": "x", "value": ""}});
        let refused = message(&send(&http, method, params));
        assert_eq!(refused["error"]["code"], -32601, "{method}: {refused}");
    }
    for uri in ["trl://nothing", "trl://executions/e-nothing/stdout", "test://static-text"] {
        let refused = message(&send(&http, "resources/read", json!({"uri": uri})));
        assert_eq!(refused["error"]["data"]["uri"], uri, "{refused}");
    }
    let tools = message(&send(&http, "tools/list", json!({})));
    assert!(!tools.to_string().contains("test_"), "no test has asked for more: {tools}");
}

/// The handshake is a method of older versions only. There, wrong parameters are named.
#[test]
fn initialize_is_unknown_to_the_newest_version() {
    let daemon = with_http();
    let http = holder(&daemon, "agent", json!({}));
    let newest = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": newest});
    let headers = [("MCP-Protocol-Version", NEWEST), ("Mcp-Method", "initialize")];
    let refused = post(&http, &headers, &body);
    assert_eq!(refused.status, 404, "{}", refused.text());
    assert_eq!(message(&refused)["error"]["code"], -32601, "{}", refused.text());
    let refused = message(&send(&http, "initialize", json!({"capabilities": {}})));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("protocolVersion"), "{refused}");
}

#[test]
fn a_long_wait_tells_of_its_progress() {
    let daemon = with_http();
    let http = holder(&daemon, "agent", json!({}));
    let params = json!({"name": "exec_command", "arguments": {"cmd": "sleep 3; echo end", "yield_time_ms": 30000},
        "_meta": {"progressToken": "p"}});
    let reply = send(&http, "tools/call", params);
    assert!(reply.header("content-type").unwrap().starts_with("text/event-stream"), "{}", reply.text());
    assert!(reply.text().contains("notifications/progress"), "{}", reply.text());
    assert_eq!(message(&reply)["result"]["structuredContent"]["stdout"], "end\n");
}

#[test]
fn the_door_is_the_one_of_all_routes() {
    let daemon = with_http();
    let nobody = daemon.http();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(post(&nobody, &[], &ping).status, 401);
    assert_eq!(post(&nobody.with_token("wrong"), &[], &ping).status, 401);
    let http = holder(&daemon, "agent", json!({}));
    assert_eq!(post(&http, &[], &ping).status, 200);
    assert_eq!(post(&http, &[("Origin", "https://elsewhere.example")], &ping).status, 403);
    let verbs = ["GET", "DELETE", "PUT"].map(|verb| http.send(verb, "/mcp", &[], b"").status);
    assert_eq!(verbs, [405; 3]);
    let plain = http.send("POST", "/mcp", &[("Content-Type", "text/plain"), ("Accept", "*/*")], b"{}");
    assert!([406, 415].contains(&plain.status), "{}", plain.text());
    let large = vec![b' '; 64 << 20];
    assert_eq!(http.send("POST", "/mcp", &[("Content-Type", "application/json")], &large).status, 413);
}

/// As over `/rpc`: each sees its own, no more than its ceilings, and a viewer only looks.
#[test]
fn roles_and_ceilings_hold() {
    let daemon = with_http();
    let one = holder(&daemon, "agent", json!({"ceilings": {"max_sessions": 1}}));
    let other = holder(&daemon, "agent", json!({}));
    let viewer = holder(&daemon, "viewer", json!({}));
    let made = call(&one, "new_session", json!({"name": "mine"}));
    let id = &made["structuredContent"]["session_id"];
    let second = call(&one, "new_session", json!({}));
    assert_eq!(second["structuredContent"]["code"], "MAX_SESSIONS_REACHED", "{second}");
    let run = json!({"cmd": "true", "session": id});
    assert_eq!(call(&one, "exec_command", run.clone())["structuredContent"]["exit_code"], 0);
    let foreign = call(&other, "exec_command", run.clone());
    assert_eq!(foreign["isError"], true, "{foreign}");
    assert!(!call(&other, "list", json!({})).to_string().contains(id.as_str().unwrap()));
    assert!(call(&viewer, "list", json!({})).to_string().contains(id.as_str().unwrap()));
    assert_eq!(call(&viewer, "exec_command", run)["structuredContent"]["code"], "FORBIDDEN");
    let boxed = holder(&daemon, "agent", json!({"ceilings": {"sandbox": "read-only"}}));
    let refused = call(&boxed, "new_session", json!({"sandbox": "off"}));
    assert_eq!(refused["isError"], true, "{refused}");
}

/// Who may not answer anyhow is not asked; who may is, and the call comes again with the answer.
#[test]
fn approvals_wait_or_are_asked_for() {
    let daemon = with_http();
    approvals::write_rules(&daemon);
    let (file, command) = approvals::touch(&daemon);
    let agent = holder(&daemon, "agent", json!({}));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let mut ask = json!({"name": "exec_command", "arguments": command, "_meta": meta});
    let newest = |http: &Http, params: &Value| {
        let headers =
            [("MCP-Protocol-Version", NEWEST), ("Mcp-Method", "tools/call"), ("Mcp-Name", "exec_command")];
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        message(&post(http, &headers, &body))["result"].clone()
    };
    let pending = newest(&agent, &ask);
    assert_eq!(pending["structuredContent"]["status"], "waiting_hitl", "{pending}");
    approvals::approve_elsewhere(&daemon, &pending["structuredContent"]);
    let id = &pending["structuredContent"]["execution_id"];
    assert_eq!(call(&agent, "wait", json!({"execution_id": id}))["structuredContent"]["exit_code"], 0);
    std::fs::remove_file(&file).unwrap();
    let operator = daemon.http().with_token(&daemon.operator_token());
    let asked = newest(&operator, &ask);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    ask["requestState"] = asked["requestState"].clone();
    ask["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "run it"}}});
    let done = newest(&operator, &ask);
    assert_eq!(done["structuredContent"]["exit_code"], 0, "{done}");
    assert!(Path::new(&file).exists());
}
