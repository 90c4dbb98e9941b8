/**
 * FAKE: the approvals that no daemon has yet. It stands between a browser and the real daemon, answers `hitl.*` itself in
 * the shapes of `docs/openapi.json`, puts `hitl.requested` and `hitl.resolved` among the real events, and passes everything
 * else on. It shows that the page keeps to the agreed shapes; nothing here says anything about a daemon. To be removed when
 * there is one that asks.
 */
import type { BrowserContext, WebSocketRoute } from "playwright-core";
import type { components } from "../src/api/schema.gen";

type Schemas = components["schemas"];
type ApprovalRequest = Schemas["ApprovalRequest"];
type Params = Schemas["RespondParams"];
interface Asked {
  id: number;
  method: string;
  params: unknown;
}
interface Refusal {
  code: string;
  message: string;
  facts?: object;
}

/** An hour from now: no test waits for it. */
const LATER_MS = 3_600_000;

export class FakeApprovals {
  readonly #requests = new Map<string, ApprovalRequest>();
  readonly #sockets = new Set<WebSocketRoute>();
  #made = 0;
  #seq = 1_000_000;
  /** What was answered, in order. */
  readonly answers: Params[] = [];
  /** While set, an answer is refused with this. */
  refusal: Refusal | null = null;
  /** While set, an answer waits for it. */
  gate: Promise<void> | null = null;

  /** Stands before the daemon for every page of this browser. */
  async join(context: BrowserContext): Promise<void> {
    await context.route("**/rpc", async (route) => {
      const asked = route.request().postDataJSON() as Asked | null;
      if (asked?.method.startsWith("hitl.") !== true) return route.continue();
      const json = await this.#answer(asked);
      return route.fulfill({ json: { jsonrpc: "2.0", id: asked.id, ...json } });
    });
    await context.routeWebSocket(/\/ws\/rpc/, (socket) => {
      socket.connectToServer();
      this.#sockets.add(socket);
    });
  }

  /** A command begins to wait. */
  ask(about: Partial<ApprovalRequest> & Pick<ApprovalRequest, "session_id" | "command">): ApprovalRequest {
    const n = ++this.#made;
    const request: ApprovalRequest = {
      request_id: `r-fake${n}`,
      digest: `digest-${n}`,
      execution_id: `e-fake${n}`,
      origin: "agent",
      segments: [{ text: about.command, verdict: "ask" }],
      working_dir: "/srv/app",
      runtime: "host",
      // One second after another, so that their order is known.
      created_at: new Date(Date.now() - 60_000 + n * 1_000).toISOString(),
      expires_at: new Date(Date.now() + LATER_MS).toISOString(),
      state: "pending",
      approval_boundary: "advisory",
      scopes: ["once", "session", "always"],
      ...about,
    };
    this.#requests.set(request.request_id, request);
    const { session_id, execution_id, request_id } = request;
    this.#happen({ kind: "hitl.requested", session_id, execution_id, request_id });
    return request;
  }

  /** It is settled, by somebody who is not at any of these pages. */
  settle(request_id: string, state: Schemas["RequestState"]): void {
    const request = this.#requests.get(request_id);
    if (request === undefined) throw new Error(`no request ${request_id}`);
    this.#requests.set(request_id, { ...request, state });
    this.#happen({ kind: "hitl.resolved", session_id: request.session_id, request_id, state });
  }

  #happen(what: object): void {
    const params = { seq: ++this.#seq, time: new Date().toISOString(), ...what };
    for (const socket of this.#sockets)
      socket.send(JSON.stringify({ jsonrpc: "2.0", method: "event", params }));
  }

  async #answer({ method, params }: Asked): Promise<{ result: unknown } | { error: object }> {
    if (method === "hitl.list") {
      const requests = [...this.#requests.values()].filter(({ state }) => state === "pending");
      return { result: { requests } };
    }
    if (method !== "hitl.respond") return refused({ code: "UNKNOWN_METHOD", message: "not faked" });
    const answer = params as Params;
    this.answers.push(answer);
    await this.gate;
    return this.#respond(answer);
  }

  #respond(answer: Params): { result: unknown } | { error: object } {
    if (this.refusal !== null) return refused(this.refusal);
    const request = this.#requests.get(answer.request_id);
    if (request === undefined) return refused({ code: "REQUEST_NOT_FOUND", message: "no such request" });
    if (request.state === "expired") return refused({ code: "APPROVAL_EXPIRED", message: "too late" });
    if (request.state !== "pending") {
      const facts = { state: request.state, by: "tok-first" };
      return refused({ code: "ALREADY_RESOLVED", message: "it is settled", facts });
    }
    this.settle(request.request_id, answer.decision === "approve" ? "approved" : "rejected");
    return { result: this.#requests.get(request.request_id) };
  }
}

function refused({ code, message, facts }: Refusal): { error: object } {
  return { error: { code: -32000, message, data: { code, message, ...facts } } };
}
