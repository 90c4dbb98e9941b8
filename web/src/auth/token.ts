/**
 * The token of this visit.
 *
 * It comes by the form, or once behind `#token=` in the address: what stands there is sent to no server. It is kept for
 * this browser tab only, and never stands in an address again.
 */
import { createStore } from "../ui/store";

const KEY = "trl.token";

export type Visit =
  | { kind: "in"; token: string }
  /** `why` is told at the login form. */
  | { kind: "out"; why: "first" | "refused" | "left" };

export const visit = createStore<Visit>({ kind: "out", why: "first" });

/** The token in a fragment, and what is left of the fragment without it. */
export function takeFromFragment(fragment: string): { token: string | null; rest: string } {
  const parts = fragment.replace(/^#/, "").split("&").filter(Boolean);
  const found = parts.find((part) => part.startsWith("token="));
  const rest = parts.filter((part) => !part.startsWith("token=")).join("&");
  const token = found?.slice("token=".length) ?? "";
  return { token: token === "" ? null : token, rest: rest === "" ? "" : `#${rest}` };
}

export function startVisit(): void {
  const { token, rest } = takeFromFragment(location.hash);
  if (token !== null) {
    history.replaceState(null, "", location.pathname + location.search + rest);
    logIn(token);
    return;
  }
  const kept = sessionStorage.getItem(KEY);
  if (kept !== null) visit.set({ kind: "in", token: kept });
}

export function logIn(token: string): void {
  sessionStorage.setItem(KEY, token);
  visit.set({ kind: "in", token });
}

/** Forgets the token. One that was replaced meanwhile stays. */
export function logOut(why: "refused" | "left", token?: string): void {
  const now = visit.get();
  if (now.kind === "out" || (token !== undefined && token !== now.token)) return;
  sessionStorage.removeItem(KEY);
  visit.set({ kind: "out", why });
}
