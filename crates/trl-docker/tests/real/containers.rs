//! Containers: made as they are wanted, seen as they are.

use std::collections::BTreeMap;
use std::time::Duration;

use trl_docker::{Access, Container, Error, Limits, Mount, Status, Wanted};
use trl_testkit::{PATIENCE, eventually};

use crate::{World, argv, idler, sh};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Waits until a container is as it will be, which no call here announces.
async fn comes_to(world: &World, container: &str, is_so: impl Fn(&Container) -> bool) -> Container {
    let looking = async {
        loop {
            let found = world.docker.inspect(container).await.unwrap();
            if is_so(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap()
}

pub(crate) async fn it_is_docker(world: &World) {
    world.docker.ping().await.unwrap();
    let version = world.docker.version().await.unwrap();
    assert_eq!(version.os, "linux");
    assert!(version.api.starts_with("1.") && !version.engine.is_empty(), "{version:?}");
}

pub(crate) async fn a_container_is_as_it_was_wanted(world: &World) {
    let wanted = Wanted {
        name: Some("wanted".into()),
        env: map(&[("WHO", "me = you"), ("EMPTY", "")]),
        user: Some("me".into()),
        working_dir: Some("/tmp".into()),
        labels: map(&[("trl.session", "s-1")]),
        ..idler()
    };
    let id = world.docker.create(&wanted).await.unwrap().id;
    assert_eq!(world.docker.inspect(&id).await.unwrap().status, Status::Created);
    world.docker.start(&id).await.unwrap();
    world.docker.start(&id).await.unwrap();
    let found = world.docker.inspect("wanted").await.unwrap();
    assert_eq!(
        (found.id.as_str(), found.name.as_str(), &found.image),
        (id.as_str(), "wanted", &wanted.image)
    );
    assert_eq!(found.labels, wanted.labels);
    assert!(matches!(found.status, Status::Running { pid } if pid > 0), "{found:?}");
    assert!(world.docker.image(&found.image_id).await.unwrap().is_some());
    let script = "tr '\\0' ' ' </proc/1/cmdline; id -un; pwd; echo $WHO; ls /sys/class/net";
    assert_eq!(world.run(&id, script).await.0, "/bin/sleep 1000000 me\n/tmp\nme = you\nlo\n");
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn limits_hold(world: &World) {
    let limits = Limits { memory_bytes: Some(64 << 20), cpu: Some(0.5), pids: Some(20) };
    let wanted = Wanted { limits, ..idler() };
    // A kernel without a limit of swap makes the daemon warn, and that is told.
    let created = world.docker.create(&wanted).await.unwrap();
    assert!(created.warnings.iter().all(|warning| warning.contains("swap")), "{:?}", created.warnings);
    world.docker.start(&created.id).await.unwrap();
    let script = "cd /sys/fs/cgroup; cat pids.max pids/pids.max memory.max memory/memory.limit_in_bytes cpu.max \
                  cpu/cpu.cfs_quota_us 2>/dev/null; true";
    let (said, _) = world.run(&created.id, script).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["20", "67108864"]);
    assert!(["50000", "50000 100000"].contains(&lines[2]), "{said}");
    world.docker.remove(&created.id).await.unwrap();
}

pub(crate) async fn mounts_are_seen(world: &World) {
    let dir = world.dockerd.dir();
    dir.dir("shared");
    dir.file("shared/file", "from outside\n");
    let at = |target: &str, access| Mount { source: dir.join("shared"), target: target.into(), access };
    let mounts = vec![at("/mnt/read", Access::ReadOnly), at("/mnt/write", Access::ReadWrite)];
    let id = world.idle(Wanted { mounts, ..idler() }).await;
    let script =
        "cat /mnt/read/file; echo inside >/mnt/write/new; (echo >/mnt/read/x) 2>&1 | grep -o 'Read-only.*'";
    assert_eq!(world.run(&id, script).await.0, "from outside\nRead-only file system\n");
    assert_eq!(std::fs::read_to_string(dir.join("shared/new")).unwrap(), "inside\n");
    world.docker.remove(&id).await.unwrap();
    let missing = Mount { source: dir.join("missing"), ..at("/mnt", Access::ReadOnly) };
    let told = world.docker.create(&Wanted { mounts: vec![missing], ..idler() }).await;
    assert!(matches!(told, Err(Error::Api { status: 400, .. })), "{told:?}");
}

pub(crate) async fn a_container_ends_with_its_program(world: &World) {
    let id = world.idle(Wanted { argv: sh("exit 7"), ..idler() }).await;
    let found = comes_to(world, &id, |found| matches!(found.status, Status::Ended { .. })).await;
    assert_eq!((found.status, found.oom_killed), (Status::Ended { exit_code: 7, error: None }, false));
    let told = world.docker.exec(&id, &trl_docker::Exec { argv: sh("true"), ..Default::default() }).await;
    assert!(told.as_ref().is_err_and(Error::is_conflict), "{told:?}");
    world.docker.remove(&id).await.unwrap();
}

/// Process 1 lives on until Docker has heard of it: with it the control group goes, and what was not heard by then never is.
pub(crate) async fn one_out_of_memory_says_so(world: &World) {
    let limits = Limits { memory_bytes: Some(32 << 20), ..Limits::default() };
    let script = "tail /dev/zero; until [ -e /tmp/heard ]; do sleep 0.05; done; exit 7";
    let wanted = Wanted { argv: sh(script), limits, ..idler() };
    let id = world.docker.create(&wanted).await.unwrap().id;
    world.docker.start(&id).await.unwrap();
    eventually("Docker has heard of it", || heard_of(world, &id, "oom"));
    world.run(&id, "touch /tmp/heard").await;
    let found = comes_to(world, &id, |found| matches!(found.status, Status::Ended { .. })).await;
    assert_eq!((found.status, found.oom_killed), (Status::Ended { exit_code: 7, error: None }, true));
    world.docker.remove(&id).await.unwrap();
}

/// Whether Docker's own client tells of such an event.
fn heard_of(world: &World, container: &str, event: &str) -> bool {
    let mut client = world.dockerd.client().expect("it comes with the daemon");
    client.args(["events", "--since", "10m", "--until", "0s", "--format", "{{.ID}}"]);
    let told = client.args(["--filter", &format!("event={event}")]).output().unwrap();
    String::from_utf8_lossy(&told.stdout).contains(container)
}

pub(crate) async fn one_that_cannot_start_says_why(world: &World) {
    let wanted = Wanted { argv: argv(&["/no/such/program"]), ..idler() };
    let id = world.docker.create(&wanted).await.unwrap().id;
    let told = world.docker.start(&id).await;
    assert!(
        matches!(&told, Err(Error::Api { status: 400 | 404, message }) if message.contains("no such file")),
        "{told:?}"
    );
    let found = world.docker.inspect(&id).await.unwrap();
    assert!(
        matches!(&found.status, Status::Ended { exit_code: 127, error: Some(why) } if why.contains("no such file")),
        "{found:?}"
    );
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn what_is_wrong_is_told_in_the_words_of_the_daemon(world: &World) {
    let told = world.docker.inspect("nobody").await.unwrap_err();
    assert!(told.is_not_found() && told.to_string().contains("No such container: nobody"), "{told}");
    let told = world.docker.create(&Wanted { image: "none/such".into(), ..idler() }).await.unwrap_err();
    assert!(told.is_not_found() && told.to_string().contains("No such image"), "{told}");
    let wanted = idler();
    let id = world.docker.create(&wanted).await.unwrap().id;
    let told = world.docker.create(&wanted).await.unwrap_err();
    assert!(told.is_conflict() && told.to_string().contains("already in use"), "{told}");
    world.docker.remove(&id).await.unwrap();
}

pub(crate) async fn containers_are_found_by_their_labels(world: &World) {
    let labelled = |session: &str| Wanted {
        labels: map(&[("trl.gateway", "g = 1, ü"), ("trl.session", session)]),
        ..idler()
    };
    let runs = world.idle(labelled("a")).await;
    let stands = world.docker.create(&labelled("b")).await.unwrap().id;
    let other = world.idle(idler()).await;
    let found = world.docker.list(&["trl.gateway=g = 1, ü"]).await.unwrap();
    let mut seen: Vec<_> =
        found.iter().map(|one| (one.labels["trl.session"].as_str(), one.running)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("a", true), ("b", false)]);
    let both = world.docker.list(&["trl.gateway", "trl.session=b"]).await.unwrap();
    assert_eq!(both.iter().map(|one| &one.id).collect::<Vec<_>>(), [&stands]);
    assert!(both[0].name.starts_with("idler-"), "{both:?}");
    assert!(world.docker.list(&["trl.gateway=g"]).await.unwrap().is_empty());
    assert_eq!(world.docker.list(&[]).await.unwrap().len(), 3);
    for id in [runs, stands, other] {
        world.docker.remove(&id).await.unwrap();
    }
}

pub(crate) async fn one_that_is_removed_is_gone(world: &World) {
    let id = world.idle(idler()).await;
    world.docker.remove(&id).await.unwrap();
    assert!(world.docker.inspect(&id).await.unwrap_err().is_not_found());
    world.docker.remove(&id).await.unwrap();
    assert!(world.docker.list(&[]).await.unwrap().is_empty());
}
