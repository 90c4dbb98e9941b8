//! Sessions that live elsewhere, against a real sshd and a real Docker daemon: whatever is asked of a session is answered
//! as it would be here, and what goes wrong on the way is told in the words of whoever said no.
//!
//! - [`suite`]: what holds wherever a session lives. - [`ssh`], [`docker`]: each with what is its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod docker;
mod ssh;
mod suite;

use trl_testkit::{Builder, Client, Session, Value, json, merged};

const TRL: &str = env!("CARGO_BIN_EXE_trl");

/// A daemon with one runtime, `there`, that these lines of its section describe.
fn with_runtime(lines: &[(&str, Value)]) -> Builder {
    let builder = Builder::new(TRL).set("exec", "grace_s", 0.6);
    lines.iter().fold(builder, |builder, (key, value)| builder.set("runtimes.there", key, toml(value)))
}

/// JSON as TOML: the same for texts, numbers and lists of them.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn create(client: Client) -> Session {
    create_with(client, json!({}))
}

fn create_with(client: Client, extra: Value) -> Session {
    Session::create(client, merged(json!({"runtime": "there", "shell": "/bin/sh"}), extra))
}

/// At which stage no session comes of it, and why.
fn refusal(mut client: Client) -> (String, String) {
    let told = client.refused("RUNTIME_UNAVAILABLE", "session.create", json!({"runtime": "there"}));
    assert_eq!(told.detail("runtime"), "there");
    (told.detail("stage").as_str().expect("a stage").into(), told.message)
}
