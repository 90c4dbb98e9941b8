/**
 * The link between a panel and its terminal: one `trl.term.1` conversation that outlives its sockets.
 *
 * ```text
 *            start           dialed, hello
 *   idle ───────▶ connecting ────────────▶ live ──▶ ended      its program has (exit, then 1000)
 *                  ▲  │  ▲ 4004 missing     │
 *       wake, retry│  │  │ 4003 forbidden   │ lost
 *                  │  ▼  │ 401  loggedOut   ▼
 *               gaveUp ◀─┴──────────── waiting ─▶ connecting    after a delay; not while the page is hidden
 *                     the tenth try failed
 *   any ── stop ──▶ stopped
 * ```
 *
 * What it sees to:
 * 1. Bytes are applied once and in order, by their offsets; a gap is answered with `resync`.
 * 2. What the screen has shown is acknowledged, so that the daemon sends as fast as it is shown.
 * 3. Input is numbered and kept until it is acknowledged ([`Typed`]).
 * 4. A connection that only looks alive is noticed: when the page wakes, and when input is not acknowledged.
 *
 * It knows neither WebSocket nor xterm.js: those are a [`Dialer`] and a [`Screen`].
 */
import { delayBefore, MOST_TRIES } from "../api/backoff";
import { createStore, type Store } from "../ui/store";
import {
  inputFrame,
  parseFrame,
  parseText,
  type Hello,
  type Present,
  type Said,
  type Told,
} from "./protocol";
import { Typed } from "./typed";
import { joined, unfinished } from "./utf8";

/** Acknowledged at once; less than this waits for [`ACK_MS`]. A sixteenth of the daemon's window. */
const ACK_BYTES = 16 * 1024;
const ACK_MS = 50;
/** An answer that takes longer does not come. */
const ANSWER_MS = 5_000;
/** Input that is not acknowledged for so long makes the connection suspect. */
const SUSPECT_MS = 10_000;
/** A connection that has lasted this long was a good one: tries are counted anew. */
const GOOD_MS = 3_000;

export type Mode = "drive" | "view";

export interface Size {
  cols: number;
  rows: number;
}

export type Phase =
  | { kind: "idle" }
  | { kind: "connecting"; attempt: number }
  | { kind: "live" }
  | { kind: "waiting"; attempt: number }
  | { kind: "gaveUp" }
  | { kind: "missing" }
  | { kind: "forbidden" }
  | { kind: "loggedOut" }
  | { kind: "ended"; code: number | null; signal: string | null }
  | { kind: "stopped" };

/** What is shown of a link. */
export interface LinkState {
  phase: Phase;
  size: Size | null;
  sizePolicy: Hello["size_policy"];
  title: string;
  workingDir: string;
  /** This connection's number among those present; none before the first greeting. */
  you: number | null;
  mayType: boolean;
  presence: Present[];
  /** Typed, but never taken, and too old to be sent without asking. */
  offered: Uint8Array;
  /** It will be destroyed then (milliseconds of the clock), if nobody takes that back. */
  destroyAt: number | null;
  /** What the daemon refused last. */
  complaint: string | null;
}

export interface DialQuery {
  terminalId: string;
  mode: Mode;
  client: string;
  gen?: string;
  since?: number;
  window?: Size;
}

/** What is heard on a call. After `closed` or `refused` nothing more is. */
export interface Ear {
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
  closed(code: number): void;
  /** It did not come to a connection: the status of the answer, or 0. */
  refused(status: number): void;
}

export interface Call {
  send(data: string | Uint8Array<ArrayBuffer>): void;
  hangUp(): void;
}

export interface Dialer {
  dial(query: DialQuery, ear: Ear): Call;
}

/** What shows the terminal. Everything is carried out in the order it was asked for. */
export interface Screen {
  /** `done` when it has been shown. */
  write(bytes: Uint8Array, done: () => void): void;
  /** In place of all that was shown before. */
  picture(size: Size, bytes: Uint8Array, done: () => void): void;
  resize(size: Size): void;
}

