/**
 * Commands that wait for a person, in the order they are shown, and what became of each. Pure.
 *
 * Oldest first. While somebody points at the list nothing in it moves: what is settled stays where it was, what is new comes
 * last. When they look away, what is settled leaves the list.
 */
import { whyNot } from "../api/text";
import type { ApprovalRequest, Executable, RequestSegment, RequestState, Verdict } from "../api/types";
import { oneLine } from "../ui/plain";

export type Fate =
  /** It waits. */
  | { kind: "open" }
  | { kind: "sending" }
  /** Our answer did not get through; it waits still. */
  | { kind: "failed"; why: string }
  /** Its session cannot be opened without these; it waits still. `why` when what was given did not open it. */
  | { kind: "secrets"; names: readonly string[]; why?: string }
  /** It was settled: by us, or while we were thinking. `state` is absent when that was not told. */
  | { kind: "settled"; by: "us" | "elsewhere"; state?: RequestState; who?: string }
  /** The daemon does not know it any more. */
  | { kind: "gone" };

export interface Item {
  request: ApprovalRequest;
  fate: Fate;
}

/** Whether a person can still do something about it. */
export function isWaiting({ fate }: Item): boolean {
  return fate.kind !== "settled" && fate.kind !== "gone";
}

function isOlder(a: Item, b: Item): number {
  const [one, other] = [a.request, b.request];
  return one.created_at.localeCompare(other.created_at) || one.request_id.localeCompare(other.request_id);
}

/** The list with what the daemon says is pending now. */
export function heard(items: readonly Item[], pending: readonly ApprovalRequest[]): Item[] {
  const fresh = new Map(pending.map((request) => [request.request_id, request]));
  const kept = items.map((item): Item => {
    const request = fresh.get(item.request.request_id);
    fresh.delete(item.request.request_id);
    // An answer that is under way tells by itself what came of it.
    if (!isWaiting(item) || item.fate.kind === "sending") return item;
    if (request === undefined) return { ...item, fate: { kind: "settled", by: "elsewhere" } };
    return { ...item, request };
  });
  const added = [...fresh.values()].map((request): Item => ({ request, fate: { kind: "open" } }));
  return [...kept, ...added.sort(isOlder)];
}

/** The list when the daemon says that one is settled. */
export function resolved(items: readonly Item[], id: string, state: RequestState): Item[] {
  return items.map((item) => {
    const { fate, request } = item;
    if (request.request_id !== id || fate.kind === "sending" || fate.kind === "gone") return item;
    if (fate.kind === "settled") return { ...item, fate: { ...fate, state: fate.state ?? state } };
    return { ...item, fate: { kind: "settled", by: "elsewhere", state } };
  });
}

export function withFate(items: readonly Item[], id: string, fate: Fate): Item[] {
  return items.map((item) => (item.request.request_id === id ? { ...item, fate } : item));
}

/** Nobody points at it: what is settled goes, and the rest is in order. */
export function released(items: readonly Item[]): { waiting: Item[]; settled: Item[] } {
  return {
    waiting: items.filter(isWaiting).sort(isOlder),
    settled: items.filter((item) => !isWaiting(item)),
  };
}

/** What a refusal of our answer means for the request. */
export function fateAfter(refusal: {
  code: string;
  message: string;
  hint?: string | undefined;
  facts?: Readonly<Record<string, unknown>>;
}): Fate {
  const { state, by } = refusal.facts ?? {};
  switch (refusal.code) {
    case "ALREADY_RESOLVED":
      return {
        kind: "settled",
        by: "elsewhere",
        ...(isState(state) ? { state } : {}),
        ...(typeof by === "string" ? { who: by } : {}),
      };
    case "APPROVAL_EXPIRED":
      return { kind: "settled", by: "elsewhere", state: "expired" };
    case "REQUEST_NOT_FOUND":
      return { kind: "gone" };
    case "SECRETS_REQUIRED": {
      const names = namesOf(refusal.facts?.["names"]);
      return names.length > 0 ? { kind: "secrets", names } : { kind: "failed", why: whyNot(refusal) };
    }
    default:
      return { kind: "failed", why: whyNot(refusal) };
  }
}

