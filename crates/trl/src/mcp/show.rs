//! What came of a call, for a model to read: words as few as wanted, and the same as a structure.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};
use trl_core::sandbox::denial::undecorated;
use trl_proto::Error;
use trl_proto::exec::{ExecutionStatus, Omitted, Outcome, OutputSlice, Range, ShellState};
use trl_proto::start::{Progress, ProgressEnd};
use trl_proto::text::{self, Encoding};

use super::hints;

/// A token is about four bytes of English, fewer of code.
const BYTES_PER_TOKEN: u64 = 4;
const USUAL_TOKENS: u64 = 10_000;

/// How many bytes a model wants to see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room(u64);

impl Room {
    /// None and 0 mean the default: a model under a strict schema has to send some number.
    pub(super) fn of(tokens: Option<u64>) -> Self {
        Self(tokens.filter(|tokens| *tokens > 0).unwrap_or(USUAL_TOKENS).saturating_mul(BYTES_PER_TOKEN))
    }

    pub(super) fn bytes(self) -> u64 {
        self.0
    }
}

/// A text whose middle may be missing.
struct Cut {
    text: String,
    /// Bytes that are not shown, of which range of the stream.
    missing: Option<Range>,
}

/// The first and the last of a text that begins at `offset` of its stream. `known` is a gap it has already.
fn cut(text: &str, offset: u64, known: Option<Range>, room: u64) -> Cut {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if text.len() <= room && known.is_none() {
        return Cut { text: text.to_string(), missing: None };
    }
    // Where the gap is in `text`: it stands between what came before it and what came after.
    let at =
        known.and_then(|gap| usize::try_from(gap.from.saturating_sub(offset)).ok()).unwrap_or(text.len());
    let (before, after) = match known {
        Some(_) => text.split_at(floor(text, at.min(text.len()))),
        None => (text, ""),
    };
    let (head_room, tail_room) = (room / 2, room - room / 2);
    let (head, tail) = match known {
        Some(_) => (
            &before[..floor(before, head_room)],
            &after[ceil(after, after.len().saturating_sub(tail_room))..],
        ),
        None => (&text[..floor(text, head_room)], &text[ceil(text, text.len().saturating_sub(tail_room))..]),
    };
    let jumped = known.map_or(0, |gap| gap.to - gap.from);
    let whole = offset + text.len() as u64 + jumped;
    let missing = Range { from: offset + head.len() as u64, to: whole - tail.len() as u64 };
    let count = missing.to - missing.from;
    if count == 0 {
        return Cut { text: text.to_string(), missing: None };
    }
    let line = |s: &str| if s.is_empty() || s.ends_with('\n') { "" } else { "\n" };
    let text = format!(
        "{head}{}[... {count} bytes not shown, from offset {} ...]\n{tail}",
        line(head),
        missing.from
    );
    Cut { text, missing: Some(missing) }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// What a stream has to say. Of bytes that are no text only the number is of use to a model.
/// A part of an output: as text if it is any, whichever way it came; else as text in the words and as it came beside them.
pub(super) fn slice(mut slice: OutputSlice) -> CallToolResult {
    let bytes = text::decode(slice.data.clone(), slice.encoding).unwrap_or_default();
    let more = if slice.done { "that is all".into() } else { format!("go on with since {}", slice.next) };
    let gap = slice.gap.map(|gap| format!("; bytes {} to {} are not kept any more", gap.from, gap.to));
    let (words, note) = match String::from_utf8(bytes) {
        Ok(words) => {
            (slice.data, slice.encoding) = (words.clone(), Encoding::Utf8);
            (words, "")
        }
        Err(odd) => (String::from_utf8_lossy(odd.as_bytes()).into_owned(), "; not all of it is text"),
    };
    let text = format!("from offset {}{}; {more}{note}\n---\n{words}", slice.offset, gap.unwrap_or_default());
    result(text, json!(slice))
}

fn shown(data: &str, encoding: Encoding, next: u64, gap: Option<Range>, room: u64) -> Cut {
    let bytes = trl_proto::text::decode(data.into(), encoding).unwrap_or_default();
    let jumped = gap.map_or(0, |gap| gap.to - gap.from);
    let offset = next.saturating_sub(bytes.len() as u64 + jumped);
    if bytes.contains(&0) {
        let count = bytes.len() as u64 + jumped;
        let text = format!("[{count} bytes that are no text, from offset {offset}]");
        return Cut { text, missing: Some(Range { from: offset, to: next }) };
    }
    cut(&String::from_utf8_lossy(&bytes), offset, gap, room)
}

/// What a terminal was sent, without what moves and colours.
fn without_escapes(text: &str) -> String {
    let words = undecorated(text.as_bytes());
    String::from_utf8_lossy(&words).chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

/// How far a command has come. What it has on its terminal says more than what it wrote there.
pub(super) fn progress(progress: &Progress, screen: Option<String>, room: Room) -> CallToolResult {
    let gap = progress.gap.clone().unwrap_or(Omitted { stdout: None, stderr: None });
    let share = if progress.stderr.is_empty() || progress.stdout.is_empty() { room.0 } else { room.0 / 2 };
    let out = shown(&progress.stdout, progress.stdout_encoding, progress.next.stdout, gap.stdout, share);
    let out = match (screen, &progress.terminal_id) {
        (Some(screen), _) => Cut { text: screen, missing: None },
        (None, Some(_)) => Cut { text: without_escapes(&out.text), ..out },
        (None, None) => out,
    };
    let err = shown(&progress.stderr, progress.stderr_encoding, progress.next.stderr, gap.stderr, share);
    let mut fields = Map::new();
    let mut words = Vec::new();
    match &progress.end {
        ProgressEnd::Done(outcome) => {
            fields.insert("exit_code".into(), outcome.exit_code.into());
            fields.insert("execution_id".into(), json!(outcome.execution_id));
            words.extend(end(outcome));
        }
        ProgressEnd::NotYet { execution_id, elapsed_ms, .. } => {
            fields.insert("execution_id".into(), json!(execution_id));
            words.push(waiting(progress, execution_id.as_str(), *elapsed_ms));
        }
    }
    fields.insert("status".into(), json!(progress.status));
    for (name, value) in [
        ("request_id", json!(progress.request_id)),
        ("terminal_id", json!(progress.terminal_id)),
        ("stdout_not_shown", json!(out.missing)),
        ("stderr_not_shown", json!(err.missing)),
    ] {
        if !value.is_null() {
            fields.insert(name.into(), value);
        }
    }
    let mut text = words.join("\n");
    for (name, part) in [("stdout", &out.text), ("stderr", &err.text)] {
        if !part.is_empty() {
            text = format!("{text}\n--- {name} ---\n{part}");
        }
        fields.insert(name.into(), part.as_str().into());
    }
    result(text, Value::Object(fields))
}

fn end(outcome: &Outcome) -> Vec<String> {
    let seconds = outcome.duration_ms as f64 / 1000.0;
    let mut words = vec![format!("exit code {} after {seconds:.2} s", outcome.exit_code)];
    words.extend(outcome.signal.as_ref().map(|signal| format!("ended by the signal {signal}")));
    if outcome.timed_out {
        words.push("ended because its time was over".into());
    }
    if outcome.cancelled {
        words.push("ended because somebody ended it".into());
    }
    if let Some(denied) = &outcome.denied {
        let path = denied.path.as_deref().map(|path| format!(" of {path}")).unwrap_or_default();
        words.push(format!("the sandbox refused it: {}{path}", denied.op));
    }
    match outcome.shell_state {
        ShellState::Kept | ShellState::Ended => {}
        ShellState::RolledBack => words.push("the shell is as it was before this command".into()),
        ShellState::Reset => words.push("the shell was started anew: its state is lost".into()),
    }
    if let Some(left) = outcome.background_pids.as_ref().filter(|pids| !pids.is_empty()) {
        words.push(format!("it left {} processes running", left.len()));
    }
    words
}

fn waiting(progress: &Progress, execution: &str, elapsed_ms: u64) -> String {
    match (progress.status, &progress.request_id) {
        (ExecutionStatus::WaitingHitl, request) => format!(
            "approval_pending: a person has to approve it ({}); `wait` with execution_id {execution} waits for that",
            request.as_ref().map(|r| r.as_str()).unwrap_or_default()
        ),
        (ExecutionStatus::Queued, _) => {
            format!("it waits for its turn in the session; execution_id {execution}")
        }
        _ => format!("still running after {:.1} s; execution_id {execution}", elapsed_ms as f64 / 1000.0),
    }
}

/// Words and what they say.
pub(super) fn result(text: String, fields: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(fields);
    result
}

/// What the daemon refused, and what to do about it.
pub(super) fn refusal(error: &Error) -> CallToolResult {
    let code = serde_json::to_value(error.code).unwrap_or_default();
    let mut text = format!("{}: {}", code.as_str().unwrap_or_default(), error.message);
    let hint = hints::hint(error);
    if let Some(hint) = hint {
        text = format!("{text}\n{hint}");
    }
    let mut fields = json!({"code": code, "message": error.message});
    if let Some(fields) = fields.as_object_mut() {
        fields.extend(hint.map(|hint| ("hint".to_string(), json!(hint))));
        if !error.details.is_empty() {
            fields.insert("details".into(), Value::Object(error.details.clone()));
        }
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(fields);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_text(
        text: &str,
        offset: u64,
        known: Option<(u64, u64)>,
        room: u64,
    ) -> (String, Option<(u64, u64)>) {
        let cut = cut(text, offset, known.map(|(from, to)| Range { from, to }), room);
        (cut.text, cut.missing.map(|m| (m.from, m.to)))
    }

    #[test]
    fn what_fits_is_shown_and_what_does_not_is_counted() {
        assert_eq!(cut_text("abc", 7, None, 3), ("abc".into(), None));
        let (text, missing) = cut_text("0123456789", 100, None, 4);
        assert_eq!(missing, Some((102, 108)));
        assert_eq!(text, "01\n[... 6 bytes not shown, from offset 102 ...]\n89");
    }

    #[test]
    fn a_gap_of_the_daemons_and_ours_are_one() {
        // bytes 0 to 4 and 94 to 98 of a stream of 98
        let (text, missing) = cut_text("abcdwxyz", 0, Some((4, 94)), 100);
        assert_eq!((missing, text.contains("90 bytes")), (Some((4, 94)), true));
        let (text, missing) = cut_text("abcdwxyz", 0, Some((4, 94)), 4);
        assert_eq!(missing, Some((2, 96)));
        assert_eq!(text, "ab\n[... 94 bytes not shown, from offset 2 ...]\nyz");
    }

    #[test]
    fn a_terminals_text_is_told_without_its_movements() {
        let sent = "\x1b[?25l\x1b[1;31mred\x1b(B\x1b[m\r\n\x1b]0;title\x07a\x1b]8;;x\x1b\\b\x1b=c\x08";
        assert_eq!(without_escapes(sent), "red\nabc");
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for room in 0..12 {
            let (text, _) = cut_text("äöüß€", 0, None, room);
            assert!(!text.contains('\u{fffd}'), "{room}");
        }
    }
}
