import { expect, test } from "vitest";
import type { AgentInfo } from "../api/types";
import { counts, diff, folded, type Line } from "./diff";
import { clipped, MOST_SHOWN, passages } from "./prose";
import { canRepeat, endOf, standingOf, todoOf } from "./standing";
import { newMessage, withEnd, withUpdate } from "./transcript";

const text = (text: string) => ({ kind: "text", text });
const code = (text: string) => ({ kind: "code", text });

test("what stands between fences is code, all else is text", () => {
  expect(passages("So:\n\n```sh\nls <b>\n```\n\nDone.")).toEqual([
    text("So:"),
    code("ls <b>"),
    text("Done."),
  ]);
  expect(passages("~~~~\n~~~\n~~~~")).toEqual([code("~~~")]);
  expect(passages("a `b` c")).toEqual([text("a `b` c")]);
  expect(passages("")).toEqual([]);
});

test("a fence that is not closed yet reaches to the end, and text comes to the same however it is cut", () => {
  expect(passages("```\nmore")).toEqual([code("more")]);
  expect(passages("```")).toEqual([]);
  expect(passages("```\na\n\n")).toEqual([code("a\n\n")]);
});

test("of a long text the beginning is shown, and the rest is counted", () => {
  expect(clipped("short")).toEqual({ shown: "short", left: 0 });
  expect(clipped("x".repeat(MOST_SHOWN + 5))).toMatchObject({ left: 5 });
});

const marks = (lines: Line[]) =>
  lines.map(({ kind, text }) => `${{ same: " ", gone: "-", new: "+" }[kind]}${text}`);

test("a change is what went and what came, with what stayed", () => {
  expect(marks(diff("a\nb\nc\n", "a\nB\nc\nd\n"))).toEqual([" a", "-b", "+B", " c", "+d"]);
  expect(marks(diff("", "new\n"))).toEqual(["+new"]);
  expect(marks(diff("old", ""))).toEqual(["-old"]);
  expect(marks(diff("same\n", "same\n"))).toEqual([" same"]);
  expect(counts(diff("a\nb", "b\nc\nd"))).toEqual({ come: 2, gone: 1 });
});

test("a change always leads from the old to the new", () => {
  const words = ["a", "b", "c"];
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const some = () =>
    Array.from({ length: Math.floor(random() * 8) }, () => words[Math.floor(random() * 3)] ?? "");
  for (let i = 0; i < 300; i++) {
    const [old, now] = [some(), some()];
    const lines = diff(old.join("\n"), now.join("\n"));
    expect(lines.filter(({ kind }) => kind !== "new").map(({ text }) => text)).toEqual(old);
    expect(lines.filter(({ kind }) => kind !== "gone").map(({ text }) => text)).toEqual(now);
  }
});

test("what stayed is counted, but for a few lines around a change", () => {
  const old = Array.from({ length: 30 }, (_, at) => `${at}`);
  const shown = folded(diff(old.join("\n"), old.with(15, "x").join("\n")));
  expect(shown[0]).toEqual({ kind: "skipped", lines: 12 });
  expect(shown).toHaveLength(10);
  const many = folded(diff("", Array.from({ length: 1000 }, (_, at) => `${at}`).join("\n")), 100);
  expect(many.at(-1)).toEqual({ kind: "skipped", lines: 900 });
});

const agent = (state: AgentInfo["state"]): AgentInfo => ({ state });
const fresh = newMessage("m-1", "", "");
const started = withUpdate(fresh, {
  seq: 1,
  update: {
    kind: "started",
    agent: { name: "a" },
    agent_session_id: "x",
    warm: false,
    resumed: "new",
    mcp: true,
    own_shell: "off",
  },
});

test("where the agent stands is known from its newest message first", () => {
  expect(standingOf(agent("absent"), undefined, null)).toBe("absent");
  expect(standingOf(agent("warm"), fresh, null)).toBe("starting");
  expect(standingOf(agent("starting"), started, null)).toBe("running");
  expect(standingOf(agent("running"), started, "m-1")).toBe("stopping");
  expect(standingOf(agent("waiting"), started, null)).toBe("waiting");
  const asking = withUpdate(started, {
    seq: 2,
    update: { kind: "permission", request_id: "r-1", title: "", options: [] },
  });
  expect(standingOf(agent("running"), asking, null)).toBe("waiting");
  const over = withEnd(started, { seq: 2, stop_reason: "end_turn" });
  expect(standingOf(agent("running"), over, null)).toBe("warm");
  expect(standingOf(agent("absent"), over, null)).toBe("absent");
});

test("an end has words where it needs them, and every stage says what to do", () => {
  const over = (stop_reason: "end_turn" | "interrupted" | "cancelled" | "error") =>
    withEnd(fresh, { seq: 1, stop_reason });
  expect(endOf(over("end_turn"))).toBeNull();
  expect(endOf(over("interrupted"))).toBe("chat.interrupted");
  expect([canRepeat(over("error")), canRepeat(over("cancelled"))]).toEqual([true, false]);
  expect(todoOf("auth")).toBe("chat.todoAuth");
  expect(todoOf("something new")).toBe("chat.todoPrompt");
});