function namesOf(found: unknown): string[] {
  return Array.isArray(found) ? found.filter((name): name is string => typeof name === "string") : [];
}

const STATES: readonly string[] = ["pending", "approved", "rejected", "expired", "cancelled"];

function isState(found: unknown): found is RequestState {
  return typeof found === "string" && STATES.includes(found);
}

/** How long there is to answer, and the share of the time that is left, from 1 to 0. */
export function remaining(request: ApprovalRequest, now: number): { ms: number; share: number } {
  const [from, to] = [Date.parse(request.created_at), Date.parse(request.expires_at)];
  const ms = Math.max(0, to - now);
  return { ms, share: to <= from ? 0 : Math.min(1, ms / (to - from)) };
}

/** `29:05`, or with hours when there are any. */
export function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

export interface Piece {
  text: string;
  /** What the rules say of it; null for what stands between the parts. */
  verdict: Verdict | null;
}

/** A command with its parts marked. Places are in bytes, as everywhere on the wire. */
export function pieces(command: string, segments: readonly RequestSegment[]): Piece[] {
  const bytes = new TextEncoder().encode(command);
  const text = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
  const found: Piece[] = [];
  let at = 0;
  for (const { at: place, verdict } of segments) {
    if (place == null || place.from < at || place.to > bytes.length || place.to <= place.from) continue;
    if (place.from > at) found.push({ text: text(at, place.from), verdict: null });
    found.push({ text: text(place.from, place.to), verdict });
    at = place.to;
  }
  if (at < bytes.length) found.push({ text: text(at, bytes.length), verdict: null });
  return found;
}

/** Where it is to run, for people: a session or a terminal by its name, or as it is known to the daemon. */
export function placeOf({ session_name, session_id, terminal_id }: ApprovalRequest): string {
  return session_name ?? session_id ?? terminal_id ?? "";
}

/**
 * Whether something else may be run in its place: a terminal is opened as it was asked for, or not, and what an agent wants
 * to do itself is its own.
 */
export function isEditable(request: ApprovalRequest): boolean {
  return request.terminal_id == null && request.permission == null;
}

/** What a name stands for: a file, or what else; `odd` when it is not what one takes it for. */
export function standsFor({ what, path }: Executable): { text: string; isOdd: boolean } {
  const usual = ["file", "builtin", "keyword", "directory"];
  return { text: path ?? what, isOdd: !usual.includes(what) };
}

/** What a yes that reaches further than this once would allow, each named once. */
export function wouldAllow(request: ApprovalRequest): string[] {
  const named = request.segments.flatMap(({ verdict, would_allow }) =>
    verdict === "ask" && would_allow != null ? [would_allow] : [],
  );
  return [...new Set(named)];
}

/** Which of them to tell a person of who looks elsewhere, and which are known by now. */
export function news(
  known: ReadonlySet<string>,
  items: readonly Item[],
  isHidden: boolean,
): { tell: Item[]; known: Set<string> } {
  const waiting = items.filter(isWaiting);
  const tell = isHidden ? waiting.filter((item) => !known.has(item.request.request_id)) : [];
  return { tell, known: new Set(waiting.map((item) => item.request.request_id)) };
}

/** A notification is no place for a script. */
const MOST_TOLD = 160;

/** What is not seen is written out, and of what does not fit the beginning and the end are told. */
export function summary(command: string): string {
  const text = oneLine(command);
  if (text.length <= MOST_TOLD) return text;
  const half = MOST_TOLD / 2;
  return `${text.slice(0, half).trimEnd()} … ${text.slice(-half).trimStart()}`;
}
