//! Permissions that an agent asks for before it has said what for. Pure.
//!
//! OpenCode asks about a tool of an MCP server with an empty input, and says the input in the next line. Whoever is asked at once
//! decides on nothing, and a yes that is kept would be for anything. So such a question is kept back until more is said of its
//! tool call, or for a moment.

use std::time::{Duration, Instant};

use trl_acp::call::CallId;
use trl_acp::{Call, tools};

/// What follows at once is there long before; a tool that really takes nothing waits so long.
const MOMENT: Duration = Duration::from_secs(1);
/// More are asked as they are.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Unsaid(Vec<Question>);

struct Question {
    until: Instant,
    id: CallId,
    call: Call,
}

impl Unsaid {
    /// The question, when it can be asked now.
    pub(super) fn keep(&mut self, id: CallId, call: Call, now: Instant) -> Option<(CallId, Call)> {
        match &call {
            Call::Permission { tool_call, .. }
                if tools::leaves_input_out(tool_call) && self.0.len() < MOST =>
            {
                self.0.push(Question { until: now + MOMENT, id, call });
                None
            }
            _ => Some((id, call)),
        }
    }

    /// When the first of them has been kept for long enough.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|question| question.until).min()
    }

    /// Those that have been.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(CallId, Call)> {
        self.take(|question| question.until <= now)
    }

    /// Those about this tool call, of which more has been said.
    pub(super) fn about(&mut self, tool_call_id: &str) -> Vec<(CallId, Call)> {
        self.take(|question| match &question.call {
            Call::Permission { tool_call, .. } => tool_call.tool_call_id == tool_call_id,
            _ => false,
        })
    }

    pub(super) fn all(&mut self) -> Vec<(CallId, Call)> {
        self.take(|_| true)
    }

    fn take(&mut self, wanted: impl Fn(&Question) -> bool) -> Vec<(CallId, Call)> {
        let (taken, kept) = std::mem::take(&mut self.0).into_iter().partition(wanted);
        self.0 = kept;
        taken.into_iter().map(|Question { id, call, .. }| (id, call)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trl_acp::{Dialogue, Heard};

    use super::*;

    /// A question as an agent asks it.
    fn asked(id: u64, input: Value) -> (CallId, Call) {
        let call = json!({"toolCallId": format!("c{id}"), "title": "t", "rawInput": input});
        let params = json!({"sessionId": "x", "toolCall": call, "options": []});
        let line = json!({"id": id, "method": "session/request_permission", "params": params}).to_string();
        match Dialogue::default().hear(line.as_bytes()) {
            Ok(Heard::Call { id, call }) => (id, call),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_says_nothing_waits_for_more_words_or_a_moment() {
        let (mut unsaid, now) = (Unsaid::default(), Instant::now());
        let mut keep = |id, input| {
            let (id, call) = asked(id, input);
            unsaid.keep(id, call, now)
        };
        assert!(keep(1, json!({"cmd": "ls"})).is_some());
        assert!(keep(2, json!({})).is_none() && keep(3, json!({})).is_none());
        assert!(unsaid.due(now).is_empty());
        assert_eq!(unsaid.about("c2"), [asked(2, json!({}))]);
        assert!(unsaid.about("c2").is_empty());
        assert_eq!(unsaid.next(), Some(now + MOMENT));
        assert_eq!(unsaid.due(now + MOMENT), [asked(3, json!({}))]);
        assert!(unsaid.next().is_none() && unsaid.all().is_empty());
    }

    #[test]
    fn only_so_many_are_kept_back() {
        let (mut unsaid, now) = (Unsaid::default(), Instant::now());
        let kept = (0..=MOST as u64).filter(|id| {
            let (id, call) = asked(*id, json!({}));
            unsaid.keep(id, call, now).is_none()
        });
        assert_eq!(kept.count(), MOST);
    }
}
