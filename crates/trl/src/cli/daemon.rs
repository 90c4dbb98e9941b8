//! `trl ping`, `stats`, `info` and `stop`: the daemon itself.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use trl_proto::Method;
use trl_proto::system::{Distribution, NoParams, Ping, ShutdownParams};

use super::failure::Failure;
use super::print::{self, Format, Output};
use crate::client::{self, Auth, ClientError, Connection, Start};
use crate::config::{Config, units};

/// Commands get their grace when the daemon stops, so it may take a while.
const GONE_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(super) struct StopArgs {
    /// Kill at once instead of asking the processes to end first
    #[arg(long)]
    force: bool,
    /// End live sessions and terminals without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn ping(config: &Config, output: Output) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect_any_version(config, Auth::IfPerson).await?;
    let ping: Ping = client.call(Method::SystemPing, &NoParams {}).await?;
    match output.format() {
        Format::Json => print::json(&ping)?,
        Format::People => {
            let up = units::coarse(Duration::from_secs(ping.uptime_s));
            print::line(&format!("trl {} (protocol {}), up {up}", ping.version, ping.protocol))?;
        }
    }
    Ok(0)
}

pub(super) async fn stats(config: &Config, output: Output) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let mut reply: Value = client.call(Method::SystemStats, &NoParams {}).await?;
    if let (Format::People, Value::Object(members)) = (output.format(), &mut reply) {
        members.values_mut().for_each(in_short);
    }
    print::reply(&reply, output.format())?;
    Ok(0)
}

/// A distribution by its mean; people do not read buckets.
fn in_short(value: &mut Value) {
    if let Ok(Distribution { count, sum_ms, .. }) = Distribution::deserialize(&*value) {
        let mean = sum_ms.checked_div(count).unwrap_or(0);
        *value = format!("mean {mean} of {count}").into();
    }
}

pub(super) async fn info(config: &Config, output: Output) -> Result<u8, Failure> {
    show(config, Method::SystemInfo, output).await
}

async fn show(config: &Config, method: Method, output: Output) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let reply: Value = client.call(method, &NoParams {}).await?;
    print::reply(&reply, output.format())?;
    Ok(0)
}

/// Asks the daemon to end and waits until it has, so that the next `trl serve` finds the socket free.
pub(super) async fn stop(config: &Config, args: &StopArgs) -> Result<u8, Failure> {
    let (client, mut pushes) = client::connect_any_version(config, Auth::Required).await?;
    let at_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if at_terminal && !args.yes && !may_end(&client).await? {
        return Err(Failure::Usage("not stopped".into()));
    }
    let params = ShutdownParams { force: args.force.then_some(true) };
    let reply: Value = client.call(Method::SystemShutdown, &params).await?;
    let gone = timeout(GONE_WITHIN, async { while pushes.next().await.is_some() {} }).await;
    if gone.is_err() {
        let waited = GONE_WITHIN.as_secs();
        return Err(Failure::Usage(format!("the daemon is still stopping after {waited} s; try --force")));
    }
    match (args.output.format(), reply.get("sessions").and_then(Value::as_u64)) {
        (Format::People, Some(1)) => print::line("stopped; 1 session ended")?,
        (Format::People, Some(sessions)) => print::line(&format!("stopped; {sessions} sessions ended"))?,
        (Format::People, None) => print::line("stopped")?,
        (Format::Json, _) => print::json(&reply)?,
    }
    Ok(0)
}

/// Asks whether what is live may end with the daemon. Nobody is asked when nothing is.
async fn may_end(client: &Connection) -> Result<bool, Failure> {
    let live = async |method, list: &str, over: &[&str]| -> Result<usize, ClientError> {
        let reply: Value = client.call(method, &NoParams {}).await?;
        let all = reply.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_over = |one: &&Value| one["state"].as_str().is_some_and(|state| over.contains(&state));
        Ok(all.iter().filter(|one| !is_over(one)).count())
    };
    let sessions = live(Method::SessionList, "sessions", &["closed", "uninitialized", "terminated"]).await;
    let terminals = live(Method::TerminalList, "terminals", &["exited"]).await;
    let what = match (sessions, terminals) {
        (Ok(0), Ok(0)) => return Ok(true),
        (Ok(sessions), Ok(terminals)) => {
            format!("{} and {}", counted(sessions, "session"), counted(terminals, "terminal"))
        }
        // A daemon of another version, which can be stopped all the same.
        _ => "all sessions and terminals".into(),
    };
    write!(io::stderr(), "{what} will end with the daemon. Stop it? [y/N] ")?;
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let answer = answer.await.map_err(io::Error::from)??;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_read_means_and_everything_else_as_it_is() {
        let mut shown = [json!({"count": 4, "sum_ms": 10, "buckets": []}), json!(7), json!({"count": 1})];
        shown.iter_mut().for_each(in_short);
        assert_eq!(shown, [json!("mean 2 of 4"), json!(7), json!({"count": 1})]);
    }
}
