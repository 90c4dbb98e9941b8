/** Sessions, terminals and files. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Client } from "trl-client";

import { Daemon, text } from "./daemon.js";

let daemon: Daemon;
let trl: Client;
before(async () => {
  daemon = await Daemon.start();
  trl = daemon.client();
});
after(() => daemon.remove());

test("the state of a session stays", async () => {
  const session = await trl.session({ shell: "bash", name: "work" });
  {
    await using work = session;
    (await work.run("cd /usr && export WHO=me && f() { echo f $1; }")).check();
    assert.equal((await work.run("echo $WHO in $PWD; f x")).text, "me in /usr\nf x\n");
    assert.equal((await work.run("WHO=nobody; exit 3")).shellState, "rolled_back");
    assert.equal((await work.run("echo $WHO")).text, "me\n");
    assert.equal((await work.info()).name, "work");
    assert.equal((await work.history())[0]?.command, "echo $WHO");
  }
  assert.equal((await session.info()).state, "terminated");
});

test("a block ends what it made once", async () => {
  await using session = await trl.session();
  await session.destroy();
  await using terminal = await trl.terminal(["cat"]);
  await terminal.destroy();
});

test("a session is kept, restored and opened again", async () => {
  const session = await trl.session({ shell: "bash" });
  await session.run("A=1");
  const kept = await session.checkpoint({ label: "before" });
  await session.run("A=2");
  assert.deepEqual((await session.checkpoints())[0]?.checkpoint_id, kept.checkpoint_id);
  assert.deepEqual((await session.restore(kept.checkpoint_id)).not_restored, []);
  assert.equal((await session.run("echo $A")).text, "1\n");
  assert.equal((await session.close()).state, "closed");
  await session.open();
  assert.equal((await session.run("echo $A")).text, "1\n");
  await session.destroy();
});

test("a busy session says so, and can be cancelled", async () => {
  await using session = await trl.session();
  const stream = session.stream("echo up; sleep 65");
  await stream.next();
  await assert.rejects(session.run("true"), { code: "SESSION_BUSY" });
  assert.ok(await session.cancel());
  assert.ok((await stream.wait()).cancelled);
});

test("a terminal shows what a person would see", async () => {
  await using terminal = await trl.terminal(["sh"], { cols: 60, rows: 10, env: { PS1: "ready> " } });
  await terminal.wait(/ready>/, { timeout_s: 60 });
  await terminal.input("echo $((40 + 2))");
  await terminal.keys("Enter");
  const screen = await terminal.wait(/^42$/m, { timeout_s: 60 });
  assert.deepEqual([screen.cols, screen.rows], [60, 10]);
  assert.equal((await terminal.resize(70, 12)).cols, 70);
  await assert.rejects(terminal.wait(/never shown/, { timeout_s: 0.05 }), { code: "TIMEOUT" });
  await terminal.input("exit 5\r");
  await terminal.wait(undefined, { timeout_s: 60 });
  assert.equal((await terminal.info()).exit_code, 5);
  await assert.rejects(terminal.wait(/never shown/), { code: "TERMINAL_ENDED" });
  await assert.rejects(terminal.input("x"), { code: "SESSION_TERMINATED" });
});

test("an attachment goes on at the byte", async () => {
  await using terminal = await trl.terminal(["cat"]);
  const first = await terminal.attach();
  first.write("one\r");
  let read = "";
  while (!read.includes("one\r\none\r\n")) read += text((await first.next()).value.data);
  const { gen } = first.hello;
  first.close();
  await terminal.input("two\r");
  const second = await terminal.attach({ gen, since: first.offset });
  let rest = "";
  while (!rest.includes("two\r\ntwo\r\n")) {
    const piece = (await second.next()).value;
    assert.ok(!piece.isPicture);
    rest += text(piece.data);
  }
  assert.ok(rest.startsWith("two"), "nothing twice, nothing missing");
  await terminal.keys("C-d");
  assert.equal((await second.next()).done, true);
  assert.equal(second.exit?.code, 0);
});

test("files are read, written, found and watched", async () => {
  const dir = (await trl.run("mktemp -d")).text.trim();
  await using session = await trl.session({ working_dir: dir });
  const { files } = session;
  const every = Uint8Array.from({ length: 2 << 20 }, (_, at) => at % 251);
  assert.ok((await files.write("a/b.bin", every, { create_dirs: true })).created);
  assert.deepEqual(await files.read("a/b.bin"), every);
  const changes = await files.watch().open();
  await files.write("note.txt", "find me\n");
  assert.equal((await changes.next()).value.changes[0].path, "note.txt");
  await changes.close();
  assert.equal(await files.readText("note.txt"), "find me\n");
  assert.deepEqual(await files.glob("*.txt"), ["note.txt"]);
  assert.deepEqual(
    (await files.grep("find")).matches.map((match) => match.line),
    [1],
  );
  assert.deepEqual((await files.list()).entries.map((entry) => entry.path).sort(), ["a", "note.txt"]);
  await assert.rejects(files.write("note.txt", "", { if_version: "" }), { code: "INVALID_PARAMS" });
  await files.move("note.txt", "a/note.txt");
  assert.equal((await files.stat("a/note.txt")).size, 8);
  await files.mkdir("c");
  await files.remove("a", { recursive: true });
  await assert.rejects(files.read("a/note.txt"), { code: "FILE_NOT_FOUND" });
  await trl.run(`rm -r ${dir}`);
});
