//! Pushes after a reply: the output of one execution, events, or changes of files. All pull, and only while the client takes.

use std::sync::Arc;

use trl_core::events::Told;
use trl_core::execution::Execution;
use trl_core::output::{Follower, Log};
use trl_proto::envelope;
use trl_proto::event::SubscribeParams;
use trl_proto::exec::{ExitPush, Outcome, OutputPush, Range, RefusedPush, Stream};
use trl_proto::text::incomplete_tail;
use trl_proto::{Dialect, Error, StreamId};

use super::agent::push::Updates;
use super::connection::Client;
use super::elsewhere::ChangesThere;
use super::far::Showing;
use super::files::changes::Changes;
use super::outbox::Outbox;
use super::principal::Principal;

pub(crate) enum Follow {
    Output(Output<Pushes>),
    Events(Events),
    Changes(Changes),
    ChangesThere(ChangesThere),
    Tape(Showing),
    Message(Updates<super::agent::push::Pushes>),
}

/// Bytes per push: large enough that the frame around them does not matter, small enough that the allocator keeps the
/// line's memory at hand.
const CHUNK: usize = 64 * 1024;

/// How output and its end are written down.
pub(crate) trait Form: Send {
    /// A piece that ends where `next` says, for both streams.
    fn output(&self, execution: &Execution, piece: &Piece<'_>, next: Next) -> Vec<u8>;
    fn exit(&self, outcome: &Outcome, next: Next) -> Vec<u8>;
    /// It was not run after all.
    fn refused(&self, execution: &Execution, error: Error) -> Vec<u8>;
    /// Nothing more can be written to its output; only said to who follows that long.
    fn closed(&self, _execution: &Execution) -> Vec<u8> {
        Vec::new()
    }
}

/// How far output is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the end of the execution.
    Exit,
    /// To the last byte of the last process it left; and no byte is missed.
    Everything,
}

/// Where both streams go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Next {
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

/// Some bytes of one stream.
pub(crate) struct Piece<'a> {
    pub(crate) stream: Stream,
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) gap: Option<Range>,
}

/// Pushes of the two envelopes.
pub(crate) struct Pushes {
    pub(crate) id: StreamId,
    pub(crate) dialect: Dialect,
}

impl Form for Pushes {
    fn output(&self, execution: &Execution, piece: &Piece<'_>, _next: Next) -> Vec<u8> {
        let push = OutputPush {
            stream_id: self.id.clone(),
            execution_id: execution.id.clone(),
            stream: piece.stream,
            offset: piece.offset,
            bytes: piece.bytes,
            gap: piece.gap,
        };
        envelope::push_output(self.dialect, &push)
    }

    fn exit(&self, outcome: &Outcome, _next: Next) -> Vec<u8> {
        let exit = ExitPush { stream_id: self.id.clone(), outcome: outcome.clone() };
        envelope::push(self.dialect, "exec.exit", &exit)
    }

    fn refused(&self, execution: &Execution, error: Error) -> Vec<u8> {
        let push = RefusedPush {
            stream_id: Some(self.id.clone()),
            execution_id: execution.id.clone(),
            error: error.into(),
        };
        envelope::push(self.dialect, "exec.refused", &push)
    }

    fn closed(&self, execution: &Execution) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct Closed<'a> {
            execution_id: &'a trl_proto::ExecutionId,
        }
        envelope::push(self.dialect, "exec.closed", &Closed { execution_id: &execution.id })
    }
}

/// Every byte of both streams, then the end.
pub(crate) struct Output<F> {
    form: F,
    execution: Arc<Execution>,
    stdout: Follower,
    stderr: Follower,
    reach: Reach,
}

impl<F: Form> Output<F> {
    pub(crate) fn new(form: F, execution: Arc<Execution>, from: Next) -> Self {
        let (stdout, stderr) = (execution.stdout.follow(from.stdout), execution.stderr.follow(from.stderr));
        Self { form, execution, stdout, stderr, reach: Reach::Exit }
    }

    /// To the end of the execution, which waits for whoever reads: no byte is missed.
    pub(crate) fn strictly(form: F, execution: Arc<Execution>) -> Self {
        Self { reach: Reach::Exit, ..Self::everything(form, execution) }
    }

