//! Commands that run other commands: taken apart, so that what they run is judged too.
//!
//! Each wrapper has its options in a table. An option that is not there may do anything, so it asks.

use crate::pattern::base;
use crate::plain::{Known, Word};
use crate::shell::ShellKind;

/// Whether the wrapper needs an allow of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// It only runs what it is given.
    Transparent,
    /// It runs it as somebody else, or in another way that a rule should know.
    Judged,
}

/// What a wrapper runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Inner {
    Words(Vec<Word>),
    /// Text for a shell.
    Script(String, ShellKind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrapped {
    /// Not a wrapper, or one that runs nothing here.
    No,
    Yes {
        own: Own,
        inner: Vec<Inner>,
        /// Variables it sets.
        variables: Vec<String>,
        /// Why it asks all the same.
        caution: Option<&'static str>,
    },
    /// It may run anything.
    Unclear(&'static str),
}

struct Spec {
    name: &'static str,
    own: Own,
    flags: &'static str,
    valued: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    variables: bool,
}

const fn spec(name: &'static str, flags: &'static str, valued: &'static str) -> Spec {
    Spec {
        name,
        own: Own::Transparent,
        flags,
        valued,
        long_flags: &[],
        long_valued: &[],
        operands: 0,
        variables: false,
    }
}

const SPECS: [Spec; 14] = [
    Spec { long_flags: &["--null"], variables: true, ..spec("env", "0v", "") },
    Spec {
        long_flags: &["--foreground", "--preserve-status", "--verbose"],
        long_valued: &["--kill-after", "--signal"],
        operands: 1,
        ..spec("timeout", "v", "ks")
    },
    Spec {
        long_flags: &["--foreground", "--preserve-status"],
        long_valued: &["--kill-after", "--signal"],
        operands: 1,
        ..spec("gtimeout", "v", "ks")
    },
    Spec { long_valued: &["--adjustment"], ..spec("nice", "0123456789", "n") },
    spec("nohup", "", ""),
    spec("time", "pv", ""),
    Spec { long_flags: &["--ctty", "--fork", "--wait"], ..spec("setsid", "cfw", "") },
    Spec { long_valued: &["--input", "--output", "--error"], ..spec("stdbuf", "", "ioe") },
    spec("ionice", "t", "cn"),
    spec("command", "", ""),
    spec("builtin", "", ""),
    Spec { own: Own::Judged, ..spec("exec", "cl", "a") },
    Spec {
        own: Own::Judged,
        long_flags: &["--non-interactive", "--preserve-env", "--set-home"],
        long_valued: &["--user", "--group"],
        variables: true,
        ..spec("sudo", "nEHSk", "ugp")
    },
    Spec { own: Own::Judged, variables: true, ..spec("doas", "n", "u") },
];

const XARGS: Spec = Spec {
    long_flags: &["--null", "--no-run-if-empty", "--verbose", "--exit"],
    long_valued: &[
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--delimiter",
        "--arg-file",
        "--replace",
        "--max-chars",
    ],
    ..spec("xargs", "0rtpx", "nLPIEsda")
};

/// Takes one wrapper off.
pub(crate) fn unwrap(words: &[Word], shell: ShellKind) -> Wrapped {
    let Some((name, rest)) = words.split_first() else { return Wrapped::No };
    let Some(path) = name.literal() else { return Wrapped::Unclear("its name is not known") };
    match by_name(base(path), rest, shell) {
        // A program of that name elsewhere may be anything: it needs a rule of its own.
        Wrapped::Yes { inner, variables, caution, .. } if !is_of_the_system(path) => {
            Wrapped::Yes { own: Own::Judged, inner, variables, caution }
        }
        wrapped => wrapped,
    }
}

fn is_of_the_system(path: &str) -> bool {
    let name = base(path);
    path == name || path.strip_suffix(name).is_some_and(|dir| matches!(dir, "/bin/" | "/usr/bin/"))
}

fn by_name(name: &str, rest: &[Word], shell: ShellKind) -> Wrapped {
    match name {
        "eval" => eval(rest, shell),
        "command" if rest.first().is_some_and(|word| matches!(word.literal(), Some("-v" | "-V"))) => {
            Wrapped::No
        }
        "xargs" => xargs(rest),
        "find" => find(rest),
        "fd" | "fdfind" => fd(rest),
        _ if crate::programs::is_shell(name) => inline_script(name, rest),
        _ => match SPECS.iter().find(|spec| spec.name == name) {
            Some(spec) => by_spec(spec, rest),
            None => Wrapped::No,
        },
    }
}

fn by_spec(spec: &Spec, rest: &[Word]) -> Wrapped {
    let mut at = match options(spec, rest) {
        Ok((at, _)) => at,
        Err(why) => return Wrapped::Unclear(why),
    };
    let mut variables = Vec::new();
    while spec.variables && rest.get(at).is_some_and(|word| word.text.contains('=')) {
        let name = rest[at].text.split('=').next().unwrap_or_default();
        variables.push(name.to_string());
        // `A=$x` may become `A=1 rm`.
        if rest[at].known == Known::Nothing {
            return Wrapped::Unclear("a variable whose value is not known");
        }
        at += 1;
    }
    for _ in 0..spec.operands {
        match rest.get(at) {
            Some(word) if word.known == Known::Exactly => at += 1,
            Some(_) => return Wrapped::Unclear("a word before the command that is not known"),
            None => return Wrapped::No,
        }
    }
    match rest.get(at) {
        None if variables.is_empty() => Wrapped::No,
        None => Wrapped::Yes { own: Own::Judged, inner: vec![], variables, caution: None },
        Some(word) if word.known == Known::Exactly => {
            let inner = vec![Inner::Words(rest[at..].to_vec())];
            Wrapped::Yes { own: spec.own, inner, variables, caution: None }
        }
        Some(_) => Wrapped::Unclear("the command it runs is not known"),
    }
}

/// Where the options end, and the value of `-I`.
fn options(spec: &Spec, rest: &[Word]) -> Result<(usize, Option<String>), &'static str> {
    const UNKNOWN: &str = "an option that may change what it runs";
    let mut replace = None;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        if word.known != Known::Exactly {
            return if word.may_be_option() || word.known == Known::Nothing {
                Err(UNKNOWN)
            } else {
                Ok((at, replace))
            };
        }
        let text = word.text.as_str();
        if text == "--" {
            return Ok((at + 1, replace));
        }
        if !text.starts_with('-') || text == "-" {
            return Ok((at, replace));
        }
        at += 1;
        if text.starts_with("--") {
            match text.split_once('=') {
                Some((stem, value)) if spec.long_valued.contains(&stem) => {
                    if stem == "--replace" {
                        replace = Some(value.to_string());
                    }
                }
                None if spec.long_flags.contains(&text) => {}
                None if spec.long_valued.contains(&text) && text != "--replace" => at += value_at(rest, at)?,
                _ => return Err(UNKNOWN),
            }
            continue;
        }
        for (offset, letter) in text.char_indices().skip(1) {
            if spec.flags.contains(letter) {
                continue;
            }
            if !spec.valued.contains(letter) {
                return Err(UNKNOWN);
            }
            let glued = &text[offset + letter.len_utf8()..];
            let value = if glued.is_empty() {
                at += value_at(rest, at)?;
                rest[at - 1].text.clone()
            } else {
                glued.to_string()
            };
            if letter == 'I' {
                replace = Some(value);
            }
            break;
        }
    }
    Ok((at, replace))
}

