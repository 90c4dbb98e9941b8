/**
 * Text that others chose (agents, programs, files) as it may be shown: characters that are not seen, or not as what they are,
 * are written out as their numbers. Which those are is the daemon's table (`invisible.ts`), and so is the way to write them.
 *
 * Elements need none of this: `jsx-runtime.ts` does it for every text and title in the page. It is for what is shown
 * by other means: notifications, names of tabs, dialogs of the browser.
 */
import { INVISIBLE, SYMBOLS } from "./invisible";

const range = ([first, last]: readonly [number, number]) =>
  `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`;
const invisible = new RegExp(`[${INVISIBLE.map(range).join("")}]`, "gu");
const joined = new RegExp(`(?<=[${SYMBOLS.map(range).join("")}])[\\u{fe0f}\\u{200d}]+`, "gu");

const escape = (one: string) =>
  `\u27e8U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;

/** On one line. */
export function oneLine(text: string): string {
  return text.replace(invisible, escape);
}

/** With its line breaks and tabs. */
export function plain(text: string): string {
  return text.replace(invisible, (one) => (one === "\n" || one === "\t" ? one : escape(one)));
}

/** Text that is read and not decided on: what says after a symbol how it is drawn stays, as in most emoji. */
export function passage(text: string): string {
  let [shown, at] = ["", 0];
  for (const { index, 0: kept } of text.matchAll(joined)) {
    shown += plain(text.slice(at, index)) + kept;
    at = index + kept.length;
  }
  return shown + plain(text.slice(at));
}
