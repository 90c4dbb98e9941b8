//! What asks although a rule allows its name: builtins that change how later text is read or compute their words,
//! interpreters that read what nobody has seen yet, variables that change which program a name means.

use crate::pattern::base;
use crate::plain::{Known, Word};
use crate::programs::{READ_INPUT, is_in, is_shell, stem};
use crate::shell::ShellKind;

/// Variables that only change how a program talks or logs.
const HARMLESS_VARIABLES: &str = "CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS DEBIAN_FRONTEND FORCE_COLOR GOARCH GOOS CGO_ENABLED \
    LANG LANGUAGE LINES LOG_LEVEL NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED \
    PYTHONIOENCODING RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG RUST_TEST_THREADS TERM TZ UV_OFFLINE \
    VERBOSE CARGO_TERM_COLOR CARGO_INCREMENTAL GIT_TERMINAL_PROMPT NEXTEST_RETRIES RAILS_ENV \
    RACK_ENV DEBUG";

/// Variables that decide which program runs, or what the shell makes of later text; zsh has some in lower case too.
const HEAVY_VARIABLES: &str = "PATH ENV BASH_ENV IFS SHELLOPTS BASHOPTS FPATH ZDOTDIR CDPATH PS4 PROMPT_COMMAND SHELL HOME \
    POSIXLY_CORRECT NULLCMD READNULLCMD ALIASES GALIASES SALIASES FUNCTIONS COMMANDS OPTIONS \
    HISTCHARS PWD OLDPWD";

/// What is in the names of variables by which a loader or a known program is told what else to run, load or read, in capitals.
const STEERING: &str = "PATH EDITOR VISUAL PAGER BROWSER SHELL ASKPASS PRELOAD AUDIT OPTIONS OPTS FLAGS CONFIG COMMAND CMD EXEC RSH \
    WRAPPER PLUGIN MODULE HOME ROOT LIB INIT STARTUP HOOK PROXY LOADER ENGINE LESSOPEN LESSCLOSE MAKE TERMINFO TERMCAP TUNABLES \
    PROFILE SCRIPT PROGRAM DRIVER TOOL SOCK CACHEDIR HOSTALIASES";

/// How such names begin: families of which nobody has listed all.
const STEERING_FAMILIES: &str = "GIT_ SSH_ XDG_ BASH_ PYTHON PERL RUBY GEM_ BUNDLE_ NODE_ NPM_ YARN_ PNPM_ DENO_ BUN_ JAVA_ JDK_ _JAVA \
    CLASSPATH MAVEN_ GRADLE_ CARGO_ RUSTC RUSTDOC RUSTUP_ PKG_ CMAKE_ PIP_ UV_ POETRY_ CONDA_ VIRTUAL_ENV LUA_ PHP GPG_ GNUPG \
    DOCKER_ KUBE HELM_ AWS_ AZURE_ GOOGLE_ TF_ ANSIBLE_ SYSTEMD_ DBUS_ OPENSSL_ SSL_ CURL_ GREP_ TAR_ RSYNC_ CVS_ SVN_ PGS \
    MYSQL_ SQLITE_ R_ JULIA_ ERL_ ELIXIR_ GLIBC_ GCC_ COMPILER_ MALLOC_ RES_";

/// Such names that are like no others.
const STEERING_NAMES: &str = "AS AR LD NM CC CXX CPP RANLIB LESS GOENV GOBIN GOCACHE PGPASSFILE HGMERGE LOCALDOMAIN PSQLRC INPUTRC WGETRC CURLRC";

/// Whether a loader or a known program may run other code because of this variable. What a shell keeps in variables about
/// where it is does not count.
#[must_use]
pub fn steers_programs(variable: &str) -> bool {
    if matches!(variable, "PWD" | "OLDPWD" | "SHLVL" | "_") {
        return false;
    }
    let name = variable.to_ascii_uppercase();
    let any =
        |words: &str, fits: fn(&str, &str) -> bool| words.split_whitespace().any(|word| fits(&name, word));
    match weigh(variable) {
        Weight::Harmless => false,
        Weight::Heavy => true,
        Weight::Unknown => {
            any(STEERING, |name, word| name.contains(word))
                || any(STEERING_FAMILIES, |name, word| name.starts_with(word))
                || is_in(STEERING_NAMES, &name)
        }
    }
}

