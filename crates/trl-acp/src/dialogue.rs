//! Who has said what: the state of one connection to an agent.
//!
//! ```text
//!  begin ─▶ Initializing ─▶ Known ─ open ─▶ Opening ─▶ Ready ─ prompt ─▶ Prompting ─▶ Ready ...
//!                                              │ its earlier session is gone
//!                                              └─▶ Opening (a new one)
//! ```
//!
//! 1. [`Dialogue::begin`], [`Dialogue::open`], [`Dialogue::prompt`] and [`Dialogue::cancel`] give the lines to be written.
//! 2. [`Dialogue::hear`] takes a line of the agent and says what it means; some need an answer at once, which comes along.
//! 3. A question ([`Heard::Call`]) is answered with [`Dialogue::answer`] or [`Dialogue::refuse`], whenever.
//!
//! What does not fit is passed over, unless it is no message at all: then nobody knows what else is lost ([`Breach`]). Only
//! before its first answer an agent may write what it likes, since that may be whoever starts it.

use std::path::PathBuf;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value};
use trl_proto::agent::{AgentName, StopReason, Update};

use crate::call::{Call, CallId, Reply, Unknown};
use crate::rpc::{self, RpcError, Said};
use crate::tools::OpenCalls;
use crate::update;

/// Lines that are no messages before the first that is one.
const MOST_NOISE: usize = 64;
/// Of a line that is quoted to people.
const MOST_QUOTED: usize = 200;

/// How far it has come, and what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Initialize,
    Version,
    Auth,
    Open,
    Prompt,
    Protocol,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Version => "version",
            Self::Auth => "auth",
            Self::Open => "open",
            Self::Prompt => "prompt",
            Self::Protocol => "protocol",
        }
    }
}

/// There is nothing more to be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Breach {
    pub stage: Stage,
    pub message: String,
}

/// A line, understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It has said who it is; a session can be opened.
    Initialized(AgentName),
    /// It can be given messages.
    Opened {
        session: String,
        /// It is the one it had before.
        resumed: bool,
    },
    /// This is to be written, and nothing else is to be done.
    Write(Vec<u8>),
    Update(Update),
    Call {
        id: CallId,
        call: Call,
    },
    /// The message is over.
    Ended(StopReason),
    /// The message is over, and this is why.
    Failed(String),
    Nothing,
}

/// What a session is opened with.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    pub cwd: PathBuf,
    pub server: Option<Server>,
    /// For agents that are told more than the protocol has words for.
    pub meta: Option<Map<String, Value>>,
    /// The session it had before.
    pub known: Option<String>,
}

/// An MCP server that it is to start.
#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

#[derive(Debug)]
enum State {
    New,
    Initializing,
    Known,
    Opening { opening: Opening, resuming: bool },
    Ready { session: String },
    Prompting { session: String },
}

#[derive(Debug)]
pub struct Dialogue {
    state: State,
    /// Of the request that is out; there is one at most.
    asked: u64,
    noise: usize,
    can_load: bool,
    can_resume: bool,
    /// What it is about to do, for when it asks whether it may.
    calls: OpenCalls,
}

impl Default for Dialogue {
    fn default() -> Self {
        let (state, calls) = (State::New, OpenCalls::default());
        Self { state, asked: 0, noise: 0, can_load: false, can_resume: false, calls }
    }
}

impl Dialogue {
    /// The first words.
    pub fn begin(&mut self, version: &str) -> Vec<u8> {
        let files = acp::FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        let capabilities = acp::ClientCapabilities::new().fs(files).terminal(true);
        let params = acp::InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(capabilities)
            .client_info(acp::Implementation::new("trl", version));
        self.state = State::Initializing;
        self.ask("initialize", params)
    }

    /// Has a session opened: the one it had, if it can do that, else a new one.
    pub fn open(&mut self, opening: Opening) -> Vec<u8> {
        let servers = opening.server.iter().map(server).collect();
        let meta = opening.meta.clone();
        let known = opening.known.clone().filter(|_| self.can_load || self.can_resume);
        let cwd = opening.cwd.clone();
        self.state = State::Opening { opening, resuming: known.is_some() };
        match known {
            Some(id) if self.can_resume => {
                let params = acp::ResumeSessionRequest::new(id, cwd).mcp_servers(servers).meta(meta);
                self.ask("session/resume", params)
            }
            Some(id) => {
                let params = acp::LoadSessionRequest::new(id, cwd).mcp_servers(servers).meta(meta);
                self.ask("session/load", params)
            }
            None => {
                let params = acp::NewSessionRequest::new(cwd).mcp_servers(servers).meta(meta);
                self.ask("session/new", params)
            }
        }
    }

