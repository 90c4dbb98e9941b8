//! `trl token`: who else may use the daemon. For the operator only.

use std::time::Duration;

use serde_json::Value;
use trl_proto::system::NoParams;
use trl_proto::token::{
    Ceilings, CreateTokenParams, SandboxMode, TokenCreated, TokenInfo, TokenList, TokenParams,
};
use trl_proto::{Method, Role, TokenId, by_name};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session::ago;
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum TokenCommand {
    /// Make a token and print it; it is shown this once
    New(NewArgs),
    /// List the tokens, without their secrets
    Ls(Output),
    /// Revoke tokens; connections that use them are closed
    Rm(RmArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// A name to know it by
    name: String,
    /// What its holder may do: agent (run things), viewer (watch) or operator (everything)
    #[arg(long, default_value = "agent", value_parser = by_name::<Role>)]
    role: Role,
    /// How long it is good, such as 12h; for ever unless given
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    expires: Option<Duration>,
    /// At most this many sessions at once
    #[arg(long, value_name = "N")]
    max_sessions: Option<u64>,
    /// Only this case; may be given several times
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Only this runtime; may be given several times
    #[arg(long = "runtime", value_name = "NAME")]
    runtimes: Vec<String>,
    /// Only this workspace; may be given several times
    #[arg(long = "workspace", value_name = "ID")]
    workspaces: Vec<String>,
    /// The widest sandbox: read-only, workspace-write or off
    #[arg(long, value_name = "MODE", value_parser = by_name::<SandboxMode>)]
    sandbox: Option<SandboxMode>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// Their ids or names
    #[arg(required = true)]
    tokens: Vec<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: TokenCommand) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::Required).await?;
    match command {
        TokenCommand::New(args) => create(&client, args).await?,
        TokenCommand::Ls(output) => list(&client, output).await?,
        TokenCommand::Rm(args) => remove(&client, &args).await?,
    }
    Ok(0)
}

async fn create(client: &Connection, args: NewArgs) -> Result<(), Failure> {
    let some = |names: Vec<String>| (!names.is_empty()).then_some(names);
    let ceilings = Ceilings {
        cases: some(args.cases),
        runtimes: some(args.runtimes),
        workspaces: some(args.workspaces),
        sandbox: args.sandbox,
        max_sessions: args.max_sessions,
    };
    let params = CreateTokenParams {
        name: args.name,
        role: args.role,
        expires_in_s: args.expires.map(|after| after.as_secs_f64()),
        ceilings: (!ceilings.is_empty()).then_some(ceilings),
    };
    let created: TokenCreated = client.call(Method::TokenCreate, &params).await?;
    match args.output.format() {
        Format::Json => print::json(&created),
        // The token alone, for `t=$(trl token new ci)`.
        Format::People => print::line(&created.token),
    }
}

async fn list(client: &Connection, output: Output) -> Result<(), Failure> {
    let list: TokenList = client.call(Method::TokenList, &NoParams {}).await?;
    if output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["TOKEN", "NAME", "ROLE", "USED", "EXPIRES", "CEILINGS"]);
    for token in list.tokens {
        table.row([
            token.token_id.to_string(),
            token.name,
            word(&token.role),
            token.last_used_at.as_deref().map_or_else(|| "never".into(), ago),
            token.expires_at.unwrap_or_else(|| "never".into()),
            serde_json::to_value(&token.ceilings)
                .ok()
                .and_then(|ceilings| print::words(&ceilings))
                .unwrap_or_else(|| "-".into()),
        ]);
    }
    print::text(&table.render())
}

fn word(role: &Role) -> String {
    serde_json::to_value(role).ok().and_then(|word| word.as_str().map(String::from)).unwrap_or_default()
}

async fn remove(client: &Connection, args: &RmArgs) -> Result<(), Failure> {
    let list: TokenList = client.call(Method::TokenList, &NoParams {}).await?;
    for wanted in &args.tokens {
        let token_id = one_named(&list.tokens, wanted)?;
        let reply: Value = client.call(Method::TokenRevoke, &TokenParams { token_id }).await?;
        if args.output.format() == Format::Json {
            print::json(&reply)?;
        }
    }
    Ok(())
}

/// The token a person means: an id, or the name of exactly one. Names never look like ids.
fn one_named(tokens: &[TokenInfo], wanted: &str) -> Result<TokenId, Failure> {
    if let Ok(id) = wanted.parse() {
        return Ok(id);
    }
    let named: Vec<&TokenInfo> = tokens.iter().filter(|token| token.name == wanted).collect();
    match named.as_slice() {
        [one] => Ok(one.token_id.clone()),
        [] => Err(Failure::Usage(format!("no token has the id or name `{wanted}`"))),
        several => {
            let ids: Vec<&str> = several.iter().map(|token| token.token_id.as_str()).collect();
            let ids = ids.join(", ");
            Err(Failure::Usage(format!("several tokens are called `{wanted}`: {ids}; use an id")))
        }
    }
}
