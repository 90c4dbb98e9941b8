/** A panel on the page: its bar, what there is to say about its terminal, the screen. */
import { useEffect, useRef, type JSX } from "react";
import { useStore } from "../ui/store";
import { KeyBar } from "./KeyBar";
import type { Panel } from "./panel";
import { PanelBar } from "./PanelBar";
import { PanelNotices } from "./PanelNotices";
import { SearchBar } from "./SearchBar";
import "./terminal.css";

export function TerminalPanel({ panel, isActive }: { panel: Panel; isActive: boolean }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const { searching } = useStore(panel.state);
  const { phase } = useStore(panel.link.state);

  useEffect(() => {
    const container = place.current;
    if (container === null) return;
    return panel.show(container, () => bar.current?.querySelector<HTMLElement>("button")?.focus());
  }, [panel]);

  useEffect(() => {
    if (isActive) panel.focus();
  }, [panel, isActive]);

  return (
    <section className="panel" data-phase={phase.kind} data-terminal={panel.terminalId ?? ""}>
      <div ref={bar}>
        <PanelBar panel={panel} />
      </div>
      <PanelNotices panel={panel} />
      <div className="panel-screen">
        <div ref={place} className="panel-place" />
        {searching && <SearchBar panel={panel} />}
      </div>
      <KeyBar panel={panel} />
    </section>
  );
}
