//! `trl call`: any method of the wire by its name, JSON in and JSON out.

use std::io;

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
    print::json(&RawValue::from_string(result).map_err(io::Error::from)?)?;
    if let Some(Method::ExecStream | Method::EventsSubscribe) = method {
        print_pushes(pushes).await?;
    }
    Ok(0)
}

fn params(text: &str) -> Result<String, Failure> {
    match text {
        "-" => Ok(io::read_to_string(io::stdin())?),
        text => Ok(text.into()),
    }
}

/// What a streaming method sends, one push a line, up to its last.
async fn print_pushes(mut pushes: Pushes) -> Result<(), Failure> {
    while let Some(push) = pushes.next().await {
        print::json_text(&serde_json::to_string(&push).map_err(io::Error::from)?)?;
        if push.method == "exec.exit" {
            break;
        }
    }
    Ok(())
}
