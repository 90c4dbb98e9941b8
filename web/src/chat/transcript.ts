/**
 * A conversation with an agent as it is shown: messages, and of each the parts that came of it. Pure.
 *
 * Updates of a message are numbered from 1 without gaps. Each is taken once, in its order: what was heard already is nothing,
 * however often a connection is lost and a page is loaded.
 */
import type {
  AgentMessage,
  AgentStarted,
  AgentStopReason,
  AgentToolCall,
  AgentToolContent,
  AgentUpdate,
  PermissionOption,
  PlanEntry,
  Refusal,
  RequestState,
} from "../api/types";

export interface Tool {
  kind: "tool";
  id: string;
  title: string;
  toolKind: string;
  status: string;
  content: readonly AgentToolContent[];
  locations: readonly { path: string; line?: number | null }[];
  input: unknown;
  output: unknown;
}

export interface Command {
  kind: "command";
  terminalId: string;
  executionId: string;
  command: string;
}

export interface Permission {
  kind: "permission";
  requestId: string;
  title: string;
  options: readonly PermissionOption[];
  /** Null as long as nobody answered. */
  outcome: { state: RequestState; option: string | null } | null;
}

export type Part =
  | { kind: "text" | "thought"; text: string }
  | Tool
  | Command
  | Permission
  | { kind: "plan"; entries: readonly PlanEntry[] }
  | { kind: "file"; op: "read" | "write"; path: string; ok: boolean }
  | { kind: "mode"; name: string }
  | { kind: "other"; name: string; content: unknown }
  | { kind: "omitted"; updates: number };

export interface Message {
  id: string;
  text: string;
  createdAt: string;
  isOver: boolean;
  /** The last update that is in here. */
  seq: number;
  parts: readonly Part[];
  started: AgentStarted | null;
  usage: { used: number; size: number } | null;
  stopReason: AgentStopReason | null;
  error: Refusal | null;
  /** There was no room for its updates; they can be asked for. */
  isCut: boolean;
}

export interface Numbered {
  seq: number;
  update: AgentUpdate;
}

/** The last word on a message. */
export interface Done {
  seq: number;
  stop_reason: AgentStopReason;
  error?: Refusal | null;
}

export function newMessage(id: string, text: string, createdAt: string): Message {
  return {
    id,
    text,
    createdAt,
    isOver: false,
    seq: 0,
    parts: [],
    started: null,
    usage: null,
    stopReason: null,
    error: null,
    isCut: false,
  };
}

/** As the daemon has kept it. */
export function messageOf(kept: AgentMessage): Message {
  const empty = newMessage(kept.message_id, kept.text, kept.created_at);
  const message = (kept.updates as readonly Numbered[]).reduce(withUpdate, empty);
  return {
    ...message,
    isOver: kept.state === "done",
    stopReason: kept.stop_reason ?? null,
    error: kept.error ?? null,
    isCut: kept.cut === true,
  };
}

export function withUpdate(message: Message, { seq, update }: Numbered): Message {
  if (seq <= message.seq) return message;
  return { ...taken(message, update), seq, isCut: false };
}

export function withEnd(message: Message, { stop_reason, error }: Done): Message {
  return { ...message, isOver: true, stopReason: stop_reason, error: error ?? null, isCut: false };
}

function taken(message: Message, update: AgentUpdate): Message {
  const { parts } = message;
  const put = (part: Part): Message => ({ ...message, parts: [...parts, part] });
  switch (update.kind) {
    case "started":
      return { ...message, started: update };
    case "usage":
      return { ...message, usage: { used: update.used, size: update.size } };
    case "text":
    case "thought":
      return { ...message, parts: said(parts, update) };
    case "tool_call":
      return { ...message, parts: withTool(parts, update) };
    case "plan":
      return { ...message, parts: withPlan(parts, update.entries) };
    case "terminal":
      return put({
        kind: "command",
        terminalId: update.terminal_id,
        executionId: update.execution_id,
        command: update.command,
      });
    case "file":
      return put({ kind: "file", op: update.op, path: update.path, ok: update.ok });
    case "permission":
      return put({
        kind: "permission",
        requestId: update.request_id,
        title: update.title,
        options: update.options,
        outcome: null,
      });
    case "permission_resolved":
      return { ...message, parts: withOutcome(parts, update) };
    case "mode":
      return put({ kind: "mode", name: update.mode_id });
    case "other":
      return put({ kind: "other", name: update.name, content: update.content });
    case "omitted":
      return put({ kind: "omitted", updates: update.updates });
    default:
      // What it offers to be told by a slash is for no eyes here; a newer daemon may know more.
      return message;
  }
}

function said(parts: readonly Part[], { kind, text }: { kind: "text" | "thought"; text: string }): Part[] {
  const last = parts.at(-1);
  if (last?.kind !== kind) return [...parts, { kind, text }];
  return [...parts.slice(0, -1), { kind, text: last.text + text }];
}