    /// From the first byte to the last.
    pub(crate) fn everything(form: F, execution: Arc<Execution>) -> Self {
        let (stdout, stderr) = (execution.stdout.follow_strictly(0), execution.stderr.follow_strictly(0));
        Self { form, execution, stdout, stderr, reach: Reach::Everything }
    }

    fn next(&self) -> Next {
        Next { stdout: self.stdout.offset(), stderr: self.stderr.offset() }
    }

    pub(crate) async fn run(mut self, outbox: &Outbox) {
        loop {
            if !outbox.room().await {
                return;
            }
            let finished = self.execution.finished();
            let ends = finished.as_ref().map(|f| (f.outcome.stdout_bytes, f.outcome.stderr_bytes));
            let out = self.push(outbox, Stream::Stdout, ends.map(|e| e.0));
            let err = self.push(outbox, Stream::Stderr, ends.map(|e| e.1));
            match (out, err) {
                (Pushed::AllThereIs(out), Pushed::AllThereIs(err)) => match finished {
                    Some(finished) => {
                        outbox.send(self.form.exit(&finished.outcome, self.next()));
                        return match self.reach {
                            Reach::Exit => {}
                            Reach::Everything => self.run_on(outbox).await,
                        };
                    }
                    None => tokio::select! {
                        () = grown(&self.execution.stdout, out) => {}
                        () = grown(&self.execution.stderr, err) => {}
                        refused = self.execution.wait() => if let Err(error) = refused {
                            return outbox.send(self.form.refused(&self.execution, error));
                        },
                        () = outbox.closed() => return,
                    },
                },
                _ => tokio::task::consume_budget().await,
            }
        }
    }

    /// What processes write that it left behind.
    async fn run_on(mut self, outbox: &Outbox) {
        while outbox.room().await {
            let out = self.push(outbox, Stream::Stdout, None);
            let err = self.push(outbox, Stream::Stderr, None);
            match (out, err) {
                (Pushed::AllThereIs(None), Pushed::AllThereIs(None)) => {
                    return outbox.send(self.form.closed(&self.execution));
                }
                (Pushed::AllThereIs(out), Pushed::AllThereIs(err)) => tokio::select! {
                    () = grown(&self.execution.stdout, out) => {}
                    () = grown(&self.execution.stderr, err) => {}
                    () = outbox.closed() => return,
                },
                _ => tokio::task::consume_budget().await,
            }
        }
    }

    /// Pushes the next piece. `end` is where the execution's own output ends, once it has: what background
    /// processes write later is not part of this stream.
    fn push(&mut self, outbox: &Outbox, stream: Stream, end: Option<u64>) -> Pushed {
        let follower = if stream == Stream::Stdout { &mut self.stdout } else { &mut self.stderr };
        let from = follower.offset();
        let most = end.map_or(u64::MAX, |end| end.saturating_sub(from));
        let limit = usize::try_from(most).unwrap_or(usize::MAX).min(CHUNK);
        if limit == 0 {
            return Pushed::AllThereIs(None);
        }
        let reading = follower.peek(limit);
        let slice = reading.slice;
        let last = reading.done || reading.cut_off || end.is_some_and(|end| slice.next() >= end);
        let seen = (!reading.done).then(|| slice.next());
        let held = if last { 0 } else { incomplete_tail(&slice.bytes) };
        let bytes = &slice.bytes[..slice.bytes.len() - held];
        if bytes.is_empty() {
            return Pushed::AllThereIs(seen);
        }
        follower.advance(slice.offset + bytes.len() as u64);
        let gap = slice.gap.map(|(from, to)| Range { from, to });
        let stream = if stream == Stream::Stdout { self.execution.main_stream() } else { stream };
        let piece = Piece { stream, offset: slice.offset, bytes, gap };
        outbox.send(self.form.output(&self.execution, &piece, self.next()));
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
            for told in events {
                self.seen = told.event.seq;
                if self.wants(&told) {
                    client.outbox.send(envelope::push(self.dialect, "event", &told.event));
                }
            }
        }
    }

    fn wants(&self, told: &Told) -> bool {
        let what = &told.event.what;
        let session = what.session_id();
        let kind = self.params.kinds.as_ref().is_none_or(|kinds| kinds.contains(&what.kind()));
        let asked = match (&self.params.session_id, session) {
            (Some(id), Some(session)) => id == session,
            (Some(_), None) => what.terminal_id().is_none(),
            (None, _) => true,
        };
        kind && asked && self.principal.may_hear(told)
    }
}
