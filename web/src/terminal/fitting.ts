/** Which keys are the panel's, and how large its letters are. Pure. */
import type { Size } from "./link";

/** Smaller letters are grey lines; then it scrolls. */
const LEAST_FONT = 5;

/** The chosen size of letters, or the largest smaller one in which `size` fits into what has room for `room`. Pure. */
export function fittingFont(chosen: number, size: Size, room: Size): number {
  const scale = Math.min(1, room.cols / size.cols, room.rows / size.rows);
  if (scale === 1) return chosen;
  return Math.max(LEAST_FONT, Math.floor(chosen * scale * 2) / 2);
}

/** What a key means to the panel rather than to the program. */
export type Chord = "copy" | "paste" | "find" | "larger" | "smaller" | "usual" | "leave";

export function chordOf(event: KeyboardEvent, hasSelection: boolean): Chord | null {
  const { ctrlKey, metaKey, shiftKey, altKey } = event;
  if (altKey) return null;
  const key = event.key.toLowerCase();
  if (ctrlKey && event.key === "F6") return "leave";
  const command = ctrlKey || metaKey;
  if (command && shiftKey && key === "c") return "copy";
  if (command && shiftKey && key === "v") return "paste";
  if (command && shiftKey && key === "f") return "find";
  // As everywhere else, when there is something to copy.
  if (ctrlKey && !shiftKey && key === "c" && hasSelection) return "copy";
  if (command && (key === "=" || key === "+")) return "larger";
  if (command && !shiftKey && key === "-") return "smaller";
  if (command && key === "0") return "usual";
  return null;
}
