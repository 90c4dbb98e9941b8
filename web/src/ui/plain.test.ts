import { createElement, Fragment, type ReactElement } from "react";
import { expect, test } from "vitest";
import { summary } from "../approvals/inbox";
import { en } from "../i18n/en";
import { zh } from "../i18n/zh";
import { INVISIBLE, UNICODE } from "./invisible";
import { jsx, jsxs } from "./jsx-runtime";
import { oneLine, passage, plain } from "./plain";

const tricks =
  "\u202e\u2066\u200b\u2060\ufeff\u3164\u2800\u00a0\ufe0f\u034f\u115f\u1160\u17b4\u17b5\u00ad\uffa0\u{e0041}\u{e0100}\u001b\u009b\r";

function* all(): Generator<string> {
  for (let c = 0; c <= 0x10ffff; c++) if (c < 0xd800 || c > 0xdfff) yield String.fromCodePoint(c);
}

test("what is not seen is written out", () => {
  expect(plain("echo a\n\tb 完成 é")).toBe("echo a\n\tb 完成 é");
  expect(oneLine("a\n\tb")).toBe("a⟨U+000A⟩⟨U+0009⟩b");
  expect(plain("rm \u202Efdp.x \u200b\r\u001b[8m")).toBe("rm ⟨U+202E⟩fdp.x ⟨U+200B⟩⟨U+000D⟩⟨U+001B⟩[8m");
  expect(plain(tricks)).toMatch(/^(⟨U\+[0-9A-F]{4,5}⟩){21}$/);
  expect(oneLine(oneLine(tricks))).toBe(oneLine(tricks));
});

/** The engine may be of another version of Unicode than the table: then it knows fewer characters, or more that are new. */
test("the table is what Unicode says", () => {
  const properties = /^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}]$/u;
  const drawnAsNothing = ["\u2800", "\u2d7f", "\ufffc", "\u{13441}", "\u{13442}", "\u{16fe4}", "\u{1d159}"];
  const expected = new Set(drawnAsNothing);
  for (const c of all()) if (c !== " " && properties.test(c)) expected.add(c);
  const found = INVISIBLE.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at)),
  );
  expect([...expected].filter((c) => !found.includes(c))).toEqual([]);
  if (process.versions["unicode"] === UNICODE) expect(found).toHaveLength(expected.size);
});

test("a passage keeps emoji, and nothing else that is not seen", () => {
  const text = "⚠\ufe0f done:\n\t👩\u200d🚀 ❤\ufe0f\u200d🔥";
  expect(passage(text)).toBe(text);
  expect(passage("a\ufe0f\u200d\r\u202e")).toBe("a⟨U+FE0F⟩⟨U+200D⟩⟨U+000D⟩⟨U+202E⟩");
});

test("no element shows what is not seen, whoever made it", () => {
  const props = (element: ReactElement): Record<string, unknown> => element.props as Record<string, unknown>;
  const shown = props(jsx("p", { children: `a${tricks}`, title: tricks, "aria-label": tricks, id: tricks }));
  expect(shown).toEqual({
    children: plain(`a${tricks}`),
    title: plain(tricks),
    "aria-label": plain(tricks),
    id: tricks,
  });
  expect(props(jsxs("p", { children: ["a", ["\u202e"], 1, null] }))["children"]).toEqual([
    "a",
    ["⟨U+202E⟩"],
    1,
    null,
  ]);
  expect(props(jsx(Fragment, { children: "\u202e" }))["children"]).toBe("⟨U+202E⟩");
  const inner = createElement("b");
  const same = { children: ["a", inner], title: "b" };
  expect(props(jsxs("p", same))["children"]).toEqual(["a", inner]);
  // A component draws by itself what it is given.
  const Own = () => createElement("b");
  expect(props(jsx(Own, { title: "\u202e" }))["title"]).toBe("\u202e");
});

test("our own words are all seen", () => {
  for (const words of [en, zh]) {
    for (const text of Object.values(words)) expect(oneLine(text)).toBe(text);
  }
});

test("a notification has the beginning and the end of a command, and no trick", () => {
  expect(summary("ls\u202e\n-la")).toBe("ls⟨U+202E⟩⟨U+000A⟩-la");
  const long = summary(`ls ${"x".repeat(500)} | sh`);
  expect(long.startsWith("ls xx") && long.endsWith("x | sh") && long.length < 170).toBe(true);
});
