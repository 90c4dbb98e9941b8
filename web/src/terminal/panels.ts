/** All panels of this page, by the tab they belong to. They stay when their tab is not drawn. */
import { visit } from "../auth/token";
import { Panel } from "./panel";

const panels = new Map<string, Panel>();

/** The tab's panel, made when it is first asked for. */
export function panelOf(tab: string, make: () => Panel): Panel {
  const found = panels.get(tab);
  if (found !== undefined) return found;
  const made = make();
  panels.set(tab, made);
  return made;
}

export function findPanel(tab: string): Panel | undefined {
  return panels.get(tab);
}

export function dropPanel(tab: string): void {
  panels.get(tab)?.dispose();
  panels.delete(tab);
}

const wake = () => {
  if (document.hidden) return;
  for (const panel of panels.values()) panel.link.wake();
};
window.addEventListener("online", wake);
// A live one asks for an answer then, and does not wait for ever for it.
window.addEventListener("offline", wake);
document.addEventListener("visibilitychange", wake);

visit.subscribe(() => {
  if (visit.get().kind === "in") for (const panel of panels.values()) panel.link.retry();
});
