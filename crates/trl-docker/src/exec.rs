//! A program in a container that runs.
//!
//! 1. It is described to Docker, which gives it an id.
//! 2. It is started; the connection of that request becomes its streams.
//! 3. When it has ended, its exit code can be asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::attached::Attached;
use crate::container::assignments;
use crate::wire::{Ask, Wire, escaped};
use crate::{Docker, Result};

/// Docker tells nobody of the end of an exec: it is looked for, soon at first.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

/// A program to be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exec {
    pub argv: Vec<String>,
    /// On top of the container's.
    pub env: BTreeMap<String, String>,
    /// A name or a number, with a group behind a colon if need be; None is the container's own.
    pub user: Option<String>,
    /// None is the container's own.
    pub working_dir: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Described {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    running: bool,
    exit_code: Option<i64>,
}

impl Docker {
    /// Starts a program and gives its streams. The time to do that is limited, the program's is not.
    ///
    /// A program that cannot be started shows only then: Docker says why on its standard output, and gives it the exit
    /// code 126 or 127.
    pub async fn exec(&self, container: &str, wanted: &Exec) -> Result<Attached> {
        let path = format!("/containers/{}/exec", escaped(container));
        self.timed(&format!("POST {path}"), async {
            let mut wire = self.connect().await?;
            let id = describe(&mut wire, path.clone(), wanted).await?;
            let start = Ask::post(format!("/exec/{}/start", escaped(&id)));
            let begun = wire.send(start.json(&json!({"Detach": false, "Tty": false})).upgrade()).await?;
            let (connection, early) = wire.taken_over(begun).await?;
            Ok(Attached::new(id, connection, &early))
        })
        .await
    }

    /// The exit code of a program, by [`Attached::id`]. Waits for its end, which is a moment after that of its output.
    pub async fn exit_code(&self, exec: &str) -> Result<i64> {
        let path = format!("/exec/{}/json", escaped(exec));
        let (mut pause, longest) = LOOKS;
        self.timed(&format!("the end of {exec}"), async {
            let mut wire = self.connect().await?;
            loop {
                let begun = wire.send(Ask::get(path.clone())).await?;
                let found: Inspected = wire.whole(begun).await?.json()?;
                match found {
                    Inspected { running: false, exit_code: Some(code) } => return Ok(code),
                    _ => tokio::time::sleep(pause).await,
                }
                pause = longest.min(pause * 2);
            }
        })
        .await
    }
}

async fn describe(wire: &mut Wire, path: String, wanted: &Exec) -> Result<String> {
    let described = json!({
        "AttachStdin": true,
        "AttachStdout": true,
        "AttachStderr": true,
        "Tty": false,
        "Cmd": wanted.argv,
        "Env": assignments(&wanted.env),
        "User": wanted.user.as_deref().unwrap_or_default(),
        "WorkingDir": wanted.working_dir.as_deref().unwrap_or_default(),
    });
    let begun = wire.send(Ask::post(path).json(&described)).await?;
    let Described { id } = wire.whole(begun).await?.json()?;
    Ok(id)
}
