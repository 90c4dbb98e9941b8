/** Short names for what the daemon's description calls its types. */
import type { components } from "./schema.gen";

export type { Methods } from "./schema.gen";

type Schemas = components["schemas"];

export type SessionInfo = Schemas["SessionInfo"];
export type SessionState = Schemas["SessionState"];
export type ExecutionInfo = Schemas["ExecutionInfo"];
export type RunResult = Schemas["RunResult"];
export type ExecutionStatus = Schemas["ExecutionStatus"];
export type Outcome = Schemas["Outcome"];
export type OutputSlice = Schemas["OutputSlice"];
export type TerminalInfo = Schemas["TerminalInfo"];
export type Happening = Schemas["Event"];
export type Stats = Schemas["Stats"];
export type Info = Schemas["Info"];
export type Encoding = Schemas["Encoding"];
export type ErrorDetail = Schemas["ErrorDetail"];
export type ApprovalRequest = Schemas["ApprovalRequest"];
export type Executable = Schemas["Executable"];
export type Decided = Schemas["AuditEntry"];
export type RequestState = Schemas["RequestState"];
export type RequestSegment = Schemas["Segment"];
export type Verdict = Schemas["Verdict"];
export type Refusal = Schemas["Refused"];
export type RefusedPush = Schemas["RefusedPush"];
export type Scope = Schemas["Scope"];
export type Finding = Schemas["Finding"];
export type Health = Schemas["Health"];
export type Distribution = Schemas["Distribution"];
export type Range = Schemas["Range"];
export type CaseInfo = Schemas["CaseInfo"];
export type CaseError = Schemas["CaseError"];
export type Excerpt = Schemas["Excerpt"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type RuntimeInfo = Schemas["RuntimeInfo"];
export type RuntimeState = Schemas["RuntimeState"];
export type RuntimeHealth = Schemas["RuntimeHealth"];
export type FileInfo = Schemas["FileInfo"];
export type FileKind = Schemas["FileKind"];
export type FileSlice = Schemas["FileSlice"];
export type WorkspaceInfo = Schemas["WorkspaceInfo"];
/** Whose files; one of the two is named. */
export type FilePlace = Pick<Schemas["StatParams"], "session_id" | "workspace_id">;
export type AgentInfo = Schemas["AgentInfo"];
export type AgentMessage = Schemas["AgentMessage"];
export type AgentStarted = Schemas["AgentStarted"];
export type AgentStopReason = Schemas["AgentStopReason"];
export type AgentToolCall = Schemas["AgentToolCall"];
export type AgentToolContent = Schemas["AgentToolContent"];
export type PermissionOption = Schemas["PermissionOption"];
export type PlanEntry = Schemas["PlanEntry"];
/** The generator loses the `kind` of those that are types of their own. */
export type AgentUpdate =
  | Extract<Schemas["AgentUpdate"], { kind: string }>
  | (AgentStarted & { kind: "started" })
  | (AgentToolCall & { kind: "tool_call" });
