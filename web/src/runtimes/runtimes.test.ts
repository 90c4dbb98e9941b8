import { expect, test } from "vitest";
import type { RuntimeInfo, RuntimeState } from "../api/types";
import { choicesOf, engineOf, roundTrip, standings } from "./runtimes";

const one = (name: string, state: RuntimeState = "idle", more: Partial<RuntimeInfo> = {}): RuntimeInfo => ({
  name,
  kind: name === "host" ? "host" : "command",
  state,
  sessions: 0,
  reconnects: 0,
  configured: true,
  ...more,
});

test("there is a choice when there is another than this machine that takes sessions", () => {
  expect(choicesOf([])).toEqual([]);
  expect(choicesOf([one("host", "up")])).toEqual([]);
  expect(choicesOf([one("host", "up"), one("old", "draining")])).toEqual([]);
  expect(choicesOf([one("host", "up"), one("box"), one("lost", "waiting")])).toEqual(["host", "box", "lost"]);
  // A token may be kept away from this machine.
  expect(choicesOf([one("box")])).toEqual(["box"]);
});

test("an engine is described once it was met", () => {
  expect(engineOf(one("box"))).toBe("");
  const engine = { version: "0.1.0", os: "linux", arch: "x86_64", host: "far", pid: 7 };
  expect(engineOf(one("box", "up", { engine }))).toBe("trl 0.1.0 · far · linux x86_64");
});

test("a round trip is told in the unit that fits", () => {
  const health = { name: "box", healthy: true };
  expect([0, 640, 1500, 120_000].map((round_trip_us) => roundTrip({ ...health, round_trip_us }))).toEqual([
    "0 µs",
    "640 µs",
    "1.5 ms",
    "120.0 ms",
  ]);
  expect(roundTrip({ ...health, healthy: false })).toBe("");
});

test("only what is lost looks bad", () => {
  expect(Object.entries(standings).flatMap(([state, { dot }]) => (dot === "bad" ? [state] : []))).toEqual([
    "waiting",
  ]);
});
