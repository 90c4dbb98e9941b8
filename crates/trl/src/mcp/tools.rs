//! What a model is told of: each tool with its words, its parameters, and what it may change.
//!
//! Every word here is paid for with each message of a conversation, so there are few.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// What a tool does to the world.
enum Effect {
    /// Nothing.
    Looks,
    /// It may do whatever a command can.
    Acts,
    /// It ends something; ending it again changes nothing.
    Ends,
    /// It puts something else in the place of what was there.
    Replaces,
    /// It adds something that was not there.
    Adds,
}

pub(super) fn all() -> Vec<Tool> {
    let execution = json!({"type": "string", "description": "From a command that is still running"});
    let session = json!({"type": "string", "description": "Id or name"});
    let tokens = json!({"type": "integer", "minimum": 0, "description": "Longest output shown; the middle is cut. Default 10000"});
    let wait = |default: &str| json!({"type": "integer", "description": format!("How long to wait for its end, 250-30000. Default {default}")});
    vec![
        tool(
            "exec_command",
            "Runs a shell command. Returns its output and exit_code, or an execution_id when it runs longer than \
             yield_time_ms; it then goes on.",
            Effect::Acts,
            &["cmd"],
            json!({
                "cmd": {"type": "string"},
                "session": {"type": "string", "description": "Run in this session's shell; a fresh process otherwise"},
                "workdir": {"type": "string"},
                "tty": {"type": "boolean", "description": "Give it a terminal: for programs that draw or ask. See screen"},
                "yield_time_ms": wait("10000"),
                "max_output_tokens": tokens,
            }),
        ),
        tool(
            "write_stdin",
            "Types into a running command and returns what it wrote since. With empty chars it only waits.",
            Effect::Acts,
            &["execution_id"],
            json!({
                "execution_id": execution,
                "chars": {"type": "string", "description": "As it is; Enter is \\n, Ctrl-C on a terminal \\u0003"},
                "close": {"type": "boolean", "description": "End of input after it"},
                "yield_time_ms": wait("1000, or 5000 without chars"),
                "max_output_tokens": tokens,
            }),
        ),
        tool(
            "wait",
            "Waits for a running command to end, or for what `until` says, and returns what it wrote since. Also for a \
             command that waits for approval.",
            Effect::Looks,
            &["execution_id"],
            json!({
                "execution_id": execution,
                "until": {"type": "object", "properties": {
                    "pattern": {"type": "string", "description": "Regular expression in its output"},
                    "idle_ms": {"type": "integer", "description": "Nothing written for so long"},
                }},
                "timeout_ms": {"type": "integer", "maximum": 50000, "description": "Default 30000"},
                "max_output_tokens": tokens,
            }),
        ),
        tool(
            "read_output",
            "Reads output of a command again, from a byte offset: what a reply has cut.",
            Effect::Looks,
            &["execution_id"],
            json!({
                "execution_id": {"type": "string"},
                "since": {"type": "integer", "minimum": 0, "description": "Default 0"},
                "stream": {"enum": ["stdout", "stderr"]},
                "max_output_tokens": tokens,
            }),
        ),
        tool("list", "Lists sessions, and commands that run or have lately.", Effect::Looks, &[], json!({})),
        tool(
            "kill",
            "Ends a running command and all it started, or sends it a signal.",
            Effect::Ends,
            &["execution_id"],
            json!({"execution_id": execution, "signal": {"type": "string", "description": "Such as INT or HUP"}}),
        ),
        tool(
            "screen",
            "Shows the screen of a command with tty, as a person would see it.",
            Effect::Looks,
            &["execution_id"],
            json!({"execution_id": execution}),
        ),
        tool(
            "new_session",
            "Starts a shell that keeps directory, variables and functions from one exec_command to the next.",
            Effect::Adds,
            &[],
            json!({
                "name": {"type": "string"},
                "workdir": {"type": "string"},
                "shell": {"type": "string", "description": "Such as bash or zsh"},
                "case": {"type": "string", "description": "Profile to start from"},
                "sandbox": {"enum": ["off", "read-only", "workspace-write"]},
            }),
        ),
        tool(
            "checkpoint",
            "Keeps the state of a session's shell (create), lists what was kept, or gives it back (restore).",
            Effect::Replaces,
            &["session", "action"],
            json!({
                "session": session,
                "action": {"enum": ["create", "list", "restore"]},
                "checkpoint_id": {"type": "string", "description": "For restore"},
                "label": {"type": "string"},
                "files": {"type": "boolean", "description": "The files of its directory as well"},
            }),
        ),
        tool(
            "close_session",
            "Ends a session and what runs in it.",
            Effect::Ends,
            &["session"],
            json!({"session": session}),
        ),
    ]
}

