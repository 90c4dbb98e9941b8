import type { JSX } from "react";
import type { SessionState } from "../api/types";
import { useT, type Key } from "../i18n";

const words: Record<SessionState, Key> = {
  uninitialized: "state.uninitialized",
  waiting_hitl: "state.waiting",
  creating: "state.creating",
  ready: "state.ready",
  running: "state.running",
  idle: "state.idle",
  closed: "state.closed",
  terminated: "state.terminated",
};

const dots: Partial<Record<string, string>> = {
  waiting_hitl: "warn",
  ready: "good",
  idle: "good",
  running: "busy",
  creating: "warn",
  uninitialized: "bad",
};

export function StatePill({ state }: { state: SessionState }): JSX.Element {
  const t = useT();
  // A newer daemon may know states that this page does not.
  const word = (words as Partial<Record<string, Key>>)[state];
  return (
    <span className="pill">
      <span className={`dot ${dots[state] ?? ""}`} aria-hidden="true" />
      {word === undefined ? state : t(word)}
    </span>
  );
}
