import { expect, test } from "vitest";
import type { Decided } from "../api/types";
import { AT_ONCE, decided, withNewest, withOlder } from "./decisions";

/** From the newest down to the oldest. */
const from = (newest: number, oldest: number) =>
  Array.from({ length: newest - oldest + 1 }, (_, i): Decided => ({
    seq: newest - i,
    time: "",
    what: i % 2 === 0 ? "approved" : "requested",
    command: "x",
  }));
const seqs = (entries: readonly Decided[]) => entries.map(({ seq }) => seq);

test("a short record is all there is, a full one may have more", () => {
  expect(withNewest(null, from(3, 1))).toMatchObject({ hasMore: false });
  const log = withNewest(null, from(120, 71));
  expect(log.hasMore).toBe(true);
  const more = withOlder(log, from(70, 21));
  expect([more.entries.length, more.hasMore]).toEqual([2 * AT_ONCE, true]);
  expect(withOlder(more, from(20, 1))).toMatchObject({ hasMore: false, entries: { length: 120 } });
});

test("what happens meanwhile stands before it, each once", () => {
  const log = withNewest(null, from(3, 1));
  expect(seqs(withNewest(log, from(5, 1)).entries)).toEqual([5, 4, 3, 2, 1]);
  expect(seqs(withNewest(log, []).entries)).toEqual([3, 2, 1]);
});

test("when too much happened to be read at once, nothing between is left out unseen", () => {
  const log = withNewest(null, from(60, 11));
  const later = withNewest(log, from(200, 151));
  expect([later.entries.length, later.hasMore]).toEqual([AT_ONCE, true]);
});

test("what was only asked is no decision", () => {
  expect(seqs(decided(withNewest(null, from(4, 1))))).toEqual([4, 2]);
});
