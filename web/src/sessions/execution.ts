/** One command as it is shown: what is known of it, and its output as far as it came. Pure. */
import { bytesOf, decode } from "../api/text";
import type {
  Encoding,
  ExecutionInfo,
  ExecutionStatus,
  Outcome,
  Range,
  Refusal,
  RunResult,
} from "../api/types";

export type StreamName = "stdout" | "stderr";

export type Segment =
  | { kind: "text"; stream: StreamName; text: string }
  /** Bytes that are not shown, and where they stand. */
  | { kind: "gap"; stream: StreamName; range: Range };

export interface ExecutionView {
  info: ExecutionInfo;
  segments: readonly Segment[];
  outcome: Outcome | null;
  /** Why it was not run after all. */
  refusal: Refusal | null;
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
  return { info, segments: [], outcome: null, refusal: null, isLoaded: false };
}

/** Whether something may still come of it. */
export function isUnderWay(view: ExecutionView): boolean {
  const over: readonly ExecutionStatus[] = ["done", "unknown"];
  return view.refusal === null && !over.includes(view.info.status);
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

/** A rule or a person said no. */
export function withRefusal(view: ExecutionView, refusal: Refusal): ExecutionView {
  return { ...view, refusal };
}

/** From a result with its text: stdout, then stderr, each with the place of what is not shown. */
export function withResult(view: ExecutionView, result: RunResult): ExecutionView {
  const segments = (["stdout", "stderr"] as const).flatMap((stream) => {
    const bytes = bytesOf(result[stream], result[`${stream}_encoding`]);
    return parts(stream, bytes, result.omitted?.[stream] ?? null);
  });
  return { ...withOutcome(view, result), segments, isLoaded: true };
}

/** Of a stream that is too long, so much is shown of its head, and of its tail. */
const MOST_OF_AN_END = MOST_SHOWN / 4;

/**
 * What a result has of a stream is its head and its tail; at `omitted.from` is what was left out. If it is still too much
 * for a page, the gap grows both ways.
 */
function parts(stream: StreamName, bytes: Uint8Array, omitted: Range | null): Segment[] {
  const text = (from: number, to: number): Segment[] =>
    from >= to ? [] : [{ kind: "text", stream, text: new TextDecoder().decode(bytes.subarray(from, to)) }];
  if (omitted === null && bytes.length <= MOST_SHOWN) return text(0, bytes.length);
  const middle = omitted ?? { from: Math.floor(bytes.length / 2), to: Math.floor(bytes.length / 2) };
  const head = lineBefore(bytes, Math.min(middle.from, MOST_OF_AN_END));
  const tail = lineAfter(bytes, Math.max(middle.from, bytes.length - MOST_OF_AN_END));
  const range = { from: head, to: middle.to + tail - middle.from };
  return [...text(0, head), { kind: "gap", stream, range }, ...text(tail, bytes.length)];
}

const NEWLINE = 10;

function lineBefore(bytes: Uint8Array, at: number): number {
  const found = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1);
  return found < 0 ? at : found + 1;
}

function lineAfter(bytes: Uint8Array, at: number): number {
  const found = bytes.indexOf(NEWLINE, at);
  return found < 0 || found + 1 >= bytes.length ? at : found + 1;
}

/**
 * The newest state of every command, in the order they were asked for; what is known of their output stays. The daemon
 * forgets what was refused: that is shown for as long as somebody looks.
 */
export function merged(views: readonly ExecutionView[], infos: readonly ExecutionInfo[]): ExecutionView[] {
  const known = new Map(views.map((view) => [view.info.execution_id, view]));
  const listed = infos.map((info) => {
    const view = known.get(info.execution_id);
    known.delete(info.execution_id);
    return view === undefined
      ? viewOf(info)
      : { ...view, info: { ...info, exit_code: info.exit_code ?? view.info.exit_code } };
  });
  const refused = [...known.values()].filter((view) => view.refusal !== null);
  return [...listed, ...refused].sort((a, b) => a.info.created_at.localeCompare(b.info.created_at));
}
