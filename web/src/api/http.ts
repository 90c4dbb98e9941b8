/** Requests to the daemon, with this visit's token. A token that is refused ends the visit. */
import { logOut, visit } from "../auth/token";
import { whyNot } from "./text";
import type { ErrorDetail, Methods } from "./types";

/** The daemon said no, or could not be reached (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  /** Further facts, by the code. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    { hint, ...facts }: { hint?: string; [fact: string]: unknown } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.facts = facts;
  }
}

/** What went wrong, for people. */
export function told(error: unknown): string {
  if (error instanceof ApiError) return whyNot(error);
  return error instanceof Error ? error.message : String(error);
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const now = visit.get();
  if (now.kind === "out") throw new ApiError(401, "AUTH_FAILED", "not logged in");
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${now.token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "UNREACHABLE", "the daemon cannot be reached");
  }
  if (response.status === 401) logOut("refused", now.token);
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: ErrorDetail };
    return new ApiError(response.status, error.code, error.message ?? error.code, { ...error });
  } catch {
    return new ApiError(response.status, "UNKNOWN", `HTTP ${response.status}`);
  }
}

type Reply<R> = { result: R } | { error: { message: string; data: ErrorDetail } };

/** Calls a method of the wire. */
export async function call<M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  signal?: AbortSignal,
): Promise<Methods[M]["result"]> {
  const response = await request("/rpc", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: signal ?? null,
  });
  const reply = (await response.json()) as Reply<Methods[M]["result"]>;
  if ("result" in reply) return reply.result;
  const { message, data } = reply.error;
  throw new ApiError(response.status, data.code, message, { ...data });
}

/** What a WebSocket presents in place of the token; good once, for seconds. */
export async function ticket(): Promise<string> {
  const response = await request("/api/tickets", { method: "POST" });
  const { ticket } = (await response.json()) as { ticket: string };
  return ticket;
}

export function socketAddress(path: string, query: Record<string, string>): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}${path}?${new URLSearchParams(query).toString()}`;
}
