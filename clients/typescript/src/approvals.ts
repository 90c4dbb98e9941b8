/** Commands that wait for a person, and the answers. Answering takes the operator's token. */
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";

/** One question to the daemon lasts no longer than this, so that a connection is never silent for hours. */
const LONGEST_WAIT_S = 600;

type Answer = Omit<wire.RespondParams, "request_id" | "digest" | "decision">;

export class Approvals {
  readonly #links: Links;

  constructor(links: Links) {
    this.#links = links;
  }

  /** Those that wait, oldest first; with a `state` those in that one. */
  async list(options: wire.RequestListParams = {}): Promise<wire.ApprovalRequest[]> {
    return (await this.#links.ask("hitl.list", options)).requests;
  }

  get(requestId: string): Promise<wire.ApprovalRequest> {
    return this.#links.ask("hitl.get", { request_id: requestId });
  }

  /** The request once it is settled, or as it is after that long. */
  async wait(requestId: string, timeout_s = Infinity): Promise<wire.ApprovalRequest> {
    for (let left = timeout_s; ; left -= LONGEST_WAIT_S) {
      const limit = Math.min(left, LONGEST_WAIT_S);
      const request = await this.#links.ask("hitl.wait", { request_id: requestId, timeout_s: limit });
      if (request.state !== "pending" || left <= LONGEST_WAIT_S) return request;
    }
  }

  /** Answers what was shown: the digest of the request goes along. `command` runs another text in its place. */
  respond(
    { request_id, digest }: wire.ApprovalRequest,
    decision: wire.Decision,
    answer: Answer = {},
  ): Promise<wire.ApprovalRequest> {
    return this.#links.ask("hitl.respond", { request_id, digest, decision, ...answer });
  }

  approve(request: wire.ApprovalRequest, scope?: wire.Scope): Promise<wire.ApprovalRequest> {
    return this.respond(request, "approve", { scope });
  }

  reject(request: wire.ApprovalRequest, reason?: string): Promise<wire.ApprovalRequest> {
    return this.respond(request, "reject", { reason });
  }

  /** Who decided what, newest first. */
  async audit(options: wire.AuditParams = {}): Promise<wire.AuditEntry[]> {
    return (await this.#links.ask("hitl.audit", options)).entries;
  }
}