fn value_at(rest: &[Word], at: usize) -> Result<usize, &'static str> {
    match rest.get(at) {
        Some(word) if word.known == Known::Exactly => Ok(1),
        _ => Err("an option whose value is not known"),
    }
}

/// Its words come from its input, at the end or in place of `-I`'s.
fn xargs(rest: &[Word]) -> Wrapped {
    let (at, replace) = match options(&XARGS, rest) {
        Ok(found) => found,
        Err(why) => return Wrapped::Unclear(why),
    };
    let mut inner = rest[at..].to_vec();
    match inner.first() {
        None => return Wrapped::No,
        Some(name) if name.known != Known::Exactly => {
            return Wrapped::Unclear("the command it runs is not known");
        }
        Some(name) if replace.as_ref().is_some_and(|text| name.text.contains(text.as_str())) => {
            return Wrapped::Unclear("the command it runs comes from its input");
        }
        Some(_) => {}
    }
    match replace {
        Some(text) if !text.is_empty() => forget(&mut inner, &text),
        _ => inner.push(Word::unknown()),
    }
    Wrapped::Yes { own: Own::Transparent, inner: vec![Inner::Words(inner)], variables: vec![], caution: None }
}

/// Words that hold `text` are replaced by others when the command runs.
fn forget(words: &mut [Word], text: &str) {
    for word in words.iter_mut().skip(1) {
        if word.known == Known::Exactly && word.text.contains(text) {
            *word = Word::unknown();
        }
    }
}

