//! What was approved is what runs: programs and directories that another process changes between question and answer.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use trl_testkit::{Client, Daemon, Rounds, RpcError, Shell, eventually, merged};

use super::{approve, next_request, subscribe, with_rules};

const ASK: &str = "default: ask\n";

/// A workspace with a harmless script, and a program that leaves a mark.
struct World {
    dir: PathBuf,
}

impl World {
    fn new(daemon: &Daemon, name: &str) -> Self {
        let world = Self { dir: daemon.dir().dir(&format!("work/{name}")) };
        world.put("run.sh", "#!/bin/sh\necho good\n");
        world.put("evil.sh", &format!("#!/bin/sh\necho evil > {}\n", world.at("mark").display()));
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn is_marked(&self) -> bool {
        self.at("mark").exists()
    }
}

/// A way to put another program in the place of `run.sh`.
type Replace = fn(&World);

const REPLACEMENTS: [(&str, Replace); 3] = [
    ("renamed", |world| fs::rename(world.at("evil.sh"), world.at("run.sh")).unwrap()),
    ("rewritten", |world| {
        let text = fs::read_to_string(world.at("evil.sh")).unwrap();
        fs::write(world.at("run.sh"), text).unwrap();
    }),
    ("linked", |world| {
        fs::remove_file(world.at("run.sh")).unwrap();
        symlink("evil.sh", world.at("run.sh")).unwrap();
    }),
];

/// A way to have a program started; what comes of it after the approval.
type Door = fn(&mut Client, &World, &mut dyn FnMut()) -> Result<Value, RpcError>;

fn start(client: &mut Client, params: Value, approve: &mut dyn FnMut()) -> Result<Value, RpcError> {
    let started = client.ok("exec.start", merged(json!({"approval": "return"}), params));
    approve();
    client.call("exec.wait", json!({"execution_id": started["execution_id"]}))?;
    client.call("exec.result", json!({"execution_id": started["execution_id"]}))
}

fn made(
    client: &mut Client,
    method: &str,
    world: &World,
    approve: &mut dyn FnMut(),
) -> Result<Value, RpcError> {
    let sent = client.send(method, json!({"argv": [world.text("run.sh")], "working_dir": world.text("")}));
    approve();
    client.reply(sent)
}

const DOORS: [(&str, Door); 6] = [
    ("exec.start argv", |client, world, approve| {
        start(client, json!({"argv": [world.text("run.sh")]}), approve)
    }),
    ("exec.start text", |client, world, approve| {
        start(client, json!({"command": "./run.sh", "working_dir": world.text("")}), approve)
    }),
    ("exec.start tty", |client, world, approve| {
        start(client, json!({"argv": [world.text("run.sh")], "tty": true}), approve)
    }),
    ("exec.start in a sandbox", |client, world, approve| {
        let params = json!({"argv": [world.text("run.sh")], "working_dir": world.text(""), "sandbox": "workspace-write"});
        start(client, params, approve)
    }),
    ("session.create", |client, world, approve| made(client, "session.create", world, approve)),
    ("terminal.create", |client, world, approve| made(client, "terminal.create", world, approve)),
];

#[test]
fn replaced_program_does_not_run() {
    let daemon = with_rules(ASK);
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    for (door, run) in DOORS {
        for (way, replace) in REPLACEMENTS {
            let world = World::new(&daemon, &format!("{}-{way}", door.replace(' ', "-")));
            let told = run(&mut client, &world, &mut || {
                let request = next_request(&mut operator);
                replace(&world);
                approve(&mut operator, &request);
            });
            let error = told.expect_err(&format!("{door}, {way}"));
            assert_eq!(error.code, "APPROVAL_DENIED", "{door}, {way}: {}", error.json);
            assert!(
                error.message.contains("changed since it was approved"),
                "{door}, {way}: {}",
                error.message
            );
            assert!(
                error.hint.is_some_and(|hint| hint.contains("ask for the command again")),
                "{door}, {way}"
            );
            assert!(!world.is_marked(), "{door}, {way}");
        }
        let world = World::new(&daemon, &format!("{}-untouched", door.replace(' ', "-")));
        let told = run(&mut client, &world, &mut || {
            let request = next_request(&mut operator);
            approve(&mut operator, &request);
        });
        assert!(told.is_ok(), "{door}: {:?}", told.map_err(|error| error.json));
    }
}

#[test]
fn replaced_interpreter_does_not_run() {
    let daemon = with_rules(ASK);
    let mut operator = subscribe(&daemon);
    let world = World::new(&daemon, "w");
    fs::copy("/bin/sh", world.at("shell")).unwrap();
    world.put("run.sh", &format!("#!{}\necho good\n", world.text("shell")));
    let told = start(&mut daemon.client(), json!({"argv": [world.text("run.sh")]}), &mut || {
        let request = next_request(&mut operator);
        assert_eq!(request["executables"][1]["path"], world.text("shell"));
        fs::rename(world.at("evil.sh"), world.at("shell")).unwrap();
        approve(&mut operator, &request);
    });
    assert_eq!(told.expect_err("another interpreter").code, "APPROVAL_DENIED");
    assert!(!world.is_marked());
}

/// Another directory, with a file of the same name, in the place of the one that was shown.
fn replace_dir(world: &World) {
    fs::rename(world.at("shown"), world.at("moved")).unwrap();
    symlink("other", world.at("shown")).unwrap();
}

fn two_dirs(world: &World) {
    for dir in ["shown", "other"] {
        fs::create_dir(world.at(dir)).unwrap();
        fs::write(world.at(dir).join("f"), "precious").unwrap();
    }
}

#[test]
fn replaced_directory_is_not_entered() {
    let daemon = with_rules(ASK);
    let mut operator = subscribe(&daemon);
    for (name, params) in [
        ("argv", json!({"argv": ["rm", "f"]})),
        ("text", json!({"command": "rm f"})),
        ("tty", json!({"argv": ["rm", "f"], "tty": true})),
    ] {
        let world = World::new(&daemon, name);
        two_dirs(&world);
        let params = merged(params, json!({"working_dir": world.text("shown")}));
        let told = start(&mut daemon.client(), params, &mut || {
            let request = next_request(&mut operator);
            replace_dir(&world);
            approve(&mut operator, &request);
        });
        let error = told.expect_err(name);
        assert!(error.message.contains("working directory"), "{name}: {}", error.message);
        assert!(world.at("other/f").exists(), "{name}");
    }
    // A session's shell has its state to lose, so the approver is asked again.
    let world = World::new(&daemon, "session");
    two_dirs(&world);
    let mut session = daemon.session(Shell::Dash);
    let sent = session.start("rm f", json!({"working_dir": world.text("shown")}));
    let request = next_request(&mut operator);
    replace_dir(&world);
    approve(&mut operator, &request);
    let again = next_request(&mut operator);
    assert_ne!(again["digest"], request["digest"]);
    assert!(world.at("other/f").exists());
    approve(&mut operator, &again);
    assert_eq!(session.finish(sent).expect("approved as it is now").code, 0);
}

#[test]
fn pin_outlives_the_daemon() {
    for replaced in [true, false] {
        let mut daemon = with_rules(ASK);
        let mut operator = subscribe(&daemon);
        let dir = World::new(&daemon, "w").dir;
        let start = json!({"argv": [dir.join("run.sh")], "approval": "return", "working_dir": dir});
        let asked = daemon.client().ok("exec.start", start);
        let request = next_request(&mut operator);
        daemon.kill9();
        if replaced {
            fs::rename(dir.join("evil.sh"), dir.join("run.sh")).unwrap();
        }
        daemon.relaunch();
        approve(&mut daemon.operator(), &request);
        let mut agent = daemon.client();
        let mut result = || agent.call("exec.result", json!({"execution_id": asked["execution_id"]}));
        if replaced {
            eventually("it is refused", || result().is_err_and(|error| error.code == "APPROVAL_DENIED"));
        } else {
            eventually("it runs", || result().is_ok_and(|result| result["stdout"] == "good\n"));
        }
        assert!(!dir.join("mark").exists());
    }
}

#[test]
fn approved_program_keeps_its_names() {
    let daemon = with_rules(ASK);
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    let world = World::new(&daemon, "w");
    world.put("run.sh", "#!/bin/sh\necho \"$0 $1\"\n");
    fs::copy("/usr/bin/readlink", world.at("who")).unwrap();
    symlink("who", world.at("link")).unwrap();
    let (script, program) = (world.text("run.sh"), world.text("who"));
    for (argv, said) in [
        ([script.as_str(), "x"], format!("{script} x\n")),
        ([program.as_str(), "/proc/self/exe"], format!("{program}\n")),
        ([&world.text("link"), "/proc/self/exe"], format!("{program}\n")),
    ] {
        for sandbox in ["off", "workspace-write"] {
            let params = json!({"argv": argv, "working_dir": world.text(""), "sandbox": sandbox});
            let done = start(&mut client, params, &mut || {
                let request = next_request(&mut operator);
                approve(&mut operator, &request);
            });
            assert_eq!(done.expect("it runs")["stdout"], said, "{argv:?} {sandbox}");
        }
    }
}

/// Exchanges two files until told to stop, and leaves them as they were.
fn exchange(one: &Path, two: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..2 {
            renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
        }
    }
}

mod races {
    use super::*;

    #[test]
    fn raced_program_never_runs_another() {
        let daemon = with_rules(ASK);
        let mut operator = subscribe(&daemon);
        let mut client = daemon.client();
        let world = World::new(&daemon, "w");
        fs::copy("/usr/bin/true", world.at("good")).unwrap();
        fs::copy("/usr/bin/touch", world.at("evil")).unwrap();
        for round in Rounds::new(100) {
            let sandbox = if round % 2 == 0 { "off" } else { "workspace-write" };
            let argv = [world.text("good"), world.text("mark")];
            let params = json!({"argv": argv, "working_dir": world.text(""), "sandbox": sandbox});
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let _ = start(&mut client, params, &mut || {
                    let request = next_request(&mut operator);
                    scope.spawn(|| exchange(&world.at("good"), &world.at("evil"), &stop));
                    approve(&mut operator, &request);
                });
                stop.store(true, Ordering::Relaxed);
            });
            assert!(!world.is_marked(), "round {round}, sandbox {sandbox}");
        }
    }
}
