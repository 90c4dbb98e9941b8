/** What was run, newest first, as it is read page by page, and the output that was kept of it. Pure. */
import type { HistoryEntry, Excerpt } from "../api/types";
import type { Segment, StreamName } from "../sessions/execution";

/** So many are read at once. */
export const AT_ONCE = 50;

export interface Pages {
  entries: readonly HistoryEntry[];
  /** Where to go on; null when there is no more. */
  next: number | null;
}

interface Page {
  entries: readonly HistoryEntry[];
  next?: number | null;
}

export function firstPage({ entries, next }: Page): Pages {
  return { entries, next: next ?? null };
}

export function withOlder(pages: Pages, { entries, next }: Page): Pages {
  const last = pages.entries.at(-1)?.seq ?? Infinity;
  return { entries: [...pages.entries, ...entries.filter(({ seq }) => seq < last)], next: next ?? null };
}

/** With what was run meanwhile. If more was run than is read at once, what is between is read when it is wanted. */
export function withNewest(pages: Pages, newest: Page): Pages {
  const [first, oldest] = [pages.entries[0]?.seq, newest.entries.at(-1)?.seq];
  const isApart = first !== undefined && oldest !== undefined && oldest > first && newest.next != null;
  if (first === undefined || isApart) return firstPage(newest);
  const fresh = new Set(newest.entries.map(({ seq }) => seq));
  const known = pages.entries.filter(({ seq }) => !fresh.has(seq));
  const entries = [...newest.entries, ...known].sort((a, b) => b.seq - a.seq);
  return { entries, next: pages.next };
}

/** What was kept of the output: stdout, then stderr, each with the place of what is not there. */
export function outputOf({ stdout, stderr }: HistoryEntry): Segment[] {
  return [...segments("stdout", stdout), ...segments("stderr", stderr)];
}

function segments(stream: StreamName, { head, tail, bytes }: Excerpt): Segment[] {
  const text = (text: string): Segment[] => (text === "" ? [] : [{ kind: "text", stream, text }]);
  if (tail == null) return text(head);
  const [from, end] = [lengthOf(head), lengthOf(tail)];
  const range = { from, to: Math.max(from, (bytes ?? from + end) - end) };
  return [...text(head), { kind: "gap", stream, range }, ...text(tail)];
}

function lengthOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** How it ended, in a word and a colour. */
export type Ending =
  | { kind: "exit"; code: number }
  | { kind: "cancelled" | "timedOut" | "unknown" | "underWay" }
  | { kind: "killed"; signal: string };

export function endingOf(entry: HistoryEntry): Ending {
  if (entry.status === "unknown") return { kind: "unknown" };
  if (entry.status !== "done") return { kind: "underWay" };
  if (entry.timed_out) return { kind: "timedOut" };
  if (entry.cancelled) return { kind: "cancelled" };
  if (entry.signal != null) return { kind: "killed", signal: entry.signal };
  return { kind: "exit", code: entry.exit_code ?? 0 };
}