fn find(rest: &[Word]) -> Wrapped {
    let mut inner = Vec::new();
    let mut caution = None;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let mut command: Vec<Word> = Vec::new();
                let mut ended = false;
                for word in words.by_ref() {
                    if word.known != Known::Exactly && word.known != Known::Beginning {
                        return Wrapped::Unclear("the command it runs is not known");
                    }
                    // `+` is a word like any other unless it stands behind `{}`.
                    let behind_braces = command.last().is_some_and(|last| last.text == "{}");
                    if word.literal() == Some(";") || (word.literal() == Some("+") && behind_braces) {
                        ended = true;
                        break;
                    }
                    command.push(word.clone());
                }
                if !ended
                    || command
                        .first()
                        .is_none_or(|name| name.known != Known::Exactly || name.text.contains("{}"))
                {
                    return Wrapped::Unclear("the command it runs is not known");
                }
                forget(&mut command, "{}");
                inner.push(Inner::Words(command));
            }
            Some("-delete") => caution = Some("it deletes files"),
            Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => caution = Some("it writes a file"),
            Some(_) => {}
            None if word.may_be_option() => return Wrapped::Unclear("a word that may be -exec or -delete"),
            None => {}
        }
    }
    Wrapped::Yes { own: Own::Judged, inner, variables: vec![], caution }
}

fn fd(rest: &[Word]) -> Wrapped {
    let runs = rest.iter().any(|word| {
        word.known == Known::Nothing
            || word.may_be("-x")
            || word.text.starts_with("--exec")
            || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(['x', 'X']))
    });
    if runs { Wrapped::Unclear("it runs a command for what it finds") } else { Wrapped::No }
}

fn eval(rest: &[Word], shell: ShellKind) -> Wrapped {
    let words: Option<Vec<&str>> = rest.iter().map(Word::literal).collect();
    match words {
        Some(words) if words.first().is_none_or(|word| !word.starts_with('-')) => Wrapped::Yes {
            own: Own::Transparent,
            inner: vec![Inner::Script(words.join(" "), shell)],
            variables: vec![],
            caution: None,
        },
        _ => Wrapped::Unclear("the text it runs is not known"),
    }
}

/// Long options that make a shell read fewer files of its own.
const NARROWING: [&str; 2] = ["--noprofile", "--norc"];

/// Options by name that change how text goes on after a failure, and nothing of what it says.
fn option_named(word: Option<&Word>) -> bool {
    const HARMLESS: [&str; 4] = ["errexit", "nounset", "pipefail", "xtrace"];
    word.and_then(Word::literal).is_some_and(|name| HARMLESS.contains(&name))
}

