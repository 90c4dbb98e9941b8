//! What a peer can do wrong, and what a caller can.

use crate::stream::StreamId;

/// The other side does not keep to the protocol, or is not who it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    #[error("no engine answered, but somebody said: {0}")]
    Noise(String),
    #[error("we speak versions {} to {} of the link protocol, the other side {} to {}", ours.0, ours.1, theirs.0, theirs.1)]
    Version { ours: (u16, u16), theirs: (u16, u16) },
    #[error("the other side has another link in mind")]
    WrongKey,
    #[error("both ends are the same side of a link")]
    SameSide,
    #[error("the other side has started anew and knows nothing of this link")]
    Restarted,
    #[error("the other side says it has {claimed} frames, which cannot be: it has {least} to {most}")]
    Count { claimed: u64, least: u64, most: u64 },
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(u8),
    #[error("a frame of the kind {0} has a length that it cannot have")]
    Malformed(u8),
    #[error("the other side speaks of {0}, which was never opened")]
    NotOpen(StreamId),
    #[error("the other side opens {0} out of turn")]
    OutOfTurn(StreamId),
    #[error("the other side opens streams, which only this side does")]
    NotYours,
    #[error("there are too many streams")]
    TooManyStreams,
    #[error("more came on {0} than there was credit for")]
    OverCredit(StreamId),
    #[error("more came on {0} after its end")]
    AfterEnd(StreamId),
    #[error("more credit for {0} than can be used")]
    TooMuchCredit(StreamId),
}

/// Why nothing can be sent on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    #[error("the stream is over")]
    Over,
    #[error("this side has ended the stream")]
    Ended,
    #[error("there are as many streams as there may be")]
    Full,
    #[error("only the near side opens streams")]
    NotHere,
}
