//! Everything against a real Docker daemon, which is started for it.
//!
//! The runner has one process for each test, and a daemon takes a second or two: so it is one test, with checks by name,
//! one after the other. Each makes containers of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod containers;
mod images;
mod measured;
mod streams;

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};

use trl_docker::{Created, Docker, Exec, Network, Wanted};
use trl_testkit::Dockerd;
use trl_testkit::dockerd::BUSYBOX;

/// A daemon, and a client of it.
struct World {
    dockerd: Dockerd,
    docker: Docker,
}

impl World {
    fn start() -> Option<Self> {
        let dockerd = Dockerd::start()?;
        let docker = Docker::at(dockerd.socket());
        Some(Self { dockerd, docker })
    }

    /// A container that runs until it is removed.
    async fn idle(&self, wanted: Wanted) -> String {
        let Created { id, warnings } = self.docker.create(&wanted).await.unwrap();
        assert_eq!(warnings, [] as [&str; 0]);
        self.docker.start(&id).await.unwrap();
        id
    }

    /// What a script prints, and its exit code; it complains of nothing.
    async fn run(&self, container: &str, script: &str) -> (String, i64) {
        let (said, words, code) = self.heard(container, &Exec { argv: sh(script), ..Exec::default() }).await;
        assert_eq!(words, "", "{script}");
        (said, code)
    }

    /// What a program prints and complains of, and its exit code.
    async fn heard(&self, container: &str, exec: &Exec) -> (String, String, i64) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut attached = self.docker.exec(container, exec).await.unwrap();
        attached.shutdown().await.unwrap();
        let mut said = String::new();
        attached.read_to_string(&mut said).await.unwrap();
        let code = self.docker.exit_code(&attached.id).await.unwrap();
        (said, attached.output.last_words(), code)
    }
}

fn sh(script: &str) -> Vec<String> {
    argv(&["/bin/sh", "-c", script])
}

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Does nothing, and can be told apart.
fn idler() -> Wanted {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    Wanted {
        image: BUSYBOX.into(),
        name: Some(format!("idler-{}", NEXT.fetch_add(1, Ordering::Relaxed))),
        argv: argv(&["/bin/sleep", "1000000"]),
        network: Network::None,
        ..Wanted::default()
    }
}

async fn check(name: &str, check: impl Future<Output = ()>) {
    eprintln!("- {name}");
    check.await;
}

macro_rules! checks {
    ($world:expr, $($module:ident: $($name:ident),+ ;)+) => {
        $($(check(stringify!($name), $module::$name(&$world)).await;)+)+
    };
}

#[tokio::test]
async fn everything_with_a_real_daemon() {
    let Some(mut world) = World::start() else { return };
    checks! { world,
        containers: it_is_docker, a_container_is_as_it_was_wanted, limits_hold, mounts_are_seen,
            a_container_ends_with_its_program, one_out_of_memory_says_so, one_that_cannot_start_says_why,
            what_is_wrong_is_told_in_the_words_of_the_daemon, containers_are_found_by_their_labels,
            one_that_is_removed_is_gone;
        images: an_image_is_there_or_not, an_image_is_pulled, what_the_registry_does_not_have_is_not_pulled,
            a_layer_that_is_not_what_it_should_be_is_not_pulled;
        streams: files_are_placed, a_file_is_read_while_it_is_sent, a_file_that_is_cut_is_an_error,
            a_program_answers, a_program_is_run_as_it_was_wanted, complaints_are_kept_aside,
            the_end_of_input_is_told, floods_pass_both_ways, a_program_that_is_not_there_is_told,
            many_programs_run_at_once;
    }
    check("what_a_killed_daemon_leaves", streams::what_a_killed_daemon_leaves(&mut world)).await;
}