/** A field that is there replaces the earlier one. */
function withTool(parts: readonly Part[], news: AgentToolCall): Part[] {
  const at = parts.findLastIndex((part) => part.kind === "tool" && part.id === news.tool_call_id);
  const before = at < 0 ? undefined : (parts[at] as Tool);
  const tool: Tool = {
    kind: "tool",
    id: news.tool_call_id,
    title: news.title ?? before?.title ?? "",
    toolKind: news.tool_kind ?? before?.toolKind ?? "other",
    status: news.status ?? before?.status ?? "pending",
    content: news.content ?? before?.content ?? [],
    locations: news.locations ?? before?.locations ?? [],
    input: news.raw_input ?? before?.input ?? null,
    output: news.raw_output ?? before?.output ?? null,
  };
  return at < 0 ? [...parts, tool] : parts.with(at, tool);
}

/** There is one plan, where the first one was. */
function withPlan(parts: readonly Part[], entries: readonly PlanEntry[]): Part[] {
  const at = parts.findIndex((part) => part.kind === "plan");
  return at < 0 ? [...parts, { kind: "plan", entries }] : parts.with(at, { kind: "plan", entries });
}

function withOutcome(
  parts: readonly Part[],
  { request_id, state, option_id }: { request_id: string; state: RequestState; option_id?: string | null },
): Part[] {
  return parts.map((part) =>
    part.kind === "permission" && part.requestId === request_id
      ? { ...part, outcome: { state, option: option_id ?? null } }
      : part,
  );
}

// ---- what is shown of it

/** Its commands by their terminals. */
export function commandsOf(parts: readonly Part[]): ReadonlyMap<string, Command> {
  return new Map(parts.flatMap((part) => (part.kind === "command" ? [[part.terminalId, part]] : [])));
}

/** A command is shown with the tool that runs it; one that no tool speaks of stands for itself. */
export function shownParts(parts: readonly Part[]): readonly Part[] {
  const spoken = new Set(
    parts.flatMap((part) =>
      part.kind === "tool"
        ? part.content.flatMap((one) => (one.type === "terminal" ? [one.terminal_id] : []))
        : [],
    ),
  );
  return parts.filter((part) => part.kind !== "command" || !spoken.has(part.terminalId));
}

/** What it chose, in the agent's own words. */
export function chosen({ outcome, options }: Permission): string | null {
  const option = options.find(({ option_id }) => option_id === outcome?.option);
  return option?.name ?? null;
}

/** Requests and commands that have their place in one of the messages. */
export function placesOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => {
        if (part.kind === "permission") return [part.requestId];
        return part.kind === "command" ? [part.executionId] : [];
      }),
    ),
  );
}

// ---- many of them

export interface Transcript {
  /** Oldest first. */
  messages: readonly Message[];
  hasOlder: boolean;
}

interface Page {
  messages: readonly AgentMessage[];
  more: boolean;
}

/** Of two states of the same message, the one that has come further. */
function further(known: Message | undefined, kept: Message): Message {
  if (known === undefined || kept.seq > known.seq) return kept;
  if (!kept.isOver || known.isOver) return known;
  return { ...known, isOver: true, stopReason: kept.stopReason, error: kept.error };
}

/** With the newest there are now. If more were sent than are read at once, those between are read when they are wanted. */
export function withNewest(known: Transcript | null, { messages, more }: Page): Transcript {
  const newest = messages.map(messageOf);
  const before = known?.messages ?? [];
  const byId = new Map(before.map((message) => [message.id, message]));
  const merged = newest.map((message) => further(byId.get(message.id), message));
  const fresh = new Set(newest.map(({ id }) => id));
  const at = before.findIndex(({ id }) => fresh.has(id));
  const older = at < 0 ? [] : before.slice(0, at);
  // Sent from here a moment ago, while the daemon was asked.
  const later = before.slice(older.length).filter(({ id, isOver }) => !fresh.has(id) && !isOver);
  return {
    messages: [...older, ...merged, ...later],
    hasOlder: older.length > 0 ? known?.hasOlder === true : more,
  };
}

export function withOlder(known: Transcript, { messages, more }: Page): Transcript {
  const ids = new Set(known.messages.map(({ id }) => id));
  const older = messages.filter(({ message_id }) => !ids.has(message_id)).map(messageOf);
  return { messages: [...older, ...known.messages], hasOlder: more };
}

export function withMessage(
  known: Transcript,
  id: string,
  change: (message: Message) => Message,
): Transcript {
  const at = known.messages.findIndex((message) => message.id === id);
  const before = known.messages[at];
  if (before === undefined) return known;
  const after = change(before);
  return after === before ? known : { ...known, messages: known.messages.with(at, after) };
}
