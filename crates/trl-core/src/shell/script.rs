//! The loop a shell runs, as text. One file per slot, parsed once, all paths literal: later aliases, options or
//! variables of the user cannot change it.
//!
//! What the loop reads from its control FIFO (`verb nonce`):
//!
//! | verb | meaning |
//! |---|---|
//! | `p` | be the session's shell: default signal handling, report `P` |
//! | `n` `b` `i` | run the command file with stdin from /dev/null, a file, a FIFO; report `R` |
//! | `w` | run the wrapper file, which sources the command file with its own environment and directory |
//! | `o` `c` `j` `x` | the same, each the letter after it, but first set `$?` to the last command's code |
//! | `0` `1` `2` | fork a clone into that slot; the clone reports `S` |
//! | `d` | print the state as text into the dump FIFO, report `D` |
//! | `q` | print the traps where the next command prints, report nothing (bash, which hides some from what it sources) |
//! | `h` | report nothing; a shell that is cloned goes through the motions of a command that does nothing |
//!
//! Why it looks as it does:
//! - `until ! read`, not `while read`: under `set -n` conditions yield 0, so `until` ends and `while` would spin.
//! - The outer `for` walks two words, the verb and the nonce. The list lives inside the interpreter, so the
//!   running command can neither see nor change the nonce; `$?` survives from one pass to the next.
//! - The inner one-pass `for` swallows a stray `break` or `continue`. `break 2` leaves the outer one before its
//!   second pass: no report is possible, so the shell ends and its clone takes over.
//! - Redirections stand on the `.` itself: they are undone at its end, so `exec >f` lasts one command, and the trace
//!   of our own line goes to the old stderr.
//! - A clone waits for `p` before it reads its loop: nearly all clones are replaced by the next, and parsing the loop
//!   would be most of what they cost.
//! - No `continue` or `break` of our own, and every builtin through `command` or `builtin`: users may shadow them. The
//!   backslash is for aliases, which count when a clone reads its loop; so is the brace around it all: it is read to
//!   its end before anything in it runs.

use super::files::Paths;
use super::kind::{Kind, Survival};
use crate::random::Nonce;

/// A waiting clone must outlive a `kill 0` of the user's.
const SIGNALS: &str = "TERM INT HUP QUIT USR1 USR2 ALRM";

/// How one shell says the things all loops need.
struct Words {
    /// Reaches the real builtin past a user's function of the same name.
    builtin: &'static str,
    read: &'static str,
    /// Drops functions that would cut the loop off from every builtin.
    heal: &'static str,
    /// Prints its own pid, where it knows it.
    pid: Option<&'static str>,
}

fn words(kind: Kind) -> Words {
    let (builtin, read, heal, pid) = match kind {
        Kind::Dash | Kind::Ash => ("\\command", "IFS= \\command read -r __trl", "\\unset -f command", None),
        // -t: TMOUT would end the wait. -N: by lines it would read byte by byte, with four system calls each.
        Kind::Bash | Kind::BashAsSh => (
            if kind == Kind::Bash { "\\builtin" } else { "\\command" },
            "\\builtin read -t 999999999 -N 9 -r __trl",
            "\\unset -f builtin command",
            Some("$BASHPID"),
        ),
        // -k: the same
        Kind::Zsh => (
            "\\builtin",
            "\\builtin read -r -u 0 -k 9 __trl",
            "\\unfunction builtin command 2>/dev/null || \\builtin :",
            Some("$sysparams[pid]"),
        ),
        // the second one for a readonly IFS; in dash and ash the first ends all that is around it
        Kind::Ksh93 => (
            "\\command",
            "{ IFS= \\command read -t 999999999 -r __trl || \\command read -t 999999999 -r __trl; }",
            "\\unset -f command",
            None,
        ),
        Kind::Fish => ("builtin", "builtin read -g __trl", "", None),
    };
    Words { builtin, read, heal, pid }
}

/// How the shell sources a file: `return` works, line numbers start at 1, the size of the text is no limit.
pub(super) fn source(kind: Kind, path: &str) -> String {
    match kind {
        Kind::Bash | Kind::Zsh => format!("\\builtin . {path}"),
        // `command .` also keeps an error in a special builtin from ending the shell
        Kind::Dash | Kind::Ash | Kind::BashAsSh => format!("\\command . {path}"),
        // leaving a dot script cuts ksh93's 256+signal codes to 8 bits, eval keeps them
        Kind::Ksh93 => format!("\\eval \"$(<{path})\""),
        Kind::Fish => format!("builtin source {path}"),
    }
}

/// The prefix that reaches real builtins in this shell.
pub(crate) fn builtin(kind: Kind) -> &'static str {
    words(kind).builtin
}

/// What the daemon writes to tell a shell in one go.
pub fn order(kind: Kind, verb: char, nonce: Nonce) -> String {
    match kind {
        Kind::Bash | Kind::BashAsSh | Kind::Zsh => format!("{verb} {nonce}"),
        _ => format!("{verb} {nonce}\n"),
    }
}

