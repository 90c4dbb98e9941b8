import { expect, test } from "vitest";
import type { ExecutionInfo, RunResult } from "../api/types";
import {
  isUnderWay,
  merged,
  MOST_SHOWN,
  viewOf,
  withOutput,
  withRefusal,
  withResult,
  type ExecutionView,
  type Segment,
} from "./execution";

const info = { execution_id: "e-1", command: "x", status: "running", created_at: "1" } as ExecutionInfo;
const push = (
  view: ExecutionView,
  stream: "stdout" | "stderr",
  data: string,
  gap?: { from: number; to: number },
) => withOutput(view, { stream, offset: 0, data, encoding: "utf-8", ...(gap === undefined ? {} : { gap }) });
const shown = (segments: readonly Segment[]) =>
  segments.map((one) =>
    one.kind === "text" ? `${one.stream}:${one.text}` : `${one.stream}[${one.range.from}-${one.range.to}]`,
  );

test("output stands in the order it came", () => {
  let view = viewOf(info);
  view = push(view, "stdout", "a");
  view = push(view, "stdout", "b");
  view = push(view, "stderr", "!");
  view = push(view, "stdout", "c", { from: 2, to: 9 });
  expect(shown(view.segments)).toEqual(["stdout:ab", "stderr:!", "stdout[2-9]", "stdout:c"]);
});

test("a flood is not all kept, and that is said", () => {
  let view = viewOf(info);
  for (let i = 0; i < 30; i++) view = push(view, i % 2 ? "stdout" : "stderr", "x".repeat(20_000));
  const length = view.segments.reduce((sum, one) => sum + (one.kind === "text" ? one.text.length : 0), 0);
  expect(length).toBeLessThanOrEqual(MOST_SHOWN);
  expect(view.segments[0]?.kind).toBe("gap");
  expect(view.segments.filter((one) => one.kind === "gap")).toHaveLength(1);
});

const result = (stdout: string, omitted?: { from: number; to: number }) =>
  ({
    stdout,
    stdout_encoding: "utf-8",
    stderr: "",
    stderr_encoding: "utf-8",
    exit_code: 0,
    ...(omitted === undefined ? {} : { omitted: { stdout: omitted } }),
  }) as RunResult;

test("what a result left out is named in its place, from line to line", () => {
  const view = withResult(
    viewOf(info),
    result("one\ntwo\nthrnety-eight\nninety-nine\n", { from: 11, to: 400 }),
  );
  expect(shown(view.segments)).toEqual(["stdout:one\ntwo\n", "stdout[8-411]", "stdout:ninety-nine\n"]);
  expect([view.info.status, view.isLoaded]).toEqual(["done", true]);
});

test("what is too much for a page is counted too", () => {
  const lines = Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join("");
  for (const omitted of [undefined, { from: 300_000, to: 1_000_000 }]) {
    const { segments } = withResult(viewOf(info), result(lines, omitted));
    const bytes = segments.reduce(
      (sum, one) => sum + (one.kind === "text" ? one.text.length : one.range.to - one.range.from),
      0,
    );
    expect(bytes).toBe(lines.length + (omitted === undefined ? 0 : 700_000));
    expect(segments.map((one) => one.kind)).toEqual(["text", "gap", "text"]);
  }
  expect(withResult(viewOf(info), result("short")).segments).toHaveLength(1);
  expect(withResult(viewOf(info), result("")).segments).toEqual([]);
});

test("newer news keep what was heard", () => {
  const heard = push(viewOf(info), "stdout", "kept");
  const views = merged(
    [heard],
    [
      { ...info, execution_id: "e-2", created_at: "0" },
      { ...info, status: "done" },
    ],
  );
  expect(views.map((view) => [view.info.execution_id, view.info.status, view.segments.length])).toEqual([
    ["e-2", "running", 0],
    ["e-1", "done", 1],
  ]);
});

test("what waits for a person is under way; what was refused, or whose end nobody knows, is not", () => {
  const of = (status: ExecutionInfo["status"]) => viewOf({ ...info, status });
  expect(
    (["queued", "waiting_hitl", "running", "done", "unknown"] as const).map((s) => isUnderWay(of(s))),
  ).toEqual([true, true, true, false, false]);
  expect(isUnderWay(withRefusal(of("waiting_hitl"), { code: "APPROVAL_DENIED", message: "no" }))).toBe(false);
});

test("a refused command stays in its place though the daemon forgets it, any other goes", () => {
  const [first, second, third] = ["1", "2", "3"].map((at) =>
    viewOf({ ...info, execution_id: `e-${at}`, created_at: at }),
  ) as [ExecutionView, ExecutionView, ExecutionView];
  const refused = withRefusal(second, { code: "APPROVAL_DENIED", message: "no" });
  const views = merged([first, refused, third], [third.info]);
  expect(views.map((view) => view.info.execution_id)).toEqual(["e-2", "e-3"]);
  expect(views[0]?.refusal?.message).toBe("no");
});
