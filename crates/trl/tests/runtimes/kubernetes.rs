//! The example for Kubernetes: its settings and flags are those of this binary, and a session comes up by the words that lead to
//! a pod. There is no cluster here: a script in place of `kubectl` takes this machine for every pod. That the manifests are what
//! Kubernetes takes is checked by `cargo xtask test`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trl_testkit::{Builder, Value, json};

use crate::{output, session_in};

const TRL: &str = env!("CARGO_BIN_EXE_trl");

/// Everything in the manifests of one file.
fn objects(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kubernetes").join(file);
    let text = fs::read_to_string(&path).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

fn settings(file: &str) -> String {
    let all = objects(file);
    let map = all.iter().find(|object| object["kind"] == "ConfigMap").unwrap();
    map["data"]["config.toml"].as_str().unwrap().into()
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().into()).collect()
}

/// What the binary makes of a file with settings.
fn shown(dir: &TempDir, text: &str) -> Value {
    let file = dir.path().join("shown.toml");
    fs::write(&file, text).unwrap();
    let output =
        Command::new(TRL).args(["config", "show", "--json", "--config"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Words that ask for help beside anything that is not known are refused.
fn assert_known(words: &[String]) {
    let output = Command::new(TRL).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn settings_and_flags_of_the_example_are_those_of_this_binary() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = shown(&dir, &settings("gateway.yaml"));
    let set = |name: &str| &gateway["settings"][name]["value"];
    assert_eq!((set("runtimes.host"), set("runtimes.grace_s")), (&json!(false), &json!(600)));
    let there = shown(&dir, &settings("runtimes.yaml"));
    assert_eq!(there["settings"]["runtimes.grace_s"]["value"], *set("runtimes.grace_s"));
    let wrong = settings("gateway.yaml").replace("connect_s", "conect_s");
    fs::write(dir.path().join("wrong.toml"), wrong).unwrap();
    let show = ["config", "show", "--config"];
    assert!(!Command::new(TRL).args(show).arg(dir.path().join("wrong.toml")).status().unwrap().success());

    let all = objects("gateway.yaml");
    let deployment = all.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_known(&words(&container["args"]));
    for variable in container["env"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        let known = ["TRL_AUTH_TOKEN", "TRL_SOCKET_PATH", "TRL_DATA_DIR", "HOME"];
        assert!(known.contains(&name), "{name}");
    }
    let parsed: toml::Table = settings("gateway.yaml").parse().unwrap();
    let runtimes = parsed["runtimes"].as_table().unwrap().values().filter_map(toml::Value::as_table);
    for runtime in runtimes {
        let argv = runtime["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_string());
        let argv: Vec<String> = argv.map(|word| word.replace("{key}", &"0".repeat(32))).collect();
        let for_the_pod = argv.iter().position(|word| word == "--").unwrap() + 1;
        assert_eq!(argv[for_the_pod], "/trl/bin/trl");
        assert_known(&argv[for_the_pod + 1..]);
    }
}

/// Takes this machine for every pod, and the settings of the example for those there.
fn kubectl(dir: &TempDir) -> PathBuf {
    let pod = dir.path().join("pod");
    fs::create_dir(&pod).unwrap();
    fs::set_permissions(&pod, fs::Permissions::from_mode(0o700)).unwrap();
    let socket = format!("{}/trl.sock", pod.display());
    let there = settings("runtimes.yaml").replace("/tmp/trl/trl.sock", &socket).replace("\"10m\"", "1");
    fs::write(pod.join("config.toml"), there).unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n\
         [ \"$2 $3 $4\" = '/trl/bin/trl --config /trl/etc/config.toml' ] || exit 1\n\
         shift 4\nexec {TRL} --config {}/config.toml \"$@\"\n",
        pod.display()
    );
    fs::write(bin.join("kubectl"), script).unwrap();
    fs::set_permissions(bin.join("kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// The settings of a table and those in it.
fn with(builder: Builder, section: &str, table: &toml::Table) -> Builder {
    table.iter().fold(builder, |builder, (key, value)| match value {
        toml::Value::Table(inner) if section.is_empty() => with(builder, key, inner),
        toml::Value::Table(inner) => with(builder, &format!("{section}.{key}"), inner),
        value => builder.set(section, key, value),
    })
}

#[test]
fn a_session_comes_up_in_a_pod_of_the_example_and_probes_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    let bin = kubectl(&dir);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let table = settings("gateway.yaml").parse().unwrap();
    let builder = with(Builder::new(TRL), "", &table).set("runtimes", "grace_s", 1);
    let daemon = builder.env("PATH", &path).http().start();
    let mut client = daemon.client();
    let session = session_in(&mut client, json!({"any": {"pool": "runner"}}));
    assert_eq!(session["runtime"], "runner-0");
    assert_eq!(output(&mut client, &session, "echo in a pod"), "in a pod");
    client.refused("RUNTIME_UNAVAILABLE", "session.create", json!({}));

    let all = objects("gateway.yaml");
    let deployment = all.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let at = container[probe]["httpGet"]["path"].as_str().unwrap();
        assert_eq!(daemon.http().get(at).status, 200, "{probe}");
    }
}
