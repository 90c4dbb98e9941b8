/** How long to wait before trying again. */

export const MOST_TRIES = 10;
const FIRST_MS = 250;
const LONGEST_MS = 15_000;

/** Before the given try (from 1): doubling, with a quarter either way, so that many clients do not come at once. */
export function delayBefore(attempt: number, random: () => number): number {
  const plain = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  return Math.round(plain * (0.75 + random() / 2));
}
