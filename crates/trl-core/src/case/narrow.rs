//! What is left of a case that nobody trusts: it may add `deny` and `ask`, and narrow the sandbox, limits and times. Pure.
//!
//! | field | takes effect where |
//! |---|---|
//! | `description` | always: nothing depends on it |
//! | `limits` | each that is smaller |
//! | `sandbox` | it lets no more through; what it denies is denied besides |
//! | `timeout_s`, `idle_ttl_s`, `absolute_ttl_s` | it is shorter |
//! | `approval.rules` | `deny` and `ask` |
//! | `approval.default` | it is stricter |
//! | `approval.timeout_s` | it is shorter |
//! | all others | never |

use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::case::CaseSpec;
use trl_proto::hitl::Verdict;
use trl_proto::limits::{Limit, Limits};
use trl_proto::sandbox::{Mode, Net, SandboxParams};

/// What holds where no case says otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Floor {
    pub limits: Limits,
    pub sandbox: SandboxParams,
    /// Zero is none, here as below.
    pub timeout_s: f64,
    pub idle_ttl_s: f64,
    pub absolute_ttl_s: f64,
    pub approval_timeout_s: f64,
}

/// `base` as narrowed by `file`, and the fields of `file` without effect.
pub fn narrowed(base: &CaseSpec, floor: &Floor, file: &CaseSpec) -> (CaseSpec, Vec<String>) {
    let mut ignored = without_effect(file);
    let mut spec = CaseSpec { id: file.id.clone(), description: file.description.clone(), ..base.clone() };
    if let Some(asked) = &file.limits {
        let (limits, wider) = limits(&base.limits.unwrap_or_default().over(&floor.limits), asked);
        spec.limits = Some(limits);
        ignored.extend(wider.iter().map(|limit| format!("limits.{}", limit.name())));
    }
    if let Some(asked) = &file.sandbox {
        match sandbox(base.sandbox.as_ref().unwrap_or(&floor.sandbox), asked) {
            Some(narrower) => spec.sandbox = Some(narrower),
            None => ignored.push("sandbox".into()),
        }
    }
    let mut shorten = |name: &str, place: &mut Option<f64>, floor: f64, asked: Option<f64>| {
        if let Some(asked) = asked {
            match shorter(place.unwrap_or(floor), asked) {
                true => *place = Some(asked),
                false => ignored.push(name.into()),
            }
        }
    };
    shorten("timeout_s", &mut spec.timeout_s, floor.timeout_s, file.timeout_s);
    shorten("idle_ttl_s", &mut spec.idle_ttl_s, floor.idle_ttl_s, file.idle_ttl_s);
    shorten("absolute_ttl_s", &mut spec.absolute_ttl_s, floor.absolute_ttl_s, file.absolute_ttl_s);
    if let Some(asked) = &file.approval {
        let base = spec.approval.take().unwrap_or_default();
        spec.approval = Some(approval(base, floor, asked, &mut ignored));
    }
    ignored.sort();
    (spec, ignored)
}

/// Those that are there and have no narrower form.
fn without_effect(file: &CaseSpec) -> Vec<String> {
    let CaseSpec { shell, argv, env, secret_env, pass_env, working_dir, workspace, .. } = file;
    let CaseSpec { runtime, on_exit, renewal, labels, snapshots, agent, .. } = file;
    let there = [
        ("shell", shell.is_some()),
        ("argv", argv.is_some()),
        ("env", env.is_some()),
        ("secret_env", secret_env.is_some()),
        ("pass_env", pass_env.is_some()),
        ("working_dir", working_dir.is_some()),
        ("workspace", workspace.is_some()),
        ("runtime", runtime.is_some()),
        ("on_exit", on_exit.is_some()),
        ("renewal", renewal.is_some()),
        ("labels", labels.is_some()),
        ("snapshots", snapshots.is_some()),
        ("agent", agent.is_some()),
    ];
    there.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_string()).collect()
}

/// 0 is never.
fn shorter(base: f64, asked: f64) -> bool {
    let length = |seconds: f64| if seconds == 0.0 { f64::INFINITY } else { seconds };
    length(asked) <= length(base)
}

