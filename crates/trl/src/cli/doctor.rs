//! `trl doctor`: one screen on what this machine can do.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use tokio::time::timeout;
use trl_core::doctor::{machine, places, tools};
use trl_proto::doctor::{Diagnosis, Finding, Health};
use trl_proto::system::NoParams;
use trl_proto::{Method, Untrusted};
use trl_sys::cgroup::Layout;

use super::failure::Failure;
use super::print::{self, Format, Output};
use crate::client::{self, Auth, ClientError, ReachError, Start};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    output: Output,
}

/// Fails when something is bad, so that scripts can ask.
pub(super) async fn show(config: &Config, args: DoctorArgs) -> Result<u8, Failure> {
    let diagnosis = diagnose(config).await?;
    match args.output.format() {
        Format::Json => print::json(&diagnosis)?,
        Format::People => print::exact(&screen(&diagnosis, std::io::stdout().is_terminal()))?,
    }
    Ok(u8::from(diagnosis.status == Health::Bad))
}

/// The daemon's own diagnosis, or what can be said without one.
pub(super) async fn diagnose(config: &Config) -> Result<Diagnosis, Failure> {
    let asked = async {
        let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
        Ok(client.call::<Diagnosis>(Method::SystemDoctor, &NoParams {}).await?)
    };
    match asked.await {
        Ok(mut found) => {
            let value = format!("{} at {}", found.version, config.socket.display());
            found.rows.insert(0, Finding::new("daemon", "Daemon", Health::Ok, value));
            Ok(found)
        }
        Err(ReachError::Client(
            error @ (ClientError::NotRunning { .. }
            | ClientError::SocketDir { .. }
            | ClientError::Denied { .. }
            | ClientError::Refused(_)),
        )) => Ok(without_daemon(config, &error).await),
        Err(error) => Err(error.into()),
    }
}

async fn without_daemon(config: &Config, error: &ClientError) -> Diagnosis {
    let missing = matches!(error, ClientError::NotRunning { .. });
    let status = if missing { Health::Info } else { Health::Bad };
    let mut rows = vec![Finding::new("daemon", "Daemon", status, error.to_string())];
    rows.extend(machine::features());
    rows.push(machine::sandbox(config.settings().sandbox_mode));
    rows.push(machine::limits(&Layout::here().standing()));
    rows.push(machine::disk_quota());
    rows.extend(tools::findings(&programs().await));
    rows.push(places::private_dir("data_dir", "Data directory", &config.data_dir));
    rows.push(places::descriptors(trl_sys::limits::raise_open_files().usable));
    rows.push(places::memory(config.settings().min_free_memory_bytes));
    Diagnosis::of(env!("CARGO_PKG_VERSION"), rows)
}

/// What the script of [`tools`] prints; a program that hangs is not waited for.
async fn programs() -> String {
    let run = || {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", tools::SCRIPT]).stdin(Stdio::null()).stderr(Stdio::null());
        command.output().map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default()
    };
    let asked = timeout(tools::LIMIT, tokio::task::spawn_blocking(run)).await;
    asked.ok().and_then(Result::ok).unwrap_or_default()
}

/// Aligned, with what could be done below each line that has it.
fn screen(diagnosis: &Diagnosis, colours: bool) -> String {
    let width = diagnosis.rows.iter().map(|row| row.title.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &diagnosis.rows {
        let (word, title) = (mark(row.status, colours), Untrusted::new(&row.title).to_string());
        text.push_str(&format!("{word}  {title:width$}  {}\n", Untrusted::new(&row.value)));
        if let Some(hint) = row.hint.as_deref().filter(|_| row.status != Health::Info) {
            text.push_str(&format!("      {:width$}  - {}\n", "", Untrusted::new(hint)));
        }
    }
    text
}

fn mark(status: Health, colours: bool) -> String {
    let (word, colour) = match status {
        Health::Ok => ("ok  ", 32),
        Health::Warn => ("warn", 33),
        Health::Bad => ("BAD ", 31),
        Health::Info => ("-   ", 0),
    };
    if colours && colour != 0 { format!("\x1b[{colour}m{word}\x1b[m") } else { word.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_hints_stand_below() {
        let rows = vec![
            Finding::new("a", "Short", Health::Ok, "fine"),
            Finding::new("b", "Longer title", Health::Warn, "so so\x1b[2J").hint("do that"),
        ];
        let text = screen(&Diagnosis::of("1", rows), false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ok    Short         fine");
        assert_eq!(lines[1], "warn  Longer title  so so⟨U+001B⟩[2J");
        assert_eq!(lines[2], "                    - do that");
    }
}
