//! Images: is one there, and getting it.
//!
//! While an image is pulled, Docker answers with one JSON object per line. An answer that began with 200 may still end
//! with a line that says why there is no image.

use serde::Deserialize;

use crate::wire::{Ask, escaped};
use crate::{Docker, Error, Result};

/// A line that is longer is none of Docker's.
const MOST_LINE: usize = 1 << 20;

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all(deserialize = "PascalCase"))]
pub struct Image {
    pub id: String,
    /// In Go's words, such as `amd64`.
    pub architecture: String,
    pub os: String,
}

/// What goes on while an image is pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The layer, or empty for what is about the whole.
    pub id: String,
    /// In Docker's words, such as `Downloading`.
    pub status: String,
    /// Bytes so far, and in all, where they are known.
    pub current: Option<u64>,
    pub total: Option<u64>,
}

impl Docker {
    /// By name or id; None when it is not there.
    pub async fn image(&self, name: &str) -> Result<Option<Image>> {
        match self.ask(Ask::get(format!("/images/{}/json", escaped(name)))).await {
            Ok(answer) => answer.json().map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gets an image from its registry, and tells what goes on. It may take as long as it likes, but not be silent for
    /// longer than [`Docker::within`] says.
    pub async fn pull(&self, image: &str, mut seen: impl FnMut(Progress)) -> Result<()> {
        let ask = Ask::post("/images/create").query("fromImage", &tagged(image));
        let what = ask.what();
        let asked = async {
            let mut wire = self.connect().await?;
            let begun = wire.send(ask).await?;
            Ok((wire, begun))
        };
        let (mut wire, mut begun) = self.timed(&what, asked).await?;
        let mut lines = Lines::default();
        loop {
            let piece = self.timed(&what, wire.piece(&mut begun)).await?;
            match &piece {
                Some(bytes) => lines.push(bytes),
                // The last one may have no newline.
                None => lines.push(b"\n"),
            }
            while let Some(line) = lines.take() {
                let said = serde_json::from_slice(&line).map_err(|error| Error::unexpected(&what, error))?;
                seen(understood(said).map_err(|message| Error::Pull { image: image.into(), message })?);
            }
            if lines.0.len() > MOST_LINE {
                return Err(Error::unexpected(&what, "a line without an end"));
            }
            if piece.is_none() {
                return Ok(());
            }
        }
    }
}

/// A name without a tag would mean all of them.
fn tagged(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains([':', '@']) { image.into() } else { format!("{image}:latest") }
}

/// Bytes to lines that say something.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        loop {
            let end = self.0.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.0.drain(..=end).collect();
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Line {
    id: String,
    status: String,
    progress_detail: Detail,
    /// Only here in later versions.
    error_detail: Option<Fault>,
    /// Only here in earlier ones.
    error: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Detail {
    current: Option<u64>,
    total: Option<u64>,
}

#[derive(Deserialize)]
struct Fault {
    message: String,
}

/// What a line says, or why there will be no image.
fn understood(line: Line) -> Result<Progress, String> {
    match (line.error_detail, line.error) {
        (Some(Fault { message }), _) | (None, Some(message)) => Err(message),
        (None, None) => {
            let Detail { current, total } = line.progress_detail;
            Ok(Progress { id: line.id, status: line.status, current, total })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_is_pulled_and_not_all_of_that_name() {
        assert_eq!(tagged("debian"), "debian:latest");
        assert_eq!(tagged("localhost:5000/debian"), "localhost:5000/debian:latest");
        for whole in ["debian:12", "localhost:5000/debian:12", "debian@sha256:00"] {
            assert_eq!(tagged(whole), whole);
        }
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let bytes = b"{\"a\":1}\r\n\r\n{\"b\":2}\n";
        for size in 1..=bytes.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for piece in bytes.chunks(size) {
                lines.push(piece);
                found.extend(std::iter::from_fn(|| lines.take()));
            }
            assert_eq!(found, [b"{\"a\":1}\r\n".to_vec(), b"{\"b\":2}\n".to_vec()]);
        }
    }

    #[test]
    fn a_line_is_progress_or_the_end_of_all_hope() {
        let told = |line: &str| understood(serde_json::from_str(line).unwrap());
        assert_eq!(
            told(
                r#"{"status":"Downloading","progressDetail":{"current":1,"total":2},"progress":"[=]","id":"a"}"#
            ),
            Ok(Progress { id: "a".into(), status: "Downloading".into(), current: Some(1), total: Some(2) })
        );
        let whole = Progress { id: String::new(), status: "Digest: x".into(), current: None, total: None };
        assert_eq!(told(r#"{"status":"Digest: x"}"#), Ok(whole));
        assert_eq!(told(r#"{"errorDetail":{"message":"denied"}}"#), Err("denied".into()));
        assert_eq!(told(r#"{"error":"denied"}"#), Err("denied".into()));
        assert_eq!(told(r#"{"errorDetail":{"code":401,"message":"new"},"error":"old"}"#), Err("new".into()));
    }
}
