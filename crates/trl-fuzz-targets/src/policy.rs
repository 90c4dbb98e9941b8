//! A command text: no panic, segments stand where they claim to, and a denied command is never allowed.

use trl_policy::{Place, RuleSet, Scene, ShellKind, Source, Trust, decide};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::Verdict;

/// Checks the property for one input. Input that is not UTF-8 is ignored.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let rule = RuleSpec { deny: vec!["git push".into()], ask: vec!["rm".into()], ..RuleSpec::default() };
    let spec = ApprovalSpec { default: Some(Verdict::Allow), timeout_s: None, rules: vec![rule] };
    let rules = RuleSet::compile(&[Source { name: "fuzz".into(), trust: Trust::Full, spec: Ok(spec) }]);
    for shell in [ShellKind::Bash, ShellKind::Zsh, ShellKind::Other] {
        let judgement = decide(&rules, Scene { shell, place: Place::default() }, text);
        for segment in &judgement.segments {
            let at = segment.at.expect("it stands in the text");
            assert_eq!(&text[at.from as usize..at.to as usize], segment.text);
        }
        let names = |name: &str| judgement.names.iter().any(|known| known.rsplit('/').next() == Some(name));
        assert!(judgement.verdict != Verdict::Allow || !names("rm"));
        let with_it = format!("{text}\ngit push");
        let verdict = decide(&rules, Scene { shell, place: Place::default() }, &with_it).verdict;
        assert_ne!(verdict, Verdict::Allow, "{with_it:?}");
    }
}
