//! Where everything begins: a way to the daemon, and what can be done there.
//!
//! 1. [`Builder::connect`] finds the socket and the token, and opens the connection that calls share.
//! 2. A command that ends with whoever waits for it has a connection of its own meanwhile ([`Links`]): the daemon hears from its
//!    end that nobody waits. So have streams and events, whose reader may be slow.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use trl_proto::event::{SubscribeParams, Subscribed};
use trl_proto::exec::{OnDisconnect, RunParams, RunReply};
use trl_proto::session::{CreateParams, CreateReply, ListParams, SessionInfo, SessionList};
use trl_proto::start::{Progress, StartParams};
use trl_proto::terminal::{self, TerminalInfo};
use trl_proto::{ExecutionId, Method, SessionId, TerminalId};

use crate::approvals::Approvals;
use crate::connection::{Connection, Pushes};
use crate::error::ClientError;
use crate::events::Events;
use crate::options::{Command, NewSession, NewTerminal, Program};
use crate::process::Process;
use crate::secret::{Secret, TOKEN_VARIABLE};
use crate::session::Session;
use crate::socket;
use crate::stream::OutputStream;
use crate::terminal::Terminal;
use crate::values::Finished;

/// Idle connections that are kept.
const MOST_IDLE: usize = 8;

/// A daemon, as whoever connected. Clones share its connections.
///
/// When the daemon ends, so does this: every call fails with [`ClientError::Lost`], and another client finds sessions again by
/// their ids.
#[derive(Debug, Clone)]
pub struct Client {
    connection: Connection,
    links: Arc<Links>,
}

/// Who asks, and where.
#[derive(Debug, Default)]
pub struct Builder {
    socket: Option<PathBuf>,
    who: Who,
}

#[derive(Debug, Default)]
enum Who {
    /// Whoever the token in the environment says, an agent without one.
    #[default]
    Environment,
    Holder(Option<Secret>),
    Operator,
}

impl Builder {
    /// This socket, in place of [`default_socket`](crate::default_socket).
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = Some(path.into());
        self
    }

    /// As the holder of this token, whatever the environment has; an empty one is none.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.who = Who::Holder(Secret::new(token.into()));
        self
    }

    /// As the operator: with the token of the environment, else that of the daemon's file.
    #[must_use]
    pub fn operator(mut self) -> Self {
        self.who = Who::Operator;
        self
    }

    pub async fn connect(self) -> Result<Client, ClientError> {
        let socket = self.socket.unwrap_or_else(socket::default_socket);
        let links = Links {
            socket: std::path::absolute(&socket).unwrap_or(socket),
            token: self.who.token()?,
            idle: Mutex::default(),
        };
        let (connection, _pushes) = links.open().await?;
        connection.check_version().await?;
        Ok(Client { connection, links: Arc::new(links) })
    }
}

impl Who {
    fn token(self) -> Result<Option<Secret>, ClientError> {
        let environment = || std::env::var_os(TOKEN_VARIABLE).and_then(Secret::from_os);
        match self {
            Self::Environment => Ok(environment()),
            Self::Holder(token) => Ok(token),
            Self::Operator => {
                let file = socket::usual().operator_token();
                let none = || ClientError::Token(format!("there is none in {}", file.display()));
                environment()
                    .map_or_else(|| Secret::in_file(&file), |token| Ok(Some(token)))?
                    .ok_or_else(none)
                    .map(Some)
            }
        }
    }
}

/// How further connections are opened, and those that wait for the next command.
#[derive(Debug)]
struct Links {
    socket: PathBuf,
    token: Option<Secret>,
    idle: Mutex<Vec<(Connection, Pushes)>>,
}

impl Links {
    async fn open(&self) -> Result<(Connection, Pushes), ClientError> {
        let (connection, pushes) = Connection::over(socket::open(&self.socket).await?);
        if let Some(token) = &self.token {
            connection.authenticate(token).await?;
        }
        Ok((connection, pushes))
    }

    /// One for the caller alone.
    async fn take(&self) -> Result<(Connection, Pushes), ClientError> {
        match self.kept() {
            Some(link) => Ok(link),
            None => self.open().await,
        }
    }

    fn kept(&self) -> Option<(Connection, Pushes)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|(connection, _)| connection.is_open())
    }

    fn give(&self, link: (Connection, Pushes)) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE && link.0.is_open() {
            idle.push(link);
        }
    }
}

