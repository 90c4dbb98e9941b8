//! What has the shape of a case and yet makes no sense. Pure: no file is looked at, since a case may be written on one machine
//! for another.

use std::collections::BTreeMap;

use trl_policy::{RuleSet, Source, Trust};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::case::{AgentSpec, CaseSpec};
use trl_proto::sandbox::{Mode, Net, SandboxParams};

use super::request::Template;
use crate::limits::asked;
use crate::shell::wrap::valid_name;
use crate::workspace::fault_of;

/// One thing that is wrong, by the path of its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    pub message: String,
    pub hint: Option<String>,
}

const LONGEST_ID: usize = 64;
/// Longer ones are data in the wrong place.
const LONGEST_TEXT: usize = 4096;

/// May a case be called this? It is the name of a file, too.
pub fn valid_id(id: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    id.len() <= LONGEST_ID
        && id.bytes().next().is_some_and(good)
        && id.bytes().all(|b| good(b) || matches!(b, b'-' | b'_' | b'.'))
}

pub const ID_RULE: &str = "up to 64 lower-case letters, digits, -, _ and ., beginning with a letter or digit";

/// Everything that is wrong with `spec`, whose file is called `id`.
pub fn faults(spec: &CaseSpec, id: Option<&str>) -> Vec<Fault> {
    let mut found = Faults::default();
    found.id(spec.id.as_deref(), id);
    found.text("description", spec.description.as_deref());
    found.program(spec);
    found.variables(spec);
    found.place(spec);
    for (field, value) in [
        ("timeout_s", spec.timeout_s),
        ("idle_ttl_s", spec.idle_ttl_s),
        ("absolute_ttl_s", spec.absolute_ttl_s),
    ] {
        found.seconds(field, value);
    }
    if let Some(sandbox) = &spec.sandbox {
        found.sandbox(sandbox);
    }
    if let Some(Err(fault)) = spec.limits.as_ref().map(asked::check) {
        let field = fault.details.get("limit").and_then(|name| name.as_str()).unwrap_or_default();
        found.add(format!("limits.{field}"), fault.message);
    }
    for (name, value) in spec.labels.iter().flatten() {
        if name.is_empty() || name.contains('=') || name.len() + value.len() > LONGEST_TEXT {
            found.add(format!("labels.{name}"), "a label has a short name without `=`, and a short value");
        }
    }
    if let Some(approval) = &spec.approval {
        found.approval(approval);
    }
    if let Some(agent) = &spec.agent {
        found.agent(agent);
    }
    found.list
}

#[derive(Default)]
struct Faults {
    list: Vec<Fault>,
}