    /// A message; None when it can take none.
    pub fn prompt(&mut self, text: &str) -> Option<Vec<u8>> {
        let State::Ready { session } = &self.state else { return None };
        let session = session.clone();
        let text = acp::ContentBlock::Text(acp::TextContent::new(text));
        let params = acp::PromptRequest::new(session.clone(), vec![text]);
        self.state = State::Prompting { session };
        self.calls.forget();
        Some(self.ask("session/prompt", params))
    }

    /// Asks it to stop; None when it does nothing.
    pub fn cancel(&self) -> Option<Vec<u8>> {
        let State::Prompting { session } = &self.state else { return None };
        Some(rpc::notification("session/cancel", acp::CancelNotification::new(session.clone())))
    }

    /// A question with all that the agent has said of it by now.
    pub fn complete(&self, call: Call) -> Call {
        match call {
            Call::Permission { tool_call, options } => {
                Call::Permission { tool_call: self.calls.complete(tool_call), options }
            }
            other => other,
        }
    }

    pub fn answer(&self, id: &CallId, reply: Reply) -> Vec<u8> {
        reply.line(id)
    }

    pub fn refuse(&self, id: &CallId, message: &str) -> Vec<u8> {
        rpc::refusal(&id.0, -32603, message)
    }

    /// Where it would fail now.
    pub fn stage(&self) -> Stage {
        match self.state {
            State::New | State::Initializing => Stage::Initialize,
            State::Known | State::Opening { .. } => Stage::Open,
            State::Ready { .. } | State::Prompting { .. } => Stage::Prompt,
        }
    }

    /// What a line means.
    pub fn hear(&mut self, line: &[u8]) -> Result<Heard, Breach> {
        match rpc::parse(line) {
            None => self.noise(line),
            Some(Said::Response { id, outcome }) => self.answered(&id, outcome),
            Some(Said::Request { id, method, params }) => Ok(self.asked(id, &method, params)),
            Some(Said::Notification { method, params }) if method == "session/update" => {
                Ok(self.updated(params))
            }
            Some(Said::Notification { .. }) => Ok(Heard::Nothing),
        }
    }

    fn ask(&mut self, method: &str, params: impl serde::Serialize) -> Vec<u8> {
        self.asked += 1;
        rpc::request(self.asked, method, params)
    }

    fn noise(&mut self, line: &[u8]) -> Result<Heard, Breach> {
        self.noise += 1;
        if matches!(self.state, State::New | State::Initializing) && self.noise <= MOST_NOISE {
            return Ok(Heard::Nothing);
        }
        let quoted: String = String::from_utf8_lossy(line).chars().take(MOST_QUOTED).collect();
        let message = format!("the agent wrote what is no message of the protocol: {quoted}");
        Err(Breach { stage: Stage::Protocol, message })
    }

    fn asked(&self, id: Value, method: &str, params: Value) -> Heard {
        match Call::read(method, params) {
            Ok(call) => Heard::Call { id: CallId(id), call: self.complete(call) },
            Err(Unknown::Method) => {
                Heard::Write(rpc::refusal(&id, -32601, &format!("there is no method {method:?} here")))
            }
            Err(Unknown::Params) => {
                Heard::Write(rpc::refusal(&id, -32602, &format!("{method}: these are no parameters of it")))
            }
        }
    }

    /// While a session is opened, the past is told again; that is known.
    fn updated(&mut self, params: Value) -> Heard {
        let (State::Ready { session } | State::Prompting { session }) = &self.state else {
            return Heard::Nothing;
        };
        let foreign = params.get("sessionId").and_then(Value::as_str).is_some_and(|id| id != session);
        let Some(update) = update::read(params).filter(|_| !foreign) else { return Heard::Nothing };
        if let Update::ToolCall(call) = &update {
            self.calls.hear(call);
        }
        Heard::Update(update)
    }

    fn answered(&mut self, id: &Value, outcome: Result<Value, RpcError>) -> Result<Heard, Breach> {
        // An answer to nothing.
        if id.as_u64() != Some(self.asked) {
            return Ok(Heard::Nothing);
        }
        match std::mem::replace(&mut self.state, State::New) {
            State::Initializing => self.initialized(outcome),
            State::Opening { opening, resuming } => self.opened(opening, resuming, outcome),
            State::Prompting { session } => {
                self.state = State::Ready { session };
                self.prompted(outcome)
            }
            before => {
                self.state = before;
                Ok(Heard::Nothing)
            }
        }
    }

