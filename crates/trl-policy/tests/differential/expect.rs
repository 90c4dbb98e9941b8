//! What must have run, what may have.

use trl_policy::{Command, Direction, Joint, Known, Word};

const STUBS: [&str; 6] = ["a", "b", "c", "git", "fa", "fb"];

/// One command of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Runs,
    /// A pattern without a match, a file that is not there: shells differ on how much they give up for it.
    MayRun,
    Skipped,
}

/// Whether nothing but stubs can run, and the log stays where it is.
pub(crate) fn can_be_run(text: &str, commands: &[Command]) -> bool {
    let no_paths = !text.replace("/dev/null", "").contains('/');
    let no_harm = ["kill", "exec", "ulimit", "suspend"].iter().all(|word| !text.contains(word));
    no_paths
        && no_harm
        && commands.iter().all(|command| {
            command.words.first().is_none_or(|name| STUBS.contains(&name.text.as_str()))
                && command.assignments.iter().all(|one| one.name.len() <= 2 || one.name == "FOO")
                // In zsh `> =a` writes to the stub itself.
                && command.redirections.iter().all(|one| one.fd != Some(9) && one.target.known == Known::Exactly)
        })
}

/// The fate of each command, by the operators between them.
pub(crate) fn fates(commands: &[Command]) -> Vec<Fate> {
    let mut fates = vec![Fate::Skipped; commands.len()];
    // Whether the last command succeeded, if that is known.
    let mut status = Some(true);
    let mut runs = Fate::Runs;
    let mut doubt = false;
    for (at, command) in commands.iter().enumerate() {
        let uncertain = is_uncertain(command);
        fates[at] = match runs {
            Fate::Runs if uncertain || doubt => Fate::MayRun,
            other => other,
        };
        // After a pattern that matches nothing zsh gives up the rest.
        doubt |= runs != Fate::Skipped && has_patterns(command);
        let own = match command.words.first() {
            _ if uncertain => None,
            Some(name) => Some(!name.text.starts_with('f')),
            None => Some(true),
        };
        if command.joint == Joint::Pipe {
            continue;
        }
        status = match runs {
            Fate::Runs => own,
            Fate::Skipped => status,
            Fate::MayRun => None,
        };
        runs = match (command.joint, status) {
            (Joint::Then, _) => Fate::Runs,
            (Joint::Background, _) => {
                status = Some(true);
                Fate::Runs
            }
            (Joint::And, Some(true)) | (Joint::Or, Some(false)) => Fate::Runs,
            (Joint::And | Joint::Or, Some(_)) => Fate::Skipped,
            (Joint::And | Joint::Or, None) => Fate::MayRun,
            (Joint::Pipe, _) => runs,
        };
    }
    fates
}

fn has_patterns(command: &Command) -> bool {
    let words = command.words.iter();
    let targets = command.redirections.iter().map(|one| &one.target);
    let values = command.assignments.iter().map(|one| &one.value);
    words.chain(targets).chain(values).any(|word| word.known != Known::Exactly)
}

fn is_uncertain(command: &Command) -> bool {
    has_patterns(command)
        || command.redirections.iter().any(|one| match one.direction {
            Direction::Read => true,
            Direction::Here => false,
            Direction::Duplicate => !matches!(one.target.text.as_str(), "1" | "2" | "-"),
            Direction::Write | Direction::Append => {
                let name = &one.target.text;
                // zsh's MULTIOS, or a directory, or a name nobody can write.
                command.redirections.len() > 1
                    && command.redirections.iter().any(|one| one.target.text == "-")
                    || !(name == "/dev/null"
                        || name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty())
            }
        })
        || command.redirections.iter().filter(|one| one.direction == Direction::Duplicate).count() > 1
}

/// Whether the log of one text is what its commands say.
pub(crate) fn agrees(commands: &[Command], log: &[Vec<Vec<u8>>]) -> bool {
    let fates = fates(commands);
    let named: Vec<usize> = (0..commands.len()).filter(|at| !commands[*at].words.is_empty()).collect();
    assign(commands, &fates, &named, log, &mut vec![false; log.len()])
}

/// Finds for each command its record, or none where it need not have run, until every record is someone's.
fn assign(
    commands: &[Command],
    fates: &[Fate],
    left: &[usize],
    log: &[Vec<Vec<u8>>],
    used: &mut Vec<bool>,
) -> bool {
    let Some((first, rest)) = left.split_first() else { return used.iter().all(|used| *used) };
    if fates[*first] != Fate::Skipped {
        for at in 0..log.len() {
            if !used[at] && same(&commands[*first].words, &log[at]) {
                used[at] = true;
                if assign(commands, fates, rest, log, used) {
                    return true;
                }
                used[at] = false;
            }
        }
    }
    fates[*first] != Fate::Runs && assign(commands, fates, rest, log, used)
}

fn same(words: &[Word], logged: &[Vec<u8>]) -> bool {
    let Some((first, rest)) = words.split_first() else { return logged.is_empty() };
    match first.known {
        Known::Exactly => {
            logged.first().is_some_and(|word| word == first.text.as_bytes()) && same(rest, &logged[1..])
        }
        Known::Beginning | Known::Nothing => {
            let fitting = logged.iter().take_while(|word| word.starts_with(first.text.as_bytes())).count();
            (0..=fitting).any(|taken| same(rest, &logged[taken..]))
        }
    }
}
