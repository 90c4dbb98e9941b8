//! A container: one that is there already, for all sessions of a runtime, or one of an image for each of them.
//!
//! ```text
//!  container: inspect ─▶ (our program into it) ────────────────────────────────▶ exec: the stream, which starts the engine
//!  image:     (pull) ─▶ create ─▶ our program into it ─▶ start: the engine is process 1 ─▶ exec: the stream
//! ```
//!
//! As process 1 the engine collects the dead, ends with TERM, and its end is that of everything in the container. Nothing
//! of the image is needed for it, not even a shell. What is known of a container that has ended is what Docker says of it.
//!
//! Containers are labelled with the gateway that made them and whom for: what a killed daemon left is found by that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trl_docker::{Access, Archive, Exec, Meta, Mount, Network, Status, Wanted};
use trl_link::Key;
use trl_proto::Error;
use trl_proto::runtime::RuntimeSpec;

use super::binary::Binary;
use super::{Connection, Engines, Failure, Reader, Writer, wrong};
use crate::limits::asked;
use crate::runtime::arrival;
use crate::runtime::far::{Steps, unavailable};

/// Which daemon made a container, and for which session or terminal.
const GATEWAY: &str = "trl.gateway";
const WHOSE: &str = "trl.session";

/// Where everything of ours is. The root is the one directory every container has.
const HOME: &str = ".trl";
/// Anybody may run it; it belongs to nobody in there.
const PROGRAM: Meta = Meta { mode: 0o755, uid: 0, gid: 0, modified: 0 };
/// Whoever the engine is has a directory of its own there, which it makes itself.
const RUN: Meta = Meta { mode: 0o1777, uid: 0, gid: 0, modified: 0 };
/// Processes and threads of the engine, its keepers and the shell, beside what a session may have.
const OWN_TASKS: u64 = 32;

const COPYING: &str = "the program is being copied into the container";

#[derive(Debug)]
pub struct Docker {
    api: trl_docker::Docker,
    place: Place,
    user: Option<String>,
    gateway: Arc<str>,
}

#[derive(Debug)]
enum Place {
    Container(String),
    /// As far as it is the same for all.
    Image(Box<Wanted>),
}

impl Docker {
    pub(super) fn of(spec: &RuntimeSpec, gateway: &str) -> Result<Self, Error> {
        if let Some(limits) = &spec.limits {
            asked::check(limits)?;
        }
        let api = trl_docker::Docker::at(spec.socket.as_deref().unwrap_or(trl_docker::SOCKET));
        let place = match (&spec.image, &spec.container) {
            (Some(image), None) => Place::Image(Box::new(template(image, spec))),
            (None, Some(container)) => {
                if !spec.mounts.is_empty() || spec.network.is_some() || spec.limits.is_some() {
                    return Err(wrong(
                        "has a `container` that is there already, with mounts, network and limits",
                    ));
                }
                Place::Container(container.clone())
            }
            _ => return Err(wrong("needs an `image` or a `container`")),
        };
        Ok(Self { api, place, user: spec.user.clone(), gateway: gateway.into() })
    }

    pub(super) fn engines(&self) -> Engines {
        match self.place {
            Place::Container(_) => Engines::Shared,
            Place::Image(_) => Engines::OneEach,
        }
    }

    pub(super) async fn check(&self) -> Result<(), Error> {
        self.api.ping().await.map_err(|e| refused("connect", &e))
    }

    pub(super) fn orphans(&self) -> Option<Orphans> {
        let (api, gateway) = (self.api.clone(), Arc::clone(&self.gateway));
        (self.engines() == Engines::OneEach).then_some(Orphans { api, gateway })
    }

    /// Of whoever it is that runs there.
    fn socket(&self) -> String {
        let user = self.user.as_deref().unwrap_or("own");
        let name: String = user.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("/{HOME}/run/{name}/trl.sock")
    }

    fn memory(&self, oom_killed: bool) -> Memory {
        match &self.place {
            _ if oom_killed => Memory::RanOut,
            Place::Image(wanted) if wanted.limits.memory_bytes.is_some() => Memory::Limited,
            _ => Memory::Unlimited,
        }
    }

