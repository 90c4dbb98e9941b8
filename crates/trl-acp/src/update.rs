//! What an agent says it does, in the words of the wire.

use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde_json::Value;
use trl_proto::agent::{Location, PlanEntry, SlashCommand, ToolCall, ToolContent, Update};

/// The update of a `session/update`; None when there is nothing in it for anybody.
pub(crate) fn read(params: Value) -> Option<Update> {
    let update = params.get("update")?.clone();
    let known = serde_json::from_value::<acp::SessionUpdate>(update.clone());
    Some(match known {
        Ok(acp::SessionUpdate::AgentMessageChunk(chunk)) => said(chunk.content, |text| Update::Text { text }),
        Ok(acp::SessionUpdate::AgentThoughtChunk(chunk)) => {
            said(chunk.content, |text| Update::Thought { text })
        }
        // What the person said is known.
        Ok(acp::SessionUpdate::UserMessageChunk(_)) => return None,
        Ok(acp::SessionUpdate::ToolCall(call)) => Update::ToolCall(whole(call)),
        Ok(acp::SessionUpdate::ToolCallUpdate(change)) => Update::ToolCall(changed(change)),
        Ok(acp::SessionUpdate::Plan(plan)) => {
            Update::Plan { entries: plan.entries.into_iter().map(entry).collect() }
        }
        Ok(acp::SessionUpdate::CurrentModeUpdate(mode)) => {
            Update::Mode { mode_id: mode.current_mode_id.0.to_string() }
        }
        Ok(acp::SessionUpdate::AvailableCommandsUpdate(update)) => Update::Commands {
            commands: update
                .available_commands
                .into_iter()
                .map(|command| SlashCommand { name: command.name, description: command.description })
                .collect(),
        },
        Ok(acp::SessionUpdate::UsageUpdate(usage)) => Update::Usage { used: usage.used, size: usage.size },
        Ok(_) | Err(_) => other(update),
    })
}

fn other(update: Value) -> Update {
    let name = update.get("sessionUpdate").and_then(Value::as_str).unwrap_or("unknown").to_string();
    Update::Other { name, content: update }
}

fn said(content: acp::ContentBlock, text: impl FnOnce(String) -> Update) -> Update {
    match content {
        acp::ContentBlock::Text(block) => text(block.text),
        acp::ContentBlock::ResourceLink(link) => text(link.uri),
        other => Update::Other { name: "content".into(), content: value(&other) },
    }
}

fn whole(call: acp::ToolCall) -> ToolCall {
    ToolCall {
        tool_call_id: call.tool_call_id.0.to_string(),
        title: Some(call.title),
        tool_kind: Some(word(&call.kind)),
        status: Some(word(&call.status)),
        content: (!call.content.is_empty()).then(|| call.content.into_iter().map(content).collect()),
        locations: (!call.locations.is_empty()).then(|| call.locations.into_iter().map(location).collect()),
        raw_input: call.raw_input,
        raw_output: call.raw_output,
    }
}

pub(crate) fn changed(change: acp::ToolCallUpdate) -> ToolCall {
    let fields = change.fields;
    ToolCall {
        tool_call_id: change.tool_call_id.0.to_string(),
        title: fields.title,
        tool_kind: fields.kind.as_ref().map(word),
        status: fields.status.as_ref().map(word),
        content: fields.content.map(|list| list.into_iter().map(content).collect()),
        locations: fields.locations.map(|list| list.into_iter().map(location).collect()),
        raw_input: fields.raw_input,
        raw_output: fields.raw_output,
    }
}

fn content(content: acp::ToolCallContent) -> ToolContent {
    match content {
        acp::ToolCallContent::Content(acp::Content { content: acp::ContentBlock::Text(block), .. }) => {
            ToolContent::Text { text: block.text }
        }
        acp::ToolCallContent::Diff(diff) => ToolContent::Diff {
            path: diff.path.to_string_lossy().into_owned(),
            old_text: diff.old_text,
            new_text: diff.new_text,
        },
        acp::ToolCallContent::Terminal(terminal) => {
            let terminal_id = terminal.terminal_id.0.to_string();
            // Ours are called like the execution.
            ToolContent::Terminal { execution_id: terminal_id.parse().ok(), terminal_id }
        }
        other => ToolContent::Other { content: value(&other) },
    }
}

fn location(location: acp::ToolCallLocation) -> Location {
    Location { path: location.path.to_string_lossy().into_owned(), line: location.line }
}

fn entry(entry: acp::PlanEntry) -> PlanEntry {
    PlanEntry { priority: word(&entry.priority), status: word(&entry.status), content: entry.content }
}

/// As the protocol writes it.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => "other".into(),
    }
}

fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(update: Value) -> Option<Update> {
        read(json!({"sessionId": "x", "update": update}))
    }

    #[test]
    fn what_is_known_is_translated_and_the_rest_is_kept_as_it_came() {
        let chunk =
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}});
        assert_eq!(of(chunk), Some(Update::Text { text: "hi".into() }));
        let echo = json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}});
        assert_eq!(of(echo), None);
        let odd = json!({"sessionUpdate": "dream", "of": "sheep"});
        assert_eq!(of(odd.clone()), Some(Update::Other { name: "dream".into(), content: odd }));
        assert_eq!(of(json!("?")), Some(Update::Other { name: "unknown".into(), content: json!("?") }));
        assert_eq!(read(json!({"sessionId": "x"})), None);
    }

    #[test]
    fn a_tool_call_says_what_is_new_of_it() {
        let Some(Update::ToolCall(call)) = of(json!({"sessionUpdate": "tool_call", "toolCallId": "c",
            "title": "Run ls", "kind": "execute", "content": [{"type": "terminal", "terminalId": "e-abcdefghij"},
            {"type": "content", "content": {"type": "text", "text": "x"}}]}))
        else {
            panic!("no tool call")
        };
        assert_eq!((call.status.as_deref(), call.tool_kind.as_deref()), (Some("pending"), Some("execute")));
        let contents = call.content.unwrap();
        assert!(matches!(&contents[0], ToolContent::Terminal { execution_id: Some(_), .. }));
        let Some(Update::ToolCall(call)) =
            of(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}))
        else {
            panic!("no tool call")
        };
        assert_eq!((call.title, call.status.as_deref()), (None, Some("completed")));
    }
}
