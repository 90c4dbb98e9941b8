//! What the conformance suite of the protocol asks a server for: tools, resources and prompts by names of its own, with
//! the answers it wants to hear.
//!
//! 1. They are there in builds with debug assertions, when `TRL_TEST_MCP_FIXTURES` is 1 in the daemon's environment. No
//!    binary that is given to anybody has them, and no model sees them. `cargo xtask test conformance` runs the suite.
//! 2. [`Staged`] stands before the real server. What the suite names is answered here; all else is the real server's, as
//!    everything is when the variable is not set.
//! 3. Door, guard, token, transport and whatever the suite asks of any server (hello, lists, headers, versions) are the
//!    real ones: those are what is tested. Prompts, completion, logging and subscriptions are nothing TRL has; for these only
//!    the way through is.
//!
//! [`questions`] are the tools that ask the client something back, [`changes`] the streams that tell of changes.
#![allow(deprecated)] // the suite asks for all that a version has, and older versions have more

mod changes;
mod questions;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

static ON: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("TRL_TEST_MCP_FIXTURES").is_some_and(|v| v == "1"));

/// A red dot.
const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// No sound at all.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// Between two notices of one call, so that they are heard one by one.
const PAUSE: Duration = Duration::from_millis(50);

const TEMPLATE: (&str, &str) = ("test://template/", "/data");

/// The real server behind what the suite wants.
pub(crate) struct Staged<S> {
    real: S,
}

impl<S> Staged<S> {
    pub(super) fn new(real: S) -> Self {
        Self { real }
    }
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl<S: ServerHandler> ServerHandler for Staged<S> {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.real.get_info();
        if *ON {
            let can = &mut info.capabilities;
            can.prompts.get_or_insert_default().list_changed = Some(true);
            can.tools.get_or_insert_default().list_changed = Some(true);
            can.completions = Some(JsonObject::new());
            can.logging = Some(JsonObject::new());
            can.resources.get_or_insert_default().subscribe = Some(true);
        }
        info
    }

    async fn list_tools(&self, page: Page, context: Context) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.real.list_tools(page, context).await?;
        if *ON {
            list.tools.extend(tools());
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let ours = || tools().find(|tool| *ON && tool.name == name);
        self.real.get_tool(name).or_else(ours)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if !*ON || self.real.get_tool(&request.name).is_some() {
            return self.real.call_tool(request, context).await;
        }
        match request.name.as_ref() {
            "test_tool_with_logging" => log(&context, LoggingLevel::Info, 3).await,
            "test_logging_tool" => match context.meta.log_level() {
                Some(level) => log(&context, level, 1).await,
                None => text("nobody asked to hear of it"),
            },
            "test_tool_with_progress" => progress(&context).await,
            "test_missing_capability" => {
                match context.meta.client_capabilities().unwrap_or_default().sampling {
                    Some(_) => text("it can"),
                    None => {
                        Err(ErrorData::missing_required_client_capability(read(json!({"sampling": {}}))?))
                    }
                }
            }
            name if changes::TOOLS.contains(&name) => changes::tell(name).await,
            name => match content(name) {
                Some(result) => complete::<CallToolResult>(result).map(Into::into),
                None => questions::call(request, &context).await,
            },
        }
    }

