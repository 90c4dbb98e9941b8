/**
 * What programs write, for a page that is no terminal: colours and weights stay, every other order to a terminal is left
 * out, and a line that was written over shows its last form. Pure: it makes descriptions, never markup.
 */

/** A colour: one of the 16 that follow the theme, or exactly this one. */
export type Colour = number | { r: number; g: number; b: number };

export interface Style {
  fg?: Colour;
  bg?: Colour;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  strike?: true;
  inverse?: true;
}

export interface Run {
  text: string;
  style: Style;
}

/** More pieces than this make a page slow; what comes after has no colours. */
export const MOST_RUNS = 3_000;

/* eslint-disable no-control-regex */
/** SGR in the first group; any other sequence; what it does to a line; text. */
const TOKENS =
  /\x1b\[([\d;:]*)m|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])|\r\n|[\r\n]|[^\x1b\r\n]+|\x1b/g;
/** No use to people, and some turn text around. */
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/* eslint-enable no-control-regex */

/** No style; one value, so that pieces without one are joined. */
const NONE: Style = {};

export function runsOf(text: string): Run[] {
  const screen = new Runs();
  let style = NONE;
  for (const [token, codes] of text.matchAll(TOKENS)) {
    if (codes !== undefined) style = styled(style, codes);
    else if (token === "\n" || token === "\r\n") screen.newLine(style);
    else if (token === "\r") screen.returned();
    else if (!token.startsWith("\x1b")) screen.write(token.replace(UNSEEN, ""), style);
  }
  return screen.runs;
}

class Runs {
  readonly runs: Run[] = [];
  /** Where the line that is being written began: that many runs, and so much of the last. */
  #line = { runs: 0, length: 0 };
  #isReturned = false;

  write(text: string, style: Style): void {
    if (text === "") return;
    if (this.#isReturned) this.#eraseLine();
    this.#add(text, style);
  }

  newLine(style: Style): void {
    this.#isReturned = false;
    this.#add("\n", style);
    this.#line = { runs: this.runs.length, length: this.runs.at(-1)?.text.length ?? 0 };
  }

  returned(): void {
    this.#isReturned = true;
  }

  #add(text: string, style: Style): void {
    const last = this.runs.at(-1);
    const isFull = this.runs.length >= MOST_RUNS;
    if (last !== undefined && (isFull || last.style === style)) last.text += text;
    else this.runs.push({ text, style: this.runs.length === MOST_RUNS - 1 ? {} : style });
  }

  #eraseLine(): void {
    this.#isReturned = false;
    this.runs.length = this.#line.runs;
    const last = this.runs.at(-1);
    if (last !== undefined) last.text = last.text.slice(0, this.#line.length);
  }
}

const plainly: Partial<Record<number, Style>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
};

const without: Partial<Record<number, (keyof Style)[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
  39: ["fg"],
  49: ["bg"],
};

/** The style after `ESC [ codes m`. What is not known changes nothing. */
export function styled(before: Style, codes: string): Style {
  const numbers = codes.split(/[;:]/).map(Number);
  let style: Style = before;
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] ?? 0;
    if (code === 0) style = NONE;
    else if (plainly[code] !== undefined) style = { ...style, ...plainly[code] };
    else if (without[code] !== undefined) style = dropped(style, without[code]);
    else if (code === 38 || code === 48) {
      const { colour, used } = extended(numbers.slice(i + 1));
      if (colour !== null) style = { ...style, [code === 38 ? "fg" : "bg"]: colour };
      i += used;
    } else style = { ...style, ...named(code) };
  }
  return Object.keys(style).length === 0 ? NONE : style;
}

function dropped(style: Style, names: readonly (keyof Style)[]): Style {
  return Object.fromEntries(Object.entries(style).filter(([name]) => !names.includes(name as keyof Style)));
}

/** The 16 colours. */
function named(code: number): Style {
  if (code >= 30 && code <= 37) return { fg: code - 30 };
  if (code >= 40 && code <= 47) return { bg: code - 40 };
  if (code >= 90 && code <= 97) return { fg: code - 82 };
  if (code >= 100 && code <= 107) return { bg: code - 92 };
  return {};
}

/** What comes after 38 or 48: `5;n` or `2;r;g;b`. */
function extended(rest: readonly number[]): { colour: Colour | null; used: number } {
  const [kind, a = 0, b = 0, c = 0] = rest;
  if (kind === 5) return { colour: indexed(a), used: 2 };
  if (kind === 2) return { colour: { r: byte(a), g: byte(b), b: byte(c) }, used: 4 };
  return { colour: null, used: 0 };
}

const byte = (n: number) => Math.max(0, Math.min(255, Math.round(n) || 0));

/** Of the 256: the first 16 follow the theme, then a cube, then greys. */
function indexed(n: number): Colour | null {
  if (!Number.isInteger(n) || n < 0 || n > 255) return null;
  if (n < 16) return n;
  if (n >= 232) {
    const level = 8 + (n - 232) * 10;
    return { r: level, g: level, b: level };
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const at = n - 16;
  return { r: level(Math.floor(at / 36)), g: level(Math.floor(at / 6) % 6), b: level(at % 6) };
}
