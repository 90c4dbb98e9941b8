//! Containers. A daemon takes a second or two, so there are few tests, each with checks by name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trl_testkit::dockerd::layer_for;
use trl_testkit::{Builder, Client, Daemon, Dockerd, Registry, Session, Value, available, eventually, json};

use crate::{TRL, create, create_with, refusal, suite, with_runtime};

/// What the program under test can run in, linked as it is for tests.
const IMAGE: &str = "tk/for-trl:latest";

struct World {
    dockerd: Dockerd,
}

impl World {
    fn socket(&self) -> Value {
        json!(self.dockerd.socket())
    }

    /// A daemon whose sessions have a container of the image each, and what else is said of them.
    fn gateway(&self, more: &[(&str, Value)]) -> Builder {
        let lines = [
            ("kind", json!("docker")),
            ("image", json!(IMAGE)),
            ("network", json!("none")),
            ("socket", self.socket()),
        ];
        with_runtime(&[&lines, more].concat())
    }

    /// A daemon whose sessions are in a container that is there already.
    fn inside(&self, container: &str) -> Builder {
        let lines = [("kind", json!("docker")), ("container", json!(container)), ("socket", self.socket())];
        with_runtime(&lines)
    }

    /// What Docker's own client says.
    fn docker(&self, words: &[&str]) -> String {
        let mut client = self.dockerd.client().expect("checked at the start");
        let output = client.args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// The containers of sessions, whether they run or not.
    fn containers(&self) -> Vec<String> {
        let listed = self.docker(&[
            "ps",
            "-a",
            "--no-trunc",
            "--filter",
            "label=trl.session",
            "--format",
            "{{.Names}}",
        ]);
        listed.lines().map(String::from).collect()
    }

    fn comes_to_rest(&self) {
        eventually("every container is removed", || self.containers().is_empty());
    }
}

fn world() -> Option<World> {
    let dockerd = Dockerd::start()?;
    if !available("docker, the client", dockerd.client().is_some()) {
        return None;
    }
    dockerd.import(IMAGE, &layer_for(Path::new(TRL)));
    Some(World { dockerd })
}

type Check = fn(&World);

/// By name, one after the other.
fn check(checks: &[(&str, Check)]) {
    let Some(world) = world() else { return };
    for (name, check) in checks {
        eprintln!("== {name}");
        check(&world);
    }
}

#[test]
fn sessions_in_containers() {
    check(&[
        ("whatever_holds_here_holds_there", whatever_holds_here_holds_there),
        ("each_session_has_a_container_of_its_own", each_session_has_a_container_of_its_own),
        ("a_container_is_as_it_is_described", a_container_is_as_it_is_described),
        ("limits_hold_and_are_told", limits_hold_and_are_told),
    ]);
}

#[test]
fn sessions_in_a_container_that_is_there() {
    check(&[("a_container_that_is_there_will_do", a_container_that_is_there_will_do)]);
}

#[test]
fn containers_come_and_go() {
    check(&[
        ("an_image_is_pulled", an_image_is_pulled),
        ("a_container_that_goes_takes_its_session_along", a_container_that_goes_takes_its_session_along),
        ("an_engine_out_of_memory_is_told", an_engine_out_of_memory_is_told),
        ("a_killed_daemon_leaves_nothing_for_long", a_killed_daemon_leaves_nothing_for_long),
        ("an_orderly_end_leaves_nothing", an_orderly_end_leaves_nothing),
        ("docker_is_quoted", docker_is_quoted),
    ]);
}

fn whatever_holds_here_holds_there(world: &World) {
    let daemon = world.gateway(&[]).start();
    suite::everything(&daemon);
    world.comes_to_rest();
}

fn each_session_has_a_container_of_its_own(world: &World) {
    let daemon = world.gateway(&[]).start();
    let [mut one, mut other] = [daemon.client(), daemon.client()].map(create);
    one.run("echo mine >/tmp/file");
    assert_eq!(other.run("cat /tmp/file 2>&1").code, 1);
    assert_eq!(world.containers().len(), 2);
    // Process 1 is the engine: whatever loses its parent is collected.
    assert!(one.run("tr '\\0' ' ' </proc/1/cmdline").out().contains("stdio --resume"));
    one.run("(sleep 0.01 &) ; sleep 0.05");
    eventually("no zombies", || one.run("ps | grep -c '[Z]'").out().trim() == "0");
    let name = world.containers().into_iter().find(|name| name.contains(&one.id)).unwrap();
    assert_eq!(world.docker(&["inspect", "-f", "{{index .Config.Labels \"trl.session\"}}", &name]), one.id);
    one.destroy();
    eventually("its container is removed", || world.containers().len() == 1);
    assert_eq!(other.run("echo on").out(), "on\n");
    other.destroy();
    world.comes_to_rest();
}

fn a_container_is_as_it_is_described(world: &World) {
    let dir = world.dockerd.dir();
    let shared = dir.dir("shared");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    dir.file("shared/file", "from outside\n");
    let mounts = json!([{"source": dir.text("shared"), "target": "/mnt", "read_only": true}]);
    let daemon = world.gateway(&[("mounts", mounts), ("user", json!("me"))]).start();
    let mut session = create(daemon.client());
    let said =
        session.run("id -un; cat /mnt/file; ls /sys/class/net; (echo >/mnt/x) 2>&1 | grep -o 'Read-only.*'");
    assert_eq!(said.out(), "me\nfrom outside\nlo\nRead-only file system\n");
    session.destroy();
    world.comes_to_rest();
}

fn limits_hold_and_are_told(world: &World) {
    let limits = json!({"memory_bytes": 64 << 20, "pids": 20, "cpu": 0.5});
    let daemon = world.gateway(&[("limits", limits)]).start();
    let mut session = create(daemon.client());
    let run = session.run("tail /dev/zero; echo \"code $?\"");
    assert_eq!(run.out(), "code 137\n");
    assert_eq!(run.json["usage"]["oom_killed"], true, "{}", run.json);
    assert_eq!(run.json["usage"]["limit_hit"], "memory_bytes", "{}", run.json);
    let run = session.run("echo fine");
    assert_eq!((run.out().as_str(), run.json["usage"]["oom_killed"] == true), ("fine\n", false));
    let run = session.run("i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done; echo all");
    assert_ne!(run.out(), "all\n", "{}", run.json);
    session.destroy();
    world.comes_to_rest();
}

fn a_container_that_is_there_will_do(world: &World) {
    world.docker(&["run", "-d", "--name", "there", "--network", "none", IMAGE, "/bin/sleep", "1000000"]);
    let daemon = world.inside("there").start();
    suite::everything(&daemon);
    let mut session = create(daemon.client());
    assert_eq!(session.run("tr '\\0' ' ' </proc/1/cmdline").out(), "/bin/sleep 1000000 ");
    let program = session.run("ls /.trl/bin/*/trl").out();
    session.destroy();
    drop(daemon);
    // The next daemon finds it there.
    let daemon = world.inside("there").start();
    let mut session = create(daemon.client());
    assert_eq!(session.run("ls /.trl/bin/*/trl").out(), program);
    let mut running = session.stream("echo begun; sleep 1000", json!({}));
    running.wait_stdout("begun");
    drop(running);
    world.docker(&["rm", "-f", "there"]);
    ends_with(&mut session, "the container was removed");
    let (stage, why) = refusal(daemon.client());
    assert!(stage == "connect" && why.contains("No such container"), "{why}");
}

/// Waits until the session is closed for this reason.
fn ends_with(session: &mut Session, reason: &str) {
    eventually("the session is closed", || session.state() == "closed");
    let info = session.info();
    assert!(info["ended"].as_str().is_some_and(|told| told.contains(reason)), "{info}");
}

fn a_container_that_goes_takes_its_session_along(world: &World) {
    let daemon = world.gateway(&[]).start();
    let mut session = create(daemon.client());
    let request = session.start("echo begun; sleep 1000", json!({}));
    session_runs(daemon.client(), &session.id);
    let [name] = world.containers().try_into().unwrap();
    world.docker(&["kill", &name]);
    let told = session.finish(request).unwrap_err();
    assert_eq!((told.code.as_str(), told.detail("began")), ("RUNTIME_UNAVAILABLE", &json!(true)));
    ends_with(&mut session, "the container was killed");
    world.comes_to_rest();
    // It can be opened again, in another.
    let id = session.id.clone();
    session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(session.run("echo again").out(), "again\n");
    assert_eq!(world.containers().len(), 1);
    session.destroy();
    world.comes_to_rest();
}

fn session_runs(mut client: Client, id: &str) {
    eventually("the command runs", || {
        !client.ok("session.info", json!({"session_id": id}))["running"].is_null()
    });
}

fn an_engine_out_of_memory_is_told(world: &World) {
    let daemon = world.gateway(&[("limits", json!({"memory_bytes": 64 << 20}))]).start();
    let mut session = create(daemon.client());
    // The kernel takes whoever it is told to take first, and that is process 1 here.
    let request = session.start(
        "echo 1000 >/proc/1/oom_score_adj; echo -1000 >/proc/self/oom_score_adj; tail /dev/zero",
        json!({}),
    );
    let _ = session.finish(request);
    // "ran out of memory", or that it may have: Docker itself does not always hear of it.
    ends_with(&mut session, "memory");
    world.comes_to_rest();
}

fn a_killed_daemon_leaves_nothing_for_long(world: &World) {
    let mut daemon = world.gateway(&[]).start();
    let mut session = create(daemon.client());
    session.run("echo hello");
    world.docker(&[
        "run",
        "-d",
        "--name",
        "another",
        "--label",
        "trl.session=s-other",
        "--label",
        "trl.gateway=other",
        "--network",
        "none",
        IMAGE,
        "/bin/sleep",
        "1000",
    ]);
    daemon.kill9();
    assert_eq!(world.containers().len(), 2);
    daemon.relaunch();
    eventually("its container is removed", || world.containers() == ["another"]);
    world.docker(&["rm", "-f", "another"]);
    let mut again = Session::known(daemon.client(), &session.id);
    again.client().ok("session.get", json!({"session_id": session.id}));
    assert_eq!(again.run("echo back").out(), "back\n");
    again.destroy();
    world.comes_to_rest();
}

fn an_orderly_end_leaves_nothing(world: &World) {
    let mut daemon: Daemon = world.gateway(&[]).start();
    let _session = create_with(daemon.client(), json!({"name": "kept"}));
    assert_eq!(world.containers().len(), 1);
    daemon.stop();
    assert_eq!(world.containers(), [] as [&str; 0]);
}

fn an_image_is_pulled(world: &World) {
    let layer = layer_for(Path::new(TRL));
    let native = world.docker(&["version", "-f", "{{.Server.Arch}}"]);
    let registry = Registry::with(&native, &layer, &layer);
    let daemon = world.gateway(&[("image", json!(registry.name("1")))]).start();
    let mut session = create(daemon.client());
    assert_eq!(session.run("echo pulled").out(), "pulled\n");
    session.destroy();
    world.comes_to_rest();
    let foreign = Registry::with("riscv64", &layer, &layer);
    let daemon = world.gateway(&[("image", json!(foreign.name("1")))]).start();
    let (stage, why) = refusal(daemon.client());
    assert!(stage == "copy" && why.contains("trl-riscv64-linux is not there"), "{stage}: {why}");
}

fn docker_is_quoted(world: &World) {
    let nowhere =
        with_runtime(&[("kind", json!("docker")), ("image", json!(IMAGE)), ("socket", json!("/no/such"))]);
    let (stage, why) = refusal(nowhere.start().client());
    assert!(stage == "connect" && why.contains("/no/such is not there"), "{why}");
    let absent = world.gateway(&[("image", json!("127.0.0.1:1/none/such"))]);
    let (stage, why) = refusal(absent.start().client());
    assert!(stage == "pull" && why.contains("127.0.0.1:1"), "{why}");
    let unmade = world.gateway(&[("mounts", json!([{"source": "/no/such/dir"}]))]);
    let (stage, why) = refusal(unmade.start().client());
    assert!(stage == "create" && why.contains("/no/such/dir"), "{why}");
    assert_eq!(world.containers(), [] as [&str; 0]);
}
