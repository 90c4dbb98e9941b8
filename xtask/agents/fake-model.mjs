// A fake model: a server on loopback that speaks as the models' own servers do, and has a script in place of a model.
// Agents from npm are driven with it where there is no network and no account (`cargo xtask test npm-agents`).
//
// 1. `node fake-model.mjs LOG` prints `{"port": N}` and serves until its stdin is closed. Every request and what was
//    answered is a line of LOG, written before the answer is.
// 2. A request is read into what all dialects have in common: what was said, in order, and the tools there are.
// 3. The script: the newest words of the user that say `Use SERVER's TOOL to run: COMMAND` are an order. Until a tool
//    has answered after them, the answer is a call of that tool of that MCP server, however the agent spells it; then it is
//    a text that quotes what the tool answered. Everything else gets a text: titles, summaries, whatever an agent asks aside.
// 4. It is written in the dialect it was asked in, as a stream where that was asked for.
//
// Nothing is remembered between requests: an agent that is started again with what was said is answered the same.

import { createServer } from "node:http";
import { appendFileSync } from "node:fs";

const ORDER = /\buse (\w+)'s (\w+) to run: ([^\n"]+)/gi;

// ---- the script

/** What a model would do next: `{call: {name, input}}`, or `{text}`. */
function next({ said, tools }) {
  let order, result;
  for (const { from, text } of said) {
    const found = from === "user" ? [...text.matchAll(ORDER)].pop() : undefined;
    if (found) [order, result] = [{ server: found[1], tool: found[2], command: found[3].trim() }, undefined];
    else if (from === "tool" && order) result = text;
  }
  if (!order || tools.length === 0) return { text: "nothing to do" };
  if (result !== undefined) return { text: `The tool answered: ${result.trim()}` };
  // Agents have tools of the same name themselves.
  const wanted = new RegExp(`(^|_)${order.server}_+${order.tool}$`);
  const found = tools.find(({ group, name }) => wanted.test(group ? `${group}__${name}` : name));
  if (!found) return { text: `There is no such tool among ${tools.map(({ name }) => name).join(", ")}` };
  return { call: { ...found, input: { cmd: order.command } } };
}

// ---- the dialects: how a request is read, and how an answer is written

let count = 0;
const fresh = (prefix) => `${prefix}${process.pid}${++count}`;

/** The text in a string, or in a list of parts. */
function words(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map((part) => part.text ?? "").join("\n");
}

const chat = {
  path: /\/chat\/completions$/,
  read: ({ messages = [], tools = [] }) => ({
    said: messages.map(({ role, content }) => ({ from: role, text: words(content) })),
    tools: tools.map(({ function: { name } }) => ({ name })),
  }),
  streams: (body) => body.stream === true,
  *stream({ text, call }, { model }) {
    const base = { id: fresh("chatcmpl-"), object: "chat.completion.chunk", created: 0, model };
    const chunk = (delta, finish_reason = null) => ({
      data: { ...base, choices: [{ index: 0, delta, finish_reason }] },
    });
    yield chunk({ role: "assistant", content: text ?? "" });
    if (call) yield chunk({ tool_calls: [{ index: 0, ...this.called(call) }] });
    yield chunk({}, call ? "tool_calls" : "stop");
    yield { data: { ...base, choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } } };
    yield { data: "[DONE]" };
  },
  called: ({ name, input }) => ({
    id: fresh("call_"),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }),
  whole({ text = "", call }, { model }) {
    const message = { role: "assistant", content: text, ...(call && { tool_calls: [this.called(call)] }) };
    const choices = [{ index: 0, message, finish_reason: call ? "tool_calls" : "stop" }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return { id: fresh("chatcmpl-"), object: "chat.completion", created: 0, model, choices, usage };
  },
};

