//! Lines on stdin that are no request of the usual kind: each request gets an answer, and the next one is read.

use std::io::Write;

use serde_json::{Value, json};

use super::{Client, builder, daemon};

impl Client {
    /// The next message, whatever it answers.
    fn answer_to(&mut self, line: &str) -> Value {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        self.next()
    }
}

#[test]
fn requests_over_the_limit_are_answered() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let text = "x".repeat(17 << 20);
    let call = format!(
        r#""method":"tools/call","params":{{"name":"exec_command","arguments":{{"cmd":": {text}"}}}}"#
    );
    for (line, id) in [
        (format!(r#"{{"jsonrpc":"2.0","id":41,{call}}}"#), json!(41)),
        // Where the SDK for TypeScript has it.
        (format!(r#"{{{call},"jsonrpc":"2.0","id":"last"}}"#), json!("last")),
    ] {
        let answer = client.answer_to(&line);
        assert_eq!(answer["id"], id);
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32600), &json!("PAYLOAD_TOO_LARGE")),
            "{error}"
        );
        assert!(error["message"].as_str().unwrap().contains("longer than 16777216 bytes"), "{error}");
    }
    let (_, done) = client.call("exec_command", json!({"cmd": "echo on"}));
    assert_eq!(done["stdout"], "on\n");
    client.leave();
}

/// A request that just fits may become one to the daemon that does not.
#[test]
fn requests_around_the_limit_are_answered() {
    let daemon = builder().set("wire", "max_line_bytes", 65536).start();
    let mut client = Client::introduced(&daemon, json!({}));
    let mut codes = std::collections::BTreeSet::new();
    for length in (64_000..66_000).step_by(50) {
        let call = json!({"name": "exec_command", "arguments": {"cmd": format!(": {}", "x".repeat(length))}});
        let code = match client.request("tools/call", call) {
            Ok(result) => result["structuredContent"]["code"].as_str().unwrap_or("done").to_string(),
            Err(error) => error["data"]["code"].as_str().unwrap().to_string(),
        };
        codes.insert(code);
    }
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), ["PAYLOAD_TOO_LARGE", "done"]);
}

#[test]
fn lines_that_are_no_message_are_answered() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    for (line, id) in [
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, json!(5)),
        (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, Value::Null),
        // Neither JSON nor a notification gets an answer; the request after them does.
        (
            "no JSON\n{\"jsonrpc\":\"2.0\",\"method\":\"$/noise\"}\n{\"jsonrpc\":\"2.0\",\"id\":6}",
            Value::Null,
        ),
    ] {
        let answer = client.answer_to(line);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32600)), "{line}: {answer}");
    }
    client.call("list", json!({}));
}
