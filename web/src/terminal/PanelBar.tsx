/** The line above a screen: what runs there, who is beside it, and what can be done. */
import type { JSX } from "react";
import { useT, type Key, type T } from "../i18n";
import { Button, IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import type { LinkState, Phase } from "./link";
import { changeFontSize, look, toggleScreenReader } from "./look";
import type { Panel } from "./panel";

const words: Record<Phase["kind"], Key> = {
  idle: "panel.connecting",
  connecting: "panel.connecting",
  live: "panel.live",
  waiting: "panel.waiting",
  gaveUp: "panel.gaveUp",
  missing: "panel.missing",
  forbidden: "panel.forbidden",
  loggedOut: "panel.loggedOut",
  ended: "panel.ended",
  stopped: "panel.stopped",
};

const dots: Partial<Record<Phase["kind"], string>> = {
  live: "good",
  gaveUp: "bad",
  forbidden: "bad",
  ended: "",
};

export function PanelBar({ panel }: { panel: Panel }): JSX.Element {
  const t = useT();
  const state = useStore(panel.link.state);
  const { mode } = useStore(panel.state);
  const { screenReader } = useStore(look);
  const { phase, title, workingDir } = state;
  const status = t(words[phase.kind]);
  return (
    <div className="panel-bar" role="toolbar" aria-label={t("panel.tools")}>
      <span className={`dot ${dots[phase.kind] ?? "warn"}`} title={status} aria-hidden="true" />
      <span className="sr-only" role="status">
        {status}
      </span>
      <span className="panel-title" title={workingDir}>
        {title === "" ? workingDir : title}
      </span>
      <Presence state={state} t={t} />
      {mayTakeOver(state, mode) && (
        <Button kind="quiet" icon="hand" onClick={() => panel.link.claim()}>
          {t("panel.takeOver")}
        </Button>
      )}
      {state.mayType && (
        <IconButton
          icon="eye"
          label={t(mode === "view" ? "panel.type" : "panel.watch")}
          aria-pressed={mode === "view"}
          onClick={() => panel.setMode(mode === "view" ? "drive" : "view")}
        />
      )}
      <IconButton
        icon="reader"
        label={t("panel.reader")}
        aria-pressed={screenReader}
        className="wide-only"
        onClick={toggleScreenReader}
      />
      <IconButton icon="search" label={t("panel.find")} onClick={() => panel.search(true)} />
      <button
        type="button"
        className="icon-button letter small"
        aria-label={t("panel.smaller")}
        title={t("panel.smaller")}
        onClick={() => changeFontSize(-1)}
      >
        A
      </button>
      <button
        type="button"
        className="icon-button letter"
        aria-label={t("panel.larger")}
        title={t("panel.larger")}
        onClick={() => changeFontSize(1)}
      >
        A
      </button>
    </div>
  );
}

/** Another's window decides the size, and mine may. */
function mayTakeOver(
  { phase, presence, you, mayType, sizePolicy }: LinkState,
  mode: "drive" | "view",
): boolean {
  if (phase.kind !== "live" || !mayType || mode === "view" || sizePolicy !== "driver") return false;
  return presence.some((one) => one.driver && one.id !== you);
}

function Presence({ state, t }: { state: LinkState; t: T }): JSX.Element | null {
  const { presence, you, phase } = state;
  if (phase.kind !== "live" || presence.length < 2) return null;
  const names = presence.map((one) => {
    const name = one.id === you ? t("panel.you") : one.name;
    if (one.driver) return t("panel.drives", { name });
    return one.drives ? name : t("panel.watches", { name });
  });
  return (
    <span className="presence" title={names.join("\n")} aria-label={names.join(", ")} role="img">
      {presence.map((one) => (
        <span key={one.id} className={one.driver ? "person driver" : "person"} aria-hidden="true">
          {(one.id === you ? t("panel.you") : one.name.replace(/^web-/, "")).slice(0, 3)}
        </span>
      ))}
    </span>
  );
}
