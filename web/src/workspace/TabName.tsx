import type { TabNode } from "flexlayout-react";
import { useCallback, useSyncExternalStore, type JSX } from "react";
import { findPanel } from "../terminal/panels";
import { configOf } from "./layout";
import { terminals } from "./terminals";

const last = (path: string) => path.split("/").filter(Boolean).at(-1) ?? path;

/** What a tab is called: by the person, else by its program, else by where it is. */
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
  return useSyncExternalStore(subscribe, () => {
    const state = findPanel(tab.getId())?.link.state.get();
    const { terminalId } = configOf(tab);
    const info = terminals.state.get().list.find((one) => one.terminal_id === terminalId);
    const named = info?.name ?? "";
    const title = state?.title ?? info?.title ?? "";
    const dir = state?.workingDir ?? info?.working_dir ?? "";
    return named || title || last(dir) || tab.getName();
  });
}