/// The file that sets `$?`.
pub fn carry(kind: Kind, code: i32) -> String {
    match kind {
        Kind::Bash | Kind::Zsh => format!("\\builtin return {code}\n"),
        _ => format!("\\return {code}\n"),
    }
}

/// The verb that does what `verb` does, with `$?` set before.
pub fn carrying(verb: char) -> char {
    char::from_u32(u32::from(verb) + 1).unwrap_or(verb)
}

/// The command line that starts the shell as the session's.
pub fn boot(kind: Kind, paths: &Paths, nonce: Nonce) -> String {
    let script = paths.script(0);
    match kind {
        Kind::Fish => format!("set -g __trl 'p {nonce}'; builtin source {script}"),
        Kind::Zsh => format!("zmodload zsh/system; __trl='p {nonce}'; exec 2>/dev/null; . {script}"),
        _ => format!("__trl='p {nonce}'; exec 2>/dev/null; . {script}"),
    }
}

/// The loop for `slot`.
pub fn text(kind: Kind, paths: &Paths, slot: usize) -> String {
    if kind == Kind::Fish {
        return super::fish::text(paths, slot);
    }
    let Words { builtin, read, heal, .. } = words(kind);
    let (reports, control) = (paths.reports(), paths.control(slot));
    let promoted = format!("{builtin} printf 'P %s\\0' \"$__trl\" >{reports}");
    let mut out = format!(
        "{{\n{aliases}case $__trl in p*) {builtin} trap - {SIGNALS}; {promoted};; esac\n\
         until ! {read} <{control}; do\ncase $__trl in\n\
         p*) {builtin} trap - {SIGNALS}; {promoted};;\n\
         [nobcijwx]*)\n\
         for __trl in \"${{__trl%% *}}\" \"${{__trl#* }}\"; do\ncase $__trl in\n\
         [0-9]*) __trl=\"$__trl $?\"\n{heal}\n\
         case $- in *n*) {builtin} exit \"${{__trl##* }}\";; esac\n\
         {builtin} printf 'R %s %s\\0' \"$__trl\" \"${{PWD-}}\" >{reports} || {builtin} exit \"${{__trl##* }}\";;\n\
         *) for __trl in \"$__trl\"; do\n{runs}done;;\nesac\ndone\n\
         case $__trl in [0-9]*) ;; *) {builtin} exit 0;; esac;;\n",
        aliases = aliases_on(kind),
        runs = runs(kind, paths),
    );
    if kind.survival() == Survival::Clone {
        (0..3).filter(|to| *to != slot).for_each(|to| out += &clone_into(kind, paths, to));
        // Right after a fork every page the shell writes to is copied first; better now than in the next command.
        out += &format!(
            "h*) for __trl in h; do {} </dev/null >/dev/null 2>/dev/null; done; {builtin} printf 'R %s %s\\0' \"$__trl\" \"${{PWD-}}\" >/dev/null;;\n",
            source(kind, &paths.nothing())
        );
    } else {
        out += "h*) ;;\n";
    }
    if prints_traps(kind) {
        out += &format!(
            "q*) {{ {builtin} trap -p; {builtin} printf '\\0'; }} >{} 2>/dev/null || {builtin} :;;\n",
            paths.stdout()
        );
    }
    // `||`: nothing in it ends the shell under errexit
    out += &format!(
        "d*) {{ {dump}; }} >{place} 2>/dev/null || {builtin} :; {builtin} printf 'D %s\\0' \"$__trl\" >{reports};;\n",
        dump = super::dump::text(kind),
        place = paths.dump(),
    );
    out + &format!("*) {builtin} exit 0;;\nesac\ndone\n}}\n")
}

/// Whether the loop has to print the traps for a probe: bash takes DEBUG and RETURN traps away from what it sources, and they
/// run all the same, before and after.
pub fn prints_traps(kind: Kind) -> bool {
    matches!(kind, Kind::Bash | Kind::BashAsSh)
}

/// bash and zsh look for aliases before they look for their own words, so a clone reads its loop without them.
fn aliases_off(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => {
            "case $BASHOPTS in *expand_aliases*) __tra=on; \\builtin shopt -u expand_aliases;; esac; "
        }
        // what stands in a process substitution is parsed each time it is used: no words of the grammar here
        Kind::Zsh => "\\builtin test -o aliases && __tra=on; \\builtin unsetopt aliases; ",
        _ => "",
    }
}

/// Once the loop has been read.
fn aliases_on(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => {
            "case ${__tra-} in on) \\builtin shopt -s expand_aliases; \\builtin unset -v __tra;; esac\n"
        }
        Kind::Zsh => "case ${__tra-} in on) \\builtin setopt aliases; \\builtin unset __tra;; esac\n",
        _ => "",
    }
}

