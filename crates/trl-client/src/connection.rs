//! One connection: requests out, replies to whoever asked, pushes to a channel.
//!
//! 1. [`Connection::call`] numbers a request, leaves a ticket under that number and hands the line to the writer task.
//! 2. The reader task matches each reply to its ticket, and passes everything without a number on as a [`Push`].
//! 3. A daemon that owes an answer at once and is silent for [`ANSWERS_WITHIN`] is given up ([`ClientError::Silent`]).
//! 4. When the connection ends, all open tickets are void ([`ClientError::Lost`]) and the push channel closes.
//! 5. It is closed when nobody has a [`Connection`] or its [`Pushes`] any more. What was handed to the writer before still goes.
//!
//! Pushes are bounded: who does not take them stops the reader, and with it the replies. That is the brake a slow
//! terminal puts on the daemon, so a command that asks for pushes reads them in a task of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use trl_proto::heard::{self, Heard};
use trl_proto::system::{AuthParams, Authenticated, NoParams, Ping};
use trl_proto::{Error, Method, PROTOCOL, Role};

use crate::error::ClientError;
use crate::secret::Secret;

/// Enough that the daemon never waits for a scheduler, few enough that a slow reader holds little memory.
const PUSHES_IN_FLIGHT: usize = 64;
const REQUESTS_IN_FLIGHT: usize = 16;

/// What needs no waiting takes milliseconds, on a machine that swaps perhaps seconds. A stopped daemon takes forever.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

type Answer = Result<Box<RawValue>, Error>;

/// A handle on one connection; clones share it.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Line>);

/// What all handles share.
#[derive(Debug)]
struct Line {
    outgoing: mpsc::Sender<Vec<u8>>,
    tickets: Arc<Tickets>,
    next_id: AtomicU64,
    /// The daemon's process, for what is said about it.
    peer: Option<i32>,
    reader: AbortHandle,
}

impl Drop for Line {
    /// The writer ends by itself, when it has written what is left.
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// What the daemon sends without being asked, in order. Ends with the connection.
#[derive(Debug)]
pub struct Pushes {
    incoming: mpsc::Receiver<Push>,
    /// Keeps the connection open.
    _line: Arc<Line>,
}

impl Pushes {
    /// None once the connection has ended.
    pub async fn next(&mut self) -> Option<Push> {
        self.incoming.recv().await
    }
}

/// One notification.
#[derive(Debug, Serialize)]
pub struct Push {
    /// What it is: `exec.output`, `event`, ...
    pub method: String,
    params: Box<RawValue>,
}

impl Push {
    /// What it says.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_str(self.json()).map_err(not_understood(&self.method))
    }

    /// The same, as it came.
    pub fn json(&self) -> &str {
        self.params.get()
    }
}

impl Connection {
    /// Starts to speak on `stream`, in tasks of the runtime this is called in.
    pub fn over(stream: UnixStream) -> (Self, Pushes) {
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let (read, write) = stream.into_split();
        let (outgoing, lines) = mpsc::channel(REQUESTS_IN_FLIGHT);
        let (push, incoming) = mpsc::channel(PUSHES_IN_FLIGHT);
        let tickets = Arc::new(Tickets::new());
        tokio::spawn(write_lines(write, lines));
        let reader = tokio::spawn(read_lines(read, Arc::clone(&tickets), push)).abort_handle();
        let line = Arc::new(Line { outgoing, tickets, next_id: AtomicU64::new(1), peer, reader });
        (Self(Arc::clone(&line)), Pushes { incoming, _line: line })
    }

    /// Can anything still be asked?
    pub fn is_open(&self) -> bool {
        matches!(*self.0.tickets.lock(), Waiting::Open(_))
    }

    /// Presents a token; only as the first request.
    pub async fn authenticate(&self, token: &Secret) -> Result<Role, ClientError> {
        let params = AuthParams { token: token.expose().into() };
        let known: Authenticated = self.call(Method::SystemAuth, &params).await?;
        Ok(known.role)
    }

    /// Settles that both sides speak the same protocol.
    pub async fn check_version(&self) -> Result<Ping, ClientError> {
        let ping: Ping = self.call(Method::SystemPing, &NoParams {}).await?;
        if ping.protocol == PROTOCOL {
            return Ok(ping);
        }
        Err(ClientError::Skew {
            theirs: ping.version,
            their_protocol: ping.protocol,
            ours: env!("CARGO_PKG_VERSION"),
            our_protocol: PROTOCOL,
        })
    }