    /// Puts our program into a container, in a directory of its shelf and under a name.
    async fn give(&self, container: &str, binary: &Binary, place: (&str, &str)) -> Result<(), Error> {
        let (dir, name) = (format!("{HOME}/bin/{}", place.0).trim_end_matches('/').to_string(), place.1);
        let archive =
            Archive::new().dir(&format!("{HOME}/run"), RUN).and_then(|archive| archive.dir(&dir, PROGRAM));
        let bytes = binary.bytes().await?;
        let archive = archive
            .and_then(|archive| archive.file(&format!("{dir}/{name}"), PROGRAM, bytes))
            .map_err(|e| refused("copy", &e))?;
        self.api.put_archive(container, "/", archive).await.map_err(|e| refused("copy", &e))
    }

    /// The program for what an image is made for.
    async fn binary_for(&self, image: &str) -> Result<Binary, Error> {
        let found = self.api.image(image).await.map_err(|e| refused("copy", &e))?;
        let found = found.ok_or_else(|| unavailable("copy", &format!("the image {image} is gone")))?;
        // In the words of the kernel, not in those of Go.
        let arch = match found.architecture.as_str() {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        };
        Binary::of(arch).await
    }
}

fn place_of(binary: &Binary) -> String {
    format!("/{HOME}/bin/{}/{}", binary.digest, arrival::NAME)
}

fn refused(stage: &str, error: &trl_docker::Error) -> Error {
    unavailable(stage, &error.to_string())
}

fn template(image: &str, spec: &RuntimeSpec) -> Wanted {
    let limits = spec.limits.unwrap_or_default();
    let mounts = spec.mounts.iter().map(|mount| Mount {
        source: mount.source.clone().into(),
        target: mount.target.clone().unwrap_or_else(|| mount.source.clone()),
        access: if mount.read_only { Access::ReadOnly } else { Access::ReadWrite },
    });
    Wanted {
        image: image.into(),
        user: spec.user.clone(),
        limits: trl_docker::Limits {
            memory_bytes: limits.memory_bytes.filter(|bytes| *bytes > 0),
            cpu: limits.cpu.filter(|cpu| *cpu > 0.0),
            pids: limits.pids.filter(|pids| *pids > 0).map(|pids| pids.saturating_add(OWN_TASKS)),
        },
        mounts: mounts.collect(),
        network: match spec.network.as_deref() {
            None => Network::Default,
            Some("none") => Network::None,
            Some(name) => Network::Named(name.into()),
        },
        ..Wanted::default()
    }
}

/// The way to one engine.
#[derive(Debug)]
pub struct Route {
    docker: Arc<Docker>,
    whose: String,
    key: Key,
    /// The program in the container, once it is there.
    program: tokio::sync::OnceCell<String>,
    /// There may be a container of ours.
    made: AtomicBool,
}

impl Route {
    pub(super) fn new(docker: &Arc<Docker>, whose: &str, key: Key) -> Self {
        let (docker, whose, program) = (Arc::clone(docker), whose.into(), tokio::sync::OnceCell::new());
        Self { docker, whose, key, program, made: AtomicBool::new(false) }
    }

    /// What people see. The key tells it from one of the same session that is being removed.
    fn container(&self) -> String {
        match &self.docker.place {
            Place::Container(name) => name.clone(),
            Place::Image(_) => format!("trl-{}-{:.8}", self.whose, self.key.to_string()),
        }
    }

    pub(super) async fn connect(&self, steps: &Steps) -> Result<Connection, Failure> {
        let program = match self.program.get() {
            Some(program) => {
                self.lives().await?;
                program
            }
            None => {
                let program = match &self.docker.place {
                    Place::Container(name) => self.enter(name, steps).await?,
                    Place::Image(template) => self.make(template, steps).await?,
                };
                self.program.get_or_init(async || program).await
            }
        };
        let attached = self.docker.api.exec(&self.container(), &self.relay(program)).await;
        let attached = attached.map_err(|e| refused("connect", &e))?;
        Ok(Connection {
            reader: Reader::Container(attached.output),
            writer: Writer::Container(attached.input),
        })
    }

    fn relay(&self, program: &str) -> Exec {
        let mut argv = self.stdio(program);
        if self.docker.engines() == Engines::OneEach {
            argv.push("--engine-runs".into());
        }
        Exec { argv, user: self.docker.user.clone(), ..Exec::default() }
    }

