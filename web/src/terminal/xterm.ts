/**
 * xterm.js as a [`Screen`]: what it draws with, how it is searched and copied from, what it leaves to others.
 *
 * It never has a size of its own choosing: the daemon says how large the terminal is, and the room there is here is only
 * measured and told. A terminal that is larger than the room is drawn in smaller letters.
 */
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { theme } from "../ui/theme";
import { chordOf, fittingFont, type Chord } from "./fitting";
import type { Screen, Size } from "./link";
import { colours, FONT_FAMILY, look } from "./look";
import { pieces } from "./utf8";
import { swallowQuestions, type Questions } from "./queries";

const RESET = "\x1bc";
const SCROLLBACK = 10_000;
/** xterm.js lets the page breathe between writes, not within one. */
const AT_ONCE = 16 * 1024;

/** What FitAddon leaves for it. */
const SCROLL_BAR = 14;

export class XtermScreen implements Screen {
  readonly terminal: Terminal;
  /** Moves between containers with its panel, so that nothing is drawn anew. */
  readonly element = document.createElement("div");
  readonly search = new SearchAddon();
  onType: (data: string) => void = () => undefined;
  onChord: (chord: Chord) => void = () => undefined;
  /** Called when letters may have another width than before, because something else draws them now. */
  onRenderer: () => void = () => undefined;

  readonly #fit = new FitAddon();
  readonly #questions: Questions;
  readonly #unfollow: (() => void)[];
  /** A character in the chosen size of letters, in pixels. */
  #cell: { width: number; height: number } | null = null;
  #opened = false;

  constructor() {
    this.element.className = "xterm-host";
    this.terminal = new Terminal({
      ...this.#options(),
      allowProposedApi: true,
      fontFamily: FONT_FAMILY,
      lineHeight: 1.2,
      scrollback: SCROLLBACK,
      cursorBlink: true,
      macOptionIsMeta: true,
      rightClickSelectsWord: true,
    });
    this.#questions = swallowQuestions(this.terminal);
    this.terminal.loadAddon(this.#fit);
    this.terminal.loadAddon(this.search);
    this.terminal.loadAddon(new WebLinksAddon(openLink));
    // The daemon has the same widths (trl-screen, grapheme.rs).
    this.terminal.loadAddon(new UnicodeGraphemesAddon());
    this.terminal.onData((data) => {
      if (!this.#questions.isAnswer(data)) this.onType(data);
    });
    this.terminal.attachCustomKeyEventHandler((event) => this.#key(event));
    const follow = () => Object.assign(this.terminal.options, this.#options());
    this.#unfollow = [theme.subscribe(follow), look.subscribe(follow)];
  }

  // ---- Screen

  write(bytes: Uint8Array, done: () => void): void {
    const all = pieces(bytes, AT_ONCE);
    for (const piece of all.slice(0, -1)) this.terminal.write(piece);
    this.terminal.write(all.at(-1) ?? "", done);
  }

  picture(size: Size, bytes: Uint8Array, done: () => void): void {
    // Resets the parser too, whatever it was in the middle of.
    this.terminal.write(RESET);
    this.resize(size);
    this.write(bytes, done);
  }

  /** Between what was written before and what is written after. */
  resize(size: Size): void {
    this.terminal.write("", () => {
      const { cols, rows } = this.terminal;
      if (cols !== size.cols || rows !== size.rows) this.terminal.resize(size.cols, size.rows);
    });
  }

  // ---- the page

  show(container: HTMLElement): void {
    container.append(this.element);
    if (this.#opened) return;
    this.#opened = true;
    this.terminal.open(this.element);
    void drawFast(this.terminal, () => this.onRenderer());
  }

  /** How many columns and rows there is room for, in the chosen size of letters. */
  room(): Size | null {
    const { clientWidth, clientHeight } = this.element;
    if (this.terminal.options.fontSize !== look.get().fontSize && this.#cell !== null) {
      const { width, height } = this.#cell;
      return {
        cols: Math.floor((clientWidth - SCROLL_BAR) / width),
        rows: Math.floor(clientHeight / height),
      };
    }
    const drawn = this.element.querySelector<HTMLElement>(".xterm-screen");
    if (drawn !== null && drawn.offsetWidth > 0) {
      const { cols, rows } = this.terminal;
      this.#cell = { width: drawn.offsetWidth / cols, height: drawn.offsetHeight / rows };
    }
    const proposed = this.#fit.proposeDimensions();
    return proposed && Number.isFinite(proposed.cols) && Number.isFinite(proposed.rows) ? proposed : null;
  }

  /** Makes all of a terminal of this size visible, if that takes smaller letters. */
  shrinkFor(size: Size, room: Size): void {
    const fontSize = fittingFont(look.get().fontSize, size, room);
    if (this.terminal.options.fontSize !== fontSize) this.terminal.options.fontSize = fontSize;
  }

  async copy(): Promise<void> {
    const text = this.terminal.getSelection();
    if (text === "") return;
    await navigator.clipboard.writeText(text);
    this.terminal.clearSelection();
  }

  dispose(): void {
    for (const stop of this.#unfollow) stop();
    this.#questions.dispose();
    this.terminal.dispose();
    this.element.remove();
  }

  #options() {
    const { fontSize, screenReader } = look.get();
    return { fontSize, screenReaderMode: screenReader, theme: colours[theme.get().shown] };
  }

  #key(event: KeyboardEvent): boolean {
    if (event.type !== "keydown") return true;
    const chord = chordOf(event, this.terminal.hasSelection());
    if (chord === null) return true;
    // The browser pastes by itself, if it is let.
    if (chord !== "paste") event.preventDefault();
    this.onChord(chord);
    return false;
  }
}

/** In a page of its own, which learns nothing of this one. */
function openLink(_event: MouseEvent, address: string): void {
  window.open(address, "_blank", "noopener,noreferrer");
}

/** Draws on the graphics card where there is one; otherwise, or when it is taken away, as elements of the page. */
async function drawFast(terminal: Terminal, onChange: () => void): Promise<void> {
  try {
    const { WebglAddon } = await import("@xterm/addon-webgl");
    const addon = new WebglAddon();
    addon.onContextLoss(() => {
      addon.dispose();
      onChange();
    });
    terminal.loadAddon(addon);
    onChange();
  } catch {
    // Elements of the page it is.
  }
}