fn tool(
    name: &'static str,
    about: &'static str,
    effect: Effect,
    required: &[&str],
    properties: Value,
) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else { unreachable!("an object was just written") };
    let writes = || ToolAnnotations::new().read_only(false);
    let annotations = match effect {
        Effect::Looks => ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        Effect::Acts => writes().destructive(true).idempotent(false).open_world(true),
        Effect::Ends => writes().destructive(true).idempotent(true).open_world(false),
        Effect::Replaces => writes().destructive(true).idempotent(false).open_world(false),
        Effect::Adds => writes().destructive(false).idempotent(false).open_world(false),
    };
    Tool::new(name, about, Arc::new(schema)).with_annotations(annotations)
}

/// Returns the arguments of a call without the optional ones that say nothing: `null` and `""`.
///
/// A model under a strict schema has to send every argument of a tool, and sends one of these for each that it does not
/// mean.
pub(super) fn stated(tool: &str, arguments: JsonObject) -> JsonObject {
    match all().into_iter().find(|known| known.name == tool) {
        Some(tool) => without_blanks(&tool.input_schema, arguments),
        None => arguments,
    }
}

fn without_blanks(schema: &JsonObject, arguments: JsonObject) -> JsonObject {
    let known = |name: &str| schema.get("properties").and_then(|all| all.get(name)?.as_object());
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let stated = |(name, value): (String, Value)| match (known(&name), value) {
        (Some(_), Value::Null) if !required(&name) => None,
        (Some(_), Value::String(text)) if text.is_empty() && !required(&name) => None,
        (Some(schema), Value::Object(inner)) => Some((name, without_blanks(schema, inner).into())),
        (_, value) => Some((name, value)),
    };
    arguments.into_iter().filter_map(stated).collect()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecCommand {
    pub(super) cmd: String,
    pub(super) session: Option<String>,
    pub(super) workdir: Option<String>,
    #[serde(default)]
    pub(super) tty: bool,
    pub(super) yield_time_ms: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteStdin {
    pub(super) execution_id: String,
    #[serde(default)]
    pub(super) chars: String,
    #[serde(default)]
    pub(super) close: bool,
    pub(super) yield_time_ms: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    pub(super) execution_id: String,
    #[serde(default)]
    pub(super) until: WaitUntil,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitUntil {
    pub(super) pattern: Option<String>,
    pub(super) idle_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadOutput {
    pub(super) execution_id: String,
    pub(super) since: Option<u64>,
    pub(super) stream: Option<String>,
    pub(super) max_output_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kill {
    pub(super) execution_id: String,
    pub(super) signal: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowScreen {
    pub(super) execution_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSession {
    pub(super) name: Option<String>,
    pub(super) workdir: Option<String>,
    pub(super) shell: Option<String>,
    pub(super) case: Option<String>,
    pub(super) sandbox: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseSession {
    pub(super) session: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checkpoint {
    pub(super) session: String,
    pub(super) action: CheckpointAction,
    pub(super) checkpoint_id: Option<String>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) files: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckpointAction {
    Create,
    List,
    Restore,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated_of(tool: &str, arguments: Value) -> Value {
        stated(tool, arguments.as_object().unwrap().clone()).into()
    }

    #[test]
    fn optional_arguments_that_say_nothing_are_left_out() {
        let blank =
            json!({"execution_id": "e-1", "until": {"pattern": "", "idle_ms": null}, "timeout_ms": ""});
        assert_eq!(stated_of("wait", blank), json!({"execution_id": "e-1", "until": {}}));
        // What a tool needs, and what it does not know, stays and is judged.
        let odd = json!({"cmd": "", "session": "", "tty": false, "yield_time_ms": 0, "shell": ""});
        let left = json!({"cmd": "", "tty": false, "yield_time_ms": 0, "shell": ""});
        assert_eq!(stated_of("exec_command", odd), left);
        assert_eq!(stated_of("exec_command", json!({"cmd": null})), json!({"cmd": null}));
    }

    /// A schema says of every argument whether it is optional; here each of them is sent as `null` and as `""`.
    #[test]
    fn no_tool_has_an_optional_argument_that_must_be_stated() {
        for tool in all() {
            let required = &tool.input_schema["required"];
            let properties = tool.input_schema["properties"].as_object().unwrap();
            let optional =
                properties.keys().filter(|name| !required.as_array().unwrap().contains(&json!(name)));
            for name in optional {
                for blank in [json!(""), Value::Null] {
                    assert_eq!(
                        stated_of(&tool.name, json!({name: blank})),
                        json!({}),
                        "{} of {}",
                        name,
                        tool.name
                    );
                }
            }
        }
    }

    /// Names, words, schemas and hints, as they are sent.
    #[test]
    fn all_that_a_model_is_told_is_at_most_2500_tokens() {
        let sent = serde_json::to_string(&all()).unwrap();
        // Measured with the vocabularies of three makers of models, a token of it is 4.2 to 4.4 bytes: this is too many.
        let tokens = sent.len() * 2 / 7;
        assert!(tokens <= 2500, "{tokens} tokens in {} bytes", sent.len());
    }
}
