//! `trl runtime`: the places where sessions can live; and the flags with which other commands choose one.

use serde_json::Value;
use trl_proto::limits::Limit;
use trl_proto::runtime::{
    AnyRuntime, Binary, HOST, Mount, RuntimeHealth, RuntimeInfo, RuntimeKind, RuntimeList, RuntimeParams,
    RuntimeRemoveParams, RuntimeRemoved, RuntimeSpec, RuntimeWish,
};
use trl_proto::system::NoParams;
use trl_proto::{Method, by_name};

use super::exec::eprint_line;
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::{Directory, assignment};
use super::session::{done, limit, limits};
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum RuntimeCommand {
    /// List the runtimes, and how it stands with them
    Ls(Output),
    /// Show everything about a runtime
    Get(OneArgs),
    /// Add a runtime, for this daemon and those after it
    Add(Box<AddArgs>),
    /// Remove runtimes; those of the settings are back with the next daemon
    Rm(RmArgs),
    /// Ask a runtime's engine, and say how long it took; exits with 1 when it is not well
    Health(OneArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct OneArgs {
    /// Its name
    runtime: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// What it is called
    name: String,
    /// How it is reached: ssh, docker or command
    #[arg(value_parser = by_name::<RuntimeKind>)]
    kind: RuntimeKind,
    /// Of ssh: where to, as ssh takes it
    #[arg(long, value_name = "DESTINATION")]
    target: Option<String>,
    /// Of ssh: a word for ssh before the destination; may be given several times
    #[arg(long = "option", value_name = "WORD", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Of docker: each session has a container of this image
    #[arg(long)]
    image: Option<String>,
    /// Of docker: all sessions are in this container
    #[arg(long, conflicts_with = "image")]
    container: Option<String>,
    /// Of docker: a directory of this machine that containers see; may be given several times
    #[arg(long = "mount", value_name = "SOURCE[:TARGET[:ro]]", value_parser = mount)]
    mounts: Vec<Mount>,
    /// Of docker: the name of a network, or none
    #[arg(long)]
    network: Option<String>,
    /// Of docker: whose process it is there
    #[arg(long)]
    user: Option<String>,
    /// Of docker: where its daemon listens
    #[arg(long, value_name = "PATH")]
    docker_socket: Option<String>,
    /// Of docker: what a container may use, such as memory_bytes, cpu or pids
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limit)]
    limits: Vec<(Limit, f64)>,
    /// There is a trl of this version on its PATH: copy none
    #[arg(long)]
    installed: bool,
    /// A label to choose it by; may be given several times
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = assignment)]
    labels: Vec<(String, String)>,
    /// How much it can take, compared with others [default: 1]
    #[arg(long, value_name = "NUMBER")]
    weight: Option<f64>,
    /// Sessions and terminals it may have at once
    #[arg(long, value_name = "N")]
    max_sessions: Option<usize>,
    #[command(flatten)]
    output: Output,
    /// Of command: the program whose stdin and stdout lead to `trl stdio --resume {key}`
    #[arg(last = true, value_name = "PROGRAM")]
    argv: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// Their names
    #[arg(required = true)]
    runtimes: Vec<String>,
    /// Give them no new sessions, and remove them when the last has ended
    #[arg(long, conflicts_with = "force")]
    drain: bool,
    /// Close the sessions they have
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

/// Of the commands that make sessions.
#[derive(Debug, clap::Args)]
pub(super) struct RuntimeArgs {
    /// Where it lives [default: as configured, this machine]
    #[arg(long, value_name = "NAME", conflicts_with = "runtime_labels")]
    runtime: Option<String>,
    /// In any runtime with this label; may be given several times
    #[arg(long = "runtime-label", value_name = "NAME=VALUE", value_parser = assignment)]
    runtime_labels: Vec<(String, String)>,
}

impl RuntimeArgs {
    pub(super) fn wish(&self) -> Option<RuntimeWish> {
        match &self.runtime {
            Some(name) => Some(RuntimeWish::Named(name.clone())),
            None if self.runtime_labels.is_empty() => None,
            None => Some(RuntimeWish::Any(AnyRuntime { any: self.runtime_labels.iter().cloned().collect() })),
        }
    }

    /// This directory means nothing on another machine.
    pub(super) fn directory(&self) -> Directory {
        match self.wish() {
            None => Directory::Ours,
            Some(wish) if wish.name() == Some(HOST) => Directory::Ours,
            Some(_) => Directory::Its,
        }
    }
}

