//! Streams, exit codes and command text: rows 01 to 09, 159 and 160.

use trl_testkit::{Random, Shell};

use crate::case::{Case, Outcome, Row, Shells, is, req, row};

pub(crate) const ROWS: &[Row] = &[
    row(1, "separate_streams", Shells::All, separate_streams),
    row(2, "exit_codes", Shells::All, exit_codes),
    row(3, "child_killed_by_signal", Shells::All, child_killed_by_signal),
    row(4, "binary_bytes", Shells::All, binary_bytes),
    row(5, "lines_heredoc_comments", Shells::All, lines_heredoc_comments),
    row(6, "empty_and_trailing_backslash", Shells::All, empty_and_trailing_backslash),
    row(7, "unbalanced_text", Shells::All, unbalanced_text),
    row(8, "one_mebibyte_line", Shells::All, one_mebibyte_line),
    row(9, "twenty_thousand_lines", Shells::All, twenty_thousand_lines),
    row(159, "the_shells_own_messages", Shells::All, the_shells_own_messages),
    row(160, "exit_rolls_back", Shells::All, exit_rolls_back),
];

fn separate_streams(c: &mut Case) -> Outcome {
    let run = c.x("echo o; echo e >&2");
    is(&run, "o\n", 0)?;
    req(run.stderr == b"e\n", || format!("stderr {:?}", run.err()))
}

fn exit_codes(c: &mut Case) -> Outcome {
    for n in [0, 1, 2, 37, 126, 127, 128, 200, 255] {
        c.want(&format!("sh -c 'exit {n}'"), "", n)?;
    }
    let unknown = c.x("nosuchcmd_zz");
    req(unknown.code == 127, || format!("unknown command: {}", unknown.code))?;
    let not_executable = c.x("/etc/passwd");
    req(not_executable.code == 126, || format!("not executable: {}", not_executable.code))
}

fn child_killed_by_signal(c: &mut Case) -> Outcome {
    for n in [9, 15] {
        let run = c.x(&format!("sh -c 'kill -{n} $$'"));
        req(run.code == c.shell.code_of_signal(n), || format!("signal {n} gave {}", run.code))?;
    }
    Ok(())
}

/// All byte values on both streams, no newline at the end.
fn binary_bytes(c: &mut Case) -> Outcome {
    let bytes = Random::seeded(4).bytes(300_000);
    let file = c.dir().file("bin-bytes", &bytes);
    let run = c.x(&format!("cat {file}; cat {file} >&2"));
    let told = || format!("mismatch: {} and {} bytes", run.stdout.len(), run.stderr.len());
    req(run.stdout == bytes && run.stderr == bytes, told)
}

fn lines_heredoc_comments(c: &mut Case) -> Outcome {
    c.want("echo a\n# c'omment\necho b # x", "a\nb\n", 0)?;
    if c.shell.is_fish() {
        return Ok(());
    }
    c.want("cat <<'E'\n$x `y` \"z'\nE\necho t", "$x `y` \"z'\nt\n", 0)?;
    c.want("if true\nthen\n echo y\nfi", "y\n", 0)
}

fn empty_and_trailing_backslash(c: &mut Case) -> Outcome {
    c.want("", "", 0)?;
    c.want("  \n\n ", "", 0)?;
    c.want("# only", "", 0)?;
    c.want("echo a \\", "a\n", 0)
}

/// A syntax error is a result, not a hang, and costs no state.
fn unbalanced_text(c: &mut Case) -> Outcome {
    let texts = [
        "echo 'abc",
        "echo \"abc",
        "( echo x",
        "echo $(",
        "echo `",
        "if",
        "fi",
        ")",
        "case x in",
        "}",
        "while",
    ];
    for text in texts {
        let means_something_else = match c.shell {
            Shell::Fish => text.contains('`') || matches!(text, "fi" | "case x in" | "}"),
            Shell::Zsh => text == "while",
            Shell::Ksh93 => text == "echo `",
            _ => false,
        };
        if !means_something_else {
            c.bad(text)?;
        }
    }
    Ok(())
}

fn one_mebibyte_line(c: &mut Case) -> Outcome {
    let x = "x".repeat(1 << 20);
    let posix = format!("v='{x}'; echo ${{#v}}");
    let fish = format!("set v '{x}'; string length $v");
    c.want(c.pick(&posix, &fish), "1048576\n", 0)
}

fn twenty_thousand_lines(c: &mut Case) -> Outcome {
    c.want(&format!("{}echo end", "true\n".repeat(20_000)), "end\n", 0)
}

fn the_shells_own_messages(c: &mut Case) -> Outcome {
    let run = c.x("echo a; no_such_program_z; echo b");
    is(&run, "a\nb\n", 0)?;
    req(run.err().contains("no_such_program_z"), || format!("stderr {:?}", run.err()))?;
    let run = c.x("echo (");
    req(run.code != 0 && !run.stderr.is_empty(), || format!("a syntax error: {}", run.json))?;
    let run = c.x("echo quiet");
    req(run.stderr.is_empty(), || format!("left over: {:?}", run.err()))
}

fn exit_rolls_back(c: &mut Case) -> Outcome {
    c.keep()?;
    let change = c.pick("keep=lost", "set -g keep lost").to_string();
    for (end, code) in [("exit 4", 4), ("false; exit", 1), ("eval exit 5; echo no", 5)] {
        let run = c.x(&format!("{change}; {end}"));
        is(&run, "", code).map_err(|why| format!("{end}: {why}"))?;
        req(run.shell_state == "rolled_back", || format!("{end}: {}", run.json))?;
        c.kept()?;
    }
    let command = c.pick("f() { exit 6; }; f; echo no", "function f; exit 6; end; f; echo no").to_string();
    c.want(&command, "", 6)
}