/// Builtins that change how later text is read, or compute their words.
const CHANGES_THE_SHELL: &str = "alias unalias trap hash enable disable complete compgen compopt compdef bind bindkey autoload \
    zmodload emulate shopt setopt unsetopt zle sched functions unfunction unhash rehash zparseopts \
    vared zstyle fc let integer float getopts mapfile readarray print local nameref ttyctl zcompile \
    limit unlimit abbr bg fg jobs disown";

/// What `set` may be given.
const HARMLESS_OF_SET: &str =
    "-e +e -u +u -x +x -o pipefail errexit nounset xtrace -eu -ex -eux -euo -exo -euxo -eo";

/// How much a variable can do to the command behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Harmless,
    Unknown,
    /// It decides which program runs, or what the shell makes of later text.
    Heavy,
}

pub(crate) fn weigh(variable: &str) -> Weight {
    let heavy = is_in(HEAVY_VARIABLES, &variable.to_ascii_uppercase())
        || variable.starts_with("LD_")
        || variable.starts_with("DYLD_")
        || variable.starts_with("BASH_FUNC");
    if heavy {
        Weight::Heavy
    } else if variable.starts_with("LC_") || is_in(HARMLESS_VARIABLES, variable) {
        Weight::Harmless
    } else {
        Weight::Unknown
    }
}

/// Why a command asks although its name is allowed.
pub(crate) fn caution(words: &[Word], shell: ShellKind) -> Option<&'static str> {
    let (name, rest) = words.split_first()?;
    let name = name.literal()?;
    match name {
        _ if is_in(CHANGES_THE_SHELL, name) => {
            Some("it changes how the shell reads what comes later, or computes its words")
        }
        "exec" => Some("it replaces the session's shell"),
        "set" => rest
            .iter()
            .any(|word| !is_harmless_set(word))
            .then_some("it changes how the shell reads what comes later"),
        "export" | "declare" | "typeset" | "readonly" => rest.iter().find_map(declares),
        "read" | "unset" => match rest {
            _ if rest.iter().any(|word| !is_name_or_option(word)) => Some("the shell computes its words"),
            _ if rest.iter().any(|word| matters_to_programs(&word.text)) => {
                Some("it changes a variable that the shell or programs may go by")
            }
            _ => None,
        },
        "exit" | "return" | "shift" | "break" | "continue" | "wait" | "umask" | "ulimit" | "kill"
            if shell == ShellKind::Zsh =>
        {
            rest.iter().any(|word| !is_tame(word)).then_some("zsh computes its words")
        }
        "test" | "[" => tests(rest, shell),
        "printf" => prints(rest, shell),
        _ if writes_a_file(base(name), rest) => Some("it writes a file"),
        _ => needs_a_script(name, rest)
            .then_some("it runs whatever it is given later, on its input or by typing"),
    }
}

/// Why an `allow` of these first words can never let a command through, in any shell; None when it may.
pub(crate) fn never_allowed(words: &[Word]) -> Option<&'static str> {
    let (name, rest) = words.split_first()?;
    // Nothing but a script makes these harmless, and that may follow.
    if needs_a_script(name.literal()?, rest) {
        return None;
    }
    // All else that asks goes on asking with more words behind it.
    let shells = [ShellKind::Sh, ShellKind::Bash, ShellKind::Zsh, ShellKind::Ash, ShellKind::Other];
    shells.into_iter().map(|shell| caution(words, shell)).reduce(Option::and)?
}

/// Programs that only show things, but for an option.
fn writes_a_file(program: &str, rest: &[Word]) -> bool {
    let begins = |with: &str| rest.iter().any(|word| word.text.starts_with(with));
    let operands = || rest.iter().filter(|word| !word.text.starts_with('-')).count();
    match program {
        "git" => begins("--output"),
        "sort" => begins("-o") || begins("--output") || begins("--compress-program"),
        "uniq" => operands() > 1,
        "tree" => begins("-o"),
        _ => false,
    }
}

fn is_harmless_set(word: &Word) -> bool {
    word.literal().is_some_and(|text| is_in(HARMLESS_OF_SET, text))
}

fn declares(word: &Word) -> Option<&'static str> {
    if matches!(word.literal(), Some("-x" | "-p")) {
        return None;
    }
    let name = word.text.split('=').next().unwrap_or_default();
    let whole = word.known == Known::Exactly || word.text.contains('=');
    if !whole || !crate::lex::is_name(name.as_bytes()) {
        return Some("the shell computes its words");
    }
    match weigh(name) {
        Weight::Heavy => {
            Some("it changes which program a name means, or how the shell reads what comes later")
        }
        Weight::Unknown if steers_programs(name) => {
            Some("this variable can change which code every later command runs")
        }
        Weight::Unknown | Weight::Harmless => None,
    }
}

