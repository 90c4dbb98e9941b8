/** What is pushed, each feed on a connection of its own: a slow reader holds up nobody else, and leaving is noticed. */
import type { Link, Push } from "./link.js";
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";

type Opens = "exec.stream" | "events.subscribe" | "fs.watch";

/** To be iterated over, once; leaving the loop early ends it. */
export abstract class Feed<M extends Opens, Item> implements AsyncIterableIterator<Item> {
  readonly #links: Links;
  readonly #method: M;
  readonly #params: wire.Methods[M]["params"];
  #opening: Promise<Link> | undefined;
  #isOver = false;

  constructor(links: Links, method: M, params: wire.Methods[M]["params"]) {
    this.#links = links;
    this.#method = method;
    this.#params = params;
  }

  /** Begins; the first `next` does so too. */
  async open(): Promise<this> {
    this.#opening ??= this.#begin();
    await this.#opening;
    return this;
  }

  async #begin(): Promise<Link> {
    const link = await this.#links.take();
    try {
      this.begun(await link.ask(this.#method, this.#params));
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  /** Ends it; what becomes of a command is for `on_disconnect` to say. */
  async close(): Promise<void> {
    this.#isOver = true;
    (await this.#opening?.catch(() => undefined))?.close();
  }

  async next(): Promise<IteratorResult<Item>> {
    try {
      while (!this.#isOver) {
        await this.open();
        const item = this.heard(await (await this.#opening!).next());
        if (item === "over") break;
        if (item !== undefined) return { done: false, value: item };
      }
    } catch (error) {
      await this.close();
      throw error;
    }
    await this.close();
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Item>> {
    await this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The reply came. */
  protected begun(_reply: wire.Methods[M]["result"]): void {}

  /** What a push is for the reader, if anything. */
  protected abstract heard(push: Push): Item | undefined | "over";
}

/** What happens to sessions, executions, terminals and requests. */
export class Events extends Feed<"events.subscribe", wire.Event> {
  protected override heard(push: Push): wire.Event | undefined {
    return push.method === "event" ? push.params : undefined;
  }
}

/** What changes below a directory. */
export class Watch extends Feed<"fs.watch", wire.ChangedPush> {
  protected override heard(push: Push): wire.ChangedPush | undefined {
    return push.method === "fs.changed" ? push.params : undefined;
  }
}