    fn stdio(&self, program: &str) -> Vec<String> {
        let (key, socket) = (self.key.to_string(), self.docker.socket());
        [program, "stdio", "--resume", &key, "--socket", &socket].map(String::from).to_vec()
    }

    /// One that has ended took everything with it.
    async fn lives(&self) -> Result<(), Failure> {
        let gone = |why: &str| Err(Failure::Final(unavailable("connect", why)));
        match self.docker.api.inspect(&self.container()).await {
            Err(e) if e.is_not_found() => gone("the container was removed"),
            Err(e) => Err(refused("connect", &e).into()),
            Ok(found) => match found.status {
                Status::Ended { exit_code, .. } => {
                    gone(&end(exit_code, self.docker.memory(found.oom_killed)))
                }
                _ => Ok(()),
            },
        }
    }

    /// A container that is there already gets our program, if it has not got it.
    async fn enter(&self, name: &str, steps: &Steps) -> Result<String, Error> {
        let found = self.docker.api.inspect(name).await.map_err(|e| refused("connect", &e))?;
        if !matches!(found.status, Status::Running { .. }) {
            return Err(unavailable("connect", &format!("the container {name} does not run")));
        }
        let binary = self.docker.binary_for(&found.image_id).await?;
        let program = place_of(&binary);
        if !self.is_whole(&program, &binary.digest).await? {
            steps.during("copy", COPYING, self.settle(name, &binary)).await?;
        }
        Ok(program)
    }

    /// Beside its place first, and from there by itself: others may be at it as well, or run it already.
    async fn settle(&self, name: &str, binary: &Binary) -> Result<(), Error> {
        let new = format!("new.{}", self.key);
        self.docker.give(name, binary, ("", &new)).await?;
        let argv = [&format!("/{HOME}/bin/{new}"), "digest", "--settle", &binary.digest].map(String::from);
        match self.says(argv.into()).await? {
            said if said == binary.digest => Ok(()),
            said => Err(unavailable("copy", &format!("the program did not take its place there: {said}"))),
        }
    }

    /// Asked of the program itself: one that is not there, or not all of it, does not know.
    async fn is_whole(&self, program: &str, digest: &str) -> Result<bool, Error> {
        Ok(self.says(vec![program.into(), "digest".into()]).await? == digest)
    }

    /// What a program in the container prints.
    async fn says(&self, argv: Vec<String>) -> Result<String, Error> {
        use tokio::io::AsyncReadExt;
        let asked = self.docker.api.exec(&self.container(), &Exec { argv, ..Exec::default() }).await;
        let mut said = Vec::new();
        let mut output = asked.map_err(|e| refused("copy", &e))?.output;
        output.read_to_end(&mut said).await.map_err(|e| unavailable("copy", &e.to_string()))?;
        Ok(String::from_utf8_lossy(&said).trim().to_string())
    }

    /// A container of our own, in which the engine is process 1.
    async fn make(&self, template: &Wanted, steps: &Steps) -> Result<String, Error> {
        let api = &self.docker.api;
        if api.image(&template.image).await.map_err(|e| refused("connect", &e))?.is_none() {
            self.pull(&template.image, steps).await?;
        }
        let binary = self.docker.binary_for(&template.image).await?;
        let program = place_of(&binary);
        let labels = [(GATEWAY, &*self.docker.gateway), (WHOSE, &self.whose)];
        let mut argv = self.stdio(&program);
        argv.push("--engine-of-link".into());
        let wanted = Wanted {
            name: Some(self.container()),
            argv,
            labels: labels.map(|(name, value)| (name.to_string(), value.to_string())).into(),
            ..template.clone()
        };
        self.made.store(true, Ordering::Relaxed);
        let creating = steps.during("create", "the container is being made", api.create(&wanted));
        let created = creating.await.map_err(|e| refused("create", &e))?;
        created
            .warnings
            .iter()
            .for_each(|warning| tracing::warn!(warning, "a container is not all it should be"));
        let giving = self.docker.give(&created.id, &binary, (&binary.digest, arrival::NAME));
        steps.during("copy", COPYING, giving).await?;
        let starting = steps.during("create", "the container is being started", api.start(&created.id));
        starting.await.map_err(|e| refused("create", &e))?;
        Ok(program)
    }

