//! Rules from several places, and what becomes of them when one is broken.

use proptest::prelude::*;
use trl_policy::{
    Place, RuleSet, Scene, ShellKind, Source, Split, Trust, Typing, decide, judge_argv, judge_file_write,
    judge_terminal, split,
};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::Verdict::{self, Allow, Ask, Deny};

const PLACE: Place<'_> = Place { cwd: Some("/w"), root: Some("/w") };

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn rule(allow: &[&str], ask: &[&str], deny: &[&str]) -> RuleSpec {
    RuleSpec { allow: strings(allow), ask: strings(ask), deny: strings(deny), ..RuleSpec::default() }
}

fn source(name: &str, trust: Trust, default: Option<Verdict>, rules: Vec<RuleSpec>) -> Source {
    Source { name: name.into(), trust, spec: Ok(ApprovalSpec { default, timeout_s: None, rules }) }
}

fn verdict(rules: &RuleSet, text: &str) -> Verdict {
    decide(rules, Scene { shell: ShellKind::Bash, place: PLACE }, text).verdict
}

fn argv(text: &str) -> Vec<String> {
    text.split(' ').map(Into::into).collect()
}

#[test]
fn the_strictest_rule_wins_wherever_it_stands() {
    let rules = RuleSet::compile(&[
        source("global", Trust::Full, Some(Ask), vec![rule(&["git"], &[], &[])]),
        source("case", Trust::Full, None, vec![rule(&[], &["git push"], &["git push --force"])]),
        source("session", Trust::Grants, None, vec![rule(&["git push", "make"], &[], &[])]),
    ]);
    assert_eq!(verdict(&rules, "git status"), Allow);
    assert_eq!(verdict(&rules, "git push"), Ask);
    assert_eq!(verdict(&rules, "git push --force"), Deny);
    assert_eq!(verdict(&rules, "git push origin --force"), Ask);
    assert_eq!(verdict(&rules, "make x"), Allow);
    assert_eq!(verdict(&rules, "ls"), Ask);
}

#[test]
fn the_last_trusted_default_holds_and_others_may_only_narrow() {
    let of = |sources: &[Source]| verdict(&RuleSet::compile(sources), "anything");
    let global = source("global", Trust::Full, Some(Ask), vec![]);
    let open = source("case", Trust::Full, Some(Allow), vec![]);
    let narrow =
        |default| source("workspace", Trust::NarrowOnly, Some(default), vec![rule(&["anything"], &[], &[])]);
    assert_eq!(of(&[]), Allow);
    assert_eq!(of(std::slice::from_ref(&global)), Ask);
    assert_eq!(of(&[global.clone(), open.clone()]), Allow);
    assert_eq!(of(&[global.clone(), narrow(Allow)]), Ask);
    assert_eq!(of(&[open.clone(), narrow(Ask)]), Ask);
    assert_eq!(of(&[open, narrow(Deny)]), Deny);
    assert_eq!(of(&[source("case", Trust::Full, None, vec![rule(&["ls"], &[], &[])])]), Ask);
}

