/** What the daemon found out about its machine, in the order people want it. Pure. */
import type { Finding, Health } from "../api/types";

const order: Record<Health, number> = { bad: 0, warn: 1, ok: 2, info: 3 };

/** Those of one kind stay as the daemon told them. */
export function worstFirst(rows: readonly Finding[]): Finding[] {
  return [...rows].sort((a, b) => order[a.status] - order[b.status]);
}
