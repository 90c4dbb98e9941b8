//! TRL as tools for a model, by the Model Context Protocol.
//!
//! 1. [`tools`] is what a model is told: names, words, parameters.
//! 2. [`calls`] makes calls of the wire out of a tool's parameters ([`keep`] those about checkpoints), by whatever [`hands`]
//!    there are: a connection to the daemon here, the daemon itself behind its HTTP door (`serve/http/mcp.rs`).
//! 3. [`show`] says what came of it, in as many words as the model wants and as a structure.
//! 4. [`ask`] asks the person at the model's side, when a command has to be approved and the client can ask.
//! 5. [`resources`] are what can be read without a tool: sessions, output, screens.
//! 6. [`stdio`] carries the messages of a client that has started this process.
//!
//! In builds with debug assertions `fixtures` stands before it when a test says so: what the protocol's conformance suite wants.
//!
//! Nothing is kept between calls: sessions and executions are named in every one of them, so any connection, and any
//! process, can go on where another was.

mod ask;
mod calls;
#[cfg(debug_assertions)]
mod fixtures;
mod hands;
mod hints;
mod keep;
mod params;
mod resources;
mod show;
mod stdio;
mod tools;

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};

use self::ask::Person;
use self::calls::Calls;
pub(crate) use self::hands::{Hands, Later, Socket, find_shell};
use self::stdio::Stdio;
use crate::config::Config;

/// For people who set it up.
pub(crate) const ABOUT: &str = "\
In a client's configuration:

  {\"mcpServers\": {\"trl\": {\"command\": \"trl\", \"args\": [\"mcp\"]}}}

Commands run in the directory the client starts this in, unless they say otherwise. A daemon is started if none runs. What
they may do is what the daemon's settings, cases and rules say; a command that has to be approved is asked about through the
client when it can ask, and in `trl approve` and the web UI in any case.";

/// What a model is told before it sees any tool.
const INSTRUCTIONS: &str = "Runs commands on the user's machine. Without `session` a command is a fresh process; a session \
     (new_session) keeps directory, variables and functions between commands. A command that takes long goes on: its \
     reply has an execution_id for wait, write_stdin, read_output and kill.";

/// How often somebody who waits hears that it still goes on.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// One server, on whatever carries it.
pub(crate) struct Server {
    calls: Calls,
}

impl Server {
    pub(crate) fn new(hands: impl Hands + 'static) -> Self {
        Self { calls: Calls::new(hands) }
    }
}

/// What serves at the HTTP door.
#[cfg(not(debug_assertions))]
pub(crate) fn at_the_door(hands: impl Hands + 'static) -> impl ServerHandler {
    Server::new(hands)
}

/// As it is shipped, unless a test wants more.
#[cfg(debug_assertions)]
pub(crate) fn at_the_door(hands: impl Hands + 'static) -> impl ServerHandler {
    fixtures::Staged::new(Server::new(hands))
}

/// Serves the client on stdin and stdout until it goes.
pub(crate) async fn serve_stdio(config: &Config) -> Result<(), String> {
    let server = Server::new(Socket::new(config.clone()));
    let running = server.serve(Stdio::new(config.wire.max_line_bytes)).await.map_err(|e| e.to_string())?;
    running.waiting().await.map_err(|e| e.to_string())?;
    Ok(())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("trl", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let person = Person::of(&request, &context);
        let call = self.calls.call(&request.name, request.arguments.unwrap_or_default(), &person);
        let progress = tell_progress(&context);
        tokio::select! {
            done = call => done,
            never = progress => match never {},
            // What was started goes on; only the waiting is over.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    /// There are none. `rmcp` would answer with an empty list, as if there could be.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    /// The same.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    /// A method of the protocol gets here when its parameters do not have the shape of the method's.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(params::refused(&request, &context.meta))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(self.calls.hands()).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(self.calls.hands(), &request.uri).await.map(ReadResourceResponse::from)
    }
}

/// Whoever asked to hear of progress hears, for as long as this is waited for.
async fn tell_progress(context: &RequestContext<RoleServer>) -> std::convert::Infallible {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let mut seconds = 0.0;
    loop {
        tokio::time::sleep(PROGRESS_EVERY).await;
        seconds += PROGRESS_EVERY.as_secs_f64();
        let mut progress = ProgressNotificationParam::new(token.clone(), seconds);
        progress.message = Some(format!("{seconds:.0} s"));
        let _unheard = context.peer.notify_progress(progress).await;
    }
}
