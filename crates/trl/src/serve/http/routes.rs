//! What there is behind the door.
//!
//! 1. [`handle`] answers every request, whatever becomes of it, with the headers that all answers have.
//! 2. [`Visit::serve`] lets the guard look, finds the route, and asks at the gate where a route needs somebody.

use std::convert::Infallible;
use std::str;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method as Verb, Request, StatusCode, Uri};
use serde_json::{Value, json};
use trl_proto::envelope::{self, Incoming as Asked};
use trl_proto::terminal::{ListParams, TerminalList};
use trl_proto::token::Ticket;
use trl_proto::{Dialect, ErrorCode, Method, TerminalId};

use super::super::connection::{self, Client, Hears};
use super::super::principal::Principal;
use super::super::rpc;
use super::admission::Place;
use super::answer::{self, Answer, Refusal};
use super::attach::{self, Attach, Found};
use super::files::Address;
use super::guard::{Page, one};
use super::{Upgrade, UpgradeTo, Visit, events, messages, metrics, recording, ui, ws};

/// Written by `cargo xtask docs` from the types of the wire; packed by the build.
const OPENAPI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.deflated"));

/// Everything that has an address.
enum Route<'a> {
    Health,
    Ready,
    Metrics,
    OpenApi,
    Rpc,
    Mcp,
    WsRpc,
    Tickets,
    Events(&'a str),
    /// A session and a message to its agent.
    Message(&'a str, &'a str),
    /// All of them, or those of a workspace.
    Terminals(Option<&'a str>),
    Terminal(&'a str),
    Recording(&'a str),
    WsTerminal(&'a str),
    /// Of a workspace or a session.
    File(Address<'a>),
}

impl<'a> Route<'a> {
    fn find(path: &'a str) -> Option<Self> {
        Some(match path {
            "/healthz" => Self::Health,
            "/readyz" => Self::Ready,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::OpenApi,
            "/rpc" => Self::Rpc,
            "/mcp" => Self::Mcp,
            "/ws/rpc" => Self::WsRpc,
            "/api/tickets" => Self::Tickets,
            "/api/terminals" => Self::Terminals(None),
            _ => return Self::with_id(path),
        })
    }

    fn with_id(path: &'a str) -> Option<Self> {
        let between = |before: &str, after: &str| path.strip_prefix(before)?.strip_suffix(after);
        let plain = |id: &&str| !id.is_empty() && !id.contains('/');
        let events = between("/api/executions/", "/events").map(Self::Events);
        let listed =
            || between("/api/workspaces/", "/terminals").filter(plain).map(|w| Self::Terminals(Some(w)));
        let one = || between("/api/terminals/", "").filter(plain).map(Self::Terminal);
        let recorded = || between("/api/terminals/", "/recording").filter(plain).map(Self::Recording);
        let attached = || between("/ws/terminal/", "").filter(plain).map(Self::WsTerminal);
        let file = || Address::find(path).map(Self::File);
        let message = || {
            let (session, message) = between("/api/sessions/", "/events")?.split_once("/messages/")?;
            (plain(&session) && plain(&message)).then_some(Self::Message(session, message))
        };
        events.or_else(message).or_else(listed).or_else(one).or_else(recorded).or_else(attached).or_else(file)
    }

    fn verbs(&self) -> &'static [Verb] {
        match self {
            Self::Rpc | Self::Mcp | Self::Tickets => &[Verb::POST],
            Self::Terminals(None) => &[Verb::GET, Verb::POST],
            Self::Terminal(_) => &[Verb::GET, Verb::DELETE],
            Self::File(_) => &[Verb::GET, Verb::PUT, Verb::DELETE],
            _ => &[Verb::GET],
        }
    }
}

pub(super) async fn handle(visit: Arc<Visit>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let counters = &visit.door.counters;
    counters.requests.fetch_add(1, Ordering::Relaxed);
    let mut answer = match visit.door.guard.check(request.uri(), request.headers()) {
        Err(refusal) => refusal.answer(),
        Ok(page) => {
            let mut answer = visit.serve(request, &page).await.unwrap_or_else(Refusal::answer);
            add_cors(answer.headers_mut(), &page);
            answer
        }
    };
    answer::add_security(answer.headers_mut());
    let class = usize::from(answer.status().as_u16() / 100);
    if let Some(count) = counters.answers.get(class) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(answer)
}

/// Pages of other origins that were named may read our answers; nobody else's browser lets them.
fn add_cors(headers: &mut HeaderMap, page: &Page) {
    let Page::Allowed(origin) = page else { return };
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let seen = HeaderValue::from_static("etag, content-range, accept-ranges");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, seen);
    }
}

fn preflight() -> Answer {
    let mut answer = answer::empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
    let names = HeaderValue::from_static(
        "authorization, content-type, last-event-id, range, if-range, if-match, if-none-match, \
         mcp-protocol-version, mcp-method, mcp-name",
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    answer
}

fn nothing_here() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, ErrorCode::UnknownMethod, "there is nothing here")
        .hint("/openapi.json says what there is")
}

pub(super) fn json_of(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

impl Visit {
    async fn serve(&self, mut request: Request<Incoming>, page: &Page) -> Result<Answer, Refusal> {
        let uri: Uri = request.uri().clone();
        let Some(route) = Route::find(uri.path()) else {
            return ui::find(uri.path(), request.method(), request.headers()).ok_or_else(nothing_here);
        };
        if request.method() == Verb::OPTIONS && matches!(page, Page::Allowed(_)) {
            return Ok(preflight());
        }
        self.check_verb(&route, request.method())?;
        match route {
            Route::Health => Ok(answer::json(StatusCode::OK, json!({"status": "ok"}).to_string())),
            Route::Ready => Ok(self.ready()),
            Route::OpenApi => Ok(answer::json(StatusCode::OK, ui::inflate(OPENAPI).unwrap_or_default())),
            Route::Metrics => self.metrics(&request),
            Route::Rpc => self.rpc(request).await,
            Route::Mcp => self.mcp(request).await,
            Route::WsRpc => self.web_socket(&mut request, page),
            Route::Tickets => self.ticket(&request),
            Route::WsTerminal(id) => self.terminal_socket(&mut request, id, page),
            Route::Terminals(workspace) => self.terminals(workspace, request).await,
            Route::Terminal(id) => self.one_terminal(id, request).await,
            Route::File(address) => self.file(address, request).await,
            Route::Recording(id) => {
                let query = uri.query().unwrap_or_default();
                recording::stream(&self.door, self.who(request.headers())?, id, query)
            }
            Route::Message(session, message) => {
                let who = self.who(request.headers())?;
                messages::stream(&self.door, who, (session, message), request.headers()).await
            }
            Route::Events(id) => {
                events::stream(&self.door, self.who(request.headers())?, id, request.headers())
            }
        }
    }

    fn check_verb(&self, route: &Route<'_>, verb: &Verb) -> Result<(), Refusal> {
        let wanted = route.verbs();
        let streams = matches!(route, Route::Events(_) | Route::Message(..) | Route::Recording(_));
        let head = *verb == Verb::HEAD && wanted.contains(&Verb::GET) && !streams;
        if wanted.contains(verb) || head {
            return Ok(());
        }
        let names = wanted.iter().map(Verb::as_str).collect::<Vec<_>>().join(", ");
        let message = format!("this is for {names} requests");
        let allow = HeaderValue::from_str(&names).unwrap_or(HeaderValue::from_static("GET"));
        Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::UnknownMethod, message)
            .header(header::ALLOW, allow))
    }

    fn ready(&self) -> Answer {
        match *self.door.server.stop.borrow() {
            None => answer::json(StatusCode::OK, json!({"status": "ready"}).to_string()),
            Some(_) => answer::json(StatusCode::SERVICE_UNAVAILABLE, json!({"status": "ending"}).to_string()),
        }
    }

    fn metrics(&self, request: &Request<Incoming>) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        principal.may_call(Method::SystemStats)?;
        let text = metrics::text(&self.door.server.stats(&principal), &self.door.counters);
        Ok(answer::of(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
    }

    fn ticket(&self, request: &Request<Incoming>) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        let tickets = &self.door.server.authority.tickets;
        let ticket = Ticket { ticket: tickets.issue(principal), expires_in_s: tickets.ttl().as_secs() };
        Ok(answer::json(StatusCode::CREATED, json_of(&ticket)))
    }

    fn web_socket(&self, request: &mut Request<Incoming>, page: &Page) -> Result<Answer, Refusal> {
        let answer = ws::accept(request.headers())?;
        let principal = self.who_by_ticket(request.uri(), request.headers(), page)?;
        let client = Client::new(&self.door.server, principal, Hears::Pushes, self.address());
        let upgrade = ws::Upgrade::of(request, client, self.door.keep_alive());
        self.will_be(UpgradeTo::Rpc(upgrade));
        Ok(answer)
    }

    fn will_be(&self, to: UpgradeTo) {
        let upgrade = Upgrade { to, _busy: self.place.as_ref().map(Place::begin_upgrade) };
        *self.upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgrade);
        self.door.counters.websockets.fetch_add(1, Ordering::Relaxed);
    }

    /// A terminal that is not there is told by a close code: a browser sees no other reason.
    fn terminal_socket(
        &self,
        request: &mut Request<Incoming>,
        id: &str,
        page: &Page,
    ) -> Result<Answer, Refusal> {
        let mut answer = ws::accept(request.headers())?;
        let principal = self.who_by_ticket(request.uri(), request.headers(), page)?;
        principal.may_call(Method::TerminalGet)?;
        let offered = one(request.headers(), &header::SEC_WEBSOCKET_PROTOCOL)?.unwrap_or_default();
        let rich = offered.split(',').any(|name| name.trim() == attach::SUBPROTOCOL);
        if rich {
            let chosen = HeaderValue::from_static(attach::SUBPROTOCOL);
            answer.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
        }
        let manager = &self.door.server.manager;
        let found = match id.parse::<TerminalId>().ok().and_then(|id| manager.terminal(&id).ok()) {
            None => Found::Nothing,
            Some(terminal) if !principal.may_see_terminal(&terminal) => Found::NotYours,
            Some(terminal) => {
                Found::Terminal { terminal, may_type: principal.may_call(Method::TerminalInput).is_ok() }
            }
        };
        let ask = attach::Ask::parse(request.uri().query().unwrap_or_default(), rich);
        let ask = ask.map_err(|why| Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, why))?;
        self.will_be(UpgradeTo::Terminal(Box::new(Attach {
            upgraded: hyper::upgrade::on(request),
            found,
            ask,
            principal,
            door: Arc::clone(&self.door),
        })));
        Ok(answer)
    }

    async fn terminals(
        &self,
        workspace: Option<&str>,
        request: Request<Incoming>,
    ) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        if request.method() != Verb::POST {
            principal.may_call(Method::TerminalList)?;
            let everything = workspace.is_none() || wants_all(request.uri().query().unwrap_or_default())?;
            let params = ListParams { workspace_id: workspace.map(String::from) };
            let listed = self.door.server.manager.list_terminals(&params).into_iter();
            let seen = listed.filter(|one| principal.may_see_terminal(one) && (everything || !one.is_over()));
            let list = TerminalList { terminals: seen.map(|one| one.info()).collect() };
            return Ok(answer::json(StatusCode::OK, json_of(&list)));
        }
        check_type(request.headers())?;
        let body = self.body(request).await?;
        let params: Value = if body.is_empty() { Ok(json!({})) } else { serde_json::from_slice(&body) }
            .map_err(|e| trl_proto::Error::invalid(format!("the body is not JSON: {e}")))?;
        self.rest(principal, Method::TerminalCreate, &params, StatusCode::CREATED).await
    }

    async fn one_terminal(&self, id: &str, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        if request.method() != Verb::DELETE {
            return self
                .rest(principal, Method::TerminalGet, &json!({"terminal_id": id}), StatusCode::OK)
                .await;
        }
        let query = request.uri().query().unwrap_or_default();
        let grace = query.split('&').find_map(|pair| pair.strip_prefix("grace_s="));
        let grace: Option<f64> = grace
            .map(str::parse)
            .transpose()
            .map_err(|_| trl_proto::Error::invalid("`grace_s` is not a number of seconds"))?;
        let params = json!({"terminal_id": id, "grace_s": grace});
        self.rest(principal, Method::TerminalDestroy, &params, StatusCode::OK).await
    }

    /// A method of the wire under an address of its own.
    async fn rest(
        &self,
        principal: Principal,
        method: Method,
        params: &Value,
        done: StatusCode,
    ) -> Result<Answer, Refusal> {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method.name(), "params": params}).to_string();
        let reply =
            self.reply(principal, envelope::parse(&call, Dialect::JsonRpc)).await?.unwrap_or_default();
        let reply: Value = serde_json::from_slice(&reply)
            .map_err(|e| trl_proto::Error::internal(format!("a reply that is none: {e}")))?;
        match (reply.get("result"), reply.get("error")) {
            (Some(result), _) => Ok(answer::json(done, result.to_string())),
            (None, error) => Err(Refusal::of_reply(error.unwrap_or(&Value::Null))),
        }
    }

    async fn rpc(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        check_type(request.headers())?;
        let body = self.body(request).await?;
        let asked = match str::from_utf8(&body) {
            Ok(text) => envelope::parse(text, Dialect::JsonRpc),
            Err(_) => envelope::parse("", Dialect::JsonRpc),
        };
        let reply = match asked {
            Asked::One(Err(bad)) => {
                return Ok(answer::json(StatusCode::BAD_REQUEST, envelope::reply_malformed(&bad)));
            }
            asked => self.reply(principal, asked).await?,
        };
        Ok(match reply {
            Some(reply) => answer::json(StatusCode::OK, reply),
            None => answer::empty(StatusCode::NO_CONTENT),
        })
    }

    /// In a task of its own: what was begun is not left half done when the client goes.
    async fn reply(&self, principal: Principal, asked: Asked) -> Result<Option<Vec<u8>>, Refusal> {
        let client = Client::new(&self.door.server, principal, Hears::Replies, None);
        let leaving = Leaving(Some(Arc::clone(&client)));
        let answering = tokio::spawn(async move {
            match asked {
                Asked::One(Ok(request)) => {
                    let answer = rpc::dispatch(&client, &request).await;
                    let wanted = request.id.is_some() || request.dialect == Dialect::Plain;
                    wanted.then_some(answer.line)
                }
                Asked::One(Err(bad)) => Some(envelope::reply_malformed(&bad)),
                Asked::Batch(items) => connection::batch(&client, items).await.0,
            }
        });
        let reply = answering.await;
        leaving.stays();
        reply.map_err(|_| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::InternalError, "the request failed")
        })
    }

    pub(super) async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        let most = self.door.server.wire.max_line_bytes;
        let too_large = || {
            let message = format!("the body is longer than {most} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::PayloadTooLarge, message)
        };
        let announced = one(request.headers(), &header::CONTENT_LENGTH)?.and_then(|n| n.parse().ok());
        if announced.is_some_and(|n: u64| n > most as u64) {
            return Err(too_large());
        }
        let reading = Limited::new(request.into_body(), most).collect();
        match tokio::time::timeout(self.door.request_timeout(), reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => {
                Err(Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, "the body is broken"))
            }
            Err(_) => Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                ErrorCode::InvalidParams,
                "the body did not come in time",
            )),
        }
    }
}

/// Whether terminals whose programs have ended are listed too.
fn wants_all(query: &str) -> Result<bool, trl_proto::Error> {
    match query.split('&').find_map(|pair| pair.strip_prefix("all=")) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(trl_proto::Error::invalid("`all` is `true` or `false`")),
    }
}

/// What a form on a web page cannot send without being asked about first.
fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = one(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "the body must be application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::InvalidParams, message))
}

/// A client that waits for its reply. When the connection goes first, whoever watches it hears of it.
struct Leaving(Option<Arc<Client>>);

impl Leaving {
    /// It got its reply; what it started may go on without it.
    fn stays(mut self) {
        self.0 = None;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(client) = &self.0 {
            client.gone.send_replace(true);
        }
    }
}
