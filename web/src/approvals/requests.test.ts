import { beforeEach, expect, test, vi } from "vitest";
import type { ApprovalRequest, Happening } from "../api/types";

const { call, listeners } = vi.hoisted(() => ({
  call: vi.fn<(method: string, params: object) => Promise<unknown>>(),
  listeners: new Set<(event: Happening | null) => void>(),
}));
vi.mock("../api/http", async (original) => ({ ...(await original<object>()), call }));
vi.mock("../api/feed", () => ({
  feed: {
    listen: (listener: (event: Happening | null) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  },
}));

const { ApiError } = await import("../api/http");
const { Approvals } = await import("./requests");

const request = (request_id: string, created_at = request_id) =>
  ({ request_id, created_at, digest: `digest of ${request_id}` }) as ApprovalRequest;
const [a, b] = [request("r-a"), request("r-b")];
const ids = (items: readonly { request: ApprovalRequest }[]) => items.map((item) => item.request.request_id);
const happen = (event: object | null) => listeners.forEach((listener) => listener(event as Happening | null));
/** An answer that comes when it is told to. */
const later = () => {
  let resolve: (value: unknown) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<unknown>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};

beforeEach(() => {
  call.mockReset();
  listeners.clear();
});

async function started(...requests: ApprovalRequest[]): Promise<InstanceType<typeof Approvals>> {
  call.mockResolvedValueOnce({ requests });
  const approvals = new Approvals();
  approvals.start();
  await vi.waitFor(() => expect(approvals.state.get().isAsking).toBe(true));
  return approvals;
}

test("a daemon that does not know the method asks for no approvals", async () => {
  call.mockRejectedValueOnce(new ApiError(200, "UNKNOWN_METHOD", "unknown method"));
  const approvals = new Approvals();
  approvals.start();
  await vi.waitFor(() => expect(approvals.state.get().isAsking).toBe(false));
  // The next one may.
  call.mockResolvedValueOnce({ requests: [a] });
  happen(null);
  await vi.waitFor(() => expect(approvals.waiting).toBe(1));
});

test("a list that was overtaken by a newer one is not believed", async () => {
  const approvals = await started();
  const [old, fresh] = [later(), later()];
  call.mockReturnValueOnce(old.promise).mockReturnValueOnce(fresh.promise);
  const both = [approvals.refresh(), approvals.refresh()];
  fresh.resolve({ requests: [a, b] });
  old.resolve({ requests: [a] });
  await Promise.all(both);
  expect(ids(approvals.state.get().items)).toEqual(["r-a", "r-b"]);
});

test("an answer carries the digest of what was shown, and takes the request from the list", async () => {
  const approvals = await started(a, b);
  call.mockResolvedValueOnce({ ...a, state: "approved" });
  await approvals.answer(a, { decision: "approve", scope: "session" });
  expect(call).toHaveBeenLastCalledWith("hitl.respond", {
    request_id: "r-a",
    digest: "digest of r-a",
    decision: "approve",
    scope: "session",
  });
  expect(ids(approvals.state.get().items)).toEqual(["r-b"]);
  expect(approvals.state.get().settled[0]?.fate).toEqual({ kind: "settled", by: "us", state: "approved" });
});

test("while the list is held, what is settled stays in its place", async () => {
  const approvals = await started(a, b);
  approvals.hold(true);
  happen({ kind: "hitl.resolved", request_id: "r-a", state: "rejected" });
  expect(ids(approvals.state.get().items)).toEqual(["r-a", "r-b"]);
  expect(approvals.waiting).toBe(1);
  approvals.hold(false);
  expect(ids(approvals.state.get().items)).toEqual(["r-b"]);
  expect(ids(approvals.state.get().settled)).toEqual(["r-a"]);
});

test("two people answer at once: the second learns what the first said", async () => {
  const approvals = await started(a);
  const reply = later();
  call.mockReturnValueOnce(reply.promise);
  const answering = approvals.answer(a, { decision: "approve", scope: "once" });
  happen({ kind: "hitl.resolved", request_id: "r-a", state: "rejected" });
  reply.reject(new ApiError(200, "ALREADY_RESOLVED", "m", { state: "rejected", by: "tok-anna" }));
  expect(await answering).toEqual({ kind: "settled", by: "elsewhere", state: "rejected", who: "tok-anna" });
  expect(approvals.waiting).toBe(0);
});

test("an answer that does not get through leaves the request open", async () => {
  const approvals = await started(a);
  call.mockRejectedValueOnce(new ApiError(0, "UNREACHABLE", "the daemon cannot be reached"));
  await approvals.answer(a, { decision: "reject", reason: "no" });
  expect(approvals.state.get().items[0]?.fate).toEqual({
    kind: "failed",
    why: "the daemon cannot be reached",
  });
  expect(approvals.waiting).toBe(1);
});

test("how one was settled is told later too", async () => {
  const approvals = await started(a);
  call.mockResolvedValueOnce({ requests: [] });
  await approvals.refresh();
  happen({ kind: "hitl.resolved", request_id: "r-a", state: "expired" });
  expect(approvals.state.get().settled[0]?.fate).toEqual({
    kind: "settled",
    by: "elsewhere",
    state: "expired",
  });
});