    fn initialized(&mut self, outcome: Result<Value, RpcError>) -> Result<Heard, Breach> {
        let said = outcome.map_err(|error| breach(Stage::Initialize, &error))?;
        let answer: acp::InitializeResponse = serde_json::from_value(said).map_err(|error| Breach {
            stage: Stage::Initialize,
            message: format!("the agent's answer to initialize is none: {error}"),
        })?;
        if answer.protocol_version != ProtocolVersion::V1 {
            let version = answer.protocol_version;
            let message = format!("the agent speaks version {version} of the protocol, not 1");
            return Err(Breach { stage: Stage::Version, message });
        }
        self.can_load = answer.agent_capabilities.load_session;
        self.can_resume = answer.agent_capabilities.session_capabilities.resume.is_some();
        self.state = State::Known;
        Ok(Heard::Initialized(match answer.agent_info {
            Some(info) => AgentName { name: info.name, title: info.title, version: Some(info.version) },
            None => AgentName::default(),
        }))
    }

    fn opened(
        &mut self,
        opening: Opening,
        resuming: bool,
        outcome: Result<Value, RpcError>,
    ) -> Result<Heard, Breach> {
        let said = match outcome {
            Ok(said) => said,
            // -32000 is that somebody has to log in: a new session would not help.
            Err(error) if resuming && error.code != -32000 => {
                return Ok(Heard::Write(self.open(Opening { known: None, ..opening })));
            }
            Err(error) => {
                return Err(breach(if error.code == -32000 { Stage::Auth } else { Stage::Open }, &error));
            }
        };
        let given = said.get("sessionId").and_then(Value::as_str).map(String::from);
        let Some(session) = opening.known.filter(|_| resuming).or(given) else {
            let message = "the agent's answer to session/new has no session".into();
            return Err(Breach { stage: Stage::Open, message });
        };
        self.state = State::Ready { session: session.clone() };
        Ok(Heard::Opened { session, resumed: resuming })
    }

    fn prompted(&mut self, outcome: Result<Value, RpcError>) -> Result<Heard, Breach> {
        let said = match outcome {
            Ok(said) => said,
            Err(error) if error.code == -32000 => return Err(breach(Stage::Auth, &error)),
            Err(error) => return Ok(Heard::Failed(error.said())),
        };
        let reason = said.get("stopReason").and_then(Value::as_str).and_then(StopReason::named);
        Ok(match reason {
            Some(reason) => Heard::Ended(reason),
            None => {
                Heard::Failed(format!("the agent ended the message for no reason of the protocol: {said}"))
            }
        })
    }
}

fn breach(stage: Stage, error: &RpcError) -> Breach {
    let message = match stage {
        Stage::Auth => format!("the agent wants somebody to log in: {}", error.said()),
        _ => format!("the agent refused {}: {}", stage.name(), error.said()),
    };
    Breach { stage, message }
}

