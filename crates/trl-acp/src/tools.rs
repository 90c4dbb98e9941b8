//! Tool calls that are not over, as far as the agent has told of them.
//!
//! When an agent asks for permission it need not say again what it has said of the tool call before, and some say an empty
//! input in its place. What a person decides on, and what a yes is kept for, is all that is known of the call.
//!
//! It forgets calls that are over, and the oldest of very many.

use serde_json::Value;
use trl_proto::agent::ToolCall;

/// Far more than agents do at once.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Vec<ToolCall>);

impl OpenCalls {
    /// The agent has told of it.
    pub(crate) fn hear(&mut self, told: &ToolCall) {
        let at = self.0.iter().position(|known| known.tool_call_id == told.tool_call_id);
        let known = at.map(|at| self.0.remove(at));
        if matches!(told.status.as_deref(), Some("completed" | "failed")) {
            return;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        // What it brings forth is no part of what it is.
        self.0.push(ToolCall { raw_output: None, ..over(known.unwrap_or_default(), told.clone()) });
    }

    /// What an agent asks permission for, with what it has said of it before.
    pub(crate) fn complete(&self, asked: ToolCall) -> ToolCall {
        let known = self.0.iter().find(|known| known.tool_call_id == asked.tool_call_id);
        over(known.cloned().unwrap_or_default(), asked)
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// The newer words in place of the older ones, where there are any.
fn over(older: ToolCall, newer: ToolCall) -> ToolCall {
    let empty = newer.raw_input.clone().filter(|input| !says_something(input));
    ToolCall {
        tool_call_id: newer.tool_call_id,
        title: newer.title.or(older.title),
        tool_kind: newer.tool_kind.or(older.tool_kind),
        status: newer.status.or(older.status),
        content: newer.content.filter(|list| !list.is_empty()).or(older.content),
        locations: newer.locations.filter(|list| !list.is_empty()).or(older.locations),
        raw_input: newer.raw_input.filter(says_something).or(older.raw_input).or(empty),
        raw_output: newer.raw_output.or(older.raw_output),
    }
}

/// Whether a tool call has an input, and nothing is said of what it is.
pub fn leaves_input_out(call: &ToolCall) -> bool {
    let shows_something = call.content.as_ref().is_some_and(|list| !list.is_empty());
    !shows_something && call.raw_input.as_ref().is_some_and(|input| !says_something(input))
}

fn says_something(input: &Value) -> bool {
    match input {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trl_proto::agent::ToolContent;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { tool_call_id: id.into(), ..ToolCall::default() }
    }

    #[test]
    fn a_permission_has_what_was_said_of_its_call_before() {
        let mut calls = OpenCalls::default();
        let said = ToolCall { title: Some("run".into()), raw_input: Some(json!({})), ..call("a") };
        calls.hear(&said);
        let input = json!({"cmd": "rm"});
        calls.hear(&ToolCall { raw_input: Some(input.clone()), ..call("a") });
        calls.hear(&ToolCall { raw_input: Some(json!({"cmd": "ls"})), ..call("b") });
        for empty in [None, Some(json!({})), Some(json!(null))] {
            let asked = calls.complete(ToolCall { raw_input: empty, ..call("a") });
            assert_eq!((asked.title.as_deref(), asked.raw_input), (Some("run"), Some(input.clone())));
        }
        let text = vec![ToolContent::Text { text: "x".into() }];
        let asked = ToolCall {
            raw_input: Some(json!("own")),
            content: Some(text),
            title: Some("t".into()),
            ..call("a")
        };
        let whole = calls.complete(asked.clone());
        assert_eq!(
            (whole.raw_input, whole.content, whole.title),
            (asked.raw_input, asked.content, asked.title)
        );
        assert_eq!(calls.complete(call("c")), call("c"));
    }

    #[test]
    fn an_input_is_left_out_where_there_is_one_and_it_says_nothing() {
        let with = |input: Option<Value>| ToolCall { raw_input: input, ..call("a") };
        assert!(leaves_input_out(&with(Some(json!({})))) && leaves_input_out(&with(Some(json!(null)))));
        assert!(!leaves_input_out(&with(None)) && !leaves_input_out(&with(Some(json!({"cmd": "ls"})))));
        let content = Some(vec![ToolContent::Text { text: "ls".into() }]);
        assert!(!leaves_input_out(&ToolCall { content, ..with(Some(json!({}))) }));
        let calls = OpenCalls::default();
        assert!(leaves_input_out(&calls.complete(with(Some(json!({}))))));
    }

    #[test]
    fn what_is_over_or_very_old_is_forgotten() {
        let mut calls = OpenCalls::default();
        calls.hear(&ToolCall { title: Some("t".into()), ..call("a") });
        calls.hear(&ToolCall { status: Some("completed".into()), ..call("a") });
        assert_eq!(calls.complete(call("a")), call("a"));
        for number in 0..=MOST {
            calls.hear(&ToolCall { title: Some("t".into()), ..call(&number.to_string()) });
        }
        assert_eq!(calls.0.len(), MOST);
        assert_eq!(calls.complete(call("0")), call("0"));
    }
}
