//! `POST /mcp`: tools for a model, over HTTP.
//!
//! 1. Guard and gate are those of every route: whoever calls is a principal, and every call of a tool is one of the wire,
//!    made as that principal ([`super::super::principal`] decides, as everywhere).
//! 2. `rmcp` reads the message, answers with JSON or with events, and checks the protocol's own headers. It remembers
//!    nothing between requests: sessions are arguments of tools.
//! 3. What a tool asks for is done here, with no socket between ([`Inside`]).
//!
//! Commands run in the home directory unless they say where: an HTTP client has no directory here.

use std::path::Path;
use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::value::{RawValue, to_raw_value};
use trl_proto::envelope::Request as Asked;
use trl_proto::heard::{self, Heard};
use trl_proto::hitl::RespondParams;
use trl_proto::{Dialect, Error, Method};

use super::super::connection::{Client, Hears};
use super::super::rpc;
use super::Visit;
use super::answer::{Answer, Refusal};
use crate::mcp::{self, Hands, Later};

impl Visit {
    pub(super) async fn mcp(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        let client = Client::new(&self.door.server, principal, Hears::Replies, None);
        let inside = Inside { client, shell: mcp::find_shell() };
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(Some(self.door.keep_alive()))
            .with_max_request_body_bytes(self.door.server.wire.max_line_bytes)
            // The guard has looked at both already, by this door's own settings.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service = StreamableHttpService::new(
            move || Ok(mcp::at_the_door(inside.clone())),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        let answer = service.handle(self.read(request).await?).await;
        Ok(answer.map(|body| Either::Right(Either::Right(body))))
    }

    /// With its body, as large and as late as this door allows.
    async fn read(&self, request: Request<Incoming>) -> Result<Request<Full<Bytes>>, Refusal> {
        let mut whole = Request::new(Full::default());
        *whole.method_mut() = request.method().clone();
        *whole.uri_mut() = request.uri().clone();
        *whole.headers_mut() = request.headers().clone();
        *whole.body_mut() = Full::new(self.body(request).await?);
        Ok(whole)
    }
}

/// The daemon itself, asked as the principal of one request.
#[derive(Clone)]
struct Inside {
    client: Arc<Client>,
    shell: Option<String>,
}

impl Inside {
    /// In a task of its own: what was begun is not left half done when the client goes.
    async fn ask(&self, method: Method, params: Box<RawValue>) -> Result<Box<RawValue>, Error> {
        let request = Asked {
            dialect: Dialect::JsonRpc,
            id: Some(to_raw_value(&1).map_err(|e| not_said(&e))?),
            method: method.name().into(),
            params: Some(params),
        };
        let client = Arc::clone(&self.client);
        let answered = tokio::spawn(async move { rpc::dispatch(&client, &request).await.line }).await;
        let line = answered.map_err(|e| Error::internal(e.to_string()))?;
        match heard::parse(&line) {
            Ok(Some(Heard::Reply { outcome, .. })) => outcome,
            Ok(_) => Err(Error::internal("a reply that is none")),
            Err(e) => Err(not_said(&e)),
        }
    }
}

fn not_said(error: &serde_json::Error) -> Error {
    Error::internal(format!("a call that cannot be written or read: {error}"))
}

impl Hands for Inside {
    fn call(&self, method: Method, params: Box<RawValue>) -> Later<'_, Box<RawValue>> {
        Box::pin(self.ask(method, params))
    }

    /// Only who may answer anyhow: nobody lends a token its authority here.
    fn may_respond(&self) -> bool {
        self.client.principal().may_call(Method::HitlRespond).is_ok()
    }

    fn respond(&self, answer: RespondParams) -> Later<'_, ()> {
        Box::pin(async move {
            let params = to_raw_value(&answer).map_err(|e| not_said(&e))?;
            self.ask(Method::HitlRespond, params).await.map(drop)
        })
    }

    fn working_dir(&self) -> Option<&Path> {
        None
    }

    fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }
}
