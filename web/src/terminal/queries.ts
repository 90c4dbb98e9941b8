/**
 * Questions of programs to their terminal. The daemon answers them, with or without anybody watching; a second answer
 * would be typed at the program. So xterm.js is not shown them: whoever watches types nothing.
 */
import type { IDisposable, Terminal } from "@xterm/xterm";

/** Whether a colour sequence asks (`10;?`) in place of setting. */
export function asksColour(data: string): boolean {
  return data.split(";").includes("?");
}

export function isFocusReport(data: string): boolean {
  return data === "\x1b[I" || data === "\x1b[O";
}

/** Focus reporting: turning it on makes xterm.js report at once. */
const FOCUS_REPORTS = 1004;

export interface Questions extends IDisposable {
  /** Whether what xterm.js wants to send now is an answer, and nobody typed it. */
  isAnswer(data: string): boolean;
}

export function swallowQuestions(terminal: Terminal): Questions {
  const parser = terminal.parser;
  const always = () => true;
  let quiet = false;
  const hooks = [
    // Device attributes, status, modes, version, keyboard protocol.
    parser.registerCsiHandler({ final: "c" }, always),
    parser.registerCsiHandler({ prefix: ">", final: "c" }, always),
    parser.registerCsiHandler({ prefix: "=", final: "c" }, always),
    parser.registerCsiHandler({ final: "n" }, always),
    parser.registerCsiHandler({ prefix: "?", final: "n" }, always),
    parser.registerCsiHandler({ intermediates: "$", final: "p" }, always),
    parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, always),
    parser.registerCsiHandler({ prefix: ">", final: "q" }, always),
    parser.registerCsiHandler({ prefix: "?", final: "u" }, always),
    // Window reports. Saving and restoring titles is among them, and needs no answer.
    parser.registerCsiHandler({ final: "t" }, (params) => ![22, 23].includes(Number(params[0] ?? 0))),
    // Settings and capabilities.
    parser.registerDcsHandler({ intermediates: "$", final: "q" }, always),
    parser.registerDcsHandler({ intermediates: "+", final: "q" }, always),
    // Colours; setting them is shown.
    ...[4, 10, 11, 12].map((code) => parser.registerOscHandler(code, asksColour)),
    // The clipboard is the daemon's to allow.
    parser.registerOscHandler(52, always),
    parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => {
      if (params.flat().includes(FOCUS_REPORTS)) {
        // Parsing is done in one go; nobody types before this is over.
        quiet = true;
        queueMicrotask(() => (quiet = false));
      }
      return false;
    }),
  ];
  return {
    isAnswer: (data) => quiet && isFocusReport(data),
    dispose() {
      for (const hook of hooks) hook.dispose();
    },
  };
}