/// The smaller of each, and those of `asked` that are larger.
fn limits(base: &Limits, asked: &Limits) -> (Limits, Vec<Limit>) {
    let most = |of: &Limits, limit| of.get(limit).filter(|n| *n != 0.0).unwrap_or(f64::INFINITY);
    let is_wider = |limit: &Limit| asked.get(*limit).is_some() && most(asked, *limit) > most(base, *limit);
    let wider: Vec<Limit> = Limit::ALL.into_iter().filter(is_wider).collect();
    let keep = |limit: Limit| !wider.contains(&limit);
    let narrower = Limits {
        memory_bytes: asked.memory_bytes.filter(|_| keep(Limit::MemoryBytes)),
        cpu: asked.cpu.filter(|_| keep(Limit::Cpu)),
        cpu_time_s: asked.cpu_time_s.filter(|_| keep(Limit::CpuTimeS)),
        pids: asked.pids.filter(|_| keep(Limit::Pids)),
        open_files: asked.open_files.filter(|_| keep(Limit::OpenFiles)),
        file_size_bytes: asked.file_size_bytes.filter(|_| keep(Limit::FileSizeBytes)),
        disk_bytes: asked.disk_bytes.filter(|_| keep(Limit::DiskBytes)),
        output_bytes: asked.output_bytes.filter(|_| keep(Limit::OutputBytes)),
        wall_s: asked.wall_s.filter(|_| keep(Limit::WallS)),
    };
    (narrower.over(base), wider)
}

/// `asked`, with what `base` denies, if it lets no more through than `base`.
pub fn sandbox(base: &SandboxParams, asked: &SandboxParams) -> Option<SandboxParams> {
    if base.mode == Mode::Off {
        return Some(asked.clone());
    }
    let in_lists = || {
        // By name only: what is below a name may be a link, and lead anywhere.
        let (read, write) =
            (base.read.as_deref().unwrap_or_default(), base.write.as_deref().unwrap_or_default());
        let reads = asked.read.iter().flatten().all(|path| read.contains(path) || write.contains(path));
        reads && asked.write.iter().flatten().all(|path| write.contains(path))
    };
    let no_wider = match (asked.mode, base.mode) {
        (_, Mode::Off) | (Mode::ReadOnly, Mode::ReadOnly | Mode::WorkspaceWrite) => true,
        (Mode::WorkspaceWrite, Mode::WorkspaceWrite) => true,
        (Mode::Custom, Mode::Custom) => in_lists(),
        _ => false,
    };
    let net = |sandbox: &SandboxParams| match sandbox.net.unwrap_or_default() {
        Net::None => 0,
        Net::Loopback => 1,
        Net::All => 2,
    };
    let as_firm = base.best_effort == Some(true) || asked.best_effort != Some(true);
    if !no_wider || net(asked) > net(base) || !as_firm {
        return None;
    }
    let mut deny = asked.deny.clone().unwrap_or_default();
    deny.extend(base.deny.iter().flatten().cloned());
    deny.sort();
    deny.dedup();
    Some(SandboxParams { deny: (!deny.is_empty()).then_some(deny), ..asked.clone() })
}

fn approval(
    base: ApprovalSpec,
    floor: &Floor,
    asked: &ApprovalSpec,
    ignored: &mut Vec<String>,
) -> ApprovalSpec {
    let rank = |verdict: Option<Verdict>| match verdict {
        // What holds without a word is known to whoever judges commands, and is no less than this.
        None | Some(Verdict::Allow) => 0,
        Some(Verdict::Ask) => 1,
        Some(Verdict::Deny) => 2,
    };
    let stricter = asked.default.filter(|_| rank(asked.default) > rank(base.default));
    if asked.default.is_some() && stricter.is_none() && asked.default != base.default {
        ignored.push("approval.default".into());
    }
    let timeout_s = match asked.timeout_s {
        Some(asked) if shorter(base.timeout_s.unwrap_or(floor.approval_timeout_s), asked) => Some(asked),
        Some(_) => {
            ignored.push("approval.timeout_s".into());
            base.timeout_s
        }
        None => base.timeout_s,
    };
    let mut rules = base.rules;
    for (n, rule) in asked.rules.iter().enumerate() {
        if !rule.allow.is_empty() {
            ignored.push(format!("approval.rules.{n}.allow"));
        }
        rules.extend(without_allow(rule));
    }
    ApprovalSpec { default: stricter.or(base.default), timeout_s, rules }
}

