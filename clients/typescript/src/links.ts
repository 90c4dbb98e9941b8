/**
 * All connections of a client: one that calls share, and some that one caller has for itself. When the shared one is lost,
 * what waits on it fails, and the next call opens another.
 */
import type { Door } from "./channel.js";
import { TrlError } from "./errors.js";
import { Link } from "./link.js";
import type { Methods } from "./types.gen.js";

/** Idle ones that are kept. */
const MOST_IDLE = 8;

type Params<M extends keyof Methods> = Methods[M]["params"];
type Answer<M extends keyof Methods> = Promise<Methods[M]["result"]>;

export class Links {
  readonly door: Door;
  #shared: Promise<Link> | undefined;
  readonly #idle: Link[] = [];
  #isClosed = false;

  constructor(door: Door) {
    this.door = door;
  }

  async ask<M extends keyof Methods>(method: M, params: Params<M>): Answer<M> {
    return (await this.#getShared()).ask(method, params);
  }

  /** Whoever gives up waiting for it takes the connection down, and the daemon hears of that. */
  async askAlone<M extends keyof Methods>(method: M, params: Params<M>, signal?: AbortSignal): Answer<M> {
    signal?.throwIfAborted();
    const link = await this.take();
    const abort = () => link.close();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      // It may have happened while the connection was opened.
      if (signal?.aborted) abort();
      return await link.ask(method, params);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#give(link);
    }
  }

  /** One for the caller, who closes it. */
  async take(): Promise<Link> {
    for (let link = this.#idle.pop(); link !== undefined; link = this.#idle.pop()) {
      if (!link.isOver) return link;
    }
    return this.#open();
  }

  #give(link: Link): void {
    if (link.isOver) return;
    if (this.#isClosed || this.#idle.length >= MOST_IDLE) link.close();
    else this.#idle.push(link);
  }

  async #getShared(): Promise<Link> {
    const shared = this.#shared;
    if (shared !== undefined) {
      const link = await shared.catch(() => undefined);
      if (link !== undefined && !link.isOver) return link;
      // Somebody else may have seen the same, and opened the next.
      if (this.#shared !== shared) return this.#getShared();
    }
    this.#shared = this.#open();
    return this.#shared;
  }

  #open(): Promise<Link> {
    if (this.#isClosed) return Promise.reject(new TrlError("CONNECTION_FAILED", "the client was closed"));
    return Link.open(this.door);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#idle.splice(0)) link.close();
    (await this.#shared?.catch(() => undefined))?.close();
  }
}
