/**
 * What the daemon is, and who we are to it. Asked whenever the connection comes: the next daemon may be a newer one, which
 * can do more, or an older one.
 */
import { createStore, useStore, type Store } from "../ui/store";
import { feed } from "./feed";
import { call } from "./http";
import type { Info, Methods } from "./types";

class TheDaemon {
  /** Null before it was heard. */
  readonly state: Store<Info | null> = createStore<Info | null>(null);
  #asked = 0;

  /** Follows until told to stop. */
  start(): () => void {
    const stop = feed.listen((event) => {
      if (event === null) void this.#ask();
    });
    void this.#ask();
    return () => {
      stop();
      this.#asked += 1;
      this.state.set(null);
    };
  }

  async #ask(): Promise<void> {
    const asked = ++this.#asked;
    try {
      const info = await call("system.info", {});
      if (asked === this.#asked) this.state.set(info);
    } catch {
      // It is not there, which the page says; what was known of it holds until it is back.
    }
  }
}

export const daemon = new TheDaemon();

/** Whether it can do this at all; not whether we may. */
export function can(info: Info | null, method: keyof Methods): boolean {
  return info?.methods.includes(method) === true;
}

/** Whether we may decide for everybody: answer requests, see what was decided. */
export function isOperator(info: Info | null): boolean {
  return info?.role === "operator";
}

export function useDaemonInfo(): Info | null {
  return useStore(daemon.state);
}
