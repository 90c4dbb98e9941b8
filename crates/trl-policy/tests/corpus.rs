//! Commands as agents give them: most are plain, so that rules can say something about them.

use std::collections::BTreeMap;

use trl_policy::{Known, Place, RuleSet, Scene, ShellKind, Source, Split, Trust, decide, split};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::Verdict;

const PLACE: Place<'_> = Place { cwd: Some("/w"), root: Some("/w") };
const SCENE: Scene<'_> = Scene { shell: ShellKind::Bash, place: PLACE };

fn corpus() -> Vec<String> {
    include_str!("corpus.txt").lines().map(|line| line.replace('␤', "\n")).collect()
}

fn source(trust: Trust, rules: Vec<RuleSpec>) -> Source {
    Source { name: "test".into(), trust, spec: Ok(ApprovalSpec { default: None, timeout_s: None, rules }) }
}

#[test]
fn most_commands_are_plain() {
    let corpus = corpus();
    assert!(corpus.len() >= 500, "{}", corpus.len());
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &corpus {
        assert!(!text.contains("$(") || text.contains("$(("), "{text:?} has a substitution");
        if let Split::Opaque(opaque) = split(ShellKind::Bash, text) {
            *why.entry(opaque.why).or_default() += 1;
        }
    }
    let opaque: usize = why.values().sum();
    let plain = corpus.len() - opaque;
    println!("{plain} of {} commands are plain; {opaque} ask for their form alone: {why:?}", corpus.len());
    assert!(plain * 100 >= corpus.len() * 80);
}

#[test]
fn words_stand_where_they_are_said_to_stand() {
    for text in corpus() {
        let Split::Plain(commands) = split(ShellKind::Bash, &text) else { continue };
        let mut end = 0;
        for command in &commands {
            assert!(command.at.start >= end && command.at.end > command.at.start, "{text:?}");
            end = command.at.end;
            for word in command.words.iter().filter(|word| word.known == Known::Exactly) {
                let spelled = &text[word.at.clone()];
                let bare = !spelled.contains(['\'', '"', '\\']);
                assert!(!bare || spelled == word.text, "{text:?}: {spelled:?} is not {:?}", word.text);
            }
        }
    }
}

/// Whatever is offered does what it says: with it as a rule, the same segment is allowed.
#[test]
fn a_grant_allows_what_it_was_offered_for() {
    let ask_all =
        || source(Trust::Full, vec![RuleSpec { ask: vec!["never-used".into()], ..RuleSpec::default() }]);
    let before = RuleSet::compile(&[ask_all()]);
    let (mut offered, mut all) = (0, 0);
    for text in corpus() {
        for (at, segment) in decide(&before, SCENE, &text).segments.into_iter().enumerate() {
            all += 1;
            let Some(grant) = segment.would_allow else { continue };
            offered += 1;
            let rule = RuleSpec { allow: vec![grant.clone()], ..RuleSpec::default() };
            let after = RuleSet::compile(&[ask_all(), source(Trust::Grants, vec![rule])]);
            assert!(after.problems().is_empty(), "{grant}: {:?}", after.problems());
            let judgement = decide(&after, SCENE, &text);
            assert_eq!(
                judgement.segments[at].verdict,
                Verdict::Allow,
                "{text:?} after {grant:?}: {judgement:?}"
            );
        }
    }
    println!("{offered} of {all} segments come with an offer");
    assert!(offered * 2 > all);
}

/// A closed lexer accepts less, and nothing else.
#[test]
fn what_is_plain_in_every_shell_is_the_same_in_ours() {
    let mut both = 0;
    for text in corpus() {
        let Split::Plain(closed) = split(ShellKind::Other, &text) else { continue };
        let Split::Plain(ours) = split(ShellKind::Bash, &text) else {
            panic!("{text:?} is plain elsewhere only")
        };
        assert_eq!(closed, ours, "{text:?}");
        both += 1;
    }
    println!("{both} commands are plain in shells nobody has studied");
    assert!(both > 100);
}

/// The bar is 20 us for a typical command in a release build; a debug build only prints.
#[test]
fn a_decision_is_quick() {
    let words = [
        "git status",
        "git diff",
        "ls",
        "cat",
        "grep",
        "cargo test",
        "cd",
        "echo",
        "head",
        "find",
        "npm test",
        "rg",
    ];
    let rules = RuleSet::compile(&[
        source(Trust::Full, vec![RuleSpec { allow: words.map(Into::into).to_vec(), ..RuleSpec::default() }]),
        source(
            Trust::Full,
            vec![RuleSpec { deny: vec!["git push --force".into(), "rm -rf".into()], ..RuleSpec::default() }],
        ),
    ]);
    let corpus = corpus();
    let rounds = 20;
    let started = std::time::Instant::now();
    for _ in 0..rounds {
        for text in &corpus {
            std::hint::black_box(decide(&rules, SCENE, std::hint::black_box(text)));
        }
    }
    let each = started.elapsed() / u32::try_from(rounds * corpus.len()).unwrap();
    println!("{each:?} a decision, over the corpus");
}
