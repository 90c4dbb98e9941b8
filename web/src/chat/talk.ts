/**
 * The conversation with the agent of a session, followed while somebody looks.
 *
 *  1. The newest messages are read when the page comes and whenever the connection does, and when somebody elsewhere sends one.
 *  2. A message that runs is followed by its event stream, from the last update that is known here.
 *  3. Updates that come close together are taken together: an agent may say a thousand things in a second.
 */
import { feed } from "../api/feed";
import { call, told } from "../api/http";
import { follow, type SseEvent } from "../api/sse";
import type { Happening } from "../api/types";
import { createStore, type Store } from "../ui/store";
import {
  newMessage,
  withEnd,
  withMessage,
  withNewest,
  withOlder,
  withUpdate,
  type Done,
  type Message,
  type Numbered,
  type Transcript,
} from "./transcript";

/** Messages that are read at once. */
const AT_ONCE = 20;
const TOGETHER_MS = 40;

export interface TalkState {
  /** Null before it was heard. */
  transcript: Transcript | null;
  failure: string | null;
  /** The message that is being stopped from here. */
  stopping: string | null;
}

export class Talk {
  readonly state: Store<TalkState> = createStore<TalkState>({
    transcript: null,
    failure: null,
    stopping: null,
  });
  readonly #id: string;
  #over = new AbortController();
  readonly #followed = new Set<string>();
  #heard: [string, (message: Message) => Message][] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReadingOlder = false;

  constructor(id: string) {
    this.#id = id;
  }

  start(): () => void {
    this.#over = new AbortController();
    const stop = feed.listen((event) => {
      if (this.#isNews(event)) void this.refresh();
    });
    void this.refresh();
    return () => {
      stop();
      this.#over.abort();
      this.#followed.clear();
      clearTimeout(this.#timer);
      this.#take();
    };
  }

  /** What its stream does not tell. */
  #isNews(event: Happening | null): boolean {
    if (event === null || event.kind === "events.missed") return true;
    if (event.kind !== "agent.started" && event.kind !== "agent.finished") return false;
    return event.session_id === this.#id && !this.#followed.has(event.message_id);
  }

  async refresh(): Promise<void> {
    const { signal } = this.#over;
    try {
      const page = await call("agent.history", { session_id: this.#id, limit: AT_ONCE }, signal);
      this.#take();
      const transcript = withNewest(this.state.get().transcript, page);
      this.#set({ transcript, failure: null });
      for (const { id, isOver } of transcript.messages) if (!isOver) this.#follow(id);
    } catch (error) {
      if (!signal.aborted) this.#set({ failure: told(error) });
    }
  }

  async older(): Promise<void> {
    const [first] = this.state.get().transcript?.messages ?? [];
    if (first === undefined || this.#isReadingOlder) return;
    this.#isReadingOlder = true;
    try {
      const page = await call("agent.history", { session_id: this.#id, limit: AT_ONCE, before: first.id });
      const { transcript } = this.state.get();
      if (transcript !== null) this.#set({ transcript: withOlder(transcript, page) });
    } finally {
      this.#isReadingOlder = false;
    }
  }

  /** What there was no room for. */
  load(id: string): void {
    this.#follow(id);
  }

  async send(text: string): Promise<void> {
    const { message_id } = await call("agent.send_message", { session_id: this.#id, message: text });
    const { messages, hasOlder } = this.state.get().transcript ?? { messages: [], hasOlder: false };
    const isKnown = messages.some(({ id }) => id === message_id);
    const sent = newMessage(message_id, text, new Date().toISOString());
    if (!isKnown) this.#set({ transcript: { messages: [...messages, sent], hasOlder } });
    this.#follow(message_id);
  }

  async stop(): Promise<void> {
    const running = this.state.get().transcript?.messages.findLast(({ isOver }) => !isOver);
    if (running === undefined || this.state.get().stopping === running.id) return;
    this.#set({ stopping: running.id });
    try {
      await call("agent.stop", { session_id: this.#id, message_id: running.id });
    } finally {
      this.#set({ stopping: null });
    }
  }

  #follow(id: string): void {
    const message = this.state.get().transcript?.messages.find((one) => one.id === id);
    if (message === undefined || this.#followed.has(id)) return;
    this.#followed.add(id);
    const [session, name] = [this.#id, id].map(encodeURIComponent) as [string, string];
    follow(
      `/api/sessions/${session}/messages/${name}/events`,
      (event) => this.#hear(id, event),
      this.#over.signal,
      message.seq === 0 ? "" : String(message.seq),
    )
      // What it was refused for, the next look at the messages tells.
      .catch(() => undefined)
      .finally(() => this.#followed.delete(id));
  }

  #hear(id: string, { event, data }: SseEvent): void {
    if (event === "update") {
      const numbered = JSON.parse(data) as Numbered;
      this.#heard.push([id, (message) => withUpdate(message, numbered)]);
    } else if (event === "done") {
      const done = JSON.parse(data) as Done;
      this.#heard.push([id, (message) => withEnd(message, done)]);
    }
    this.#timer ??= setTimeout(() => this.#take(), TOGETHER_MS);
  }

  #take(): void {
    this.#timer = undefined;
    const [heard, { transcript }] = [this.#heard, this.state.get()];
    this.#heard = [];
    if (transcript === null || heard.length === 0) return;
    const after = heard.reduce((so, [id, change]) => withMessage(so, id, change), transcript);
    this.#set({ transcript: after });
  }

  #set(change: Partial<TalkState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}
