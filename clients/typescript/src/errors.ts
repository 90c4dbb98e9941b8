/** Everything that can go wrong: one class, told apart by its code. */
import type { ErrorCode } from "./types.gen.js";

/** What goes wrong before the daemon could say anything, or without it. */
export type ClientCode =
  /** There is no way to the daemon. */
  | "CONNECTION_FAILED"
  /** Nobody answers there, and none was to be started. */
  | "NOT_RUNNING"
  /** A daemon was started, and does not answer. */
  | "DID_NOT_START"
  /** Others can reach into the directory of the socket, so it may be anybody's. */
  | "UNTRUSTED_SOCKET"
  | "PROTOCOL_MISMATCH"
  /** The connection ended before the answer came. Whether the request was carried out is not known. */
  | "CONNECTION_LOST"
  /** With `approval: "return"`: a person is asked; `details` has the `request_id`. */
  | "APPROVAL_PENDING"
  /** By `Result.check`. */
  | "COMMAND_FAILED"
  | "TERMINAL_ENDED"
  | "TIMEOUT"
  /** Something was asked of what is not open, or not over, yet. */
  | "NOT_YET";

export interface Facts {
  hint?: string | undefined;
  [fact: string]: unknown;
}

export class TrlError extends Error {
  readonly code: ErrorCode | ClientCode;
  /** What to do about it, if the daemon knows. */
  readonly hint: string | undefined;
  /** Further facts, by the code. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode | ClientCode, message: string, { hint, ...details }: Facts = {}) {
    super(hint === undefined ? message : `${message} (${hint})`);
    this.name = "TrlError";
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

/** Whether this is what went wrong. */
export function isTrlError(error: unknown, code?: ErrorCode | ClientCode): error is TrlError {
  return error instanceof TrlError && (code === undefined || error.code === code);
}

/** For `catch`: throws it again unless it is one of these. */
export function unless(...codes: TrlError["code"][]): (error: unknown) => void {
  return (error) => {
    if (!codes.some((code) => isTrlError(error, code))) throw error;
  };
}

/** What the daemon refused, by its own words. */
export function refusal(error: { code?: string; message?: string; [fact: string]: unknown }): TrlError {
  const { code, message, ...facts } = error;
  return new TrlError((code ?? "INTERNAL_ERROR") as ErrorCode, message ?? "refused", facts as Facts);
}

export function lost(why = "the daemon ended the connection"): TrlError {
  return new TrlError("CONNECTION_LOST", why);
}
