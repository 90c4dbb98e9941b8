/** Text of the wire: strings that stand for bytes, and refusals. Pure. */
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

/** A refusal for people: what it is, and the reason of a rule or a person, or what to do about it. */
export function whyNot({ message, hint }: { message: string; hint?: string | null | undefined }): string {
  return hint == null || hint === "" ? message : `${message}: ${hint}`;
}
