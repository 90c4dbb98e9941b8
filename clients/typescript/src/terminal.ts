/** A program on a terminal, which belongs to the daemon and not to a connection. */
import { Attachment, type AttachOptions } from "./attachment.js";
import { TrlError, unless } from "./errors.js";
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";
import { toBytes, toWire, type Data } from "./values.js";

export class Terminal {
  readonly #links: Links;
  readonly id: string;

  constructor(links: Links, id: string) {
    this.#links = links;
    this.id = id;
  }

  info(): Promise<wire.TerminalInfo> {
    return this.#links.ask("terminal.get", this.#me);
  }

  /** Types this as it is; Enter is a carriage return. */
  async input(data: Data): Promise<void> {
    await this.#links.ask("terminal.input", { ...this.#me, ...toWire(data) });
  }

  /** Types keys by name: `Up`, `C-c`, `M-x`, `S-Tab`, `F5`, `Enter`, or one character. */
  async keys(...names: string[]): Promise<void> {
    await this.#links.ask("terminal.input", { ...this.#me, keys: names });
  }

  /** What a person would see. */
  screen(format: wire.ScreenFormat = "text"): Promise<wire.Screen> {
    return this.#links.ask("terminal.screen", { ...this.#me, format });
  }

  /** What a person would see, as lines. */
  async text(): Promise<string> {
    return (await this.screen()).text ?? "";
  }

  /** Bytes that bring a fresh terminal to the same state. */
  async snapshot(options: { history_lines?: number } = {}): Promise<Uint8Array> {
    const { data, encoding } = await this.#links.ask("terminal.snapshot", { ...this.#me, ...options });
    return toBytes(data, encoding);
  }

  /**
   * The screen once a regular expression matches its text, or without one, once the program has ended. `TIMEOUT` when that
   * takes too long, `TERMINAL_ENDED` when it ends without having shown it.
   */
  async wait(pattern?: RegExp, options: { timeout_s?: number } = {}): Promise<wire.Screen> {
    const seat = await this.attach({ mode: "view" });
    const patience = timer(options.timeout_s);
    try {
      for (;;) {
        const screen = await this.screen();
        if (pattern !== undefined && shows(screen, pattern)) return screen;
        if (seat.exit !== undefined) {
          if (pattern === undefined) return screen;
          throw new TrlError("TERMINAL_ENDED", "the terminal ended without showing it");
        }
        const heard = seat.receive();
        // Nobody listens to it any more once the time is over.
        heard.catch(() => undefined);
        await Promise.race([heard, patience.over]);
      }
    } finally {
      patience.stop();
      seat.close();
    }
  }

  /** Sits down beside it: bytes by their offset, and typing. */
  attach(options: AttachOptions = {}): Promise<Attachment> {
    return Attachment.open(this.#links.door, this.id, options);
  }

  resize(cols: number, rows: number): Promise<wire.TerminalInfo> {
    return this.#links.ask("terminal.resize", { ...this.#me, cols, rows });
  }

  /** To whoever has the keyboard; says how many processes got it. */
  async signal(name: string): Promise<number> {
    return (await this.#links.ask("terminal.signal", { ...this.#me, signal: name })).processes;
  }

  /** Ends everything it started, at once or after that long. */
  async destroy(options: { grace_s?: number } = {}): Promise<void> {
    await this.#links.ask("terminal.destroy", { ...this.#me, ...options });
  }

  /** Takes a destroy back while it is still to come. */
  async keep(): Promise<void> {
    await this.#links.ask("terminal.keep", this.#me);
  }

  /** `await using`: it ends with the block, unless it has ended already and is forgotten. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy().catch(unless("TERMINAL_NOT_FOUND"));
  }

  get #me(): { terminal_id: string } {
    return { terminal_id: this.id };
  }
}

function shows(screen: wire.Screen, pattern: RegExp): boolean {
  // One that remembers where it was would not look at all of the next screen.
  return new RegExp(pattern, pattern.flags.replace(/[gy]/g, "")).test(screen.text ?? "");
}

function timer(seconds: number | undefined): { over: Promise<never>; stop(): void } {
  let handle: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_, reject) => {
    if (seconds === undefined) return;
    const late = new TrlError("TIMEOUT", `the screen does not show it after ${seconds} s`);
    handle = setTimeout(() => reject(late), seconds * 1000);
  });
  // Heard by whoever waits then, or by nobody.
  over.catch(() => undefined);
  return { over, stop: () => clearTimeout(handle) };
}
