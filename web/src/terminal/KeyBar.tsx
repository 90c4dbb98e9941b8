/** Keys that a phone's keyboard lacks. Shown where fingers point. */
import { useState, type JSX } from "react";
import { useT } from "../i18n";
import type { Panel } from "./panel";

const keys: { label: string; name: string; data: string }[] = [
  { label: "esc", name: "Escape", data: "\x1b" },
  { label: "tab", name: "Tab", data: "\t" },
  { label: "^C", name: "Control C", data: "\x03" },
  { label: "^D", name: "Control D", data: "\x04" },
  { label: "←", name: "Left", data: "D" },
  { label: "↓", name: "Down", data: "B" },
  { label: "↑", name: "Up", data: "A" },
  { label: "→", name: "Right", data: "C" },
  { label: "|", name: "Pipe", data: "|" },
  { label: "/", name: "Slash", data: "/" },
  { label: "-", name: "Dash", data: "-" },
];

export function KeyBar({ panel }: { panel: Panel }): JSX.Element | null {
  const t = useT();
  const [touch] = useState(() => window.matchMedia("(pointer: coarse)").matches);
  if (!touch) return null;
  const press = (data: string) => {
    const isArrow = /^[A-D]$/.test(data);
    const lead = panel.screen.terminal.modes.applicationCursorKeysMode ? "\x1bO" : "\x1b[";
    panel.link.type(new TextEncoder().encode(isArrow ? lead + data : data));
    panel.focus();
  };
  return (
    <div className="key-bar" role="toolbar" aria-label={t("panel.keys")}>
      {keys.map(({ label, name, data }) => (
        // The keyboard stays up: what is pressed does not take the focus.
        <button
          key={name}
          type="button"
          aria-label={name}
          onPointerDown={(e) => e.preventDefault()}
          onClick={() => press(data)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
