import { expect, test } from "vitest";
import type { AgentMessage, AgentUpdate } from "../api/types";
import {
  chosen,
  messageOf,
  newMessage,
  placesOf,
  shownParts,
  withEnd,
  withMessage,
  withNewest,
  withOlder,
  withUpdate,
  type Message,
  type Permission,
  type Transcript,
} from "./transcript";

const empty = newMessage("m-1", "do it", "2026-01-01T00:00:00Z");
const all = (updates: AgentUpdate[], from: Message = empty) =>
  updates.reduce((so, update, at) => withUpdate(so, { seq: from.seq + at + 1, update }), from);
const kept = (n: number, more: Partial<AgentMessage> = {}): AgentMessage => ({
  message_id: `m-${n}`,
  session_id: "s-1",
  text: `message ${n}`,
  state: "done",
  created_at: `2026-01-01T00:00:${String(n).padStart(2, "0")}Z`,
  updates: [],
  last_seq: 0,
  stop_reason: "end_turn",
  ...more,
});
const ids = ({ messages }: Transcript) => messages.map(({ id }) => id);

test("pieces of text are one text until something else comes", () => {
  const { parts } = all([
    { kind: "thought", text: "hm" },
    { kind: "thought", text: "m" },
    { kind: "text", text: "Let me " },
    { kind: "text", text: "see." },
    { kind: "file", op: "read", path: "/a", ok: true },
    { kind: "text", text: "So." },
  ]);
  expect(parts).toEqual([
    { kind: "thought", text: "hmm" },
    { kind: "text", text: "Let me see." },
    { kind: "file", op: "read", path: "/a", ok: true },
    { kind: "text", text: "So." },
  ]);
});

test("an update is taken once, however often and wherever the stream is taken up again", () => {
  const updates = ["a", "b", "c", "d", "e"].map((text, at) => ({
    seq: at + 1,
    update: { kind: "text", text } as const,
  }));
  const whole = updates.reduce(withUpdate, empty);
  expect(whole.parts).toEqual([{ kind: "text", text: "abcde" }]);
  for (let cut = 0; cut <= updates.length; cut++)
    for (let again = 0; again <= cut; again++) {
      const before = updates.slice(0, cut).reduce(withUpdate, empty);
      expect(updates.slice(again).reduce(withUpdate, before)).toEqual(whole);
    }
});

test("of a tool what is new replaces what was, in its place", () => {
  const { parts } = all([
    {
      kind: "tool_call",
      tool_call_id: "t",
      title: "Edit",
      tool_kind: "edit",
      status: "pending",
      raw_input: 1,
    },
    { kind: "text", text: "wait" },
    { kind: "tool_call", tool_call_id: "t", status: "completed", content: [{ type: "text", text: "ok" }] },
  ]);
  expect(parts.map(({ kind }) => kind)).toEqual(["tool", "text"]);
  expect(parts[0]).toMatchObject({
    title: "Edit",
    toolKind: "edit",
    status: "completed",
    input: 1,
    content: [{ type: "text", text: "ok" }],
  });
});

test("there is one plan, the newest, where the first one was", () => {
  const entry = (status: string) => ({ content: "look", priority: "high", status });
  const { parts } = all([
    { kind: "plan", entries: [entry("pending")] },
    { kind: "text", text: "now" },
    { kind: "plan", entries: [entry("completed")] },
  ]);
  expect(parts).toEqual([
    { kind: "plan", entries: [entry("completed")] },
    { kind: "text", text: "now" },
  ]);
});

test("a command is shown with the tool that speaks of it, else by itself", () => {
  const terminal = (n: number): AgentUpdate => ({
    kind: "terminal",
    terminal_id: `term-${n}`,
    execution_id: `e-${n}`,
    command: "true",
    working_dir: "/",
  });
  const message = all([
    terminal(1),
    { kind: "tool_call", tool_call_id: "t", content: [{ type: "terminal", terminal_id: "term-1" }] },
    terminal(2),
  ]);
  expect(shownParts(message.parts)).toMatchObject([
    { kind: "tool" },
    { kind: "command", executionId: "e-2" },
  ]);
  expect([...placesOf([message])]).toEqual(["e-1", "e-2"]);
});

