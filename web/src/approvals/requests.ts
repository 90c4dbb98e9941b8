/**
 * The commands that wait for a person, of all sessions, followed while somebody is logged in.
 *
 *  1. `hitl.list` is asked when the connection comes, and again whenever something happens to a request.
 *  2. A daemon that does not know the method asks for no approvals; that is remembered until the next connection.
 *  3. An answer goes out with the digest of what was shown; what comes back decides its fate (`inbox.ts`).
 *  4. After a restart a session may need its secrets before the command can run: they are asked for, handed on with
 *     `session.get`, and the answer goes out again.
 */
import { feed } from "../api/feed";
import { ApiError, call, told } from "../api/http";
import type { ApprovalRequest, Happening, RequestState, Scope } from "../api/types";
import { createStore, type Store } from "../ui/store";
import { fateAfter, heard, isWaiting, released, resolved, withFate, type Fate, type Item } from "./inbox";

/** So many settled ones are remembered for people to see. */
const MOST_SETTLED = 20;

export interface ApprovalsState {
  items: readonly Item[];
  /** What was settled while this page was open, newest first. */
  settled: readonly Item[];
  /** Whether the daemon asks at all; null before it was heard. */
  isAsking: boolean | null;
  failure: string | null;
}

export type Answer =
  | { decision: "approve"; scope: Scope }
  /** Something else is run in its place, this once. */
  | { decision: "approve"; command: string }
  | { decision: "reject"; reason: string };

const NOTHING: ApprovalsState = { items: [], settled: [], isAsking: null, failure: null };

export class Approvals {
  readonly state: Store<ApprovalsState> = createStore(NOTHING);
  #asked = 0;
  #isHeld = false;

  /** Follows until told to stop. */
  start(): () => void {
    const stop = feed.listen((event) => this.#heard(event));
    void this.refresh();
    return () => {
      stop();
      this.#asked += 1;
      this.state.set(NOTHING);
    };
  }

  get waiting(): number {
    return this.state.get().items.filter(isWaiting).length;
  }

  /** Somebody points at the list, or has left it. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.#set(this.state.get().items);
  }

  async refresh(): Promise<void> {
    const asked = ++this.#asked;
    try {
      const { requests } = await call("hitl.list", {});
      if (asked !== this.#asked) return;
      this.state.set({ ...this.state.get(), isAsking: true, failure: null });
      this.#set(heard(this.state.get().items, requests));
    } catch (error) {
      if (asked !== this.#asked) return;
      const isUnknown = error instanceof ApiError && error.code === "UNKNOWN_METHOD";
      this.state.set({
        ...this.state.get(),
        ...(isUnknown ? { isAsking: false, failure: null } : { failure: told(error) }),
      });
    }
  }

  async answer(request: ApprovalRequest, answer: Answer): Promise<Fate> {
    const { request_id, digest } = request;
    this.#settle(request_id, { kind: "sending" });
    const fate = await call("hitl.respond", { request_id, digest, ...answer }).then(
      ({ state }): Fate => ({ kind: "settled", by: "us", state }),
      (error: unknown) =>
        error instanceof ApiError ? fateAfter(error) : ({ kind: "failed", why: told(error) } as const),
    );
    this.#settle(request_id, fate);
    return fate;
  }

  /**
   * Opens the session of a request with the secrets it had, and answers again. They are handed on and kept nowhere: not in the
   * state of the page, not in the browser.
   */
  async supply(request: ApprovalRequest, answer: Answer, secret_env: Record<string, string>): Promise<Fate> {
    const { request_id, session_id } = request;
    if (session_id == null) return this.answer(request, answer);
    this.#settle(request_id, { kind: "sending" });
    try {
      await call("session.get", { session_id, secret_env });
    } catch (error) {
      const names = Object.keys(secret_env);
      const fate: Fate = { kind: "secrets", names, why: told(error) };
      this.#settle(request_id, fate);
      return fate;
    }
    return this.answer(request, answer);
  }

  /** Nothing is answered for now. */
  leave({ request_id }: ApprovalRequest): void {
    this.#settle(request_id, { kind: "open" });
  }

  #heard(event: Happening | null): void {
    if (event === null) void this.refresh();
    else if (event.kind === "hitl.requested") void this.refresh();
    else if (event.kind === "hitl.resolved") this.#resolved(event.request_id, event.state);
  }

  /** Also of one that left the list before it was told how. */
  #resolved(id: string, state: RequestState): void {
    const { items, settled } = this.state.get();
    this.state.set({ ...this.state.get(), settled: resolved(settled, id, state) });
    this.#set(resolved(items, id, state));
  }

  #settle(id: string, fate: Fate): void {
    this.#set(withFate(this.state.get().items, id, fate));
  }

  #set(items: readonly Item[]): void {
    const now = this.state.get();
    if (this.#isHeld) {
      this.state.set({ ...now, items });
      return;
    }
    const { waiting, settled } = released(items);
    this.state.set({
      ...now,
      items: waiting,
      settled: [...settled.reverse(), ...now.settled].slice(0, MOST_SETTLED),
    });
  }
}

export const approvals = new Approvals();
