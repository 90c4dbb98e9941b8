import { expect, test } from "vitest";
import { ago, duration, size } from "./time";

test.each([
  [12, "12 ms"],
  [1500, "1.5 s"],
  [61_000, "1 min 1 s"],
  [3_660_000, "1 h 1 min"],
])("%d ms is %s", (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [999, "999 B"],
  [1_500, "1.5 kB"],
  [52_428_800, "52.4 MB"],
])("%d bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));

test("a while ago", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  const said = (then: string) => ago((key, params) => `${key} ${params?.["n"] ?? ""}`.trim(), then, now);
  expect(said("2026-01-01T23:59:59Z")).toBe("time.now");
  expect(said("2026-01-01T23:58:00Z")).toBe("time.minutes 2");
  expect(said("2025-12-30T00:00:00Z")).toBe("time.days 3");
});