    async fn pull(&self, image: &str, steps: &Steps) -> Result<(), Error> {
        let mut layers = BTreeMap::new();
        steps.now("pull", &format!("the image {image} is being pulled"));
        let pulled = self.docker.api.pull(image, |progress| {
            let trl_docker::Progress { id, status, current, total } = progress;
            if let (Some(current), Some(total)) = (current, total) {
                layers.insert(id, (current, total));
            }
            let sum = |part: fn(&(u64, u64)) -> u64| layers.values().map(part).sum::<u64>() as f64 / 1e6;
            let (done, all) = (sum(|layer| layer.0), sum(|layer| layer.1));
            let far = format!("the image {image} is being pulled: {status}, {done:.0} of {all:.0} MB");
            steps.now("pull", &far);
        });
        pulled.await.map_err(|e| refused("pull", &e))
    }

    pub(super) async fn leave(&self) {
        if self.made.load(Ordering::Relaxed) {
            let container = self.container();
            if let Err(error) = self.docker.api.remove(&container).await {
                tracing::warn!(container, %error, "a container could not be removed");
            }
        }
    }
}

/// What is known of a container's memory.
#[derive(Debug, Clone, Copy)]
enum Memory {
    RanOut,
    /// Docker hears of it from a control group that is gone a moment later, and may hear nothing.
    Limited,
    Unlimited,
}

/// Why a container is over.
fn end(exit_code: i64, memory: Memory) -> String {
    const KILLED: i64 = 128 + 9;
    match (exit_code, memory) {
        (KILLED, Memory::RanOut) => "the container ran out of memory".into(),
        (KILLED, Memory::Limited) => "the container was killed, perhaps for want of memory".into(),
        (KILLED, Memory::Unlimited) => "the container was killed".into(),
        (code, _) => format!("the container ended with code {code}"),
    }
}

/// Containers that a daemon made which was killed.
#[derive(Debug, Clone)]
pub struct Orphans {
    api: trl_docker::Docker,
    gateway: Arc<str>,
}

impl Orphans {
    /// Nobody knows their keys any more, so they are removed; but for those of whom `is_ours` says that they are of now.
    pub async fn remove(&self, is_ours: impl Fn(&str) -> bool) {
        let label = format!("{GATEWAY}={}", self.gateway);
        let found = match self.api.list(&[&label]).await {
            Ok(found) => found,
            Err(error) => return tracing::info!(%error, "containers of earlier daemons are not looked for"),
        };
        for container in found {
            if container.labels.get(WHOSE).is_some_and(|whose| is_ours(whose)) {
                continue;
            }
            tracing::info!(container = container.name, "removing a container of an earlier daemon");
            if let Err(error) = self.api.remove(&container.id).await {
                tracing::warn!(container = container.name, %error, "a container could not be removed");
            }
        }
    }

    /// Whether another looks for the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.api.socket() == other.api.socket()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trl_proto::limits::Limits;
    use trl_proto::runtime::RuntimeKind;

    #[test]
    fn no_limit_is_none_and_our_own_processes_have_room() {
        let limits = Limits { memory_bytes: Some(0), cpu: Some(1.5), pids: Some(10), ..Limits::default() };
        let spec = RuntimeSpec { limits: Some(limits), ..RuntimeSpec::new(RuntimeKind::Docker) };
        let expected = trl_docker::Limits { memory_bytes: None, cpu: Some(1.5), pids: Some(42) };
        assert_eq!(template("i", &spec).limits, expected);
    }

    #[test]
    fn an_end_has_a_reason() {
        assert_eq!(end(137, Memory::RanOut), "the container ran out of memory");
        assert_eq!(end(137, Memory::Limited), "the container was killed, perhaps for want of memory");
        assert_eq!(end(137, Memory::Unlimited), "the container was killed");
        // A command ran out of memory earlier, which is no reason.
        assert_eq!(end(0, Memory::RanOut), "the container ended with code 0");
    }

    #[test]
    fn a_container_that_is_there_cannot_be_told_what_it_is() {
        let spec = RuntimeSpec {
            container: Some("c".into()),
            network: Some("none".into()),
            ..RuntimeSpec::new(RuntimeKind::Docker)
        };
        assert!(Docker::of(&spec, "g").is_err());
        let spec = RuntimeSpec { network: None, ..spec };
        assert_eq!(Docker::of(&spec, "g").unwrap().engines(), Engines::Shared);
    }
}
