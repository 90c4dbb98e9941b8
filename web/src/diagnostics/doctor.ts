/** What `system.doctor` found out about the machine. A daemon that is too old for it says so, and nothing is made up. Pure. */

export type Health = "ok" | "warn" | "bad" | "info";

export interface Finding {
  id: string;
  title: string;
  status: Health;
  value: string;
  hint?: string;
}

export interface Diagnosis {
  status: Health;
  rows: Finding[];
}

const HEALTHS: readonly unknown[] = ["ok", "warn", "bad", "info"];
const order: Record<Health, number> = { bad: 0, warn: 1, ok: 2, info: 3 };

function isHealth(found: unknown): found is Health {
  return HEALTHS.includes(found);
}

/** The reply as far as it is understood, worst first; null when it is something else. */
export function readDiagnosis(reply: unknown): Diagnosis | null {
  const { status, rows } = (reply ?? {}) as { status?: unknown; rows?: unknown };
  if (!isHealth(status) || !Array.isArray(rows)) return null;
  return {
    status,
    rows: rows.flatMap(readFinding).sort((a, b) => order[a.status] - order[b.status]),
  };
}

function readFinding(row: unknown): Finding[] {
  const { id, title, status, value, hint } = (row ?? {}) as Record<string, unknown>;
  if (typeof id !== "string" || typeof title !== "string" || !isHealth(status)) return [];
  return [
    {
      id,
      title,
      status,
      value: typeof value === "string" ? value : "",
      ...(typeof hint === "string" ? { hint } : {}),
    },
  ];
}
