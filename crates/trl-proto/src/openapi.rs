//! The description of the HTTP door, made from the types of the wire. Only built for the test that compares it with the
//! checked-in `docs/openapi.json`, which is what the daemon serves.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::agent;
use crate::case::{
    CaseDetail, CaseInfo, CaseList, CaseListParams, CaseParams, CaseTrustParams, CaseValidateParams,
    CaseValidated,
};
use crate::checkpoint;
use crate::doctor::{Diagnosis, LogLines, LogParams};
use crate::error::ErrorCode;
use crate::event::{Event, SubscribeParams, Subscribed};
use crate::exec::{
    CancelParams, Cancelled, ExecListParams, ExecutionList, ExecutionParams, ExitPush, InputParams,
    InputTaken, Outcome, OutputParams, OutputPushed, OutputSlice, RefusedPush, ResultReply, RunParams,
    RunReply, SignalParams, Signalled, StreamStarted,
};
use crate::fs;
use crate::history::{History, HistoryParams};
use crate::hitl::{
    ApprovalRequest, Audit, AuditParams, RequestList, RequestListParams, RequestParams, RequestWaitParams,
    RespondParams,
};
use crate::method::{Access, Method};
use crate::runtime::{
    RuntimeHealth, RuntimeInfo, RuntimeList, RuntimeParams, RuntimeRemoveParams, RuntimeRemoved, RuntimeSpec,
};
use crate::session::{
    CreateParams, CreateReply, Deleted, DestroyParams, Destroyed, GetParams, ListParams, SessionInfo,
    SessionList, SessionParams,
};
use crate::start::{ResizeParams, Resized, StartParams, StartReply, WaitParams, Waited};
use crate::system::{AuthParams, Authenticated, Info, NoParams, Ping, ShutdownParams, ShuttingDown, Stats};
use crate::terminal::{self, TerminalInfo, TerminalList, TerminalParams};
use crate::token::{CreateTokenParams, Ticket, TokenCreated, TokenList, TokenParams, TokenRevoked};
use crate::workspace::{self, WorkspaceInfo, WorkspaceList, WorkspaceParams};

