/** Commands, their bytes, how they end, and giving up. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { isTrlError, type Client } from "trl-client";

import { Daemon, joined } from "./daemon.js";

let daemon: Daemon;
let trl: Client;
before(async () => {
  daemon = await Daemon.start();
  trl = daemon.client();
});
after(() => daemon.remove());

const every = Uint8Array.from({ length: 768 }, (_, at) => at % 256);

test("a command has both streams and its code", async () => {
  const result = await trl.run("echo hello; echo oops >&2; exit 7");
  assert.deepEqual(
    [result.text, result.stderrText, result.exitCode, result.ok],
    ["hello\n", "oops\n", 7, false],
  );
  assert.throws(
    () => result.check(),
    (error) => isTrlError(error, "COMMAND_FAILED") && error.message === "the command ended with 7: oops",
  );
  assert.ok((await trl.run("true")).check().ok);
});

test("bytes come back as they were given", async () => {
  assert.deepEqual((await trl.run("cat", { stdin: every })).stdout, every);
  assert.equal((await trl.run("cat", { stdin: "grüße\n" })).text, "grüße\n");
  const marked = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61);
  assert.deepEqual((await trl.run("cat", { stdin: marked })).stdout, marked);
});

test("big output is counted and can be read by its offset", async () => {
  const size = 5_000_000;
  const whole = await trl.run(`head -c ${size} /dev/zero`, { max_output_bytes: 8 << 20 });
  assert.equal(whole.stdout.length, size);
  const part = await trl.run(`yes 123456789 | head -c ${size}`, { max_output_bytes: 1 << 20 });
  const omitted = part.raw.omitted?.stdout;
  assert.ok(omitted);
  assert.equal(part.stdout.length + omitted.to - omitted.from, size);
  const tail = await trl.processById(part.executionId).output(size - 20);
  assert.deepEqual([tail.text, tail.next, tail.done], ["123456789\n".repeat(2), size, true]);
});

test("a timeout is a result", async () => {
  const result = await trl.run("echo part; sleep 60", { timeout_s: 0.2 });
  assert.deepEqual([result.timedOut, result.text, result.ok], [true, "part\n", false]);
});

test("refusals are errors by their code", async () => {
  await assert.rejects(trl.sessionById("s-nope1234").run("true"), (error) => {
    return isTrlError(error, "SESSION_NOT_FOUND") && error.hint === "see session.list";
  });
  await assert.rejects(trl.call("exec.run", { comand: "x" } as never), { code: "INVALID_PARAMS" });
});

test("many run at once on one connection", async () => {
  // Each waits for the one after it: they end only if all run at once.
  const count = 20;
  const dir = (await trl.run("mktemp -d", { on_disconnect: "continue" })).text.trim();
  await trl.run(`cd ${dir} && mkfifo $(seq 0 ${count})`, { on_disconnect: "continue" });
  const connections = async () => (await trl.call("system.stats")).connections;
  const script = `cat ${dir}/$N; echo $N; : > ${dir}/$((N - 1))`;
  const numbers = Array.from({ length: count }, (_, at) => String(at + 1));
  const before = await connections();
  const runs = numbers.map((N) => trl.run(script, { env: { N }, on_disconnect: "continue" }));
  const last = await trl.start(`cat ${dir}/0`, { yield_ms: 250 });
  await trl.run(`: > ${dir}/${count}`, { on_disconnect: "continue" });
  assert.deepEqual(
    (await Promise.all(runs)).map((result) => result.text.trim()),
    numbers,
  );
  assert.ok((await last.outcome()).ok);
  assert.equal(await connections(), before);
  await trl.run(`rm -r ${dir}`);
});

for (const on_disconnect of ["cancel", "continue"] as const) {
  test(`a command that nobody waits for any more: ${on_disconnect}`, async () => {
    const dir = (await trl.run("mktemp -d; ")).text.trim();
    await trl.run(`mkfifo ${dir}/go`);
    const events = await trl.events({ kinds: ["exec.started", "exec.finished"] }).open();
    const giving = new AbortController();
    const run = trl.run(`cat ${dir}/go; exit 9`, { on_disconnect, signal: giving.signal });
    const started = (await events.next()).value;
    giving.abort(new Error("given up"));
    await assert.rejects(run, /given up/);
    if (on_disconnect === "continue") await trl.run(`: > ${dir}/go`);
    for await (const event of events) {
      if (event.kind !== "exec.finished" || event.execution_id !== started.execution_id) continue;
      assert.equal(event.cancelled, on_disconnect === "cancel");
      assert.equal(event.exit_code === 9, on_disconnect === "continue");
      break;
    }
    await trl.run(`rm -r ${dir}`);
  });
}

test("output comes as it is written", async () => {
  const stream = trl.stream("echo one; read word; echo $word >&2; exit 3", { open_stdin: true });
  const first = (await stream.next()).value;
  assert.deepEqual([first.stream, first.offset, first.text], ["stdout", 0, "one\n"]);
  assert.throws(() => stream.outcome, { code: "NOT_YET" });
  await stream.write("two\n");
  assert.equal((await stream.next()).value.stream, "stderr");
  assert.equal((await stream.wait()).exitCode, 3);
});

test("a stream has every byte", async () => {
  const pieces: Uint8Array[] = [];
  const stream = trl.stream("yes 123456789 | head -c 3000000; printf '\\377\\000'");
  for await (const chunk of stream) pieces.push(chunk.data);
  const whole = joined(pieces);
  assert.equal(whole.length, 3_000_002);
  assert.deepEqual(whole.subarray(-4), Uint8Array.of(0x39, 0x0a, 0xff, 0x00));
  assert.ok(stream.outcome.ok);
});

test("leaving a stream ends its command, or leaves it", async () => {
  const events = await trl.events({ kinds: ["exec.finished"] }).open();
  let stream = trl.stream("echo up; sleep 61");
  for await (const chunk of stream) if (chunk.text === "up\n") break;
  const ended = (await events.next()).value;
  assert.equal(ended.execution_id, stream.executionId);
  await events.close();
  stream = trl.stream("echo up; sleep 62", { on_disconnect: "continue" });
  for await (const chunk of stream) if (chunk.text === "up\n") break;
  const process = trl.processById(stream.executionId);
  assert.ok((await process.signal("CONT")) >= 1);
  assert.ok(await process.kill());
});

test("a process is talked to", async () => {
  const process = await trl.start("echo ready; while read line; do echo got $line; done", { yield_ms: 250 });
  assert.equal((await process.wait({ pattern: "ready" })).reason, "pattern");
  assert.equal((await process.write("a\n", { yield_ms: 250 }))?.text, "got a\n");
  assert.equal((await process.output(6)).text, "got a\n");
  await process.write("b\n");
  assert.equal((await process.wait({ pattern: "got b" })).matched?.from, 12);
  assert.equal((await process.wait({ idle_ms: 10 })).reason, "idle");
  assert.equal((await process.wait({ timeout_s: 0.02 })).reason, "timeout");
  await process.closeStdin();
  assert.ok((await process.outcome()).ok);
  const tty = await trl.start(["sh", "-c", "stty size; read x; stty size"], { tty: true, yield_ms: 250 });
  await tty.wait({ pattern: "24 80" });
  await tty.resize(100, 30);
  await tty.write("\r");
  assert.ok((await tty.outcome()).ok);
  assert.match((await tty.output(0, { stream: "tty" })).text, /30 100/);
});
