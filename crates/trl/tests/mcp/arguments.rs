//! What models and clients send that is not quite what a schema asks for, and the words that come back.

use serde_json::json;

use super::{Client, daemon};

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
