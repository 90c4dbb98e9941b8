import { expect, test } from "vitest";
import type { HistoryEntry } from "../api/types";
import { endingOf, firstPage, outputOf, withNewest, withOlder, type Pages } from "./history";

const entry = (seq: number, more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  seq,
  execution_id: `e-${seq}`,
  session_id: "s-1",
  command: "x",
  working_dir: "/",
  status: "done",
  timed_out: false,
  cancelled: false,
  started_at: "",
  stdout: { head: "", bytes: 0 },
  stderr: { head: "", bytes: 0 },
  ...more,
});
const seqs = ({ entries }: Pages) => entries.map(({ seq }) => seq);

test("pages are put one after another, nothing twice", () => {
  const first = firstPage({ entries: [entry(9), entry(8)], next: 8 });
  const second = withOlder(first, { entries: [entry(8), entry(7)] });
  expect([seqs(second), second.next]).toEqual([[9, 8, 7], null]);
});

test("what is run meanwhile comes first, and takes the place of what was known of it", () => {
  const known = firstPage({ entries: [entry(9, { status: "running" }), entry(8)], next: 8 });
  const now = withNewest(known, { entries: [entry(10), entry(9)], next: 9 });
  expect([seqs(now), now.next]).toEqual([[10, 9, 8], 8]);
  expect(now.entries[1]?.status).toBe("done");
  expect(seqs(withNewest(firstPage({ entries: [] }), { entries: [entry(1)] }))).toEqual([1]);
});

test("when more was run than is read at once, nothing between is passed over", () => {
  const known = firstPage({ entries: [entry(3)], next: 3 });
  const now = withNewest(known, { entries: [entry(90), entry(89)], next: 89 });
  expect([seqs(now), now.next]).toEqual([[90, 89], 89]);
});

test("of a long output the beginning and the end are shown, and how much is missing", () => {
  const output = outputOf(
    entry(1, { stdout: { head: "你", tail: "end", bytes: 100 }, stderr: { head: "!", bytes: 1 } }),
  );
  expect(output).toEqual([
    { kind: "text", stream: "stdout", text: "你" },
    { kind: "gap", stream: "stdout", range: { from: 3, to: 97 } },
    { kind: "text", stream: "stdout", text: "end" },
    { kind: "text", stream: "stderr", text: "!" },
  ]);
  expect(outputOf(entry(1))).toEqual([]);
});

test("how a command ended", () => {
  expect(endingOf(entry(1, { exit_code: 3 }))).toEqual({ kind: "exit", code: 3 });
  expect(endingOf(entry(1, { status: "unknown" }))).toEqual({ kind: "unknown" });
  expect(endingOf(entry(1, { status: "running" }))).toEqual({ kind: "underWay" });
  expect(endingOf(entry(1, { timed_out: true, exit_code: 124 }))).toEqual({ kind: "timedOut" });
  expect(endingOf(entry(1, { cancelled: true }))).toEqual({ kind: "cancelled" });
  expect(endingOf(entry(1, { signal: "KILL" }))).toEqual({ kind: "killed", signal: "KILL" });
});
