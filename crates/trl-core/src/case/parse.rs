//! From the text of a case file to a case, or to everything that is wrong with it and where.
//!
//! 1. The text is bounded before anything reads it; anchors, aliases and merge keys are refused, as a few lines of them can
//!    stand for gigabytes.
//! 2. What has the wrong shape is one error: the reader stops there. What has the right shape and makes no sense is a list
//!    ([`super::check`]).
//! 3. No error repeats a value: the file may hold what its author would not show. Names that it quotes are [`Untrusted`]: whatever
//!    the file says, each part of an error is one line of bounded length.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{DefaultMessageFormatter, Error as YamlError, MessageFormatter, Options};
use sha2::{Digest, Sha256};
use trl_proto::case::{CaseError, CaseSpec};
use trl_proto::{Untrusted, one_line, unknown_name};

use super::{check, locate};

/// The largest file; the longest cases people write have a few KiB.
pub const LARGEST: usize = 256 << 10;
/// A case has five levels: `approval`, `rules`, a rule, a list, a word.
const DEEPEST: usize = 12;
/// Characters of a message, a hint or a path of fields. Lists of known names are the longest.
const LONGEST_PART: usize = 1000;
/// Characters of the YAML parser's own message that are shown. The message may quote the file.
const LONGEST_FOREIGN: usize = 120;

/// Reads `bytes` as the case called `id`, where that is known.
pub fn parse(bytes: &[u8], id: Option<&str>) -> Result<CaseSpec, Vec<CaseError>> {
    read(bytes, id).map_err(|errors| errors.into_iter().map(fit).collect())
}

fn read(bytes: &[u8], id: Option<&str>) -> Result<CaseSpec, Vec<CaseError>> {
    let text = text(bytes).map_err(|error| vec![error])?;
    let spec: Option<CaseSpec> =
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| vec![explain(&error, text)])?;
    // A file of comments would be a case that allows everything, and hardly meant so.
    let spec = spec.ok_or_else(|| vec![empty()])?;
    let faults = check::faults(&spec, id);
    if faults.is_empty() { Ok(spec) } else { Err(locate::place(text, faults)) }
}

/// The error with every part of it fit to be printed.
fn fit(error: CaseError) -> CaseError {
    let fit = |text: String| Untrusted::new(&text).most(LONGEST_PART).to_string();
    CaseError { field: error.field.map(fit), message: fit(error.message), hint: error.hint.map(fit), ..error }
}

/// SHA-256, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// An error about the file as a whole.
pub fn whole(message: impl Into<String>) -> CaseError {
    CaseError { line: None, column: None, field: None, message: message.into(), hint: None }
}

fn text(bytes: &[u8]) -> Result<&str, CaseError> {
    if bytes.len() > LARGEST {
        return Err(too_large());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() as u64 + 1;
        CaseError { line: Some(line), ..whole("this is not UTF-8 text") }
    })?;
    if text.trim().is_empty() {
        return Err(empty());
    }
    Ok(text)
}

fn empty() -> CaseError {
    CaseError { hint: Some("write {} for a case that says nothing".into()), ..whole("the file is empty") }
}

pub(super) fn too_large() -> CaseError {
    whole(format!("the file is larger than {} KiB", LARGEST >> 10))
}

pub(super) fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_nodes: 50_000,
            max_events: 150_000,
            max_total_scalar_bytes: LARGEST,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn explain(error: &YamlError, text: &str) -> CaseError {
    let error = error.without_snippet();
    let at = error.location().filter(|at| at.line() > 0);
    let (message, hint) = words(error);
    let (line, column) = (at.map(|at| at.line()), at.map(|at| at.column()));
    let field = line.zip(column).and_then(|(line, column)| locate::field_at(text, line, column));
    CaseError { line, column, field, message, hint }
}

