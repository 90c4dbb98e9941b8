/**
 * One conversation with the daemon.
 *
 * 1. It is opened by presenting the token, where that is not done yet, and a ping: both sides speak the same protocol.
 * 2. Any number of requests may wait; replies find them by number.
 * 3. Pushes wait in line for `next`. While many wait, nothing more is read, and the daemon slows down.
 */
import type { Channel, Door } from "./channel.js";
import { isTrlError, lost, refusal, TrlError } from "./errors.js";
import type { Methods, Pushes } from "./types.gen.js";

/** The version of the protocol this library speaks. */
export const PROTOCOL = 1;

const MOST_WAITING = 64;

export type Push = { [Name in keyof Pushes]: { method: Name; params: Pushes[Name] } }[keyof Pushes];

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Reply {
  id: number;
  result?: unknown;
  error?: { message: string; data?: Record<string, unknown> };
}

export class Link {
  readonly #channel: Channel;
  readonly #waiting = new Map<number, Waiting>();
  readonly #pushes: Push[] = [];
  #listener: Waiting | undefined;
  #resume: (() => void) | undefined;
  #number = 0;
  #over: TrlError | undefined;

  private constructor(channel: Channel) {
    this.#channel = channel;
    void this.#read();
  }

  static async open(door: Door): Promise<Link> {
    const link = new Link(await door.open());
    try {
      if (door.token !== undefined) await link.ask("system.auth", { token: door.token });
      const ping = await link.ask("system.ping", {});
      if (ping.protocol !== PROTOCOL) {
        const theirs = `the daemon is ${ping.version} (protocol ${ping.protocol})`;
        throw new TrlError("PROTOCOL_MISMATCH", `${theirs}, this speaks protocol ${PROTOCOL}`);
      }
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  ask<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    if (this.#over) return Promise.reject(this.#over);
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      this.#channel.await(true);
      this.#channel.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /** The next push, for one listener at a time. */
  next(): Promise<Push> {
    const push = this.#pushes.shift();
    if (this.#pushes.length < MOST_WAITING) this.#resume?.();
    if (push !== undefined) return Promise.resolve(push);
    if (this.#over) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => {
      this.#listener = { resolve: resolve as (push: unknown) => void, reject };
      this.#channel.await(true);
    });
  }

  close(): void {
    this.#end(lost("the connection was closed"));
  }

  async #read(): Promise<void> {
    try {
      for await (const message of this.#channel.messages) {
        if (this.#over) return;
        this.#heard(JSON.parse(String(message)) as Reply | Push);
        this.#channel.await(this.#waiting.size > 0 || this.#listener !== undefined);
        if (this.#pushes.length >= MOST_WAITING) {
          await new Promise<void>((resolve) => (this.#resume = resolve));
        }
      }
      this.#end(lost());
    } catch (error) {
      this.#end(isTrlError(error) ? error : lost(error instanceof Error ? error.message : String(error)));
    }
  }

  #heard(message: Reply | Push): void {
    if ("method" in message) {
      const listener = this.#listener;
      this.#listener = undefined;
      if (listener) listener.resolve(message);
      else this.#pushes.push(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(refusal({ ...message.error.data, message: message.error.message }));
  }

  #end(why: TrlError): void {
    if (this.#over) return;
    this.#over = why;
    this.#resume?.();
    this.#channel.close();
    const all = [...this.#waiting.values(), ...(this.#listener ? [this.#listener] : [])];
    this.#waiting.clear();
    this.#listener = undefined;
    for (const waiting of all) waiting.reject(why);
  }
}
