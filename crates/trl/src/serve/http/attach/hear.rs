//! From the client: what it types, and what it says about itself.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use trl_core::terminal::spec::checked_size;

use super::super::ws::Socket;
use super::{Close, Desk};

/// A window that is being dragged is not followed faster than this.
const RESIZE_PACE: Duration = Duration::from_millis(100);

const INPUT: u8 = 0x81;

/// What a client of the rich form says in text.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    Ack { offset: u64 },
    Resize { cols: u16, rows: u16 },
    Claim,
    Release,
    Resync { history_lines: Option<usize> },
    Signal { signal: String },
    History { before: Option<u64>, lines: Option<u64> },
}

impl Desk<'_> {
    pub(super) async fn read(&self, stream: &mut SplitStream<Socket>) -> Close {
        let mut resized = None;
        let mut last_resize = Instant::now().checked_sub(RESIZE_PACE);
        loop {
            let pace = last_resize.map_or(Duration::ZERO, |at| RESIZE_PACE.saturating_sub(at.elapsed()));
            let message = tokio::select! {
                message = stream.next() => message,
                () = tokio::time::sleep(pace), if resized.is_some() => {
                    if let Some(window) = resized.take() {
                        last_resize = Some(Instant::now());
                        // a terminal that has ended has no size to change
                        let _ = self.viewer.show(window).await;
                    }
                    continue;
                }
            };
            let message = match message {
                Some(Ok(message)) => message,
                Some(Err(WsError::Capacity(_))) => return Close::TooLarge,
                Some(Err(WsError::Protocol(_))) => return Close::Protocol,
                Some(Err(WsError::Utf8(_))) => return Close::NotText,
                Some(Err(_)) | None => return Close::Silent,
            };
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            match message {
                Message::Close(_) => return Close::Silent,
                Message::Binary(bytes) => self.typed(&bytes).await,
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(Said::Resize { cols, rows }) => match checked_size(cols, rows) {
                        Ok(window) => resized = Some(window),
                        Err(error) => self.complain(&error.message, None),
                    },
                    Ok(said) if self.ask.rich => self.said(said).await,
                    Err(error) if self.ask.rich => {
                        self.tell(json!({"type": "error", "message": error.to_string()}))
                    }
                    // of a plain client, text that says nothing else was typed
                    Ok(_) | Err(_) => self.type_in(None, text.as_bytes().to_vec()).await,
                },
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    async fn typed(&self, bytes: &[u8]) {
        if !self.ask.rich {
            return self.type_in(None, bytes.to_vec()).await;
        }
        let numbered = bytes.strip_prefix(&[INPUT]).and_then(|rest| rest.split_first_chunk::<8>());
        match numbered {
            Some((number, bytes)) => self.type_in(Some(u64::from_be_bytes(*number)), bytes.to_vec()).await,
            None => self.tell(
                json!({"type": "error", "message": "a binary message is input: 0x81, its number, bytes"}),
            ),
        }
    }

    async fn type_in(&self, number: Option<u64>, bytes: Vec<u8>) {
        if !self.drives {
            return self.complain("this connection only watches", number);
        }
        let client = self.ask.client.as_deref();
        match self.viewer.input(client.zip(number), bytes).await {
            Ok(()) => {
                if let Some(number) = number {
                    self.taken.note(number);
                    self.wake.notify_one();
                }
            }
            Err(error) => self.complain(&error.message, number),
        }
    }

    async fn said(&self, said: Said) {
        let done = match said {
            Said::Ack { offset } => {
                self.acked.fetch_max(offset, Ordering::AcqRel);
                self.wake.notify_one();
                Ok(())
            }
            Said::Resync { history_lines } => {
                let lines = history_lines.unwrap_or(usize::MAX);
                *self.wants_picture.lock().unwrap_or_else(PoisonError::into_inner) = Some(lines);
                self.wake.notify_one();
                Ok(())
            }
            Said::Claim if self.drives => self.viewer.claim(true).await,
            Said::Release => self.viewer.claim(false).await,
            Said::Signal { signal } if self.drives => match trl_core::manager::parse_signal(&signal) {
                Ok(signal) => self.terminal().signal(signal).await.map(drop),
                Err(error) => Err(error),
            },
            Said::Claim | Said::Signal { .. } => {
                Err(trl_proto::Error::new(trl_proto::ErrorCode::Forbidden, "this connection only watches"))
            }
            Said::History { before, lines } => {
                self.tell_history(before, lines);
                Ok(())
            }
            Said::Resize { .. } => Ok(()),
        };
        if let Err(error) = done {
            self.complain(&error.message, None);
        }
    }

    fn tell_history(&self, before: Option<u64>, lines: Option<u64>) {
        const MOST: u64 = 1000;
        let count = usize::try_from(lines.unwrap_or(MOST).min(MOST)).unwrap_or(0);
        let lines = self
            .terminal()
            .model
            .look(|screen| screen.history(before.unwrap_or(u64::MAX), count, trl_screen::Format::Ansi));
        self.tell(json!({"type": "history", "lines": lines}));
    }
}
