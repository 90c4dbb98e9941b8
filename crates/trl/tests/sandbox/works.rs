//! What people run, inside.

use std::path::{Path, PathBuf};

use trl_testkit::{Daemon, Run, Session, Shell, available, json};

use super::rows::{Needs, Row, Works, row};
use super::stage::Stage;
use super::{daemon, in_workspace};

/// In the table of the document: prints what it should and nothing else.
pub(crate) static WORKS: &[Row] = &[
    row("Python with asyncio, a child, threads", "python3 loop.py", |_, run| prints(run, "child 7 slept\n"))
        .works(Works::Everywhere)
        .with(|stage| stage.put("loop.py", EVENT_LOOP)),
    row("Python with a temporary file", "python3 -c \"$PROGRAM\"", |_, run| prints(run, "kept\n"))
        .works(Works::WorkspaceWrite)
        .with(|stage| {
            let text = "import tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\nprint('kept')";
            stage.set("PROGRAM", text);
        }),
    row("node with a child and a worker", "node main.js", |_, run| prints(run, "child worker\n"))
        .works(Works::WorkspaceWrite)
        .needs(Needs::Program("node"))
        .with(|stage| stage.put("main.js", WORKERS)),
    row(
        "git: init, commit, merge, clone, gc",
        "git init -q r && cd r && echo one >f && git add f && git commit -qm one && git checkout -qb other && \
         echo two >>f && git commit -qam two && git checkout -q - && git merge -q other && git clone -q . copy && \
         git gc -q && git log --format=%s%an",
        |_, run| prints(run, "twoTester\noneTester\n"),
    )
    .works(Works::WorkspaceWrite)
    .with(|stage| {
        stage.daemon.dir().file("home/.gitconfig", "[user]\nname = Tester\nemail = t@example.org\n");
    }),
    row("make and a C compiler", "make -s -j2", |_, run| prints(run, "built\n"))
        .works(Works::WorkspaceWrite)
        .needs(Needs::Program("make"))
        .with(|stage| {
            stage.put("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
            stage.put("Makefile", "all: main\n\t./main\nmain: main.c\n\tcc -o $@ $<\n");
        }),
    row("cargo build of a small crate", "PATH=$TOOLCHAIN:$PATH cargo run -q --offline", |_, run| prints(run, "built\n"))
        .works(Works::WorkspaceWrite)
        .needs(Needs::Toolchain)
        .with(make_crate),
    row("a server and its client, with `net: \"loopback\"`", "python3 talk.py 7877", |_, run| prints(run, "hello\nhello\n"))
        .works(Works::Everywhere)
        .net("loopback")
        .with(|stage| stage.put("talk.py", TALK)),
];

fn prints(run: &Run, text: &str) -> bool {
    run.code == 0 && run.out() == text
}

fn make_crate(stage: &mut Stage<'_>) {
    stage.put("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    stage.put("src/main.rs", "fn main() { println!(\"built\"); }\n");
    stage.set("TOOLCHAIN", toolchain().unwrap().display().to_string());
}

/// Where cargo and its compiler are, if this user can read them.
pub(crate) fn toolchain() -> Option<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_default();
    let dir = Path::new(&cargo).parent()?.to_path_buf();
    let compiler = dir.join("rustc").metadata();
    if compiler.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        eprintln!("SKIPPED: cargo's own toolchain is another user's; the same test runs as that user");
        return None;
    }
    available("cargo's own toolchain", dir.join("rustc").exists()).then_some(dir)
}

const EVENT_LOOP: &str = r#"
import asyncio, subprocess, concurrent.futures
async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        seven = await loop.run_in_executor(pool, lambda: 7)
    print(out.decode().strip(), seven, await asyncio.wait_for(asyncio.sleep(0, "slept"), 5))
asyncio.run(main())
"#;

const WORKERS: &str = r#"
const { execFileSync } = require("child_process"), fs = require("fs"), os = require("os");
const { Worker } = require("worker_threads");
fs.writeFileSync("made", execFileSync("echo", ["child"]));
fs.mkdtempSync(os.tmpdir() + "/x");
new Worker("require('worker_threads').parentPort.postMessage('worker')", { eval: true })
  .on("message", (text) => console.log(fs.readFileSync("made", "utf8").trim(), text));
"#;

const TALK: &str = r#"
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
fn a_server_and_its_client_on_a_loopback_of_their_own() {
    let daemon = daemon();
    put(&daemon, "talk.py", TALK);
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
