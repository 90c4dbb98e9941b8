/** What the process of an agent is doing, and what a person can do when it went wrong. Pure. */
import type { AgentInfo, AgentStopReason } from "../api/types";
import type { Key } from "../i18n";
import type { Message } from "./transcript";

export type Standing = "absent" | "starting" | "running" | "waiting" | "stopping" | "warm";

/**
 * From what is heard of the newest message, which is sooner than what `session.info` says; while no message runs, from the
 * latter. `stopping` is the message that somebody here has stopped.
 */
export function standingOf(
  agent: AgentInfo | null,
  newest: Message | undefined,
  stopping: string | null,
): Standing {
  const said = agent?.state ?? "absent";
  if (newest === undefined) return said;
  // When the message is over, `session.info` will say so in a moment.
  if (newest.isOver) return said === "absent" ? "absent" : "warm";
  if (stopping === newest.id || said === "stopping") return "stopping";
  if (newest.parts.some((part) => part.kind === "permission" && part.outcome === null)) return "waiting";
  if (newest.started === null) return "starting";
  return said === "waiting" ? "waiting" : "running";
}

const todo: Partial<Record<string, Key>> = {
  case: "chat.todoCase",
  spawn: "chat.todoSpawn",
  initialize: "chat.todoStart",
  open: "chat.todoStart",
  version: "chat.todoVersion",
  auth: "chat.todoAuth",
  prompt: "chat.todoPrompt",
  protocol: "chat.todoProtocol",
  timeout: "chat.todoTimeout",
};

/** What to do about an error, by how far the agent came. */
export function todoOf(stage: unknown): Key {
  return (typeof stage === "string" ? todo[stage] : undefined) ?? "chat.todoPrompt";
}

const reasons: Partial<Record<AgentStopReason, Key>> = {
  cancelled: "chat.cancelled",
  interrupted: "chat.interrupted",
  max_tokens: "chat.maxTokens",
  max_turn_requests: "chat.maxTurns",
  refusal: "chat.refusal",
};

/** Why it is over, where that is worth a word. */
export function endOf({ stopReason }: Message): Key | null {
  return stopReason === null ? null : (reasons[stopReason] ?? null);
}

/** Whether there is a point in sending the same once more. */
export function canRepeat({ stopReason }: Message): boolean {
  return stopReason === "error" || stopReason === "interrupted";
}
