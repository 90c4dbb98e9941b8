import { expect, test } from "vitest";
import type { ApprovalRequest } from "../api/types";
import {
  clock,
  fateAfter,
  heard,
  isEditable,
  isWaiting,
  news,
  pieces,
  placeOf,
  released,
  remaining,
  resolved,
  standsFor,
  withFate,
  wouldAllow,
  type Item,
} from "./inbox";

const request = (request_id: string, created_at: string) =>
  ({
    request_id,
    created_at,
    expires_at: "2026-01-01T00:30:00Z",
    command: "x",
    segments: [],
  }) as unknown as ApprovalRequest;
const a = request("r-a", "2026-01-01T00:00:00Z");
const b = request("r-b", "2026-01-01T00:01:00Z");
const c = request("r-c", "2026-01-01T00:02:00Z");
const ids = (items: readonly Item[]) => items.map((item) => item.request.request_id);
const fates = (items: readonly Item[]) =>
  items.map(({ fate }) => (fate.kind === "settled" ? `${fate.by} ${fate.state ?? "?"}` : fate.kind));

test("the oldest stands first, however they come", () => {
  expect(ids(heard([], [c, a, b]))).toEqual(["r-a", "r-b", "r-c"]);
});

test("under the pointer nothing moves: the new come last, the settled stay", () => {
  const before = heard([], [b, c]);
  const held = heard(before, [a, c]);
  expect(ids(held)).toEqual(["r-b", "r-c", "r-a"]);
  expect(fates(held)).toEqual(["elsewhere ?", "open", "open"]);
  const { waiting, settled } = released(held);
  expect([ids(waiting), ids(settled)]).toEqual([["r-a", "r-c"], ["r-b"]]);
});

test("what is settled elsewhere says how", () => {
  const items = resolved(heard([], [a, b]), "r-a", "rejected");
  expect(fates(items)).toEqual(["elsewhere rejected", "open"]);
  // The list that comes after the event, or before it, changes nothing about that.
  expect(fates(heard(items, [b]))).toEqual(["elsewhere rejected", "open"]);
  expect(fates(resolved(heard(heard([], [a]), []), "r-a", "expired"))).toEqual(["elsewhere expired"]);
});

test("an answer under way is not overtaken by news of it", () => {
  const sending = withFate(heard([], [a]), "r-a", { kind: "sending" });
  expect(fates(heard(sending, []))).toEqual(["sending"]);
  expect(fates(resolved(sending, "r-a", "approved"))).toEqual(["sending"]);
  const done = withFate(sending, "r-a", { kind: "settled", by: "us", state: "approved" });
  expect(fates(resolved(done, "r-a", "approved"))).toEqual(["us approved"]);
  // A list from before the answer does not bring it back.
  expect(fates(heard(done, [a]))).toEqual(["us approved"]);
});

test("each way to come too late is told apart, and any other failure leaves it open", () => {
  expect(
    fateAfter({ code: "ALREADY_RESOLVED", message: "m", facts: { state: "rejected", by: "tok-anna" } }),
  ).toEqual({ kind: "settled", by: "elsewhere", state: "rejected", who: "tok-anna" });
  expect(fateAfter({ code: "ALREADY_RESOLVED", message: "m" })).toEqual({ kind: "settled", by: "elsewhere" });
  expect(fateAfter({ code: "APPROVAL_EXPIRED", message: "m" })).toEqual({
    kind: "settled",
    by: "elsewhere",
    state: "expired",
  });
  expect(fateAfter({ code: "REQUEST_NOT_FOUND", message: "m" })).toEqual({ kind: "gone" });
  const failed = fateAfter({ code: "UNREACHABLE", message: "no line" });
  expect(failed).toEqual({ kind: "failed", why: "no line" });
  expect(isWaiting({ request: a, fate: failed })).toBe(true);
  expect(isWaiting({ request: a, fate: { kind: "gone" } })).toBe(false);
});

test("a session that needs its secrets is asked for them by name, and the request waits", () => {
  const names = ["API_KEY", "TOKEN"];
  const fate = fateAfter({ code: "SECRETS_REQUIRED", message: "m", facts: { names } });
  expect(fate).toEqual({ kind: "secrets", names });
  expect(isWaiting({ request: a, fate })).toBe(true);
  const asked = withFate(heard([], [a]), "r-a", fate);
  expect(fates(heard(asked, [a]))).toEqual(["secrets"]);
  expect(fates(resolved(asked, "r-a", "rejected"))).toEqual(["elsewhere rejected"]);
  // Without names there is nothing to ask for.
  expect(fateAfter({ code: "SECRETS_REQUIRED", message: "m", facts: { names: [7] } }).kind).toBe("failed");
});