/// `sh -c TEXT`; with a script file it is a command like any other.
fn inline_script(name: &str, rest: &[Word]) -> Wrapped {
    let mut at = 0;
    let mut inline = false;
    while let Some(text) =
        rest.get(at).and_then(Word::literal).filter(|text| text.starts_with('-') && text.len() > 1)
    {
        if NARROWING.contains(&text) || (name == "zsh" && text == "-f") {
            at += 1;
            continue;
        }
        let letters = text[1..].strip_suffix('o').filter(|_| option_named(rest.get(at + 1)));
        let named = letters.is_some();
        if !letters.unwrap_or(&text[1..]).bytes().all(|letter| b"ceuxnv".contains(&letter)) {
            let may_be_inline = rest
                .iter()
                .any(|word| word.may_be_option() && word.literal().is_none_or(|t| t.contains('c')));
            return if may_be_inline {
                Wrapped::Unclear("an option that may change what it runs")
            } else {
                Wrapped::No
            };
        }
        inline |= letters.unwrap_or(text).contains('c');
        at += 1 + usize::from(named);
    }
    match rest.get(at) {
        Some(word) if inline => match word.literal() {
            Some(text) => Wrapped::Yes {
                own: Own::Transparent,
                inner: vec![Inner::Script(text.to_string(), ShellKind::of_program(name))],
                variables: vec![],
                caution: None,
            },
            None => Wrapped::Unclear("the text it runs is not known"),
        },
        Some(word) if word.may_be_option() => Wrapped::Unclear("a word that may be -c"),
        _ => Wrapped::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Split;
    use crate::split::split;

    fn of(text: &str) -> Wrapped {
        match split(ShellKind::Bash, text) {
            Split::Plain(commands) => unwrap(&commands[0].words, ShellKind::Bash),
            Split::Opaque(opaque) => panic!("{opaque}"),
        }
    }

    fn runs(text: &str) -> Vec<String> {
        match of(text) {
            Wrapped::Yes { inner, .. } => inner
                .into_iter()
                .map(|inner| match inner {
                    Inner::Words(words) => words
                        .iter()
                        .map(|w| w.literal().unwrap_or("?").to_string())
                        .collect::<Vec<_>>()
                        .join(" "),
                    Inner::Script(text, _) => format!("script {text}"),
                })
                .collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_a_wrapper_runs_is_found() {
        for (text, inner) in [
            ("env A=1 git push", "git push"),
            ("timeout -k 5 --signal=KILL 10s git push", "git push"),
            ("nice -n 5 git push", "git push"),
            ("nice -10 git push", "git push"),
            ("nohup git push", "git push"),
            ("time -p git push", "git push"),
            ("stdbuf -oL -e 0 git push", "git push"),
            ("command git push", "git push"),
            ("sudo -u bob -n git push", "git push"),
            ("xargs -0 -n1 git push", "git push ?"),
            ("xargs -I{} git push {} x", "git push ? x"),
            ("find . -name '*.rs' -exec git push {} ';'", "git push ?"),
            ("find . -exec git + push {} +", "git + push ?"),
            ("sh -c 'git push'", "script git push"),
            ("bash -ec 'git push' x y", "script git push"),
            ("bash --noprofile --norc -c 'git push'", "script git push"),
            ("bash -euo pipefail -c 'git push'", "script git push"),
            ("bash -euo pipefail -o errexit -xc 'git push'", "script git push"),
            ("zsh -f -c 'git push'", "script git push"),
            ("eval git 'push x'", "script git push x"),
            ("/usr/bin/env git push", "git push"),
        ] {
            assert_eq!(runs(text), [inner], "{text}");
        }
    }

    #[test]
    fn an_option_nobody_knows_is_unclear() {
        for text in [
            "env -S 'git push'",
            "env -i git push",
            "timeout $x git push",
            "env $x git push",
            "sudo -i",
            "xargs -a f -o git",
            "bash -lc ls",
            "bash -f -c ls",
            "bash -o posix -c ls",
            "bash -o $x -c ls",
            "bash -oc pipefail ls",
            "bash --rcfile x -c ls",
            "find . $x",
            "fd . -x rm",
            "eval $x",
            "sh -c $x",
            "sh $x",
            "xargs -I{} {}",
            "command -p ls",
            "nice --weird ls",
            "timeout 5 $x",
        ] {
            assert!(matches!(of(text), Wrapped::Unclear(_)), "{text}: {:?}", of(text));
        }
        for text in ["env", "git push", "bash x.sh", "command -v git", "timeout 5", "xargs", "fd -e rs"] {
            assert_eq!(of(text), Wrapped::No, "{text}");
        }
    }
}
