/** Figures of the daemon over time. Pure. */
import type { Distribution, Stats } from "../api/types";

export interface Sample {
  at: number;
  stats: Stats;
}

/** A figure at a time; null when there was nothing to measure. */
export interface Point {
  at: number;
  value: number | null;
}

/** So far back charts reach, once there is so much to show. */
export const SPAN_MS = 240_000;
const LEAST_SPAN_MS = 30_000;

/** Longer without a sample, and nobody was looking: a line across would be made up. */
const GAP_MS = 10_000;

export function added(samples: readonly Sample[], sample: Sample): Sample[] {
  // Another daemon's counters begin anew; a line from one to the other says nothing.
  const last = samples.at(-1);
  const isAnother = last !== undefined && sample.stats.uptime_s < last.stats.uptime_s;
  const kept = isAnother ? [] : samples.filter(({ at }) => at > sample.at - SPAN_MS - GAP_MS);
  return [...kept, sample];
}

export function gauge(samples: readonly Sample[], of: (stats: Stats) => number): Point[] {
  return samples.map(({ at, stats }) => ({ at, value: of(stats) }));
}

/** From each sample to the next: what `of` makes of both, if they are near enough. */
function between(
  samples: readonly Sample[],
  of: (before: Stats, after: Stats, seconds: number) => number | null,
): Point[] {
  return samples.slice(1).map(({ at, stats }, i) => {
    const before = samples[i];
    const ms = before === undefined ? 0 : at - before.at;
    const isNear = before !== undefined && ms > 0 && ms <= GAP_MS;
    return { at, value: isNear ? of(before.stats, stats, ms / 1000) : null };
  });
}

/** A counter's growth per second. */
export function rate(samples: readonly Sample[], of: (stats: Stats) => number): Point[] {
  return between(samples, (before, after, seconds) => (of(after) - of(before)) / seconds);
}

/** What this share of the commands between two samples did not take longer than. */
export function quantile(
  samples: readonly Sample[],
  of: (stats: Stats) => Distribution,
  share: number,
): Point[] {
  return between(samples, (before, after) => within(of(before), of(after), share));
}

/** As fine as the buckets are: in one, times are taken to be spread evenly. */
export function within(before: Distribution, after: Distribution, share: number): number | null {
  const all = after.count - before.count;
  if (all <= 0) return null;
  const wanted = share * all;
  let [bound, seen] = [0, 0];
  for (const [i, bucket] of after.buckets.entries()) {
    const here = bucket.count - (before.buckets[i]?.count ?? 0);
    if (here >= wanted && here > seen)
      return bound + ((bucket.le_ms - bound) * (wanted - seen)) / (here - seen);
    [bound, seen] = [bucket.le_ms, here];
  }
  // Longer than the longest bound; how much is not known.
  return bound;
}

export function latest(points: readonly Point[]): number | null {
  return points.at(-1)?.value ?? null;
}

/** What the width of a chart stands for: what was seen, within bounds. */
export function spanOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  const seen = first === undefined || last === undefined ? 0 : last.at - first.at;
  return Math.max(LEAST_SPAN_MS, Math.min(SPAN_MS, seen));
}

/** The top of a chart: the least of 1, 2 and 5 times a power of ten that all fits below. */
export function top(series: readonly (readonly Point[])[]): number {
  const most = Math.max(0, ...series.flat().map(({ value }) => value ?? 0));
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * ([1, 2, 5, 10].find((n) => n * power >= most) ?? 10);
}

export interface Box {
  width: number;
  height: number;
  /** The time of the right edge, and how long ago the left one is. */
  now: number;
  span: number;
  /** The figure at the top. */
  most: number;
}

/** A line in a box: broken where nothing is known, a dot where little is. */
export function line(points: readonly Point[], { width, height, now, span, most }: Box): string {
  let last: number | null = null;
  const steps: string[] = [];
  for (const { at, value } of points) {
    if (value === null || at < now - span) {
      last = null;
      continue;
    }
    const x = (width * (1 - (now - at) / span)).toFixed(1);
    const y = (height - (value / most) * height).toFixed(1);
    const isJoined = last !== null && at - last <= GAP_MS;
    steps.push(isJoined ? `L${x} ${y}` : `M${x} ${y}h0`);
    last = at;
  }
  return steps.join("");
}
