/**
 * What happens to sessions and terminals, as it happens: one `events.subscribe` over `WS /ws/rpc`, which is opened again
 * when it is lost. Whoever listens is told then to look at everything anew.
 */
import { createStore, type Store } from "../ui/store";
import { delayBefore } from "./backoff";
import { ApiError, socketAddress, ticket } from "./http";
import type { Happening } from "./types";

export type FeedPhase = "idle" | "connecting" | "online" | "waiting";

interface Push {
  method?: string;
  params?: Happening;
  result?: unknown;
}

class Feed {
  readonly state: Store<{ phase: FeedPhase }> = createStore<{ phase: FeedPhase }>({ phase: "idle" });
  readonly #listeners = new Set<(event: Happening | null) => void>();
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  /** Which start this belongs to: what an earlier one still hears is nothing. */
  #run = 0;

  /** Calls back for each event, and with nothing when some may have been missed. */
  listen(listener: (event: Happening | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    window.addEventListener("online", this.#wake);
    window.addEventListener("offline", this.#cut);
    document.addEventListener("visibilitychange", this.#wake);
    void this.#open();
  }

  stop(): void {
    this.#run += 1;
    window.removeEventListener("online", this.#wake);
    window.removeEventListener("offline", this.#cut);
    document.removeEventListener("visibilitychange", this.#wake);
    clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
    this.#to("idle");
  }

  readonly #wake = () => {
    if (this.state.get().phase === "waiting" && !document.hidden) void this.#open();
  };

  /** The browser knows that there is no network; the socket would find out much later. */
  readonly #cut = () => {
    if (this.state.get().phase !== "online") return;
    this.#run += 1;
    this.#socket?.close();
    this.#later();
  };

  async #open(): Promise<void> {
    clearTimeout(this.#timer);
    const run = ++this.#run;
    this.#to("connecting");
    this.#tries += 1;
    try {
      const presented = await ticket();
      if (run !== this.#run) return;
      const socket = new WebSocket(socketAddress("/ws/rpc", { ticket: presented }));
      this.#socket = socket;
      socket.onopen = () => this.#subscribe(socket);
      socket.onmessage = (event: MessageEvent<string>) => this.#heard(event.data);
      socket.onclose = () => {
        if (run === this.#run) this.#later();
      };
    } catch (error) {
      const ended = error instanceof ApiError && error.status === 401;
      if (run === this.#run && !ended) this.#later();
    }
  }

  #subscribe(socket: WebSocket): void {
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "events.subscribe", params: {} }));
  }

  #heard(text: string): void {
    const push = JSON.parse(text) as Push;
    if (push.result !== undefined) {
      this.#tries = 0;
      this.#to("online");
      this.#tell(null);
    } else if (push.method === "event" && push.params !== undefined) {
      this.#tell(push.params);
    }
  }

  #tell(event: Happening | null): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  /** For ever: the page says that it is not connected, and somebody may start the daemon tomorrow. */
  #later(): void {
    this.#socket = null;
    this.#to("waiting");
    this.#timer = setTimeout(() => void this.#open(), delayBefore(Math.min(this.#tries, 8), Math.random));
  }

  #to(phase: FeedPhase): void {
    this.state.set({ phase });
  }
}

export const feed = new Feed();