fn is_name_or_option(word: &Word) -> bool {
    word.literal()
        .is_some_and(|text| crate::lex::is_name(text.as_bytes()) || matches!(text, "-r" | "-s" | "-f" | "-v"))
}

/// By custom, what programs go by is in capitals, or names a proxy.
fn matters_to_programs(name: &str) -> bool {
    let own = name.starts_with('-')
        || name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    !own || name.ends_with("_proxy") || weigh(name) == Weight::Heavy
}

/// A number or an option: nothing to compute.
fn is_tame(word: &Word) -> bool {
    word.literal()
        .is_some_and(|text| !text.contains(['[', '$', '`', '(']) && !crate::lex::is_name(text.as_bytes()))
}

/// A subscript is computed, and what is in it is run: `[ -v 'a[$(id)]' ]` in bash, `[ 'a[$(id)]' -eq 0 ]` in zsh.
fn tests(rest: &[Word], shell: ShellKind) -> Option<&'static str> {
    let computes = |word: &Word| {
        word.may_be("-v")
            || word.may_be("-R")
            || (shell == ShellKind::Zsh
                && ["-eq", "-ne", "-lt", "-gt", "-le", "-ge"].iter().any(|op| word.may_be(op)))
    };
    let subscript = |word: &Word| {
        word.known == Known::Nothing || word.text.contains(['[', '`', '$']) || word.known == Known::Beginning
    };
    // The last word of `[` is its bracket.
    let operands: Vec<&Word> = rest.iter().filter(|word| word.literal() != Some("]")).collect();
    if shell == ShellKind::Zsh && operands.iter().any(|word| computes(word)) {
        return operands.iter().any(|word| !is_tame(word)).then_some("zsh computes its words");
    }
    let has_operator = operands.iter().any(|word| matches!(word.literal(), Some("-v" | "-R")));
    (has_operator && operands.iter().any(|word| subscript(word))).then_some("the shell computes its words")
}

fn prints(rest: &[Word], shell: ShellKind) -> Option<&'static str> {
    let stores = rest.first().is_some_and(|word| word.known != Known::Exactly || word.text.starts_with("-v"));
    let computes = shell == ShellKind::Zsh && rest.iter().skip(1).any(|word| word.text.contains('['));
    (stores || computes).then_some("the shell computes its words")
}

/// An interpreter that was given nothing to run reads it from its input.
pub(crate) fn needs_a_script(name: &str, rest: &[Word]) -> bool {
    if is_shell(name) {
        return shell_needs_a_script(rest);
    }
    let stem = stem(name);
    let reads_input = is_in(READ_INPUT, stem);
    if !reads_input {
        return false;
    }
    let interactive = |word: &Word| {
        matches!(word.literal(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "--interactive"))
            || (word.literal() == Some("-i") && !matches!(stem, "perl" | "ruby"))
    };
    // A single word of options alone, as `-u`, is no script; with `-c` and its like, or `--version`, it is one.
    let given = |word: &Word| match word.literal() {
        Some(text) if text.starts_with("--") => {
            !matches!(text, "--no-warnings" | "--quiet" | "--norc" | "--posix")
        }
        Some(text) if text.starts_with('-') => {
            text[1..].contains(['c', 'e', 'm', 'p', 'E', 'V', 'h', 'v', 'x', 'r', 'f', 'n'])
        }
        Some(_) => true,
        None => !word.may_be_option() && !word.may_be("/dev/stdin"),
    };
    rest.iter().any(interactive) || !rest.iter().any(given)
}

fn shell_needs_a_script(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file") => drop(words.next()),
            Some("--version" | "--help") => return false,
            Some("--") => return words.next().is_none_or(is_input),
            Some(text) if text.starts_with("--") => {}
            Some(text) if text.starts_with('-') && text.len() > 1 => {
                if text.contains('c') {
                    return false;
                }
                if text.contains(['s', 'i']) {
                    return true;
                }
            }
            _ => return is_input(word),
        }
    }
    true
}

