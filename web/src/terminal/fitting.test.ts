import { expect, test } from "vitest";
import { chordOf, fittingFont } from "./fitting";

const room = { cols: 80, rows: 24 };

test.each([
  [{ cols: 80, rows: 24 }, 13],
  [{ cols: 60, rows: 20 }, 13],
  [{ cols: 160, rows: 24 }, 6.5],
  [{ cols: 80, rows: 30 }, 10],
  [{ cols: 1000, rows: 1000 }, 5],
])("a terminal of %j is drawn in letters of %d", (size, font) =>
  expect(fittingFont(13, size, room)).toBe(font),
);

const key = (key: string, held: Partial<KeyboardEvent> = {}) =>
  ({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held }) as KeyboardEvent;

test.each([
  [key("c", { ctrlKey: true }), false, null],
  [key("c", { ctrlKey: true }), true, "copy"],
  [key("C", { ctrlKey: true, shiftKey: true }), false, "copy"],
  [key("V", { ctrlKey: true, shiftKey: true }), false, "paste"],
  [key("v", { ctrlKey: true }), false, null],
  [key("F", { ctrlKey: true, shiftKey: true }), false, "find"],
  [key("=", { ctrlKey: true }), false, "larger"],
  [key("-", { metaKey: true }), false, "smaller"],
  [key("_", { ctrlKey: true, shiftKey: true }), false, null],
  [key("0", { ctrlKey: true }), false, "usual"],
  [key("F6", { ctrlKey: true }), false, "leave"],
  [key("F6"), false, null],
  [key("a"), true, null],
])("keys of the program stay the program's (%#)", (event, hasSelection, chord) =>
  expect(chordOf(event, hasSelection)).toBe(chord),
);
