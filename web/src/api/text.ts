/** Text of the wire: a string that stands for bytes, and what is left of it for people. Pure. */
import type { Encoding } from "./types";

export function decode(data: string, encoding: Encoding): string {
  if (encoding !== "base64") return data;
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

export function bytesOf(data: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "base64") return Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return new TextEncoder().encode(data);
}

/* eslint-disable no-control-regex */
const SEQUENCES =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])/g;
/* eslint-enable no-control-regex */

/** Without colours and other orders to a terminal, which this is not; a line that was written over shows its last form. */
export function readable(text: string): string {
  const plain = text.replace(SEQUENCES, "").replace(/\r\n/g, "\n");
  return plain.includes("\r") ? plain.replace(/[^\n]*\r(?=[^\n])/g, "").replaceAll("\r", "") : plain;
}
