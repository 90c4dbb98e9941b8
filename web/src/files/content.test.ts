import { expect, test } from "vitest";
import { contentOf, dumpOf, joined } from "./content";

const bytes = (text: string) => new TextEncoder().encode(text);

test("text is text, also when it is cut within a character", () => {
  expect(contentOf(bytes("你好\n"), true)).toEqual({ kind: "text", text: "你好\n" });
  expect(contentOf(bytes("你好").subarray(0, 5), false)).toEqual({ kind: "text", text: "你" });
  expect(contentOf(new Uint8Array(), true)).toEqual({ kind: "text", text: "" });
});

test("what is no text is dumped", () => {
  expect(contentOf(bytes("你好").subarray(0, 5), true).kind).toBe("binary");
  expect(contentOf(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0]), true)).toEqual({
    kind: "binary",
    dump: "00000000  7f 45 4c 46 00                                   .ELF.",
  });
  const long = contentOf(new Uint8Array(100_000), false);
  expect(long.kind === "binary" && long.dump.split("\n").length).toBe(64);
});

test("a dump has a line for sixteen bytes each", () => {
  expect(dumpOf(bytes("0123456789abcdefg")).split("\n")).toEqual([
    "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef",
    "00000010  67                                               g",
  ]);
});

test("pieces of a file make the file", () => {
  expect([...joined([bytes("ab"), bytes(""), bytes("c")])]).toEqual([97, 98, 99]);
});