    /// Asks, and waits for the answer. Parameters and results of each method are in [`trl_proto`].
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<R, ClientError> {
        let name = method.name();
        let params = serde_json::value::to_raw_value(params).map_err(not_sent(name))?;
        let answer = self.ask(name, &params).await?;
        serde_json::from_str(answer.get()).map_err(not_understood(name))
    }

    /// Asks with JSON as it is, and gives the answer as it is; the method may be one this client does not know.
    pub async fn call_raw(&self, method: &str, params: &str) -> Result<String, ClientError> {
        let params = as_one_line(params).map_err(not_sent(method))?;
        self.ask(method, &params).await.map(|answer| String::from(Box::<str>::from(answer)))
    }

    async fn ask(&self, method: &str, params: &RawValue) -> Result<Box<RawValue>, ClientError> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let mut line = Vec::new();
        heard::ask(&mut line, id, method, params).map_err(not_sent(method))?;
        let ticket = self.0.tickets.open(id)?;
        let answer = async {
            self.0.outgoing.send(line).await.map_err(|_| ClientError::Lost)?;
            ticket.await.map_err(|_| ClientError::Lost)?.map_err(ClientError::Refused)
        };
        if !Method::parse(method).is_some_and(Method::answers_at_once) {
            return answer.await;
        }
        timeout(ANSWERS_WITHIN, answer).await.unwrap_or_else(|_| {
            Err(ClientError::Silent { method: method.into(), within: ANSWERS_WITHIN, pid: self.0.peer })
        })
    }
}

fn not_sent(method: &str) -> impl Fn(serde_json::Error) -> ClientError {
    move |e| ClientError::BadParams { method: method.into(), source: e.into() }
}

fn not_understood(method: &str) -> impl Fn(serde_json::Error) -> ClientError {
    move |e| ClientError::BadReply { method: method.into(), source: e.into() }
}

/// The text as it was given, so that the daemon judges it; only a line break would end the request line. In valid JSON
/// those stand between tokens, where a space means the same.
fn as_one_line(text: &str) -> serde_json::Result<Box<RawValue>> {
    let given: &RawValue = serde_json::from_str(text)?;
    RawValue::from_string(given.get().replace(['\n', '\r'], " "))
}

/// Who waits for which reply.
#[derive(Debug)]
struct Tickets(Mutex<Waiting>);

#[derive(Debug)]
enum Waiting {
    Open(HashMap<u64, oneshot::Sender<Answer>>),
    /// No reply can come any more.
    Closed,
}

impl Tickets {
    fn new() -> Self {
        Self(Mutex::new(Waiting::Open(HashMap::new())))
    }

    /// A panic elsewhere leaves the map whole: every change to it is a single insert or remove.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, id: u64) -> Result<oneshot::Receiver<Answer>, ClientError> {
        match &mut *self.lock() {
            Waiting::Closed => Err(ClientError::Lost),
            Waiting::Open(answers) => {
                let (answer, ticket) = oneshot::channel();
                answers.insert(id, answer);
                Ok(ticket)
            }
        }
    }

    fn answer(&self, id: u64, answer: Answer) {
        if let Waiting::Open(answers) = &mut *self.lock()
            && let Some(sender) = answers.remove(&id)
        {
            // Whoever asked may have stopped waiting.
            let _unheard = sender.send(answer);
        }
    }

    fn void_all(&self) {
        *self.lock() = Waiting::Closed;
    }
}

async fn write_lines(mut write: OwnedWriteHalf, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if write.write_all(&line).await.is_err() {
            // The reader sees the same end and voids the tickets.
            return;
        }
    }
}

async fn read_lines(read: OwnedReadHalf, tickets: Arc<Tickets>, push: mpsc::Sender<Push>) {
    let mut read = BufReader::with_capacity(1 << 16, read);
    let mut line = Vec::new();
    loop {
        line.clear();
        match read.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => route(&line, &tickets, &push).await,
        }
    }
    tickets.void_all();
}

