//! What models and clients send that is not quite what a schema asks for, and the words that come back.

use serde_json::{Value, json};
use trl_proto::Method;

use super::{Client, daemon};

/// The arguments of a call, with `blank` for each optional argument that is not given.
fn filled(client: &mut Client, tool: &str, given: &Value, blank: &Value) -> Value {
    let list = client.request("tools/list", json!({})).unwrap();
    let tool = list["tools"].as_array().unwrap().iter().find(|known| known["name"] == tool).unwrap();
    let names = tool["inputSchema"]["properties"].as_object().unwrap().keys();
    let value = |name: &String| given.get(name).unwrap_or(blank).clone();
    names.map(|name| (name.clone(), value(name))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn blank_optional_arguments_are_absent() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    for blank in [json!(""), Value::Null] {
        let mut call = |tool: &str, given: Value| {
            let arguments = filled(&mut client, tool, &given, &blank);
            let (text, fields) = client.call(tool, arguments);
            assert!(fields.get("code").is_none(), "{tool} with {blank}: {text}");
            fields
        };
        let done = call("exec_command", json!({"cmd": "echo $PWD"}));
        let here = daemon.dir().join("").canonicalize().unwrap();
        assert_eq!(done["stdout"].as_str().unwrap().trim_end(), here.to_str().unwrap());
        let read = call("read_output", json!({"execution_id": done["execution_id"]}));
        assert_eq!(read["data"], done["stdout"]);
        let session = call("new_session", json!({}))["session_id"].clone();
        let running = call(
            "exec_command",
            json!({"cmd": "read x; sleep 600", "session": session, "yield_time_ms": 250}),
        );
        let id = &running["execution_id"];
        call("write_stdin", json!({"execution_id": id, "chars": "a\n", "yield_time_ms": 250}));
        call("wait", json!({"execution_id": id, "until": {"pattern": blank, "idle_ms": 1}}));
        call("kill", json!({"execution_id": id}));
        assert_eq!(call("wait", json!({"execution_id": id}))["status"], "done");
        let kept = call("checkpoint", json!({"session": session, "action": "create"}));
        assert!(kept["label"].is_null(), "{kept}");
        call("list", json!({}));
    }
}

/// A blank argument that a tool needs is no argument of an optional one: it is refused.
#[test]
fn blank_required_arguments_are_refused() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    for (tool, arguments, words) in [
        ("exec_command", json!({"cmd": null}), "`cmd` must be a string, not null"),
        ("wait", json!({"execution_id": ""}), "is no execution_id"),
        ("checkpoint", json!({"session": "x", "action": ""}), "`action`"),
        ("exec_command", json!({"cmd": "true", "shell": ""}), "unknown field `shell`"),
        ("exec_command", json!({"cmd": "true", "yield_time_ms": "soon"}), "`yield_time_ms` must be"),
    ] {
        let (text, refused) = client.call(tool, arguments);
        assert!(text.contains(words) && refused["code"] == "INVALID_PARAMS", "{text}");
    }
}

#[test]
fn zero_tokens_mean_the_default() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let seq = json!({"cmd": "seq 1000", "max_output_tokens": 0});
    let (_, done) = client.call("exec_command", seq);
    assert!(
        done["stdout_not_shown"].is_null() && done["stdout"].as_str().unwrap().ends_with("\n1000\n"),
        "{done}"
    );
    let ask = json!({"execution_id": done["execution_id"], "max_output_tokens": 0});
    assert_eq!(client.call("read_output", ask).1["data"], done["stdout"]);
}

#[test]
fn hints_name_tools() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    client.call("new_session", json!({"name": "work"}));
    let (_, idle) = client.call("new_session", json!({}));
    let (_, gone) = client.call("new_session", json!({"name": "gone"}));
    client.call("close_session", json!({"session": "gone"}));
    client.call("exec_command", json!({"cmd": "sleep 600", "session": "work", "yield_time_ms": 250}));
    for (tool, arguments, code, hint) in [
        ("exec_command", json!({"cmd": "true", "session": "work"}), "SESSION_BUSY", "`kill`"),
        ("checkpoint", json!({"session": "work", "action": "create"}), "SESSION_BUSY", "`wait`"),
        (
            "exec_command",
            json!({"cmd": "true", "session": "s-aaaaaaaa"}),
            "SESSION_NOT_FOUND",
            "`new_session`",
        ),
        ("exec_command", json!({"cmd": "true", "session": "nobody"}), "SESSION_NOT_FOUND", "`list`"),
        (
            "exec_command",
            json!({"cmd": "true", "session": gone["session_id"]}),
            "SESSION_TERMINATED",
            "`new_session`",
        ),
        ("wait", json!({"execution_id": "e-aaaaaaaaaa"}), "EXECUTION_NOT_FOUND", "`list`"),
        (
            "checkpoint",
            json!({"session": idle["session_id"], "action": "restore", "checkpoint_id": "c-aaaaaaaa"}),
            "CHECKPOINT_NOT_FOUND",
            "`checkpoint`",
        ),
    ] {
        let (text, refused) = client.call(tool, arguments);
        assert_eq!(refused["code"], code, "{tool}: {text}");
        assert!(
            refused["hint"].as_str().is_some_and(|h| h.contains(hint) && text.ends_with(h)),
            "{tool}: {text}"
        );
        let named = Method::ALL.iter().find(|method| text.contains(method.name()));
        assert!(named.is_none(), "{tool} names {named:?}: {text}");
    }
}

#[test]
fn params_of_a_wrong_shape_are_named() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    for (method, params, words) in [
        ("tools/call", json!({"name": "list", "arguments": []}), "`arguments` must be an object"),
        ("tools/call", json!({"name": "list", "arguments": "{}"}), "`arguments` must be an object"),
        ("tools/call", json!({"name": 7}), "`name`"),
        ("tools/call", json!({}), "missing field `name`"),
        ("resources/read", json!({"uri": 7}), "`uri`"),
    ] {
        let error = client.request(method, params).unwrap_err();
        assert_eq!(error["code"], -32602, "{method}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(method) && message.contains(words), "{message}");
    }
    assert_eq!(client.request("no/such", json!({"a": 1})).unwrap_err()["code"], -32601);
    client.call("list", json!({}));
}
