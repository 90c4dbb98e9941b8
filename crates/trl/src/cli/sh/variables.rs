//! Which of our variables a command gets. Pure but for reading them.
//!
//! 1. What was exported here is there: that is what a shell's user expects. What is called like a secret goes as one, so
//!    that it is shown and kept nowhere.
//! 2. `TRL_*` stays behind: those are settings of ours, and a token among them.
//! 3. `SHELL` does not lead back to us: what looks at it is inside already.
//! 4. What is no text, or has a name that no shell could have given it, cannot be passed on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use trl_store::redact::is_secret_name;

/// Says which.
pub(super) const VARIABLE: &str = "TRL_SH_ENV";
const OURS: &str = "TRL_";

/// Names and values.
pub(super) type Env = BTreeMap<String, String>;

/// What a command gets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    pub(super) open: Env,
    pub(super) secret: Env,
}

/// Those of this process.
pub(super) fn ours(shell: &Path) -> Variables {
    let filter = Filter::parse(&std::env::var(VARIABLE).unwrap_or_default());
    choose(std::env::vars_os(), &filter, shell)
}

fn choose(all: impl Iterator<Item = (OsString, OsString)>, filter: &Filter, shell: &Path) -> Variables {
    let mut chosen = Variables::default();
    for (name, value) in all {
        let (Ok(name), Ok(mut value)) = (name.into_string(), value.into_string()) else { continue };
        if name.starts_with(OURS) || !is_name(&name) || !filter.passes(&name) {
            continue;
        }
        if name == "SHELL" && is_us(OsStr::new(&value)) {
            value = shell.display().to_string();
        }
        let kind = if is_secret_name(&name) { &mut chosen.secret } else { &mut chosen.open };
        kind.insert(name, value);
    }
    chosen
}

/// Letters, digits and underscores, as every shell has it.
fn is_name(name: &str) -> bool {
    let of_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    name.bytes().all(of_name) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

fn is_us(path: &OsStr) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    let us = canonical(Path::new("/proc/self/exe"));
    us.is_some() && us == canonical(Path::new(path))
}

/// `all`, `none`, or names; one that ends in `*` is many, one after `-` is left out.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    usual: Usual,
    named: Vec<String>,
    spared: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Usual {
    Passes,
    Stays,
}

impl Filter {
    fn parse(text: &str) -> Self {
        let mut filter = Self { usual: Usual::Passes, named: Vec::new(), spared: Vec::new() };
        let mut said_all = false;
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            match (word, word.strip_prefix('-')) {
                ("all", _) => said_all = true,
                ("none", _) => filter.usual = Usual::Stays,
                (_, Some(name)) => filter.spared.push(name.into()),
                (name, None) => filter.named.push(name.into()),
            }
        }
        if !filter.named.is_empty() && !said_all {
            filter.usual = Usual::Stays;
        }
        filter
    }

    fn passes(&self, name: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        let wanted = self.usual == Usual::Passes || self.named.iter().any(fits);
        wanted && !self.spared.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn chosen(filter: &str, all: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let all = all.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let chosen = choose(all, &Filter::parse(filter), Path::new("/bin/sh"));
        (chosen.open.into_keys().collect(), chosen.secret.into_keys().collect())
    }

    const ALL: [(&str, &str); 5] = [
        ("PATH", "/x"),
        ("EDITOR", "vi"),
        ("API_TOKEN", "s"),
        ("TRL_AUTH_TOKEN", "t"),
        ("BASH_FUNC_f%%", "()"),
    ];

    #[test]
    fn what_was_exported_passes_and_secrets_pass_as_such() {
        assert_eq!(chosen("", &ALL), (vec!["EDITOR".into(), "PATH".into()], vec!["API_TOKEN".into()]));
        assert_eq!(chosen("all", &ALL), chosen("", &ALL));
    }

    #[test]
    fn fewer_pass_when_that_is_said() {
        assert_eq!(chosen("none", &ALL), (vec![], vec![]));
        assert_eq!(chosen("PATH", &ALL), (vec!["PATH".into()], vec![]));
        assert_eq!(chosen("ED*,API_TOKEN", &ALL), (vec!["EDITOR".into()], vec!["API_TOKEN".into()]));
        assert_eq!(chosen("-API_*", &ALL), (vec!["EDITOR".into(), "PATH".into()], vec![]));
        assert_eq!(chosen("TRL_AUTH_TOKEN", &ALL), (vec![], vec![]));
    }

    #[test]
    fn what_is_no_text_stays_and_a_shell_that_is_us_is_the_real_one() {
        let odd = (OsString::from("ODD"), OsString::from_vec(vec![0xff]));
        let us = (OsString::from("SHELL"), std::env::current_exe().unwrap().into_os_string());
        let filter = Filter::parse("");
        let chosen = choose([odd, us].into_iter(), &filter, Path::new("/bin/sh"));
        assert_eq!(chosen.open, Env::from([("SHELL".into(), "/bin/sh".into())]));
    }
}
