//! A terminal, followed for a gateway: every byte, every change of size in its place, and the end. Its program waits for this
//! follower, however long the link is away.

use std::sync::Arc;

use trl_core::terminal::Terminal;
use trl_core::terminal::tape::{Piece, Tape};
use trl_proto::Dialect;
use trl_proto::envelope;
use trl_proto::far::{ResizedTo, Shown, TerminalEnd};
use trl_proto::text::to_base64;
use trl_sys::reap::Exit;

use super::super::outbox::Outbox;

/// Bytes per push.
const CHUNK: usize = 48 * 1024;

pub(crate) struct Showing {
    terminal: Arc<Terminal>,
}

impl Showing {
    /// From its first byte on.
    pub(crate) fn new(terminal: Arc<Terminal>) -> Self {
        terminal.followed.send_replace(0);
        Self { terminal }
    }

    pub(crate) async fn run(self, outbox: &Outbox) {
        let mut place = Tape::origin();
        while outbox.room().await {
            match self.terminal.tape.read(&mut place, CHUNK) {
                Piece::Bytes { bytes, .. } => {
                    push(outbox, "far.shown", &Shown { data: to_base64(&bytes) });
                    self.terminal.followed.send_replace(place.offset);
                }
                Piece::Resized(mark) => {
                    push(outbox, "far.resized", &ResizedTo { cols: mark.size.cols, rows: mark.size.rows });
                }
                // It waits for us, so there is no such thing; and if there were, what is left is better than nothing.
                Piece::Fell { .. } => place = self.terminal.tape.newest(usize::MAX),
                Piece::Nothing => tokio::select! {
                    () = self.terminal.tape.wait(&place) => {}
                    () = outbox.closed() => return,
                },
                Piece::End => return push(outbox, "far.ended", &self.end()),
            }
        }
    }

    fn end(&self) -> TerminalEnd {
        let public = self.terminal.public();
        let exit = public.exit.unwrap_or(Exit::Signal(9));
        TerminalEnd {
            exit_code: exit.shell_code(),
            signal: match exit {
                Exit::Signal(number) => Some(number),
                Exit::Code(_) => None,
            },
            reason: public.ended.as_ref().map(|(why, _)| why.clone()).unwrap_or_default(),
            usage: public.usage.clone(),
        }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        // Nobody is waited for any more.
        self.terminal.followed.send_replace(u64::MAX);
    }
}

fn push<T: serde::Serialize>(outbox: &Outbox, name: &str, params: &T) {
    outbox.send(envelope::push(Dialect::JsonRpc, name, params));
}
