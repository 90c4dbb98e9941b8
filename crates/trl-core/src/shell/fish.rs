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
    let (dump_to, dump) = (paths.dump(), super::dump::text(Kind::Fish));
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
begin; {dump}; end >{dump_to} 2>/dev/null
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