fn words(error: &YamlError) -> (String, Option<String>) {
    let alone = |message: String| (message, None);
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => alone(unknown_name("field", field, expected)),
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            let hint = format!("write one of {}", expected.join(", "));
            (unknown_name("value", variant, expected), Some(hint))
        }
        YamlError::SerdeMissingField { field, .. } => alone(format!("`{field}` is missing")),
        YamlError::DuplicateMappingKey { key, .. } => match key {
            Some(key) => alone(format!("the name `{}` is there twice", one_line(key))),
            None => alone("a name is there twice".into()),
        },
        YamlError::SerdeInvalidType { unexpected, expected, .. }
        | YamlError::SerdeInvalidValue { unexpected, expected, .. } => {
            alone(format!("this must be {}, not {}", wanted(expected), found(unexpected)))
        }
        YamlError::Unexpected { expected, .. } => alone(format!("this must be {}", wanted(expected))),
        YamlError::InvalidScalar { ty, .. } => alone(format!("this must be {}", wanted(ty))),
        YamlError::NullIntoString { .. } => {
            ("this must be a string, and there is nothing".into(), Some("write \"\" for an empty one".into()))
        }
        YamlError::Eof { .. } => alone("the file ends too early".into()),
        YamlError::MultipleDocuments { .. } => {
            ("a file holds one case".into(), Some("remove what begins with ---".into()))
        }
        YamlError::MergeKeyNotAllowed { .. } => repeated(),
        YamlError::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. }
            | BudgetBreach::Anchors { .. }
            | BudgetBreach::MergeKeys { .. }
            | BudgetBreach::AliasAnchorRatio { .. } => repeated(),
            BudgetBreach::Depth { .. } => alone("this is nested too deeply".into()),
            BudgetBreach::Documents { .. } => alone("a file holds one case".into()),
            _ => alone("the file says too much for a case".into()),
        },
        other => {
            let message = DefaultMessageFormatter.format_message(other);
            alone(Untrusted::new(&message).most(LONGEST_FOREIGN).to_string())
        }
    }
}

fn repeated() -> (String, Option<String>) {
    ("anchors, aliases and merge keys are not read".into(), Some("write it out".into()))
}

/// serde's names for types in words of YAML.
fn wanted(serde: &str) -> String {
    match serde {
        "f64" | "f32" | "floating point" => "a number".into(),
        "u64" | "u32" | "u16" => "a whole number, 0 or more".into(),
        "bool" | "boolean" => "true or false".into(),
        "str" | "string scalar" | "string" | "String" => "a string".into(),
        "a sequence" | "sequence" | "sequence start" => "a list".into(),
        "a map" | "map" | "mapping start" => "a map of names to values".into(),
        name if name.starts_with("struct ") => "a map of names to values".into(),
        name => name.replace("sequence", "list").replace("an object", "a map"),
    }
}

