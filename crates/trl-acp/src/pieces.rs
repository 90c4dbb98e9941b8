//! Text that comes in crumbs, joined to pieces that end at white space: there are fewer of them, and a word that must not be
//! kept stands in one of them.

use trl_proto::agent::Update;

/// A piece this long goes out in any case.
const MOST: usize = 16 * 1024;

/// Holds text back for a moment.
#[derive(Debug, Default)]
pub struct Pieces {
    held: Option<(Voice, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Text,
    Thought,
}

impl Voice {
    fn says(self, text: String) -> Update {
        match self {
            Self::Text => Update::Text { text },
            Self::Thought => Update::Thought { text },
        }
    }
}

impl Pieces {
    /// What is to go out now, in order. Anything but text pushes out what was held.
    pub fn push(&mut self, update: Update) -> Vec<Update> {
        let (voice, text) = match update {
            Update::Text { text } => (Voice::Text, text),
            Update::Thought { text } => (Voice::Thought, text),
            other => return self.rest().into_iter().chain([other]).collect(),
        };
        let mut out = Vec::new();
        match &mut self.held {
            Some((same, held)) if *same == voice => held.push_str(&text),
            _ => {
                out.extend(self.rest());
                self.held = Some((voice, text));
            }
        }
        if self.held.as_ref().is_some_and(|(_, held)| held.len() > MOST) {
            out.extend(self.ripe().or_else(|| self.rest()));
        }
        out
    }

    /// Up to the last white space.
    pub fn ripe(&mut self) -> Option<Update> {
        let (voice, held) = self.held.as_mut()?;
        let (at, white) = held.char_indices().rev().find(|(_, c)| c.is_whitespace())?;
        let voice = *voice;
        let rest = held.split_off(at + white.len_utf8());
        let out = std::mem::replace(held, rest);
        if held.is_empty() {
            self.held = None;
        }
        Some(voice.says(out))
    }

    /// All of it.
    pub fn rest(&mut self) -> Option<Update> {
        let (voice, text) = self.held.take()?;
        (!text.is_empty()).then(|| voice.says(text))
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Update {
        Update::Text { text: text.into() }
    }

    #[test]
    fn pieces_end_at_white_space_and_others_push_them_out() {
        let mut pieces = Pieces::default();
        assert!(pieces.push(text("the pass")).is_empty());
        assert_eq!(pieces.ripe(), Some(text("the ")));
        assert_eq!(pieces.ripe(), None);
        assert!(pieces.push(text("word")).is_empty());
        let thought = Update::Thought { text: "hm".into() };
        assert_eq!(pieces.push(thought.clone()), [text("password")]);
        let mode = Update::Mode { mode_id: "x".into() };
        assert_eq!(pieces.push(mode.clone()), [thought, mode]);
        assert!(pieces.is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_moved(steps in prop::collection::vec((0u8..4, "[a-c é\n]{0,9}"), 0..60)) {
            let (mut pieces, mut said, mut heard) = (Pieces::default(), String::new(), String::new());
            let mut note = |update: Update| if let Update::Text { text } = update { heard.push_str(&text) };
            for (step, crumb) in steps {
                match step {
                    0 => pieces.ripe().into_iter().for_each(&mut note),
                    1 => pieces.rest().into_iter().for_each(&mut note),
                    _ => {
                        said.push_str(&crumb);
                        pieces.push(text(&crumb)).into_iter().for_each(&mut note);
                    }
                }
            }
            pieces.rest().into_iter().for_each(&mut note);
            prop_assert_eq!(heard, said);
        }
    }
}
