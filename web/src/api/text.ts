/** Text of the wire: a string that stands for bytes. Pure. */
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
