#!/usr/bin/env node
/**
 * The agent in the picture. A real agent of the Agent Client Protocol (JSON-RPC 2.0, one object per line on stdin and
 * stdout) with a fixed plan in place of a model: edit a line, run the tests, commit and push. TRL writes the file and
 * runs the commands; their output and results are real.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";

const FILE = join(process.cwd(), "src/cart.js");
const BEFORE = "    sum += Math.floor(100 * price * count);";
const AFTER = "    sum += Math.round(100 * price * count);";

const sessionId = "picture";
const pending = new Map();
let sent = 0;

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

/** Calls a method of the client, that is of TRL. Rejects with the client's error. */
function call(method, params) {
  sent += 1;
  const id = `agent-${sent}`;
  write({ id, method, params: { sessionId, ...params } });
  return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
}

function update(sessionUpdate, fields) {
  write({ method: "session/update", params: { sessionId, update: { sessionUpdate, ...fields } } });
}

function say(text) {
  update("agent_message_chunk", { content: { type: "text", text } });
}

/** Runs a command line through TRL and returns its exit code. */
async function run(command) {
  const { terminalId } = await call("terminal/create", { command });
  const { exitCode } = await call("terminal/wait_for_exit", { terminalId });
  await call("terminal/release", { terminalId });
  return exitCode;
}

async function edit() {
  const text = await readFile(FILE, "utf8");
  const toolCallId = "edit";
  update("tool_call", { toolCallId, title: "Edit src/cart.js", kind: "edit", status: "in_progress" });
  await call("fs/write_text_file", { path: FILE, content: text.replace(BEFORE, AFTER) });
  const content = [{ type: "diff", path: "src/cart.js", oldText: BEFORE, newText: AFTER }];
  update("tool_call_update", { toolCallId, status: "completed", content });
}

async function work() {
  say("floor() loses a cent: 0.29 × 100 is 28.999… I round instead.");
  await edit();
  if ((await run("npm test --silent")) !== 0) throw new Error("the tests fail");
  await run('git commit -am "Round totals" && git push origin main');
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "demo-agent", version: "1.0" },
    agentCapabilities: {},
    authMethods: [],
  }),
  "session/new": () => ({ sessionId }),
  "session/prompt": async () => {
    await work();
    return { stopReason: "end_turn" };
  },
};

async function answer({ id, method, params }) {
  try {
    write({ id, result: await methods[method](params) });
  } catch (error) {
    write({ id, error: { code: -32603, message: String(error) } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new Error(message.error.message));
  } else if (message.id !== undefined) void answer(message);
}
