import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MOST_RUNS, runsOf, styled } from "./sgr";

const text = (from: string) =>
  runsOf(from)
    .map((run) => run.text)
    .join("");

test.each([
  ["\x1b[1;31mred\x1b[0m plain", "red plain"],
  ["\x1b]0;title\x07text", "text"],
  ["a\r\nb\r\n", "a\nb\n"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["one\ntwo\rTWO\r", "one\nTWO"],
  ["\x1b[32m10%\x1b[0m\r\x1b[33m99%\x1b[0m\n", "99%\n"],
  ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
  ["\x1b[2J\x1b[10;5Hhome\x1b(B", "home"],
  ["bell\x07 back\x08 null\x00", "bell back null"],
  ["cut \x1b", "cut "],
  ["tab\tstays", "tab\tstays"],
  ["<b onmouseover=alert(1)>", "<b onmouseover=alert(1)>"],
])("%j reads as %j", (from, to) => expect(text(from)).toBe(to));

test("colours and weights stay with their text", () => {
  expect(runsOf("a\x1b[1;31mb\x1b[22mc\x1b[39md\x1b[97;44me\x1b[mf")).toEqual([
    { text: "a", style: {} },
    { text: "b", style: { bold: true, fg: 1 } },
    { text: "c", style: { fg: 1 } },
    { text: "d", style: {} },
    { text: "e", style: { fg: 15, bg: 4 } },
    { text: "f", style: {} },
  ]);
});

test("256 colours, exact ones, and the other way to write them", () => {
  expect(styled({}, "38;5;9")).toEqual({ fg: 9 });
  expect(styled({}, "38;5;196;1")).toEqual({ fg: { r: 255, g: 0, b: 0 }, bold: true });
  expect(styled({}, "48;5;232")).toEqual({ bg: { r: 8, g: 8, b: 8 } });
  expect(styled({}, "38;2;1;2;300")).toEqual({ fg: { r: 1, g: 2, b: 255 } });
  expect(styled({}, "38:5:21")).toEqual({ fg: { r: 0, g: 0, b: 255 } });
});

test("nonsense changes nothing", () => {
  for (const codes of ["38", "38;5;999", "73", "5", "38;5"])
    expect(Object.keys(styled({ bold: true }, codes)).filter((name) => name !== "fg")).toEqual(["bold"]);
});

test("a flood of colours becomes plain text, all of it", () => {
  const flood = Array.from({ length: MOST_RUNS * 2 }, (_, i) => `\x1b[3${i % 7}mx`).join("");
  const runs = runsOf(flood);
  expect(runs).toHaveLength(MOST_RUNS);
  expect(text(flood)).toBe("x".repeat(MOST_RUNS * 2));
});

test("blocks have the colours of terminals", () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
  const [look, css] = [read("../terminal/look.ts"), read("./sgr.css")];
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const all = [...names, ...names.map((name) => `bright${name[0]?.toUpperCase()}${name.slice(1)}`)];
  const [light, dark] = [look.slice(look.indexOf("light: {")), look.slice(look.indexOf("dark: {"))];
  const [forLight, forDark] = [css.slice(0, css.indexOf("data-theme")), css.slice(css.indexOf("data-theme"))];
  for (const [i, name] of all.entries()) {
    const of = (theme: string) => new RegExp(`\\b${name}: "(#\\w+)"`).exec(theme)?.[1];
    const here = (theme: string) => new RegExp(`--ansi-${i}: (#\\w+);`).exec(theme)?.[1];
    expect([here(forLight), here(forDark)], name).toEqual([of(light), of(dark)]);
  }
});
