//! Containers: made, started, looked at, found by their labels, removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::{Ask, escaped};
use crate::{Docker, Error, Result};

/// A container to be made. It gets no terminal and no standard input; its process 1 is the program itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    pub image: String,
    /// None lets Docker think of one.
    pub name: Option<String>,
    /// Process 1, in place of the image's entry point and command. Empty means those.
    pub argv: Vec<String>,
    /// On top of the image's.
    pub env: BTreeMap<String, String>,
    /// A name or a number, with a group behind a colon if need be; None is the image's own.
    pub user: Option<String>,
    /// None is the image's own.
    pub working_dir: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub limits: Limits,
    pub mounts: Vec<Mount>,
    pub network: Network,
}

/// What all processes of a container may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Without swap on top.
    pub memory_bytes: Option<u64>,
    /// Processors, such as 1.5.
    pub cpu: Option<f64>,
    pub pids: Option<u64>,
}

/// A file or directory of the host that the container sees. It must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: PathBuf,
    pub target: String,
    pub access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// What the daemon gives to those that do not ask.
    #[default]
    Default,
    /// Only the loopback of its own.
    None,
    Named(String),
}

/// A container that was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all(deserialize = "PascalCase"))]
pub struct Created {
    pub id: String,
    /// What the daemon cannot do of what was wanted, such as a limit that the kernel does not know.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub warnings: Vec<String>,
}

/// A container as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub id: String,
    pub name: String,
    /// As it was asked for.
    pub image: String,
    /// What [`Docker::image`] knows it by, also when the name has gone to another one.
    pub image_id: String,
    pub labels: BTreeMap<String, String>,
    pub status: Status,
    /// The kernel ended a process of it for want of memory.
    pub oom_killed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// And never started.
    Created,
    /// The pid of process 1, as the daemon sees it.
    Running {
        pid: u32,
    },
    Paused {
        pid: u32,
    },
    /// `error` is why it could not be started, if it could not.
    Ended {
        exit_code: i64,
        error: Option<String>,
    },
    /// On its way between two of the others, in Docker's words.
    Changing(String),
}

/// A container among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub name: String,
    pub image: String,
    pub labels: BTreeMap<String, String>,
    pub running: bool,
}

impl Docker {
    /// Makes a container, which does not run yet. Its image must be there.
    pub async fn create(&self, wanted: &Wanted) -> Result<Created> {
        let mut ask = Ask::post("/containers/create");
        if let Some(name) = &wanted.name {
            ask = ask.query("name", name);
        }
        self.ask(ask.json(&described(wanted)?)).await?.json()
    }

    /// One that runs already is fine.
    pub async fn start(&self, container: &str) -> Result<()> {
        self.ask(Ask::post(format!("/containers/{}/start", escaped(container)))).await.map(drop)
    }

    /// By id, by the beginning of an id, or by name.
    pub async fn inspect(&self, container: &str) -> Result<Container> {
        let answer = self.ask(Ask::get(format!("/containers/{}/json", escaped(container)))).await?;
        answer.json::<Inspected>().map(Inspected::understood)
    }

    /// Those with all of these labels, also when they do not run. A label is `key` or `key=value`.
    pub async fn list(&self, labels: &[&str]) -> Result<Vec<Listed>> {
        let filters = json!({ "label": labels }).to_string();
        let ask = Ask::get("/containers/json").query("all", "1").query("filters", &filters);
        let rows: Vec<Row> = self.ask(ask).await?.json()?;
        Ok(rows.into_iter().map(Row::understood).collect())
    }

