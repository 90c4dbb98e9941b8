/** What calls come back with: bytes as they were written, beside the text people read. */
import { TrlError } from "./errors.js";
import type * as wire from "./types.gen.js";

export type Data = string | Uint8Array;

const exact = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes a string of the wire stands for. */
export function toBytes(data: string, encoding: wire.Encoding): Uint8Array {
  if (encoding !== "base64") return new TextEncoder().encode(data);
  const binary = atob(data);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** A string of the wire for these bytes. */
export function toWire(data: Data): { data: string; encoding: "utf-8" | "base64" } {
  if (typeof data === "string") return { data, encoding: "utf-8" };
  try {
    return { data: exact.decode(data), encoding: "utf-8" };
  } catch {
    let binary = "";
    // In pieces: the arguments of a call are limited.
    for (let at = 0; at < data.length; at += 8192) {
      binary += String.fromCharCode(...data.subarray(at, at + 8192));
    }
    return { data: btoa(binary), encoding: "base64" };
  }
}

export function toText(bytes: Uint8Array): string {
  return lossy.decode(bytes);
}

/** How a command ended, without what it wrote; `raw` is how that came over the wire. */
export class Outcome<Raw extends wire.Outcome = wire.Outcome> {
  readonly raw: Raw;

  constructor(raw: Raw) {
    this.raw = raw;
  }

  get executionId(): string {
    return this.raw.execution_id;
  }

  get exitCode(): number {
    return this.raw.exit_code;
  }

  get timedOut(): boolean {
    return this.raw.timed_out;
  }

  get cancelled(): boolean {
    return this.raw.cancelled;
  }

  /** What became of the shell. */
  get shellState(): wire.ShellState {
    return this.raw.shell_state;
  }

  /** It ended by itself, with 0. */
  get ok(): boolean {
    return this.exitCode === 0 && !this.timedOut && !this.cancelled;
  }
}

/** How a command ended, and what it wrote. */
export class Result extends Outcome<wire.RunResult> {
  get stdout(): Uint8Array {
    return toBytes(this.raw.stdout, this.raw.stdout_encoding);
  }

  get stderr(): Uint8Array {
    return toBytes(this.raw.stderr, this.raw.stderr_encoding);
  }

  /** stdout for people: what is no UTF-8 is replaced. */
  get text(): string {
    return toText(this.stdout);
  }

  get stderrText(): string {
    return toText(this.stderr);
  }

  /** Throws `COMMAND_FAILED` unless it ended well. */
  check(): this {
    if (this.ok) return this;
    const why = this.timedOut
      ? "timed out"
      : this.cancelled
        ? "was cancelled"
        : `ended with ${this.exitCode}`;
    const said = this.stderrText.trim().split("\n").at(-1) ?? "";
    throw new TrlError("COMMAND_FAILED", `the command ${why}${said && `: ${said}`}`, { result: this });
  }
}

export function resultOf(reply: wire.RunReply): Result {
  if ("exit_code" in reply) return new Result(reply);
  throw pending(reply);
}

export function pending(reply: { request_id: string }): TrlError {
  return new TrlError("APPROVAL_PENDING", "a person has to say yes first", { ...reply });
}

/** Bytes as a command wrote them. */
export interface Chunk {
  stream: wire.Stream;
  /** Where in the stream it begins. */
  offset: number;
  data: Uint8Array;
  text: string;
  /** A range before it that is gone: this reader was too slow. */
  gap: wire.Range | undefined;
}

export function chunkOf(push: wire.OutputPushed): Chunk {
  const data = toBytes(push.data, push.encoding);
  return { stream: push.stream, offset: push.offset, data, text: toText(data), gap: push.gap ?? undefined };
}

/** How far an execution has come: what it wrote since the last call that told, and how it ended, once it has. */
export class Progress {
  readonly raw: wire.Progress | wire.Waited;

  constructor(raw: wire.Progress | wire.Waited) {
    this.raw = raw;
  }

  get status(): wire.ExecutionStatus {
    return this.raw.status;
  }

  /** How it ended, once it has. */
  get outcome(): Outcome | undefined {
    return "exit_code" in this.raw ? new Outcome(this.raw) : undefined;
  }

  get stdout(): Uint8Array {
    return toBytes(this.raw.stdout, this.raw.stdout_encoding);
  }

  get stderr(): Uint8Array {
    return toBytes(this.raw.stderr, this.raw.stderr_encoding);
  }

  get text(): string {
    return toText(this.stdout);
  }

  /** Of a wait: what ended it. */
  get reason(): wire.Reason | undefined {
    return "reason" in this.raw ? this.raw.reason : undefined;
  }

  /** Of a wait for a pattern: where it was found. */
  get matched(): wire.Matched | undefined {
    return "matched" in this.raw ? (this.raw.matched ?? undefined) : undefined;
  }
}

/** Output by byte offset. */
export interface Slice {
  data: Uint8Array;
  text: string;
  offset: number;
  /** Where to go on. */
  next: number;
  /** Every writer is gone, and `next` is the end. */
  done: boolean;
  gap: wire.Range | undefined;
}

export function sliceOf({ data, encoding, offset, next, done, gap }: wire.OutputSlice): Slice {
  const bytes = toBytes(data, encoding);
  return { data: bytes, text: toText(bytes), offset, next, done, gap: gap ?? undefined };
}