impl Client {
    /// The daemon of this user, as whoever the environment says: `TRL_SOCKET_PATH`, `TRL_AUTH_TOKEN`.
    pub async fn connect() -> Result<Self, ClientError> {
        Self::builder().connect().await
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Runs a command in a throw-away session. One that fails or times out is a result, not an error.
    ///
    /// Dropping the future ends the command, unless that is [`detached`](Command::detached).
    pub async fn run(&self, command: impl Into<Command>) -> Result<Finished, ClientError> {
        self.run_as(command.into().into_params(None)).await
    }

    /// Runs a command, and gives what it writes as it comes.
    pub async fn stream(&self, command: impl Into<Command>) -> Result<OutputStream, ClientError> {
        self.stream_as(command.into().into_params(None)).await
    }

    /// Starts a process that may outlive the call, and waits for its end no longer than
    /// [`Program::yield_after`].
    pub async fn start(&self, program: impl Into<Program>) -> Result<Process, ClientError> {
        self.start_as(program.into().into_params(None)).await
    }

    /// One that was started before, by anybody.
    pub fn process(&self, id: ExecutionId) -> Process {
        Process::new(self.connection.clone(), id)
    }

    /// A new session.
    pub async fn session(&self, session: impl Into<NewSession>) -> Result<Session, ClientError> {
        let params = CreateParams::from(session.into());
        match self.call(Method::SessionCreate, &params).await? {
            CreateReply::Done(info) => Ok(self.session_by_id(info.session_id)),
            CreateReply::Waiting(waiting) => Err(ClientError::Pending {
                request_id: waiting.request_id,
                session_id: Some(waiting.session_id),
                execution_id: None,
            }),
        }
    }

    /// One there is; [`Session::open`] opens it again if it was closed.
    pub fn session_by_id(&self, id: SessionId) -> Session {
        Session::new(self.clone(), id)
    }

    /// Those this client may see.
    pub async fn sessions(&self, params: ListParams) -> Result<Vec<SessionInfo>, ClientError> {
        let list: SessionList = self.call(Method::SessionList, &params).await?;
        Ok(list.sessions)
    }

    /// A new terminal.
    pub async fn terminal(&self, terminal: impl Into<NewTerminal>) -> Result<Terminal, ClientError> {
        let params = terminal::CreateParams::from(terminal.into());
        let made: TerminalInfo = self.call(Method::TerminalCreate, &params).await?;
        Ok(self.terminal_by_id(made.terminal_id))
    }

    pub fn terminal_by_id(&self, id: TerminalId) -> Terminal {
        Terminal::new(self.connection.clone(), id)
    }

    /// Commands that wait for a person.
    pub fn approvals(&self) -> Approvals {
        Approvals::new(self.connection.clone())
    }

    /// What happens from now on, or since a number that is still remembered.
    pub async fn events(&self, params: SubscribeParams) -> Result<Events, ClientError> {
        let (connection, pushes) = self.links.take().await?;
        let _subscribed: Subscribed = connection.call(Method::EventsSubscribe, &params).await?;
        Ok(Events(pushes))
    }

    /// Any method of the wire; its parameters and result are in [`proto`](crate::proto).
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<R, ClientError> {
        self.connection.call(method, params).await
    }

    /// The connection that calls share.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) async fn run_as(&self, params: RunParams) -> Result<Finished, ClientError> {
        let reply = if params.on_disconnect == Some(OnDisconnect::Continue) {
            self.call(Method::ExecRun, &params).await?
        } else {
            // A future that is dropped takes it along.
            let link = self.links.take().await?;
            let reply = link.0.call(Method::ExecRun, &params).await;
            self.links.give(link);
            reply?
        };
        match reply {
            RunReply::Done(result) => result.try_into(),
            RunReply::Waiting(waiting) => Err(ClientError::Pending {
                request_id: waiting.request_id,
                session_id: None,
                execution_id: Some(waiting.execution_id),
            }),
        }
    }

    pub(crate) async fn stream_as(&self, params: RunParams) -> Result<OutputStream, ClientError> {
        let (connection, pushes) = self.links.take().await?;
        let started = connection.call(Method::ExecStream, &params).await?;
        Ok(OutputStream::new(pushes, started, self.connection.clone()))
    }

    pub(crate) async fn start_as(&self, params: StartParams) -> Result<Process, ClientError> {
        let progress: Progress = self.call(Method::ExecStart, &params).await?;
        Process::begun(self.connection.clone(), progress)
    }
}
