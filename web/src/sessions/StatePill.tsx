import type { JSX } from "react";
import type { SessionState } from "../api/types";
import { useT, type Key } from "../i18n";

const words: Record<SessionState, Key> = {
  creating: "state.creating",
  ready: "state.ready",
  running: "state.running",
  idle: "state.idle",
  closed: "state.closed",
  terminated: "state.terminated",
};

const dots: Partial<Record<SessionState, string>> = {
  ready: "good",
  idle: "good",
  running: "busy",
  creating: "warn",
};

export function StatePill({ state }: { state: SessionState }): JSX.Element {
  const t = useT();
  return (
    <span className="pill">
      <span className={`dot ${dots[state] ?? ""}`} aria-hidden="true" />
      {t(words[state])}
    </span>
  );
}