const responses = {
  path: /\/responses$/,
  read: ({ input = [], tools = [] }) => ({
    said: (typeof input === "string" ? [{ role: "user", content: input }] : input).map((item) =>
      /_call_output$/.test(item.type)
        ? { from: "tool", text: words(item.output) }
        : { from: item.role, text: words(item.content) },
    ),
    // Some are grouped, and then called with the name of their group.
    tools: tools.flatMap(({ type, name, tools: inner }) =>
      type === "namespace"
        ? inner.map((one) => ({ group: name, name: one.name }))
        : type === "function"
          ? [{ name }]
          : [],
    ),
  }),
  streams: (body) => body.stream === true,
  *stream(answer, body) {
    const response = { id: fresh("resp_"), object: "response", created_at: 0, model: body.model, output: [] };
    const event = (type, more) => ({ event: type, data: { type, ...more } });
    yield event("response.created", { response: { ...response, status: "in_progress" } });
    const item = this.item(answer);
    const begun = item.content ? { ...item, content: [] } : { ...item, arguments: "" };
    yield event("response.output_item.added", { output_index: 0, item: { ...begun, status: "in_progress" } });
    const at = { item_id: item.id, output_index: 0 };
    if (answer.call) {
      yield event("response.function_call_arguments.delta", { ...at, delta: item.arguments });
      yield event("response.function_call_arguments.done", { ...at, arguments: item.arguments });
    } else {
      yield event("response.output_text.delta", { ...at, content_index: 0, delta: answer.text });
      yield event("response.output_text.done", { ...at, content_index: 0, text: answer.text });
    }
    yield event("response.output_item.done", { output_index: 0, item });
    yield event("response.completed", { response: this.whole(answer, body, { ...response, output: [item] }) });
  },
  item({ text, call }) {
    if (!call) {
      const content = [{ type: "output_text", text, annotations: [] }];
      return { type: "message", id: fresh("msg_"), status: "completed", role: "assistant", content };
    }
    const { name, group, input } = call;
    const made = { name, ...(group && { namespace: group }), arguments: JSON.stringify(input) };
    return { type: "function_call", id: fresh("fc_"), status: "completed", call_id: fresh("call_"), ...made };
  },
  whole(answer, { model }, response) {
    const usage = {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    };
    const base = response ?? {
      id: fresh("resp_"),
      object: "response",
      created_at: 0,
      model,
      output: [this.item(answer)],
    };
    return { ...base, status: "completed", usage };
  },
};

const anthropic = {
  path: /\/messages$/,
  read: ({ messages = [], tools = [] }) => ({
    said: messages.flatMap(({ role, content }) =>
      typeof content === "string"
        ? [{ from: role, text: content }]
        : content.map((part) =>
            part.type === "tool_result"
              ? { from: "tool", text: words(part.content) }
              : { from: role, text: part.text ?? "" },
          ),
    ),
    tools: tools.map(({ name }) => ({ name })),
  }),
  streams: (body) => body.stream === true,
  *stream(answer, body) {
    const event = (type, more) => ({ event: type, data: { type, ...more } });
    const { content, stop_reason, ...message } = this.whole(answer, body);
    yield event("message_start", { message: { ...message, content: [], stop_reason: null } });
    const [block] = content;
    const empty = answer.call ? { ...block, input: {} } : { ...block, text: "" };
    yield event("content_block_start", { index: 0, content_block: empty });
    const delta = answer.call
      ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
      : { type: "text_delta", text: block.text };
    yield event("content_block_delta", { index: 0, delta });
    yield event("content_block_stop", { index: 0 });
    yield event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
    yield event("message_stop", {});
  },
  whole({ text, call }, { model }) {
    const block = call
      ? { type: "tool_use", id: fresh("toolu_"), name: call.name, input: call.input }
      : { type: "text", text };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const stop_reason = call ? "tool_use" : "end_turn";
    return {
      id: fresh("msg_"),
      type: "message",
      role: "assistant",
      model,
      content: [block],
      stop_reason,
      stop_sequence: null,
      usage,
    };
  },
};

const gemini = {
  path: /:(stream)?generateContent$/i,
  read: ({ contents = [], tools = [] }) => ({
    said: contents.flatMap(({ role, parts }) =>
      parts.map(({ text, functionResponse: result }) =>
        result
          ? { from: "tool", text: result.response?.output ?? JSON.stringify(result.response) }
          : { from: role ?? "user", text: text ?? "" },
      ),
    ),
    tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => ({ name }))),
  }),
  streams: (_body, path) => /:stream/i.test(path),
  *stream(answer, body) {
    yield { data: this.whole(answer, body) };
  },
  whole({ text, call }) {
    const part = call ? { functionCall: { name: call.name, args: call.input } } : { text };
    const candidates = [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }];
    return {
      candidates,
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: "fake",
    };
  },
};

const DIALECTS = { chat, responses, anthropic, gemini };

// ---- the server

const [log] = process.argv.slice(2);
const note = (line) => log && appendFileSync(log, `${JSON.stringify(line)}\n`);

async function serve(request, response) {
  const path = new URL(request.url, "http://fake").pathname;
  const found = Object.entries(DIALECTS).find(([, dialect]) => request.method === "POST" && dialect.path.test(path));
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  if (!found) {
    note({ path, method: request.method, refused: true });
    response.writeHead(404, { "content-type": "application/json" });
    return response.end('{"error": {"message": "the fake model knows no such path"}}');
  }
  const [name, dialect] = found;
  const body = JSON.parse(text);
  const heard = dialect.read(body);
  const answer = next(heard);
  note({ dialect: name, path, tools: heard.tools.map(({ name }) => name), answer });
  if (!dialect.streams(body, path)) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify(dialect.whole(answer, body)));
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  for (const { event, data } of dialect.stream(answer, body)) {
    if (event) response.write(`event: ${event}\n`);
    response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    note({ path: request.url, failed: String(error.stack) });
    response.destroy();
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
process.stdin.resume().on("end", () => process.exit(0));
