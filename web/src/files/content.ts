/** Bytes of a file as they can be shown: text, or a dump of what is no text. Pure. */

/** Read at once; more on request. */
export const READ_BYTES = 256 * 1024;
/** More of a file than this makes the page slow: it is saved and looked at elsewhere. */
export const MOST_BYTES = 2 * 1024 * 1024;
/** Of what is no text, the beginning says what it is. */
const DUMP_BYTES = 1024;
const ROW_BYTES = 16;

export type Content = { kind: "text"; text: string } | { kind: "binary"; dump: string };

/** What is read of a file; a character may be cut at its end unless that is the file's. */
export function contentOf(bytes: Uint8Array, isWhole: boolean): Content {
  if (!bytes.includes(0)) {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    try {
      return { kind: "text", text: decoder.decode(bytes, { stream: !isWhole }) };
    } catch {
      // no text
    }
  }
  return { kind: "binary", dump: dumpOf(bytes.subarray(0, DUMP_BYTES)) };
}

/** As `hexdump -C` has it. */
export function dumpOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += ROW_BYTES) {
    const row = [...bytes.subarray(at, at + ROW_BYTES)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(3 * ROW_BYTES - 1)}  ${text}`);
  }
  return lines.join("\n");
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
