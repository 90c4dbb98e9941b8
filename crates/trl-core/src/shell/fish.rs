//! The loop in fish's own language. Same verbs and reports as the others; its state survives as a text snapshot.

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
        "builtin printf 'P %s %s\\0' $__trl >{reports}
set -g __trf (builtin functions --all --names)
while builtin read -g __trl <{control}
set -g __trl (builtin string split -- ' ' $__trl)
switch $__trl[1]
case n o b c i j w x
for __trn in $__trl[2]
switch $__trl[1]
case n o
{null}
case b c
{file}
case i j
{fifo}
case w x
{wrapper}
end
builtin printf 'R %s %d %s\\0' $__trn $status \"$PWD\" >{reports}; or builtin exit 0
end
case d
begin; {DUMP}; end >{dump_to} 2>/dev/null
builtin printf 'D %s %s\\0' $__trl >{reports}
case '*'
builtin exit 0
end
end
"
    )
}

/// Variables, then only the functions that were not there at the start: printing all autoloaded ones takes 37 ms.
const DUMP: &str = "for n in (builtin set --names -gx); builtin contains -- $n PWD SHLVL; or builtin echo set -gx $n (builtin string escape -- $$n); end; \
for n in (builtin set --names -g); builtin set -qgx $n; or builtin contains -- $n __trl __trf __trn status history version pipestatus fish_pid hostname FISH_VERSION; or builtin echo set -g $n (builtin string escape -- $$n); end; \
for n in (builtin functions --all --names); builtin contains -- $n $__trf; or builtin functions $n; end; \
builtin echo umask (umask)";
