//! A program on a terminal: typed at and looked at.

use trl_proto::terminal::{
    DestroyParams, InputParams, InputTaken, ResizeParams, Screen, ScreenFormat, ScreenParams, SignalParams,
    Signalled, TerminalInfo, TerminalParams,
};
use trl_proto::{Method, TerminalId, Text};

use crate::connection::Connection;
use crate::error::ClientError;

/// A terminal by its id. Dropping this ends nothing; [`Terminal::destroy`] does.
#[derive(Debug, Clone)]
pub struct Terminal {
    connection: Connection,
    id: TerminalId,
}

impl Terminal {
    /// One there is.
    pub fn new(connection: Connection, id: TerminalId) -> Self {
        Self { connection, id }
    }

    pub fn id(&self) -> &TerminalId {
        &self.id
    }

    pub async fn info(&self) -> Result<TerminalInfo, ClientError> {
        self.connection.call(Method::TerminalGet, &TerminalParams { terminal_id: self.id.clone() }).await
    }

    /// Types this as it is. A program that reads nothing has no room for more: `LIMIT_EXCEEDED`.
    pub async fn input(&self, bytes: impl AsRef<[u8]>) -> Result<(), ClientError> {
        let text = Text::exact(bytes.as_ref());
        let (data, encoding) = (Some(text.data.into_owned()), Some(text.encoding));
        self.typed(InputParams { terminal_id: self.id.clone(), data, encoding, keys: None }).await
    }

    /// Presses keys by their names, such as `Enter`, `Up` or `C-c`, as the program wants them sent.
    pub async fn keys(&self, names: impl IntoIterator<Item: Into<String>>) -> Result<(), ClientError> {
        let keys = Some(names.into_iter().map(Into::into).collect());
        self.typed(InputParams { terminal_id: self.id.clone(), data: None, encoding: None, keys }).await
    }

    async fn typed(&self, params: InputParams) -> Result<(), ClientError> {
        self.connection.call::<InputTaken>(Method::TerminalInput, &params).await.map(drop)
    }

    /// What a person would see.
    pub async fn screen(&self, format: ScreenFormat) -> Result<Screen, ClientError> {
        let params = ScreenParams { terminal_id: self.id.clone(), format: Some(format) };
        self.connection.call(Method::TerminalScreen, &params).await
    }

    /// The same as text alone.
    pub async fn text(&self) -> Result<String, ClientError> {
        Ok(self.screen(ScreenFormat::Text).await?.text.unwrap_or_default())
    }

    pub async fn resize(&self, cols: u16, rows: u16) -> Result<TerminalInfo, ClientError> {
        let params = ResizeParams { terminal_id: self.id.clone(), cols, rows };
        self.connection.call(Method::TerminalResize, &params).await
    }

    /// To whoever has the keyboard; says how many processes got it.
    pub async fn signal(&self, name: &str) -> Result<u64, ClientError> {
        let params = SignalParams { terminal_id: self.id.clone(), signal: name.into() };
        let told: Signalled = self.connection.call(Method::TerminalSignal, &params).await?;
        Ok(told.processes)
    }

    /// Ends everything it started.
    pub async fn destroy(&self) -> Result<TerminalInfo, ClientError> {
        let params = DestroyParams { terminal_id: self.id.clone(), grace_s: None };
        self.connection.call(Method::TerminalDestroy, &params).await
    }
}
