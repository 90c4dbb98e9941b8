//! What persists from one command to the next: rows 10 to 15.

use trl_testkit::Shell;

use crate::case::{Case, Outcome, Row, Shells, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(10, "cwd_env_vars_umask_persist", Shells::All, cwd_env_vars_umask_persist),
    row(11, "functions_and_aliases_persist", Shells::All, functions_and_aliases_persist),
    row(12, "last_code_is_carried", Shells::Posix, last_code_is_carried),
    row(13, "parameters_and_options_persist", Shells::Posix, parameters_and_options_persist),
    row(14, "top_level_return_break_continue", Shells::Posix, top_level_return_break_continue),
    row(15, "declare_is_global", Shells::Only(&[Shell::Bash, Shell::Zsh]), declare_is_global),
];

fn cwd_env_vars_umask_persist(c: &mut Case) -> Outcome {
    let set = c.pick("cd /usr; export A=1; b=2; umask 077", "cd /usr; set -gx A 1; set -g b 2; umask 077");
    c.want(set, "", 0)?;
    let run = c.x("pwd; echo $A$b; sh -c 'echo $A'; umask");
    let shown = run.out();
    req(shown == "/usr\n12\n1\n0077\n" || shown == "/usr\n12\n1\n077\n", || format!("{shown:?}"))?;
    req(run.json["working_dir"] == "/usr", || format!("working_dir {}", run.json["working_dir"]))
}

fn functions_and_aliases_persist(c: &mut Case) -> Outcome {
    let posix = "f() { echo F$1; }; alias al='echo AL'";
    let fish = "function f; echo F$argv[1]; end; alias al='echo AL'";
    c.want(c.pick(posix, fish), "", 0)?;
    c.want("f 3", "F3\n", 0)?;
    if c.shell == Shell::Bash {
        c.want("shopt -s expand_aliases", "", 0)?;
    }
    c.want("al", "AL\n", 0)
}

fn last_code_is_carried(c: &mut Case) -> Outcome {
    c.want("(exit 7)", "", 7)?;
    c.want("echo $?", "7\n", 0)?;
    c.want("echo $?", "0\n", 0)
}

fn parameters_and_options_persist(c: &mut Case) -> Outcome {
    let noglob = if c.shell == Shell::Zsh { "set -o noglob" } else { "set -f" };
    c.want(&format!("set -- a 'b c'; {noglob}"), "", 0)?;
    c.want("echo $# \"$2\" /*", "2 b c /*\n", 0)
}

fn top_level_return_break_continue(c: &mut Case) -> Outcome {
    c.keep()?;
    let run = c.x("return 5");
    req(run.code == 5, || format!("return 5 gave {}", run.code))?;
    c.ends("break")?;
    c.ends("continue")?;
    c.kept()
}

fn declare_is_global(c: &mut Case) -> Outcome {
    c.want("declare -A m; m[a]=1; declare -i n=4; arr=(1 2 3)", "", 0)?;
    c.want("g() { echo ${m[a]} $n ${#arr[@]}; }; g", "1 4 3\n", 0)
}
