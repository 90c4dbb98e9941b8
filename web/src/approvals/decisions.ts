/** The daemon's record of decisions, newest first, as it is read piece by piece. Pure. */
import type { Decided } from "../api/types";

/** So many are read at once. */
export const AT_ONCE = 50;

export interface Log {
  entries: readonly Decided[];
  /** Whether the daemon has older ones. */
  hasMore: boolean;
}

/** With the newest ones put before what is known; if some may lie between, what is known is read again when it is wanted. */
export function withNewest(log: Log | null, newest: readonly Decided[]): Log {
  const isFull = newest.length === AT_ONCE;
  const known = log?.entries[0]?.seq;
  const isApart = isFull && known !== undefined && (newest.at(-1)?.seq ?? 0) > known;
  if (log === null || isApart) return { entries: newest, hasMore: isFull };
  return { entries: joined(newest, log.entries), hasMore: log.hasMore };
}

export function withOlder(log: Log, older: readonly Decided[]): Log {
  return { entries: joined(log.entries, older), hasMore: older.length === AT_ONCE };
}

function joined(newer: readonly Decided[], older: readonly Decided[]): readonly Decided[] {
  const end = newer.at(-1)?.seq ?? Infinity;
  return [...newer, ...older.filter(({ seq }) => seq < end)];
}

/** What was decided, without what was only asked. */
export function decided({ entries }: Log): Decided[] {
  return entries.filter(({ what }) => what !== "requested");
}
