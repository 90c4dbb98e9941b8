//! The loop in fish's own language. Same verbs and reports as the others; its state survives as a text snapshot.
//!
//! The word list of the outer `for` lives inside the interpreter: the nonce is in no variable until the command is over,
//! and `$status` survives from one pass to the next. The inner one-pass `for` swallows an `eval break`.
//!
//! What fish itself has to say (an unknown command, a syntax error) goes to the stderr it was started with, whatever a
//! `source` is redirected to. Nothing else does, so the session task takes it for the command's stderr.

use super::files::Paths;
use super::kind::Kind;
use super::script::run_line;

pub(super) fn text(paths: &Paths, slot: usize) -> String {
    let (reports, control) = (paths.reports(), paths.control(slot));
    let run = |stdin: &str| run_line(Kind::Fish, paths, stdin);
    let (null, file, fifo) = (run("/dev/null"), run(&paths.stdin_file()), run(&paths.stdin_fifo()));
    let wrapper = format!("builtin source {}", paths.wrapper());
    let dump_to = paths.dump();
    format!(
        "{EXIT}
builtin printf 'P %s\\0' $__trl >{reports}
set -g __trf (builtin functions --all --names)
while builtin read -g __trl <{control}
switch $__trl
case 'p *'
builtin printf 'P %s\\0' $__trl >{reports}
case 'h *'
case 'd *'
begin; {DUMP}; end >{dump_to} 2>/dev/null
builtin printf 'D %s\\0' $__trl >{reports}
case 'n *' 'o *' 'b *' 'c *' 'i *' 'j *' 'w *' 'x *'
for __trw in (builtin string split -- ' ' $__trl)
builtin set -g __trl
switch $__trw
case n o b c i j w x
for __trn in $__trw
switch $__trn
case n o
{null}
case b c
{file}
case i j
{fifo}
case w x
{wrapper}
end
end
case '*'
builtin set -g __trs $status
builtin set -q __tre; and builtin exit $__trs
builtin printf 'R %s %d %s\\0' $__trw $__trs \"$PWD\" >{reports}; or builtin exit $__trs
end
end
case '*'
builtin exit 0
end
end
"
    )
}

/// `exit` in a file that is sourced ends only that file. This one leaves a mark, and the loop ends the shell.
const EXIT: &str = "function exit; builtin set -g __tre; builtin exit $argv; end";

/// Variables, then only the functions that were not there at the start: printing all autoloaded ones takes 37 ms.
const DUMP: &str = "for n in (builtin set --names -gx); builtin contains -- $n PWD SHLVL; or builtin echo set -gx $n (builtin string escape -- $$n); end; \
for n in (builtin set --names -g); builtin set -qgx $n; or builtin contains -- $n __trl __trf __trw __trn __trs status history version pipestatus fish_pid hostname FISH_VERSION; or builtin echo set -g $n (builtin string escape -- $$n); end; \
for n in (builtin functions --all --names); builtin contains -- $n $__trf; or builtin functions $n; end; \
builtin echo umask (umask)";
