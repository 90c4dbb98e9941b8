//! The loop in fish's own language. Same verbs and reports as the others; its state survives as a text snapshot.
//!
//! The word list of the outer `for` lives inside the interpreter: the nonce is in no variable until the command is over,
//! and `$status` survives from one pass to the next. The inner one-pass `for` swallows an `eval break`.

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
        "builtin printf 'P %s\\0' $__trl >{reports}
set -g __trf (builtin functions --all --names)
while builtin read -g __trl <{control}
switch $__trl
case 'p *'
builtin printf 'P %s\\0' $__trl >{reports}
case 'h *'
case 'd *'
begin; {DUMP}; end >{dump_to} 2>/dev/null
builtin printf 'D %s\\0' $__trl >{reports}
case 'n *' 'b *' 'i *' 'w *' 'rn *' 'rb *' 'ri *' 'rw *'
for __trw in (builtin string split -- ' ' $__trl)
builtin set -g __trl
switch $__trw
case n b i w rn rb ri rw
for __trn in $__trw
switch $__trn
case n rn
{null}
case b rb
{file}
case i ri
{fifo}
case w rw
{wrapper}
end
end
case '*'
builtin printf 'R %s %d %s\\0' $__trw $status \"$PWD\" >{reports}; or builtin exit 0
end
end
case '*'
builtin exit 0
end
end
"
    )
}

/// Variables, then only the functions that were not there at the start: printing all autoloaded ones takes 37 ms.
const DUMP: &str = "for n in (builtin set --names -gx); builtin contains -- $n PWD SHLVL; or builtin echo set -gx $n (builtin string escape -- $$n); end; \
for n in (builtin set --names -g); builtin set -qgx $n; or builtin contains -- $n __trl __trf __trw __trn status history version pipestatus fish_pid hostname FISH_VERSION; or builtin echo set -g $n (builtin string escape -- $$n); end; \
for n in (builtin functions --all --names); builtin contains -- $n $__trf; or builtin functions $n; end; \
builtin echo umask (umask)";