async fn route(line: &[u8], tickets: &Tickets, push: &mpsc::Sender<Push>) {
    match heard::parse(line) {
        // Nobody listening is fine: most commands ask for no pushes.
        Ok(Some(Heard::Push { method, params })) => drop(push.send(Push { method, params }).await),
        Ok(Some(Heard::Reply { id, outcome })) => tickets.answer(id, outcome),
        Ok(None) => tracing::warn!("a line of the daemon is neither reply nor push"),
        Err(_) => tracing::warn!(bytes = line.len(), "a line of the daemon is not understood"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trl_proto::ErrorCode;

    use super::*;

    /// A client and the daemon's end of its connection.
    fn pair() -> (Connection, Pushes, BufReader<OwnedReadHalf>, OwnedWriteHalf) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (client, pushes) = Connection::over(ours);
        let (read, write) = theirs.into_split();
        (client, pushes, BufReader::new(read), write)
    }

    async fn request(read: &mut BufReader<OwnedReadHalf>) -> serde_json::Value {
        let mut line = String::new();
        read.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn send(write: &mut OwnedWriteHalf, value: serde_json::Value) {
        write.write_all(format!("{value}\n").as_bytes()).await.unwrap();
    }

    fn ping(client: &Connection) -> tokio::task::JoinHandle<Result<Ping, ClientError>> {
        let client = client.clone();
        tokio::spawn(async move { client.call(Method::SystemPing, &NoParams {}).await })
    }

    fn pong(id: &serde_json::Value, uptime: u64) -> serde_json::Value {
        json!({"jsonrpc":"2.0","id":id,"result":{"uptime_s":uptime,"version":"x","protocol":1}})
    }

    #[tokio::test]
    async fn replies_find_their_requests_in_any_order() {
        let (client, mut pushes, mut read, mut write) = pair();
        let first = ping(&client);
        let one = request(&mut read).await;
        let second = ping(&client);
        let two = request(&mut read).await;
        assert_eq!((one["method"].as_str(), one["jsonrpc"].as_str()), (Some("system.ping"), Some("2.0")));
        send(&mut write, pong(&two["id"], 2)).await;
        send(&mut write, json!({"jsonrpc":"2.0","method":"event","params":{"seq":9}})).await;
        send(&mut write, pong(&one["id"], 1)).await;
        assert_eq!(first.await.unwrap().unwrap().uptime_s, 1);
        assert_eq!(second.await.unwrap().unwrap().uptime_s, 2);
        let push = pushes.next().await.unwrap();
        assert_eq!((push.method.as_str(), push.json()), ("event", r#"{"seq":9}"#));
    }

    #[tokio::test]
    async fn refusals_keep_code_hint_and_details() {
        let (client, _pushes, mut read, mut write) = pair();
        let asked = ping(&client);
        let id = request(&mut read).await["id"].clone();
        let data = json!({"code":"SESSION_BUSY","hint":"wait","running":"e-a"});
        send(
            &mut write,
            json!({"jsonrpc":"2.0","id":id,"error":{"code":-32000,"message":"busy","data":data}}),
        )
        .await;
        let Err(ClientError::Refused(error)) = asked.await.unwrap() else { panic!("not refused") };
        assert_eq!((error.code, error.hint.as_deref()), (ErrorCode::SessionBusy, Some("wait")));
        assert_eq!(error.details["running"], "e-a");
    }

    #[tokio::test]
    async fn the_end_of_the_connection_voids_what_is_open_and_what_comes_later() {
        let (client, mut pushes, mut read, write) = pair();
        let asked = ping(&client);
        request(&mut read).await;
        drop((read, write));
        assert!(matches!(asked.await.unwrap(), Err(ClientError::Lost)));
        assert!(pushes.next().await.is_none());
        assert!(matches!(ping(&client).await.unwrap(), Err(ClientError::Lost)));
    }

    #[tokio::test]
    async fn a_connection_nobody_has_is_closed_and_one_whose_pushes_are_read_is_not() {
        let (client, mut pushes, mut read, mut write) = pair();
        drop(client);
        send(&mut write, json!({"method":"event","params":{}})).await;
        assert_eq!(pushes.next().await.unwrap().method, "event");
        drop(pushes);
        assert!(read.fill_buf().await.unwrap().is_empty());
    }

    #[test]
    fn parameters_stay_as_they_were_given_on_one_line() {
        let sent = |text: &str| as_one_line(text).map(|raw| raw.get().to_string()).ok();
        assert_eq!(sent(r#"{"a":1,"a":2.50}"#).as_deref(), Some(r#"{"a":1,"a":2.50}"#));
        assert_eq!(sent("{\r\n\"a\": \"x\\ny\"\n}\n").as_deref(), Some("{  \"a\": \"x\\ny\" }"));
        for bad in ["", "{", "{} {}", "{\"a\": \"\n\"}"] {
            assert_eq!(sent(bad), None, "{bad:?}");
        }
    }
}
