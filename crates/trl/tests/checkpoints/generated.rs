//! Restoring reproduces a generated state exactly, in bash and zsh: compared by what the shell itself says of each
//! thing, not by the dump that checkpoints are made of.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use trl_testkit::{Daemon, Random, Rounds, Shell, available};

use crate::{daemon, keep, missing, restore};

/// States per shell in the short tier.
const STATES: usize = 24;

type Bytes = Vec<u8>;

#[derive(Debug, Clone)]
enum Thing {
    Scalar { flags: &'static str, value: Bytes },
    Number { flags: &'static str, value: i32 },
    Array { flags: &'static str, values: Vec<Bytes> },
    Sparse { values: Vec<(u16, Bytes)> },
    Table { flags: &'static str, values: Vec<(Bytes, Bytes)> },
    Declared { flags: &'static str },
}

#[derive(Debug, Clone)]
struct State {
    things: Vec<Thing>,
    functions: Vec<(usize, String)>,
    aliases: Vec<Bytes>,
    options: Vec<usize>,
    traps: Vec<(usize, String)>,
    arguments: Vec<Bytes>,
    umask: u16,
    dir: Bytes,
    unset: bool,
    unexport: bool,
}

/// Bodies of functions; `@` stands for a generated word.
const BODIES: &[&str] = &[
    "cat <<'END'\n@ $x `y`\n\tindented\nEND\n echo after",
    "local a=\"@ $1\"; for i in 1 2; do echo \"$i $a\"; done | cat",
    "case $1 in a*) echo '@';; *) echo \"$(echo @)\";; esac; return 3",
    "inner() { echo '@'; }; inner; if [ \"$1\" = x ]; then :; else echo no; fi",
    "while read -r l; do echo \"<$l>\"; done <<END\n@\nEND",
    "[[ $1 == *'@'* ]] && echo yes; echo \"${1:-@}\" >/dev/null 2>&1",
    "echo $((1+2)) 'it'\\''s @' \"\\$x\" && { echo a; echo b; } || ( echo c )",
];
const BASH_OPTIONS: &[&str] = &[
    "set -o noglob",
    "set -o noclobber",
    "set -o pipefail",
    "set -o nounset",
    "set -o errexit",
    "set -o physical",
    "set -o errtrace",
    "set -o functrace",
    "shopt -s extdebug",
    "set -o allexport",
    "set -o posix",
    "set +o braceexpand",
    "shopt -s nullglob",
    "shopt -s extglob",
    "shopt -s dotglob",
    "shopt -s expand_aliases",
    "shopt -s lastpipe",
    "shopt -u sourcepath",
    "shopt -s nocasematch",
    "shopt -s globstar",
    "shopt -s inherit_errexit",
];
const ZSH_OPTIONS: &[&str] = &[
    "setopt noglob",
    "setopt noclobber",
    "setopt pipefail",
    "setopt nounset",
    "setopt errexit",
    "setopt extendedglob",
    "setopt shwordsplit",
    "setopt ksharrays",
    "setopt rcquotes",
    "setopt nullglob",
    "setopt allexport",
    "setopt cshnullglob",
    "setopt nobareglobqual",
    "setopt globsubst",
    "setopt posixbuiltins",
    "setopt kshglob",
    "unsetopt aliases",
    "setopt braceccl",
    "emulate sh",
    "setopt interactivecomments",
];
const TRAPS: &[&str] = &["INT", "USR1", "USR2", "EXIT", "HUP"];

fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        prop::collection::vec(1u8..=255, 0..24),
        "[ -~]{0,20}".prop_map(String::into_bytes),
        Just(b"it's \"quoted\" $HOME `x` \\ \n\ttwo\r\n".to_vec()),
        Just("\u{e9}\u{1f600} \u{202e}".as_bytes().to_vec()),
        Just(vec![1, 0x7f, 0x80, 0xff, b'\'', b'\n']),
    ]
}

fn thing(shell: Shell) -> impl Strategy<Value = Thing> {
    let flags = match shell {
        Shell::Bash => &["", "-x", "-r", "-rx", "-l", "-u", "-t"][..],
        _ => &["", "-x", "-r", "-rx", "-l", "-u", "-t", "-L 9", "-R 7"][..],
    };
    let plain = &["", "-x", "-r"][..];
    // zsh marks a variable without a value as exported but does not export it
    let declared = if shell == Shell::Bash { plain } else { &["", "-r"][..] };
    let table = (prop::sample::select(&["", "-r"][..]), prop::collection::vec((value(), value()), 0..4));
    prop_oneof![
        4 => (prop::sample::select(flags), value()).prop_map(|(flags, value)| Thing::Scalar { flags, value }),
        1 => (prop::sample::select(plain), any::<i32>()).prop_map(|(flags, value)| Thing::Number { flags, value }),
        2 => (prop::sample::select(&["", "-r"][..]), prop::collection::vec(value(), 0..5))
            .prop_map(|(flags, values)| Thing::Array { flags, values }),
        1 => prop::collection::vec((any::<u16>(), value()), 1..4).prop_map(|values| Thing::Sparse { values }),
        2 => table.prop_map(|(flags, values)| Thing::Table { flags, values }),
        1 => prop::sample::select(declared).prop_map(|flags| Thing::Declared { flags }),
    ]
}

fn state(shell: Shell) -> impl Strategy<Value = State> {
    let options = if shell == Shell::Bash { BASH_OPTIONS.len() } else { ZSH_OPTIONS.len() };
    let word = "[a-z]{1,6}";
    (
        prop::collection::vec(thing(shell), 0..8),
        prop::collection::vec((0..BODIES.len(), word), 0..4),
        prop::collection::vec("[ -~]{0,12}".prop_map(String::into_bytes), 0..3),
        prop::sample::subsequence((0..options).collect::<Vec<_>>(), 0..5),
        prop::collection::vec((0..TRAPS.len(), word), 0..3),
        prop::collection::vec(value(), 0..4),
        0u16..0o200,
        prop_oneof![
            Just(b"plain".to_vec()),
            Just(b"it's a\n\"dir\" $x".to_vec()),
            Just("\u{e9}".as_bytes().to_vec())
        ],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(things, functions, aliases, options, traps, arguments, umask, dir, unset, unexport)| State {
                things,
                functions,
                aliases,
                options,
                traps,
                arguments,
                umask,
                dir,
                unset,
                unexport,
            },
        )
}

/// A word both shells read as these bytes.
fn word(bytes: &[u8]) -> String {
    let all: String = bytes.iter().map(|b| format!("\\x{b:02x}")).collect();
    format!("$'{all}'")
}

fn setup(shell: Shell, state: &State, base: &str) -> String {
    let mut text = format!("umask {:03o}\n", state.umask);
    let dir = [base.as_bytes(), b"/", &state.dir].concat();
    text += &format!("mkdir -p -m 700 {0}; cd / ; cd {0}\n", word(&dir));
    if state.unset {
        text += "unset HOME\n";
    }
    if state.unexport {
        text += "typeset +x LANG\n";
    }
    let zsh = shell == Shell::Zsh;
    for (n, thing) in state.things.iter().enumerate() {
        text += &match thing {
            Thing::Scalar { flags, value } => format!("typeset {flags} v{n}={}\n", word(value)),
            Thing::Number { flags, value } => format!("typeset -i {flags} v{n}={value}\n"),
            Thing::Array { flags, values } => {
                let words: Vec<String> = values.iter().map(|v| word(v)).collect();
                format!("typeset -a {flags} v{n}=({})\n", words.join(" "))
            }
            Thing::Sparse { values } if zsh => format!("typeset -a v{n}; v{n}[3]={}\n", word(&values[0].1)),
            Thing::Sparse { values } => {
                let words: Vec<String> = values.iter().map(|(k, v)| format!("[{k}]={}", word(v))).collect();
                format!("declare -a v{n}=({})\n", words.join(" "))
            }
            Thing::Table { flags, values } => {
                // no empty keys: bash has none
                let words: Vec<String> = values
                    .iter()
                    .map(|(k, v)| (word(&[b"k", k.as_slice()].concat()), word(v)))
                    .map(|(k, v)| if zsh { format!("{k} {v}") } else { format!("[{k}]={v}") })
                    .collect();
                format!("typeset -A {flags} v{n}=({})\n", words.join(" "))
            }
            Thing::Declared { flags } => format!("typeset {flags} v{n}\n"),
        };
    }
    for (n, (body, word)) in state.functions.iter().enumerate() {
        text += &format!("f{n}() {{ {}\n}}\n", BODIES[*body].replace('@', word));
    }
    for (n, value) in state.aliases.iter().enumerate() {
        text += &format!("alias a{n}={}\n", word(value));
    }
    for (signal, word) in &state.traps {
        text += &format!("trap 'echo \"{word}\" >/dev/null' {}\n", TRAPS[*signal]);
    }
    let arguments: Vec<String> = state.arguments.iter().map(|v| word(v)).collect();
    text += &format!("set -- {}\n", arguments.join(" "));
    let options = if shell == Shell::Bash { BASH_OPTIONS } else { ZSH_OPTIONS };
    // emulations first: they reset the others
    let mut chosen: Vec<&str> = state.options.iter().map(|n| options[*n]).collect();
    chosen.sort_by_key(|o| !o.starts_with("emulate"));
    // all in one brace: read before any of it counts
    text += &format!("{{ :\n{}\n}}\n", chosen.join("\n"));
    text
}

/// What the shell says of each thing, one command each, whatever the options.
fn look(shell: Shell, state: &State) -> String {
    let mut text = String::from(
        "\\builtin printf '%s\\0' \"$@\"; \\builtin printf '\\0cwd %s\\0' \"$PWD\"; \\builtin pwd -P; \\builtin umask\n",
    );
    for (n, thing) in state.things.iter().enumerate() {
        text += &match (shell, thing) {
            (Shell::Bash, Thing::Array { .. } | Thing::Sparse { .. } | Thing::Table { .. }) => format!(
                "\\builtin printf '%s\\0' v{n} \"${{v{n}[@]@a}}\"; for zz in \"${{!v{n}[@]}}\"; do \\builtin printf '%s=%s\\0' \"$zz\" \"${{v{n}[$zz]}}\"; done\n"
            ),
            (Shell::Bash, _) => format!(
                "\\builtin printf '%s\\0' v{n} \"${{v{n}+set}}\" \"${{v{n}-}}\" \"${{v{n}+${{v{n}@a}}}}\"\n"
            ),
            // In the order of bytes: to other locales, keys that are no text may all be alike.
            (_, Thing::Table { .. }) => format!(
                "(LC_ALL=C; \\builtin printf '%s\\0' v{n} \"${{(t)v{n}}}\" \"${{(@okv)v{n}[@]}}\" \"${{(@ok)v{n}[@]}}\")\n"
            ),
            (_, Thing::Array { .. } | Thing::Sparse { .. }) => {
                format!(
                    "\\builtin printf '%s\\0' v{n} \"${{(t)v{n}}}\" \"${{#v{n}[@]}}\" \"${{(@)v{n}[@]}}\"\n"
                )
            }
            _ => format!("\\builtin printf '%s\\0' v{n} \"${{(t)v{n}}}\" \"${{v{n}+set}}\" \"${{v{n}-}}\"\n"),
        };
    }
    for n in 0..state.functions.len() {
        text += &match shell {
            Shell::Bash => format!("\\builtin type f{n}\n"),
            _ => format!("\\builtin whence -f f{n}\n"),
        };
    }
    text += match shell {
        Shell::Bash => {
            "\\builtin printf '%s\\0' \"$-\" \"$SHELLOPTS\"; \\builtin shopt; \\builtin trap; \\builtin alias\n"
        }
        _ => "\\builtin setopt; \\builtin emulate; \\builtin trap; \\builtin alias\n",
    };
    // `_` is the last word of the last command
    text + "/usr/bin/env -0 | /usr/bin/sort -z | /usr/bin/grep -zv '^_='\n"
}

fn check(daemon: &Daemon, shell: Shell, state: &State) -> Result<(), TestCaseError> {
    let base = daemon.dir().dir("generated");
    let mut session = daemon.session(shell);
    let text = setup(shell, state, base.to_str().unwrap());
    let set = session.run(&text);
    prop_assert_eq!(&set.shell_state, "kept", "the state cannot be made: {}\n{}", set.err(), text);
    let look = look(shell, state);
    let before = session.run(&look);
    let checkpoint = keep(&mut session);
    session.run("cd /; umask 0; x=1; f0() { :; }; alias a0=x; set -- gone");
    session.run("exit 7");
    let restored = restore(&mut session, &checkpoint);
    let after = session.run(&look);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', "\n");
    prop_assert_eq!(shown(&before.stdout), shown(&after.stdout), "\n{}\n{}", text, restored);
    prop_assert_eq!(&before.stdout, &after.stdout);
    prop_assert_eq!((before.code, before.err()), (after.code, after.err()));
    prop_assert_eq!(missing(&restored), Vec::<String>::new(), "{}", text);
    let info = session.info();
    prop_assert_eq!(info["state"].as_str(), Some("idle"));
    session.client().ok("session.destroy", trl_testkit::json!({"session_id": info["session_id"]}));
    Ok(())
}

fn holds_for(shell: Shell) {
    if !available(shell.name(), shell.program().is_some()) {
        return;
    }
    let daemon = daemon();
    let mut random = Random::from_environment();
    for _ in Rounds::new(STATES) {
        let config = Config {
            cases: 1,
            rng_seed: RngSeed::Fixed(random.next_u64()),
            failure_persistence: None,
            max_shrink_iters: 200,
            ..Config::default()
        };
        let outcome = TestRunner::new(config).run(&state(shell), |state| check(&daemon, shell, &state));
        if let Err(fault) = outcome {
            panic!("{shell}: {fault}");
        }
    }
}

mod soak {
    use super::*;

    #[test]
    fn any_state_of_bash_comes_back_exactly() {
        holds_for(Shell::Bash);
    }

    #[test]
    fn any_state_of_zsh_comes_back_exactly() {
        holds_for(Shell::Zsh);
    }
}
