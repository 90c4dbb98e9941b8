import { expect, test } from "vitest";
import { joined, pieces, unfinished } from "./utf8";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a piece ends between characters, wherever it is cut", () => {
  const all = bytes("aé漢🙂z");
  for (let cut = 0; cut <= all.length; cut++) {
    const piece = all.subarray(0, cut);
    const whole = piece.subarray(0, piece.length - unfinished(piece));
    expect(() => new TextDecoder("utf-8", { fatal: true }).decode(whole), `cut at ${cut}`).not.toThrow();
    expect(unfinished(piece)).toBeLessThan(4);
  }
});

test("what never becomes a character is not held back", () => {
  expect(unfinished(new Uint8Array([0x80, 0x80, 0x80, 0x80]))).toBe(0);
  expect(unfinished(new Uint8Array([0xff]))).toBe(0);
  expect(unfinished(new Uint8Array([0xf0, 0x9f, 0x99, 0x82]))).toBe(0);
  expect(unfinished(new Uint8Array([]))).toBe(0);
});

test("pieces are put together again", () => {
  const all = bytes("漢");
  expect(joined(all.subarray(0, 2), all.subarray(2))).toEqual(all);
  expect(joined(new Uint8Array(), all)).toBe(all);
});

test("a long text is cut between characters, and nothing is lost", () => {
  const all = bytes("aé漢🙂z".repeat(50));
  for (const most of [4, 5, 7, 64, 10_000]) {
    const cut = pieces(all, most);
    for (const piece of cut)
      expect(() => new TextDecoder("utf-8", { fatal: true }).decode(piece)).not.toThrow();
    expect(cut.reduce(joined, new Uint8Array())).toEqual(all);
  }
  expect(pieces(new Uint8Array([0x80, 0x80, 0xf0]), 2)).toHaveLength(2);
  expect(pieces(new Uint8Array(), 4)).toEqual([]);
});
