//! How a shell prints its state: records `tag\0text\0`, read by [`super::state`].
//!
//! | tag | text |
//! |---|---|
//! | `c` `u` | directory, umask |
//! | `q` | one positional parameter, as it is; `p`: all of them, quoted |
//! | `t` `o` `a` | traps, options, aliases, as statements |
//! | `e` | the emulation (zsh) |
//! | `v` | variables, as statements; `v NAME`: one of them (fish) |
//! | `x` `r` | what is exported and what is readonly, where variables do not say (dash, ash) |
//! | `f NAME` `m` | a function; attributes of functions (bash) |
//! | `z` | the end: without it something is missing |
//!
//! bash and zsh print part of it from a subshell, where options and traps of the user's can be put aside. Traps,
//! options and parameters are printed by the shell itself: a subshell has others.

use super::kind::Kind;

/// The text that prints the state to stdout.
pub(super) fn text(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => BASH,
        Kind::Zsh => ZSH,
        Kind::Dash | Kind::Ash => POSIX,
        Kind::Ksh93 => KSH93,
        Kind::Fish => FISH,
    }
}

/// Two forks for the functions cost more than all the rest, so a shell that has none is spared them. A bash without `compgen`
/// cannot say so, nor can a restricted one.
const BASH: &str = r#"\builtin printf 'c\0%s\0u\0' "${PWD-}"; \builtin umask; \builtin printf '\0'
case $# in 0) ;; *) \builtin printf 'q\0%s\0' "$@";; esac
\builtin printf 't\0'; \builtin trap -p; \builtin printf '\0o\0'; \builtin shopt -p; \builtin set +o
\builtin printf '\0a\0'; \builtin alias -p; \builtin printf '\0v\0'; \builtin declare -p
\builtin printf '\0m\0'; \builtin declare -F; \builtin printf '\0'
if \builtin compgen -W x -- x >/dev/null && ! \builtin compgen -A function >/dev/null; then :; else
( \builtin trap - DEBUG ERR RETURN; \builtin set +eu; \builtin mapfile -t __trf <<<"$(\builtin declare -F)"
for __trg in "${__trf[@]}"; do case $__trg in ?*) __trg=${__trg##* }; \builtin printf 'f %s\0' "$__trg"; \builtin declare -f -- "$__trg"; \builtin printf '\0';; esac; done )
fi
\builtin printf 'z\0\0'"#;

/// Without `printeightbit` bytes that are no text are printed so that zsh itself cannot read them back: `\M-\n` is both
/// 0x8a and 0xdc `n`.
const ZSH: &str = r#"\builtin printf 'c\0%s\0u\0' "${PWD-}"; \builtin umask; \builtin printf '\0e\0'; \builtin emulate
\builtin printf '\0t\0'; \builtin trap; \builtin printf '\0o\0'; \builtin set +o; \builtin printf '\0'
( \builtin emulate -R zsh; \builtin setopt printeightbit nomultibyte; \builtin printf 'p\0'; \builtin print -rn -- "${(@qqqq)argv}"
\builtin printf '\0a\0'; \builtin alias -L; \builtin alias -sL; \builtin printf '\0v\0'; \builtin typeset -p; \builtin printf '\0'
for __trf in "${(@f)$(\builtin typeset +f)}"; do case $__trf in ?*) \builtin printf 'f %s\0' "$__trf"; \builtin functions -- "$__trf"; \builtin printf '\0';; esac; done )
\builtin printf 'z\0\0'"#;

/// These cannot print their functions.
const POSIX: &str = r#"\command printf 'c\0%s\0u\0' "${PWD-}"; \command umask; \command printf '\0'
case $# in 0) ;; *) \command printf 'q\0%s\0' "$@";; esac
\command printf 't\0'; \command trap; \command printf '\0o\0'; \command set +o; \command printf '\0a\0'; \command alias
\command printf '\0v\0'; \command set; \command printf '\0x\0'; \command export -p; \command printf '\0r\0'; \command readonly -p
\command printf '\0z\0\0'"#;

/// It prints functions without a newline after them.
const KSH93: &str = r#"\command printf 'c\0%s\0u\0' "${PWD-}"; \command umask; \command printf '\0'
case $# in 0) ;; *) \command printf 'q\0%s\0' "$@";; esac
\command printf 't\0'; \command trap; \command printf '\0o\0'; \command set +o; \command printf '\0a\0'; \command alias -p
\command printf '\0v\0'; \command typeset -p; \command printf '\0'
for __trf in $(\command typeset +f); do __trf=${__trf%%\(*}; \command printf 'f %s\0' "$__trf"; \command typeset -f "$__trf"; \command printf '\n\0'; done
\command printf 'z\0\0'; \unset __trf"#;

/// Variables, then only the functions that were not there at the start: printing all autoloaded ones takes 37 ms.
const FISH: &str = r"builtin printf 'c\0%s\0u\0%s\0' $PWD (umask)
for __trv in (builtin set --names -g)
builtin contains -- $__trv PWD SHLVL status history version pipestatus fish_pid hostname FISH_VERSION status_generation umask argv CMD_DURATION _ __trl __trf __trw __trn __trs; and continue
builtin printf 'v %s\0' $__trv
builtin set -qgx $__trv; and builtin echo set -gx $__trv (builtin string escape -- $$__trv); or builtin echo set -g $__trv (builtin string escape -- $$__trv)
builtin printf '\0'
end
for __trv in (builtin functions --all --names); builtin contains -- $__trv $__trf; or begin; builtin printf 'f %s\0' $__trv; builtin functions $__trv; builtin printf '\0'; end; end
builtin printf 'z\0\0'";
