/**
 * One panel: a screen, the link to its terminal, and what is to be done when there is no such terminal.
 *
 * It lives as long as its tab: moving the tab, another page in between, a lost connection do not touch it.
 *
 *  1. It is shown: the room is measured, then it attaches to the terminal it knows, or has one made.
 *  2. Its terminal is not there (4004; the daemon was restarted): another is made in its place, and that is said.
 */
import { call, told } from "../api/http";
import { createStore, type Store } from "../ui/store";
import { dialer } from "./dialer";
import type { Chord } from "./fitting";
import { Link, type Mode, type Size, type World } from "./link";
import { changeFontSize, look } from "./look";
import { isFocusReport } from "./queries";
import { XtermScreen } from "./xterm";

/** A window that is being dragged is not measured more often. */
const MEASURE_MS = 60;

/** A panel, among those beside a terminal. Another one is another client, also for the same terminal: its input is numbered from one. */
const newClient = () => `web-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? "0"}`;

const world: World = {
  now: () => performance.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  isHidden: () => document.hidden,
};

export interface PanelState {
  /** Said above the screen until it is dismissed. */
  notice: "replaced" | null;
  /** Why no terminal could be made. */
  failure: string | null;
  /** A terminal was asked for, and is not there yet: it may have to wait for a person. */
  isMaking: boolean;
  searching: boolean;
  mode: Mode;
}

export interface Place {
  workspace: string;
  /** The panel has a terminal, maybe another than before. */
  settled(terminalId: string): void;
}

export class Panel {
  readonly screen = new XtermScreen();
  readonly link = new Link(dialer, this.screen, world, newClient());
  readonly state: Store<PanelState>;

  readonly #place: Place;
  #terminalId: string | null;
  /** Takes the keyboard away from the screen. */
  #leave: () => void = () => undefined;
  #started = false;
  #isOver = false;
  #size: Size | null = null;
  #watched: ResizeObserver | null = null;
  #measuring: ReturnType<typeof setTimeout> | undefined;
  readonly #unfollow: (() => void)[];

  constructor(place: Place, terminalId: string | null, mode: Mode) {
    this.#place = place;
    this.#terminalId = terminalId;
    this.state = createStore<PanelState>({
      notice: null,
      failure: null,
      isMaking: false,
      searching: false,
      mode,
    });
    const encoder = new TextEncoder();
    this.screen.onType = (data) => {
      // Of those beside a terminal, one is in front of it.
      if (isFocusReport(data) && !this.link.isDriver) return;
      this.link.type(encoder.encode(data));
    };
    this.screen.terminal.onBinary((data) => this.link.type(Uint8Array.from(data, (c) => c.charCodeAt(0))));
    this.screen.onChord = (chord) => this.#chord(chord);
    this.screen.onRenderer = () => this.#measureSoon();
    this.#unfollow = [
      this.link.state.subscribe(() => this.#follow()),
      look.subscribe(() => this.#measureSoon()),
    ];
  }

  get terminalId(): string | null {
    return this.#terminalId;
  }

  /** Puts the screen into the page. What it returns takes it out again. */
  show(container: HTMLElement, leave: () => void): () => void {
    this.#leave = leave;
    this.screen.show(container);
    this.#watched = new ResizeObserver(() => this.#measureSoon());
    this.#watched.observe(container);
    this.#measure();
    if (!this.#started) this.#start();
    return () => {
      this.#watched?.disconnect();
      this.screen.element.remove();
    };
  }

  focus(): void {
    this.screen.terminal.focus();
  }

  setMode(mode: Mode): void {
    this.#change({ mode });
    this.link.setMode(mode);
  }

  search(searching: boolean): void {
    this.#change({ searching });
    if (!searching) {
      this.screen.search.clearDecorations();
      this.focus();
    }
  }

  dismissNotice(): void {
    this.#change({ notice: null });
  }

  /** A terminal of its own, in place of one that has ended. */
  async renew(): Promise<void> {
    this.#change({ failure: null, notice: null });
    await this.#create();
  }

  dispose(): void {
    this.#isOver = true;
    for (const stop of this.#unfollow) stop();
    clearTimeout(this.#measuring);
    this.#watched?.disconnect();
    this.link.stop();
    this.screen.dispose();
  }

  // ---- a terminal to show

  #start(): void {
    this.#started = true;
    if (this.#terminalId === null) void this.#create();
    else this.link.start(this.#terminalId, this.state.get().mode);
  }

  async #create(): Promise<void> {
    this.#change({ isMaking: true });
    try {
      const made = await call("terminal.create", {
        workspace_id: this.#place.workspace,
        ...(this.screen.room() ?? {}),
      });
      // The tab was closed meanwhile: nobody would ever close what it asked for.
      if (this.#isOver) {
        await call("terminal.destroy", { terminal_id: made.terminal_id });
        return;
      }
      this.#terminalId = made.terminal_id;
      this.#place.settled(made.terminal_id);
      this.link.start(made.terminal_id, this.state.get().mode);
    } catch (error) {
      this.#change({ failure: told(error) });
    } finally {
      this.#change({ isMaking: false });
    }
  }

  #follow(): void {
    const { phase, size } = this.link.state.get();
    if (size !== this.#size) {
      this.#size = size;
      this.#measureSoon();
    }
    if (phase.kind !== "missing" || this.state.get().failure !== null) return;
    this.link.stop();
    this.#change({ notice: "replaced" });
    void this.#create();
  }

  // ---- the room there is

  #measureSoon(): void {
    clearTimeout(this.#measuring);
    this.#measuring = setTimeout(() => this.#measure(), MEASURE_MS);
  }

  #measure(): void {
    if (this.screen.element.offsetWidth === 0) return;
    const room = this.screen.room();
    if (room === null) return;
    this.link.setWindow(room);
    const { size } = this.link.state.get();
    if (size !== null) this.screen.shrinkFor(size, room);
  }

  #chord(chord: Chord): void {
    switch (chord) {
      case "copy":
        return void this.screen.copy();
      case "find":
        return this.search(true);
      case "larger":
        return changeFontSize(1);
      case "smaller":
        return changeFontSize(-1);
      case "usual":
        return changeFontSize(0);
      case "leave":
        return this.#leave();
      case "paste":
    }
  }

  #change(change: Partial<PanelState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}