    async fn list_resources(&self, page: Page, context: Context) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.real.list_resources(page, context).await?;
        if *ON {
            list.resources.extend(read::<Vec<_>>(json!([
                {"uri": "test://static-text", "name": "text", "mimeType": "text/plain"},
                {"uri": "test://static-binary", "name": "picture", "mimeType": "image/png"},
            ]))?);
        }
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        page: Page,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.real.list_resource_templates(page, context).await?;
        if *ON {
            let template = format!("{}{{id}}{}", TEMPLATE.0, TEMPLATE.1);
            list.resource_templates.push(read(json!({"uriTemplate": template, "name": "template"}))?);
        }
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resource(&request.uri).filter(|_| *ON) {
            Some(contents) => complete::<ReadResourceResult>(json!({"contents": [contents]})).map(Into::into),
            None => self.real.read_resource(request, context).await,
        }
    }

    async fn list_prompts(&self, page: Page, context: Context) -> Result<ListPromptsResult, ErrorData> {
        if !*ON {
            return self.real.list_prompts(page, context).await;
        }
        let argument = |name: &str| json!({"name": name, "description": "anything", "required": true});
        Ok(ListPromptsResult::with_all_items(read(json!([
            {"name": "test_simple_prompt", "description": "a line"},
            {"name": "test_prompt_with_arguments", "description": "what was given",
                "arguments": [argument("arg1"), argument("arg2")]},
            {"name": "test_prompt_with_embedded_resource", "description": "a resource",
                "arguments": [argument("resourceUri")]},
            {"name": "test_prompt_with_image", "description": "a picture"},
            {"name": questions::PROMPT, "description": "asks back"},
        ]))?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        if !*ON {
            return self.real.get_prompt(request, context).await;
        }
        if request.name == questions::PROMPT
            && !questions::is_answered(&request.input_responses, &["user_context"])
        {
            return questions::prompt().map(Into::into);
        }
        match messages(&request.name, &request.arguments.unwrap_or_default()) {
            Some(contents) => {
                let said = contents.into_iter().map(|content| json!({"role": "user", "content": content}));
                complete::<GetPromptResult>(json!({"messages": said.collect::<Vec<_>>()})).map(Into::into)
            }
            None => Err(ErrorData::invalid_params("there is no such prompt", None)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        if !*ON {
            return self.real.complete(request, context).await;
        }
        let starts = request.argument.value;
        let values: Vec<&str> =
            ["paris", "park", "party"].into_iter().filter(|v| v.starts_with(&starts)).collect();
        complete(json!({"completion": {"total": values.len(), "values": values, "hasMore": false}}))
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        if *ON { Ok(()) } else { self.real.set_level(request, context).await }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        if *ON { Some(requested.clone()) } else { self.real.accepted_subscription_filter(requested) }
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if !*ON {
            return self.real.listen(context).await;
        }
        changes::listen(context).await;
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        if *ON { Ok(()) } else { self.real.subscribe(request, context).await }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if *ON { Ok(()) } else { self.real.unsubscribe(request, context).await }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        self.real.on_custom_request(request, context).await
    }
}

// ---- tools

fn tools() -> impl Iterator<Item = Tool> {
    const PLAIN: [&str; 11] = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_reconnection",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_tool_with_progress",
        "test_missing_capability",
    ];
    let plain = PLAIN
        .into_iter()
        .chain(questions::TOOLS)
        .chain(changes::TOOLS)
        .map(|name| (name, json!({"type": "object"})));
    let header =
        json!({"type": "object", "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}});
    let special = [("test_custom_header", header), ("json_schema_2020_12_tool", schema())];
    plain.chain(special).filter_map(|(name, schema)| {
        let Value::Object(schema) = schema else { return None };
        Some(Tool::new(name, "For the conformance suite", Arc::new(schema)))
    })
}

/// Words of JSON Schema that must come through as they are.
fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"},
        }}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Results that are always the same.
fn content(tool: &str) -> Option<Value> {
    let said = |text: &str| json!({"type": "text", "text": text});
    let image = || json!({"type": "image", "data": IMAGE, "mimeType": "image/png"});
    let embedded = |text: &str| json!({"type": "resource", "resource": {"uri": "test://embedded", "mimeType": "text/plain", "text": text}});
    let content = match tool {
        "test_simple_text" => json!([said("This is a simple text response for testing.")]),
        "test_image_content" => json!([image()]),
        "test_audio_content" => json!([{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => json!([embedded("inside")]),
        "test_multiple_content_types" => json!([said("of each"), image(), embedded("one")]),
        "test_reconnection" | "test_custom_header" | "json_schema_2020_12_tool" => json!([said("done")]),
        "test_error_handling" => {
            let error = said("This tool intentionally returns an error for testing");
            return Some(json!({"content": [error], "isError": true}));
        }
        _ => return None,
    };
    Some(json!({"content": content}))
}

async fn log(context: &Context, level: LoggingLevel, lines: u32) -> Result<CallToolResponse, ErrorData> {
    for line in 1..=lines {
        let notice = LoggingMessageNotificationParam::new(level, json!(format!("line {line}")));
        let _unheard = context.peer.notify_logging_message(notice).await;
        tokio::time::sleep(PAUSE).await;
    }
    text("logged")
}

async fn progress(context: &Context) -> Result<CallToolResponse, ErrorData> {
    for percent in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let notice = ProgressNotificationParam::new(token, percent).with_total(100.0);
            let _unheard = context.peer.notify_progress(notice).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    text("gone through")
}

// ---- resources and prompts

fn resource(uri: &str) -> Option<Value> {
    match uri {
        "test://static-text" => Some(json!({"uri": uri, "mimeType": "text/plain", "text": "a text"})),
        "test://static-binary" => Some(json!({"uri": uri, "mimeType": "image/png", "blob": IMAGE})),
        _ => {
            let id = uri.strip_prefix(TEMPLATE.0)?.strip_suffix(TEMPLATE.1)?;
            Some(json!({"uri": uri, "mimeType": "application/json", "text": json!({"id": id}).to_string()}))
        }
    }
}

fn messages(prompt: &str, arguments: &JsonObject) -> Option<Vec<Value>> {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = |text: String| json!({"type": "text", "text": text});
    match prompt {
        "test_simple_prompt" | questions::PROMPT => {
            Some(vec![said("This is a simple prompt for testing.".into())])
        }
        "test_prompt_with_arguments" => Some(vec![said(format!("{} and {}", given("arg1"), given("arg2")))]),
        "test_prompt_with_embedded_resource" => {
            let resource = json!({"uri": given("resourceUri"), "mimeType": "text/plain", "text": "inside"});
            Some(vec![json!({"type": "resource", "resource": resource}), said("Look at it.".into())])
        }
        "test_prompt_with_image" => Some(vec![
            json!({"type": "image", "data": IMAGE, "mimeType": "image/png"}),
            said("Look at it.".into()),
        ]),
        _ => None,
    }
}

// ---- results, written as they go over the wire

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|e| ErrorData::internal_error(format!("a fixture that is none: {e}"), None))
}

/// A result that is one: from 2026-07-28 on that is said. Older clients are not told, which is rmcp's to see to.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    read(result)
}

fn text(said: &str) -> Result<CallToolResponse, ErrorData> {
    complete::<CallToolResult>(json!({"content": [{"type": "text", "text": said}]})).map(Into::into)
}
