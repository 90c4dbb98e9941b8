//! Runs the commands of one page, and compares what it shows with what came.

use std::fmt::Write;
use std::fs;

use crate::machine::Machine;
use crate::masks::{Names, masked};
use crate::page::{Command, Page};
use crate::shell::Shell;

/// A command that was run.
struct Done<'a> {
    command: &'a Command,
    /// How many lines of [`Command::rest`] bash took as part of the command.
    taken: usize,
    /// What it printed, in the names of the page.
    output: String,
}

/// # Errors
/// Says which commands print something else than the page shows, and what the page has left behind.
pub(crate) fn run(page: &Page) -> Result<(), String> {
    let mut machine = if page.serves() { Machine::new() } else { Machine::with_daemon() };
    let (files, lists) = (machine.files(), machine.lists());
    let mut shell = Shell::start(machine.program("setsid"));
    let (done, stuck) = run_all(page, &Names::of(&machine), &mut shell);
    println!("{}: {} blocks, {} commands", page.name, page.blocks_run(), done.len());
    let mut wrong: String = done.iter().filter_map(|done| done.difference(page)).collect();
    if let Some(why) = stuck {
        return Err(format!("{wrong}{why}\nlog of the daemon:\n{}", machine.log()));
    }
    let lists_now = machine.lists();
    let stopped = machine.stop(shell.pid());
    shell.end();
    if !wrong.is_empty() && updating() {
        update(page, &done);
        wrong.clear();
    }
    if let Err(left) = stopped {
        let _ = writeln!(wrong, "{}: {left}", page.name);
    }
    if !lists_now.is_empty() && lists != lists_now {
        let name = &page.name;
        let _ =
            write!(wrong, "{name}: the daemon listed before the page:\n{lists}\nand after it:\n{lists_now}");
    }
    // A file in the configuration changes what later commands do.
    let matters = |file: &&String| page.name == "README.md" || file.starts_with(".config/");
    for file in files.symmetric_difference(&machine.files()).filter(matters) {
        let _ = writeln!(wrong, "{}: the page has made or removed {file}", page.name);
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Runs the commands of a page up to the first that does not end, and says why it does not.
fn run_all<'a>(page: &'a Page, names: &Names, shell: &mut Shell) -> (Vec<Done<'a>>, Option<String>) {
    let mut all = Vec::new();
    for command in page.commands() {
        match run_one(command, names, shell) {
            Ok(done) => all.push(done),
            Err(why) => {
                let stuck = format!("{}:{}: $ {}\n{why}", page.name, command.line, command.first);
                return (all, Some(stuck));
            }
        }
    }
    (all, None)
}

fn run_one<'a>(command: &'a Command, names: &Names, shell: &mut Shell) -> Result<Done<'a>, String> {
    let mut answer = shell.line(&names.typed(&command.first))?;
    let (mut output, mut taken) = (answer.output, 0);
    while !answer.is_complete {
        let line = command.rest.get(taken).ok_or("bash wants more lines of this command")?;
        answer = shell.line(&names.typed(line))?;
        output.push_str(&answer.output);
        taken += 1;
    }
    let output = names.shown(&output).trim_end_matches('\n').to_string();
    Ok(Done { command, taken, output })
}

impl Done<'_> {
    /// None when the page shows what came.
    fn difference(&self, page: &Page) -> Option<String> {
        let Self { command, taken, output } = self;
        let shown = command.rest[*taken..].join("\n");
        (masked(&shown) != masked(output)).then(|| {
            let (name, line, typed) = (&page.name, command.line, &command.first);
            format!("{name}:{line}: $ {typed}\n--- expected ---\n{shown}\n--- actual ---\n{output}\n---\n")
        })
    }
}

/// Writes the page anew, with all outputs of this run: ids then stay the same from command to command.
fn update(page: &Page, done: &[Done<'_>]) {
    let change = |done: &Done<'_>| {
        let Command { line, rest, .. } = done.command;
        // The first line has number `line`, so the next one has that index.
        (*line + done.taken..*line + rest.len(), done.output.clone())
    };
    let changes: Vec<_> = done.iter().map(change).collect();
    let changes: Vec<_> = changes.iter().map(|(place, output)| (place.clone(), output.as_str())).collect();
    fs::write(&page.path, page.with(&changes)).expect("the page can be written");
}

fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1")
}
