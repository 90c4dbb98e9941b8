//! The form of a checkpoint on disk.
//!
//! ```text
//! TRL-CHECKPOINT 1 <SHA-256 of all that follows, in hex>
//! {"checkpoint_id":...}                                     one line of JSON: the manifest
//! <the parts of the state: letter, name, NUL, text, NUL>    bytes, since names and values may be no text
//! ```

use std::io::{BufRead, BufReader, Read};

use sha2::{Digest, Sha256};

use super::{Checkpoint, Manifest};
use crate::shell::Kind;
use crate::shell::state::State;

/// Longer ones are no checkpoints of ours.
const LONGEST_HEAD: u64 = 256;
const LONGEST_MANIFEST: u64 = 16 << 20;

const MAGIC: &str = "TRL-CHECKPOINT";
/// Raised when an older daemon could not read what a newer one writes.
const VERSION: &str = "1";

pub fn encode(checkpoint: &Checkpoint) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = serde_json::to_vec(&checkpoint.manifest)?;
    body.push(b'\n');
    body.extend(checkpoint.state.encode());
    let head = format!("{MAGIC} {VERSION} {}\n", digest(&body));
    Ok([head.into_bytes(), body].concat())
}

/// What is wrong with a file that is no checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("it is no checkpoint")]
    NoCheckpoint,
    #[error("a newer daemon wrote it")]
    Version,
    #[error("its checksum is wrong")]
    Checksum,
    #[error("its manifest cannot be read")]
    Manifest,
    #[error("its state cannot be read")]
    State,
}

/// What a file says of itself, not yet believed: to put many in their order.
pub fn peek(file: impl Read) -> Option<Manifest> {
    let mut lines = BufReader::new(file);
    let mut head = Vec::new();
    lines.by_ref().take(LONGEST_HEAD).read_until(b'\n', &mut head).ok()?;
    let mut manifest = Vec::new();
    lines.take(LONGEST_MANIFEST).read_until(b'\n', &mut manifest).ok()?;
    let known = std::str::from_utf8(&head).is_ok_and(|head| head.starts_with(&format!("{MAGIC} {VERSION} ")));
    known.then(|| serde_json::from_slice(&manifest).ok()).flatten()
}

pub fn decode(bytes: &[u8]) -> Result<Checkpoint, Fault> {
    let (head, body) = split_line(bytes).ok_or(Fault::NoCheckpoint)?;
    let head = std::str::from_utf8(head).map_err(|_| Fault::NoCheckpoint)?;
    let mut words = head.split(' ');
    if words.next() != Some(MAGIC) {
        return Err(Fault::NoCheckpoint);
    }
    if words.next() != Some(VERSION) {
        return Err(Fault::Version);
    }
    if words.next() != Some(digest(body).as_str()) {
        return Err(Fault::Checksum);
    }
    let (manifest, state) = split_line(body).ok_or(Fault::Manifest)?;
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|_| Fault::Manifest)?;
    let kind = Kind::named(&manifest.shell).ok_or(Fault::Manifest)?;
    let state = State::decode(kind, state).ok_or(Fault::State)?;
    Ok(Checkpoint { manifest, state })
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == b'\n')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use trl_proto::checkpoint::Origin;
    use trl_proto::{ExecutionId, RequestId, SessionId};

    use super::super::{Around, Captured, Hidden, Stand};
    use super::*;
    use crate::session::spec::Secrets;

    pub(crate) fn example(session: &SessionId) -> Checkpoint {
        let dump = b"c\0/tmp\xff\0u\x000022\n\0v\0declare -x A=\"1\"\n\0f f\0f () \n{ \n    :\n}\n\0z\0\0";
        let state = State::read(Kind::Bash, dump).unwrap();
        let stand = Stand {
            session_id: session.clone(),
            case_id: Some("build".into()),
            commands: 3,
            last_execution: Some(ExecutionId::random()),
            pending_requests: vec![RequestId::random()],
        };
        let hidden = Hidden::new(&Secrets::default(), Arc::default(), Vec::new());
        let captured = Captured { state, around: Around::default(), stand, hidden };
        Checkpoint::new(Origin::Request, captured)
    }

    #[test]
    fn a_checkpoint_is_read_back() {
        let checkpoint = example(&SessionId::random());
        let bytes = encode(&checkpoint).unwrap();
        assert_eq!(peek(bytes.as_slice()), Some(checkpoint.manifest.clone()));
        assert_eq!(decode(&bytes), Ok(checkpoint));
    }

    #[test]
    fn no_changed_byte_and_no_missing_end_goes_unnoticed() {
        let bytes = encode(&example(&SessionId::random())).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(decode(&bad).is_err(), "byte {at}");
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        let newer = String::from_utf8_lossy(&bytes).replacen(" 1 ", " 2 ", 1);
        assert_eq!(decode(newer.as_bytes()), Err(Fault::Version));
    }
}