/// Parameters and result of a method.
fn types(of: &mut SchemaGenerator, method: Method) -> (Schema, Schema) {
    fn pair<P: JsonSchema, R: JsonSchema>(of: &mut SchemaGenerator) -> (Schema, Schema) {
        (of.subschema_for::<P>(), of.subschema_for::<R>())
    }
    match method {
        Method::SystemPing => pair::<NoParams, Ping>(of),
        Method::SystemInfo => pair::<NoParams, Info>(of),
        Method::SystemStats => pair::<NoParams, Stats>(of),
        Method::SystemDoctor => pair::<NoParams, Diagnosis>(of),
        Method::SystemLog => pair::<LogParams, LogLines>(of),
        Method::SystemAuth => pair::<AuthParams, Authenticated>(of),
        Method::SystemShutdown => pair::<ShutdownParams, ShuttingDown>(of),
        Method::SessionCreate => pair::<CreateParams, CreateReply>(of),
        Method::SessionList => pair::<ListParams, SessionList>(of),
        Method::SessionInfo | Method::SessionClose | Method::SessionReset => {
            pair::<SessionParams, SessionInfo>(of)
        }
        Method::SessionGet => pair::<GetParams, SessionInfo>(of),
        Method::SessionDestroy => pair::<DestroyParams, Destroyed>(of),
        Method::SessionDelete => pair::<SessionParams, Deleted>(of),
        Method::SessionHistory => pair::<HistoryParams, History>(of),
        Method::CheckpointCreate => pair::<checkpoint::CreateParams, checkpoint::CheckpointInfo>(of),
        Method::CheckpointList => pair::<checkpoint::ListParams, checkpoint::CheckpointList>(of),
        Method::CheckpointRestore => pair::<checkpoint::RestoreParams, checkpoint::Restored>(of),
        Method::CheckpointDelete => pair::<checkpoint::DeleteParams, checkpoint::Deleted>(of),
        Method::ExecRun => pair::<RunParams, RunReply>(of),
        Method::ExecStream => pair::<RunParams, StreamStarted>(of),
        Method::ExecStart => pair::<StartParams, StartReply>(of),
        Method::ExecWait => pair::<WaitParams, Waited>(of),
        Method::ExecResize => pair::<ResizeParams, Resized>(of),
        Method::ExecCancel => pair::<CancelParams, Cancelled>(of),
        Method::ExecInput => pair::<InputParams, InputTaken>(of),
        Method::ExecSignal => pair::<SignalParams, Signalled>(of),
        Method::ExecOutput => pair::<OutputParams, OutputSlice>(of),
        Method::ExecResult => pair::<ExecutionParams, ResultReply>(of),
        Method::ExecList => pair::<ExecListParams, ExecutionList>(of),
        Method::TokenCreate => pair::<CreateTokenParams, TokenCreated>(of),
        Method::TokenList => pair::<NoParams, TokenList>(of),
        Method::TokenRevoke => pair::<TokenParams, TokenRevoked>(of),
        Method::CaseList => pair::<CaseListParams, CaseList>(of),
        Method::CaseGet => pair::<CaseParams, CaseDetail>(of),
        Method::CaseValidate => pair::<CaseValidateParams, CaseValidated>(of),
        Method::CaseTrust => pair::<CaseTrustParams, CaseInfo>(of),
        Method::RuntimeList => pair::<NoParams, RuntimeList>(of),
        Method::RuntimeGet => pair::<RuntimeParams, RuntimeInfo>(of),
        Method::RuntimeHealth => pair::<RuntimeParams, RuntimeHealth>(of),
        Method::RuntimeAdd => pair::<RuntimeSpec, RuntimeInfo>(of),
        Method::RuntimeRemove => pair::<RuntimeRemoveParams, RuntimeRemoved>(of),
        Method::EventsSubscribe | Method::SessionEvents => pair::<SubscribeParams, Subscribed>(of),
        Method::HitlList => pair::<RequestListParams, RequestList>(of),
        Method::HitlGet => pair::<RequestParams, ApprovalRequest>(of),
        Method::HitlRespond => pair::<RespondParams, ApprovalRequest>(of),
        Method::HitlWait => pair::<RequestWaitParams, ApprovalRequest>(of),
        Method::HitlAudit => pair::<AuditParams, Audit>(of),
        Method::AgentSendMessage => pair::<agent::SendParams, agent::MessageStream>(of),
        Method::AgentStop => pair::<agent::StopParams, agent::AgentStopped>(of),
        Method::AgentHistory => pair::<agent::HistoryParams, agent::AgentHistory>(of),
        Method::AgentFollow => pair::<agent::FollowParams, agent::MessageStream>(of),
        Method::TerminalCreate => pair::<terminal::CreateParams, TerminalInfo>(of),
        Method::TerminalList => pair::<terminal::ListParams, TerminalList>(of),
        Method::TerminalGet | Method::TerminalKeep => pair::<TerminalParams, TerminalInfo>(of),
        Method::TerminalInput => pair::<terminal::InputParams, terminal::InputTaken>(of),
        Method::TerminalResize => pair::<terminal::ResizeParams, TerminalInfo>(of),
        Method::TerminalSnapshot => pair::<terminal::SnapshotParams, terminal::Snapshot>(of),
        Method::TerminalScreen => pair::<terminal::ScreenParams, terminal::Screen>(of),
        Method::TerminalSignal => pair::<terminal::SignalParams, terminal::Signalled>(of),
        Method::TerminalDestroy => pair::<terminal::DestroyParams, TerminalInfo>(of),
        Method::WorkspaceCreate => pair::<workspace::CreateParams, WorkspaceInfo>(of),
        Method::WorkspaceList => pair::<NoParams, WorkspaceList>(of),
        Method::WorkspaceGet => pair::<WorkspaceParams, WorkspaceInfo>(of),
        Method::FsList => pair::<fs::ListParams, fs::FileList>(of),
        Method::FsStat => pair::<fs::StatParams, fs::FileInfo>(of),
        Method::FsRead => pair::<fs::ReadParams, fs::FileSlice>(of),
        Method::FsWrite => pair::<fs::WriteParams, fs::ChangeReply<fs::FileWritten>>(of),
        Method::FsMkdir => pair::<fs::MkdirParams, fs::ChangeReply<fs::DirMade>>(of),
        Method::FsMove => pair::<fs::MoveParams, fs::ChangeReply<fs::FileMoved>>(of),
        Method::FsRemove => pair::<fs::RemoveParams, fs::ChangeReply<fs::FileRemoved>>(of),
        Method::FsGlob => pair::<fs::GlobParams, fs::Globbed>(of),
        Method::FsGrep => pair::<fs::GrepParams, fs::Matches>(of),
        Method::FsWatch => pair::<fs::WatchParams, fs::Watching>(of),
    }
}