    /// Ends what runs in it, and removes it with the volumes nobody named. One that is gone already is fine.
    pub async fn remove(&self, container: &str) -> Result<()> {
        let ask =
            Ask::delete(format!("/containers/{}", escaped(container))).query("force", "1").query("v", "1");
        match self.ask(ask).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

fn described(wanted: &Wanted) -> Result<Value> {
    let mounts: Result<Vec<Value>> = wanted.mounts.iter().map(mount).collect();
    let mut host = json!({ "Mounts": mounts?, "Init": false });
    if let Some(bytes) = wanted.limits.memory_bytes {
        host["Memory"] = bytes.into();
        // Of memory and swap together: otherwise as much swap comes on top.
        host["MemorySwap"] = bytes.into();
    }
    if let Some(cpu) = wanted.limits.cpu {
        host["NanoCpus"] = nano(cpu)?.into();
    }
    if let Some(pids) = wanted.limits.pids {
        host["PidsLimit"] = pids.into();
    }
    match &wanted.network {
        Network::Default => {}
        Network::None => host["NetworkMode"] = "none".into(),
        Network::Named(name) => host["NetworkMode"] = name.as_str().into(),
    }
    let mut whole = json!({
        "Image": wanted.image,
        "Env": assignments(&wanted.env),
        "User": wanted.user.as_deref().unwrap_or_default(),
        "WorkingDir": wanted.working_dir.as_deref().unwrap_or_default(),
        "Labels": wanted.labels,
        "Tty": false,
        "OpenStdin": false,
        "HostConfig": host,
    });
    if !wanted.argv.is_empty() {
        // An entry point of one's own does away with the image's command, too.
        whole["Entrypoint"] = json!(wanted.argv);
    }
    Ok(whole)
}

/// Zero would be no limit at all.
fn nano(cpu: f64) -> Result<u64> {
    let nano = (cpu * 1e9).round();
    if nano >= 1.0 && nano <= i64::MAX as f64 {
        Ok(nano as u64)
    } else {
        Err(Error::Invalid(format!("{cpu} is not a number of processors")))
    }
}

fn mount(mount: &Mount) -> Result<Value> {
    Ok(json!({
        "Type": "bind",
        "Source": text(&mount.source)?,
        "Target": mount.target,
        "ReadOnly": mount.access == Access::ReadOnly,
    }))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::Invalid(format!("{path:?} is not UTF-8")))
}

pub(crate) fn assignments(env: &BTreeMap<String, String>) -> Vec<String> {
    env.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Go writes an empty list or map as null.
fn null_is_empty<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    id: String,
    name: String,
    image: String,
    config: Config,
    state: State,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    image: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    status: String,
    #[serde(rename = "OOMKilled")]
    oom_killed: bool,
    pid: u32,
    exit_code: i64,
    error: String,
}

impl Inspected {
    fn understood(self) -> Container {
        let State { status, oom_killed, pid, exit_code, error } = self.state;
        let status = match status.as_str() {
            // One that could not be started is called created still.
            "created" if error.is_empty() => Status::Created,
            "running" => Status::Running { pid },
            "paused" => Status::Paused { pid },
            "created" | "exited" | "dead" => {
                Status::Ended { exit_code, error: Some(error).filter(|error| !error.is_empty()) }
            }
            _ => Status::Changing(status),
        };
        Container {
            id: self.id,
            name: bare(&self.name),
            image: self.config.image,
            image_id: self.image,
            labels: self.config.labels,
            status,
            oom_killed,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    id: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    names: Vec<String>,
    image: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    labels: BTreeMap<String, String>,
    state: String,
}

impl Row {
    fn understood(self) -> Listed {
        Listed {
            id: self.id,
            name: self.names.first().map(|name| bare(name)).unwrap_or_default(),
            image: self.image,
            labels: self.labels,
            running: self.state == "running",
        }
    }
}

/// Docker puts a slash before its names.
fn bare(name: &str) -> String {
    name.trim_start_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_not_said() {
        let plain = described(&Wanted { image: "i".into(), ..Wanted::default() }).unwrap();
        assert_eq!(plain["HostConfig"], json!({"Mounts": [], "Init": false}));
        assert!(plain.get("Entrypoint").is_none());
    }

    #[test]
    fn limits_are_numbers_that_limit() {
        let with =
            |cpu| Wanted { limits: Limits { cpu: Some(cpu), ..Limits::default() }, ..Wanted::default() };
        assert_eq!(described(&with(1.5)).unwrap()["HostConfig"]["NanoCpus"], 1_500_000_000);
        for nonsense in [0.0, -1.0, 1e-10, f64::NAN, f64::INFINITY, 1e300] {
            assert!(matches!(described(&with(nonsense)), Err(Error::Invalid(_))), "{nonsense}");
        }
    }

    #[test]
    fn every_state_is_understood() {
        let status = |status: &str, error: &str| {
            let inspected: Inspected = serde_json::from_value(json!({
                "Id": "1", "Name": "/n", "Image": "sha256:2", "Config": {"Image": "i", "Labels": null},
                "State": {"Status": status, "OOMKilled": false, "Pid": 7, "ExitCode": 3, "Error": error},
            }))
            .unwrap();
            inspected.understood().status
        };
        let ended = |error: Option<&str>| Status::Ended { exit_code: 3, error: error.map(String::from) };
        assert_eq!(status("created", ""), Status::Created);
        assert_eq!(status("created", "no such file"), ended(Some("no such file")));
        assert_eq!(status("running", ""), Status::Running { pid: 7 });
        assert_eq!(status("paused", ""), Status::Paused { pid: 7 });
        assert_eq!(status("exited", ""), ended(None));
        assert_eq!(status("dead", ""), ended(None));
        assert_eq!(status("removing", ""), Status::Changing("removing".into()));
    }
}
