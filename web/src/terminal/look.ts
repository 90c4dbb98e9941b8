/** How terminals look: the person's choices, and the colours of each theme. */
import type { ITheme } from "@xterm/xterm";
import { createKeptStore } from "../ui/store";

export interface Look {
  fontSize: number;
  /** xterm.js keeps a text of its screen beside it, for screen readers. */
  screenReader: boolean;
}

export const FONT_SIZES = { least: 8, usual: 13, most: 28 } as const;

function isLook(found: unknown): found is Look {
  const look = found as Partial<Look> | null | undefined;
  return typeof look?.fontSize === "number" && typeof look.screenReader === "boolean";
}

export const look = createKeptStore<Look>(
  localStorage,
  "trl.terminal.look",
  { fontSize: FONT_SIZES.usual, screenReader: false },
  isLook,
);

export function changeFontSize(by: number): void {
  const wanted = by === 0 ? FONT_SIZES.usual : look.get().fontSize + by;
  const fontSize = Math.max(FONT_SIZES.least, Math.min(FONT_SIZES.most, wanted));
  look.set({ ...look.get(), fontSize });
}

export function toggleScreenReader(): void {
  const now = look.get();
  look.set({ ...now, screenReader: !now.screenReader });
}

export const FONT_FAMILY =
  'ui-monospace, "Cascadia Mono", "JetBrains Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace';

export const colours: Record<"light" | "dark", ITheme> = {
  dark: {
    background: "#101216",
    foreground: "#dfe2e7",
    cursor: "#8da4ff",
    cursorAccent: "#101216",
    selectionBackground: "#3a4a7a",
    black: "#23272e",
    red: "#f2777a",
    green: "#8ccf7e",
    yellow: "#e5c76b",
    blue: "#7aa2f7",
    magenta: "#c792ea",
    cyan: "#6fd0d6",
    white: "#c9cdd4",
    brightBlack: "#6b727d",
    brightRed: "#ff9a9c",
    brightGreen: "#a8e39b",
    brightYellow: "#f3db8e",
    brightBlue: "#9dbcff",
    brightMagenta: "#dcb3f7",
    brightCyan: "#93e6ea",
    brightWhite: "#ffffff",
  },
  light: {
    background: "#ffffff",
    foreground: "#1f2328",
    cursor: "#3e63dd",
    cursorAccent: "#ffffff",
    selectionBackground: "#c8d5ff",
    black: "#1f2328",
    red: "#c1272d",
    green: "#1a7f37",
    yellow: "#8a5a00",
    blue: "#0b57d0",
    magenta: "#8a3ffc",
    cyan: "#0b7285",
    white: "#6e7781",
    brightBlack: "#57606a",
    brightRed: "#a40e26",
    brightGreen: "#116329",
    brightYellow: "#633c01",
    brightBlue: "#0842a0",
    brightMagenta: "#6929c4",
    brightCyan: "#095c6b",
    brightWhite: "#24292f",
  },
};
