/** Times as people say them. */
import { useEffect, useState } from "react";
import type { T } from "../i18n";

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(t: T, then: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(then)) / 1000);
  if (seconds < 5) return t("time.now");
  if (seconds < 60) return t("time.seconds", { n: Math.floor(seconds) });
  if (seconds < 3600) return t("time.minutes", { n: Math.floor(seconds / 60) });
  if (seconds < 86_400) return t("time.hours", { n: Math.floor(seconds / 3600) });
  return t("time.days", { n: Math.floor(seconds / 86_400) });
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1] ?? ""}`;
}

/** The time of day, looked at now and then. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
