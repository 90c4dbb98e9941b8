//! `trl debug bundle`: one file with what a bug report needs, and nothing that is secret.
//!
//! 1. Settings and diagnosis have no secrets in them; the log is not to have any, and command text is never logged.
//! 2. What nobody should have written there all the same is taken out of the whole text at the end ([`redacted`]).

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trl_proto::Method;
use trl_proto::doctor::{LogLines, LogParams};
use trl_proto::system::NoParams;

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::{doctor, settings};
use crate::client::{self, Auth, Start};
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum DebugCommand {
    /// Write settings, diagnosis and the last log lines to a file only you can read
    Bundle(BundleArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct BundleArgs {
    /// Where to [default: trl-debug-TIME.txt in this directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    form: Output,
}

pub(super) async fn run(config: &Config, command: DebugCommand) -> Result<u8, Failure> {
    let DebugCommand::Bundle(args) = command;
    let text = redacted(&gather(config).await, &known_secrets(config));
    let path = args.output.unwrap_or_else(default_name);
    let path = std::path::absolute(&path)?;
    write_private(&path, &text)?;
    let bytes = text.len();
    match args.form.format() {
        Format::Json => print::json(&json!({"file": path, "bytes": bytes}))?,
        Format::People => {
            print::line(&format!("{} ({bytes} bytes); look it through before you send it", path.display()))?
        }
    }
    Ok(0)
}

fn default_name() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    PathBuf::from(format!("trl-debug-{now}.txt"))
}

/// Never over a file that is there: it may be somebody else's, or a link.
fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
    Ok(file.write_all(text.as_bytes())?)
}

async fn gather(config: &Config) -> String {
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let mut text = format!("trl {} on {}\n", env!("CARGO_PKG_VERSION"), trl_sys::kernel::release());
    let mut section = |name: &str, body: &str| text.push_str(&format!("\n== {name}\n{}\n", body.trim_end()));
    let diagnosis = match doctor::diagnose(config).await {
        Ok(found) => serde_json::to_value(found).map(|found| pretty(&found)).unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    section("doctor", &diagnosis);
    section("config", &pretty(&settings::as_json(config)));
    for (name, method) in [("info", Method::SystemInfo), ("stats", Method::SystemStats)] {
        section(name, &ask(config, method).await.map_or_else(|e| e.to_string(), |reply| pretty(&reply)));
    }
    section("log", &log(config).await.unwrap_or_else(|e| e.to_string()));
    text
}

async fn ask(config: &Config, method: Method) -> Result<Value, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    Ok(client.call(method, &NoParams {}).await?)
}

async fn log(config: &Config) -> Result<String, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::Required).await?;
    let log: LogLines = client.call(Method::SystemLog, &LogParams::default()).await?;
    Ok(log.lines.join("\n"))
}

/// Secrets this process knows by their value.
fn known_secrets(config: &Config) -> Vec<String> {
    let file = fs::read_to_string(&config.operator_token_file).ok();
    let given = config.operator_token.as_ref().map(|secret| secret.expose().to_string());
    let inherited = std::env::vars().filter(|(name, _)| looks_secret(name)).map(|(_, value)| value);
    // A value shorter than this is found in innocent text.
    let long = |secret: &String| secret.len() >= 6;
    file.into_iter().chain(given).chain(inherited).map(|s| s.trim().to_string()).filter(long).collect()
}

/// By its name.
fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| name.contains(word))
}

const HIDDEN: &str = "[redacted]";

/// Without the secrets, and without what looks like one.
fn redacted(text: &str, secrets: &[String]) -> String {
    let text = secrets.iter().fold(text.to_string(), |text, secret| text.replace(secret.as_str(), HIDDEN));
    text.split_inclusive('\n').map(redacted_line).collect()
}

/// Tokens of ours, what follows `Bearer`, values after names that sound secret.
fn redacted_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut hide_next = false;
    for word in line.split_inclusive(|c: char| c.is_whitespace() || c == '"' || c == '=') {
        let end = word.chars().next_back().filter(|c| c.is_whitespace() || matches!(c, '"' | '='));
        let core = &word[..word.len() - end.map_or(0, char::len_utf8)];
        let is_token = core.starts_with("trl_") && core.len() > 20;
        let hide = !core.is_empty() && (is_token || hide_next);
        shown.push_str(if hide { HIDDEN } else { core });
        shown.extend(end);
        if !core.is_empty() {
            let named = end == Some('=') && looks_secret(core);
            hide_next = core.eq_ignore_ascii_case("bearer") || named;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_or_looks_so_is_taken_out() {
        let token = format!("trl_{}", "ab12".repeat(16));
        let text = format!(
            "a {token} b\nAuthorization: Bearer abc.def\nAPI_KEY=s3cret rest\n\"{token}\"\nhunter22\n"
        );
        let shown = redacted(&text, &["hunter22".into()]);
        for secret in [token.as_str(), "abc.def", "s3cret", "hunter22"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("API_KEY=[redacted] rest"), "{shown}");
    }

    #[test]
    fn ordinary_lines_stay_as_they_are() {
        let line = "2026-01-01T00:00:00Z  INFO trl: a token was made id=tok-abc role=\"agent\" x = 1\n";
        assert_eq!(redacted(line, &[]), line);
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b");
        fs::write(&path, "mine").unwrap();
        assert!(write_private(&path, "text").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
