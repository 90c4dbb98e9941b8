//! Git directories that appeared while a sandbox was there, with what in them makes git run programs.
//!
//! They cannot be protected: to make a repository is an ordinary job. Whoever runs git there later is told before.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::hold::Workspace;

/// What was there before, to tell what is new.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) workspace: PathBuf,
    pub(super) directories: BTreeSet<PathBuf>,
}

/// At most so many directories are told of, and of each so many things.
pub(super) const MOST: usize = 20;
const MOST_EACH: usize = 8;
/// A longer configuration is suspicious by itself.
const LARGEST: usize = 64 << 10;
/// More of one name says nothing.
const LONGEST_NAME: usize = 200;

/// Settings that name no program and no further file; all others are told of.
const HARMLESS: [&str; 27] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.worktree",
    "core.sparsecheckout",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "remote.url",
    "remote.pushurl",
    "remote.fetch",
    "remote.mirror",
    "remote.tagopt",
    "remote.promisor",
    "remote.partialclonefilter",
    "branch.remote",
    "branch.merge",
    "branch.rebase",
    "submodule.url",
    "submodule.active",
    "user.name",
    "user.email",
];

/// What of a new git directory makes git run something: `hooks/NAME`, and `config` with the name of a setting.
pub(super) fn reasons(workspace: &Workspace, dir: &Path) -> Vec<String> {
    let hooks = workspace.list(&dir.join("hooks")).unwrap_or_default();
    let hooks = hooks.into_iter().filter(|(path, kind)| {
        *kind != FileType::Directory && path.extension() != Some(OsStr::new("sample"))
    });
    let hooks = hooks.filter_map(|(path, _)| Some(format!("hooks/{}", path.file_name()?.to_string_lossy())));
    let mut all: Vec<String> = hooks.take(MOST_EACH).collect();
    for name in ["config", "config.worktree"] {
        match workspace.read(&dir.join(name), LARGEST) {
            Ok(text) => all.extend(settings(&text).into_iter().map(|key| format!("{name}: {key}"))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(_) => all.push(format!("{name}: it cannot be read")),
        }
    }
    if workspace.has(&dir.join("commondir")) && !is_beside_worktrees(dir) {
        all.push("commondir".into());
    }
    all.truncate(MOST_EACH);
    all.iter_mut().for_each(|one| *one = one.chars().take(LONGEST_NAME).collect());
    all
}

/// Where `git worktree add` makes one.
fn is_beside_worktrees(dir: &Path) -> bool {
    dir.parent().is_some_and(|around| around.ends_with("worktrees"))
}

/// Names of settings that are not known to be harmless, in the order in which they stand there, each once.
fn settings(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut section = String::new();
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let was_open = std::mem::replace(&mut goes_on, line.ends_with('\\'));
        let mut rest = line.trim();
        if was_open {
            continue;
        }
        if let Some(head) = rest.strip_prefix('[') {
            let (name, after) = head.rsplit_once(']').unwrap_or((head, ""));
            section = name.split([' ', '\t', '.', '"']).next().unwrap_or_default().to_ascii_lowercase();
            rest = after.trim();
        }
        let key = rest.split(['=', ' ', '\t', '#', ';']).next().unwrap_or_default().to_ascii_lowercase();
        let name = format!("{section}.{key}");
        if !key.is_empty() && !HARMLESS.contains(&name.as_str()) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_something_are_found() {
        let harmless =
            b"[core]\n\tbare = false\n# x\n[remote \"origin\"]\n\turl = x\n[branch \"a.b\"]\n\tmerge = y\n";
        assert_eq!(settings(harmless), Vec::<String>::new());
        for (text, name) in [
            ("[core]\n\tfsmonitor = x", "core.fsmonitor"),
            ("[CORE] HooksPath=x", "core.hookspath"),
            ("[filter \"a]b\"] clean = x", "filter.clean"),
            ("[alias]\nst = !x", "alias.st"),
            ("[include]\npath = x", "include.path"),
            ("[user]\nname = a \\\nbare = b\n[diff.x]\ncommand = y", "diff.command"),
        ] {
            assert_eq!(settings(text.as_bytes()), [name], "{text}");
        }
    }
}
