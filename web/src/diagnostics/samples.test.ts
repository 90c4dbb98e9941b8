import { expect, test } from "vitest";
import type { Distribution, Stats } from "../api/types";
import {
  added,
  gauge,
  latest,
  line,
  quantile,
  rate,
  SPAN_MS,
  spanOf,
  top,
  within,
  type Sample,
} from "./samples";

const sample = (at: number, total_commands_run: number, uptime_s = at): Sample => ({
  at: at * 1000,
  stats: { total_commands_run, uptime_s } as Stats,
});
const commands = (stats: Stats) => stats.total_commands_run;

test("rates are per second, and not across a gap", () => {
  const samples = [sample(0, 10), sample(2, 30), sample(3, 31), sample(60, 1000)];
  expect(rate(samples, commands).map(({ value }) => value)).toEqual([10, 1, null]);
  expect(gauge(samples, commands).map(({ value }) => value)).toEqual([10, 30, 31, 1000]);
});

test("what charts reach back to is kept, of one daemon", () => {
  let samples: Sample[] = [];
  for (let i = 0; i < 400; i++) samples = added(samples, sample(i, i));
  expect(samples.length * 1000).toBeGreaterThanOrEqual(SPAN_MS);
  expect(samples.length * 1000).toBeLessThan(SPAN_MS + 20_000);
  expect(added(samples, sample(500, 0, 1))).toHaveLength(1);
});

const times = (...ms: number[]): Distribution => ({
  count: ms.length,
  sum_ms: ms.reduce((sum, one) => sum + one, 0),
  buckets: [1, 10, 100].map((le_ms) => ({ le_ms, count: ms.filter((one) => one <= le_ms).length })),
});

test("a share of the commands between two readings", () => {
  expect(within(times(), times(), 0.5)).toBe(null);
  expect(within(times(50, 50), times(50, 50), 0.5)).toBe(null);
  expect(within(times(), times(5, 5, 5, 5), 0.5)).toBe(5.5);
  // Those from before do not count.
  expect(within(times(50, 50, 50), times(50, 50, 50, 1), 0.95)).toBeCloseTo(0.95);
  expect(within(times(), times(1, 1, 1, 99), 0.95)).toBeGreaterThan(10);
  expect(within(times(), times(5000), 0.5)).toBe(100);
});

test("quantiles over time have holes where nothing ran", () => {
  const at = (second: number, of: Distribution): Sample => ({
    at: second * 1000,
    stats: { command_wait_ms: of } as Stats,
  });
  const found = quantile(
    [at(0, times()), at(2, times(1)), at(4, times(1))],
    (stats) => stats.command_wait_ms,
    1,
  );
  expect(found.map(({ value }) => value)).toEqual([1, null]);
  expect(latest(found)).toBe(null);
});

test("a chart is a little higher than its line", () => {
  const of = (...values: (number | null)[]) => top([values.map((value, at) => ({ at, value }))]);
  expect([of(), of(0, null), of(3), of(50), of(51), of(0.3)]).toEqual([1, 1, 5, 50, 100, 0.5]);
});

test("a line ends at now, breaks where nothing is known, and is a dot where little is", () => {
  const now = SPAN_MS;
  const box = { width: 240, height: 10, now, span: SPAN_MS, most: 10 };
  const points = [
    { at: now - 8_000, value: 0 },
    { at: now - 6_000, value: null },
    { at: now - 4_000, value: 5 },
    { at: now, value: 10 },
  ];
  expect(line(points, box)).toBe("M232.0 10.0h0M236.0 5.0h0L240.0 0.0");
  expect(line([{ at: -1, value: 1 }], box)).toBe("");
});

test("a chart is as wide as what was seen, within bounds", () => {
  expect(spanOf([])).toBe(30_000);
  expect(spanOf([sample(0, 0), sample(60, 0)])).toBe(60_000);
  expect(spanOf([sample(0, 0), sample(999, 0)])).toBe(SPAN_MS);
});
