//! A row per shell: what comes back, and what the restore says does not.

use trl_testkit::{Shell, available, json};

use crate::{daemon, keep, missing, restore};

/// Commands that make a state, one that shows it, and what it shows.
struct Row {
    shell: Shell,
    make: &'static str,
    show: &'static str,
    shows: &'static str,
    missing: &'static [&'static str],
}

const POSIX_MAKE: &str = "cd /usr; umask 027; x=\"it's\ntwo\"; export E=1; readonly R=3; unset LANG; alias ll='ls -l'; trap 'echo int' INT; set -f; set -- a 'b c'; f() { echo f; }";
const POSIX_SHOW: &str = "pwd; umask; echo \"$x\"; sh -c 'echo $E ${LANG-none}'; echo $R; alias ll; trap; echo $-; echo $# $2; readonly -p | grep -c '^readonly R='; cd - >/dev/null; pwd";

const ROWS: &[Row] = &[
    Row {
        shell: Shell::Dash,
        make: POSIX_MAKE,
        show: POSIX_SHOW,
        shows: "/usr\n0027\nit's\ntwo\n1 none\n3\nll='ls -l'\ntrap -- 'echo int' INT\nf\n2 b c\n1\n/\n",
        missing: &["functions "],
    },
    Row {
        shell: Shell::Ash,
        make: POSIX_MAKE,
        show: POSIX_SHOW,
        shows: "/usr\n0027\nit's\ntwo\n1 none\n3\nll='ls -l'\ntrap -- 'echo int' INT\ncf\n2 b c\n1\n/\n",
        missing: &["functions "],
    },
    Row {
        shell: Shell::Ksh93,
        make: "cd /usr; umask 027; x=$'it\\'s\\n\\001two'; export E=1; typeset -r R=3; unset LANG; typeset -i n=5; typeset -A t=([k]=v [l]='a b'); a=(x 'y z'); c=(p=1 q=(r s)); alias ll='ls -l'; trap 'echo int' INT; set -f; function g { echo g$1; }; f() { echo f; }",
        show: "pwd; umask; print -r -- \"$x\" | od -An -c | tr -s ' \\n' ' '; sh -c 'echo $E ${LANG-none}'; echo $R; n=n+1; echo $n; n=5; echo \"${t[l]}\" ${#a[@]} \"${a[1]}\" ${c.p}; alias ll; trap; echo $-; f; g 1",
        shows: "/usr\n0027\n i t ' s \\n 001 t w o \\n 1 none\n3\n6\na b 2 y z 1\nll='ls -l'\ntrap -- 'echo int' INT\ncfhB\nf\ng1\n",
        missing: &[],
    },
    Row {
        shell: Shell::Fish,
        make: "cd /usr; umask 027; set -g x \"it's\" 'two\n\\three'; set -gx E 1; set -e LANG; function f --description d; echo f $argv; end",
        show: "pwd; umask; printf '%s|' $x; sh -c 'echo $E ${LANG-none}'; f 1",
        shows: "/usr\n0027\nit's|two\n\\three|1 none\nf 1\n",
        missing: &[],
    },
];

#[test]
fn every_shell_has_its_state_back_and_says_what_is_missing() {
    let daemon = daemon();
    for row in ROWS.iter().filter(|row| available(row.shell.name(), row.shell.program().is_some())) {
        let shell = row.shell;
        let mut session = daemon.session(shell);
        session.run(row.make);
        let before = session.run(row.show);
        assert_eq!(before.out(), row.shows, "{shell}: {}", before.err());
        session.run(row.make);
        let checkpoint = keep(&mut session);
        session.run("cd /");
        session.run("exit 3");
        let restored = restore(&mut session, &checkpoint);
        assert_eq!(session.run(row.show).out(), row.shows, "{shell} after {restored:#}");
        assert_eq!(missing(&restored), row.missing, "{shell}");
    }
}

#[test]
fn what_no_shell_can_be_given_again_is_listed() {
    let daemon = daemon();
    let dir = daemon.dir().dir("gone");
    let mut session = daemon.session_with(Shell::Bash, json!({"working_dir": dir.to_str().unwrap()}));
    session.run("sleep 1000 & exec 7</dev/null; ulimit -Sf 4096");
    let checkpoint = keep(&mut session);
    session.run("cd /; rmdir \"$OLDPWD\"");
    let missing = missing(&restore(&mut session, &checkpoint));
    let has = |what: &str| missing.iter().any(|m| m.starts_with(what));
    assert!(
        has("job ") && has("descriptor 7") && has("limit Max file size") && has("directory"),
        "{missing:?}"
    );
    assert_eq!(session.run("jobs; echo $PWD").out(), "/\n");
}

#[test]
fn a_state_fits_only_the_shell_it_came_from() {
    let daemon = daemon();
    let mut bash = daemon.session(Shell::Bash);
    let checkpoint = keep(&mut bash);
    let mut dash = daemon.session(Shell::Dash);
    let params = json!({"session_id": dash.id, "checkpoint_id": checkpoint});
    dash.client().refused("CHECKPOINT_NOT_FOUND", "checkpoint.restore", params);
}
