import type { TabNode } from "flexlayout-react";
import { useCallback, useSyncExternalStore, type JSX } from "react";
import { findPanel } from "../terminal/panels";
import { oneLine } from "../ui/plain";
import { configOf } from "./layout";
import { terminals } from "./terminals";

/** The last part of a path. */
const last = (path: string) => path.split("/").filter(Boolean).at(-1) ?? path;

/** The tabs' own library draws it, too. */
export function titleOf(tab: string, terminalId: string | null, otherwise: string): string {
  const state = findPanel(tab)?.link.state.get();
  const info = terminals.state.get().list.find((one) => one.terminal_id === terminalId);
  const title = state?.title ?? info?.title ?? "";
  const dir = state?.workingDir ?? info?.working_dir ?? "";
  return oneLine([info?.name ?? "", title, last(dir)].find((name) => name !== "") ?? otherwise);
}

/** What a tab is called: by whoever made the terminal, else by its program, else by where it is. */
export function TabName({ tab }: { tab: TabNode }): JSX.Element {
  const name = useTitle(tab);
  return <span className="tab-name">{name}</span>;
}

function useTitle(tab: TabNode): string {
  const subscribe = useCallback(
    (changed: () => void) => {
      const stops = [terminals.state.subscribe(changed)];
      const panel = findPanel(tab.getId());
      if (panel !== undefined) stops.push(panel.link.state.subscribe(changed));
      return () => stops.forEach((stop) => stop());
    },
    [tab],
  );
  return useSyncExternalStore(subscribe, () => titleOf(tab.getId(), configOf(tab).terminalId, tab.getName()));
}