impl Faults {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.list.push(Fault { field: field.into(), message: message.into(), hint: None });
    }

    fn add_with(&mut self, field: impl Into<String>, message: impl Into<String>, hint: &str) {
        self.list.push(Fault { field: field.into(), message: message.into(), hint: Some(hint.into()) });
    }

    fn id(&mut self, own: Option<&str>, file: Option<&str>) {
        match (own, file) {
            (Some(own), _) if !valid_id(own) => self.add_with("id", "this cannot be an id", ID_RULE),
            (Some(own), Some(file)) if own != file => self.add_with(
                "id",
                format!("the id is `{own}`, and the file is called `{file}.yaml`"),
                "rename one of them, or leave out `id`",
            ),
            _ => {}
        }
    }

    fn text(&mut self, field: &str, text: Option<&str>) {
        if text.is_some_and(|text| text.len() > LONGEST_TEXT) {
            self.add(field, format!("this is longer than {LONGEST_TEXT} bytes"));
        }
    }

    fn program(&mut self, spec: &CaseSpec) {
        if spec.shell.is_some() && spec.argv.is_some() {
            self.add("argv", "`shell` and `argv` exclude each other");
        }
        if spec.shell.as_ref().is_some_and(|shell| shell.is_empty() || shell.contains('\0')) {
            self.add("shell", "this must be the path or the name of a shell");
        }
        if let Some(argv) = &spec.argv {
            self.words("argv", argv);
        }
    }

    fn words(&mut self, field: &str, words: &[String]) {
        if words.first().is_none_or(String::is_empty) {
            self.add(field, "the first word must be a program");
        }
        if words.iter().any(|word| word.contains('\0')) {
            self.add(field, "a word contains a NUL character");
        }
    }

    fn variables(&mut self, spec: &CaseSpec) {
        self.env("env", spec.env.as_ref());
        for (field, names) in [("secret_env", &spec.secret_env), ("pass_env", &spec.pass_env)] {
            for (n, name) in names.iter().flatten().enumerate() {
                if !valid_name(name) {
                    self.add_with(
                        format!("{field}.{n}"),
                        "this is not a name of a variable",
                        "this is a list of names; values of secrets come with the request",
                    );
                }
            }
        }
        for name in spec.secret_env.iter().flatten() {
            if spec.env.as_ref().is_some_and(|env| env.contains_key(name)) {
                self.add_with(
                    format!("env.{name}"),
                    "the value of a secret does not belong into a file",
                    "remove it here; it comes with the request or from the daemon's environment",
                );
            }
        }
    }

    fn env(&mut self, field: &str, env: Option<&BTreeMap<String, String>>) {
        for (name, value) in env.into_iter().flatten() {
            if !valid_name(name) {
                self.add_with(
                    format!("{field}.{name}"),
                    "this is not a name of a variable",
                    "letters, digits and underscores, not starting with a digit",
                );
            }
            if value.contains('\0') {
                self.add(format!("{field}.{name}"), "the value contains a NUL character");
            }
        }
    }

    fn place(&mut self, spec: &CaseSpec) {
        if let Some(Err(message)) = spec.working_dir.as_deref().map(Template::parse) {
            self.add_with("working_dir", message, "such as {workspace}/src, {home} or /srv/build");
        }
        if let Some(fault) = spec.workspace.as_deref().and_then(fault_of) {
            self.add("workspace", format!("the id of a workspace {fault}"));
        }
        if spec.runtime.as_ref().is_some_and(|name| name.is_empty() || name.contains(char::is_control)) {
            self.add("runtime", "this must be the name of a runtime, such as host");
        }
    }

    fn seconds(&mut self, field: &str, value: Option<f64>) {
        if let Err(error) = crate::session::spec::seconds(value, field) {
            self.add(field, error.message);
        }
    }

    fn sandbox(&mut self, sandbox: &SandboxParams) {
        let SandboxParams { mode, read, write, deny, net, .. } = sandbox;
        if *mode != Mode::Custom && (read.is_some() || write.is_some()) {
            self.add("sandbox", "`read` and `write` are lists of the mode custom");
        }
        if *mode == Mode::Off && (deny.is_some() || net.is_some_and(|net| net != Net::All)) {
            self.add("sandbox", "`deny` and `net` need a sandbox, and its mode is off");
        }
        for (name, list) in [("read", read), ("write", write), ("deny", deny)] {
            for (n, path) in list.iter().flatten().enumerate() {
                if !path.starts_with('/') || path.contains('\0') {
                    self.add(format!("sandbox.{name}.{n}"), "this must be an absolute path");
                }
            }
        }
    }

    fn approval(&mut self, approval: &ApprovalSpec) {
        self.seconds("approval.timeout_s", approval.timeout_s);
        for (n, rule) in approval.rules.iter().enumerate() {
            self.rule(&format!("approval.rules.{n}"), rule);
        }
        if self.list.is_empty() {
            self.meaning(approval);
        }
    }

    /// Patterns that can never match, and commands a rule was to decide and does not.
    fn meaning(&mut self, approval: &ApprovalSpec) {
        let source = Source { name: String::new(), trust: Trust::Full, spec: Ok(approval.clone()) };
        for problem in RuleSet::compile(&[source]).problems() {
            let place = problem.rule.map_or("approval".into(), |n| format!("approval.rules.{}", n - 1));
            self.add(place, problem.message.clone());
        }
    }

    /// Its shape.
    fn rule(&mut self, place: &str, rule: &RuleSpec) {
        let RuleSpec { allow, ask, deny, matches, not_match, reason } = rule;
        if [allow, ask, deny].into_iter().all(Vec::is_empty) {
            self.add_with(place, "this rule decides nothing", "give it `allow`, `ask` or `deny`");
        }
        let lists =
            [("allow", allow), ("ask", ask), ("deny", deny), ("match", matches), ("not_match", not_match)];
        for (name, list) in lists {
            for (n, words) in list.iter().enumerate() {
                if words.trim().is_empty() || words.len() > LONGEST_TEXT || words.contains('\0') {
                    self.add(format!("{place}.{name}.{n}"), "this must be the words a command begins with");
                }
            }
        }
        self.text(&format!("{place}.reason"), reason.as_deref());
    }

    fn agent(&mut self, agent: &AgentSpec) {
        self.words("agent.command", &agent.command);
        self.env("agent.env", agent.env.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::parse::parse;

    fn wrong(text: &str) -> Vec<(u64, String)> {
        let errors = parse(text.as_bytes(), Some("x")).expect_err(text);
        errors
            .into_iter()
            .map(|e| (e.line.unwrap_or(0), format!("{}: {}", e.field.unwrap_or_default(), e.message)))
            .collect()
    }

    #[test]
    fn ids_are_names_of_files() {
        for good in ["a", "careful", "ci-2.x", "0", "a_b"] {
            assert!(valid_id(good), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", ".", "..", "-a", "A", "a/b", "a b", "é", "a\0", &long] {
            assert!(!valid_id(bad), "{bad}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_line() {
        for (text, line, said) in [
            ("id: y\n", 1, "id: the id is `y`, and the file is called `x.yaml`"),
            ("shell: sh\nargv: [cat]\n", 2, "argv: `shell` and `argv` exclude each other"),
            ("argv: []\n", 1, "argv: the first word must be a program"),
            ("env:\n  A: 1\n  9: x\n", 3, "env.9: this is not a name of a variable"),
            ("env: {K: v}\nsecret_env: [K]\n", 1, "env.K: the value of a secret does not belong into a file"),
            ("secret_env:\n  - A\n  - B=c\n", 3, "secret_env.1: this is not a name of a variable"),
            ("working_dir: rel\n", 1, "working_dir: "),
            (
                "working_dir: \"{wrkspace}/x\"\n",
                1,
                "working_dir: unknown placeholder `wrkspace`; did you mean `workspace`?",
            ),
            ("workspace: ..\n", 1, "workspace: the id of a workspace"),
            ("timeout_s: -1\n", 1, "timeout_s: "),
            ("limits:\n  pids: 3\n  memory_bytes: 10\n", 3, "limits.memory_bytes: "),
            ("sandbox: {mode: off, deny: [/x]}\n", 1, "sandbox: `deny` and `net` need a sandbox"),
            ("sandbox:\n  mode: custom\n  read: [a]\n", 3, "sandbox.read.0: this must be an absolute path"),
            ("approval:\n  rules:\n    - reason: x\n", 3, "approval.rules.0: this rule decides nothing"),
            ("approval:\n  rules:\n    - deny: [ls, '']\n", 3, "approval.rules.0.deny.1: "),
            ("agent:\n  command: []\n", 2, "agent.command: the first word must be a program"),
        ] {
            let (at, message) = &wrong(text)[0];
            assert!(message.starts_with(said), "{text:?}: {message}");
            assert_eq!(*at, line, "{text:?}: {message}");
        }
    }

    #[test]
    fn everything_is_told_at_once() {
        assert_eq!(
            wrong("id: y\nargv: []\ntimeout_s: -1\nlimits: {memory_bytes: 1}\nagent: {command: []}\n").len(),
            5
        );
    }
}