export interface World {
  now(): number;
  /** Calls back once; the result takes it back. */
  after(ms: number, then: () => void): () => void;
  random(): number;
  isHidden(): boolean;
}

const NOTHING = new Uint8Array();

const AT_FIRST: LinkState = {
  phase: { kind: "idle" },
  size: null,
  sizePolicy: "driver",
  title: "",
  workingDir: "",
  you: null,
  mayType: true,
  presence: [],
  offered: NOTHING,
  destroyAt: null,
  complaint: null,
};

export class Link {
  readonly state: Store<LinkState> = createStore(AT_FIRST);
  readonly #dialer: Dialer;
  readonly #screen: Screen;
  readonly #world: World;
  readonly #client: string;
  readonly #typed = new Typed();

  #terminalId = "";
  #mode: Mode = "drive";
  #window: Size | null = null;
  #call: Call | null = null;
  /** Tries since the last good connection. */
  #tries = 0;

  // The place in the terminal's output.
  #gen: string | null = null;
  /** The incarnation that what is typed now is meant for. */
  #meantFor: string | null = null;
  #next = 0;
  #held: Uint8Array = NOTHING;
  /** The size of the picture that is to come; until it comes, bytes are not for us. */
  #picture: Size | null = null;
  #acked = 0;
  #shown = 0;

  readonly #timers = new Map<"ack" | "answer" | "suspect" | "good" | "retry", () => void>();

  constructor(dialer: Dialer, screen: Screen, world: World, client: string) {
    this.#dialer = dialer;
    this.#screen = screen;
    this.#world = world;
    this.#client = client;
  }

  get terminalId(): string {
    return this.#terminalId;
  }

  /** Whether this window decides the size: whoever typed last. */
  get isDriver(): boolean {
    const { presence, you } = this.state.get();
    return presence.some((one) => one.driver && one.id === you);
  }

  get mode(): Mode {
    return this.#mode;
  }

  // ---- what is asked of it

  start(terminalId: string, mode: Mode): void {
    this.#terminalId = terminalId;
    this.#mode = mode;
    this.#gen = null;
    this.#held = NOTHING;
    this.#tries = 0;
    this.#dial();
  }

  stop(): void {
    this.#hangUp();
    this.#to({ kind: "stopped" });
  }

  /** Watches only, or types again. */
  setMode(mode: Mode): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#tries = 0;
    if (this.#phase === "live" || this.#phase === "connecting") this.#dial();
  }

