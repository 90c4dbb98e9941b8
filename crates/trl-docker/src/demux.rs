//! Docker's way to put several streams on one connection, taken apart. Pure: bytes in, pieces out.
//!
//! ```text
//!  stream u8 │ 0 0 0 │ length u32, big-endian │ payload
//!
//!  Header ── eight bytes have come ─▶ Payload ── all of it has come ─▶ Header ...
//! ```
//!
//! Nothing is kept of a payload: a piece is a part of the input, however that is cut.

/// Bytes before a payload.
const HEADER: usize = 8;

/// Whose a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// What the program says.
    Out,
    /// What it complains about, or the daemon does.
    Err,
}

impl Stream {
    fn of_code(code: u8) -> Result<Self, Unknown> {
        match code {
            // 0 is standard input, which Docker's own reader takes for output as well.
            0 | 1 => Ok(Self::Out),
            // 3 is the daemon itself: why the stream ends.
            2 | 3 => Ok(Self::Err),
            other => Err(Unknown(other)),
        }
    }
}

/// A header that Docker does not write: this is no such stream, or its beginning was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the unknown stream {0}")]
pub(crate) struct Unknown(pub(crate) u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes of a header have come.
    Header([u8; HEADER], usize),
    /// So many bytes of a payload are to come, at least one.
    Payload(Stream, usize),
}

const BETWEEN: State = State::Header([0; HEADER], 0);

#[derive(Debug)]
pub(crate) struct Demux {
    state: State,
}

impl Default for Demux {
    fn default() -> Self {
        Self { state: BETWEEN }
    }
}

impl Demux {
    /// Takes the next piece, of `most` bytes at most, off the front of `input`; None once that is empty.
    pub(crate) fn take<'a>(
        &mut self,
        input: &mut &'a [u8],
        most: usize,
    ) -> Result<Option<(Stream, &'a [u8])>, Unknown> {
        loop {
            match &mut self.state {
                State::Header(header, have) => {
                    let (front, rest) = input.split_at(input.len().min(HEADER - *have));
                    header[*have..*have + front.len()].copy_from_slice(front);
                    (*have, *input) = (*have + front.len(), rest);
                    if *have < HEADER {
                        return Ok(None);
                    }
                    self.state = payload(*header)?;
                }
                State::Payload(stream, left) => {
                    let (piece, rest) = input.split_at(input.len().min(*left).min(most));
                    let stream = *stream;
                    (*left, *input) = (*left - piece.len(), rest);
                    if *left == 0 {
                        self.state = BETWEEN;
                    }
                    return Ok((!piece.is_empty()).then_some((stream, piece)));
                }
            }
        }
    }

    /// Nothing is missing: an end here is one.
    pub(crate) fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Header(_, 0))
    }
}

fn payload([code, _, _, _, length @ ..]: [u8; HEADER]) -> Result<State, Unknown> {
    let stream = Stream::of_code(code)?;
    Ok(match u32::from_be_bytes(length) as usize {
        0 => BETWEEN,
        length => State::Payload(stream, length),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(code: u8, payload: &[u8]) -> Vec<u8> {
        [&[code, 0, 0, 0], (payload.len() as u32).to_be_bytes().as_slice(), payload].concat()
    }

    /// Everything that `pieces` say, `most` bytes at a time: output, complaints.
    fn taken<'a>(
        demux: &mut Demux,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        most: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), Unknown> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for mut piece in pieces {
            while let Some((stream, bytes)) = demux.take(&mut piece, most)? {
                assert!(!bytes.is_empty() && bytes.len() <= most);
                match stream {
                    Stream::Out => out.extend_from_slice(bytes),
                    Stream::Err => err.extend_from_slice(bytes),
                }
            }
            assert!(piece.is_empty(), "all of it is used");
        }
        Ok((out, err))
    }

    #[test]
    fn streams_are_told_apart() {
        let bytes =
            [frame(1, b"out"), frame(2, b"err"), frame(1, b""), frame(0, b"put"), frame(3, b"or")].concat();
        let mut demux = Demux::default();
        let all = taken(&mut demux, [bytes.as_slice()], usize::MAX);
        assert_eq!(all, Ok((b"output".to_vec(), b"error".to_vec())));
        assert!(demux.is_between_frames());
    }

    #[test]
    fn an_end_inside_of_a_frame_is_seen() {
        let bytes = frame(1, b"x");
        for cut in 0..=bytes.len() {
            let mut demux = Demux::default();
            taken(&mut demux, [&bytes[..cut]], usize::MAX).unwrap();
            assert_eq!(demux.is_between_frames(), [0, bytes.len()].contains(&cut), "after {cut}");
        }
    }

    #[test]
    fn what_is_no_frame_is_named() {
        let mut demux = Demux::default();
        assert_eq!(taken(&mut demux, [b"HTTP/1.1 200 OK".as_slice()], usize::MAX), Err(Unknown(b'H')));
    }

    #[test]
    fn without_room_nothing_is_taken() {
        let bytes = frame(1, b"abc");
        let (mut demux, mut input) = (Demux::default(), bytes.as_slice());
        assert_eq!(demux.take(&mut input, 0), Ok(None));
        assert_eq!(demux.take(&mut input, 2), Ok(Some((Stream::Out, b"ab".as_slice()))));
        assert_eq!(demux.take(&mut input, 2), Ok(Some((Stream::Out, b"c".as_slice()))));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_it_is_cut(
            frames in prop::collection::vec((0..4u8, prop::collection::vec(any::<u8>(), 0..40)), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            most in 1..50usize,
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(|(code, payload)| frame(*code, payload)).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            let of = |codes: [u8; 2]| -> Vec<u8> {
                let mine = frames.iter().filter(|(code, _)| codes.contains(code));
                mine.flat_map(|(_, payload)| payload.clone()).collect()
            };
            let mut demux = Demux::default();
            prop_assert_eq!(taken(&mut demux, pieces, most), Ok((of([0, 1]), of([2, 3]))));
            prop_assert!(demux.is_between_frames());
        }

        #[test]
        fn noise_is_taken_or_refused_but_never_breaks_it(noise: Vec<u8>, size in 1..20usize) {
            let _ = taken(&mut Demux::default(), noise.chunks(size), usize::MAX);
        }
    }
}
