import { expect, test } from "vitest";
import { readDiagnosis } from "./doctor";

test("a diagnosis shows the worst first", () => {
  const row = (id: string, status: string) => ({ id, title: id, status, value: "v" });
  const read = readDiagnosis({
    version: "1",
    status: "bad",
    rows: [row("a", "info"), row("b", "ok"), row("c", "bad"), { ...row("d", "warn"), hint: "h" }],
  });
  expect(read?.status).toBe("bad");
  expect(read?.rows.map(({ id }) => id)).toEqual(["c", "d", "b", "a"]);
  expect(read?.rows[1]?.hint).toBe("h");
});

test("what is no diagnosis is none, and rows that are not understood are left out", () => {
  for (const wrong of [null, 7, {}, { status: "ok" }, { status: "fine", rows: [] }])
    expect(readDiagnosis(wrong)).toBe(null);
  expect(
    readDiagnosis({ status: "ok", rows: [null, { id: 1 }, { id: "x", title: "X", status: "?" }] }),
  ).toEqual({ status: "ok", rows: [] });
});
