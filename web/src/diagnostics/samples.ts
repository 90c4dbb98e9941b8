/** Figures of the daemon over time. Pure but for asking. */
import type { Stats } from "../api/types";

export interface Sample {
  at: number;
  stats: Stats;
}

/** Four minutes of them. */
export const MOST_SAMPLES = 120;

export function added(samples: readonly Sample[], sample: Sample): Sample[] {
  // Another daemon's counters begin anew; a line from one to the other says nothing.
  const last = samples.at(-1);
  const isAnother = last !== undefined && sample.stats.uptime_s < last.stats.uptime_s;
  return [...(isAnother ? [] : samples), sample].slice(-MOST_SAMPLES);
}

export function gauge(samples: readonly Sample[], of: (stats: Stats) => number): number[] {
  return samples.map(({ stats }) => of(stats));
}

/** A counter's growth per second. */
export function rate(samples: readonly Sample[], of: (stats: Stats) => number): number[] {
  return samples.slice(1).map(({ at, stats }, i) => {
    const before = samples[i];
    if (before === undefined || at <= before.at) return 0;
    return ((of(stats) - of(before.stats)) * 1000) / (at - before.at);
  });
}

/** The points of a line in a box of that size, from the left; a flat one lies at the bottom. */
export function points(values: readonly number[], width: number, height: number): string {
  const most = Math.max(...values, 0);
  const step = width / Math.max(1, MOST_SAMPLES - 1);
  const from = width - step * (values.length - 1);
  return values
    .map((value, i) => {
      const y = most === 0 ? height : height - (value / most) * (height - 2);
      return `${(from + i * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
