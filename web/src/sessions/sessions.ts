/** The sessions there are, and the last command of each: read again when something happens to one. */
import { call, told } from "../api/http";
import { feed } from "../api/feed";
import type { ExecutionInfo, SessionInfo, SessionState } from "../api/types";
import { createStore, type Store } from "../ui/store";

/** Many things happen at once; they are looked at together. */
const TOGETHER_MS = 80;

export interface Listed {
  session: SessionInfo;
  last: ExecutionInfo | undefined;
}

export interface SessionsState {
  listed: readonly Listed[];
  isKnown: boolean;
  failure: string | null;
}

/** Nothing runs there: it is known from its record. */
export function isOver(state: SessionState): boolean {
  return state === "terminated" || canOpen(state);
}

/** It can go on where it was left; `uninitialized` is one whose daemon was killed. */
export function canOpen(state: SessionState): boolean {
  return state === "closed" || state === "uninitialized";
}

/** Live ones first, and the one that was busy last first among them. Pure. */
export function arrange(sessions: readonly SessionInfo[], executions: readonly ExecutionInfo[]): Listed[] {
  const last = new Map<string, ExecutionInfo>();
  for (const execution of executions) {
    const { session_id, created_at } = execution;
    // One on a terminal has no session.
    if (session_id == null) continue;
    const before = last.get(session_id);
    if (before === undefined || before.created_at <= created_at) last.set(session_id, execution);
  }
  return sessions
    .map((session) => ({ session, last: last.get(session.session_id) }))
    .sort(
      (a, b) =>
        Number(isOver(a.session.state)) - Number(isOver(b.session.state)) ||
        b.session.last_activity.localeCompare(a.session.last_activity),
    );
}

class Sessions {
  readonly state: Store<SessionsState> = createStore<SessionsState>({
    listed: [],
    isKnown: false,
    failure: null,
  });
  #timer: ReturnType<typeof setTimeout> | undefined;

  follow(): () => void {
    const stop = feed.listen(() => this.#soon());
    void this.refresh();
    return () => {
      stop();
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  async refresh(): Promise<void> {
    try {
      const [{ sessions }, { executions }] = await Promise.all([
        call("session.list", {}),
        call("exec.list", {}),
      ]);
      this.state.set({ listed: arrange(sessions, executions), isKnown: true, failure: null });
    } catch (error) {
      this.state.set({ ...this.state.get(), failure: told(error) });
    }
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, TOGETHER_MS);
  }
}

export const sessions = new Sessions();
