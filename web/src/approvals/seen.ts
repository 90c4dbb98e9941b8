/** How much of something has been on the screen. Places are shares of its height, from 0 to 1, so that it may change its size. */

export type Span = readonly [from: number, to: number];

/** With one more span; those that touch are one. In order. */
export function cover(spans: readonly Span[], [from, to]: Span): Span[] {
  if (to <= from) return [...spans];
  const apart = spans.filter((span) => span[1] < from || span[0] > to);
  const joined = spans.filter((span) => span[1] >= from && span[0] <= to);
  const whole: Span = [
    Math.min(from, ...joined.map((span) => span[0])),
    Math.max(to, ...joined.map((span) => span[1])),
  ];
  return [...apart, whole].sort((a, b) => a[0] - b[0]);
}

/** What is in both spans; nothing, where they are apart. */
export function common(one: Span, other: Span): Span {
  const [from, to] = [Math.max(one[0], other[0]), Math.min(one[1], other[1])];
  return to > from ? [from, to] : [0, 0];
}

/** Where the first part begins that was not seen; null when all of it was. `slack` is what rounding may take away. */
export function firstUnseen(spans: readonly Span[], slack: number): number | null {
  let seen = 0;
  for (const [from, to] of spans) {
    if (from > seen + slack) break;
    seen = Math.max(seen, to);
  }
  return seen >= 1 - slack ? null : seen;
}
