/**
 * A command as its card shows it: runs of empty lines and long runs of spaces are counted in their place, so that they push
 * nothing out of sight. Pure.
 */

/** From here on a run is counted and not shown. */
const EMPTY_LINES = 3;
const SPACES = 40;

const run = `(?:[ \t]*\n){${EMPTY_LINES},}`;
const atStart = new RegExp(`(?<=^|\n)${run}`, "g");
const within = new RegExp(`(?<=\n)${run}`, "g");
const spaces = new RegExp(` {${SPACES + 1},}`, "g");

/** How a run that is not shown is told of. */
export interface Words {
  empty: (n: number) => string;
  spaces: (n: number) => string;
}

/** `before` is the text that this one goes on from. */
export function folded(text: string, words: Words, before = ""): string {
  return text
    .replace(
      before === "" || before.endsWith("\n") ? atStart : within,
      (run) => `${words.empty(run.split("\n").length - 1)}\n`,
    )
    .replace(spaces, (run) => words.spaces(run.length));
}

/** How many lines there are, and how many of them have nothing in them. */
export function lineCount(text: string): { lines: number; empty: number } {
  const lines = text.split("\n");
  return { lines: lines.length, empty: lines.filter((line) => line.trim() === "").length };
}
