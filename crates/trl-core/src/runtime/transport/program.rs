//! A program whose stdin and stdout are the stream. It ends when they do, or is killed.

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use trl_proto::Error;
use trl_sys::helper::Helper;

use super::{Connection, Guard};
use crate::runtime::far::unavailable;

/// Of what it says beside the stream, the last so much is kept.
const MOST_SAID: usize = 4096;
/// A program whose stream has ended says why at once, if at all.
const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Program {
    helper: Option<Helper>,
    stderr: Receiver,
}

pub(super) fn connect(words: &[String]) -> Result<Connection, Error> {
    let (program, rest) = words.split_first().ok_or_else(|| unavailable("connect", "there is no program"))?;
    let mut command = Command::new(program);
    command.args(rest).current_dir("/");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"TRL_")) {
        // What is meant for this daemon is not for that one.
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |e: std::io::Error| unavailable("connect", &format!("{program} cannot be started: {e}"));
    let mut helper = Helper::spawn(&mut command).map_err(failed)?;
    let pipes = (helper.take_stdin(), helper.take_stdout(), helper.take_stderr());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(unavailable("connect", "it has no pipes"));
    };
    let writer = Sender::from_owned_fd(OwnedFd::from(stdin)).map_err(failed)?;
    let reader = Receiver::from_owned_fd(OwnedFd::from(stdout)).map_err(failed)?;
    let stderr = Receiver::from_owned_fd(OwnedFd::from(stderr)).map_err(failed)?;
    let guard = Guard::Program(Program { helper: Some(helper), stderr });
    Ok(Connection { reader: Box::new(reader), writer: Box::new(writer), guard })
}

impl Program {
    pub(super) async fn last_words(&mut self) -> String {
        let mut said = Vec::new();
        let mut piece = [0; 1024];
        let listening = async {
            while let Ok(bytes @ 1..) = self.stderr.read(&mut piece).await {
                said.extend_from_slice(&piece[..bytes]);
                said.drain(..said.len().saturating_sub(MOST_SAID));
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, listening).await;
        String::from_utf8_lossy(&said).trim().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Waited for elsewhere: it may take a moment to be gone.
        if let Some(mut helper) = self.helper.take() {
            helper.kill();
            tokio::task::spawn_blocking(move || drop(helper));
        }
    }
}
