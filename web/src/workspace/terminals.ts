/** The terminals there are, of all workspaces: read again whenever one comes or goes, and now and then for their titles. */
import { call } from "../api/http";
import { feed } from "../api/feed";
import type { TerminalInfo } from "../api/types";
import { createStore, type Store } from "../ui/store";

const LOOK_MS = 5_000;

class Terminals {
  readonly state: Store<{ list: readonly TerminalInfo[]; isKnown: boolean }> = createStore<{
    list: readonly TerminalInfo[];
    isKnown: boolean;
  }>({ list: [], isKnown: false });
  #asked = 0;

  /** Keeps it fresh until told to stop. */
  follow(): () => void {
    const look = () => {
      if (!document.hidden) void this.refresh();
    };
    const timer = setInterval(look, LOOK_MS);
    const stop = feed.listen((event) => {
      if (event === null || event.kind.startsWith("terminal.")) look();
    });
    look();
    return () => {
      clearInterval(timer);
      stop();
    };
  }

  async refresh(): Promise<readonly TerminalInfo[]> {
    const asked = ++this.#asked;
    try {
      const { terminals: list } = await call("terminal.list", {});
      // An answer that was overtaken is older than what is known.
      if (asked === this.#asked) this.state.set({ list, isKnown: true });
      return list;
    } catch {
      return this.state.get().list;
    }
  }
}

export const terminals = new Terminals();