fn mount(text: &str) -> Result<Mount, String> {
    let mut parts = text.split(':').map(String::from);
    let source =
        parts.next().filter(|path| path.starts_with('/')).ok_or("SOURCE must be an absolute path")?;
    let (target, how) = (parts.next(), parts.next());
    if parts.next().is_some() || how.as_ref().is_some_and(|how| how != "ro") {
        return Err("write SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro".into());
    }
    Ok(Mount { source, target, read_only: how.is_some() })
}

pub(super) async fn run(config: &Config, command: RuntimeCommand) -> Result<u8, Failure> {
    let auth = match &command {
        RuntimeCommand::Add(_) | RuntimeCommand::Rm(_) => Auth::Required,
        _ => Auth::IfPerson,
    };
    let (client, _pushes) = client::connect(config, Start::Never, auth).await?;
    match command {
        RuntimeCommand::Ls(output) => list(&client, output).await?,
        RuntimeCommand::Get(args) => {
            let params = RuntimeParams { name: args.runtime };
            let reply: Value = client.call(Method::RuntimeGet, &params).await?;
            print::reply(&reply, args.output.format())?;
        }
        RuntimeCommand::Add(args) => add(&client, *args).await?,
        RuntimeCommand::Rm(args) => remove(&client, args).await?,
        RuntimeCommand::Health(args) => return health(&client, args).await,
    }
    Ok(0)
}

async fn list(client: &Connection, output: Output) -> Result<(), Failure> {
    let list: RuntimeList = client.call(Method::RuntimeList, &NoParams {}).await?;
    if output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["RUNTIME", "KIND", "STATE", "SESSIONS", "LABELS", "TROUBLE"]);
    for RuntimeInfo { state, sessions, trouble, spec, .. } in list.runtimes {
        let labels = spec.labels.iter().flatten().map(|(name, value)| format!("{name}={value}"));
        table.row([
            spec.name.unwrap_or_default(),
            word(spec.kind),
            state.name().into(),
            sessions.to_string(),
            labels.collect::<Vec<_>>().join(" "),
            trouble.unwrap_or_else(|| "-".into()),
        ]);
    }
    print::text(&table.render())
}

fn word(kind: RuntimeKind) -> String {
    serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(String::from)).unwrap_or_default()
}

async fn add(client: &Connection, args: AddArgs) -> Result<(), Failure> {
    let spec = RuntimeSpec {
        name: Some(args.name),
        kind: args.kind,
        argv: args.argv,
        target: args.target,
        options: args.options,
        image: args.image,
        container: args.container,
        mounts: args.mounts,
        network: args.network,
        user: args.user,
        socket: args.docker_socket,
        limits: limits(&args.limits),
        binary: if args.installed { Binary::Installed } else { Binary::Copy },
        labels: (!args.labels.is_empty()).then(|| args.labels.into_iter().collect()),
        weight: args.weight,
        max_sessions: args.max_sessions,
    };
    let added: Value = client.call(Method::RuntimeAdd, &spec).await?;
    done(&added, args.output.format())
}

async fn remove(client: &Connection, args: RmArgs) -> Result<(), Failure> {
    let (drain, force) = (args.drain.then_some(true), args.force.then_some(true));
    for name in args.runtimes {
        let params = RuntimeRemoveParams { name, drain, force };
        let reply: RuntimeRemoved = client.call(Method::RuntimeRemove, &params).await?;
        match args.output.format() {
            Format::Json => print::json(&reply)?,
            Format::People if reply.removed => {}
            Format::People => {
                let (name, sessions) = (&params.name, reply.info.sessions);
                eprint_line(&format!("trl: {name} goes when its last session has ended; it has {sessions}"));
            }
        }
    }
    Ok(())
}

async fn health(client: &Connection, args: OneArgs) -> Result<u8, Failure> {
    let health: RuntimeHealth =
        client.call(Method::RuntimeHealth, &RuntimeParams { name: args.runtime }).await?;
    let reply = serde_json::to_value(&health).map_err(std::io::Error::from)?;
    print::reply(&reply, args.output.format())?;
    Ok(u8::from(!health.healthy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_written_as_docker_has_them() {
        let all = |source: &str, target: Option<&str>, read_only| {
            Ok(Mount { source: source.into(), target: target.map(String::from), read_only })
        };
        assert_eq!(mount("/a"), all("/a", None, false));
        assert_eq!(mount("/a:/b"), all("/a", Some("/b"), false));
        assert_eq!(mount("/a:/b:ro"), all("/a", Some("/b"), true));
        for wrong in ["a", "", "/a:/b:rw", "/a:/b:ro:x"] {
            assert!(mount(wrong).is_err(), "{wrong}");
        }
    }
}
