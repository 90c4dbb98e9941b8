//! The environment of a session: a small clean base, what was asked to be passed, what the session sets.
//!
//! Whatever the daemon itself was started with stays with it: its own settings (`TRL_*`) and anything that looks
//! like a secret reach no child unless `pass_env` names it.

use std::collections::BTreeMap;

/// What a program needs to behave as its user expects.
const BASE: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "SHELL"];

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub type Env = BTreeMap<String, String>;

/// The daemon's environment, read once at start.
#[derive(Debug, Clone, Default)]
pub struct Inherited {
    vars: Env,
}

impl Inherited {
    pub fn from_process() -> Self {
        let text = |(k, v): (std::ffi::OsString, std::ffi::OsString)| {
            Some((k.into_string().ok()?, v.into_string().ok()?))
        };
        let mut vars: Env = std::env::vars_os().filter_map(text).collect();
        // A service manager may give none; the user has one all the same.
        if let (None, Some(home)) = (vars.get("HOME"), std::env::home_dir()) {
            vars.extend(home.into_os_string().into_string().ok().map(|home| ("HOME".to_string(), home)));
        }
        Self { vars }
    }

    pub fn from_vars(vars: Env) -> Self {
        Self { vars }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// Base, then `pass` by name.
    pub fn base(&self, pass: &[String]) -> Env {
        let mut env: Env = [("PATH", DEFAULT_PATH), ("HOME", "/"), ("LANG", "C.UTF-8"), ("TERM", "dumb")]
            .into_iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect();
        let wanted = BASE.iter().copied().chain(pass.iter().map(String::as_str));
        for name in wanted {
            if let Some(value) = self.vars.get(name) {
                env.insert(name.to_string(), value.clone());
            }
        }
        env
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited(vars: &[(&str, &str)]) -> Inherited {
        Inherited::from_vars(vars.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect())
    }

    #[test]
    fn secrets_and_settings_stay_behind_unless_named() {
        let all = inherited(&[
            ("PATH", "/p"),
            ("TRL_AUTH_TOKEN", "t"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("EDITOR", "vi"),
        ]);
        let plain = all.base(&[]);
        assert_eq!(plain.keys().collect::<Vec<_>>(), ["HOME", "LANG", "PATH", "TERM"]);
        assert_eq!(plain["PATH"], "/p");
        let named = all.base(&["AWS_SECRET_ACCESS_KEY".into(), "NOT_SET".into()]);
        assert_eq!(named["AWS_SECRET_ACCESS_KEY"], "s");
        assert!(!named.contains_key("NOT_SET"));
    }
}
