//! What can be said about a command, process, session or terminal before there is one.
//!
//! Each is the parameters of its method with words for what is usual. Whatever has no word here is a field there:
//! `Command::from(RunParams { .. })`.

use std::time::Duration;

use trl_proto::exec::{Approval, OnDisconnect, RunParams};
use trl_proto::runtime::RuntimeWish;
use trl_proto::sandbox::SandboxParams;
use trl_proto::start::{StartParams, StartStdin, StdinBytes, StdinName};
use trl_proto::{SessionId, Text, session, terminal};

/// What all four have in common.
macro_rules! shared {
    ($name:ident, $params:ty) => {
        impl From<$params> for $name {
            fn from(params: $params) -> Self {
                Self(params)
            }
        }

        impl From<$name> for $params {
            fn from(options: $name) -> Self {
                options.0
            }
        }

        impl $name {
            /// Sets a variable.
            #[must_use]
            pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.0.env.get_or_insert_default().insert(name.into(), value.into());
                self
            }

            /// Where it begins.
            #[must_use]
            pub fn working_dir(mut self, dir: impl Into<String>) -> Self {
                self.0.working_dir = Some(dir.into());
                self
            }

            /// The profile it is made from.
            #[must_use]
            pub fn case(mut self, id: impl Into<String>) -> Self {
                self.0.case_id = Some(id.into());
                self
            }

            /// Whose files it works on.
            #[must_use]
            pub fn workspace(mut self, id: impl Into<String>) -> Self {
                self.0.workspace_id = Some(id.into());
                self
            }

            /// The boundary around it.
            #[must_use]
            pub fn sandbox(mut self, sandbox: impl Into<SandboxParams>) -> Self {
                self.0.sandbox = Some(sandbox.into());
                self
            }

            /// Where it lives.
            #[must_use]
            pub fn runtime(mut self, name: impl Into<String>) -> Self {
                self.0.runtime = Some(RuntimeWish::Named(name.into()));
                self
            }

            /// What is done when a person has to be asked first; `Wait` unless told otherwise.
            #[must_use]
            pub fn approval(mut self, approval: Approval) -> Self {
                self.0.approval = Some(approval);
                self
            }
        }
    };
}

shared!(Command, RunParams);
shared!(Program, StartParams);
shared!(NewSession, session::CreateParams);
shared!(NewTerminal, terminal::CreateParams);

/// Shell text for `run` and `stream`. A `&str` is one.
#[derive(Debug, Clone)]
pub struct Command(RunParams);

impl From<&str> for Command {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Command {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl Command {
    pub fn new(text: impl Into<String>) -> Self {
        Self(RunParams { command: text.into(), ..RunParams::default() })
    }

    /// Ends it after so long; zero is never.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_s = Some(timeout.as_secs_f64());
        self
    }

    /// What it reads; nothing unless told otherwise.
    #[must_use]
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let text = Text::exact(bytes.as_ref());
        (self.0.stdin, self.0.stdin_encoding) = (Some(text.data.into_owned()), Some(text.encoding));
        self
    }

    /// Leaves its stdin open for [`Process::write`](crate::Process::write).
    #[must_use]
    pub fn open_stdin(mut self) -> Self {
        self.0.open_stdin = Some(true);
        self
    }

    /// Waits for a busy session instead of `SESSION_BUSY`.
    #[must_use]
    pub fn queue(mut self) -> Self {
        self.0.queue = Some(true);
        self
    }

    /// Goes on when nobody waits for it any more. Otherwise whoever drops the future or the stream ends it.
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.0.on_disconnect = Some(OnDisconnect::Continue);
        self
    }

    /// In this session, and cancelled when nobody waits unless told otherwise.
    pub(crate) fn into_params(self, session: Option<&SessionId>) -> RunParams {
        let mut params = self.0;
        params.on_disconnect.get_or_insert(OnDisconnect::Cancel);
        params.session_id = session.cloned().or(params.session_id);
        params
    }
}

/// What `start` starts: text for a shell, or a program and its arguments. A `&str` is text for a shell.
#[derive(Debug, Clone)]
pub struct Program(StartParams);

impl From<&str> for Program {
    fn from(text: &str) -> Self {
        Self::shell(text)
    }
}

impl Program {
    /// Text for a shell.
    pub fn shell(text: impl Into<String>) -> Self {
        Self(StartParams { command: Some(text.into()), ..StartParams::default() })
    }