/// Whether what it names may be the input.
fn is_input(word: &Word) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|input| word.may_be(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split_whitespace().map(Word::exact).collect()
    }

    #[test]
    fn an_interpreter_without_a_script_is_found() {
        for text in [
            "bash",
            "sh -s",
            "bash -i",
            "bash -o pipefail",
            "zsh -l",
            "python3",
            "python -",
            "python3 -i x.py",
            "node",
            "perl -w",
            "bash /dev/stdin",
            "bash --norc",
            "python3.12 -u",
        ] {
            let words = words(text);
            assert!(needs_a_script(&words[0].text, &words[1..]), "{text}");
        }
        for text in [
            "bash x.sh",
            "bash -c ls",
            "sh -ec ls",
            "python3 -c x",
            "python -m pytest",
            "node -e x",
            "node --version",
            "perl -pi -e x f",
            "bash --version",
            "awk x",
            "ls",
        ] {
            let words = words(text);
            assert!(!needs_a_script(&words[0].text, &words[1..]), "{text}");
        }
    }

    #[test]
    fn builtins_that_compute_ask() {
        for text in [
            "test -v a[$(id)]",
            "[ -v a[$(id)] ]",
            "printf -v a[$(id)] x",
            "unset a[$(id)]",
            "unset PATH",
            "read HOME",
            "read -r PS4",
            "read path",
            "read https_proxy",
            "read a[$(id)]",
            "set -k",
            "alias ls=rm",
            "export PATH=/x",
            "export GIT_PAGER=x",
            "export npm_config_script_shell",
            "declare -n a=b",
            "trap x EXIT",
            "let a=1",
        ] {
            assert!(caution(&words(text), ShellKind::Bash).is_some(), "{text}");
        }
        for text in [
            "test -f a",
            "[ -d a ]",
            "printf %s a",
            "unset a",
            "read -r line",
            "set -euo pipefail",
            "export LANG=C",
            "export K=1",
            "readonly K=1",
            "[ 1 -eq 2 ]",
            "exit 1",
        ] {
            assert!(caution(&words(text), ShellKind::Bash).is_none(), "{text}");
            assert!(caution(&words(text), ShellKind::Zsh).is_none(), "{text}");
        }
        assert!(caution(&words("[ a[$(id)] -eq 0 ]"), ShellKind::Zsh).is_some());
        assert!(caution(&words("exit a[$(id)]"), ShellKind::Zsh).is_some());
    }

    #[test]
    fn variables_of_loaders_and_known_programs_steer_them() {
        for name in [
            "PATH",
            "HOME",
            "LD_PRELOAD",
            "LD_AUDIT",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_SSH_COMMAND",
            "XDG_CONFIG_HOME",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "NODE_OPTIONS",
            "npm_config_script_shell",
            "JAVA_TOOL_OPTIONS",
            "CARGO_BUILD_RUSTC_WRAPPER",
            "RUSTC",
            "MAKEFLAGS",
            "CC",
            "LESSOPEN",
            "MANPAGER",
            "EDITOR",
            "VISUAL",
            "BROWSER",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "RSYNC_RSH",
            "https_proxy",
            "BASH_ENV",
            "ENV",
            "PSQLRC",
            "INPUTRC",
            "OPENSSL_CONF",
            "GCONV_PATH",
            "GLIBC_TUNABLES",
            "KUBECONFIG",
            "DOCKER_HOST",
            "TERMINFO",
            "BASH_FUNC_ls%%",
        ] {
            assert!(steers_programs(name), "{name}");
        }
        for name in [
            "K", "NAME", "answer", "LANG", "LC_ALL", "TERM", "PWD", "OLDPWD", "SHLVL", "RUST_LOG",
            "NO_COLOR", "CI",
        ] {
            assert!(!steers_programs(name), "{name}");
        }
    }

    #[test]
    fn some_words_are_never_allowed() {
        for text in
            ["alias", "trap", "exec", "export PATH", "export GIT_PAGER=x", "set -k", "read PATH", "sort -o x"]
        {
            assert!(never_allowed(&words(text)).is_some(), "{text}");
        }
        for text in [
            "export", "export K", "set", "bash", "python3", "read", "unset", "printf", "test", "sort",
            "exit a", "ls",
        ] {
            assert_eq!(never_allowed(&words(text)), None, "{text}");
        }
    }

    #[test]
    fn options_that_write_files_ask() {
        let asks = |text: &str| caution(&words(text), ShellKind::Bash).is_some();
        for text in ["git diff --output=x", "git log -1 --output x", "sort -o x y", "sort -ox y", "uniq a b"]
        {
            assert!(asks(text), "{text}");
        }
        for text in ["git diff -- output", "sort x", "uniq -c a"] {
            assert!(!asks(text), "{text}");
        }
    }
}
