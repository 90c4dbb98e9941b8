//! JSON-RPC 2.0, one object a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a line says. Fields that are not ours are passed over.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, outcome: Result<Value, RpcError> },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// For people.
    pub(crate) fn said(&self) -> String {
        const MOST: usize = 500;
        let mut said = self.message.clone();
        match &self.data {
            None | Some(Value::Null) => {}
            Some(Value::String(data)) => said.push_str(&format!(": {data}")),
            Some(data) => said.push_str(&format!(": {data}")),
        }
        said.chars().take(MOST).collect()
    }
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<RpcError>,
}

/// `null` is something, absence is not.
fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}

/// None when it is no message.
pub(crate) fn parse(line: &[u8]) -> Option<Said> {
    let raw: Raw = serde_json::from_slice(line).ok()?;
    match raw {
        Raw { method: Some(method), id: Some(id), params, .. } => Some(Said::Request { id, method, params }),
        Raw { method: Some(method), id: None, params, .. } => Some(Said::Notification { method, params }),
        Raw { id: Some(id), error: Some(error), .. } => Some(Said::Response { id, outcome: Err(error) }),
        Raw { id: Some(id), result: Some(result), .. } => Some(Said::Response { id, outcome: Ok(result) }),
        _ => None,
    }
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

fn line<T: Serialize>(out: &Outgoing<'_, T>) -> Vec<u8> {
    // Everything in it is made of strings and numbers; what could fail is a map with other keys.
    let mut line = serde_json::to_vec(out).unwrap_or_else(|_| b"{}".to_vec());
    line.push(b'\n');
    line
}

pub(crate) fn request(id: u64, method: &str, params: impl Serialize) -> Vec<u8> {
    let id = Value::from(id);
    let (jsonrpc, method, params) = ("2.0", Some(method), Some(params));
    line(&Outgoing { jsonrpc, id: Some(&id), method, params, result: None, error: None })
}

pub(crate) fn notification(method: &str, params: impl Serialize) -> Vec<u8> {
    let (jsonrpc, method, params) = ("2.0", Some(method), Some(params));
    line(&Outgoing { jsonrpc, id: None, method, params, result: None, error: None })
}

pub(crate) fn response(id: &Value, result: Value) -> Vec<u8> {
    let (jsonrpc, result) = ("2.0", Some(result));
    line::<()>(&Outgoing { jsonrpc, id: Some(id), method: None, params: None, result, error: None })
}

pub(crate) fn refusal(id: &Value, code: i32, message: &str) -> Vec<u8> {
    let error = Some(serde_json::json!({"code": code, "message": message}));
    line::<()>(&Outgoing { jsonrpc: "2.0", id: Some(id), method: None, params: None, result: None, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        assert!(matches!(parse(br#"{"id":1,"method":"a","x":2}"#), Some(Said::Request { .. })));
        assert!(matches!(parse(br#"{"method":"a","params":[]}"#), Some(Said::Notification { .. })));
        let done = parse(br#"{"jsonrpc":"2.0","id":"x","result":null}"#);
        assert_eq!(done, Some(Said::Response { id: "x".into(), outcome: Ok(Value::Null) }));
        let failed = parse(br#"{"id":1,"error":{"code":-32000,"message":"no","data":{"a":1}}}"#);
        let Some(Said::Response { outcome: Err(error), .. }) = failed else { panic!("{failed:?}") };
        assert_eq!((error.code, error.said().as_str()), (-32000, r#"no: {"a":1}"#));
        for garbage in ["", "hello", "[]", "1", "{}", r#"{"id":1}"#, r#"{"method":1}"#, "{\"id\":1"] {
            assert_eq!(parse(garbage.as_bytes()), None, "{garbage}");
        }
    }
}