/// The whole document.
pub fn document() -> Value {
    let mut of = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator();
    let mut methods = Map::new();
    let mut requests = Vec::new();
    for method in Method::ALL {
        let (params, result) = types(&mut of, *method);
        requests.push(request(*method, &params));
        let row = json!({
            "about": method.about(), "role": least_role(*method), "params": params, "result": result,
        });
        methods.insert(method.name().into(), row);
    }
    let pushes = json!({
        "exec.output": of.subschema_for::<OutputPushed>(),
        "exec.exit": of.subschema_for::<ExitPush>(),
        "exec.refused": of.subschema_for::<RefusedPush>(),
        "agent.update": of.subschema_for::<agent::UpdatePush>(),
        "agent.done": of.subschema_for::<agent::DonePush>(),
        "event": of.subschema_for::<Event>(),
        "fs.changed": of.subschema_for::<fs::ChangedPush>(),
    });
    let paths = paths(&mut of);
    let mut schemas = of.take_definitions(true);
    for (name, schema) in envelopes(&requests) {
        let before = schemas.insert(name.clone(), schema);
        debug_assert!(before.is_none(), "two things are called {name}");
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "TRL",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Shells and processes for AI agents. The methods of POST /rpc and WS /ws/rpc are those of \
                the socket; `x-trl-methods` has their parameters, results and least role, `x-trl-pushes` what a \
                WebSocket is sent between replies.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "x-trl-methods": methods,
        "x-trl-pushes": pushes,
    });
    // Whichever way maps are ordered in this build.
    document.sort_all_objects();
    document
}

fn least_role(method: Method) -> &'static str {
    match method.access() {
        Access::Watch => "viewer",
        Access::Run => "agent",
        Access::Operate => "operator",
    }
}

/// One request of the JSON-RPC envelope; the plain one is the same without `jsonrpc`.
fn request(method: Method, params: &Schema) -> Value {
    json!({
        "type": "object",
        "title": method.name(),
        "description": method.about(),
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "number"]},
            "method": {"const": method.name()},
            "params": params,
        },
        "required": ["method"],
        "additionalProperties": false,
    })
}

fn envelopes(requests: &[Value]) -> Map<String, Value> {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let detail = json!({
        "type": "object",
        "properties": {"code": reference("ErrorCode"), "message": {"type": "string"}, "hint": {"type": "string"}},
        "required": ["code"],
    });
    let reply = json!({
        "description": "JSON-RPC 2.0 when the request was, else the plain form.",
        "oneOf": [
            {"type": "object", "properties": {"jsonrpc": {"const": "2.0"}, "id": {}, "result": {}}, "required": ["jsonrpc", "id", "result"]},
            {"type": "object", "properties": {"jsonrpc": {"const": "2.0"}, "id": {}, "error": {"type": "object", "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": reference("ErrorDetail")}}}, "required": ["jsonrpc", "id", "error"]},
            {"type": "object", "properties": {"id": {}, "ok": {"const": true}, "data": {}}, "required": ["id", "ok", "data"]},
            {"type": "object", "properties": {"id": {}, "ok": {"const": false}, "error": reference("ErrorDetail")}, "required": ["id", "ok", "error"]},
        ],
    });
    let refusal = json!({
        "type": "object", "properties": {"error": reference("ErrorDetail")}, "required": ["error"],
    });
    Map::from_iter([
        ("Request".to_string(), json!({"oneOf": requests})),
        ("ErrorDetail".to_string(), detail),
        ("Reply".to_string(), reply),
        ("Refusal".to_string(), refusal),
    ])
}

