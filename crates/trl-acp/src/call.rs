//! What an agent asks of us, and what it is told.

use agent_client_protocol_schema::v1 as acp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trl_proto::agent::{OptionKind, PermissionOption, ToolCall};

use crate::rpc;
use crate::update;

/// Names a question, for its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallId(pub(crate) Value);

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    ReadFile {
        path: String,
        /// From 1.
        line: Option<u32>,
        limit: Option<u32>,
    },
    WriteFile {
        path: String,
        content: String,
    },
    CreateTerminal {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
        most_bytes: Option<u64>,
    },
    TerminalOutput {
        terminal: String,
    },
    WaitForExit {
        terminal: String,
    },
    KillTerminal {
        terminal: String,
    },
    ReleaseTerminal {
        terminal: String,
    },
    Permission {
        tool_call: ToolCall,
        options: Vec<PermissionOption>,
    },
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Done,
    File {
        content: String,
    },
    Terminal {
        id: String,
    },
    Output {
        output: String,
        truncated: bool,
        exit: Option<Exit>,
    },
    Exit(Exit),
    /// One of the options.
    Chosen(String),
    /// The message was stopped first.
    Withdrawn,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<u32>,
    pub signal: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Method,
    Params,
}

impl Call {
    pub(crate) fn read(method: &str, params: Value) -> Result<Self, Unknown> {
        Ok(match method {
            "fs/read_text_file" => {
                let acp::ReadTextFileRequest { path, line, limit, .. } = typed(params)?;
                Self::ReadFile { path: path.to_string_lossy().into_owned(), line, limit }
            }
            "fs/write_text_file" => {
                let acp::WriteTextFileRequest { path, content, .. } = typed(params)?;
                Self::WriteFile { path: path.to_string_lossy().into_owned(), content }
            }
            "terminal/create" => {
                let acp::CreateTerminalRequest { command, args, env, cwd, output_byte_limit, .. } =
                    typed(params)?;
                Self::CreateTerminal {
                    command,
                    args,
                    env: env.into_iter().map(|one| (one.name, one.value)).collect(),
                    cwd: cwd.map(|dir| dir.to_string_lossy().into_owned()),
                    most_bytes: output_byte_limit,
                }
            }
            "terminal/output" => {
                let acp::TerminalOutputRequest { terminal_id, .. } = typed(params)?;
                Self::TerminalOutput { terminal: terminal_id.0.to_string() }
            }
            "terminal/wait_for_exit" => {
                let acp::WaitForTerminalExitRequest { terminal_id, .. } = typed(params)?;
                Self::WaitForExit { terminal: terminal_id.0.to_string() }
            }
            "terminal/kill" => {
                let acp::KillTerminalRequest { terminal_id, .. } = typed(params)?;
                Self::KillTerminal { terminal: terminal_id.0.to_string() }
            }
            "terminal/release" => {
                let acp::ReleaseTerminalRequest { terminal_id, .. } = typed(params)?;
                Self::ReleaseTerminal { terminal: terminal_id.0.to_string() }
            }
            "session/request_permission" => permission(params)?,
            _ => return Err(Unknown::Method),
        })
    }
}

fn typed<T: DeserializeOwned>(params: Value) -> Result<T, Unknown> {
    serde_json::from_value(params).map_err(|_| Unknown::Params)
}

/// Options one by one: one that we do not know must not hide the others.
fn permission(params: Value) -> Result<Call, Unknown> {
    let tool_call: acp::ToolCallUpdate = typed(params.get("toolCall").cloned().unwrap_or_default())?;
    let offered = params.get("options").and_then(Value::as_array).ok_or(Unknown::Params)?;
    let options = offered.iter().filter_map(|option| {
        let text = |name: &str| option.get(name).and_then(Value::as_str);
        let id = text("optionId")?;
        let kind = match text("kind") {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") => OptionKind::AllowAlways,
            Some("reject_once") => OptionKind::RejectOnce,
            Some("reject_always") => OptionKind::RejectAlways,
            _ => OptionKind::Other,
        };
        Some(PermissionOption { option_id: id.into(), name: text("name").unwrap_or(id).into(), kind })
    });
    Ok(Call::Permission { options: options.collect(), tool_call: update::changed(tool_call) })
}

impl Reply {
    pub(crate) fn line(self, id: &CallId) -> Vec<u8> {
        let result = match self {
            Self::Done => json!({}),
            Self::File { content } => written(acp::ReadTextFileResponse::new(content)),
            Self::Terminal { id } => written(acp::CreateTerminalResponse::new(id)),
            Self::Output { output, truncated, exit } => written(
                acp::TerminalOutputResponse::new(output, truncated).exit_status(exit.map(Exit::into_acp)),
            ),
            Self::Exit(exit) => written(exit.into_acp()),
            Self::Chosen(option) => written(acp::RequestPermissionResponse::new(
                acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(option)),
            )),
            Self::Withdrawn => {
                written(acp::RequestPermissionResponse::new(acp::RequestPermissionOutcome::Cancelled))
            }
        };
        rpc::response(&id.0, result)
    }
}

fn written(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl Exit {
    fn into_acp(self) -> acp::TerminalExitStatus {
        acp::TerminalExitStatus::new().exit_code(self.code).signal(self.signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_with_all_that_is_foreign_in_them() {
        let call = Call::read(
            "terminal/create",
            json!({"sessionId": "x", "command": "ls", "args": ["-l"], "cwd": "/w", "new": 1,
                "env": [{"name": "A", "value": "b"}], "outputByteLimit": 10}),
        );
        let env = vec![("A".to_string(), "b".to_string())];
        let (command, args, cwd) = ("ls".into(), vec!["-l".into()], Some("/w".into()));
        assert_eq!(call, Ok(Call::CreateTerminal { command, args, env, cwd, most_bytes: Some(10) }));
        assert_eq!(Call::read("fs/delete", json!({})), Err(Unknown::Method));
        assert_eq!(Call::read("fs/read_text_file", json!({"path": 1})), Err(Unknown::Params));
    }

    #[test]
    fn an_option_of_an_unknown_kind_hides_no_other() {
        let params = json!({"sessionId": "x", "toolCall": {"toolCallId": "c", "title": "push"}, "options": [
            {"optionId": "a", "name": "Yes", "kind": "allow_once"}, {"optionId": "b", "name": "?", "kind": "maybe"}, 3,
        ]});
        let Ok(Call::Permission { tool_call, options }) = Call::read("session/request_permission", params)
        else {
            panic!("no permission");
        };
        assert_eq!(tool_call.title.as_deref(), Some("push"));
        let kinds: Vec<OptionKind> = options.iter().map(|option| option.kind).collect();
        assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::Other]);
    }
}
