/** Light or dark: as the system is, or as the person said. */
import { createKeptStore, createStore, type Store } from "./store";

export type Choice = "system" | "light" | "dark";
export type Shown = "light" | "dark";

function isChoice(found: unknown): found is Choice {
  return found === "system" || found === "light" || found === "dark";
}

export const choice = createKeptStore<Choice>(localStorage, "trl.theme", "system", isChoice);

const system = window.matchMedia("(prefers-color-scheme: dark)");

function decide(): Shown {
  const chosen = choice.get();
  if (chosen !== "system") return chosen;
  return system.matches ? "dark" : "light";
}

export const theme: Store<{ shown: Shown }> = createStore({ shown: decide() });

/** Keeps the page's colours with the choice. */
export function startTheme(): void {
  const follow = () => {
    const shown = decide();
    document.documentElement.dataset["theme"] = shown;
    if (shown !== theme.get().shown) theme.set({ shown });
  };
  choice.subscribe(follow);
  system.addEventListener("change", follow);
  follow();
}
