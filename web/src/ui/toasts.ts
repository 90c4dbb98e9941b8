/** Short messages at the edge of the page, some with one thing to do. */
import { createStore } from "./store";

export interface Toast {
  id: number;
  text: string;
  kind: "info" | "error";
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 5_000;
let last = 0;

export const toasts = createStore<readonly Toast[]>([]);

export function toast(
  text: string,
  more: Partial<Pick<Toast, "kind" | "action">> = {},
  ms = SHOWN_MS,
): number {
  const id = ++last;
  toasts.set([...toasts.get(), { id, text, kind: "info", ...more }]);
  setTimeout(() => dismiss(id), ms);
  return id;
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((shown) => shown.id !== id));
}
