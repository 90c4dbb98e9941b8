import { expect, test } from "vitest";
import type { Stats } from "../api/types";
import { added, gauge, MOST_SAMPLES, points, rate, type Sample } from "./samples";

const sample = (at: number, total_commands_run: number, uptime_s = at): Sample => ({
  at: at * 1000,
  stats: { total_commands_run, uptime_s } as Stats,
});

test("rates are per second", () => {
  const samples = [sample(0, 10), sample(2, 30), sample(3, 31)];
  expect(rate(samples, (stats) => stats.total_commands_run)).toEqual([10, 1]);
  expect(gauge(samples, (stats) => stats.total_commands_run)).toEqual([10, 30, 31]);
});

test("so many are kept, of one daemon", () => {
  let samples: Sample[] = [];
  for (let i = 0; i < MOST_SAMPLES + 10; i++) samples = added(samples, sample(i, i));
  expect(samples).toHaveLength(MOST_SAMPLES);
  expect(added(samples, sample(500, 0, 1))).toHaveLength(1);
});

test("a line ends at the right edge", () => {
  expect(points([0, 5], 119, 12).split(" ").at(-1)).toBe("119.0,2.0");
  expect(points([0, 0], 119, 12).split(" ").at(-1)).toBe("119.0,12.0");
  expect(points([], 119, 12)).toBe("");
});
