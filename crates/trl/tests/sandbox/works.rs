//! What people run, inside.

use std::path::Path;

use trl_testkit::{Daemon, Run, Session, Shell, available, json};

use super::{daemon, in_workspace};

fn inside(daemon: &Daemon, net: &str) -> Session {
    let sandbox = json!({"mode": "workspace-write", "net": net});
    daemon.session_with(Shell::Bash, in_workspace(daemon, "w", sandbox))
}

/// A file of the workspace.
fn put(daemon: &Daemon, name: &str, text: &str) {
    let path = daemon.dir().join("w").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn succeeds(session: &mut Session, command: &str) -> Run {
    let run = session.run(command);
    assert_eq!(run.code, 0, "{command}\n{}\n{}\n{:?}", run.out(), run.err(), run.json["denied"]);
    assert_eq!(run.json.get("denied"), None, "{command}");
    run
}

fn has(program: &str) -> bool {
    available(program, ["/usr/bin", "/usr/local/bin"].iter().any(|dir| Path::new(dir).join(program).exists()))
}

#[test]
fn python_with_an_event_loop_processes_and_threads() {
    let daemon = daemon();
    let script = r#"
import asyncio, os, subprocess, tempfile, threading, concurrent.futures
async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        seven = await loop.run_in_executor(pool, lambda: 7)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    print(out.decode().strip(), seven, await asyncio.wait_for(asyncio.sleep(0, "slept"), 5))
asyncio.run(main())
"#;
    put(&daemon, "loop.py", script);
    let mut session = inside(&daemon, "none");
    assert_eq!(succeeds(&mut session, "python3 loop.py").out(), "child 7 slept\n");
}

#[test]
fn shared_memory_and_pseudo_terminals_are_its_own() {
    let daemon = daemon();
    let script = r#"
import multiprocessing, os, pty, sys
from multiprocessing import shared_memory
def work(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(work, [2, 3]))
    memory = shared_memory.SharedMemory(create=True, size=64, name="trl-works")
    print(os.listdir("/dev/shm").count("trl-works"))
    memory.close(); memory.unlink()
    sys.stdout.flush()
    pty.spawn(["sh", "-c", "tty; test -t 0 && echo terminal"])
"#;
    put(&daemon, "own.py", script);
    let mut session = inside(&daemon, "none");
    let out = succeeds(&mut session, "python3 own.py").out().replace('\r', "");
    assert_eq!(out, "[4, 9]\n1\n/dev/pts/0\nterminal\n");
    assert_eq!(session.run("stat -c %n /dev/shm/* | wc -l; tty").code, 1);
}

#[test]
fn node_with_children_and_workers() {
    if !has("node") {
        return;
    }
    let daemon = daemon();
    let script = r#"
const { execFileSync } = require("child_process"), fs = require("fs"), os = require("os");
const { Worker } = require("worker_threads");
fs.writeFileSync("made", execFileSync("echo", ["child"]));
fs.mkdtempSync(os.tmpdir() + "/x");
new Worker("require('worker_threads').parentPort.postMessage('worker')", { eval: true })
  .on("message", (text) => console.log(fs.readFileSync("made", "utf8").trim(), text));
"#;
    put(&daemon, "main.js", script);
    let mut session = inside(&daemon, "none");
    assert_eq!(succeeds(&mut session, "node main.js").out(), "child worker\n");
}

#[test]
fn git_from_init_to_log() {
    if !has("git") {
        return;
    }
    let daemon = daemon();
    daemon.dir().file("home/.gitconfig", "[user]\nname = Tester\nemail = t@example.org\n");
    let mut session = inside(&daemon, "none");
    succeeds(&mut session, "git init -q . && echo one > f && git add f && git commit -qm one");
    succeeds(
        &mut session,
        "git checkout -qb other && echo two >> f && git commit -qam two && git stash list",
    );
    succeeds(&mut session, "git checkout -q - && git merge -q other && git clone -q . copy && git gc -q");
    assert_eq!(succeeds(&mut session, "git log --format=%s%an").out(), "twoTester\noneTester\n");
    // the same in a repository that was there before
    let mut again = inside(&daemon, "none");
    succeeds(
        &mut again,
        "echo three >> f && git commit -qam three && git rebase -q HEAD~1 && git status --short",
    );
}

#[test]
fn make_and_a_compiler() {
    if !has("make") || !has("cc") {
        return;
    }
    let daemon = daemon();
    put(&daemon, "main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
    put(&daemon, "Makefile", "all: main\n\t./main\nmain: main.c\n\tcc -o $@ $<\n");
    let mut session = inside(&daemon, "none");
    assert!(succeeds(&mut session, "make -s -j2").out().contains("built"));
}

#[test]
fn cargo_builds_a_crate() {
    let cargo = std::env::var("CARGO").unwrap_or_default();
    let toolchain = Path::new(&cargo).parent().map(Path::to_path_buf).unwrap_or_default();
    if !available("cargo's own toolchain", toolchain.join("rustc").exists()) {
        return;
    }
    let root = toolchain.parent().unwrap().display().to_string();
    let daemon = super::builder().set("sandbox", "read_dirs", format!("[{root:?}]")).start();
    put(&daemon, "Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    put(&daemon, "src/main.rs", "fn main() { println!(\"built\"); }\n");
    let mut session = inside(&daemon, "none");
    let path = toolchain.display();
    let run = succeeds(&mut session, &format!("PATH={path}:$PATH cargo run -q --offline"));
    assert_eq!(run.out(), "built\n");
}

#[test]
fn a_server_and_its_client_on_a_loopback_of_their_own() {
    let daemon = daemon();
    let script = r#"
import asyncio, sys
async def main():
    async def serve(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    for host in ("127.0.0.1", "::1"):
        server = await asyncio.start_server(serve, host, int(sys.argv[1]))
        reader, writer = await asyncio.open_connection(host, int(sys.argv[1]))
        writer.write(b"hello\n"); print((await reader.readline()).decode().strip())
        writer.close(); server.close()
asyncio.run(main())
"#;
    put(&daemon, "talk.py", script);
    // somebody outside has the same port: it is not that loopback
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut session = inside(&daemon, "loopback");
    assert_eq!(succeeds(&mut session, &format!("python3 talk.py {port}")).out(), "hello\nhello\n");
    taken.set_nonblocking(true).unwrap();
    assert!(taken.accept().is_err());
    let beyond = session.run("python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 5)'");
    assert_ne!(beyond.code, 0);
    // with the network of everybody it is
    let mut open = inside(&daemon, "all");
    let connect = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'");
    succeeds(&mut open, &connect);
    assert!(taken.accept().is_ok());
}
