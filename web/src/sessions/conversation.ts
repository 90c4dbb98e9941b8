/**
 * One session and its commands, followed while somebody looks.
 *
 *  1. Whatever happens to the session, its state and its list of commands are read again.
 *  2. A command that runs is followed by its event stream; one that is over is read once.
 */
import { call, told } from "../api/http";
import { feed } from "../api/feed";
import { follow } from "../api/sse";
import type { Outcome, RefusedPush, SessionInfo } from "../api/types";
import { createStore, type Store } from "../ui/store";
import {
  merged,
  withOutcome,
  withOutput,
  withRefusal,
  withResult,
  type ExecutionView,
  type Pushed,
} from "./execution";

/** Commands whose output is read without being asked for: the newest. */
const READ_AT_ONCE = 12;

export interface ConversationState {
  session: SessionInfo | null;
  executions: readonly ExecutionView[];
  failure: string | null;
}

export class Conversation {
  readonly state: Store<ConversationState> = createStore<ConversationState>({
    session: null,
    executions: [],
    failure: null,
  });
  readonly #id: string;
  #over = new AbortController();
  readonly #followed = new Set<string>();

  constructor(id: string) {
    this.#id = id;
  }

  start(): () => void {
    this.#over = new AbortController();
    const stop = feed.listen((event) => {
      const concerns = event === null || ("session_id" in event && event.session_id === this.#id);
      if (concerns) void this.refresh();
    });
    void this.refresh();
    return () => {
      stop();
      this.#over.abort();
      this.#followed.clear();
    };
  }

  async refresh(): Promise<void> {
    try {
      const [session, { executions: infos }] = await Promise.all([
        call("session.info", { session_id: this.#id }),
        call("exec.list", { session_id: this.#id }),
      ]);
      const executions = merged(this.state.get().executions, infos);
      this.state.set({ session, executions, failure: null });
      for (const { info } of executions.slice(-READ_AT_ONCE)) this.load(info.execution_id);
    } catch (error) {
      this.state.set({ ...this.state.get(), failure: told(error) });
    }
  }

  async run(command: string): Promise<void> {
    await call("exec.stream", { session_id: this.#id, command });
    await this.refresh();
  }

  /** Follows or reads a command's output, once. */
  load(id: string): void {
    const view = this.#find(id);
    if (view === undefined || this.#followed.has(id)) return;
    // Nothing is kept of these.
    if (view.refusal !== null || view.info.status === "unknown") return;
    this.#followed.add(id);
    const reading = view.info.status === "done" ? this.#read(id) : this.#follow(id);
    reading.catch(() => this.#followed.delete(id));
  }

  async #follow(id: string): Promise<void> {
    await follow(
      `/api/executions/${encodeURIComponent(id)}/events`,
      ({ event, data }) => {
        if (event === "output") this.#change(id, (view) => withOutput(view, JSON.parse(data) as Pushed));
        if (event === "exit") this.#change(id, (view) => withOutcome(view, JSON.parse(data) as Outcome));
        if (event === "refused")
          this.#change(id, (view) => withRefusal(view, (JSON.parse(data) as RefusedPush).error));
      },
      this.#over.signal,
    );
  }

  async #read(id: string): Promise<void> {
    const result = await call("exec.result", { execution_id: id }, this.#over.signal);
    if ("stdout" in result) this.#change(id, (view) => withResult(view, result));
  }

  #find(id: string): ExecutionView | undefined {
    return this.state.get().executions.find((view) => view.info.execution_id === id);
  }

  #change(id: string, change: (view: ExecutionView) => ExecutionView): void {
    const now = this.state.get();
    const executions = now.executions.map((view) => (view.info.execution_id === id ? change(view) : view));
    this.state.set({ ...now, executions });
  }
}
