//! Reading the reports of test runners, in JUnit's format.

use std::path::Path;

/// One test of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The file or the binary of the test, as its runner spells it.
    pub(super) class: String,
    pub(super) name: String,
}

/// The tests of a report. Skipped ones are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) passed: Vec<Case>,
    pub(super) failed: Vec<Case>,
    /// Tests that passed when their runner retried them; in `passed` too.
    pub(super) flaky: Vec<Case>,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.class, self.name)
    }
}

/// Reads a report. A missing one has no tests.
pub(super) fn read(path: &Path) -> Report {
    parse(&std::fs::read_to_string(path).unwrap_or_default())
}

/// A test case ends where the next one begins; the elements in between say whether it failed.
fn parse(junit: &str) -> Report {
    let mut report = Report::default();
    for text in junit.split("<testcase ").skip(1) {
        let (head, rest) = text.split_once('>').unwrap_or((text, ""));
        let within =
            if head.ends_with('/') { "" } else { rest.split("</testcase>").next().unwrap_or_default() };
        let case = Case { class: attribute(head, "classname"), name: attribute(head, "name") };
        if within.contains("<skipped") {
            continue;
        }
        if within.contains("<failure") || within.contains("<error") {
            report.failed.push(case);
            continue;
        }
        if within.contains("<flakyFailure") || within.contains("<flakyError") {
            report.flaky.push(case.clone());
        }
        report.passed.push(case);
    }
    report
}

fn attribute(head: &str, key: &str) -> String {
    // With the space before it: `classname` ends with `name`.
    let head = format!(" {head}");
    let value = head.split_once(&format!(" {key}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    let value = value.map_or("", |(value, _)| value);
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(value.to_string(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(class: &str, name: &str) -> Case {
        Case { class: class.into(), name: name.into() }
    }

    #[test]
    fn cases_are_sorted_by_their_elements() {
        let report = parse(
            r#"<testsuites tests="5"><testsuite name="s">
            <testcase name="a" classname="trl::http"/>
            <testcase name="b" classname="trl::http" time="1"><failure type="x"/></testcase>
            <testcase name="c::d" classname="trl::http"><flakyFailure type="x">said</flakyFailure></testcase>
            <testcase classname="web" name="e"><skipped/></testcase>
            <testcase classname="web" name="it&apos;s &quot;f&quot;"><system-out>error</system-out></testcase>
            </testsuite></testsuites>"#,
        );
        let flaky = case("trl::http", "c::d");
        assert_eq!(report.passed, [case("trl::http", "a"), flaky.clone(), case("web", "it's \"f\"")]);
        assert_eq!((report.failed, report.flaky), (vec![case("trl::http", "b")], vec![flaky]));
        assert_eq!(parse(""), Report::default());
    }
}
