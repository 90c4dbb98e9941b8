//! What a program said beside its text.

use serde::Serialize;

/// Something that happened in the stream, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Happened {
    /// Bytes of the stream up to and with the one that made it happen.
    pub offset: u64,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Several in a row are one.
    Bell,
    Title(String),
    /// OSC 7: the working directory, as a path.
    Cwd(String),
    /// OSC 9, 777 or 99.
    Notification {
        title: Option<String>,
        body: String,
    },
    /// OSC 133 A: a prompt begins.
    Prompt,
    /// OSC 133 B: what follows is typed.
    Input,
    /// OSC 133 C: output begins. The command line, when the shell told it.
    CommandStarted {
        command: Option<String>,
    },
    /// OSC 133 D.
    CommandEnded {
        exit_code: Option<i32>,
    },
    /// OSC 52: the program wants this in the clipboard (base64, as it came). Asking for its content is never answered.
    ClipboardWrite {
        selection: String,
        data: String,
    },
    /// The other screen is shown.
    Screen {
        alternate: bool,
    },
}

/// Events kept of one piece of input; a stream made of nothing else is cut here.
const MOST: usize = 1024;

/// Bytes of answers to one piece of input: a file full of questions must not flood the program's input.
const ANSWER_BYTES: usize = 16 * 1024;

/// What came of feeding bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Fed {
    pub events: Vec<Happened>,
    /// Answers to the program's questions, to be written to its input by whoever owns the terminal, and by nobody else.
    pub replies: Vec<u8>,
}

impl Fed {
    pub(crate) fn push(&mut self, offset: u64, event: Event) {
        let again = event == Event::Bell && self.events.last().is_some_and(|last| last.event == Event::Bell);
        if !again && self.events.len() < MOST {
            self.events.push(Happened { offset, event });
        }
    }

    pub(crate) fn reply(&mut self, text: impl AsRef<[u8]>) {
        if self.replies.len() + text.as_ref().len() <= ANSWER_BYTES {
            self.replies.extend(text.as_ref());
        }
    }
}
