/** The places where sessions can live. Adding and removing takes the operator's token. */
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";

export class Runtimes {
  readonly #links: Links;

  constructor(links: Links) {
    this.#links = links;
  }

  async list(): Promise<wire.RuntimeInfo[]> {
    return (await this.#links.ask("runtime.list", {})).runtimes;
  }

  get(name: string): Promise<wire.RuntimeInfo> {
    return this.#links.ask("runtime.get", { name });
  }

  /** Asks its engine, which is started there if need be. */
  health(name: string): Promise<wire.RuntimeHealth> {
    return this.#links.ask("runtime.health", { name });
  }

  /** One more, also for the next daemon. */
  add(spec: wire.RuntimeSpec): Promise<wire.RuntimeInfo> {
    return this.#links.ask("runtime.add", spec);
  }

  remove(name: string, options: { drain?: boolean; force?: boolean } = {}): Promise<wire.RuntimeRemoved> {
    return this.#links.ask("runtime.remove", { name, ...options });
  }
}
