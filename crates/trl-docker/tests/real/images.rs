//! Images: looked for, and pulled from a registry of the test's own.

use trl_docker::{Error, Progress};
use trl_testkit::Registry;
use trl_testkit::dockerd::BUSYBOX;

use crate::World;

/// A tar archive of one file that does not compress to nothing.
fn layer() -> Vec<u8> {
    let dir = trl_testkit::Scratch::new();
    dir.file("file", trl_testkit::Random::seeded(7).bytes(3 << 20));
    let tar = std::process::Command::new("tar").arg("-cC").arg(dir.path()).arg("file").output().unwrap();
    assert!(tar.status.success());
    tar.stdout
}

pub(crate) async fn an_image_is_there_or_not(world: &World) {
    assert_eq!(world.docker.image("none/such:1").await.unwrap(), None);
    let image = world.docker.image(BUSYBOX).await.unwrap().unwrap();
    let version = world.docker.version().await.unwrap();
    assert_eq!((image.os, image.architecture), (version.os, version.architecture));
    assert_eq!(world.docker.image(&image.id).await.unwrap().unwrap().id, image.id);
}

pub(crate) async fn an_image_is_pulled(world: &World) {
    let layer = layer();
    let registry = Registry::with("arm64", &layer, &layer);
    let name = registry.name("1");
    assert_eq!(world.docker.image(&name).await.unwrap(), None);
    let mut seen: Vec<Progress> = Vec::new();
    world.docker.pull(&name, |progress| seen.push(progress)).await.unwrap();
    let size = Some(layer.len() as u64);
    assert!(seen.iter().any(|step| step.total == size && !step.id.is_empty()), "{seen:#?}");
    assert!(seen.iter().any(|step| step.status.starts_with("Digest: sha256:")), "{seen:#?}");
    let image = world.docker.image(&name).await.unwrap().unwrap();
    assert_eq!((image.os.as_str(), image.architecture.as_str()), ("linux", "arm64"));
}

pub(crate) async fn what_the_registry_does_not_have_is_not_pulled(world: &World) {
    let registry = Registry::with("arm64", b"", b"");
    let told = world.docker.pull(&registry.name("2"), drop).await.unwrap_err();
    assert!(told.to_string().contains("manifest"), "{told}");
    let told = world.docker.pull("Not A Name", drop).await;
    assert!(matches!(told, Err(Error::Api { status: 400, .. })), "{told:?}");
}

/// The answer began with 200: what is wrong comes as its last line.
pub(crate) async fn a_layer_that_is_not_what_it_should_be_is_not_pulled(world: &World) {
    let mut layer = layer();
    let good = layer.clone();
    layer[1 << 20] ^= 1;
    let registry = Registry::with("arm64", &layer, &good);
    let told = world.docker.pull(&registry.name("1"), drop).await;
    assert!(matches!(told, Err(Error::Pull { .. })), "{told:?}");
    assert_eq!(world.docker.image(&registry.name("1")).await.unwrap(), None);
}
