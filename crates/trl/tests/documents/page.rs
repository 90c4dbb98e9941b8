//! Reads a page: its `console` blocks and the commands in them.
//!
//! Where a command ends and its output begins, only bash can say: see [`Command::rest`].

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How the comment begins that marks a block as not run.
const MARK: &str = "<!-- not run";

#[derive(Debug)]
pub(crate) struct Page {
    /// Its path in the repository.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    lines: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) struct Block {
    /// The number of the line with its fence, counted from 1.
    pub(crate) line: usize,
    /// Why it is not run.
    pub(crate) mark: Option<String>,
    commands: Vec<Command>,
}

/// The lines from one `$ ` line to the next.
#[derive(Debug)]
pub(crate) struct Command {
    /// The number of its first line, counted from 1.
    pub(crate) line: usize,
    /// The first line, without the prompt.
    pub(crate) first: String,
    /// Further lines of the command, as many as bash asks for, and then the output. Without blank lines at the end.
    pub(crate) rest: Vec<String>,
}

impl Page {
    /// # Errors
    /// Names the line on which a block or a mark is not as it should be.
    pub(crate) fn read(root: &Path, name: &str) -> Result<Self, String> {
        let path = root.join(name);
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let blocks = blocks(&lines).map_err(|(at, why)| format!("{name}:{}: {why}", at + 1))?;
        Ok(Self { name: name.into(), path, lines, blocks })
    }

    /// The commands that are run, in order.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.blocks.iter().filter(|block| block.mark.is_none()).flat_map(|block| &block.commands)
    }

    /// The number of blocks that are run.
    pub(crate) fn blocks_run(&self) -> usize {
        self.blocks.iter().filter(|block| block.mark.is_none()).count()
    }

    /// Whether the page starts a daemon by itself.
    pub(crate) fn serves(&self) -> bool {
        self.commands().any(|command| command.first.contains("trl serve"))
    }

    /// The text of the page with other lines in place of some: each range of lines, and what it becomes.
    pub(crate) fn with(&self, changes: &[(Range<usize>, &str)]) -> String {
        let mut lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        // From the end, so that the places before it stay where they are.
        for (place, text) in changes.iter().rev() {
            lines.splice(place.clone(), text.lines());
        }
        lines.join("\n") + "\n"
    }
}

/// The index of a line, and what is wrong there.
type Wrong = (usize, String);

fn blocks(lines: &[String]) -> Result<Vec<Block>, Wrong> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if let Some(tag) = line.trim_start().strip_prefix("```") {
            let length = lines[at + 1..].iter().position(|line| line.trim() == "```");
            let end = at + 1 + length.ok_or((at, "this fence is not closed".to_string()))?;
            match tag.trim() {
                "console" if line.starts_with(' ') => {
                    return Err((at, "a console block is not indented".into()));
                }
                "console" => {
                    let above = lines[..at].iter().rfind(|line| !line.is_empty());
                    let mark = above.map_or(Ok(None), |line| mark(line)).map_err(|why| (at, why))?;
                    blocks.push(Block { line: at + 1, mark, commands: commands(lines, at + 1..end)? });
                }
                "sh" | "bash" | "shell" => {
                    return Err((at, "the tag of a block of commands is `console`".into()));
                }
                _ => {}
            }
            at = end;
        } else if is_mark(line) {
            let next = lines[at + 1..].iter().find(|line| !line.is_empty());
            if next.is_none_or(|next| next != "```console") {
                return Err((at, "this mark does not stand above a console block".into()));
            }
        }
        at += 1;
    }
    Ok(blocks)
}

/// Whether a line is a mark. A sentence may mention one in the middle of a line.
fn is_mark(line: &str) -> bool {
    line.trim_start().starts_with(MARK)
}

/// Returns the reason that a mark gives, and `None` for any other line.
fn mark(line: &str) -> Result<Option<String>, String> {
    if !is_mark(line) {
        return Ok(None);
    }
    let reason = line.strip_prefix(MARK).and_then(|rest| rest.strip_prefix(": ")?.strip_suffix(" -->"));
    match reason.map(str::trim) {
        Some(reason) if !reason.is_empty() => Ok(Some(reason.into())),
        _ => Err(format!("a mark is `{MARK}: REASON -->`")),
    }
}

fn commands(lines: &[String], block: Range<usize>) -> Result<Vec<Command>, Wrong> {
    let mut commands: Vec<Command> = Vec::new();
    for at in block.clone() {
        match (lines[at].strip_prefix("$ "), commands.last_mut()) {
            (Some(first), _) => {
                commands.push(Command { line: at + 1, first: first.into(), rest: Vec::new() })
            }
            (None, Some(command)) => command.rest.push(lines[at].clone()),
            (None, None) => return Err((at, "a console block begins with a `$ ` line".into())),
        }
    }
    for command in &mut commands {
        let blank = command.rest.iter().rev().take_while(|line| line.is_empty()).count();
        command.rest.truncate(command.rest.len() - blank);
    }
    if commands.is_empty() {
        return Err((block.start, "this console block is empty".into()));
    }
    Ok(commands)
}

/// Nothing that looks like a command or a mark is passed over.
pub(crate) fn check() {
    let read = |text: &str| blocks(&text.lines().map(String::from).collect::<Vec<_>>());
    let block = "```console\n$ echo a\na\n\n$ true\n```\n";
    let found = read(block).expect("a block");
    let rests: Vec<_> = found[0].commands.iter().map(|command| command.rest.join("|")).collect();
    assert_eq!((rests, found[0].mark.is_none()), (vec!["a".to_string(), String::new()], true));
    for gap in ["\n", "\n\n"] {
        let marked = read(&format!("{MARK}: no network -->{gap}{block}")).expect("a block");
        assert_eq!(marked[0].mark.as_deref(), Some("no network"));
    }
    assert!(read(&format!("A block that cannot be run has `{MARK}: REASON -->`.")).is_ok());
    let wrong = [
        "```console\necho a\n```".to_string(),
        "```console\n```".to_string(),
        "```console\n$ echo a".to_string(),
        "  ```console\n  $ echo a\n  ```".to_string(),
        "```sh\necho a\n```".to_string(),
        format!("{MARK}: -->\n{block}"),
        format!("{MARK} -->\n{block}"),
        format!("{MARK}: no network -->\ntext\n{block}"),
        format!("{MARK}: no network -->\n```json\n```"),
    ];
    wrong.iter().for_each(|text| assert!(read(text).is_err(), "{text}"));
}
