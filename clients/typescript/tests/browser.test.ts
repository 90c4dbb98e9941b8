/**
 * The entry for browsers, in Node with what browsers have: `fetch`, and a WebSocket that tells its origin as theirs do.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "trl-client/browser";

import { Daemon } from "./daemon.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
  const Given = globalThis.WebSocket;
  globalThis.WebSocket = class extends Given {
    constructor(url: string, protocols: string[] = []) {
      super(url, { protocols, headers: { Origin: daemon.http } } as never);
    }
  } as typeof WebSocket;
});
after(() => daemon.remove());

test("a browser runs, streams and attaches", async () => {
  const trl = new Client({ url: daemon.http, token: daemon.operator });
  const every = Uint8Array.from({ length: 1024 }, (_, at) => at % 256);
  assert.deepEqual((await trl.run("cat", { stdin: every })).stdout, every);
  const said: string[] = [];
  for await (const chunk of trl.stream("echo one")) said.push(chunk.text);
  assert.deepEqual(said, ["one\n"]);
  const terminal = await trl.terminal(["cat"]);
  await terminal.input("hello\r");
  await terminal.wait(/hello\nhello/, { timeout_s: 60 });
  await terminal.destroy();
  await trl.close();
  await assert.rejects(new Client({ url: daemon.http, token: "no" }).run("true"), { code: "AUTH_FAILED" });
});