  type(bytes: Uint8Array): void {
    const { mayType, phase } = this.state.get();
    if (this.#mode === "view" || !mayType || phase.kind === "ended" || phase.kind === "stopped") return;
    const pieces = this.#typed.add(bytes, this.#world.now());
    if (this.#phase === "live") for (const piece of pieces) this.#sendInput(piece.iseq, piece.bytes);
  }

  /** Sends what was offered, or forgets it. */
  settleOffer(what: "send" | "drop"): void {
    const bytes = this.#typed.offered();
    this.#typed.dropOffered();
    this.#change({ offered: NOTHING });
    if (what === "send") this.type(bytes);
  }

  /** The room there is for the terminal here. */
  setWindow(window: Size): void {
    const same = this.#window?.cols === window.cols && this.#window.rows === window.rows;
    this.#window = window;
    if (!same) this.#say({ type: "resize", ...window });
  }

  claim(): void {
    this.#say({ type: "claim" });
  }

  signal(signal: string): void {
    this.#say({ type: "signal", signal });
  }

  /** The page is looked at again, or the network is back: no waiting now. */
  wake(): void {
    if (this.#phase === "live") return this.#askForAnswer();
    if (this.#phase === "waiting") return this.#dial();
    if (this.#phase === "gaveUp") this.retry();
  }

  /** A person wants it. */
  retry(): void {
    if (this.#phase !== "gaveUp" && this.#phase !== "waiting" && this.#phase !== "loggedOut") return;
    this.#tries = 0;
    this.#dial();
  }

  // ---- connecting

  get #phase(): Phase["kind"] {
    return this.state.get().phase.kind;
  }

  #dial(): void {
    this.#hangUp();
    this.#tries += 1;
    this.#to({ kind: "connecting", attempt: this.#tries });
    const query: DialQuery = { terminalId: this.#terminalId, mode: this.#mode, client: this.#client };
    if (this.#gen !== null) Object.assign(query, { gen: this.#gen, since: this.#next });
    if (this.#window !== null) query.window = this.#window;
    // What an earlier call still has to say is not heard.
    const heard =
      <A extends unknown[]>(then: (...args: A) => void) =>
      (...args: A) => {
        if (this.#call === call) then(...args);
      };
    const call: Call = this.#dialer.dial(query, {
      text: heard((text: string) => {
        this.#alive();
        const told = parseText(text);
        if (told !== null) this.#told(told);
      }),
      bytes: heard((bytes: Uint8Array) => {
        this.#alive();
        this.#frame(bytes);
      }),
      closed: heard((code: number) => this.#closed(code)),
      refused: heard((status: number) => this.#refused(status)),
    });
    this.#call = call;
  }

  #hangUp(): void {
    const call = this.#call;
    this.#call = null;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    call?.hangUp();
  }

  #closed(code: number): void {
    this.#hangUp();
    // Only this says that the terminal is still there, to be read.
    if (this.#phase === "ended" && code === 1000) return;
    switch (code) {
      case 4003:
        return this.#to({ kind: "forbidden" });
      case 4004:
        this.#typed.setAside();
        return this.#to({ kind: "missing" });
      default:
        this.#tryLater();
    }
  }

  #refused(status: number): void {
    this.#hangUp();
    if (status === 401) return this.#to({ kind: "loggedOut" });
    if (status === 403) return this.#to({ kind: "forbidden" });
    this.#tryLater();
  }

  #tryLater(): void {
    if (this.#tries >= MOST_TRIES) return this.#to({ kind: "gaveUp" });
    const attempt = this.#tries + 1;
    this.#to({ kind: "waiting", attempt });
    this.#timer(
      "retry",
      delayBefore(attempt, () => this.#world.random()),
      () => {
        // Nobody looks: it waits for `wake`.
        if (!this.#world.isHidden()) this.#dial();
      },
    );
  }

  // ---- what the daemon says

  #told(told: Told): void {
    switch (told.type) {
      case "hello":
        return this.#greeted(told);
      case "resume":
        if (told.kind === "delta") {
          this.#next = told.offset;
          this.#resize(told);
        } else {
          this.#picture = told;
        }
        return;
      case "resync":
        this.#picture = told;
        return;
      case "resize":
        if (this.#picture === null) this.#resize(told);
        return;
      case "state":
        return this.#change({ title: told.title, workingDir: told.working_dir });
      case "presence":
        return this.#change({ presence: told.clients });
      case "fate":
        return this.#change({ destroyAt: this.#fate(told.destroy_in_s) });
      case "input_ack":
        this.#typed.acknowledge(told.iseq);
        return this.#watchInput();
      case "exit":
        return this.#to({ kind: "ended", code: told.code, signal: told.signal });
      case "error":
        if (typeof told.iseq === "number") this.#typed.refuse(told.iseq);
        return this.#change({ complaint: told.message });
      case "event":
      case "history":
    }
  }

  #greeted(hello: Hello): void {
    if (this.#meantFor !== null && this.#meantFor !== hello.gen) this.#typed.setAside();
    this.#meantFor = hello.gen;
    this.#gen = hello.gen;
    this.#picture = null;
    this.#acked = 0;
    this.#change({
      phase: { kind: "live" },
      sizePolicy: hello.size_policy,
      title: hello.title,
      workingDir: hello.working_dir,
      you: hello.you,
      mayType: hello.drives || this.#mode === "view",
      presence: hello.presence,
      complaint: null,
    });
    this.#timer("good", GOOD_MS, () => (this.#tries = 0));
    for (const piece of this.#typed.again(this.#world.now())) this.#sendInput(piece.iseq, piece.bytes);
    this.#change({ offered: this.#typed.offered() });
  }

  #fate(seconds: number | null): number | null {
    return seconds === null ? null : this.#world.now() + seconds * 1000;
  }

  #resize(size: Size): void {
    const { cols, rows } = size;
    this.#change({ size: { cols, rows } });
    this.#screen.resize({ cols, rows });
  }

  #frame(message: Uint8Array): void {
    const frame = parseFrame(message);
    if (frame === null) return;
    if (frame.kind === "snapshot") return this.#show(frame.offset, frame.bytes);
    if (this.#picture !== null) return;
    const end = frame.offset + frame.bytes.length;
    if (end <= this.#next) return;
    if (frame.offset > this.#next) {
      this.#picture = this.state.get().size ?? { cols: 80, rows: 24 };
      return this.#say({ type: "resync" });
    }
    this.#write(frame.bytes.subarray(this.#next - frame.offset), end);
  }

  #show(offset: number, bytes: Uint8Array): void {
    const { cols, rows } = this.#picture ?? this.state.get().size ?? { cols: 80, rows: 24 };
    this.#picture = null;
    this.#next = offset;
    this.#held = NOTHING;
    this.#change({ size: { cols, rows } });
    this.#screen.picture({ cols, rows }, bytes, this.#whenShown(offset));
  }

  #write(bytes: Uint8Array, end: number): void {
    this.#next = end;
    const all = joined(this.#held, bytes);
    const whole = all.length - unfinished(all);
    // A copy: the message it is part of need not stay.
    this.#held = all.slice(whole);
    if (whole > 0) this.#screen.write(all.subarray(0, whole), this.#whenShown(end));
  }

  // ---- acknowledging

  #whenShown(offset: number): () => void {
    const call = this.#call;
    return () => {
      if (this.#call !== call) return;
      this.#shown = offset;
      if (offset - this.#acked >= ACK_BYTES) return this.#acknowledge();
      if (!this.#timers.has("ack")) this.#timer("ack", ACK_MS, () => this.#acknowledge());
    };
  }

  #acknowledge(): void {
    this.#cancel("ack");
    if (this.#shown === this.#acked) return;
    this.#acked = this.#shown;
    this.#say({ type: "ack", offset: this.#shown });
  }

  // ---- is anybody there?

  #alive(): void {
    this.#cancel("answer");
  }

  /** Any message is an answer; this question gets one of no length. */
  #askForAnswer(): void {
    if (this.#timers.has("answer")) return;
    this.#say({ type: "history", lines: 0 });
    this.#timer("answer", ANSWER_MS, () => this.#dial());
  }

  #sendInput(iseq: number, bytes: Uint8Array): void {
    this.#call?.send(inputFrame(iseq, bytes));
    if (!this.#timers.has("suspect")) this.#watchInput();
  }

  #watchInput(): void {
    this.#cancel("suspect");
    if (this.#typed.oldest !== undefined) this.#timer("suspect", SUSPECT_MS, () => this.#askForAnswer());
  }

  // ---- small things

  #say(said: Said): void {
    if (this.#phase === "live") this.#call?.send(JSON.stringify(said));
  }

  #to(phase: Phase): void {
    this.#change({ phase });
  }

  #change(change: Partial<LinkState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }

  #timer(name: "ack" | "answer" | "suspect" | "good" | "retry", ms: number, then: () => void): void {
    this.#cancel(name);
    const cancel = this.#world.after(ms, () => {
      this.#timers.delete(name);
      then();
    });
    this.#timers.set(name, cancel);
  }

  #cancel(name: "ack" | "answer" | "suspect" | "good" | "retry"): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}
