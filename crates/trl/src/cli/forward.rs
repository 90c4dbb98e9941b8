//! The bytes of `trl run`: the command's output to our streams, our stdin to the command.
//!
//! Both directions are exact and keep their order. Each waits for the other side: a slow terminal slows the stream
//! down, and a command that does not read its stdin stops us from reading ours.

use std::io::{self, IsTerminal, Read, Write};

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use trl_proto::exec::{ExitPush, InputParams, InputTaken, Outcome, OutputPushed, RefusedPush, Stream};
use trl_proto::{ExecutionId, Method, StreamId, Text, text};

use super::failure::Failure;
use crate::client::{Client, ClientError, Push, Pushes};

/// What one read of stdin asks for, and so what one `exec.input` carries.
const CHUNK: usize = 64 << 10;
/// Chunks read ahead of the daemon.
const AHEAD: usize = 2;

/// What the command gets as its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdin {
    Empty,
    Forwarded,
}

#[derive(Debug, clap::Args)]
pub(super) struct StdinArgs {
    /// Give the command an empty stdin, whatever ours is
    #[arg(short, long)]
    no_stdin: bool,
}

impl StdinArgs {
    /// A terminal is not forwarded: nobody who types `trl run ls` means to give it input.
    pub(super) fn choose(&self) -> Stdin {
        if self.no_stdin || io::stdin().is_terminal() { Stdin::Empty } else { Stdin::Forwarded }
    }
}

/// Why the output did not come to its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// Whoever read our output has gone.
    Reader,
    Failed(Failure),
}

impl From<ClientError> for Broken {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.into())
    }
}

/// Copies the pushes of `stream` to our streams until the command's end.
pub(super) async fn output(mut pushes: Pushes, stream: StreamId) -> Result<Outcome, Broken> {
    while let Some(push) = pushes.next().await {
        match push.method.as_str() {
            "exec.output" => write_push(&push, &stream).await?,
            "exec.exit" => {
                let exit: ExitPush = push.parse()?;
                if exit.stream_id == stream {
                    return Ok(exit.outcome);
                }
            }
            "exec.refused" => {
                let refused: RefusedPush = push.parse()?;
                if refused.stream_id.as_ref() == Some(&stream) {
                    return Err(ClientError::Refused(refused.error.into()).into());
                }
            }
            _ => {}
        }
    }
    Err(ClientError::Lost.into())
}

async fn write_push(push: &Push, stream: &StreamId) -> Result<(), Broken> {
    let push: OutputPushed = push.parse()?;
    if push.stream_id != *stream {
        return Ok(());
    }
    if let Some(gap) = push.gap {
        let _unseen = writeln!(io::stderr(), "trl: {} bytes were too fast for us", gap.to - gap.from);
    }
    let bytes = text::decode(push.data, push.encoding).map_err(ClientError::Refused)?;
    let written = spawn_blocking(move || write(push.stream, &bytes)).await;
    match written.map_err(io::Error::from).flatten() {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Broken::Reader),
        Err(e) => Err(Broken::Failed(e.into())),
    }
}

/// Writes to the stream of ours that `stream` stands for.
pub(super) fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Stdout | Stream::Tty => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        Stream::Stderr => io::stderr().write_all(bytes),
    }
}

/// Copies our stdin to the command until either ends. The command may end first: then nobody wants the rest.
pub(super) async fn input(client: Client, execution: ExecutionId) {
    if send_stdin(&client, &execution).await.is_ok() {
        let _late = close(&client, execution).await;
    }
}

/// Sends our stdin to its end.
pub(super) async fn send_stdin(client: &Client, execution: &ExecutionId) -> Result<(), ClientError> {
    let (chunk, mut chunks) = mpsc::channel(AHEAD);
    // A thread of its own: a read of stdin cannot be given up, and must not hold up our end.
    std::thread::spawn(move || read_stdin(&chunk));
    while let Some(bytes) = chunks.recv().await {
        send(client, execution, &bytes).await?;
    }
    Ok(())
}

/// The command's input ends here.
pub(super) async fn close(client: &Client, execution: ExecutionId) -> Result<(), ClientError> {
    let params = InputParams { close: Some(true), ..InputParams::to(execution) };
    client.call::<InputTaken>(Method::ExecInput, &params).await.map(|_| ())
}

fn read_stdin(chunk: &mpsc::Sender<Vec<u8>>) {
    let mut stdin = io::stdin().lock();
    loop {
        let mut bytes = vec![0; CHUNK];
        match stdin.read(&mut bytes) {
            Ok(0) => return,
            Ok(length) => bytes.truncate(length),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        if chunk.blocking_send(bytes).is_err() {
            return;
        }
    }
}

/// Sends all of `bytes`, in as many requests as the daemon needs to take them. An error means that nobody reads.
pub(super) async fn send(
    client: &Client,
    execution: &ExecutionId,
    mut bytes: &[u8],
) -> Result<(), ClientError> {
    while !bytes.is_empty() {
        let text = Text::exact(bytes);
        let params = InputParams {
            data: Some(text.data.into_owned()),
            encoding: Some(text.encoding),
            ..InputParams::to(execution.clone())
        };
        let taken: InputTaken = client.call(Method::ExecInput, &params).await?;
        match usize::try_from(taken.written_bytes).ok().and_then(|count| bytes.get(count..)) {
            Some(rest) if rest.len() < bytes.len() => bytes = rest,
            _ => return Err(ClientError::Lost),
        }
    }
    Ok(())
}
