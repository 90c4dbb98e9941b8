//! `trl events`: one line for each thing that happens, until ^C or the end of the daemon.

use serde_json::Value;
use trl_proto::event::{Kind, SubscribeParams, Subscribed};
use trl_proto::{Method, by_name};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session;
use crate::client::{self, Auth, ClientError, Start};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct EventsArgs {
    /// Only this kind, such as exec.finished; may be given several times
    #[arg(long = "kind", value_name = "KIND", value_parser = by_name::<Kind>)]
    kinds: Vec<Kind>,
    /// Only of this session (its id or name)
    #[arg(short, long)]
    session: Option<String>,
    /// Begin after this sequence number, as far as it is remembered
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn follow(config: &Config, args: EventsArgs) -> Result<u8, Failure> {
    let (client, mut pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let session_id = match &args.session {
        Some(session) => Some(session::resolve(&client, session).await?),
        None => None,
    };
    let kinds = (!args.kinds.is_empty()).then_some(args.kinds);
    let params = SubscribeParams { kinds, session_id, since: args.since };
    let _subscribed: Subscribed = client.call(Method::EventsSubscribe, &params).await?;
    while let Some(push) = pushes.next().await {
        match args.output.format() {
            _ if push.method != "event" => {}
            Format::Json => print::json_text(push.json())?,
            Format::People => print::line(&describe(&push.parse()?))?,
        }
    }
    Err(ClientError::Lost.into())
}

/// The time, the kind, and then whatever else is known: kinds of a newer daemon read just as well.
fn describe(event: &Value) -> String {
    let part = |name: &str| event.get(name).and_then(print::words).unwrap_or_default();
    let mut line = format!("{} {:16}", part("time"), part("kind"));
    for (name, value) in event.as_object().into_iter().flatten() {
        if !["time", "kind", "seq", "stream_id"].contains(&name.as_str())
            && let Some(words) = print::words(value)
        {
            line.push_str(&format!(" {name}={words}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_of_any_kind_is_one_line() {
        let event = json!({"seq": 4, "time": "T", "kind": "new.kind", "session_id": "s-a", "n": 1});
        assert_eq!(describe(&event), "T new.kind         session_id=s-a n=1");
    }
}
