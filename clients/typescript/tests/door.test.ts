/** Finding the daemon, starting it, losing it, answering for people, and the ways over HTTP. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client, isTrlError } from "trl-client";

import { BINARY, Daemon } from "./daemon.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(() => daemon.remove());

test("a socket in an open directory is not used", async () => {
  const dir = mkdtempSync(join(tmpdir(), "trl-ts-"));
  const run = () => new Client({ socket: join(dir, "trl.sock"), autostart: false }).run("true");
  chmodSync(dir, 0o755);
  await assert.rejects(run(), { code: "UNTRUSTED_SOCKET", message: /0755/ });
  chmodSync(dir, 0o700);
  await assert.rejects(run(), { code: "NOT_RUNNING", hint: "start one with `trl serve`" });
  rmSync(dir, { recursive: true });
});

test("a daemon is started and stays, and the program that started it ends", () => {
  const dir = mkdtempSync(join(tmpdir(), "trl-ts-"));
  const script = `
    import { Client, operatorToken } from "trl-client";
    const trl = new Client({ autostart: process.argv[1] });
    console.log((await trl.run("echo \${SECRET_OF_THE_CALLER-clean}")).text.trim());
    const { pid } = await trl.call("system.info");
    const other = new Client({ autostart: false, token: operatorToken() });
    console.log((await other.call("system.info")).pid === pid);
    await other.call("system.shutdown");`;
  const env = {
    PATH: process.env["PATH"],
    HOME: dir,
    XDG_RUNTIME_DIR: dir,
    TRL_SOCKET_PATH: join(dir, "t.sock"),
  };
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", script, BINARY], {
    env: { ...env, SECRET_OF_THE_CALLER: "x" },
    encoding: "utf8",
  });
  assert.equal(said, "clean\ntrue\n");
  // The last of the daemon may still be writing there.
  rmSync(dir, { recursive: true, maxRetries: 50, retryDelay: 20 });
});

test("a daemon that does not come up says why", async () => {
  const dir = mkdtempSync(join(tmpdir(), "trl-ts-"));
  const start = (autostart: string) => new Client({ socket: join(dir, "trl.sock"), autostart }).run("true");
  await assert.rejects(start("no-such-program"), { code: "DID_NOT_START", message: /ENOENT/ });
  await assert.rejects(start("false"), { code: "DID_NOT_START", message: /ended with 1/ });
  rmSync(dir, { recursive: true });
});

test("a lost daemon is an error, and the next one is found", async () => {
  const own = await Daemon.start();
  const trl = own.client();
  const process = await trl.start("echo up; sleep 68", { yield_ms: 250 });
  const stream = trl.stream("echo up; sleep 69");
  await stream.next();
  const waiting = Promise.allSettled([process.wait(), stream.wait()]);
  await trl.call("system.ping");
  await own.end("SIGKILL");
  for (const { status, ...how } of await waiting) {
    assert.ok(status === "rejected" && "reason" in how && isTrlError(how.reason, "CONNECTION_LOST"));
  }
  await assert.rejects(trl.run("true"), { code: "NOT_RUNNING" });
  await own.start();
  assert.equal((await trl.run("echo back")).text, "back\n");
  assert.equal((await trl.run("echo back", { on_disconnect: "continue" })).text, "back\n");
  await own.remove();
});

test("everything works over HTTP", async () => {
  const trl = daemon.client({ url: daemon.http, token: daemon.operator });
  const every = Uint8Array.from({ length: 256_000 }, (_, at) => at % 256);
  assert.deepEqual((await trl.run("cat", { stdin: every })).stdout, every);
  const big = await trl.run("head -c 5000000 /dev/zero", { max_output_bytes: 8 << 20 });
  assert.equal(big.stdout.length, 5_000_000);
  const stream = trl.stream("echo one; read x; echo $x", { open_stdin: true });
  assert.equal((await stream.next()).value.text, "one\n");
  await stream.write("two\n");
  assert.equal((await stream.next()).value.text, "two\n");
  assert.ok((await stream.wait()).ok);
  await using terminal = await trl.terminal(["cat"]);
  const seat = await terminal.attach();
  seat.write("hello\r");
  await terminal.wait(/hello\nhello/, { timeout_s: 60 });
  seat.close();
  const events = await trl.events({ kinds: ["session.created"] }).open();
  await using session = await trl.session();
  assert.equal((await events.next()).value.session_id, session.id);
  await events.close();
});

test("a wrong token is refused", async () => {
  for (const way of [{ url: daemon.http }, {}]) {
    await assert.rejects(daemon.client({ ...way, token: "no" }).run("true"), { code: "AUTH_FAILED" });
  }
  await assert.rejects(daemon.client({ url: daemon.http }).run("true"), { code: "AUTH_FAILED" });
  await assert.rejects(daemon.client().call("token.list"), { code: "FORBIDDEN" });
});

test("a command waits for a person, and runs", async () => {
  const own = await Daemon.start();
  own.rules('{default: ask, rules: [{allow: ["true"]}, {deny: ["git push"], reason: protected}]}');
  const agent = own.client();
  const operator = own.client({ token: own.operator });
  const events = await operator.events({ kinds: ["hitl.requested"] }).open();
  const waits = agent.run("echo approved");
  const { value: event } = await events.next();
  assert.ok(event.kind === "hitl.requested");
  const request = await operator.approvals.get(event.request_id);
  assert.equal(request.command, "echo approved");
  await assert.rejects(agent.approvals.approve(request), { code: "FORBIDDEN" });
  assert.equal((await operator.approvals.approve(request)).state, "approved");
  assert.equal((await waits).text, "approved\n");
  await assert.rejects(agent.run("git push"), { code: "APPROVAL_DENIED", message: /protected/ });
  await assert.rejects(agent.run("echo x", { approval: "fail" }), { code: "APPROVAL_REQUIRED" });

  const session = await agent.session();
  const error: unknown = await session
    .run("echo later", { approval: "return" })
    .catch((error: unknown) => error);
  assert.ok(isTrlError(error, "APPROVAL_PENDING"));
  const pending = await agent.approvals.wait(String(error.details["request_id"]), 0.01);
  assert.equal(pending.state, "pending");
  await operator.approvals.approve(pending);
  const process = agent.processById(String(error.details["execution_id"]));
  assert.equal((await process.wait()).text, "later\n");

  const refused = await agent.stream("echo no").open();
  await operator.approvals.reject(await agent.approvals.get(refused.requestId!), "not today");
  await assert.rejects(refused.wait(), { code: "APPROVAL_DENIED", message: /not today/ });
  assert.notEqual((await operator.approvals.audit()).length, 0);
  await session.destroy();
  await events.close();
  await own.remove();
});
