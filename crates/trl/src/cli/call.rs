//! `trl call`: any method of the wire by its name, JSON in and JSON out.

use std::io::{self, Read};

use serde_json::value::RawValue;
use trl_proto::Method;
use trl_proto::method::Access;

use super::failure::Failure;
use super::print;
use crate::client::{self, Auth, Pushes, Start};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct CallArgs {
    /// Its name, such as session.list
    method: String,
    /// Parameters as a JSON object; `-` reads them from stdin
    #[arg(value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    params: String,
}

pub(super) async fn call(config: &Config, args: &CallArgs) -> Result<u8, Failure> {
    let params = params(&args.params)?;
    let method = Method::parse(&args.method);
    let auth = match method.map(Method::access) {
        Some(Access::Operate) => Auth::Required,
        _ => Auth::IfPerson,
    };
    let (client, pushes) = client::connect(config, Start::Never, auth).await?;
    let result = client.call_raw(&args.method, &params).await?;
    print::json(&result)?;
    if let Some(Method::ExecStream | Method::EventsSubscribe) = method {
        print_pushes(pushes).await?;
    }
    Ok(0)
}

fn params(text: &str) -> Result<Box<RawValue>, Failure> {
    let mut text = text.to_string();
    if text == "-" {
        text.clear();
        io::stdin().read_to_string(&mut text)?;
    }
    as_one_line(text).map_err(|e| Failure::Usage(format!("the parameters are not valid JSON: {e}")))
}

/// The text as it was given, so that the daemon judges it; only a line break would end the request line. In valid JSON
/// those stand between tokens, where a space means the same.
fn as_one_line(text: String) -> serde_json::Result<Box<RawValue>> {
    let given = RawValue::from_string(text)?;
    RawValue::from_string(given.get().replace(['\n', '\r'], " "))
}

/// What a streaming method sends, one push a line, up to its last.
async fn print_pushes(mut pushes: Pushes) -> Result<(), Failure> {
    while let Some(push) = pushes.next().await {
        let line = serde_json::json!({"method": push.method, "params": &*push.params});
        print::line(&line.to_string())?;
        if push.method == "exec.exit" {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stay_as_they_were_given_on_one_line() {
        let sent = |text: &str| as_one_line(text.into()).map(|raw| raw.get().to_string()).ok();
        assert_eq!(sent(r#"{"a":1,"a":2.50}"#).as_deref(), Some(r#"{"a":1,"a":2.50}"#));
        assert_eq!(sent("{\r\n\"a\": \"x\\ny\"\n}\n").as_deref(), Some("{  \"a\": \"x\\ny\" }"));
        for bad in ["", "{", "{} {}", "{\"a\": \"\n\"}"] {
            assert_eq!(sent(bad), None, "{bad:?}");
        }
    }
}
