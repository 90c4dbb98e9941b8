//! Pushes after a reply: the output of one execution, or events. Both pull, and only while the client takes.

use std::sync::Arc;

use trl_core::execution::Execution;
use trl_core::output::{Follower, Log};
use trl_proto::envelope;
use trl_proto::event::SubscribeParams;
use trl_proto::exec::{ExitPush, OutputPush, Range, Stream};
use trl_proto::text::incomplete_tail;
use trl_proto::{Dialect, StreamId};

use super::connection::Client;
use super::principal::Principal;

pub(crate) enum Follow {
    Output(Output),
    Events(Events),
}

/// Bytes per push: large enough that the frame around them does not matter, small enough that the allocator keeps the
/// line's memory at hand.
const CHUNK: usize = 64 * 1024;

/// `exec.stream`: every byte of both streams, then the end.
pub(crate) struct Output {
    id: StreamId,
    execution: Arc<Execution>,
    dialect: Dialect,
    stdout: Follower,
    stderr: Follower,
}

impl Output {
    pub(crate) fn new(id: StreamId, execution: Arc<Execution>, dialect: Dialect) -> Self {
        let (stdout, stderr) = (execution.stdout.follow(0), execution.stderr.follow(0));
        Self { id, execution, dialect, stdout, stderr }
    }

    pub(crate) async fn run(mut self, client: &Client) {
        loop {
            if !client.outbox.room().await {
                return;
            }
            let finished = self.execution.finished();
            let ends = finished.as_ref().map(|f| (f.outcome.stdout_bytes, f.outcome.stderr_bytes));
            let out = self.push(client, Stream::Stdout, ends.map(|e| e.0));
            let err = self.push(client, Stream::Stderr, ends.map(|e| e.1));
            match (out, err) {
                (Pushed::AllThereIs(out), Pushed::AllThereIs(err)) => match finished {
                    Some(finished) => {
                        let exit = ExitPush { stream_id: self.id.clone(), outcome: finished.outcome.clone() };
                        return client.outbox.send(envelope::push(self.dialect, "exec.exit", &exit));
                    }
                    None => tokio::select! {
                        () = grown(&self.execution.stdout, out) => {}
                        () = grown(&self.execution.stderr, err) => {}
                        refused = self.execution.wait() => if refused.is_err() { return },
                    },
                },
                _ => tokio::task::consume_budget().await,
            }
        }
    }

    /// Pushes the next piece. `end` is where the execution's own output ends, once it has: what background
    /// processes write later is not part of this stream.
    fn push(&mut self, client: &Client, stream: Stream, end: Option<u64>) -> Pushed {
        let follower = if stream == Stream::Stdout { &mut self.stdout } else { &mut self.stderr };
        let from = follower.offset();
        let most = end.map_or(u64::MAX, |end| end.saturating_sub(from));
        let limit = usize::try_from(most).unwrap_or(usize::MAX).min(CHUNK);
        if limit == 0 {
            return Pushed::AllThereIs(None);
        }
        let reading = follower.peek(limit);
        let slice = reading.slice;
        let last = reading.done || end.is_some_and(|end| slice.next() >= end);
        let seen = (!reading.done).then(|| slice.next());
        let held = if last { 0 } else { incomplete_tail(&slice.bytes) };
        let bytes = &slice.bytes[..slice.bytes.len() - held];
        if bytes.is_empty() {
            return Pushed::AllThereIs(seen);
        }
        let push = OutputPush {
            stream_id: self.id.clone(),
            execution_id: self.execution.id.clone(),
            stream,
            offset: slice.offset,
            bytes,
            gap: slice.gap.map(|(from, to)| Range { from, to }),
        };
        client.outbox.send(envelope::push_output(self.dialect, &push));
        follower.advance(slice.offset + bytes.len() as u64);
        Pushed::Some
    }
}

enum Pushed {
    Some,
    /// Nothing more for now; more comes when the log grows beyond this, if it ever can.
    AllThereIs(Option<u64>),
}

/// Resolves when there is more; never for a stream that has ended.
async fn grown(log: &Log, beyond: Option<u64>) {
    match beyond {
        Some(offset) => log.wait_beyond(offset).await,
        None => std::future::pending().await,
    }
}

/// `events.subscribe`.
pub(crate) struct Events {
    params: SubscribeParams,
    seen: u64,
    principal: Principal,
    dialect: Dialect,
}

impl Events {
    pub(crate) fn new(params: SubscribeParams, now: u64, principal: Principal, dialect: Dialect) -> Self {
        let seen = params.since.unwrap_or(now);
        Self { params, seen, principal, dialect }
    }

    pub(crate) async fn run(mut self, client: &Client) {
        while client.outbox.room().await {
            let events = tokio::select! {
                events = client.server.manager.engine.events.after(self.seen) => events,
                () = client.outbox.closed() => return,
            };
            for event in events {
                self.seen = event.seq;
                if self.wants(&event.what) {
                    client.outbox.send(envelope::push(self.dialect, "event", &event));
                }
            }
        }
    }

    fn wants(&self, what: &trl_proto::event::Happening) -> bool {
        let session = what.session_id();
        let kind = self.params.kinds.as_ref().is_none_or(|kinds| kinds.contains(&what.kind()));
        let of_terminal = what.terminal_id().is_some();
        let own = match session {
            Some(session) => self.principal.may_see(session),
            None => !of_terminal || self.principal.may_see_terminals(),
        };
        let asked = match (&self.params.session_id, session) {
            (Some(id), Some(session)) => id == session,
            (Some(_), None) => !of_terminal,
            (None, _) => true,
        };
        kind && own && asked
    }
}
