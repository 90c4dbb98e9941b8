/**
 * Bytes cut between characters. xterm.js can lose a character whose bytes come in two writes, so the beginning of one at
 * the end of a piece waits for the next piece. Pure.
 */

/** How many bytes at the end are the beginning of a character that is not all there. */
export function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

function lengthOf(lead: number): number {
  if (lead >= 0xf0 && lead < 0xf8) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return 2;
}

/** Pieces of about so many bytes, cut between characters. */
export function pieces(bytes: Uint8Array, most: number): Uint8Array[] {
  const all: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const piece = bytes.subarray(from, from + most);
    const isLast = from + most >= bytes.length;
    const length = piece.length - (isLast ? 0 : unfinished(piece));
    all.push(piece.subarray(0, length));
    from += length;
  }
  return all;
}

export function joined(before: Uint8Array, after: Uint8Array): Uint8Array {
  if (before.length === 0) return after;
  const both = new Uint8Array(before.length + after.length);
  both.set(before);
  both.set(after, before.length);
  return both;
}
