//! `trl term send`: typing into a terminal, as fast as its program reads.

use std::io::{self, Read};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use trl_proto::terminal::{InputParams, InputTaken};
use trl_proto::{ErrorCode, Method, TerminalId, Text};

use super::failure::Failure;
use super::term::resolve;
use crate::client::{ClientError, Connection};
use crate::config::units;

/// For the long help.
pub(super) const NAMES: &str = "\
Keys: Enter Tab Escape Space Backspace Delete Insert Up Down Left Right Home End PageUp PageDown F1 to F12, KP0 to KP9, \
KPEnter and the like, or one character. C- before it is Ctrl, M- is Alt, S- is Shift (of Tab, arrows and the like): C-c, \
M-x, C-Right, S-Tab. Arrows and the keypad are sent as the program has asked for them.";

/// What one read of stdin asks for, and so what one `terminal.input` carries.
const CHUNK: usize = 64 << 10;
/// Pauses while the terminal has no room: the first, and the longest they grow to.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug, clap::Args)]
pub(super) struct SendArgs {
    /// Its id or name
    terminal: String,
    /// What to type, as it is [default: our stdin to its end, unless a key is given]
    text: Option<String>,
    /// Press this key after the text: Enter, Tab, Up, F5, C-c, M-x, ...
    #[arg(short, long = "key", value_name = "KEY", value_parser = key)]
    keys: Vec<String>,
    /// Press Enter at the end
    #[arg(short, long)]
    enter: bool,
    /// How long to wait while the program reads nothing
    #[arg(long, value_name = "DURATION", value_parser = units::duration, default_value = "30s")]
    timeout: Duration,
}

/// A name the daemon will know, or why it would not.
fn key(name: &str) -> Result<String, String> {
    name.parse::<trl_screen::Key>().map(|_| name.into()).map_err(|why| format!("{why}; see --help"))
}

/// The text, then the keys, then Enter.
pub(super) async fn send(client: &Connection, args: SendArgs) -> Result<(), Failure> {
    let terminal_id = resolve(client, &args.terminal).await?;
    let mut typist = Typist { client, terminal_id, patience: args.timeout, typed: 0 };
    let mut keys = args.keys;
    keys.extend(args.enter.then(|| "Enter".into()));
    match args.text {
        Some(text) => typist.type_in(text.as_bytes()).await?,
        None if keys.is_empty() => typist.type_stdin().await?,
        None => {}
    }
    if !keys.is_empty() {
        typist.press(keys).await?;
    }
    Ok(())
}

struct Typist<'a> {
    client: &'a Connection,
    terminal_id: TerminalId,
    patience: Duration,
    /// Bytes so far.
    typed: u64,
}

impl Typist<'_> {
    async fn type_stdin(&mut self) -> Result<(), Failure> {
        let mut bytes = vec![0; CHUNK];
        loop {
            match io::stdin().lock().read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(length) => self.type_in(&bytes[..length]).await?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    async fn type_in(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for chunk in bytes.chunks(CHUNK) {
            let text = Text::exact(chunk);
            let (data, encoding) = (Some(text.data.into_owned()), Some(text.encoding));
            let terminal_id = self.terminal_id.clone();
            self.input(InputParams { terminal_id, data, encoding, keys: None }).await?;
        }
        Ok(())
    }

    async fn press(&mut self, keys: Vec<String>) -> Result<(), Failure> {
        let terminal_id = self.terminal_id.clone();
        self.input(InputParams { terminal_id, data: None, encoding: None, keys: Some(keys) }).await
    }

    /// Waits for room as long as the program reads on.
    async fn input(&mut self, params: InputParams) -> Result<(), Failure> {
        let (mut read_at, mut waiting, mut pause) = (Instant::now(), None, FIRST_PAUSE);
        loop {
            let refused = match self.client.call::<InputTaken>(Method::TerminalInput, &params).await {
                Ok(taken) => {
                    self.typed += taken.written_bytes;
                    return Ok(());
                }
                Err(ClientError::Refused(error)) if error.code == ErrorCode::LimitExceeded => error,
                Err(other) => return Err(other.into()),
            };
            let waits = refused.details.get("waiting_bytes").and_then(serde_json::Value::as_u64);
            if waits != waiting {
                (read_at, waiting, pause) = (Instant::now(), waits, FIRST_PAUSE);
            }
            if read_at.elapsed() >= self.patience {
                return Err(Failure::Usage(self.gave_up(waits.unwrap_or(0))));
            }
            sleep(pause.min(self.patience)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn gave_up(&self, waiting: u64) -> String {
        let (id, patience) = (&self.terminal_id, self.patience);
        format!(
            "the program of {id} has read nothing for {patience:?}: {} bytes were typed, {waiting} of them still wait",
            self.typed
        )
    }
}