    /// A program and its arguments, with no shell between.
    pub fn new(argv: impl IntoIterator<Item: Into<String>>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self(StartParams { argv: Some(argv), ..StartParams::default() })
    }

    /// On a terminal, which people can watch and type into.
    #[must_use]
    pub fn tty(mut self, cols: u16, rows: u16) -> Self {
        (self.0.tty, self.0.cols, self.0.rows) = (Some(true), Some(cols), Some(rows));
        self
    }

    /// How long `start` waits for its end: 250 ms to 30 s, 10 s unless told otherwise.
    #[must_use]
    pub fn yield_after(mut self, wait: Duration) -> Self {
        self.0.yield_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Ends it after so long; never unless told otherwise.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_s = Some(timeout.as_secs_f64());
        self
    }

    /// It reads these bytes and then the end, rather than what is written to it later.
    #[must_use]
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let text = Text::exact(bytes.as_ref());
        let bytes = StdinBytes { data: text.data.into_owned(), encoding: Some(text.encoding) };
        self.0.stdin = Some(StartStdin::Bytes(bytes));
        self
    }

    /// It reads nothing.
    #[must_use]
    pub fn no_stdin(mut self) -> Self {
        self.0.stdin = Some(StartStdin::Named(StdinName::Null));
        self
    }

    pub(crate) fn into_params(self, session: Option<&SessionId>) -> StartParams {
        let mut params = self.0;
        params.session_id = session.cloned().or(params.session_id);
        // It is asked about by calls, so the reply has to say how far it has come.
        params.follow = None;
        params
    }
}

/// A session to be made.
#[derive(Debug, Clone, Default)]
pub struct NewSession(session::CreateParams);

impl NewSession {
    /// The shell program; `/bin/sh` unless told otherwise.
    #[must_use]
    pub fn shell(mut self, program: impl Into<String>) -> Self {
        self.0.shell = Some(program.into());
        self
    }

    /// What people call it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into());
        self
    }

    /// How long its commands may take unless they say otherwise; zero is for ever.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_s = Some(timeout.as_secs_f64());
        self
    }

    /// A variable whose value is never shown or kept.
    #[must_use]
    pub fn secret_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.secret_env.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

/// A terminal to be made: with the user's shell unless told otherwise.
#[derive(Debug, Clone, Default)]
pub struct NewTerminal(terminal::CreateParams);

impl NewTerminal {
    /// A program and its arguments in place of a shell.
    #[must_use]
    pub fn program(mut self, argv: impl IntoIterator<Item: Into<String>>) -> Self {
        self.0.argv = Some(argv.into_iter().map(Into::into).collect());
        self
    }

    #[must_use]
    pub fn size(mut self, cols: u16, rows: u16) -> Self {
        (self.0.cols, self.0.rows) = (Some(cols), Some(rows));
        self
    }

    /// What people call it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_the_parameters_of_the_wire() {
        let command =
            Command::new("make").env("A", "b").working_dir("/x").timeout(Duration::from_millis(500));
        let params = command.stdin([0xff]).into_params(None);
        let expected = json!({
            "command": "make", "env": {"A": "b"}, "working_dir": "/x", "timeout_s": 0.5,
            "stdin": "/w==", "stdin_encoding": "base64", "on_disconnect": "cancel",
        });
        assert_eq!(serde_json::to_value(params).unwrap(), expected);
        let program = Program::new(["sh", "-i"]).tty(80, 24).yield_after(Duration::from_secs(1));
        let expected = json!({"argv": ["sh", "-i"], "tty": true, "cols": 80, "rows": 24, "yield_ms": 1000});
        assert_eq!(serde_json::to_value(program.into_params(None)).unwrap(), expected);
    }

    #[test]
    fn the_session_of_a_handle_goes_before_that_of_the_parameters() {
        let (mine, other) = ("s-mine".parse().unwrap(), "s-other".parse().unwrap());
        let given = RunParams { session_id: Some(other), ..RunParams::default() };
        let params = Command::from(given.clone()).detached().into_params(Some(&mine));
        assert_eq!((params.session_id, params.on_disconnect), (Some(mine), Some(OnDisconnect::Continue)));
        assert_eq!(Command::from(given.clone()).into_params(None).session_id, given.session_id);
    }
}
