//! How long it takes to judge a command.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use trl_policy::{Place, RuleSet, Scene, ShellKind, Source, Trust, decide};
use trl_proto::approval::{ApprovalSpec, RuleSpec};

use crate::Plan;
use crate::report::{Bar, Report};

const CORPUS: &str = include_str!("../../crates/trl-policy/tests/corpus.txt");
const TYPICAL: &str = "cd /workspace && cargo test -p core 2>&1 | tail -50";

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let rules = rules();
    let rounds = plan.pick(400, 40);
    let corpus: Vec<String> = CORPUS.lines().map(|line| line.replace('␤', "\n")).collect();
    let typical = quietest(rounds, 100, || drop(black_box(decide(&rules, scene(), black_box(TYPICAL)))));
    report.value(
        "a typical command",
        format!("`{}`", TYPICAL.replace('|', "\\|")),
        (typical, " us"),
        Bar::AtMost(20.0),
    );
    let mut each: Vec<f64> = corpus
        .iter()
        .map(|text| quietest(rounds / 20, 5, || drop(black_box(decide(&rules, scene(), black_box(text))))))
        .collect();
    each.sort_by(f64::total_cmp);
    let p99 = each[each.len() * 99 / 100];
    let figures = format!(
        "{} commands, p50 {:.2} us, the longest {:.2}",
        each.len(),
        each[each.len() / 2],
        each[each.len() - 1]
    );
    report.value("commands of agents, p99", figures, (p99, " us"), Bar::AtMost(20.0));
    Ok(())
}

fn scene() -> Scene<'static> {
    Scene { shell: ShellKind::Bash, place: Place { cwd: Some("/workspace"), root: Some("/workspace") } }
}

/// Microseconds of the quickest round, over its calls.
fn quietest(rounds: usize, calls: u32, mut call: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    best
}

/// A case with a few dozen rules.
fn rules() -> RuleSet {
    let allow = "echo;pwd;cd;ls;cat;head;tail;wc;grep;rg;find;git status;git diff;git log;git show;cargo build;cargo test;cargo check;npm test;\
                 npm run build;pytest;go test;make test;docker ps;kubectl get;sort;uniq;cut;which;jq;fs.write .";
    let list = |text: &str| text.split(';').map(|one| one.trim().to_string()).collect();
    let rules = vec![
        RuleSpec { allow: list(allow), ..RuleSpec::default() },
        RuleSpec { ask: list("git push;npm publish;kubectl apply"), ..RuleSpec::default() },
        RuleSpec { deny: list("git push --force;rm -rf;shutdown;mkfs;dd;sudo rm"), ..RuleSpec::default() },
    ];
    let spec = ApprovalSpec { default: None, timeout_s: None, rules };
    RuleSet::compile(&[Source { name: "bench".into(), trust: Trust::Full, spec: Ok(spec) }])
}
