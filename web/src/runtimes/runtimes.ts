/** The places where sessions can live, as they are shown. Pure, but for who asks the daemon. */
import { useEffect, useState } from "react";
import { can, useDaemonInfo } from "../api/daemon";
import { call } from "../api/http";
import type { RuntimeHealth, RuntimeInfo, RuntimeState } from "../api/types";
import type { Key } from "../i18n";

/** Sessions that name no other are there. */
export const HOST = "host";

export const standings: Record<RuntimeState, { label: Key; dot: string }> = {
  idle: { label: "runtimes.idle", dot: "" },
  connecting: { label: "runtimes.connecting", dot: "busy" },
  up: { label: "runtimes.up", dot: "good" },
  waiting: { label: "runtimes.waiting", dot: "bad" },
  draining: { label: "runtimes.draining", dot: "warn" },
};

export function nameOf({ name }: RuntimeInfo): string {
  return name ?? "";
}

/** What answers there; empty when nobody was met, or it is not for us to know. */
export function engineOf({ engine }: RuntimeInfo): string {
  return engine == null ? "" : `trl ${engine.version} · ${engine.host} · ${engine.os} ${engine.arch}`;
}

/** Where a new session can go, when there is a choice. */
export function choicesOf(runtimes: readonly RuntimeInfo[]): string[] {
  const open = runtimes.filter(({ state }) => state !== "draining").map(nameOf);
  return open.some((name) => name !== HOST) ? open : [];
}

/** Links are fast or slow by orders of magnitude. */
export function roundTrip({ round_trip_us }: RuntimeHealth): string {
  if (round_trip_us == null) return "";
  return round_trip_us < 1000 ? `${round_trip_us} µs` : `${(round_trip_us / 1000).toFixed(1)} ms`;
}

/** Asked once, and again as often as told while somebody looks. */
export function useRuntimes(everyMs?: number): readonly RuntimeInfo[] {
  const [runtimes, setRuntimes] = useState<readonly RuntimeInfo[]>([]);
  const isThere = can(useDaemonInfo(), "runtime.list");
  useEffect(() => {
    if (!isThere) return;
    const look = () => {
      if (document.hidden) return;
      // What was known holds until the daemon answers.
      call("runtime.list", {}).then(
        (found) => setRuntimes(found.runtimes),
        () => undefined,
      );
    };
    look();
    if (everyMs === undefined) return;
    const timer = setInterval(look, everyMs);
    return () => clearInterval(timer);
  }, [isThere, everyMs]);
  return runtimes;
}
