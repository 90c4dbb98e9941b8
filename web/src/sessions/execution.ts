/** One command as it is shown: what is known of it, and its output as far as it came. Pure. */
import { decode } from "../api/text";
import type { Encoding, ExecutionInfo, Outcome, Range, RunResult } from "../api/types";

export type StreamName = "stdout" | "stderr";

export type Segment =
  | { kind: "text"; stream: StreamName; text: string }
  /** Bytes that are not shown, and where they stand. */
  | { kind: "gap"; stream: StreamName; range: Range };

export interface ExecutionView {
  info: ExecutionInfo;
  segments: readonly Segment[];
  outcome: Outcome | null;
  /** Whether its output was asked for. */
  isLoaded: boolean;
}

/** More text than this makes the page slow; older text is not shown. */
export const MOST_SHOWN = 200_000;

export interface Pushed {
  stream: StreamName;
  offset: number;
  data: string;
  encoding: Encoding;
  gap?: Range | null;
}

export function viewOf(info: ExecutionInfo): ExecutionView {
  return { info, segments: [], outcome: null, isLoaded: false };
}

export function withOutput(
  view: ExecutionView,
  { stream, offset, data, encoding, gap }: Pushed,
): ExecutionView {
  let segments = view.segments;
  if (gap) segments = [...segments, { kind: "gap", stream, range: gap }];
  return {
    ...view,
    isLoaded: true,
    segments: trimmed(append(segments, stream, decode(data, encoding)), stream, offset),
  };
}

function append(segments: readonly Segment[], stream: StreamName, text: string): readonly Segment[] {
  if (text === "") return segments;
  const last = segments.at(-1);
  if (last?.kind === "text" && last.stream === stream) {
    return [...segments.slice(0, -1), { ...last, text: last.text + text }];
  }
  return [...segments, { kind: "text", stream, text }];
}

function trimmed(segments: readonly Segment[], stream: StreamName, upTo: number): readonly Segment[] {
  let length = segments.reduce((sum, one) => sum + (one.kind === "text" ? one.text.length : 0), 0);
  if (length <= MOST_SHOWN) return segments;
  const kept = [...segments];
  while (length > MOST_SHOWN && kept.length > 1) {
    const first = kept.shift();
    if (first?.kind === "text") length -= first.text.length;
  }
  const [first] = kept;
  if (first?.kind === "text" && length > MOST_SHOWN)
    kept[0] = { ...first, text: first.text.slice(-MOST_SHOWN) };
  return [{ kind: "gap", stream, range: { from: 0, to: upTo } }, ...kept];
}

export function withOutcome(view: ExecutionView, outcome: Outcome): ExecutionView {
  return { ...view, outcome, info: { ...view.info, status: "done", exit_code: outcome.exit_code } };
}

/** From a result with its text: stdout, then stderr, each with the place of what was left out. */
export function withResult(view: ExecutionView, result: RunResult): ExecutionView {
  const segments = (["stdout", "stderr"] as const).flatMap((stream) => {
    const text = decode(result[stream], result[`${stream}_encoding`]);
    const omitted = result.omitted?.[stream];
    return parts(stream, text, omitted ?? null);
  });
  return { ...withOutcome(view, result), segments, isLoaded: true };
}

/** The text has its head and its tail; between them, at `from` bytes, is what was left out. */
function parts(stream: StreamName, text: string, omitted: Range | null): Segment[] {
  if (omitted === null) return text === "" ? [] : [{ kind: "text", stream, text }];
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const head = decoder.decode(bytes.subarray(0, omitted.from));
  const tail = decoder.decode(bytes.subarray(omitted.from));
  const shown = (part: string, from: "head" | "tail"): Segment[] =>
    part === ""
      ? []
      : [
          {
            kind: "text",
            stream,
            text: from === "head" ? part.slice(0, MOST_SHOWN / 4) : part.slice(-MOST_SHOWN / 4),
          },
        ];
  return [...shown(head, "head"), { kind: "gap", stream, range: omitted }, ...shown(tail, "tail")];
}

/** The newest state of every command, in the order they were asked for; what is known of their output stays. */
export function merged(views: readonly ExecutionView[], infos: readonly ExecutionInfo[]): ExecutionView[] {
  const known = new Map(views.map((view) => [view.info.execution_id, view]));
  return [...infos]
    .sort((a, b) => a.created_at.localeCompare(b.created_at))
    .map((info) => {
      const view = known.get(info.execution_id);
      return view === undefined
        ? viewOf(info)
        : { ...view, info: { ...info, exit_code: info.exit_code ?? view.info.exit_code } };
    });
}
