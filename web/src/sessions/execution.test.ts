import { expect, test } from "vitest";
import type { ExecutionInfo, RunResult } from "../api/types";
import {
  merged,
  MOST_SHOWN,
  viewOf,
  withOutput,
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

test("what a result left out is named in its place", () => {
  const result = {
    stdout: "headtail",
    stdout_encoding: "utf-8",
    stderr: "",
    stderr_encoding: "utf-8",
    exit_code: 0,
    omitted: { stdout: { from: 4, to: 100 } },
  } as RunResult;
  const view = withResult(viewOf(info), result);
  expect(shown(view.segments)).toEqual(["stdout:head", "stdout[4-100]", "stdout:tail"]);
  expect([view.info.status, view.isLoaded]).toEqual(["done", true]);
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