test("the time that is left", () => {
  const at = (time: string) => remaining(a, Date.parse(time));
  expect(at("2026-01-01T00:00:00Z")).toEqual({ ms: 1_800_000, share: 1 });
  expect(at("2026-01-01T00:15:00Z").share).toBe(0.5);
  expect(at("2026-01-01T01:00:00Z")).toEqual({ ms: 0, share: 0 });
  // A browser whose clock is behind does not show more than there ever was.
  expect(at("2025-12-31T00:00:00Z").share).toBe(1);
  expect([clock(1_745_000), clock(59_001), clock(0), clock(3_661_000)]).toEqual([
    "29:05",
    "1:00",
    "0:00",
    "1:01:01",
  ]);
});

test("the parts of a command are marked where they stand, counted in bytes", () => {
  const command = "echo 你好 && git push";
  const start = new TextEncoder().encode("echo 你好 && ").length;
  const marked = pieces(command, [
    { text: "echo 你好", at: { from: 0, to: start - 4 }, verdict: "allow" },
    { text: "git push", at: { from: start, to: start + 8 }, verdict: "ask" },
    { text: "from an alias", verdict: "ask" },
  ]);
  expect(marked).toEqual([
    { text: "echo 你好", verdict: "allow" },
    { text: " && ", verdict: null },
    { text: "git push", verdict: "ask" },
  ]);
});

test("places that cannot be are not believed, and no text is lost", () => {
  const wrong = [
    { text: "", at: { from: 2, to: 2 }, verdict: "ask" as const },
    { text: "", at: { from: 0, to: 99 }, verdict: "ask" as const },
    { text: "b", at: { from: 1, to: 2 }, verdict: "deny" as const },
    { text: "a", at: { from: 0, to: 1 }, verdict: "ask" as const },
  ];
  expect(
    pieces("abc", wrong)
      .map((piece) => piece.text)
      .join(""),
  ).toBe("abc");
  expect(pieces("", [])).toEqual([]);
});

test("what would be allowed is what is asked for, each once", () => {
  const segments = [
    { text: "ls", verdict: "allow", would_allow: "ls" },
    { text: "git push a", verdict: "ask", would_allow: "git push" },
    { text: "git push b", verdict: "ask", would_allow: "git push" },
    { text: "rm x", verdict: "ask" },
  ];
  expect(wouldAllow({ ...a, segments } as ApprovalRequest)).toEqual(["git push"]);
});

test("only what begins to wait while nobody looks is news", () => {
  const seen = news(new Set(), heard([], [a]), false);
  expect([seen.tell, [...seen.known]]).toEqual([[], ["r-a"]]);
  const told = news(seen.known, heard([], [a, b]), true);
  expect(ids(told.tell)).toEqual(["r-b"]);
  expect(news(told.known, heard([], [a, b]), true).tell).toEqual([]);
  const settled = resolved(heard([], [a, b]), "r-b", "approved");
  expect([...news(told.known, settled, true).known]).toEqual(["r-a"]);
});

test("a request of a session or of a terminal has a name, and only text can be edited", () => {
  const of = (about: object) => ({ ...a, ...about });
  expect(placeOf(of({ session_id: "s-1", session_name: "deploy" }))).toBe("deploy");
  expect(placeOf(of({ session_id: "s-1" }))).toBe("s-1");
  expect(placeOf(of({ terminal_id: "t-1" }))).toBe("t-1");
  expect([isEditable(of({ session_id: "s-1" })), isEditable(of({ terminal_id: "t-1" }))]).toEqual([
    true,
    false,
  ]);
});

test("a name that does not stand for a file or the shell's own is odd", () => {
  expect(standsFor({ name: "ls", what: "file", path: "/bin/ls" })).toEqual({ text: "/bin/ls", isOdd: false });
  expect(standsFor({ name: "cd", what: "builtin" })).toEqual({ text: "builtin", isOdd: false });
  expect(standsFor({ name: "ls", what: "function" })).toEqual({ text: "function", isOdd: true });
  expect(standsFor({ name: "x", what: "missing" }).isOdd).toBe(true);
});

test("an answer that is refused for a reason says the reason", () => {
  expect(fateAfter({ code: "APPROVAL_DENIED", message: "a rule forbids it", hint: "not here" })).toEqual({
    kind: "failed",
    why: "a rule forbids it: not here",
  });
});
