//! Running other programs.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs a command to its end with its output shown.
///
/// # Errors
/// The program cannot be started, or exits with another code than 0.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{} failed: {status}", shown(command));
    Ok(())
}

/// Returns what a command prints.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command.stderr(Stdio::piped()).output().with_context(|| format!("{command:?}"))?;
    ensure!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

/// Whether a command exits with 0. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn shown(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default().to_string();
    std::iter::once(name.into()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_command_is_named() {
        let error = must(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("sh -c exit 3 failed"), "{error}");
    }
}
