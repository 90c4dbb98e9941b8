//! Which runtime a session gets. Pure: what is known of each in, a name out.
//!
//! Of those that have the labels and take new sessions, the one with the fewest for its weight; of equal ones the first by
//! name. One that is being waited for is chosen only when there is no other.

use std::collections::BTreeMap;

use trl_proto::runtime::RuntimeState;

/// What is known of one.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub state: RuntimeState,
    pub sessions: usize,
    pub max_sessions: Option<usize>,
    pub weight: f64,
}

impl Candidate {
    fn has(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(label, value)| self.labels.get(label) == Some(value))
    }

    fn is_open(&self) -> bool {
        self.state != RuntimeState::Draining && self.max_sessions.is_none_or(|most| self.sessions < most)
    }

    /// Smaller is better.
    fn load(&self) -> f64 {
        let weight = if self.weight.is_finite() && self.weight > 0.0 { self.weight } else { 1.0 };
        // What it would have with this one.
        (self.sessions as f64 + 1.0) / weight
    }
}

/// Best first.
pub fn choose(mut candidates: Vec<Candidate>, wanted: &BTreeMap<String, String>) -> Vec<String> {
    candidates.retain(|candidate| candidate.has(wanted) && candidate.is_open());
    let waits = |candidate: &Candidate| candidate.state == RuntimeState::Waiting;
    candidates.sort_by(|a, b| {
        waits(a).cmp(&waits(b)).then(a.load().total_cmp(&b.load())).then_with(|| a.name.cmp(&b.name))
    });
    candidates.into_iter().map(|candidate| candidate.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, sessions: usize, weight: f64) -> Candidate {
        let labels = BTreeMap::from([("gpu".to_string(), "no".to_string())]);
        let state = RuntimeState::Idle;
        Candidate { name: name.into(), labels, state, sessions, max_sessions: None, weight }
    }

    fn wanted(value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("gpu".to_string(), value.to_string())])
    }

    #[test]
    fn the_least_loaded_for_its_weight_then_by_name() {
        let all = vec![one("c", 3, 4.0), one("b", 0, 1.0), one("a", 0, 1.0), one("d", 1, 1.0)];
        assert_eq!(choose(all, &wanted("no")), ["a", "b", "c", "d"]);
    }

    #[test]
    fn full_draining_and_other_ones_are_not_chosen_and_waiting_ones_last() {
        let full = Candidate { max_sessions: Some(2), ..one("full", 2, 1.0) };
        let draining = Candidate { state: RuntimeState::Draining, ..one("draining", 0, 1.0) };
        let waiting = Candidate { state: RuntimeState::Waiting, ..one("waiting", 0, 1.0) };
        let all = vec![full, draining, waiting, one("busy", 9, 1.0)];
        assert_eq!(choose(all.clone(), &wanted("no")), ["busy", "waiting"]);
        assert!(choose(all, &wanted("yes")).is_empty());
    }
}