#[test]
fn rules_are_tried_on_their_own_examples() {
    let tested = |mut rule: RuleSpec, matches: &[&str], not: &[&str]| {
        (rule.matches, rule.not_match) = (strings(matches), strings(not));
        let rules = RuleSet::compile(&[source("careful", Trust::Full, Some(Ask), vec![rule])]);
        rules.problems().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let git = || rule(&["git status"], &[], &[]);
    assert!(tested(git(), &["git status -s", "cd x && git status"], &["git push", "git stat"]).is_empty());
    assert_eq!(
        tested(git(), &["git push"], &["git status -s"]),
        [
            "careful: rule 1: `match` has `git push`, which it does not decide",
            "careful: rule 1: `not_match` has `git status -s`, which it decides",
        ]
    );
    let deny = || rule(&[], &[], &["git push --force"]);
    assert!(
        tested(deny(), &["git push --force origin", "for x in a; do git push --force; done"], &["git push"])
            .is_empty()
    );
    assert!(
        tested(rule(&["fs.write src"], &[], &[]), &["fs.write src/a.rs"], &["fs.write docs/a"]).is_empty()
    );
    assert_eq!(
        tested(rule(&[], &[], &[]), &[], &[]),
        ["careful: rule 1: it has no `allow`, `ask` or `deny`"]
    );
    assert_eq!(
        tested(rule(&["git *"], &[], &[]), &[], &[]),
        [
            "careful: rule 1: `git *` has `*`, which a shell expands; patterns are literal words, quote it if it is meant so"
        ]
    );
}

#[test]
fn a_broken_source_never_drops_a_deny() {
    let broken_rule = RuleSpec { matches: strings(&["never"]), ..rule(&["ls"], &[], &["rm"]) };
    let good = source("global", Trust::Full, Some(Allow), vec![rule(&["ls"], &[], &["git push"])]);
    for broken in [
        source("case", Trust::Full, None, vec![broken_rule.clone()]),
        source("case", Trust::NarrowOnly, None, vec![broken_rule]),
        Source { name: "case".into(), trust: Trust::Full, spec: Err("line 3: not a list".into()) },
    ] {
        let rules = RuleSet::compile(&[good.clone(), broken.clone()]);
        assert_eq!(rules.problems().len(), 1);
        assert_eq!(verdict(&rules, "git push"), Deny);
        assert_eq!(verdict(&rules, "ls"), Ask, "it may have been denied by what cannot be read");
        assert_eq!(verdict(&rules, "anything"), Ask);
        if broken.spec.is_ok() {
            assert_eq!(verdict(&rules, "rm x"), Deny, "what can be read of it holds");
        }
    }
    let grants = source("always", Trust::Grants, None, vec![rule(&["a; b", "make"], &[], &[])]);
    let rules =
        RuleSet::compile(&[source("global", Trust::Full, Some(Ask), vec![rule(&["ls"], &[], &[])]), grants]);
    assert_eq!(rules.problems().len(), 1);
    assert_eq!(verdict(&rules, "ls"), Allow);
    assert_eq!(verdict(&rules, "make"), Ask);
}

#[test]
fn a_source_that_may_only_narrow_allows_nothing() {
    let rules = RuleSet::compile(&[
        source("global", Trust::Full, Some(Ask), vec![rule(&["ls", "cat"], &[], &[])]),
        source("workspace", Trust::NarrowOnly, Some(Allow), vec![rule(&["rm"], &["ls"], &["cat"])]),
    ]);
    assert_eq!(verdict(&rules, "rm x"), Ask);
    assert_eq!(verdict(&rules, "ls"), Ask);
    assert_eq!(verdict(&rules, "cat x"), Deny);
}

#[test]
fn what_can_be_typed_into_later_asks() {
    let rules = RuleSet::compile(&[source(
        "g",
        Trust::Full,
        Some(Allow),
        vec![rule(&["bash", "ls"], &[], &["git push"])],
    )]);
    assert_eq!(judge_terminal(&rules, &argv("/bin/bash")).verdict, Ask);
    assert!(judge_terminal(&rules, &argv("/bin/bash")).reason.unwrap().contains("typed into it later"));
    assert_eq!(judge_argv(&rules, &argv("ls -la"), Typing::Impossible).verdict, Allow);
    assert_eq!(judge_argv(&rules, &argv("ls -la"), Typing::Possible).verdict, Ask);
    assert_eq!(judge_argv(&rules, &argv("bash"), Typing::Impossible).verdict, Ask);
    assert_eq!(judge_argv(&rules, &argv("git push"), Typing::Possible).verdict, Deny);
    assert_eq!(
        judge_argv(&rules, &["sh".into(), "-c".into(), "git push".into()], Typing::Impossible).verdict,
        Deny
    );
    let verbs = RuleSet::compile(&[source(
        "g",
        Trust::Full,
        Some(Ask),
        vec![rule(&["terminal.create /bin/bash"], &[], &["exec.start"])],
    )]);
    assert_eq!(judge_terminal(&verbs, &argv("/bin/bash")).verdict, Allow);
    assert_eq!(judge_terminal(&verbs, &argv("/bin/zsh")).verdict, Ask);
    assert_eq!(judge_argv(&verbs, &argv("htop"), Typing::Possible).verdict, Deny);
    assert_eq!(judge_terminal(&RuleSet::compile(&[]), &argv("bash")).verdict, Allow);
}

#[test]
fn writes_are_judged_by_their_path() {
    let rules = RuleSet::compile(&[source(
        "g",
        Trust::Full,
        Some(Ask),
        vec![rule(
            &["fs.write src", "fs.write /tmp", "echo"],
            &[],
            &["fs.write /tmp/keep", "fs.write src/secret"],
        )],
    )]);
    let of = |path: &str| judge_file_write(&rules, PLACE, path).verdict;
    assert_eq!(of("src/a"), Allow);
    assert_eq!(of("/w/src/a"), Allow);
    assert_eq!(of("docs/a"), Ask);
    assert_eq!(of("/tmp/a"), Allow);
    assert_eq!(of("/tmp/keep/a"), Deny);
    assert_eq!(of("src/secret"), Deny);
    assert_eq!(of("src/../x"), Ask);
    assert_eq!(verdict(&rules, "echo x > src/a"), Allow);
    assert_eq!(verdict(&rules, "echo x > a"), Ask);
    assert_eq!(verdict(&rules, "echo x > src/secret/a"), Deny);
    assert_eq!(verdict(&rules, "cd /tmp; echo x > src/a"), Ask);
}

#[test]
fn a_judgement_says_which_part_decided() {
    let rules = RuleSet::compile(&[source(
        "g",
        Trust::Full,
        Some(Ask),
        vec![
            rule(&["cd"], &[], &[]),
            RuleSpec { reason: Some("protected".into()), ..rule(&[], &[], &["git push --force"]) },
        ],
    )]);
    let scene = Scene { shell: ShellKind::Bash, place: PLACE };
    let judgement = decide(&rules, scene, "cd /x && git push --force && timeout 5 cargo test > log");
    let said: Vec<_> = judgement
        .segments
        .iter()
        .map(|s| (s.text.as_str(), s.verdict, s.rule.as_deref(), s.would_allow.as_deref()))
        .collect();
    assert_eq!(
        said,
        [
            ("cd /x", Allow, Some("cd"), None),
            ("git push --force", Deny, Some("git push --force"), None),
            ("timeout 5 cargo test > log", Ask, None, Some("cargo test")),
            ("> log", Ask, None, None),
        ]
    );
    assert_eq!(judgement.reason.as_deref(), Some("protected"));
    assert_eq!(judgement.names, ["cd", "git", "timeout", "cargo"]);
    let opaque = decide(&rules, scene, "for x in a; do cargo test; done");
    assert_eq!(opaque.segments.len(), 1);
    assert_eq!((opaque.verdict, opaque.segments[0].would_allow.as_ref()), (Ask, None));
}

#[test]
fn export_is_allowed_by_its_rule() {
    let rules = |allow: &[&str]| {
        RuleSet::compile(&[source("g", Trust::Full, Some(Ask), vec![rule(allow, &[], &[])])])
    };
    for shell in [ShellKind::Sh, ShellKind::Bash, ShellKind::Zsh, ShellKind::Ash] {
        let verdict =
            |allow: &[&str], text: &str| decide(&rules(allow), Scene { shell, place: PLACE }, text).verdict;
        for text in ["export K=1", "export K=1 L='a b'", "export K", "export LANG=C"] {
            assert_eq!(
                (verdict(&["export"], text), verdict(&["ls"], text)),
                (Allow, Ask),
                "{shell:?} {text}"
            );
        }
        for text in ["export PATH=/x", "export K=1 GIT_PAGER=x", "export LD_PRELOAD", "export \"$K\""] {
            assert_eq!(verdict(&["export"], text), Ask, "{shell:?} {text}");
        }
    }
}

#[test]
fn allows_that_never_match_are_mistakes() {
    for text in ["alias", "trap", "exec", "export PATH", "shopt -s", "set -k"] {
        let rules = RuleSet::compile(&[source("g", Trust::Full, Some(Ask), vec![rule(&[text], &[], &[])])]);
        let [problem] = rules.problems() else { panic!("{text}: {:?}", rules.problems()) };
        assert!(problem.message.contains("can never be allowed by a rule"), "{text}: {}", problem.message);
        // to ask about it, or to forbid it, is fine
        let rules =
            RuleSet::compile(&[source("g", Trust::Full, Some(Ask), vec![rule(&[], &[text], &[text])])]);
        assert!(rules.problems().is_empty(), "{text}");
    }
}

fn shell_kind() -> impl Strategy<Value = ShellKind> {
    prop_oneof![
        Just(ShellKind::Sh),
        Just(ShellKind::Bash),
        Just(ShellKind::Zsh),
        Just(ShellKind::Ash),
        Just(ShellKind::Other)
    ]
}

proptest! {
    /// Whatever comes, nothing panics, segments stand where they say, and the strictest decides.
    #[test]
    fn any_text_is_judged(text in "(git|push|rm|ls|[ -~]|[\\n\\t;&|<>'\"$`\\\\(){}é]|\\PC){0,24}", shell in shell_kind()) {
        let rules = RuleSet::compile(&[source("g", Trust::Full, Some(Ask), vec![rule(&["ls"], &["rm"], &["git push"])])]);
        let judgement = decide(&rules, Scene { shell, place: PLACE }, &text);
        for segment in &judgement.segments {
            let at = segment.at.unwrap();
            let bytes = usize::try_from(at.from).unwrap()..usize::try_from(at.to).unwrap();
            prop_assert_eq!(&text[bytes], segment.text.as_str());
        }
        if judgement.verdict == Allow {
            prop_assert!(judgement.segments.iter().all(|segment| segment.verdict == Allow));
            prop_assert!(judgement.names.iter().all(|name| ["ls", "time", "nice"].contains(&name.as_str())), "{:?}", judgement.names);
        }
    }

    /// A denied command stays denied whatever stands before and after it.
    #[test]
    fn a_deny_cannot_be_surrounded(before in "[a-z ]{0,8}(;|&&|\\|\\||\\||\\n|\\$\\(|`|\\(|; \\{ )", after in "( [a-z]{0,5})?(;|\\)|`|\\n| \\})?[a-z ]{0,5}") {
        let rules = RuleSet::compile(&[source("g", Trust::Full, Some(Allow), vec![rule(&[], &[], &["git push"])])]);
        let text = format!("{before}git push{after}");
        prop_assume!(after.starts_with([' ', ';', ')', '`', '\n']) || after.is_empty());
        prop_assert_eq!(verdict(&rules, &text), Deny, "{:?}", text);
    }

    /// Single quotes make any text without quotes and control characters one word.
    #[test]
    fn quoted_text_is_one_word(inner in "[ -&(-~é日]{0,20}") {
        let text = format!("a '{inner}' b");
        let Split::Plain(commands) = split(ShellKind::Zsh, &text) else { panic!("{text:?}") };
        let words: Vec<_> = commands[0].words.iter().map(|word| word.text.as_str()).collect();
        prop_assert_eq!(words, ["a", inner.as_str(), "b"]);
    }
}