/// An answer whose body is this.
fn body(about: &str, kind: &str, schema: Value) -> Value {
    json!({"description": about, "content": {kind: {"schema": schema}}})
}

/// The answers every route with a token can give, and these.
fn answers(own: Value) -> Value {
    let refusal =
        |about: &str| body(about, "application/json", json!({"$ref": "#/components/schemas/Refusal"}));
    let mut all = json!({
        "401": refusal("No token, or not a valid one"),
        "403": refusal("A foreign Host or Origin, or not for this role or token"),
        "429": refusal("Too many wrong tokens from this address; see Retry-After"),
    });
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
        all.extend(own);
    }
    all
}

fn paths(of: &mut SchemaGenerator) -> Value {
    let refusal =
        |about: &str| body(about, "application/json", json!({"$ref": "#/components/schemas/Refusal"}));
    let reply = json!({"oneOf": [
        {"$ref": "#/components/schemas/Reply"},
        {"type": "array", "items": {"$ref": "#/components/schemas/Reply"}},
    ]});
    let one = json!({"$ref": "#/components/schemas/Request"});
    let status =
        json!({"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]});
    let output = of.subschema_for::<OutputPushed>();
    let outcome = of.subschema_for::<Outcome>();
    let update = of.subschema_for::<agent::UpdatePush>();
    let done = of.subschema_for::<agent::DonePush>();
    let ticket = of.subschema_for::<Ticket>();
    let terminal = of.subschema_for::<TerminalInfo>();
    let terminals = of.subschema_for::<TerminalList>();
    let create_terminal = of.subschema_for::<terminal::CreateParams>();
    let _ = of.subschema_for::<ErrorCode>();
    json!({
        "/rpc": {"post": {
            "summary": "Call a method, or a batch of them",
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"oneOf": [one, {"type": "array", "items": one}]}}}},
            "responses": answers(json!({
                "200": body("The reply, a refusal of the method included", "application/json", reply),
                "204": {"description": "Only notifications were sent"},
                "400": body("Not a request", "application/json", json!({"$ref": "#/components/schemas/Reply"})),
                "408": refusal("The body did not come in time"),
                "413": refusal("The body is too large"),
                "415": refusal("The body is not application/json"),
            })),
        }},
        "/mcp": {"post": {
            "summary": "A message of the Model Context Protocol, without sessions; docs/mcp.md",
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object"}}}},
            "responses": answers(json!({
                "200": {"description": "The reply", "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {"schema": {"type": "string"}}}},
                "202": {"description": "It was no request"},
                "400": {"description": "Not a message, or headers that contradict it"},
                "406": {"description": "Accept must name application/json and text/event-stream"},
                "408": refusal("The body did not come in time"),
                "413": refusal("The body is too large"),
                "415": {"description": "The body is not application/json"},
            })),
        }},
        "/ws/rpc": {"get": {
            "summary": "The same as a conversation, with pushes; a WebSocket",
            "parameters": [{"name": "ticket", "in": "query", "schema": {"type": "string"}, "description": "In place of the token, from a browser; needs Origin"}],
            "responses": answers(json!({
                "101": {"description": "A WebSocket; one request, reply or push per message"},
                "426": refusal("Not a WebSocket handshake"),
            })),
        }},
        "/ws/terminal/{terminal_id}": {"get": {
            "summary": "Sit beside a terminal; a WebSocket, described in docs/wire.md",
            "parameters": [
                {"name": "terminal_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "gen", "in": "query", "schema": {"type": "string"}, "description": "With `since`: which incarnation the offset is of"},
                {"name": "since", "in": "query", "schema": {"type": "integer"}, "description": "The next byte wanted"},
                {"name": "mode", "in": "query", "schema": {"enum": ["drive", "view"]}},
                {"name": "client", "in": "query", "schema": {"type": "string", "maxLength": 64}},
                {"name": "cols", "in": "query", "schema": {"type": "integer"}},
                {"name": "rows", "in": "query", "schema": {"type": "integer"}},
                {"name": "ticket", "in": "query", "schema": {"type": "string"}, "description": "In place of the token, from a browser; needs Origin"},
            ],
            "responses": answers(json!({
                "101": {"description": "A WebSocket; closed with 4004 when there is no such terminal, 4003 when it is another's"},
                "426": refusal("Not a WebSocket handshake"),
            })),
        }},
        "/api/terminals": {
            "get": {"summary": "All terminals", "responses": answers(json!({"200": body("Them", "application/json", json!(terminals))}))},
            "post": {
                "summary": "Start a program on a terminal",
                "requestBody": {"content": {"application/json": {"schema": create_terminal}}},
                "responses": answers(json!({"201": body("It", "application/json", json!(terminal)), "400": refusal("Not possible as asked")})),
            },
        },
        "/api/workspaces/{workspace_id}/terminals": {"get": {
            "summary": "The live terminals of a workspace",
            "parameters": [
                {"name": "workspace_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "all", "in": "query", "schema": {"type": "boolean"}, "description": "Those whose programs have ended too"},
            ],
            "responses": answers(json!({"200": body("Them", "application/json", json!(terminals))})),
        }},
        "/api/terminals/{terminal_id}": {
            "parameters": [{"name": "terminal_id", "in": "path", "required": true, "schema": {"type": "string"}}],
            "get": {"summary": "One terminal", "responses": answers(json!({"200": body("It", "application/json", json!(terminal)), "404": refusal("No such terminal")}))},
            "delete": {
                "summary": "End everything it started",
                "parameters": [{"name": "grace_s", "in": "query", "schema": {"type": "number"}, "description": "Until then terminal.keep takes it back"}],
                "responses": answers(json!({"200": body("It, as it ended", "application/json", json!(terminal)), "404": refusal("No such terminal")})),
            },
        },
        "/api/terminals/{terminal_id}/recording": {"get": {
            "summary": "What it showed, from the oldest byte there is, as asciicast v3",
            "parameters": [
                {"name": "terminal_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "follow", "in": "query", "schema": {"enum": [0, 1]}, "description": "1: go on until the terminal ends"},
                {"name": "idle_limit_s", "in": "query", "schema": {"type": "number", "exclusiveMinimum": 0}, "description": "The header's `idle_time_limit`"},
            ],
            "responses": answers(json!({
                "200": body("A header, then one event a line", "application/x-asciicast", json!({"type": "string"})),
                "400": refusal("Not possible as asked"),
                "404": refusal("No such terminal"),
            })),
        }},
        "/api/workspaces/{workspace_id}/files/{path}": files(of, "workspace_id"),
        "/api/sessions/{session_id}/files/{path}": files(of, "session_id"),
        "/api/tickets": {"post": {
            "summary": "A ticket for one WebSocket, good once and briefly",
            "responses": answers(json!({"201": body("The ticket", "application/json", json!(ticket))})),
        }},
        "/api/executions/{execution_id}/events": {"get": {
            "summary": "The output of an execution as Server-Sent Events: `output`, and last `exit`",
            "parameters": [
                {"name": "execution_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+(\\.exit)?$"}, "description": "Where to go on: bytes of stdout and stderr that were seen"},
            ],
            "responses": answers(json!({
                "200": {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}, "x-trl-events": {"output": output, "exit": outcome}},
                "204": {"description": "The exit was seen already"},
                "404": refusal("No such execution"),
            })),
        }},
        "/api/sessions/{session_id}/messages/{message_id}/events": {"get": {
            "summary": "What comes of a message to an agent as Server-Sent Events: `update`, and last `done`",
            "parameters": [
                {"name": "session_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "message_id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string", "pattern": "^[0-9]+(\\.done)?$"}, "description": "The last update that was seen"},
            ],
            "responses": answers(json!({
                "200": {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}, "x-trl-events": {"update": update, "done": done}},
                "204": {"description": "The end was seen already"},
                "404": refusal("No such message"),
            })),
        }},
        "/metrics": {"get": {
            "summary": "Figures for Prometheus",
            "responses": answers(json!({"200": body("Figures", "text/plain", json!({"type": "string"}))})),
        }},
        "/healthz": {"get": {"summary": "Is it alive", "security": [], "responses": {"200": body("It is", "application/json", status.clone())}}},
        "/readyz": {"get": {"summary": "Does it take requests", "security": [], "responses": {
            "200": body("It does", "application/json", status.clone()),
            "503": body("It is ending", "application/json", status),
        }}},
        "/openapi.json": {"get": {"summary": "This document", "security": [], "responses": {"200": {"description": "This document"}}}},
    })
}

