//! Paths in rules and in commands: `fs.write src` is about `src` and everything below it.
//!
//! Relative paths of rules are below the workspace, never below the directory a shell happens to be in. Paths are compared
//! as they are written: where a symbolic link leads is for the sandbox to hold.

use crate::pattern::Near;

/// Where a command runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// The shell's directory.
    pub cwd: Option<&'a str>,
    /// The workspace's directory.
    pub root: Option<&'a str>,
}

/// A path and what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePattern {
    absolute: bool,
    parts: Vec<String>,
    everything: bool,
}

impl FilePattern {
    pub(crate) fn everything() -> Self {
        Self { absolute: true, parts: Vec::new(), everything: true }
    }

    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        let parts: Vec<String> =
            path.split('/').filter(|part| !part.is_empty() && *part != ".").map(Into::into).collect();
        if path.is_empty() || parts.iter().any(|part| part == "..") {
            return Err("is not a path without `..`".into());
        }
        Ok(Self { absolute: path.starts_with('/'), parts, everything: false })
    }

    /// Whether a file is this one or below it; [`Near::Maybe`] when that is not known.
    pub(crate) fn holds(&self, path: &str, place: Place<'_>) -> Near {
        if self.everything {
            return Near::Yes;
        }
        let Some(file) = resolve(path, place.cwd) else { return Near::Maybe };
        let mut want = Vec::new();
        if !self.absolute {
            let Some(root) = place.root.and_then(|root| resolve(root, None)) else { return Near::Maybe };
            want = root;
        }
        want.extend(self.parts.iter().cloned());
        if file.starts_with(&want) { Near::Yes } else { Near::No }
    }
}

/// The parts of an absolute path. `..` has no answer without looking at the disk.
fn resolve(path: &str, cwd: Option<&str>) -> Option<Vec<String>> {
    let mut parts = if path.starts_with('/') {
        Vec::new()
    } else {
        resolve(cwd.filter(|cwd| cwd.starts_with('/'))?, None)?
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => parts.push(part.to_string()),
        }
    }
    Some(parts)
}

/// Files that hold nothing.
pub(crate) fn is_a_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2")
}

/// Bash connects to a host for these.
pub(crate) fn is_a_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { cwd: Some("/w/src"), root: Some("/w") };

    fn holds(pattern: &str, path: &str) -> Near {
        FilePattern::parse(pattern).unwrap().holds(path, PLACE)
    }

    #[test]
    fn a_path_holds_what_is_below_it() {
        assert_eq!(holds(".", "a"), Near::Yes);
        assert_eq!(holds("src", "a"), Near::Yes);
        assert_eq!(holds("src", "/w/src/a/b"), Near::Yes);
        assert_eq!(holds("src", "/w/srcs"), Near::No);
        assert_eq!(holds("docs", "a"), Near::No);
        assert_eq!(holds("/tmp", "/tmp//x"), Near::Yes);
        assert_eq!(holds("/tmp", "/tmp/../etc/passwd"), Near::Maybe);
        assert_eq!(holds("/", "/anything"), Near::Yes);
        assert_eq!(FilePattern::parse(".").unwrap().holds("a", Place::default()), Near::Maybe);
        assert!(FilePattern::parse("../x").is_err());
    }
}