/// Carrying `$?` over, then the run itself by kind of stdin. Under `set -e` the last code cannot be non-zero.
fn runs(kind: Kind, paths: &Paths) -> String {
    let builtin = builtin(kind);
    let carry = match kind {
        // eval "$(<file)" holding `return N` would leave the loop's own file
        Kind::Ksh93 => format!("\\command . {}", paths.carry()),
        _ => source(kind, &paths.carry()),
    };
    let run = |stdin: &str| run_line(kind, paths, stdin);
    let wrapper = match kind {
        Kind::Ksh93 => format!("\\command . {}", paths.wrapper()),
        _ => source(kind, &paths.wrapper()),
    };
    format!(
        "case $__trl$- in [ocjx]*e*) {builtin} :;; [ocjx]*) {carry};; *) {builtin} :;; esac\n\
         case $__trl in\n[no]) {};;\n[bc]) {};;\n[ij]) {};;\n[wx]) {wrapper};;\nesac\n",
        run("/dev/null"),
        run(&paths.stdin_file()),
        run(&paths.stdin_fifo()),
    )
}

/// Sources the command file with its stdio.
pub(super) fn run_line(kind: Kind, paths: &Paths, stdin: &str) -> String {
    let command = source(kind, &paths.command());
    format!("{command} <{stdin} >{} 2>{}", paths.stdout(), paths.stderr())
}

/// Forks an idle clone. Never a plain `&` in the shell itself: that would clobber `$!`, show in `jobs`, and make a
/// bare `wait` hang. The clone closes the user's descriptors, or it would hold their locks and pipe ends.
fn clone_into(kind: Kind, paths: &Paths, to: usize) -> String {
    const CLOSE: &str = "3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
    let Words { builtin, read, pid, .. } = words(kind);
    let say = match pid {
        Some(pid) => format!("{builtin} printf 'S %s %d\\0' \"$__trl\" \"{pid}\""),
        None => format!("{builtin} printf 'S %s\\0' \"$__trl\""),
    };
    // It reports before anything that takes time: the shell may go on from here. But not with the user's descriptors, or
    // the next command would find a lock taken that it has just given up.
    let hello = format!("{builtin} trap '' {SIGNALS}; {}{say} >{}", close_high(kind), paths.reports());
    let enter =
        format!("{read} <{}; {}{}", paths.control(to), aliases_off(kind), source(kind, &paths.script(to)));
    match kind {
        // A background subshell would ignore INT and QUIT for good, so it is a foreground pair whose middle
        // process the daemon kills. Its death must not count under `set -e`, and `|| :` would switch errexit off
        // inside the clone for ever.
        Kind::Dash | Kind::Ash => format!(
            "{to}*) case $- in *e*) \\set +e; ( \\set -e; ( {hello}; {enter} ); {builtin} : ) {CLOSE}; \\set -e;; *) ( ( {hello}; {enter} ); {builtin} : ) {CLOSE};; esac;;\n"
        ),
        Kind::Bash | Kind::BashAsSh => format!("{to}*) ( ( {hello}; {enter} ) {CLOSE} & );;\n"),
        // `&` would renice it; a process substitution is one fork, no job, no `$!`. Its pipe is read until it has let go of
        // it: a DEBUG trap prints before its first command, and a pipe without a reader would be its end.
        Kind::Zsh => format!(
            "{to}*) () {{ until ! \\builtin read -r -u 0 -k 1 __trf; do \\builtin :; done <$1 }} <( \\builtin exec >/dev/null {CLOSE}; {hello}; {enter} ); \\builtin unset __trf;;\n"
        ),
        Kind::Ksh93 | Kind::Fish => String::new(),
    }
}

/// Descriptors from 10 on, of `{fd}>` and coproc in bash. Only `exec` can close them, and not behind `builtin`.
fn close_high(kind: Kind) -> &'static str {
    match kind {
        Kind::Bash | Kind::BashAsSh => {
            "case $- in *f*) __trf=f; \\builtin set +f;; *) __trf=;; esac; \\builtin declare -F exec >&2 || for __trd in /dev/fd/*; do __trd=${__trd##*/}; case $__trd in [1-9][0-9]*) \\exec {__trd}>&-;; esac; done; case $__trf in f) \\builtin set -f;; esac; \\builtin unset __trf __trd; "
        }
        _ => "",
    }
}

/// Restores a snapshot that stands in the dump file.
pub fn restore(kind: Kind, paths: &Paths) -> String {
    let place = paths.snapshot();
    match kind {
        Kind::Fish => format!("builtin source {place} >/dev/null 2>/dev/null\ntrue\n"),
        // functions that ksh93 sourced from a file are printed from that file, which will be gone
        Kind::Ksh93 => format!("\\eval \"$(<{place})\" >/dev/null 2>/dev/null\n\\command :\n"),
        _ => format!("{0} . {place} >/dev/null 2>/dev/null\n{0} :\n", builtin(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_and_zsh_read_exactly_one_order() {
        for (kind, option) in [(Kind::Bash, "-N"), (Kind::BashAsSh, "-N"), (Kind::Zsh, "-k")] {
            let order = order(kind, 'n', Nonce::random());
            assert!(words(kind).read.contains(&format!(" {option} {} ", order.len())), "{order:?}");
        }
    }
}
