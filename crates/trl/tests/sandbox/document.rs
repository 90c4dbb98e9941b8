//! The tables of `docs/sandbox.md`: what a test has seen, and not what it expected.
//!
//! 1. A test hands over each line with what was seen, or with nothing for what cannot be tried here: it wants root, or a
//!    program that is missing. Such a line stays as the run has left it that could.
//! 2. The table must be the one in the document; `UPDATE_DOCS=1` puts it there.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) seen: Option<Vec<&'static str>>,
}

pub(crate) fn is_written() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1")
}

/// `section` names the table, `head` its columns.
pub(crate) fn check(section: &str, head: &[&str], lines: &[Line]) {
    let text = std::fs::read_to_string(path()).unwrap();
    let parts = Parts::of(&text, section);
    let table = table(head, lines, parts.table);
    if !is_written() {
        let advice = "run it with UPDATE_DOCS=1, as root";
        assert_eq!(parts.table, table, "docs/sandbox.md is not what was seen here: {advice}");
        return;
    }
    // Tests of other tables may be at it too.
    let mut file = File::options().read(true).write(true).open(path()).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let parts = Parts::of(&text, section);
    let text = format!("{}{table}{}", parts.before, parts.after);
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md")
}

struct Parts<'a> {
    before: &'a str,
    table: &'a str,
    after: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, section: &str) -> Self {
        let begin = format!("<!-- seen by crates/trl/tests/sandbox: {section} -->\n");
        let start = text.find(&begin).unwrap_or_else(|| panic!("no table {section}")) + begin.len();
        let end = start + text[start..].find("<!-- end -->").unwrap();
        Self { before: &text[..start], table: &text[start..end], after: &text[end..] }
    }
}

fn table(head: &[&str], lines: &[Line], old: &str) -> String {
    let rule = vec!["---"; head.len()];
    let mut text = [joined(head), joined(&rule)].concat();
    for Line { name, seen } in lines {
        let kept = || old.lines().find(|line| line.starts_with(&format!("| {name} |")));
        match (seen, kept()) {
            (Some(cells), _) => text += &joined(&[&[*name], &cells[..]].concat()),
            (None, Some(kept)) => text += &format!("{kept}\n"),
            (None, None) => text += &joined(&[*name, "not tried"]),
        }
    }
    text
}

fn joined(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

#[test]
fn what_cannot_be_tried_stays_as_it_was() {
    let seen = |name, cell| Line { name, seen: cell };
    let lines = [seen("a", Some(vec!["yes"])), seen("b", None), seen("c", None)];
    let old = "| try | off |\n| --- | --- |\n| a | - |\n| b | as root |\n";
    assert_eq!(
        table(&["try", "off"], &lines, old),
        "| try | off |\n| --- | --- |\n| a | yes |\n| b | as root |\n| c | not tried |\n"
    );
}
