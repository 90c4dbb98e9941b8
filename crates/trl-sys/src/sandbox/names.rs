//! Names in a workspace that no sandbox changes: what is there runs, or decides, outside of it.

use std::ffi::OsStr;
use std::path::Path;

/// Directory of a workspace for what is written to TRL: its cases.
pub const OWN_DIR: &str = ".trl";

/// Names that are protected unless the operator says otherwise. `.git/NAME` is about every git directory in the workspace;
/// any other name is at its top.
pub const PROTECTED: [&str; 6] =
    [".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes", OWN_DIR];

/// Whether one of `names` protects `path`, which is relative to the workspace and may be a file in what is protected.
pub fn is_protected<'a>(path: &Path, names: impl IntoIterator<Item = &'a Path>) -> bool {
    let parts: Vec<&OsStr> = path.iter().collect();
    let git = parts.iter().position(|part| *part == ".git");
    names.into_iter().any(|name| match (name.strip_prefix(".git"), git) {
        // Modules and worktrees have theirs further down.
        (Ok(inner), Some(at)) => {
            let inner: Vec<&OsStr> = inner.iter().collect();
            !inner.is_empty() && parts[at + 1..].windows(inner.len()).any(|some| some == inner)
        }
        (Ok(_), None) => false,
        (Err(_), _) => path.starts_with(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_directories_are_anywhere_and_the_rest_at_the_top() {
        let protects = |path: &str| is_protected(Path::new(path), PROTECTED.map(Path::new));
        for path in [
            ".git/hooks",
            ".git/hooks/pre-commit",
            "a/b/.git/hooks/x",
            ".git/modules/a/hooks/x",
            ".git/config",
            "a/.git/commondir",
            ".git/worktrees/w/config.worktree",
            ".trl",
            ".trl/cases/a.yaml",
        ] {
            assert!(protects(path), "{path}");
        }
        for path in
            ["", ".git", ".git/HEAD", "hooks/x", "a/.trl/cases/x", ".trlx", "a/.github/hooks", "cases/a.yaml"]
        {
            assert!(!protects(path), "{path}");
        }
        assert!(!is_protected(Path::new(".git/x"), [Path::new(".git")]), "it names nothing in it");
    }
}
