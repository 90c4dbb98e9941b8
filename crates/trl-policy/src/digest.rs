//! What stands for everything a person sees when asked, so that nobody approves what they did not see.

use sha2::{Digest as _, Sha256};
use trl_proto::hitl::{ApprovalBoundary, Segment, Verdict};

/// Everything that is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub session_id: &'a str,
    pub execution_id: &'a str,
    pub case_id: Option<&'a str>,
    pub origin: &'a str,
    pub command: &'a str,
    pub segments: &'a [Segment],
    pub working_dir: &'a str,
    pub runtime: &'a str,
    pub approval_boundary: ApprovalBoundary,
    /// For each name of the command, what it resolves to: path, inode, times, as the caller writes it.
    pub identities: &'a [String],
}

impl Shown<'_> {
    /// SHA-256 in hexadecimal digits. Every field goes in with its length: none can pass for another.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut sum = Sum(Sha256::new());
        sum.text("trl approval 1");
        sum.text(self.session_id);
        sum.text(self.execution_id);
        sum.optional(self.case_id);
        sum.text(self.origin);
        sum.text(self.command);
        sum.count(self.segments.len());
        for segment in self.segments {
            sum.segment(segment);
        }
        sum.text(self.working_dir);
        sum.text(self.runtime);
        sum.text(match self.approval_boundary {
            ApprovalBoundary::Enforced => "enforced",
            ApprovalBoundary::Advisory => "advisory",
        });
        sum.count(self.identities.len());
        for identity in self.identities {
            sum.text(identity);
        }
        sum.end()
    }
}

struct Sum(Sha256);

impl Sum {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.count(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn segment(&mut self, segment: &Segment) {
        self.text(&segment.text);
        self.count(usize::from(segment.at.is_some()));
        if let Some(at) = segment.at {
            self.0.update(at.from.to_be_bytes());
            self.0.update(at.to.to_be_bytes());
        }
        self.text(match segment.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        });
        self.optional(segment.rule.as_deref());
        self.optional(segment.reason.as_deref());
        self.optional(segment.would_allow.as_deref());
        self.count(segment.parts.len());
        segment.parts.iter().for_each(|part| self.text(part));
    }

    fn end(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(command: &'a str, identities: &'a [String], segments: &'a [Segment]) -> Shown<'a> {
        Shown {
            session_id: "s-1",
            execution_id: "e-1",
            case_id: None,
            origin: "agent",
            command,
            segments,
            working_dir: "/w",
            runtime: "host",
            approval_boundary: ApprovalBoundary::Advisory,
            identities,
        }
    }

    #[test]
    fn every_field_counts() {
        let segment = Segment {
            text: "ls".into(),
            at: None,
            verdict: Verdict::Ask,
            rule: None,
            reason: None,
            would_allow: None,
            parts: Vec::new(),
        };
        let base = shown("ls", &[], &[]);
        let (one, two) = (["ab".to_string(), String::new()], ["a".to_string(), "b".to_string()]);
        let segments = [segment.clone()];
        let others = [
            shown("lt", &[], &[]),
            shown("ls", &one, &[]),
            shown("ls", &two, &[]),
            shown("ls", &[], &segments),
            Shown { session_id: "s-2", ..base },
            Shown { execution_id: "e-2", ..base },
            Shown { case_id: Some(""), ..base },
            Shown { origin: "operator", ..base },
            Shown { working_dir: "/x", ..base },
            Shown { runtime: "ssh", ..base },
            Shown { approval_boundary: ApprovalBoundary::Enforced, ..base },
        ];
        let mut digests: Vec<String> = others.iter().map(Shown::digest).collect();
        for changed in [
            Segment { verdict: Verdict::Deny, ..segment.clone() },
            Segment { rule: Some("x".into()), ..segment.clone() },
            Segment { reason: Some("x".into()), ..segment.clone() },
            Segment { would_allow: Some("x".into()), ..segment.clone() },
            Segment { parts: vec!["x".into()], ..segment },
        ] {
            digests.push(shown("ls", &[], &[changed]).digest());
        }
        digests.push(base.digest());
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
        assert_eq!(base.digest().len(), 64);
        assert_eq!(base.digest(), base.digest());
    }
}
