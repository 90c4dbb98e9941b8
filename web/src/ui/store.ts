/** A value that components follow. */
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get: () => T;
  set: (next: T) => void;
  /** Calls back after each change, until told to stop. */
  subscribe: (listener: () => void) => () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** A store that outlives the page: what cannot be read back, or is not what it should be, is the default. */
export function createKeptStore<T>(
  area: Storage,
  key: string,
  fallback: T,
  check: (found: unknown) => found is T,
): Store<T> {
  const store = createStore(read(area, key, check) ?? fallback);
  store.subscribe(() => {
    try {
      area.setItem(key, JSON.stringify(store.get()));
    } catch {
      // No room, or not allowed: it lasts as long as the page.
    }
  });
  return store;
}

function read<T>(area: Storage, key: string, check: (found: unknown) => found is T): T | undefined {
  try {
    const text = area.getItem(key);
    const found: unknown = text === null ? undefined : JSON.parse(text);
    return check(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