fn server(server: &Server) -> acp::McpServer {
    let env = server.env.iter().map(|(name, value)| acp::EnvVariable::new(name, value)).collect();
    acp::McpServer::Stdio(
        acp::McpServerStdio::new(&server.name, &server.command).args(server.args.clone()).env(env),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn hear(dialogue: &mut Dialogue, said: Value) -> Result<Heard, Breach> {
        dialogue.hear(said.to_string().as_bytes())
    }

    fn asked(line: &[u8]) -> Value {
        serde_json::from_slice(line).unwrap()
    }

    fn known(capabilities: Value) -> Dialogue {
        let mut dialogue = Dialogue::default();
        let first = asked(&dialogue.begin("1"));
        assert_eq!(
            (first["method"].as_str(), &first["params"]["protocolVersion"]),
            (Some("initialize"), &json!(1))
        );
        let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        let heard = hear(&mut dialogue, json!({"id": first["id"], "result": result}));
        assert_eq!(heard, Ok(Heard::Initialized(AgentName::default())));
        dialogue
    }

    fn ready() -> Dialogue {
        let mut dialogue = known(json!({}));
        let line = asked(&dialogue.open(Opening::default()));
        hear(&mut dialogue, json!({"id": line["id"], "result": {"sessionId": "x"}})).unwrap();
        dialogue
    }

    #[test]
    fn a_message_from_beginning_to_end() {
        let mut dialogue = ready();
        assert_eq!(dialogue.cancel(), None);
        let line = asked(&dialogue.prompt("hello").unwrap());
        assert_eq!(line["params"], json!({"sessionId": "x", "prompt": [{"type": "text", "text": "hello"}]}));
        assert_eq!(dialogue.prompt("again"), None);
        assert_eq!(asked(&dialogue.cancel().unwrap())["method"], "session/cancel");
        let unknown = hear(&mut dialogue, json!({"id": "q", "method": "fs/delete"}));
        let Ok(Heard::Write(answer)) = unknown else { panic!("{unknown:?}") };
        assert_eq!(asked(&answer)["error"]["code"], -32601);
        let done = json!({"id": line["id"], "result": {"stopReason": "cancelled"}});
        assert_eq!(hear(&mut dialogue, done.clone()), Ok(Heard::Ended(StopReason::Cancelled)));
        assert_eq!(hear(&mut dialogue, done), Ok(Heard::Nothing));
        assert!(dialogue.prompt("more").is_some());
    }

    #[test]
    fn an_earlier_session_is_loaded_and_a_new_one_takes_its_place() {
        for (capabilities, method) in [
            (json!({"loadSession": true}), "session/load"),
            (json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}), "session/resume"),
            (json!({}), "session/new"),
        ] {
            let mut dialogue = known(capabilities);
            let opening = Opening { known: Some("old".into()), cwd: "/w".into(), ..Opening::default() };
            let line = asked(&dialogue.open(opening));
            assert_eq!(line["method"], method);
            let replay = json!({"method": "session/update", "params": {"sessionId": "old",
                "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "past"}}}});
            assert_eq!(hear(&mut dialogue, replay), Ok(Heard::Nothing));
            if method == "session/new" {
                continue;
            }
            let gone = json!({"id": line["id"], "error": {"code": -32002, "message": "no such session"}});
            let Ok(Heard::Write(line)) = hear(&mut dialogue, gone) else { panic!("not tried again") };
            let line = asked(&line);
            assert_eq!(
                (line["method"].as_str(), line["params"]["cwd"].as_str()),
                (Some("session/new"), Some("/w"))
            );
            let heard = hear(&mut dialogue, json!({"id": line["id"], "result": {"sessionId": "n"}}));
            assert_eq!(heard, Ok(Heard::Opened { session: "n".into(), resumed: false }));
        }
    }

    #[test]
    fn what_cannot_go_on_says_where() {
        let mut other = Dialogue::default();
        let line = asked(&other.begin("1"));
        let heard = hear(&mut other, json!({"id": line["id"], "result": {"protocolVersion": 2}}));
        assert_eq!(heard.unwrap_err().stage, Stage::Version);
        let mut locked = known(json!({}));
        let line = asked(&locked.open(Opening::default()));
        let heard =
            hear(&mut locked, json!({"id": line["id"], "error": {"code": -32000, "message": "log in"}}));
        assert_eq!(heard.unwrap_err().stage, Stage::Auth);
        let mut loud = Dialogue::default();
        loud.begin("1");
        assert_eq!(loud.hear(b"npm is happy to help"), Ok(Heard::Nothing));
        assert_eq!(ready().hear(b"npm is happy to help").unwrap_err().stage, Stage::Protocol);
    }

    proptest! {
        #[test]
        fn nothing_an_agent_says_is_a_surprise(lines in prop::collection::vec(any_line(), 0..40)) {
            let mut dialogue = Dialogue::default();
            dialogue.begin("1");
            for line in lines {
                match dialogue.hear(line.as_bytes()) {
                    Ok(Heard::Initialized(_)) => drop(dialogue.open(Opening { known: Some("a".into()), ..Opening::default() })),
                    Ok(Heard::Opened { .. } | Heard::Ended(_)) => drop(dialogue.prompt("x")),
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
    }

    fn any_line() -> impl Strategy<Value = String> {
        let id = prop_oneof![Just(json!(null)), (0u64..5).prop_map(Value::from), Just(json!("1"))];
        let result = prop_oneof![
            Just(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})),
            Just(json!({"sessionId": "a"})),
            Just(json!({"stopReason": "end_turn"})),
            Just(json!(null)),
        ];
        prop_oneof![
            (id.clone(), result).prop_map(|(id, result)| json!({"id": id, "result": result}).to_string()),
            id.clone().prop_map(|id| json!({"id": id, "error": {"code": 1}}).to_string()),
            (id, "[a-z/_]{0,12}").prop_map(|(id, method)| json!({"id": id, "method": method}).to_string()),
            Just(json!({"method": "session/update", "params": {"update": 3}}).to_string()),
            ".{0,30}",
        ]
    }
}
