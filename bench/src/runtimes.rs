//! A command elsewhere, beside the cheapest thing that can be asked there: one byte, sent back over a stream of the same kind.
//!
//! - `echo`: `cat` at the other end of `ssh`, or of an exec of Docker's API, which is what a link runs on.
//! - `each time`: what is done without a daemon: `ssh host true` over a master connection that is there, `docker exec`.
//!
//! A command elsewhere is that of here, and a way there and back; that the way has a relay and a link on it may cost as much
//! again.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use trl_docker::{Attached, Docker, Exec, Network, Wanted};
use trl_proto::runtime::RuntimeWish;
use trl_proto::session::CreateParams;
use trl_testkit::dockerd::BUSYBOX;
use trl_testkit::{Dockerd, Sshd};

use crate::Plan;
use crate::daemon::{Daemon, Home};
use crate::race::{Race, Results, thoughtful, timed};
use crate::raw::Peer;
use crate::report::{Bar, Report};

/// There everywhere. In the container it is that of busybox, so what is compared with it is that, too.
const SHELL: &str = "/bin/sh";
const PLACES: [&str; 2] = ["ssh", "docker"];

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let sshd = Sshd::start().context("there is no sshd")?;
    let dockerd = Dockerd::start().context("there is no Docker")?;
    let daemon = Daemon::start_at(&plan.trl, &Home::new()?.with_settings(&settings(&sshd, &dockerd))?)?;
    let master = Master::start(&sshd)?;
    let calls = plan.pick(20, 10);
    let mut race = Race::default();
    let ash = ash(&sshd)?;
    let sessions = [
        ("host", SHELL, "here ssh"),
        ("ssh", SHELL, "run ssh"),
        ("host", &ash, "here docker"),
        ("docker", SHELL, "run docker"),
    ];
    for (place, shell, name) in sessions {
        let mut client = daemon.client()?;
        let session = client.create_with(CreateParams {
            shell: Some(shell.into()),
            working_dir: Some("/".into()),
            runtime: Some(RuntimeWish::Named(place.into())),
            ..CreateParams::default()
        })?;
        race.add(name, move || thoughtful(calls, || timed(|| client.run(&session, "true").map(drop))));
    }
    let mut echo = Peer::of(ssh(&sshd, &[]).arg("cat"))?;
    race.add("echo ssh", move || thoughtful(calls, || timed(|| echo.round_trip())));
    let mut echo = Exchange::start(&dockerd)?;
    race.add("echo docker", move || thoughtful(calls, || timed(|| echo.round_trip())));
    race.add("each ssh", || thoughtful(3, || timed(|| succeed(&mut master.command()))));
    race.add("each docker", || thoughtful(3, || timed(|| succeed(&mut docker_exec(&dockerd)?))));
    show(&race.run(plan.pick(40, 6))?, report)
}

fn show(results: &Results, report: &mut Report) -> Result<()> {
    for place in PLACES {
        let here = results.p50(&format!("here {place}"))?;
        let run = results.p50(&format!("run {place}"))?;
        let echo = results.p50(&format!("echo {place}"))?;
        let each = results.p50(&format!("each {place}"))?;
        report.ratio(
            format!("{place}: (exec.run there - here) / one byte there and back"),
            format!("{run:.0} us, here {here:.0}, byte {echo:.0}"),
            (run - here) / echo,
            Bar::AtMost(2.0),
        );
        let without = if place == "ssh" { "`ssh host true`, with a master" } else { "`docker exec true`" };
        report.ratio(
            format!("{place}: {without} / exec.run"),
            format!("{each:.0} us"),
            each / run,
            Bar::Shown,
        );
    }
    Ok(())
}

fn settings(sshd: &Sshd, dockerd: &Dockerd) -> String {
    format!(
        "[runtimes.ssh]\nkind = \"ssh\"\ntarget = {:?}\noptions = {:?}\n\
         [runtimes.docker]\nkind = \"docker\"\nimage = {BUSYBOX:?}\nnetwork = \"none\"\nsocket = {:?}\n",
        sshd.target(),
        sshd.options(),
        dockerd.socket(),
    )
}

/// The shell of the container, here.
fn ash(sshd: &Sshd) -> Result<String> {
    let ash = sshd.dir().join("ash");
    std::os::unix::fs::symlink("/usr/bin/busybox", &ash)?;
    Ok(ash.display().to_string())
}

fn ssh(sshd: &Sshd, options: &[&str]) -> Command {
    let mut command = Command::new("ssh");
    command.arg("-T").args(options).args(sshd.options()).arg(sshd.target());
    command
}

/// A connection that is there, for others to go through.
struct Master<'a> {
    sshd: &'a Sshd,
    path: String,
}

impl<'a> Master<'a> {
    fn start(sshd: &'a Sshd) -> Result<Self> {
        let path = format!("-oControlPath={}", sshd.dir().text("master"));
        succeed(ssh(sshd, &["-fN", "-oControlMaster=yes", &path]).stderr(Stdio::null()))?;
        Ok(Self { sshd, path })
    }

    fn command(&self) -> Command {
        let mut command = ssh(self.sshd, &[&self.path]);
        command.arg("true");
        command
    }
}

impl Drop for Master<'_> {
    fn drop(&mut self) {
        let _ = ssh(self.sshd, &[&self.path, "-Oexit"]).stderr(Stdio::null()).status();
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn docker_exec(dockerd: &Dockerd) -> Result<Command> {
    let mut command = dockerd.client().context("there is no client of Docker's own")?;
    command.args(["exec", IDLER, "true"]);
    Ok(command)
}

/// A container that has nothing to do.
const IDLER: &str = "bench-idler";

/// A program in a container that sends back each byte.
struct Exchange {
    runtime: Runtime,
    attached: Attached,
}

impl Exchange {
    fn start(dockerd: &Dockerd) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let docker = Docker::at(dockerd.socket());
        let attached = runtime.block_on(async {
            let argv = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
            let wanted = Wanted {
                image: BUSYBOX.into(),
                name: Some(IDLER.into()),
                argv: argv(&["/bin/sleep", "1000000"]),
                network: Network::None,
                ..Wanted::default()
            };
            let idler = docker.create(&wanted).await?;
            docker.start(&idler.id).await?;
            docker.exec(IDLER, &Exec { argv: argv(&["/bin/cat"]), ..Exec::default() }).await
        })?;
        Ok(Self { runtime, attached })
    }

    fn round_trip(&mut self) -> Result<()> {
        let Self { runtime, attached } = self;
        runtime.block_on(async {
            attached.input.write_all(b"x").await?;
            let mut byte = [0];
            match attached.output.read(&mut byte).await? {
                1 => Ok(()),
                _ => bail!("no byte came back"),
            }
        })
    }
}