/// The files of a workspace or a session.
fn files(of: &mut SchemaGenerator, owner: &str) -> Value {
    let refusal =
        |about: &str| body(about, "application/json", json!({"$ref": "#/components/schemas/Refusal"}));
    let bytes = json!({"type": "string", "format": "binary"});
    let header = |name: &str, about: &str| json!({"name": name, "in": "header", "schema": {"type": "string"}, "description": about});
    let query = |name: &str, about: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": about});
    let (list, written) = (of.subschema_for::<fs::FileList>(), of.subschema_for::<fs::FileWritten>());
    let removed = of.subschema_for::<fs::FileRemoved>();
    let missing = refusal("No such file, or no such workspace");
    json!({
        "parameters": [
            {"name": owner, "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "path", "in": "path", "required": true, "schema": {"type": "string"}, "description": "May contain `/`; any bytes, percent-encoded"},
        ],
        "get": {
            "summary": "The bytes of a file; of a directory, what is in it",
            "parameters": [
                header("Range", "One range of bytes"),
                header("If-Range", "The ETag the range is of"),
                header("If-None-Match", "An ETag that is known already"),
            ],
            "responses": answers(json!({
                "200": {"description": "The file, or a list", "content": {"application/octet-stream": {"schema": bytes.clone()}, "application/json": {"schema": list}}},
                "206": body("The range", "application/octet-stream", bytes.clone()),
                "304": {"description": "It is still that one"},
                "404": missing.clone(),
                "416": refusal("No such range"),
            })),
        },
        "put": {
            "summary": "Write a file, all of it or nothing",
            "parameters": [
                query("mode", "Permission bits in octal digits"),
                query("create_dirs", "1: make missing directories on the way"),
                header("If-Match", "Only in place of the file with this ETag"),
                header("If-None-Match", "`*`: only where nothing is"),
            ],
            "requestBody": {"required": true, "content": {"application/octet-stream": {"schema": bytes}}},
            "responses": answers(json!({
                "200": body("It was replaced", "application/json", json!(written)),
                "201": body("It is new", "application/json", json!(written)),
                "408": refusal("The body did not come in time"),
                "412": refusal("It is another file by now"),
                "413": refusal("The body is too large"),
                "507": refusal("The disk is full"),
            })),
        },
        "delete": {
            "summary": "Remove a file, or a directory",
            "parameters": [query("recursive", "1: with all that is in it")],
            "responses": answers(json!({"200": body("It is gone", "application/json", json!(removed)), "404": missing})),
        },
    })
}

/// Ids are strings of a known form.
pub(crate) fn id_schema(prefix: &str) -> Schema {
    json_schema!({"type": "string", "pattern": format!("^{prefix}[a-z0-9]{{1,32}}$")})
}
