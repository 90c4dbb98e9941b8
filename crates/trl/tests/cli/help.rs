//! `trl --help`: the commands by group, and examples that work when pasted.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;

use trl_testkit::shell::SYSTEM_PATH;
use trl_testkit::{Value, eventually, json};

use crate::{Said, daemon, ok, said};

const GROUPS: [&str; 7] = ["Run", "Sessions", "Terminals", "Approvals", "Files", "Daemon", "Integrations"];

fn trl(args: &[&str]) -> Said {
    said(Command::new(env!("CARGO_BIN_EXE_trl")).args(args))
}

fn help(args: &[&str]) -> String {
    let said = trl(args);
    assert!(said.code == 0 && said.err.is_empty(), "trl {args:?}: {said:?}");
    said.out
}

/// The lines of each section, by its heading.
fn sections(help: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in help.lines() {
        match (line.strip_suffix(':'), sections.last_mut()) {
            (Some(heading), _) if !heading.starts_with(' ') => sections.push((heading, Vec::new())),
            (_, Some((_, lines))) if !line.is_empty() => lines.push(line),
            _ => {}
        }
    }
    sections
}

/// The text of each listed command, by its name.
fn listed(help: &str) -> BTreeMap<&str, &str> {
    let mut listed = BTreeMap::new();
    let groups = sections(help).into_iter().filter(|(heading, _)| GROUPS.contains(heading));
    for line in groups.flat_map(|(_, lines)| lines) {
        let (name, text) = line.trim_start().split_once("  ").unwrap_or_else(|| panic!("no text: {line}"));
        assert!(listed.insert(name, text.trim_start()).is_none(), "{name} is in two groups");
    }
    listed
}

/// The commands below each caption, as a paste types them.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<Vec<&str>> = Vec::new();
    for line in sections(help).pop().expect("sections").1 {
        match (line.strip_prefix("    "), examples.last_mut()) {
            (Some(command), Some(example)) => example.push(command),
            _ => examples.push(Vec::new()),
        }
    }
    examples.into_iter().map(|commands| commands.join("\r")).collect()
}

#[test]
fn commands_are_listed_in_groups() {
    let help = help(&["--help"]);
    let headings: Vec<&str> = sections(&help).into_iter().map(|(heading, _)| heading).collect();
    assert_eq!(headings, [&GROUPS[..], &["Options", "Examples"]].concat(), "{help}");
    assert_eq!(listed(&help)["attach"], "Attach this terminal to a running one");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    assert!(help.contains("--socket <PATH>") && help.contains("--config <FILE>"), "{help}");
}

#[test]
fn every_command_is_listed_once() {
    let help = help(&["--help"]);
    let listed: Vec<&str> = listed(&help).into_keys().collect();
    // The document has a chapter for every command that is not hidden.
    let document = self::help(&["help-all"]);
    let chapters = document.lines().filter_map(|line| line.strip_prefix("## `trl ")?.strip_suffix('`'));
    let mut commands: Vec<&str> = chapters.filter(|path| !path.contains(' ')).collect();
    commands.sort_unstable();
    assert_eq!(listed, commands);
}

#[test]
fn every_way_to_ask_shows_the_groups() {
    let long = help(&["--help"]);
    assert_eq!(help(&["help"]), long);
    let short = help(&["-h"]);
    assert_eq!(listed(&short), listed(&long));
    let alone = trl(&[]);
    assert_eq!((alone.code, alone.err), (2, short));
    assert_eq!(help(&["help", "session", "new"]), help(&["session", "new", "--help"]));
    let unknown = trl(&["help", "sessions"]);
    assert!(unknown.code == 2 && unknown.err.contains("'sessions'"), "{unknown:?}");
}

#[test]
fn the_help_of_a_command_has_no_groups() {
    let help = help(&["session", "--help"]);
    assert!(help.contains("\nCommands:\n") && !help.contains("Terminals:"), "{help}");
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let help = help(&["--help"]);
    let texts = ["bash", "zsh", "fish"].map(|shell| self::help(&["completions", shell]));
    let manual = self::help(&["man"]);
    for name in listed(&help).into_keys() {
        assert!(texts.iter().all(|text| text.contains(name)), "{name} is not completed");
        assert!(manual.contains(&format!("trl\\-{name}(1)")), "{name} is not in the manual page");
    }
}

#[test]
fn the_examples_work_when_pasted() {
    let (daemon, there) = (daemon(), daemon());
    let dir = there.dir();
    dir.dir("paste");
    symlink(env!("CARGO_BIN_EXE_trl"), dir.join("paste/trl")).expect("a link");
    let path = format!("{}:{SYSTEM_PATH}", dir.text("paste"));
    let env = json!({"PS1": "$ ", "PATH": path, "TRL_SOCKET_PATH": daemon.socket()});
    let mut person = there.terminal(json!({"shell": "/bin/sh", "env": env, "cols": 90, "rows": 30}));

    let help = help(&["--help"]);
    let [run, session, terminal] = &examples(&help)[..] else { panic!("not three examples: {help}") };
    person.enter(run);
    person.wait("Linux");
    person.enter(session);
    person.wait("me in /tmp");
    person.enter(terminal);
    eventually("it is attached", || {
        let list: Value = serde_json::from_str(&ok(&daemon, &["term", "ls", "--json"])).expect("JSON");
        list["terminals"][0]["name"] == "demo" && list["terminals"][0]["cols"] == 90
    });
    person.input("\x1cd");
    person.wait("[detached from ");
    person.enter("echo code $?");
    person.wait("code 0");
    assert!(!person.screen().contains("hint:"), "{}", person.screen());
}

#[test]
fn typing_errors_lead_to_nothing_destructive() {
    let cases: [&[&str]; 7] = [
        &["top"],
        &["stp"],
        &["session", "clos"],
        &["session", "delet"],
        &["term", "rn"],
        &["fs", "rn"],
        &["exec", "cancl"],
    ];
    for args in cases {
        let said = trl(args);
        assert_eq!(said.code, 2, "{said:?}");
        for word in ["stop", "rm", "close", "delete", "cancel"] {
            assert!(!said.err.contains(&format!("'{word}'")), "trl {args:?}: {}", said.err);
        }
    }
    let harmless = trl(&["doctr"]);
    assert!(harmless.err.contains("'doctor'"), "{harmless:?}");
}
