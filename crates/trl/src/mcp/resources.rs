//! What can be read without a tool: the sessions there are, the output of an execution, the screen of a terminal.

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use trl_proto::exec::ExecutionList;
use trl_proto::text::{self, Encoding};
use trl_proto::{Error, Method};

use super::hands::Hands;

const SESSIONS: &str = "trl://sessions";
const OUTPUT: &str = "trl://executions/";
const SCREEN: &str = "trl://terminals/";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// Of one reading.
const MOST_BYTES: u64 = 1 << 20;

pub(super) async fn list(hands: &dyn Hands) -> Result<ListResourcesResult, ErrorData> {
    let mut all = vec![Resource::new(SESSIONS, "sessions").with_mime_type(JSON)];
    let list: ExecutionList = hands.ask(Method::ExecList, &json!({})).await.map_err(|e| failed(&e))?;
    for execution in list.executions {
        let id = execution.execution_id;
        let text = |uri: String, name: String| Resource::new(uri, name).with_mime_type(TEXT);
        all.push(text(format!("{OUTPUT}{id}/stdout"), format!("output of {id}")));
        if execution.stderr_bytes > 0 {
            all.push(text(format!("{OUTPUT}{id}/stderr"), format!("errors of {id}")));
        }
        all.extend(
            execution.terminal_id.map(|t| text(format!("{SCREEN}{t}/screen"), format!("screen of {t}"))),
        );
    }
    Ok(ListResourcesResult::with_all_items(all))
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{OUTPUT}{{execution_id}}/{{stream}}"), "output of an execution")
            .with_mime_type(TEXT),
        ResourceTemplate::new(format!("{SCREEN}{{terminal_id}}/screen"), "screen of a terminal")
            .with_mime_type(TEXT),
    ]
}

pub(super) async fn read(hands: &dyn Hands, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (method, params, part) = match uri {
        SESSIONS => (Method::SessionList, json!({}), None),
        _ => {
            let unknown = || not_found(uri, Error::invalid(format!("there is no resource {uri}")));
            let (rest, of) = match (uri.strip_prefix(OUTPUT), uri.strip_prefix(SCREEN)) {
                (Some(rest), _) => (rest, OUTPUT),
                (_, Some(rest)) => (rest, SCREEN),
                _ => return Err(unknown()),
            };
            match (of, rest.split_once('/').ok_or_else(unknown)?) {
                (OUTPUT, (id, stream @ ("stdout" | "stderr"))) => {
                    let params = json!({"execution_id": id, "stream": stream, "limit": MOST_BYTES});
                    (Method::ExecOutput, params, Some("data"))
                }
                (SCREEN, (id, "screen")) => {
                    (Method::TerminalScreen, json!({"terminal_id": id}), Some("text"))
                }
                _ => return Err(unknown()),
            }
        }
    };
    let reply: Value = hands.ask(method, &params).await.map_err(|e| not_found(uri, e))?;
    let contents = match part {
        Some(part) => {
            let data = reply[part].as_str().unwrap_or_default();
            match text_of(data, &reply["encoding"]) {
                Some(text) => ResourceContents::text(text, uri).with_mime_type(TEXT),
                None => ResourceContents::blob(data, uri),
            }
        }
        None => ResourceContents::text(pretty(&reply), uri).with_mime_type(JSON),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Text comes as base64 where that is shorter, too. None for what is no text.
fn text_of(data: &str, encoding: &Value) -> Option<String> {
    if encoding != "base64" {
        return Some(data.into());
    }
    String::from_utf8(text::decode(data.into(), Encoding::Base64).ok()?).ok()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Clients look for what they asked for beside the words.
fn not_found(uri: &str, mut error: Error) -> ErrorData {
    error.details.insert("uri".into(), uri.into());
    failed(&error)
}

fn failed(error: &Error) -> ErrorData {
    ErrorData::resource_not_found(error.message.clone(), serde_json::to_value(&error.details).ok())
}
