/** Profiles that sessions are created from, as they are shown. Pure. */
import type { CaseError, CaseInfo } from "../api/types";

export type Standing =
  /** No session can be created from it. */
  | "broken"
  /** Part of it has no effect until somebody says so. */
  | "untrusted"
  | "good";

export function standingOf({ errors = [], trusted }: CaseInfo): Standing {
  if (errors.length > 0) return "broken";
  return trusted ? "good" : "untrusted";
}

/** Whether there is something to trust, or to trust no longer: those of the operator are trusted as they are. */
export function trustOf(one: CaseInfo): "give" | "take" | null {
  if (one.origin !== "workspace" || one.digest == null) return null;
  if (one.trusted) return "take";
  return standingOf(one) === "broken" ? null : "give";
}

/** `12:3`, as editors take it; empty for the file as a whole. */
export function lineOf({ line, column }: CaseError): string {
  if (line == null) return "";
  return column == null ? String(line) : `${line}:${column}`;
}

/** What a case says, field by field, in the words of its file; what it does not say is left out. */
export function fieldsOf(said: object): { name: string; text: string }[] {
  return Object.entries(said).flatMap(([name, value]: [string, unknown]) => {
    if (value == null || isEmpty(value)) return [];
    return [{ name, text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }];
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