/// What was there instead, without its text.
fn found(serde: &str) -> String {
    match serde.split_once(' ').unwrap_or((serde, "")) {
        ("string", _) => "a string".into(),
        ("integer" | "boolean", value) => value.trim_matches('`').into(),
        ("floating", value) => value.trim_start_matches("point ").trim_matches('`').into(),
        ("map", _) => "a map".into(),
        ("sequence", _) => "a list".into(),
        ("unit" | "null", _) => "nothing".into(),
        _ => "this".into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trl_proto::untrusted::is_invisible;

    use super::*;

    /// Line, column and message of the first thing that is wrong.
    fn wrong(text: &str) -> (u64, u64, String) {
        let errors = parse(text.as_bytes(), None).expect_err(text);
        let first = &errors[0];
        (first.line.unwrap_or(0), first.column.unwrap_or(0), first.message.clone())
    }

    #[test]
    fn every_error_names_its_line_and_what_to_write() {
        for (text, line, column, message) in [
            ("id: a\nsandox: off\n", 2, 1, "unknown field `sandox`; did you mean `sandbox`?"),
            (
                "limits:\n  pids: 3\n  memory_byte: 4\n",
                3,
                3,
                "unknown field `memory_byte`; did you mean `memory_bytes`?",
            ),
            ("sandbox: readonly\n", 1, 1, "unknown value `readonly`; did you mean `read-only`?"),
            ("timeout_s: soon\n", 1, 12, "this must be a number"),
            ("env: [a]\n", 1, 6, "this must be a map of names to values"),
            ("a: 1\na: 2\n", 1, 1, "unknown field `a`; known fields: "),
            ("id: x\nshell: a\nshell: b\n", 3, 1, "the name `shell` is there twice"),
            ("env:\n  A: 1\n  A: 2\n", 3, 3, "the name `A` is there twice"),
            ("agent:\n  own_shell: off\n", 0, 0, "`command` is missing"),
            ("approval:\n  rules:\n    - alow: [ls]\n", 3, 7, "unknown field `alow`; did you mean `allow`?"),
            ("shell: &x sh\n", 1, 11, "anchors, aliases and merge keys are not read"),
            ("id: a\n---\nid: b\n", 0, 0, "a file holds one case"),
            (
                "approval:\n  rules:\n    - allow: [\"a\\nb (\"]\n",
                3,
                7,
                "`a⟨U+000A⟩b (` is not made of plain words",
            ),
            ("   \n\n", 0, 0, "the file is empty"),
            ("# shell: sh\n", 0, 0, "the file is empty"),
            ("~\n", 0, 0, "the file is empty"),
            ("- a\n", 0, 0, "this must be a map of names to values"),
        ] {
            let (at_line, at_column, said) = wrong(text);
            assert!(said.starts_with(message), "{text:?}: {said}");
            if line > 0 {
                assert_eq!((at_line, at_column), (line, column), "{text:?}: {said}");
            }
        }
    }

    #[test]
    fn values_are_taken_as_people_write_them() {
        let case = parse(
            b"env: {PORT: 8080, ON: true}\ntimeout_s: 1.5\nagent: {command: [a], own_shell: off}\n",
            None,
        )
        .unwrap();
        assert_eq!(case.env.unwrap()["PORT"], "8080");
        assert_eq!(case.timeout_s, Some(1.5));
    }

    #[test]
    fn no_error_repeats_a_value() {
        for text in
            ["env: hunter2\n", "timeout_s: hunter2\n", "argv: {a: hunter2}\n", "env: {A: [hunter2]}\n"]
        {
            let errors = parse(text.as_bytes(), None).unwrap_err();
            assert!(!format!("{errors:?}").contains("hunter2"), "{errors:?}");
        }
    }

    #[test]
    fn quoted_text_is_one_bounded_line() {
        let (long, tricks) = ("x".repeat(100_000), "a\\u202e\\e[2J\\nb");
        for text in [
            format!("{long}: 1\n"),
            format!("{long}: 1\n{long}: 2\n"),
            format!("\"{tricks}\": 1\n"),
            format!("env: {{\"{tricks}\": 1}}\n"),
            format!("labels: {{\"{tricks}=\": 1}}\n"),
            format!("env: {{\"{long}\": 1, \"{long}\": 2}}\n"),
            format!("sandbox: \"{tricks}{long}\"\n"),
            format!("working_dir: \"{{{tricks}{long}}}\"\n"),
            format!("id: \"{tricks}\"\n"),
            format!("approval: {{rules: [{{allow: [ls], match: [\"{tricks}{long}\"]}}]}}\n"),
            format!("approval: {{rules: [{{allow: [\"{tricks}{long} (\"]}}]}}\n"),
            format!("!{long} x\n"),
            format!("id: *{long}\n"),
        ] {
            for error in parse(text.as_bytes(), Some("x")).unwrap_err() {
                let parts = [Some(error.message.clone()), error.field.clone(), error.hint.clone()];
                for part in parts.into_iter().flatten() {
                    assert!(part.chars().count() <= LONGEST_PART + 3, "{:.60}: {}", text, part.len());
                    assert!(!part.chars().any(is_invisible), "{text:.60}: {part}");
                }
            }
        }
    }

    #[test]
    fn hostile_text_is_refused_quickly() {
        let bomb: String = std::iter::once("pass_env: [&a0 [x,x,x,x,x,x,x,x,x],\n".to_string())
            .chain((1..40).map(|n| format!(" &a{n} [{}],\n", format!("*a{},", n - 1).repeat(9))))
            .collect();
        assert!(wrong(&bomb).2.contains("anchors"), "{:?}", wrong(&bomb));
        let deep = format!("env: {}", "[".repeat(100_000));
        parse(deep.as_bytes(), None).unwrap_err();
        let deep: String = (0..200).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        parse(deep.as_bytes(), None).unwrap_err();
        assert_eq!(wrong(&"a".repeat(LARGEST + 1)).2, "the file is larger than 256 KiB");
        let error = &parse(b"id: a\nshell: \xff\xfe\n", None).unwrap_err()[0];
        assert_eq!((error.line, error.message.as_str()), (Some(2), "this is not UTF-8 text"));
        parse(b"\0\0\0\x7fELF", None).unwrap_err();
    }

    proptest! {
        /// Whatever it is, it is answered.
        #[test]
        fn noise_is_no_trouble(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes, Some("x"));
        }

        #[test]
        fn noise_that_looks_like_a_case_is_no_trouble(text in "(id|env|limits|approval|agent|rules|&a|\\*a|<<|[:\\-\\[\\]{},\n '\"x0.!|>]){0,60}") {
            let _ = parse(text.as_bytes(), Some("x"));
        }

        /// What is written down is read back.
        #[test]
        fn a_case_survives_being_written(pids in 1u64..100, timeout in 0u32..1000, words in prop::collection::vec("x[a-z]{0,7}", 1..4)) {
            let text = serde_json::json!({
                "limits": {"pids": pids}, "timeout_s": timeout, "approval": {"rules": [{"deny": words}]},
            }).to_string();
            // JSON is YAML
            let case = parse(text.as_bytes(), None).unwrap();
            prop_assert_eq!(case.limits.unwrap().pids, Some(pids));
            prop_assert_eq!(&case.approval.unwrap().rules[0].deny, &words);
        }
    }
}