test("a permission is open until it is answered, and the answer is in the agent's words", () => {
  const asked = all([
    {
      kind: "permission",
      request_id: "r-1",
      title: "Push",
      options: [{ option_id: "yes", name: "Allow\u202e", kind: "allow_once" }],
    },
  ]);
  expect((asked.parts[0] as Permission).outcome).toBeNull();
  expect([...placesOf([asked])]).toEqual(["r-1"]);
  const told = all(
    [{ kind: "permission_resolved", request_id: "r-1", state: "approved", option_id: "yes" }],
    asked,
  );
  const answered = told.parts[0] as Permission;
  expect(answered.outcome).toEqual({ state: "approved", option: "yes" });
  expect(chosen(answered)).toBe("Allow\u202e");
});

test("what a newer daemon says is counted, and does no harm", () => {
  const message = all([{ kind: "dream" } as unknown as AgentUpdate, { kind: "text", text: "a" }]);
  expect([message.seq, message.parts]).toEqual([2, [{ kind: "text", text: "a" }]]);
});

test("the end is the end, with its reason", () => {
  const error = { code: "AGENT_UNAVAILABLE", message: "no", stage: "spawn" } as const;
  const over = withEnd(empty, { seq: 1, stop_reason: "error", error });
  expect([over.isOver, over.stopReason, over.error]).toEqual([true, "error", error]);
});

test("what was kept is as if it had been heard", () => {
  const updates = [
    { seq: 1, time: "", update: { kind: "text", text: "a" } },
    { seq: 2, time: "", update: { kind: "text", text: "b" } },
  ] as AgentMessage["updates"];
  const message = messageOf(kept(1, { updates, last_seq: 2 }));
  expect([message.seq, message.parts, message.isOver]).toEqual([2, [{ kind: "text", text: "ab" }], true]);
  expect(messageOf(kept(1, { cut: true })).isCut).toBe(true);
});

test("newer messages are put behind those that are known, and none is there twice", () => {
  const known = withNewest(null, { messages: [kept(2), kept(3)], more: true });
  expect(ids(withNewest(known, { messages: [kept(3), kept(4)], more: true }))).toEqual(["m-2", "m-3", "m-4"]);
  expect(ids(withOlder(known, { messages: [kept(1), kept(2)], more: false }))).toEqual(["m-1", "m-2", "m-3"]);
  expect(withOlder(known, { messages: [], more: false }).hasOlder).toBe(false);
});

test("when more was said than is read at once, what is between is read later", () => {
  const known = withNewest(null, { messages: [kept(1)], more: false });
  const after = withNewest(known, { messages: [kept(8), kept(9)], more: true });
  expect([ids(after), after.hasOlder]).toEqual([["m-8", "m-9"], true]);
});

test("a look at what was kept takes nothing back that was heard, and ends what has ended", () => {
  const running = kept(1, { state: "running", stop_reason: null });
  const known = withMessage(withNewest(null, { messages: [running], more: false }), "m-1", (message) =>
    all([{ kind: "text", text: "heard" }], message),
  );
  expect(withNewest(known, { messages: [running], more: false }).messages[0]?.parts).toHaveLength(1);
  const [over] = withNewest(known, {
    messages: [kept(1, { stop_reason: "interrupted" })],
    more: false,
  }).messages;
  expect([over?.parts.length, over?.isOver, over?.stopReason]).toEqual([1, true, "interrupted"]);
});

test("a message that was sent a moment ago is not lost to an answer from before", () => {
  const known = withNewest(null, { messages: [kept(1)], more: false });
  // The clock of the page may be anything.
  const sent = newMessage("m-2", "more", "1999-01-01T00:00:00Z");
  const after = withNewest(
    { ...known, messages: [...known.messages, sent] },
    { messages: [kept(1)], more: false },
  );
  expect(ids(after)).toEqual(["m-1", "m-2"]);
});