/// The rest of a rule. Its examples may be about what it allowed, so they go with that.
fn without_allow(rule: &RuleSpec) -> Option<RuleSpec> {
    if rule.ask.is_empty() && rule.deny.is_empty() {
        return None;
    }
    if rule.allow.is_empty() {
        return Some(rule.clone());
    }
    Some(RuleSpec { allow: Vec::new(), matches: Vec::new(), not_match: Vec::new(), ..rule.clone() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::case::parse::parse;

    fn case(text: &str) -> CaseSpec {
        parse(text.as_bytes(), None).unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    fn floor() -> Floor {
        Floor {
            limits: Limits { pids: Some(100), ..Limits::default() },
            timeout_s: 120.0,
            approval_timeout_s: 1800.0,
            ..Floor::default()
        }
    }

    fn ignored(base: &str, file: &str) -> Vec<String> {
        narrowed(&case(base), &floor(), &case(file)).1
    }

    #[test]
    fn each_field_narrows_or_is_ignored() {
        for (base, file, expected) in [
            ("{}", "description: x", vec![]),
            ("{}", "shell: bash", vec!["shell"]),
            ("{}", "argv: [cat]", vec!["argv"]),
            ("{}", "env: {A: b}", vec!["env"]),
            ("{}", "secret_env: [A]", vec!["secret_env"]),
            ("{}", "pass_env: [A]", vec!["pass_env"]),
            ("{}", "working_dir: /", vec!["working_dir"]),
            ("{}", "workspace: w", vec!["workspace"]),
            ("{}", "runtime: host", vec!["runtime"]),
            ("{}", "on_exit: terminate", vec!["on_exit"]),
            ("{}", "renewal: idle", vec!["renewal"]),
            ("{}", "labels: {a: b}", vec!["labels"]),
            ("{}", "agent: {command: [x]}", vec!["agent"]),
            ("{}", "limits: {pids: 50, open_files: 32}", vec![]),
            ("{}", "limits: {pids: 101, open_files: 32}", vec!["limits.pids"]),
            ("{}", "limits: {pids: 0}", vec!["limits.pids"]),
            ("limits: {pids: 10}", "limits: {pids: 50}", vec!["limits.pids"]),
            ("{}", "timeout_s: 60", vec![]),
            ("{}", "timeout_s: 121", vec!["timeout_s"]),
            ("{}", "timeout_s: 0", vec!["timeout_s"]),
            ("{}", "idle_ttl_s: 5\nabsolute_ttl_s: 9", vec![]),
            ("idle_ttl_s: 4", "idle_ttl_s: 5", vec!["idle_ttl_s"]),
            ("{}", "sandbox: read-only", vec![]),
            ("sandbox: read-only", "sandbox: workspace-write", vec!["sandbox"]),
            ("sandbox: read-only", "sandbox: off", vec!["sandbox"]),
            ("sandbox: read-only", "sandbox: {mode: read-only, net: all}", vec!["sandbox"]),
            ("sandbox: read-only", "sandbox: {mode: read-only, best_effort: true}", vec!["sandbox"]),
            (
                "sandbox: {mode: workspace-write, net: loopback}",
                "sandbox: {mode: read-only, net: loopback}",
                vec![],
            ),
            ("sandbox: {mode: custom, write: [/a]}", "sandbox: {mode: custom, read: [/a]}", vec![]),
            (
                "sandbox: {mode: custom, write: [/a]}",
                "sandbox: {mode: custom, write: [/a/link]}",
                vec!["sandbox"],
            ),
            ("sandbox: {mode: custom, write: [/a]}", "sandbox: read-only", vec!["sandbox"]),
            ("{}", "approval: {default: ask}", vec![]),
            ("approval: {default: ask}", "approval: {default: allow}", vec!["approval.default"]),
            ("approval: {default: deny}", "approval: {default: ask}", vec!["approval.default"]),
            ("{}", "approval: {default: allow}", vec!["approval.default"]),
            ("{}", "approval: {timeout_s: 60}", vec![]),
            ("{}", "approval: {timeout_s: 1801}", vec!["approval.timeout_s"]),
            ("{}", "approval: {rules: [{deny: [a]}, {ask: [b]}]}", vec![]),
            ("{}", "approval: {rules: [{deny: [a]}, {allow: [b]}]}", vec!["approval.rules.1.allow"]),
        ] {
            assert_eq!(ignored(base, file), expected, "{file} over {base}");
        }
    }

    #[test]
    fn a_rule_loses_what_it_allows_and_keeps_the_rest() {
        let file =
            case("approval: {rules: [{allow: [a], deny: [b], match: [a x], reason: r}, {allow: [c]}]}");
        let base = case("approval: {rules: [{allow: [d]}]}");
        let rules = narrowed(&base, &floor(), &file).0.approval.unwrap().rules;
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[0].allow, ["d"]);
        let RuleSpec { allow, deny, matches, reason, .. } = &rules[1];
        assert!(allow.is_empty() && matches.is_empty());
        assert_eq!((&deny[..], reason.as_deref()), (&["b".to_string()][..], Some("r")));
    }

    #[test]
    fn what_both_deny_is_denied() {
        let base = case("sandbox: {mode: workspace-write, deny: [/a, /b]}").sandbox.unwrap();
        let asked = case("sandbox: {mode: read-only, deny: [/c, /a]}").sandbox.unwrap();
        assert_eq!(sandbox(&base, &asked).unwrap().deny.unwrap(), ["/a", "/b", "/c"]);
    }

    fn any_limits() -> impl Strategy<Value = Limits> {
        (prop::option::of(0u64..200), prop::option::of(0u64..200), prop::option::of(0u8..40)).prop_map(
            |(pids, open_files, wall)| Limits {
                pids,
                open_files,
                wall_s: wall.map(f64::from),
                ..Limits::default()
            },
        )
    }

    fn any_sandbox() -> impl Strategy<Value = SandboxParams> {
        let mode = prop::sample::select(vec![Mode::Off, Mode::ReadOnly, Mode::WorkspaceWrite, Mode::Custom]);
        let net = prop::option::of(prop::sample::select(vec![Net::None, Net::Loopback, Net::All]));
        let list = || {
            prop::option::of(prop::collection::vec(
                prop::sample::select(vec!["/a".to_string(), "/b".into()]),
                0..3,
            ))
        };
        (mode, net, list(), list(), list(), prop::option::of(any::<bool>())).prop_map(
            |(mode, net, read, write, deny, best_effort)| SandboxParams {
                mode,
                net,
                read,
                write,
                deny,
                best_effort,
            },
        )
    }

    fn any_case() -> impl Strategy<Value = CaseSpec> {
        let verdict =
            prop::option::of(prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny]));
        let words = || prop::collection::vec("[a-c]", 0..2);
        let rule = (words(), words(), words()).prop_map(|(allow, ask, deny)| RuleSpec {
            allow,
            ask,
            deny,
            ..RuleSpec::default()
        });
        let approval = (verdict, prop::collection::vec(rule, 0..3))
            .prop_map(|(default, rules)| ApprovalSpec { default, timeout_s: None, rules });
        (
            prop::option::of(any_limits()),
            prop::option::of(any_sandbox()),
            prop::option::of(0u8..200),
            prop::option::of(approval),
            prop::option::of("[a-z]{1,4}"),
        )
            .prop_map(|(limits, sandbox, timeout, approval, shell)| CaseSpec {
                limits,
                sandbox,
                timeout_s: timeout.map(f64::from),
                approval,
                shell,
                ..CaseSpec::default()
            })
    }

    proptest! {
        /// Whatever an agent writes, nothing is wider than without it.
        #[test]
        fn nothing_is_ever_wider(base in any_case(), file in any_case()) {
            let floor = floor();
            let (spec, _) = narrowed(&base, &floor, &file);
            let limits = |spec: &CaseSpec| spec.limits.unwrap_or_default().over(&floor.limits);
            prop_assert_eq!(limits(&spec).wider_than(&limits(&base)), None);
            let timeout = |spec: &CaseSpec| spec.timeout_s.unwrap_or(floor.timeout_s);
            prop_assert!(shorter(timeout(&base), timeout(&spec)));
            let boundary = |spec: &CaseSpec| spec.sandbox.clone().unwrap_or_else(|| floor.sandbox.clone());
            prop_assert!(sandbox(&boundary(&base), &boundary(&spec)).is_some());
            prop_assert_eq!(&spec.shell, &base.shell);
            let rules = |spec: &CaseSpec| spec.approval.clone().unwrap_or_default().rules;
            let allowed = |spec: &CaseSpec| rules(spec).into_iter().flat_map(|r| r.allow).collect::<Vec<_>>();
            prop_assert_eq!(allowed(&spec), allowed(&base));
            for rule in rules(&base) {
                prop_assert!(rules(&spec).contains(&rule));
            }
        }

        /// Once more changes nothing.
        #[test]
        fn narrowing_twice_is_narrowing_once(base in any_case(), file in any_case()) {
            let (once, _) = narrowed(&base, &floor(), &file);
            let (twice, _) = narrowed(&once, &floor(), &file);
            prop_assert_eq!((once.limits, once.timeout_s), (twice.limits, twice.timeout_s));
        }
    }
}
