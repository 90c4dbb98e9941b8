//! Shell state of earlier commands that would run other code with the next one: traps and other hooks, and exported variables
//! that change which code a loader or a known program runs.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use trl_proto::hitl::Executable;

use crate::env::Env;
use crate::session::spec::Secrets;
use crate::shell::Kind;
use crate::shell::words::{Statement, statements};
use crate::shell::wrap::valid_name;

/// Values of [`Executable::what`] for entries that are not names of commands.
pub const TRAP: &str = "trap";
pub const VARIABLE: &str = "variable";

/// The variables a session started with, and those its next command is given.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    pub env: &'a Env,
    pub around: &'a Env,
    pub secrets: &'a Secrets,
}

impl Start<'_> {
    fn has(&self, name: &str, value: &[u8]) -> bool {
        let own = self.around.get(name).or_else(|| self.env.get(name)).map(|own| own.as_bytes() == value);
        let secret = if self.around.contains_key(name) { None } else { self.secrets.is(name, value) };
        secret.or(own).unwrap_or(false)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.env.keys().chain(self.around.keys())
    }
}

/// Prints the shell's traps, where its loop does not, or what else it runs on its own.
pub(super) fn hooks(kind: Kind) -> &'static str {
    match kind {
        Kind::Zsh => "\\builtin trap\n",
        Kind::Fish => "builtin functions --handlers\n",
        _ => "\\command trap\n",
    }
}

/// Prints the exported variables, as statements.
pub(super) fn variables(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::Zsh => "\\builtin export -p\n",
        Kind::Fish => {
            "for __trv in (builtin set --names -x); builtin printf 'export %s=%s\\n' $__trv (builtin string escape -- \"$$__trv\"); end\n"
        }
        _ => "\\command export -p\n",
    }
}

/// One for each trap. A trap that only ignores its signal runs nothing.
pub(super) fn traps(kind: Kind, printed: &[u8]) -> Vec<Executable> {
    if kind == Kind::Fish {
        let lines = printed.split(|b| *b == b'\n').filter(|l| !l.is_empty() && !l.starts_with(b"Event "));
        return lines.map(|line| entry("event", TRAP, line)).collect();
    }
    let of = |statement: Statement| match &statement.words[..] {
        [_, _, code, _] if code.is_empty() => None,
        [_, _, .., signal] => {
            let signal = String::from_utf8_lossy(signal);
            Some(entry(signal.strip_prefix("SIG").unwrap_or(&signal), TRAP, &statement.text))
        }
        _ => Some(entry("unknown", TRAP, &statement.text)),
    };
    statements(kind, printed).into_iter().filter_map(of).collect()
}

/// Every variable that steers programs and has another value than at the start, or none any more.
pub(super) fn changed(kind: Kind, printed: &[u8], start: &Start<'_>) -> Vec<Executable> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for statement in statements(kind, printed) {
        let Some((name, value)) = variable(&statement) else { continue };
        if trl_policy::steers_programs(&name) && !start.has(&name, &value) {
            found.push(entry(&name, VARIABLE, &value));
        }
        seen.insert(name.into_owned());
    }
    let is_gone =
        |name: &&String| trl_policy::steers_programs(name) && valid_name(name) && !seen.contains(*name);
    let gone = start.names().filter(is_gone);
    let gone: BTreeSet<&String> = gone.collect();
    found.extend(gone.into_iter().map(|name| Executable { identity: None, ..entry(name, VARIABLE, b"") }));
    found
}

/// `declare -x NAME="value"`, and in zsh `export -T PATH path=( /usr/bin /bin )`.
fn variable(statement: &Statement) -> Option<(Cow<'_, str>, Cow<'_, [u8]>)> {
    let mut words = statement.words.iter().skip(1).skip_while(|word| word.starts_with(b"-"));
    let first = words.next()?;
    if let Some(at) = first.iter().position(|b| *b == b'=') {
        return Some((String::from_utf8_lossy(&first[..at]), Cow::Borrowed(&first[at + 1..])));
    }
    let tied = words.next()?.ends_with(b"=");
    let parts: Vec<&[u8]> = words.map(Vec::as_slice).collect();
    tied.then(|| (String::from_utf8_lossy(first), Cow::Owned(parts.join(&b':'))))
}

/// Its text is told apart by a digest: it may be a secret.
fn entry(name: &str, what: &str, text: &[u8]) -> Executable {
    let digest = Sha256::digest(text);
    let identity = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Executable { name: name.into(), what: what.into(), path: None, identity: Some(identity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_each_shell_are_read() {
        let printed = [
            (Kind::Bash, "declare -x A=\"x \\\"y\"\ndeclare -rx OLDPWD\ndeclare -x PATH=\"/a:/b\"\n"),
            (Kind::Dash, "export A='x \"y'\nexport PATH='/a:/b'\n"),
            (Kind::Zsh, "export A='x \"y'\nexport -T PATH path=( /a /b )\nexport -i10 SHLVL=1\n"),
            (Kind::Ksh93, "export A=$'x \"y'\nexport PATH=/a:/b\nexport _\n"),
        ];
        for (kind, printed) in printed {
            let statements = statements(kind, printed.as_bytes());
            let found: Vec<_> = statements.iter().filter_map(variable).collect();
            let find = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_ref());
            assert_eq!((find("A"), find("PATH")), (Some(&b"x \"y"[..]), Some(&b"/a:/b"[..])), "{kind:?}");
        }
    }

    #[test]
    fn only_what_steers_programs_counts() {
        let (env, around) = (Env::from([("HOME".into(), "/h".into())]), Env::new());
        let secrets = Secrets::new(Env::from([("AWS_KEY".into(), "x".into())]));
        let start = Start { env: &env, around: &around, secrets: &secrets };
        let names = |printed: &str| {
            changed(Kind::Dash, printed.as_bytes(), &start).into_iter().map(|e| e.name).collect::<Vec<_>>()
        };
        assert_eq!(names("export HOME='/h'\nexport AWS_KEY='x'\nexport K='1'\nexport PWD='/'\n"), [""; 0]);
        assert_eq!(names("export HOME='/i'\nexport GIT_PAGER='x'\n"), ["HOME", "GIT_PAGER"]);
        assert_eq!(names(""), ["HOME"]);
    }
}
