/** `trl.term.1`: the messages between a terminal and a client beside it. docs/wire.md, "Beside a terminal". Pure. */

export const SUBPROTOCOL = "trl.term.1";

export interface Present {
  id: number;
  name: string;
  /** May type. */
  drives: boolean;
  /** Its window decides the size. */
  driver: boolean;
}

export interface Hello {
  type: "hello";
  gen: string;
  head: number;
  cols: number;
  rows: number;
  size_policy: "driver" | "pinned" | "smallest";
  title: string;
  working_dir: string;
  alive: boolean;
  exit_code: number | null;
  you: number;
  drives: boolean;
  window: number;
  presence: Present[];
}

/** What the daemon says beside the bytes. */
export type Told =
  | Hello
  | { type: "resume"; kind: "delta" | "snapshot"; offset: number; cols: number; rows: number }
  | { type: "resync"; reason: string; offset: number; cols: number; rows: number }
  | { type: "resize"; at: number; cols: number; rows: number }
  | { type: "state"; title: string; working_dir: string }
  | { type: "event"; at: number; event: unknown }
  | { type: "presence"; clients: Present[] }
  | { type: "fate"; destroy_in_s: number | null }
  | { type: "input_ack"; iseq: number }
  | { type: "exit"; code: number | null; signal: string | null; at: number }
  | { type: "history"; lines: unknown }
  | { type: "error"; message: string; iseq?: number | null };

/** What a client says beside its input. */
export type Said =
  | { type: "ack"; offset: number }
  | { type: "resize"; cols: number; rows: number }
  | { type: "claim" }
  | { type: "release" }
  | { type: "resync" }
  | { type: "history"; lines: number }
  | { type: "signal"; signal: string };

export type Frame =
  | { kind: "data"; offset: number; bytes: Uint8Array }
  | { kind: "snapshot"; offset: number; bytes: Uint8Array };

const DATA = 0x01;
const SNAPSHOT = 0x02;
const INPUT = 0x81;
const HEAD = 9;

/** A message that is none of ours is nothing: a newer daemon may say more. */
export function parseText(text: string): Told | null {
  try {
    const told: unknown = JSON.parse(text);
    const known = typeof told === "object" && told !== null && "type" in told;
    return known ? (told as Told) : null;
  } catch {
    return null;
  }
}

export function parseFrame(message: Uint8Array): Frame | null {
  if (message.length < HEAD) return null;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  // Offsets stay far below 2^53: that is eight thousand terabytes of output.
  const offset = Number(view.getBigUint64(1));
  const bytes = message.subarray(HEAD);
  switch (message[0]) {
    case DATA:
      return { kind: "data", offset, bytes };
    case SNAPSHOT:
      return { kind: "snapshot", offset, bytes };
    default:
      return null;
  }
}

export function inputFrame(iseq: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEAD + bytes.length);
  frame[0] = INPUT;
  new DataView(frame.buffer).setBigUint64(1, BigInt(iseq));
  frame.set(bytes, HEAD);
  return frame;
}
