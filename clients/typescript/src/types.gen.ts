// Made by clients/generate from docs/openapi.json.

/** `agent.follow`. */
export type AgentFollowParams = {
  /** The newest unless told otherwise. */
  message_id?: MessageId | null | undefined;
  session_id: SessionId;
  /** The last update that is known already. */
  since?: number | null | undefined;
};

export type AgentHistory = {
  /** Oldest first. */
  messages: AgentMessage[];
  /** There are older ones. */
  more: boolean;
};

/** `agent.history`. */
export type AgentHistoryParams = {
  /** Only what was sent before this one. */
  before?: MessageId | null | undefined;
  /** 20 unless told otherwise, at most 100. */
  limit?: number | null | undefined;
  session_id: SessionId;
};

/** The agent of a session, in `session.info`. */
export type AgentInfo = {
  /** Its own id of the conversation. */
  agent_session_id?: string | null | undefined;
  /** The newest message. */
  message_id?: MessageId | null | undefined;
  name?: string | null | undefined;
  state: AgentState;
  version?: string | null | undefined;
  /** Until when it is kept, at most. */
  warm_until?: string | null | undefined;
};

export type AgentLocation = {
  line?: number | null | undefined;
  path: string;
};

/** A message and what came of it. */
export type AgentMessage = {
  created_at: string;
  /** There was no room for its updates: `agent.follow` has them. */
  cut?: boolean | undefined;
  ended_at?: string | null | undefined;
  error?: Refused | null | undefined;
  /** Of its last update; 0 when there is none. */
  last_seq: number;
  message_id: MessageId;
  session_id: SessionId;
  state: MessageState;
  stop_reason?: AgentStopReason | null | undefined;
  text: string;
  updates: AgentNumberedUpdate[];
};

export type AgentName = {
  name: string;
  title?: string | null | undefined;
  version?: string | null | undefined;
};

/** An update with its place in the message. */
export type AgentNumberedUpdate = {
  /** From 1, without gaps. */
  seq: number;
  time: string;
  update: AgentUpdate;
};

/** `agent.send_message`. */
export type AgentSendParams = {
  /** Text, at most 1 MiB. */
  message: string;
  session_id: SessionId;
};

/** The agent that answers messages to a session of this case. */
export type AgentSpec = {
  /** The program and its arguments. */
  command: string[];
  /** Variables of the agent alone. */
  env?: Record<string, string> | null | undefined;
  /** How long it is kept after one, for the next; 0 is not at all. */
  linger_s?: number | null | undefined;
  /** Whether it may run commands without the daemon; `off` unless told otherwise. */
  own_shell?: OwnShell | null | undefined;
  /** How long it may take over one message; 0 is for ever. */
  timeout_s?: number | null | undefined;
};

export type AgentStarted = {
  agent: AgentName;
  /** Its own id of the conversation. */
  agent_session_id: string;
  /** It was given TRL's tools. */
  mcp: boolean;
  own_shell: ShellWord;
  resumed: Resumed;
  /** It was running. */
  warm: boolean;
};

/** Where the agent of a session stands. */
export type AgentState = "absent" | "starting" | "running" | "stopping" | "waiting" | "warm";

/** `agent.stop`. */
export type AgentStopParams = {
  /** Only if it is this one that runs. */
  message_id?: MessageId | null | undefined;
  session_id: SessionId;
};

/** Why a message is over. */
export type AgentStopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "error" | "cancelled" | "interrupted";

export type AgentStopped = {
  /** The message that ran. */
  message_id?: MessageId | null | undefined;
  session_id: SessionId;
  /** Whether there was one to stop. */
  stopped: boolean;
};

/** Only what is new of it. */
export type AgentToolCall = {
  content?: AgentToolContent[] | null | undefined;
  locations?: AgentLocation[] | null | undefined;
  raw_input?: unknown | undefined;
  raw_output?: unknown | undefined;
  /** `pending`, `in_progress`, `completed` or `failed`. */
  status?: string | null | undefined;
  title?: string | null | undefined;
  tool_call_id: string;
  /** `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`. */
  tool_kind?: string | null | undefined;
};

export type AgentToolContent = {
  text: string;
  type: "text";
} | {
  new_text: string;
  old_text?: string | null | undefined;
  path: string;
  type: "diff";
} | {
  execution_id?: ExecutionId | null | undefined;
  terminal_id: string;
  type: "terminal";
} | {
  content: unknown;
  type: "other";
};

/** Something an agent did. */
export type AgentUpdate = AgentStarted | {
  kind: "text";
  text: string;
} | {
  kind: "thought";
  text: string;
} | AgentToolCall | {
  entries: PlanEntry[];
  kind: "plan";
} | {
  command: string;
  execution_id: ExecutionId;
  kind: "terminal";
  terminal_id: string;
  working_dir: string;
} | {
  kind: "file";
  ok: boolean;
  op: FileOp;
  path: string;
} | {
  kind: "permission";
  options: PermissionOption[];
  request_id: RequestId;
  title: string;
  tool_call_id?: string | null | undefined;
} | {
  kind: "permission_resolved";
  /** What the agent was given. */
  option_id?: string | null | undefined;
  request_id: RequestId;
  state: RequestState;
} | {
  kind: "mode";
  mode_id: string;
} | {
  commands: SlashCommand[];
  kind: "commands";
} | {
  kind: "usage";
  size: number;
  used: number;
} | {
  content: unknown;
  kind: "other";
  name: string;
} | {
  kind: "omitted";
  updates: number;
};

/** `{any: {label: value}}`. */
export type AnyRuntime = {
  any: Record<string, string>;
};

/** What is done when the rules want a person to be asked first. */
export type Approval = "wait" | "return" | "fail";

/** Whether the rules can be got round by the command itself. */
export type ApprovalBoundary = "enforced" | "advisory";

/** A command that waits for a person, or did. */
export type ApprovalRequest = {
  approval_boundary: ApprovalBoundary;
  case_id?: string | null | undefined;
  command: string;
  created_at: string;
  /** Stands for everything that is decided on; an answer repeats it, so that nobody approves what they did not see. */
  digest: string;
  /** What its names stood for when it was asked about; they must still when it runs. */
  executables?: Executable[] | undefined;
  /** The command; absent for a terminal that is no execution. */
  execution_id?: ExecutionId | null | undefined;
  expires_at: string;
  /** Who asked for the command: `agent`, `operator`, or the id of a token. */
  origin: string;
  /** When it is an agent that asks, for something it does itself. */
  permission?: Permission | null | undefined;
  request_id: RequestId;
  /** The answer, once there is one. */
  resolution?: Resolution | null | undefined;
  runtime: string;
  /** How far a yes may reach here. */
  scopes: Scope[];
  /** The parts of `command`, in its order. */
  segments: Segment[];
  /** Where it is to run; absent for a terminal. */
  session_id?: SessionId | null | undefined;
  session_name?: string | null | undefined;
  state: RequestState;
  /** The terminal that is to be opened. */
  terminal_id?: TerminalId | null | undefined;
  working_dir: string;
};

/** Of a case, or of everything (`approvals.yaml` beside the cases). */
export type ApprovalSpec = {
  /** For commands that no rule knows. */
  default?: Verdict | null | undefined;
  rules?: RuleSpec[] | undefined;
  /** After this long without an answer a request is denied. */
  timeout_s?: number | null | undefined;
};

export type Audit = {
  entries: AuditEntry[];
};

/** One decision. */
export type AuditEntry = {
  /** Who decided, if anybody did. */
  by?: string | null | undefined;
  command: string;
  reason?: string | null | undefined;
  request_id?: RequestId | null | undefined;
  scope?: Scope | null | undefined;
  seq: number;
  session_id?: SessionId | null | undefined;
  time: string;
  /** `requested`, `approved`, `rejected`, `expired`, `cancelled`, `denied` (by a rule), `granted` (an earlier answer). */
  what: string;
};

/** `hitl.audit`: decisions, newest first. */
export type AuditParams = {
  /** Only those before this one. */
  before?: number | null | undefined;
  /** 100 unless told otherwise, at most 1000. */
  limit?: number | null | undefined;
  session_id?: SessionId | null | undefined;
};

export type AuthParams = {
  token: string;
};

export type Authenticated = {
  role: Role;
};

/** How the program gets there. */
export type Binary = "copy" | "installed";

export type Bucket = {
  count: number;
  le_ms: number;
};

export type CancelParams = {
  execution_id?: ExecutionId | null | undefined;
  /** How long until `KILL`; 5. */
  grace_s?: number | null | undefined;
  session_id?: SessionId | null | undefined;
  /** What is sent first; `TERM`. */
  signal?: string | null | undefined;
};

export type Cancelled = {
  /** False when the command had ended by itself before the cancel reached it. */
  cancelled: boolean;
  execution_id: ExecutionId;
};

/** `case.get`: a case that sessions can be created from. */
export type CaseDetail = {
  /** What has effect: of an untrusted case with what it narrows. Values of variables are shown to operators only. */
  case: CaseSpec;
  case_id: string;
  /** Sessions that name no case get this one. */
  default: boolean;
  description?: string | null | undefined;
  /** SHA-256 of the file, in hexadecimal; absent when it cannot be read. */
  digest?: string | null | undefined;
  /** Names of its variables, secret ones included. */
  env_keys: string[];
  /** Why no session can be created from it. */
  errors?: CaseError[] | undefined;
  /** Fields that have no effect until it is trusted. */
  ignored?: string[] | undefined;
  origin: CaseOrigin;
  /** The file. */
  source: string;
  /** All of it takes effect. */
  trusted: boolean;
};

/** Something wrong with a case file. */
export type CaseError = {
  column?: number | null | undefined;
  /** The field, such as `approval.rules.0.allow`. */
  field?: string | null | undefined;
  /** What to write instead. */
  hint?: string | null | undefined;
  /** From 1; absent when it is about the file as a whole. */
  line?: number | null | undefined;
  message: string;
};

/** A case as `case.list` shows it. */
export type CaseInfo = {
  case_id: string;
  /** Sessions that name no case get this one. */
  default: boolean;
  description?: string | null | undefined;
  /** SHA-256 of the file, in hexadecimal; absent when it cannot be read. */
  digest?: string | null | undefined;
  /** Why no session can be created from it. */
  errors?: CaseError[] | undefined;
  /** Fields that have no effect until it is trusted. */
  ignored?: string[] | undefined;
  origin: CaseOrigin;
  /** The file. */
  source: string;
  /** All of it takes effect. */
  trusted: boolean;
};

export type CaseList = {
  /** By their ids; those of the daemon first. */
  cases: CaseInfo[];
  /** Files beyond what is looked at. */
  left_out?: number | undefined;
};

/** `case.list`: the cases of the daemon, and of a workspace if one is named. */
export type CaseListParams = {
  /** Or the workspace's directory. */
  path?: string | null | undefined;
  workspace_id?: string | null | undefined;
};

/** Where a case was found. */
export type CaseOrigin = "config" | "workspace";

export type CaseParams = {
  case_id: string;
  /** Or the workspace's directory. */
  path?: string | null | undefined;
  workspace_id?: string | null | undefined;
};

/** A case file: `ID.yaml` in the directory of cases, or in `.trl/cases/` of a workspace. */
export type CaseSpec = {
  /** A session this old is closed whatever it does; 0 is never. */
  absolute_ttl_s?: number | null | undefined;
  agent?: AgentSpec | null | undefined;
  /** Which commands run, which wait for a person, and which never do. */
  approval?: ApprovalSpec | null | undefined;
  /** The one program sessions of this case run, in place of a shell. */
  argv?: string[] | null | undefined;
  /** For people. */
  description?: string | null | undefined;
  /** Variables, below those of the session. */
  env?: Record<string, string> | null | undefined;
  /** The name of the file without `.yaml`, which it is in any case. */
  id?: string | null | undefined;
  /** A session idle for so long is closed; 0 is never. */
  idle_ttl_s?: number | null | undefined;
  labels?: Record<string, string> | null | undefined;
  /** What programs may use, and the most a request may ask for. */
  limits?: Limits | null | undefined;
  on_exit?: OnExit | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  renewal?: Renewal | null | undefined;
  /** Where programs live; `host` unless told otherwise. */
  runtime?: string | null | undefined;
  /** The boundary, and the widest a request may ask for. */
  sandbox?: SandboxParams | null | undefined;
  /** Names of variables whose values are secret: they come with the request or from the daemon's environment. */
  secret_env?: string[] | null | undefined;
  /** The shell program of a session, unless it asks for another. */
  shell?: string | null | undefined;
  /** Files of the working directory may be kept with checkpoints, up to this many. */
  snapshots?: SnapshotSpec | null | undefined;
  /** Default timeout of commands; 0 is none. */
  timeout_s?: number | null | undefined;
  /** Where sessions start, unless they say so: an absolute path, in which `{workspace}`, `{home}` and `{session_id}` stand for what they say. What is missing of a path with one of these is made. */
  working_dir?: string | null | undefined;
  /** The id of the workspace sessions are in. */
  workspace?: string | null | undefined;
};

/** `case.trust`: let all of a workspace's case take effect, as long as the file stays as it is. */
export type CaseTrustParams = {
  case_id: string;
  /** Of the file as it was seen. */
  digest: string;
  /** Or the workspace's directory. */
  path?: string | null | undefined;
  /** `false` takes it back, whatever the file is by now. */
  trust?: boolean | null | undefined;
  workspace_id?: string | null | undefined;
};

/** `case.validate`: is this text a case? */
export type CaseValidateParams = {
  /** The name it is to have. */
  case_id?: string | null | undefined;
  /** The contents of a case file. */
  text: string;
};

export type CaseValidated = {
  /** SHA-256 of the text, in hexadecimal. */
  digest: string;
  errors: CaseError[];
  valid: boolean;
};

/** The most an agent token may have; what is absent is not bounded by the token. */
export type Ceilings = {
  /** Only these cases, and none without a case. */
  cases?: string[] | null | undefined;
  /** Sessions of its own at once. */
  max_sessions?: number | null | undefined;
  runtimes?: string[] | null | undefined;
  /** The widest sandbox. */
  sandbox?: SandboxMode | null | undefined;
  /** Only these workspaces, and none without a workspace. */
  workspaces?: string[] | null | undefined;
};

export type Change = "created" | "overwritten" | "removed";

export type ChangeKind = "created" | "modified" | "removed";

/** A change that is made when a person has said yes. */
export type ChangeWaiting = {
  request_id: RequestId;
  /** `waiting_hitl`. */
  state: SessionState;
};

/** The push `fs.changed`: at most one change for each path. */
export type ChangedPush = {
  changes: FileChange[];
  /** More happened than is told: look again. */
  missed: boolean;
  stream_id: StreamId;
};

export type CheckpointCreateParams = {
  /** The files of the session's working directory as well. */
  files?: boolean | null | undefined;
  /** What it is called in lists. */
  label?: string | null | undefined;
  session_id: SessionId;
};

export type CheckpointDeleteResult = {
  checkpoint_id: CheckpointId;
  session_id: SessionId;
};

export type CheckpointId = string;

/** A checkpoint as `create` and `list` show it. */
export type CheckpointInfo = {
  case_id?: string | null | undefined;
  checkpoint_id: CheckpointId;
  /** Commands the session had run. */
  commands: number;
  created_at: string;
  files?: FilesInfo | null | undefined;
  label?: string | null | undefined;
  /** The last command in it: where its history stood. */
  last_execution_id?: ExecutionId | null | undefined;
  /** Parts that hold secrets and are not in it. */
  left_out?: PartName[] | undefined;
  origin: Origin;
  /** Approval requests that were waiting. */
  pending_requests?: RequestId[] | undefined;
  session_id: SessionId;
  /** The shell whose state it is. */
  shell: string;
  size_bytes: number;
};

export type CheckpointList = {
  /** Newest first. */
  checkpoints: CheckpointInfo[];
  /** Files that are not what was written, and are not used. */
  corrupt: CorruptInfo[];
};

export type CheckpointListParams = {
  session_id: SessionId;
};

/** How sure it is that the sandbox refused something. */
export type Confidence = "proven" | "likely";

export type CorruptInfo = {
  checkpoint_id: string;
  why: string;
};

/** The reply to `session.create`. */
export type CreateReply = SessionInfo | CreateWaiting;

export type CreateTokenParams = {
  /** Of an agent token. */
  ceilings?: Ceilings | null | undefined;
  /** Never, when absent. */
  expires_in_s?: number | null | undefined;
  /** For people. */
  name: string;
  role: Role;
};

/** A session that is made when a person has said yes. */
export type CreateWaiting = {
  request_id: RequestId;
  /** What it will be called. */
  session_id: SessionId;
  /** `waiting_hitl`. */
  state: SessionState;
};

export type Decision = "approve" | "reject";

export type DeleteParams = {
  checkpoint_id: CheckpointId;
  session_id: SessionId;
};

/** Something a sandbox refused. */
export type Denied = {
  confidence: Confidence;
  message: string;
  /** `unix-socket`, `network`, `mount`, `ptrace`, ... or `read`, `write`, `open` of a file. */
  op: string;
  path?: string | null | undefined;
};

export type Destroyed = {
  session_id: SessionId;
  state: SessionState;
};

/** The reply to `system.doctor`. */
export type Diagnosis = {
  rows: Finding[];
  /** The worst of all findings. */
  status: Health;
  version: string;
};

/** A directory that is there now. */
export type DirMade = {
  created: boolean;
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
};

/** How many took how long. */
export type Distribution = {
  /** By rising bound; each counts all that took no longer. What took longer than the last is in `count` alone. */
  buckets: Bucket[];
  count: number;
  sum_ms: number;
};

/** The push `agent.done`, the last of a stream. */
export type DonePush = {
  error?: Refused | null | undefined;
  message_id: MessageId;
  /** One more than that of the last update. */
  seq: number;
  session_id: SessionId;
  stop_reason: AgentStopReason;
  /** Absent in events of plain HTTP. */
  stream_id?: StreamId | null | undefined;
  time: string;
};

export type Encoding = "utf-8" | "base64" | "utf-8-lossy";

/** The other end. */
export type EngineInfo = {
  arch: string;
  host: string;
  os: string;
  pid: number;
  version: string;
};

/** Stable codes: clients branch on them, so they are never renamed. */
export type ErrorCode = "SESSION_NOT_FOUND" | "SESSION_BUSY" | "SESSION_CLOSED" | "SESSION_TERMINATED" | "EXECUTION_NOT_FOUND" | "TERMINAL_NOT_FOUND" | "REQUEST_NOT_FOUND" | "MAX_SESSIONS_REACHED" | "SESSION_LIMIT_EXCEEDED" | "RESOURCE_PRESSURE" | "LIMIT_EXCEEDED" | "STORAGE_FULL" | "SHELL_NOT_FOUND" | "SHELL_START_FAILED" | "WORKING_DIR_INVALID" | "INVALID_PARAMS" | "UNKNOWN_METHOD" | "PAYLOAD_TOO_LARGE" | "AUTH_FAILED" | "FORBIDDEN" | "FILE_NOT_FOUND" | "FILE_OUTSIDE_WORKSPACE" | "APPROVAL_REQUIRED" | "APPROVAL_DENIED" | "APPROVAL_EXPIRED" | "ALREADY_RESOLVED" | "SECRETS_REQUIRED" | "CASE_NOT_FOUND" | "CASE_INVALID" | "SANDBOX_DENIED" | "SANDBOX_UNAVAILABLE" | "CHECKPOINT_NOT_FOUND" | "CHECKPOINT_CORRUPT" | "RUNTIME_NOT_FOUND" | "RUNTIME_UNAVAILABLE" | "AGENT_UNAVAILABLE" | "MESSAGE_NOT_FOUND" | "SHUTTING_DOWN" | "INTERNAL_ERROR";

export type ErrorDetail = {
  code: ErrorCode;
  hint?: string | undefined;
  message?: string | undefined;
};

/** One thing that happened. */
export type Event = {
  seq: number;
  time: string;
} & ({
  kind: "session.created";
  session_id: SessionId;
  shell: string;
} | {
  kind: "session.state";
  session_id: SessionId;
  state: SessionState;
} | {
  kind: "session.ended";
  reason: string;
  session_id: SessionId;
  state: SessionState;
} | {
  kind: "shell.replaced";
  session_id: SessionId;
  shell_state: ShellState;
} | {
  execution_id: ExecutionId;
  kind: "exec.started";
  session_id?: SessionId | null | undefined;
  terminal_id?: TerminalId | null | undefined;
} | {
  cancelled: boolean;
  execution_id: ExecutionId;
  exit_code: number;
  kind: "exec.finished";
  session_id?: SessionId | null | undefined;
  terminal_id?: TerminalId | null | undefined;
  timed_out: boolean;
} | {
  kind: "terminal.created";
  shell: string;
  terminal_id: TerminalId;
} | {
  exit_code: number;
  kind: "terminal.ended";
  reason: string;
  terminal_id: TerminalId;
} | {
  execution_id?: ExecutionId | null | undefined;
  kind: "hitl.requested";
  request_id: RequestId;
  session_id?: SessionId | null | undefined;
} | {
  kind: "hitl.resolved";
  request_id: RequestId;
  session_id?: SessionId | null | undefined;
  state: RequestState;
} | {
  kind: "agent.started";
  message_id: MessageId;
  session_id: SessionId;
} | {
  kind: "agent.finished";
  message_id: MessageId;
  session_id: SessionId;
  stop_reason: AgentStopReason;
} | {
  kind: "sandbox.made";
  /** The git directory, relative to that. */
  path: string;
  /** Hooks and settings: `hooks/NAME`, `config: core.fsmonitor`, `commondir`. */
  reasons: string[];
  session_id?: SessionId | null | undefined;
  terminal_id?: TerminalId | null | undefined;
  /** The directory the sandbox was around. */
  workspace: string;
} | {
  from: number;
  kind: "events.missed";
  to: number;
});

/** The beginning and the end of a stream, as text, without what is secret. */
export type Excerpt = {
  /** Of the whole stream. Absent while that is not known: the command runs, or its daemon was killed before its end. */
  bytes?: number | null | undefined;
  /** All of it, when there is no `tail`. */
  head: string;
  tail?: string | null | undefined;
};

/** `exec.input`. */
export type ExecInputParams = {
  /** End of input after `data`. */
  close?: boolean | null | undefined;
  data?: string | null | undefined;
  encoding?: Encoding | null | undefined;
  execution_id: ExecutionId;
  /** The same id is taken once: a request whose reply was lost can be sent again. */
  input_id?: string | null | undefined;
  /** Shown in the reply, per stream. */
  max_output_bytes?: number | null | undefined;
  /** Then wait so long for the end, and tell what was written; between 250 and 30000. Without `data` it only waits. */
  yield_ms?: number | null | undefined;
};

export type ExecInputResult = {
  execution_id: ExecutionId;
  /** With `yield_ms`. */
  progress?: Progress | null | undefined;
  /** What the process, or the pipe to it, has taken by now; the rest stands in line. */
  written_bytes: number;
};

export type ExecListParams = {
  session_id?: SessionId | null | undefined;
};

export type ExecResizeParams = {
  cols: number;
  execution_id: ExecutionId;
  rows: number;
};

export type ExecSignalParams = {
  execution_id: ExecutionId;
  /** `INT`, `SIGINT` or `2`. */
  signal: string;
};

export type ExecSignalResult = {
  execution_id: ExecutionId;
  /** How many processes got it. */
  processes: number;
};

/** What a name in a command stands for. */
export type Executable = {
  /** Device, inode, size and time of change of the file; of a fresh process also its rights and SHA-256. */
  identity?: string | null | undefined;
  name: string;
  path?: string | null | undefined;
  /** `file`, `builtin`, `function`, `alias`, `keyword`, `missing`, `directory` (`.`), `trap`, `variable` or `unknown`. */
  what: string;
};

export type ExecutionId = string;

export type ExecutionInfo = {
  command: string;
  created_at: string;
  elapsed_ms: number;
  execution_id: ExecutionId;
  exit_code?: number | null | undefined;
  session_id?: SessionId | null | undefined;
  status: ExecutionStatus;
  stderr_bytes: number;
  stdout_bytes: number;
  /** Where it runs, if it has a terminal. */
  terminal_id?: TerminalId | null | undefined;
};

export type ExecutionList = {
  executions: ExecutionInfo[];
};

/** Parameters of methods that only name an execution. */
export type ExecutionParams = {
  execution_id: ExecutionId;
};

export type ExecutionStatus = "queued" | "running" | "done" | "waiting_hitl" | "unknown";

/** The push `exec.exit`, the last of a stream. */
export type ExitPush = {
  /** Processes it left running. */
  background_pids?: number[] | null | undefined;
  cancelled: boolean;
  /** What that refused. */
  denied?: Denied | null | undefined;
  duration_ms: number;
  execution_id: ExecutionId;
  /** 128+n when it was killed by signal n. */
  exit_code: number;
  /** With `renewal: idle`: how many finished commands the rollback lost as well. */
  lost_commands?: number | null | undefined;
  omitted?: Omitted | null | undefined;
  /** The boundary it ran in. */
  sandbox?: SandboxReport | undefined;
  shell_state: ShellState;
  /** `KILL`, `TERM`, ... when the shell itself died of it. */
  signal?: string | null | undefined;
  stderr_bytes: number;
  stdout_bytes: number;
  stream_id: StreamId;
  timed_out: boolean;
  /** What it used; only with limits. */
  usage?: Usage | null | undefined;
  waited_ms: number;
  working_dir: string;
};

/** A rename is two of these. */
export type FileChange = {
  is_dir: boolean;
  kind: ChangeKind;
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
};

/** One file, as `fs.stat` and `fs.list` show it; a link is a link. */
export type FileInfo = {
  kind: FileKind;
  /** Permission bits in octal digits. */
  mode: string;
  modified_at: string;
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  size: number;
  /** What a link says, wherever that leads. */
  target?: string | null | undefined;
  /** Beside a target that is not UTF-8. */
  target_encoding?: Encoding | null | undefined;
  /** Another for any other content. */
  version: string;
};

export type FileKind = "file" | "dir" | "symlink" | "other";

/** In the order of names, those of a directory right after it. */
export type FileList = {
  entries: FileInfo[];
  /** There are more. */
  truncated: boolean;
};

/** What has another name now. */
export type FileMoved = {
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  to: string;
  /** Beside a path that is not UTF-8. */
  to_encoding?: Encoding | null | undefined;
};

export type FileOp = "read" | "write";

/** A path that was found. */
export type FilePath = {
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
};

/** What is gone. */
export type FileRemoved = {
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
};

/** Some bytes of a file. */
export type FileSlice = {
  data: string;
  encoding: Encoding;
  /** Where to go on; absent at the end. */
  next?: number | null | undefined;
  offset: number;
  /** Of the whole file. */
  size: number;
  version: string;
};

/** What was written. */
export type FileWritten = {
  /** Nothing was there before. */
  created: boolean;
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  size: number;
  version: string;
};

/** What is kept of a directory's files. */
export type FilesInfo = {
  bytes: number;
  count: number;
  dir: string;
};

/** One line of a diagnosis. */
export type Finding = {
  /** What could be done about it. */
  hint?: string | null | undefined;
  /** Stable, for programs. */
  id: string;
  status: Health;
  /** For people. */
  title: string;
  value: string;
};

/** `fs.list`. */
export type FsListParams = {
  /** How many levels; 1 unless told otherwise. */
  depth?: number | null | undefined;
  /** Entries at most; 1000 unless told otherwise. */
  limit?: number | null | undefined;
  /** From the root of the workspace; the root itself when absent. */
  path?: string | null | undefined;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** What came of a change to files. */
export type FsMkdirResult = DirMade | ChangeWaiting;

/** What came of a change to files. */
export type FsMoveResult = FileMoved | ChangeWaiting;

/** What came of a change to files. */
export type FsRemoveResult = FileRemoved | ChangeWaiting;

/** What came of a change to files. */
export type FsWriteResult = FileWritten | ChangeWaiting;

export type GetParams = {
  /** Secrets are never kept, so a closed session that had some needs them again. */
  secret_env?: Record<string, string> | null | undefined;
  session_id: SessionId;
};

/** `fs.glob`. */
export type GlobParams = {
  /** Also what `.gitignore` and `.ignore` name, and `.git`. */
  include_ignored?: boolean | null | undefined;
  /** Files at most; 1000 unless told otherwise. */
  limit?: number | null | undefined;
  /** The directory to search; the pattern is held against paths from there. */
  path?: string | null | undefined;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** `*` stays within a name, `**` does not. */
  pattern: string;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** In the order of names. */
export type Globbed = {
  files: FilePath[];
  /** There are more. */
  truncated: boolean;
};

/** `fs.grep`. */
export type GrepParams = {
  /** Lines before and after each match; at most 100. */
  context?: number | null | undefined;
  /** Only files whose path matches, as in `fs.glob`. */
  glob?: string | null | undefined;
  ignore_case?: boolean | null | undefined;
  /** Also what `.gitignore` and `.ignore` name, and `.git`. */
  include_ignored?: boolean | null | undefined;
  /** Matches at most; 1000 unless told otherwise. */
  limit?: number | null | undefined;
  /** The pattern is the text itself. */
  literal?: boolean | null | undefined;
  /** The directory or file to search. */
  path?: string | null | undefined;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** A regular expression of Rust's `regex`, held against each line. */
  pattern: string;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** How a fact is to be taken. */
export type Health = "ok" | "warn" | "bad" | "info";

/** Newest first. */
export type History = {
  entries: HistoryEntry[];
  /** Ask for what is `before` this; absent when there is no more. */
  next?: number | null | undefined;
};

/** One execution. */
export type HistoryEntry = {
  cancelled: boolean;
  /** Without what is secret; of a very long one the beginning. */
  command: string;
  duration_ms?: number | null | undefined;
  execution_id: ExecutionId;
  exit_code?: number | null | undefined;
  /** The approval it was run on. */
  request_id?: RequestId | null | undefined;
  /** Its place in the history; later ones are larger. */
  seq: number;
  session_id: SessionId;
  signal?: string | null | undefined;
  started_at: string;
  status: ExecutionStatus;
  stderr: Excerpt;
  stdout: Excerpt;
  timed_out: boolean;
  working_dir: string;
};

export type HistoryParams = {
  /** Only those before this one: `next` of the page before. */
  before?: number | null | undefined;
  /** 50 unless told otherwise, 500 at most. */
  limit?: number | null | undefined;
  /** Words that must all begin a word of the command or of the output that was kept. */
  query?: string | null | undefined;
  /** None: of all sessions. */
  session_id?: SessionId | null | undefined;
};

export type Info = {
  max_sessions: number;
  methods: string[];
  pid: number;
  /** The session this connection belongs to, when it comes from inside one. */
  pinned_to?: string | null | undefined;
  protocol: number;
  role: Role;
  runtime_dir: string;
  /** Whether session files live in memory; otherwise command text and stdin go through FIFOs. */
  runtime_dir_in_memory: boolean;
  socket?: string | null | undefined;
  version: string;
};

export type IoUsage = {
  read_bytes: number;
  written_bytes: number;
};

/** The name of a [`Happening`] without its fields. */
export type Kind = "session.created" | "session.state" | "session.ended" | "shell.replaced" | "exec.started" | "exec.finished" | "terminal.created" | "terminal.ended" | "hitl.requested" | "hitl.resolved" | "agent.started" | "agent.finished" | "sandbox.made" | "events.missed";

/** One of them, by its name in [`Limits`]. */
export type Limit = "memory_bytes" | "cpu" | "cpu_time_s" | "pids" | "open_files" | "file_size_bytes" | "disk_bytes" | "output_bytes" | "wall_s";

/** What the programs of a session, a terminal or an execution may use. Absent is as the settings say, 0 is no limit. */
export type Limits = {
  /** Processors' worth of time they get in any moment: 0.5 is half of one. */
  cpu?: number | null | undefined;
  /** Processor time of one command, or of a terminal's life. */
  cpu_time_s?: number | null | undefined;
  /** Disk space of the workspace. No daemon can hold anybody to it yet: anything but 0 is refused. */
  disk_bytes?: number | null | undefined;
  /** How large a file each process may make. */
  file_size_bytes?: number | null | undefined;
  /** Memory of all of them together. */
  memory_bytes?: number | null | undefined;
  /** Descriptors of each process. */
  open_files?: number | null | undefined;
  /** What one command may print, or a terminal in its life. */
  output_bytes?: number | null | undefined;
  /** Processes and threads of all of them together; a session's shell and its rollback point do not count. */
  pids?: number | null | undefined;
  /** How long one command may take, or a terminal live. */
  wall_s?: number | null | undefined;
};

/** What holds programs to their limits. */
export type LimitsBackend = "cgroup2" | "cgroup1" | "rlimits";

/** Limits as they were asked for, and what came of it. */
export type LimitsInfo = {
  backend: LimitsBackend;
  /** Processors' worth of time they get in any moment: 0.5 is half of one. */
  cpu?: number | null | undefined;
  /** Processor time of one command, or of a terminal's life. */
  cpu_time_s?: number | null | undefined;
  /** Disk space of the workspace. No daemon can hold anybody to it yet: anything but 0 is refused. */
  disk_bytes?: number | null | undefined;
  enforced: Limit[];
  /** How large a file each process may make. */
  file_size_bytes?: number | null | undefined;
  /** Memory of all of them together. */
  memory_bytes?: number | null | undefined;
  not_enforced: Limit[];
  /** Descriptors of each process. */
  open_files?: number | null | undefined;
  /** What one command may print, or a terminal in its life. */
  output_bytes?: number | null | undefined;
  /** Processes and threads of all of them together; a session's shell and its rollback point do not count. */
  pids?: number | null | undefined;
  /** How long one command may take, or a terminal live. */
  wall_s?: number | null | undefined;
};

/** The reply to `system.log`: oldest first. */
export type LogLines = {
  lines: string[];
};

export type LogParams = {
  /** The newest of them; all that are kept when absent. */
  limit?: number | null | undefined;
};

/** A line that matches. Texts are lossy UTF-8 and cut after 1000 bytes; `fs.read` has the bytes. */
export type Match = {
  after?: string[] | undefined;
  before?: string[] | undefined;
  /** From 1. */
  line: number;
  /** Where the line begins, in bytes. */
  offset: number;
  path: string;
  /** Beside a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  text: string;
};

/** Where the output matched. */
export type Matched = {
  from: number;
  stream: Stream;
  to: number;
};

/** By file and line. */
export type Matches = {
  matches: Match[];
  /** There are more. */
  truncated: boolean;
};

export type MessageId = string;

export type MessageState = "running" | "done" | "waiting";

/** The reply to `agent.send_message` and `agent.follow`; pushes come after it. */
export type MessageStream = {
  /** Over plain HTTP, which has no pushes: where to read them. */
  events?: string | null | undefined;
  message_id: MessageId;
  stream_id: StreamId;
};

/** `fs.mkdir`. */
export type MkdirParams = {
  /** What is done while a person is asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Make missing directories on the way, and do not mind one that is there. */
  create_dirs?: boolean | null | undefined;
  path: string;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** How much a program may do. */
export type Mode = "off" | "read-only" | "workspace-write" | "custom";

/** A directory of the machine that a container sees. */
export type Mount = {
  read_only?: boolean | undefined;
  source: string;
  /** The same path unless told otherwise. */
  target?: string | null | undefined;
};

/** `fs.move`. */
export type MoveParams = {
  /** What is done while a person is asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Replace what is at `to`. */
  overwrite?: boolean | null | undefined;
  path: string;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  to: string;
  /** `base64` for a `to` that is not UTF-8. */
  to_encoding?: Encoding | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** Which network a program has. */
export type Net = "none" | "all" | "loopback";

/** Offsets of both streams. */
export type Next = {
  stderr: number;
  stdout: number;
};

export type NoParams = Record<string, never>;

/** Something that is not as it was, and why. */
export type NotRestored = {
  name?: string | undefined;
  what: string;
  why: string;
};

/** The object as it is read. */
export type Object = {
  best_effort?: boolean | null | undefined;
  deny?: string[] | null | undefined;
  mode: Mode;
  net?: Net | null | undefined;
  read?: string[] | null | undefined;
  write?: string[] | null | undefined;
};

/** Ranges that fell out of the middle of the streams. */
export type Omitted = {
  stderr?: Range | null | undefined;
  stdout?: Range | null | undefined;
};

/** What a denial means to whoever asked. */
export type OnDenied = "report" | "fail";

/** What happens to a command when the connection that asked for it goes away. */
export type OnDisconnect = "continue" | "cancel";

/** What a command that ends its shell (`exit 3`) does to the session. */
export type OnExit = "rollback" | "terminate";

export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always" | "other";

/** Why a checkpoint was made. */
export type Origin = "request" | "close" | "interval" | "approval";

/** How a command ended: everything but its text. */
export type Outcome = {
  /** Processes it left running. */
  background_pids?: number[] | null | undefined;
  cancelled: boolean;
  /** What that refused. */
  denied?: Denied | null | undefined;
  duration_ms: number;
  execution_id: ExecutionId;
  /** 128+n when it was killed by signal n. */
  exit_code: number;
  /** With `renewal: idle`: how many finished commands the rollback lost as well. */
  lost_commands?: number | null | undefined;
  omitted?: Omitted | null | undefined;
  /** The boundary it ran in. */
  sandbox?: SandboxReport | undefined;
  shell_state: ShellState;
  /** `KILL`, `TERM`, ... when the shell itself died of it. */
  signal?: string | null | undefined;
  stderr_bytes: number;
  stdout_bytes: number;
  timed_out: boolean;
  /** What it used; only with limits. */
  usage?: Usage | null | undefined;
  waited_ms: number;
  working_dir: string;
};

export type OutputParams = {
  execution_id: ExecutionId;
  limit?: number | null | undefined;
  since?: number | null | undefined;
  stream?: Stream | null | undefined;
};

/** The push `exec.output`, as it is read. */
export type OutputPushed = {
  data: string;
  encoding: Encoding;
  execution_id: ExecutionId;
  /** The range this reader was too slow for, just before `data`. */
  gap?: Range | null | undefined;
  /** Where `data` begins in the stream. */
  offset: number;
  stream: Stream;
  stream_id: StreamId;
};

export type OutputSlice = {
  data: string;
  /** No more will come: every writer is gone and `next` is the end. */
  done: boolean;
  encoding: Encoding;
  gap?: Range | null | undefined;
  /** Ask for this next. */
  next: number;
  /** Where `data` begins. */
  offset: number;
};

export type OwnShell = "on" | "off";

/** One part of a shell's state, by what it is and what it is called. */
export type PartName = {
  name?: string | undefined;
  /** `variable`, `function`, `alias`, `trap`, `option`, `directory` and so on. */
  what: string;
};

/** The permission an agent asks for, in its approval request. */
export type Permission = {
  message_id: MessageId;
  options: PermissionOption[];
  title: string;
  tool_call_id?: string | null | undefined;
  tool_kind?: string | null | undefined;
};

/** One of the answers an agent offers. */
export type PermissionOption = {
  kind: OptionKind;
  name: string;
  option_id: string;
};

export type Ping = {
  protocol: number;
  uptime_s: number;
  version: string;
};

export type PlanEntry = {
  content: string;
  /** `high`, `medium` or `low`. */
  priority: string;
  /** `pending`, `in_progress` or `completed`. */
  status: string;
};

/** How far an execution has come: what it wrote since the last call that was told, and its end, once it has ended. */
export type Progress = {
  /** Ranges of the streams that are not in this reply, of what it should have told. */
  gap?: Omitted | null | undefined;
  /** Where the next call goes on. */
  next: Next;
  /** While a person has to be asked before it begins. */
  request_id?: RequestId | null | undefined;
  session_id?: SessionId | null | undefined;
  status: ExecutionStatus;
  stderr: string;
  stderr_encoding: Encoding;
  stdout: string;
  stdout_encoding: Encoding;
  /** Where it runs, with `tty`; everything it writes is `stdout` then. */
  terminal_id?: TerminalId | null | undefined;
} & (Outcome | {
  elapsed_ms: number;
  execution_id: ExecutionId;
  /** The boundary around it. */
  sandbox: SandboxReport;
});

export type Range = {
  from: number;
  to: number;
};

/** `fs.read`. */
export type ReadParams = {
  /** Bytes at most. */
  limit?: number | null | undefined;
  offset?: number | null | undefined;
  path: string;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** Why a wait ended. */
export type Reason = "exit" | "pattern" | "idle" | "bytes" | "timeout";

/** Why. */
export type Refused = {
  code: ErrorCode;
  hint?: string | null | undefined;
  message: string;
};

/** The push `exec.refused`, the last of a stream whose command was not run after all. */
export type RefusedPush = {
  error: Refused;
  execution_id: ExecutionId;
  /** Absent in events of plain HTTP. */
  stream_id?: StreamId | null | undefined;
};

/** `fs.remove`. */
export type RemoveParams = {
  /** What is done while a person is asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  path: string;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** A directory with all that is in it. */
  recursive?: boolean | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** When the rollback point is renewed. */
export type Renewal = "exact" | "idle";

export type RequestId = string;

export type RequestList = {
  /** Oldest first. */
  requests: ApprovalRequest[];
};

export type RequestListParams = {
  session_id?: SessionId | null | undefined;
  /** `pending` unless told otherwise. */
  state?: RequestState | null | undefined;
};

/** Parameters of methods that only name a request. */
export type RequestParams = {
  request_id: RequestId;
};

/** Where a request stands. */
export type RequestState = "pending" | "approved" | "rejected" | "expired" | "cancelled";

export type RequestWaitParams = {
  request_id: RequestId;
  /** 0 is none: it ends with the request. */
  timeout_s?: number | null | undefined;
};

export type Resized = {
  cols: number;
  execution_id: ExecutionId;
  rows: number;
  terminal_id: TerminalId;
};

/** How a request was settled. */
export type Resolution = {
  /** `operator` or the id of a token; absent when nobody answered. */
  by?: string | null | undefined;
  /** What was run in its place. */
  command?: string | null | undefined;
  reason?: string | null | undefined;
  resolved_at: string;
  scope?: Scope | null | undefined;
};

export type RespondParams = {
  /** To run in its place; only with `approve`, and only once. */
  command?: string | null | undefined;
  decision: Decision;
  /** Of the request as it was seen. */
  digest: string;
  /** Told to whoever asked. */
  reason?: string | null | undefined;
  request_id: RequestId;
  /** `once` unless told otherwise; only with `approve`. */
  scope?: Scope | null | undefined;
};

export type RestoreParams = {
  checkpoint_id: CheckpointId;
  /** The files as well, if the checkpoint has some. */
  files?: boolean | null | undefined;
  /** With `files`: the one of a preview. If something else would be done by now, nothing is. */
  files_digest?: string | null | undefined;
  /** Change nothing; only say which files would change. */
  preview?: boolean | null | undefined;
  session_id: SessionId;
};

/** What a restore did. */
export type Restored = {
  checkpoint_id: CheckpointId;
  /** Paths that were changed, or would be. */
  files?: RestoredFile[] | null | undefined;
  /** Of a preview: stands for what was shown. */
  files_digest?: string | null | undefined;
  not_restored: NotRestored[];
  restored: RestoredPart[];
  session_id: SessionId;
};

/** What restoring does to a file. */
export type RestoredFile = {
  change: Change;
  path: string;
};

/** From which checkpoint a session that was opened again has its state. */
export type RestoredFrom = {
  checkpoint_id: CheckpointId;
  created_at: string;
  /** Commands that ran after it: what they changed in the shell is lost. */
  lost_commands?: number | undefined;
  /** What it has not; all of it is known once its shell runs. */
  not_restored?: NotRestored[] | undefined;
};

/** So many parts of one kind are as they were. */
export type RestoredPart = {
  count: number;
  what: string;
};

/** `exec.result`: the status, and the result once there is one. */
export type ResultReply = {
  status: ExecutionStatus;
} & (RunResult | {
  execution_id: ExecutionId;
  recorded: HistoryEntry;
} | {
  execution_id: ExecutionId;
});

/** What it knows of earlier messages. */
export type Resumed = "new" | "same" | "loaded";

/** What a connection may do. */
export type Role = "viewer" | "agent" | "operator";

/** One rule: a verdict on commands that begin with given words. `deny` wins over `ask`, `ask` over `allow`, wherever they stand. */
export type RuleSpec = {
  /** Each a command's first words, such as `git status`. */
  allow?: string[] | undefined;
  ask?: string[] | undefined;
  deny?: string[] | undefined;
  /** Commands this rule must decide: checked when it is read. */
  match?: string[] | undefined;
  /** Commands it must not decide. */
  not_match?: string[] | undefined;
  /** Told to whoever asked for the command. */
  reason?: string | null | undefined;
};

/** Options of `exec.run`. */
export type RunOptions = {
  /** When a person has to be asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Of a throw-away session; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  /** For this command only. */
  env?: Record<string, string> | null | undefined;
  /** The same key returns the same execution instead of running twice. */
  idempotency_key?: string | null | undefined;
  /** Bytes kept in memory per stream. */
  max_output_bytes?: number | null | undefined;
  on_denied?: OnDenied | null | undefined;
  /** Keep stdin open (after `stdin`, if given) for `exec.input`. */
  open_stdin?: boolean | null | undefined;
  /** Wait for the session instead of `SESSION_BUSY`. */
  queue?: boolean | null | undefined;
  /** Where a throw-away session lives; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** Of a throw-away session, whose workspace is `working_dir`; a session has its own. */
  sandbox?: SandboxParams | null | undefined;
  /** 0 is none; the session's default otherwise. */
  timeout_s?: number | null | undefined;
  /** For this command only. */
  working_dir?: string | null | undefined;
  /** Of a throw-away session. */
  workspace_id?: string | null | undefined;
};

/** `exec.run` and `exec.stream`. */
export type RunParams = {
  /** When a person has to be asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Of a throw-away session; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  command: string;
  /** For this command only. */
  env?: Record<string, string> | null | undefined;
  /** The same key returns the same execution instead of running twice. */
  idempotency_key?: string | null | undefined;
  /** Bytes kept in memory per stream. */
  max_output_bytes?: number | null | undefined;
  on_denied?: OnDenied | null | undefined;
  on_disconnect?: OnDisconnect | null | undefined;
  /** Keep stdin open (after `stdin`, if given) for `exec.input`. */
  open_stdin?: boolean | null | undefined;
  /** Wait for the session instead of `SESSION_BUSY`. */
  queue?: boolean | null | undefined;
  /** Where a throw-away session lives; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** Of a throw-away session, whose workspace is `working_dir`; a session has its own. */
  sandbox?: SandboxParams | null | undefined;
  /** None: a throw-away session. */
  session_id?: SessionId | null | undefined;
  stdin?: string | null | undefined;
  stdin_encoding?: Encoding | null | undefined;
  /** 0 is none; the session's default otherwise. */
  timeout_s?: number | null | undefined;
  /** For this command only. */
  working_dir?: string | null | undefined;
  /** Of a throw-away session. */
  workspace_id?: string | null | undefined;
};

/** The reply to `exec.run`. */
export type RunReply = RunResult | Waiting;

/** A result with its text. */
export type RunResult = {
  /** Processes it left running. */
  background_pids?: number[] | null | undefined;
  cancelled: boolean;
  /** What that refused. */
  denied?: Denied | null | undefined;
  duration_ms: number;
  execution_id: ExecutionId;
  /** 128+n when it was killed by signal n. */
  exit_code: number;
  /** With `renewal: idle`: how many finished commands the rollback lost as well. */
  lost_commands?: number | null | undefined;
  omitted?: Omitted | null | undefined;
  /** The boundary it ran in. */
  sandbox?: SandboxReport | undefined;
  shell_state: ShellState;
  /** `KILL`, `TERM`, ... when the shell itself died of it. */
  signal?: string | null | undefined;
  stderr: string;
  stderr_bytes: number;
  stderr_encoding: Encoding;
  stdout: string;
  stdout_bytes: number;
  stdout_encoding: Encoding;
  timed_out: boolean;
  /** What it used; only with limits. */
  usage?: Usage | null | undefined;
  waited_ms: number;
  working_dir: string;
};

/** The command a session is busy with. */
export type Running = {
  command: string;
  elapsed_ms: number;
  execution_id: ExecutionId;
};

/** `runtime.health`: it was asked just now. */
export type RuntimeHealth = {
  healthy: boolean;
  name: string;
  /** To its engine and back. */
  round_trip_us?: number | null | undefined;
  trouble?: string | null | undefined;
};

/** A runtime as `runtime.list`, `get` and `add` show it. */
export type RuntimeInfo = {
  /** `command`: the program; `{key}` in it is the name of the link. */
  argv?: string[] | undefined;
  binary?: Binary | undefined;
  /** From the settings, or added since. */
  configured: boolean;
  /** `docker`: all sessions are in this one, which is there already. */
  container?: string | null | undefined;
  /** What its engine says of itself, once it was met. */
  engine?: EngineInfo | null | undefined;
  /** `docker`: each session has a container of this image. */
  image?: string | null | undefined;
  kind: RuntimeKind;
  /** By which it is chosen. */
  labels?: Record<string, string> | null | undefined;
  /** `docker`: what a container may use. */
  limits?: Limits | null | undefined;
  /** Sessions and terminals it may have at once. */
  max_sessions?: number | null | undefined;
  mounts?: Mount[] | undefined;
  /** Of `runtime.add`; in the settings it is the name of the section. */
  name?: string | null | undefined;
  /** `docker`: the name of a network, or `none`. */
  network?: string | null | undefined;
  /** `ssh`: words before the target, such as `-p 2222`. */
  options?: string[] | undefined;
  /** How often a connection to its engine took the place of one that broke. */
  reconnects?: number | undefined;
  /** Sessions and terminals it has. */
  sessions: number;
  /** `docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise. */
  socket?: string | null | undefined;
  state: RuntimeState;
  /** `ssh`: where to, as `ssh` takes it. */
  target?: string | null | undefined;
  /** The last thing that went wrong, while it is not up. */
  trouble?: string | null | undefined;
  /** `docker`: whose process it is there. */
  user?: string | null | undefined;
  /** How much it can take, compared with others; 1 unless told otherwise. */
  weight?: number | null | undefined;
};

/** How a runtime is reached. */
export type RuntimeKind = "host" | "ssh" | "docker" | "command";

export type RuntimeList = {
  runtimes: RuntimeInfo[];
};

/** `runtime.get`, `runtime.health`. */
export type RuntimeParams = {
  name: string;
};

/** `runtime.remove`. */
export type RuntimeRemoveParams = {
  /** Only stop giving it new sessions, and remove it when the last has ended. */
  drain?: boolean | null | undefined;
  /** Close the sessions it has, rather than refuse because of them. */
  force?: boolean | null | undefined;
  name: string;
};

/** The reply to `runtime.remove`. */
export type RuntimeRemoved = {
  /** `command`: the program; `{key}` in it is the name of the link. */
  argv?: string[] | undefined;
  binary?: Binary | undefined;
  /** From the settings, or added since. */
  configured: boolean;
  /** `docker`: all sessions are in this one, which is there already. */
  container?: string | null | undefined;
  /** What its engine says of itself, once it was met. */
  engine?: EngineInfo | null | undefined;
  /** `docker`: each session has a container of this image. */
  image?: string | null | undefined;
  kind: RuntimeKind;
  /** By which it is chosen. */
  labels?: Record<string, string> | null | undefined;
  /** `docker`: what a container may use. */
  limits?: Limits | null | undefined;
  /** Sessions and terminals it may have at once. */
  max_sessions?: number | null | undefined;
  mounts?: Mount[] | undefined;
  /** Of `runtime.add`; in the settings it is the name of the section. */
  name?: string | null | undefined;
  /** `docker`: the name of a network, or `none`. */
  network?: string | null | undefined;
  /** `ssh`: words before the target, such as `-p 2222`. */
  options?: string[] | undefined;
  /** How often a connection to its engine took the place of one that broke. */
  reconnects?: number | undefined;
  /** Or it goes when its last session has ended. */
  removed: boolean;
  /** Sessions and terminals it has. */
  sessions: number;
  /** `docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise. */
  socket?: string | null | undefined;
  state: RuntimeState;
  /** `ssh`: where to, as `ssh` takes it. */
  target?: string | null | undefined;
  /** The last thing that went wrong, while it is not up. */
  trouble?: string | null | undefined;
  /** `docker`: whose process it is there. */
  user?: string | null | undefined;
  /** How much it can take, compared with others; 1 unless told otherwise. */
  weight?: number | null | undefined;
};

/** A runtime as it is written down: `[runtimes.<name>]` in the settings, and `runtime.add`. */
export type RuntimeSpec = {
  /** `command`: the program; `{key}` in it is the name of the link. */
  argv?: string[] | undefined;
  binary?: Binary | undefined;
  /** `docker`: all sessions are in this one, which is there already. */
  container?: string | null | undefined;
  /** `docker`: each session has a container of this image. */
  image?: string | null | undefined;
  kind: RuntimeKind;
  /** By which it is chosen. */
  labels?: Record<string, string> | null | undefined;
  /** `docker`: what a container may use. */
  limits?: Limits | null | undefined;
  /** Sessions and terminals it may have at once. */
  max_sessions?: number | null | undefined;
  mounts?: Mount[] | undefined;
  /** Of `runtime.add`; in the settings it is the name of the section. */
  name?: string | null | undefined;
  /** `docker`: the name of a network, or `none`. */
  network?: string | null | undefined;
  /** `ssh`: words before the target, such as `-p 2222`. */
  options?: string[] | undefined;
  /** `docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise. */
  socket?: string | null | undefined;
  /** `ssh`: where to, as `ssh` takes it. */
  target?: string | null | undefined;
  /** `docker`: whose process it is there. */
  user?: string | null | undefined;
  /** How much it can take, compared with others; 1 unless told otherwise. */
  weight?: number | null | undefined;
};

/** How it stands with a runtime. */
export type RuntimeState = "connecting" | "up" | "idle" | "waiting" | "draining";

/** Where a session is to live: a name, or any that has labels. */
export type RuntimeWish = string | AnyRuntime;

/** How much a sandbox lets through, narrowest first. */
export type SandboxMode = "read-only" | "workspace-write" | "off";

/** The boundary that is asked for: a mode's name, or an object. */
export type SandboxParams = Mode | Object;

/** The boundary there is. */
export type SandboxReport = {
  /** The kernel's version of Landlock. */
  abi?: number | null | undefined;
  /** What enforces it: `landlock+seccomp+namespaces` at best, `none` without a sandbox. */
  backend: string;
  enforced: string[];
  mode: Mode;
  net?: Net | null | undefined;
  not_enforced: string[];
  /** The directory it is around, without links: a name may have led elsewhere since it was last used. */
  workspace?: string | null | undefined;
};

/** How far a yes reaches. */
export type Scope = "once" | "session" | "always";

/** What a person would see. */
export type Screen = {
  /** The alternate screen, as full-screen programs use it. */
  alternate: boolean;
  cols: number;
  /** Column and row, from 0. */
  cursor: ScreenCursor;
  /** With `json`: rows of spans of equal attributes. */
  lines?: unknown | undefined;
  /** Bytes of output this shows. */
  offset: number;
  rows: number;
  terminal_id: TerminalId;
  /** With `text` and `ansi`. */
  text?: string | null | undefined;
  title: string;
  /** Where the shell says it is. */
  working_dir: string;
};

export type ScreenCursor = {
  col: number;
  row: number;
  visible: boolean;
};

/** How a screen is written down. */
export type ScreenFormat = "text" | "ansi" | "json";

export type ScreenParams = {
  format?: ScreenFormat | null | undefined;
  terminal_id: TerminalId;
};

/** One simple command of a command line, as the rules see it. */
export type Segment = {
  /** Its bytes in `command`; absent when it does not stand there literally. */
  at?: Range | null | undefined;
  /** The commands that stand in a text that cannot be taken apart, as far as they can be read. */
  parts?: string[] | undefined;
  /** Why, for people. */
  reason?: string | null | undefined;
  /** The rule that decided, as the case has it. */
  rule?: string | null | undefined;
  /** As it is written. */
  text: string;
  verdict: Verdict;
  /** The prefix that a yes for the session or for always would allow from then on. */
  would_allow?: string | null | undefined;
};

export type SessionCreateParams = {
  /** What is done while a person is asked about it; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** A direct command in place of a shell: the session lives as long as it does. */
  argv?: string[] | null | undefined;
  /** The case it is created from; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  env?: Record<string, string> | null | undefined;
  labels?: Record<string, string> | null | undefined;
  /** What its programs may use. */
  limits?: Limits | null | undefined;
  name?: string | null | undefined;
  on_exit?: OnExit | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  renewal?: Renewal | null | undefined;
  /** Where its processes live; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around it; the configured one unless told otherwise. */
  sandbox?: SandboxParams | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** The shell program; `/bin/sh` unless told otherwise. */
  shell?: string | null | undefined;
  /** Default timeout of this session's commands; 0 is none. */
  timeout_s?: number | null | undefined;
  /** The workspace's, when there is one; else the user's home. */
  working_dir?: string | null | undefined;
  /** The workspace whose files are the session's; an unknown one gets a directory of its own. */
  workspace_id?: string | null | undefined;
};

export type SessionDeleteResult = {
  deleted: boolean;
  session_id: SessionId;
};

export type SessionDestroyParams = {
  /** Kill at once instead of asking first. */
  force?: boolean | null | undefined;
  session_id: SessionId;
};

export type SessionId = string;

/** A session as `create`, `list`, `info`, `get`, `close`, `reset` and `destroy` show it. */
export type SessionInfo = {
  /** Its agent, when its case names one. */
  agent?: AgentInfo | null | undefined;
  /** Of that case's file as it was then. */
  case_digest?: string | null | undefined;
  /** The case it was created from. */
  case_id?: string | null | undefined;
  command_count: number;
  created_at: string;
  /** Why it ended, once it has. */
  ended?: string | null | undefined;
  /** Names only, never values. */
  env_keys: string[];
  /** The one execution of a direct-command session. */
  execution_id?: ExecutionId | null | undefined;
  /** Fields of that case without effect, as nobody trusted it. */
  ignored?: string[] | undefined;
  labels: Record<string, string>;
  last_activity: string;
  /** What its programs may use, and what holds them to it. */
  limits?: LimitsInfo | null | undefined;
  name?: string | null | undefined;
  on_exit: OnExit;
  /** Who made it: `agent`, `operator`, or the id of a token. */
  owner: string;
  /** Approval requests waiting for a person. */
  pending_requests: string[];
  /** The shell's process, while there is one. */
  pid?: number | null | undefined;
  renewal: Renewal;
  /** The checkpoint its shell has its state from. */
  restored_from?: RestoredFrom | null | undefined;
  running?: Running | null | undefined;
  runtime: string;
  sandbox?: SandboxReport | undefined;
  session_id: SessionId;
  /** The shell program, or the first word of a direct command. */
  shell: string;
  state: SessionState;
  /** Default command timeout in whole seconds; 0 is none. */
  timeout_s: number;
  working_dir: string;
  workspace_id?: string | null | undefined;
};

export type SessionList = {
  sessions: SessionInfo[];
};

export type SessionListParams = {
  case_id?: string | null | undefined;
  /** `key` or `key=value`. */
  label?: string | null | undefined;
  /** Of exactly this name. */
  name?: string | null | undefined;
  /** That live in this runtime. */
  runtime?: string | null | undefined;
  state?: SessionState | null | undefined;
  workspace_id?: string | null | undefined;
};

/** Options of `session.create`. */
export type SessionOptions = {
  /** What is done while a person is asked about it; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** A direct command in place of a shell: the session lives as long as it does. */
  argv?: string[] | null | undefined;
  /** The case it is created from; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  env?: Record<string, string> | null | undefined;
  labels?: Record<string, string> | null | undefined;
  /** What its programs may use. */
  limits?: Limits | null | undefined;
  name?: string | null | undefined;
  on_exit?: OnExit | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  renewal?: Renewal | null | undefined;
  /** Where its processes live; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around it; the configured one unless told otherwise. */
  sandbox?: SandboxParams | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** The shell program; `/bin/sh` unless told otherwise. */
  shell?: string | null | undefined;
  /** Default timeout of this session's commands; 0 is none. */
  timeout_s?: number | null | undefined;
  /** The workspace's, when there is one; else the user's home. */
  working_dir?: string | null | undefined;
  /** The workspace whose files are the session's; an unknown one gets a directory of its own. */
  workspace_id?: string | null | undefined;
};

/** Parameters of methods that only name a session. */
export type SessionParams = {
  session_id: SessionId;
};

/** Options of `exec.run`. */
export type SessionRunOptions = {
  /** When a person has to be asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** For this command only. */
  env?: Record<string, string> | null | undefined;
  /** The same key returns the same execution instead of running twice. */
  idempotency_key?: string | null | undefined;
  /** Bytes kept in memory per stream. */
  max_output_bytes?: number | null | undefined;
  on_denied?: OnDenied | null | undefined;
  /** Keep stdin open (after `stdin`, if given) for `exec.input`. */
  open_stdin?: boolean | null | undefined;
  /** Wait for the session instead of `SESSION_BUSY`. */
  queue?: boolean | null | undefined;
  /** 0 is none; the session's default otherwise. */
  timeout_s?: number | null | undefined;
  /** For this command only. */
  working_dir?: string | null | undefined;
};

/** Where a session stands. Drawn in `docs/architecture.md`. */
export type SessionState = "uninitialized" | "creating" | "ready" | "running" | "waiting_hitl" | "idle" | "closed" | "terminated";

/** What became of the session's shell. */
export type ShellState = "kept" | "rolled_back" | "reset" | "ended";

/** Whether an agent runs commands without TRL. */
export type ShellWord = "on" | "off" | "unknown";

export type ShutdownParams = {
  force?: boolean | null | undefined;
};

export type ShuttingDown = {
  sessions: number;
};

/** Whose window decides how large a terminal is. */
export type SizePolicy = "driver" | "pinned" | "smallest";

export type SlashCommand = {
  description: string;
  name: string;
};

/** Bytes that bring a fresh terminal of this size to the same state. */
export type Snapshot = {
  cols: number;
  data: string;
  encoding: Encoding;
  gen: string;
  /** Live output continues here. */
  offset: number;
  rows: number;
  terminal_id: TerminalId;
};

export type SnapshotParams = {
  /** Lines of history to put before the screen; all there are when absent. */
  history_lines?: number | null | undefined;
  terminal_id: TerminalId;
};

/** How much is kept of files. */
export type SnapshotSpec = {
  /** Of all together; 256 MiB unless told otherwise. */
  max_bytes?: number | null | undefined;
  /** A larger file is left out; 32 MiB unless told otherwise. */
  max_file_bytes?: number | null | undefined;
  /** 50 000 unless told otherwise; with more than that none is taken. */
  max_files?: number | null | undefined;
};

/** Options of `exec.start`. */
export type StartOptions = {
  /** When a person has to be asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** The case of a fresh process; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  cols?: number | null | undefined;
  env?: Record<string, string> | null | undefined;
  /** The same key returns the same execution instead of starting another. */
  idempotency_key?: string | null | undefined;
  /** What a fresh process may use. */
  limits?: Limits | null | undefined;
  /** Bytes kept in memory per stream, and shown in one reply. */
  max_output_bytes?: number | null | undefined;
  name?: string | null | undefined;
  on_disconnect?: OnDisconnect | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  /** In a session: wait for it instead of `SESSION_BUSY`. */
  queue?: boolean | null | undefined;
  rows?: number | null | undefined;
  /** Where a fresh process lives; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around a fresh process, whose workspace is `working_dir`; a session has its own. */
  sandbox?: SandboxParams | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** The shell for `command`; `/bin/sh` unless told otherwise. */
  shell?: string | null | undefined;
  /** Of a fresh process on pipes: `stdout` puts both streams in one, in the order they were written. */
  stderr?: StderrTo | null | undefined;
  /** How long the process may run; 0, which is the default of a fresh process, is for ever. */
  timeout_s?: number | null | undefined;
  /** On a terminal of its own, which people can watch and type into. */
  tty?: boolean | null | undefined;
  /** Of a fresh process; `0022` unless told otherwise. */
  umask?: Umask | null | undefined;
  working_dir?: string | null | undefined;
  /** Of a fresh process. */
  workspace_id?: string | null | undefined;
  /** How long this call waits for the end; 10000, and between 250 and 30000. */
  yield_ms?: number | null | undefined;
};

/** `exec.start`: a fresh process unless a session is named. */
export type StartParams = {
  /** When a person has to be asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Or a program and its arguments, with no shell between. */
  argv?: string[] | null | undefined;
  /** The case of a fresh process; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  cols?: number | null | undefined;
  /** Text for a shell. */
  command?: string | null | undefined;
  env?: Record<string, string> | null | undefined;
  /** Reply as soon as it has begun, and push every byte and the end as `exec.stream` does; it waits for whoever reads. */
  follow?: boolean | null | undefined;
  /** The same key returns the same execution instead of starting another. */
  idempotency_key?: string | null | undefined;
  /** What a fresh process may use. */
  limits?: Limits | null | undefined;
  /** Bytes kept in memory per stream, and shown in one reply. */
  max_output_bytes?: number | null | undefined;
  name?: string | null | undefined;
  on_disconnect?: OnDisconnect | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  /** In a session: wait for it instead of `SESSION_BUSY`. */
  queue?: boolean | null | undefined;
  rows?: number | null | undefined;
  /** Where a fresh process lives; the configured runtime unless told otherwise. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around a fresh process, whose workspace is `working_dir`; a session has its own. */
  sandbox?: SandboxParams | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** Run `command` in this session's shell. */
  session_id?: SessionId | null | undefined;
  /** The shell for `command`; `/bin/sh` unless told otherwise. */
  shell?: string | null | undefined;
  /** Of a fresh process on pipes: `stdout` puts both streams in one, in the order they were written. */
  stderr?: StderrTo | null | undefined;
  /** `open` unless told otherwise. */
  stdin?: StartStdin | null | undefined;
  /** How long the process may run; 0, which is the default of a fresh process, is for ever. */
  timeout_s?: number | null | undefined;
  /** On a terminal of its own, which people can watch and type into. */
  tty?: boolean | null | undefined;
  /** Of a fresh process; `0022` unless told otherwise. */
  umask?: Umask | null | undefined;
  working_dir?: string | null | undefined;
  /** Of a fresh process. */
  workspace_id?: string | null | undefined;
  /** How long this call waits for the end; 10000, and between 250 and 30000. */
  yield_ms?: number | null | undefined;
};

/** The reply to `exec.start`. */
export type StartReply = Progress | StreamStarted;

/** What a process reads. */
export type StartStdin = StdinName | StdinBytes;

/** `fs.stat`. */
export type StatParams = {
  /** From the root of the workspace; the root itself when absent. */
  path?: string | null | undefined;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

export type Stats = {
  active_sessions: number;
  /** How long people took to answer. */
  approval_wait_ms: Distribution;
  /** How long commands ran, since the daemon started. */
  command_duration_ms: Distribution;
  /** How long they waited before that. */
  command_wait_ms: Distribution;
  connections: number;
  events_seq: number;
  execution_build_us: number;
  /** Commands that began, and microseconds from their requests to their processes, without queues and people. */
  execution_builds: number;
  memory_rss_bytes: number;
  open_fds: number;
  /** What commands and terminals wrote since the daemon started. */
  output_bytes: number;
  output_memory_bytes: number;
  /** Requests that wait for a person. */
  pending_requests?: number | undefined;
  records_dropped: number;
  records_failed: number;
  /** Writes to the store, those it refused, and executions it was not told of. */
  records_written: number;
  resets: number;
  /** Sessions that take commands. */
  resident_sessions: number;
  retained_executions: number;
  rollbacks: number;
  running_executions: number;
  /** Connections to engines elsewhere that took the place of broken ones. */
  runtime_reconnects?: number | undefined;
  /** What each of those the caller may use has. */
  runtime_sessions?: Record<string, number> | undefined;
  /** How many runtimes there are in each state they can be in. */
  runtimes?: Record<string, number> | undefined;
  /** Sessions that were asked for and found in memory, and those that were looked for in the store. */
  session_hits: number;
  session_misses: number;
  sessions_created: number;
  /** Writes that wait. */
  store_queue_bytes: number;
  threads: number;
  timeouts: number;
  total_commands_run: number;
  uptime_s: number;
};

/** Where errors go. */
export type StderrTo = "stdout" | "stderr";

export type StdinBytes = {
  data: string;
  encoding?: Encoding | null | undefined;
};

export type StdinName = "open" | "null";

export type Stream = "stdout" | "stderr" | "tty";

export type StreamId = string;

/** The reply to `exec.stream`. */
export type StreamStarted = {
  /** Over plain HTTP, which has no pushes: where to read them. */
  events?: string | null | undefined;
  execution_id: ExecutionId;
  /** When a person is asked before it begins. */
  request_id?: RequestId | null | undefined;
  stream_id: StreamId;
};

export type SubscribeParams = {
  /** Only these kinds; all when absent. */
  kinds?: Kind[] | null | undefined;
  session_id?: SessionId | null | undefined;
  /** Also what happened after this sequence number, as far as it is remembered. */
  since?: number | null | undefined;
};

export type Subscribed = {
  /** The newest event at the time of subscribing. */
  seq: number;
  stream_id: StreamId;
};

export type TerminalCreateParams = {
  /** When a person has to be asked: `wait` unless told otherwise, or `fail`. */
  approval?: Approval | null | undefined;
  /** A direct command in place of a shell. */
  argv?: string[] | null | undefined;
  /** The case it is created from; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  cols?: number | null | undefined;
  env?: Record<string, string> | null | undefined;
  labels?: Record<string, string> | null | undefined;
  /** What its programs may use. */
  limits?: Limits | null | undefined;
  name?: string | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  rows?: number | null | undefined;
  /** Only `host` so far. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around it; the configured one unless told otherwise. */
  sandbox?: SandboxParams | null | undefined;
  /** Newest bytes replayed to a client that asks for nothing better. */
  scrollback_bytes?: number | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** The shell program, started as an interactive one; the user's own unless told otherwise. */
  shell?: string | null | undefined;
  size_policy?: SizePolicy | null | undefined;
  working_dir?: string | null | undefined;
  /** The group of terminals it is listed under, whose cases it may be created from. */
  workspace_id?: string | null | undefined;
};

export type TerminalDestroyParams = {
  /** Until then `terminal.keep` takes it back; at once when absent. */
  grace_s?: number | null | undefined;
  terminal_id: TerminalId;
};

export type TerminalId = string;

/** A terminal as `create`, `list` and `get` show it. */
export type TerminalInfo = {
  /** Of that case's file as it was then. */
  case_digest?: string | null | undefined;
  /** The case it was created from. */
  case_id?: string | null | undefined;
  /** Clients that are attached. */
  clients: number;
  cols: number;
  created_at: string;
  /** When it will be destroyed, if nobody takes that back. */
  destroy_in_s?: number | null | undefined;
  /** Why it ended, once it has. */
  ended?: string | null | undefined;
  /** Names only, never values. */
  env_keys: string[];
  /** 128 + n when a signal ended the program. */
  exit_code?: number | null | undefined;
  /** This incarnation of the terminal: offsets of another mean nothing here. */
  gen: string;
  /** Bytes of output so far. */
  head: number;
  /** Fields of that case without effect, as nobody trusted it. */
  ignored?: string[] | undefined;
  labels: Record<string, string>;
  last_activity: string;
  /** What its programs may use, and what holds them to it. */
  limits?: LimitsInfo | null | undefined;
  name?: string | null | undefined;
  pid?: number | null | undefined;
  /** The oldest byte that can still be replayed. */
  ring_start: number;
  rows: number;
  runtime: string;
  sandbox?: SandboxReport | undefined;
  /** The program. */
  shell: string;
  signal?: string | null | undefined;
  size_policy: SizePolicy;
  state: TerminalState;
  terminal_id: TerminalId;
  /** What the program calls itself. */
  title: string;
  /** What they used, once it has ended; only with limits. */
  usage?: Usage | null | undefined;
  /** Where the shell says it is, or where it was started. */
  working_dir: string;
  workspace_id?: string | null | undefined;
};

export type TerminalInputParams = {
  /** Typed as it is. */
  data?: string | null | undefined;
  encoding?: Encoding | null | undefined;
  /** Pressed after that, by name: `Up`, `C-c`, `F5`; sent as the program wants them. */
  keys?: string[] | null | undefined;
  terminal_id: TerminalId;
};

export type TerminalInputResult = {
  terminal_id: TerminalId;
  written_bytes: number;
};

export type TerminalList = {
  terminals: TerminalInfo[];
};

export type TerminalListParams = {
  workspace_id?: string | null | undefined;
};

/** Options of `terminal.create`. */
export type TerminalOptions = {
  /** When a person has to be asked: `wait` unless told otherwise, or `fail`. */
  approval?: Approval | null | undefined;
  /** The case it is created from; the configured one, if there is one, unless told otherwise. */
  case_id?: string | null | undefined;
  cols?: number | null | undefined;
  env?: Record<string, string> | null | undefined;
  labels?: Record<string, string> | null | undefined;
  /** What its programs may use. */
  limits?: Limits | null | undefined;
  name?: string | null | undefined;
  /** Names to take from the daemon's own environment. */
  pass_env?: string[] | null | undefined;
  rows?: number | null | undefined;
  /** Only `host` so far. */
  runtime?: RuntimeWish | null | undefined;
  /** The boundary around it; the configured one unless told otherwise. */
  sandbox?: SandboxParams | null | undefined;
  /** Newest bytes replayed to a client that asks for nothing better. */
  scrollback_bytes?: number | null | undefined;
  /** Like `env`, for values that must never be shown or kept. */
  secret_env?: Record<string, string> | null | undefined;
  /** The shell program, started as an interactive one; the user's own unless told otherwise. */
  shell?: string | null | undefined;
  size_policy?: SizePolicy | null | undefined;
  working_dir?: string | null | undefined;
  /** The group of terminals it is listed under, whose cases it may be created from. */
  workspace_id?: string | null | undefined;
};

/** Parameters of methods that only name a terminal. */
export type TerminalParams = {
  terminal_id: TerminalId;
};

export type TerminalResizeParams = {
  cols: number;
  rows: number;
  terminal_id: TerminalId;
};

export type TerminalSignalParams = {
  signal: string;
  terminal_id: TerminalId;
};

export type TerminalSignalResult = {
  /** How many processes got it. */
  processes: number;
  terminal_id: TerminalId;
};

/** Where a terminal stands. */
export type TerminalState = "running" | "exited";

/** What a browser presents once in place of a token (`POST /api/tickets`). */
export type Ticket = {
  expires_in_s: number;
  ticket: string;
};

/** The one reply that holds the token itself. */
export type TokenCreated = {
  ceilings?: Ceilings | undefined;
  created_at: string;
  expires_at?: string | null | undefined;
  /** To the minute. */
  last_used_at?: string | null | undefined;
  name: string;
  role: Role;
  token: string;
  token_id: TokenId;
};

export type TokenId = string;

/** A token without its secret. */
export type TokenInfo = {
  ceilings?: Ceilings | undefined;
  created_at: string;
  expires_at?: string | null | undefined;
  /** To the minute. */
  last_used_at?: string | null | undefined;
  name: string;
  role: Role;
  token_id: TokenId;
};

export type TokenList = {
  tokens: TokenInfo[];
};

export type TokenParams = {
  token_id: TokenId;
};

export type TokenRevoked = {
  revoked: boolean;
  token_id: TokenId;
};

/** The permissions that files are made without, in octal digits as `umask` prints them. */
export type Umask = string;

/** The first that holds ends the wait. */
export type Until = {
  /** So many bytes were written from `since` on. */
  bytes?: number | null | undefined;
  /** The end always ends the wait; `true` says that nothing else does. */
  exit?: boolean | null | undefined;
  /** Nothing was written for so long. */
  idle_ms?: number | null | undefined;
  /** A regular expression that the output matches, from `since` on. */
  pattern?: string | null | undefined;
  /** Where `pattern` and `bytes` begin in the stream; 0. */
  since?: number | null | undefined;
  /** Only this stream counts. */
  stream?: Stream | null | undefined;
};

/** The push `agent.update`. */
export type UpdatePush = {
  message_id: MessageId;
  /** From 1, without gaps. */
  seq: number;
  session_id: SessionId;
  /** Absent in events of plain HTTP. */
  stream_id?: StreamId | null | undefined;
  time: string;
  update: AgentUpdate;
};

/** What was used: time and disk since the command began, memory at its most since the session did. */
export type Usage = {
  /** What held it to its limits. */
  backend: LimitsBackend;
  cpu_ms: number;
  /** Of disks, where the kernel counts it. */
  io?: IoUsage | null | undefined;
  /** The limit that was met. */
  limit_hit?: Limit | null | undefined;
  memory_peak_bytes: number;
  /** Limits it was not held to. */
  not_enforced: Limit[];
  /** The kernel ended a process for want of memory. */
  oom_killed: boolean;
  scope: UsageScope;
};

/** Whose usage it is. */
export type UsageScope = "session" | "execution";

/** What the rules say of a part of a command, the strictest last. */
export type Verdict = "allow" | "deny" | "ask";

/** `exec.wait`: until one of these holds, the end in any case. Waiting ends nothing. */
export type WaitParams = {
  execution_id: ExecutionId;
  /** Shown in the reply, per stream. */
  max_output_bytes?: number | null | undefined;
  /** 30 unless told otherwise, at most 600. */
  timeout_s?: number | null | undefined;
  /** The end, when absent. */
  until?: Until | null | undefined;
};

/** How far an execution has come: what it wrote since the last call that was told, and its end, once it has ended. */
export type Waited = {
  /** Ranges of the streams that are not in this reply, of what it should have told. */
  gap?: Omitted | null | undefined;
  matched?: Matched | null | undefined;
  /** Where the next call goes on. */
  next: Next;
  reason: Reason;
  /** While a person has to be asked before it begins. */
  request_id?: RequestId | null | undefined;
  session_id?: SessionId | null | undefined;
  status: ExecutionStatus;
  stderr: string;
  stderr_encoding: Encoding;
  stdout: string;
  stdout_encoding: Encoding;
  /** Where it runs, with `tty`; everything it writes is `stdout` then. */
  terminal_id?: TerminalId | null | undefined;
} & (Outcome | {
  elapsed_ms: number;
  execution_id: ExecutionId;
  /** The boundary around it. */
  sandbox: SandboxReport;
});

/** A command that has not begun: a person is asked first. */
export type Waiting = {
  execution_id: ExecutionId;
  request_id: RequestId;
  /** `waiting_hitl`. */
  state: SessionState;
};

/** `fs.watch`. */
export type WatchParams = {
  /** From the root of the workspace; the root itself when absent. */
  path?: string | null | undefined;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Everything below as well. */
  recursive?: boolean | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** What changes is pushed as `fs.changed`, for as long as the connection lasts. */
export type Watching = {
  stream_id: StreamId;
  /** There are more directories than are watched. */
  truncated: boolean;
};

export type WorkspaceCreateParams = {
  /** An absolute path, for the operator to give; a fresh directory of the daemon's when absent. */
  dir?: string | null | undefined;
  workspace_id: string;
};

export type WorkspaceInfo = {
  created_at: string;
  dir: string;
  /** Who made it: `agent`, `operator`, or the id of a token. */
  owner: string;
  workspace_id: string;
};

export type WorkspaceList = {
  workspaces: WorkspaceInfo[];
};

export type WorkspaceParams = {
  workspace_id: string;
};

/** `fs.write`. */
export type WriteParams = {
  /** What is done while a person is asked; `wait` unless told otherwise. */
  approval?: Approval | null | undefined;
  /** Make missing directories on the way. */
  create_dirs?: boolean | null | undefined;
  data: string;
  encoding?: Encoding | null | undefined;
  /** Only in place of the file of this version; empty: only where nothing is. */
  if_version?: string | null | undefined;
  /** Permission bits in octal digits, such as `0755`; those of the old file, or the usual ones. */
  mode?: string | null | undefined;
  path: string;
  /** `base64` for a path that is not UTF-8. */
  path_encoding?: Encoding | null | undefined;
  /** Of this session: its workspace, or the directory it was created in. */
  session_id?: SessionId | null | undefined;
  /** Of this workspace; one of the two is named. */
  workspace_id?: string | null | undefined;
};

/** Every method of the wire. */
export interface Methods {
  /** push what the agent does about a message, from any point on */
  "agent.follow": { params: AgentFollowParams; result: MessageStream };
  /** messages to the agent and what came of them */
  "agent.history": { params: AgentHistoryParams; result: AgentHistory };
  /** give the session's agent something to do, and push what it does */
  "agent.send_message": { params: AgentSendParams; result: MessageStream };
  /** end what the agent does */
  "agent.stop": { params: AgentStopParams; result: AgentStopped };
  /** one case, as it takes effect */
  "case.get": { params: CaseParams; result: CaseDetail };
  /** the cases sessions can be created from, and broken ones */
  "case.list": { params: CaseListParams; result: CaseList };
  /** let all of a workspace's case take effect */
  "case.trust": { params: CaseTrustParams; result: CaseInfo };
  /** is this text a case, and what is wrong with it */
  "case.validate": { params: CaseValidateParams; result: CaseValidated };
  /** keep the state of a session's shell */
  "checkpoint.create": { params: CheckpointCreateParams; result: CheckpointInfo };
  /** forget a kept state */
  "checkpoint.delete": { params: DeleteParams; result: CheckpointDeleteResult };
  /** the kept states of a session */
  "checkpoint.list": { params: CheckpointListParams; result: CheckpointList };
  /** a fresh shell with a state that was kept */
  "checkpoint.restore": { params: RestoreParams; result: Restored };
  /** push what happens to sessions and executions */
  "events.subscribe": { params: SubscribeParams; result: Subscribed };
  /** end a running or queued command */
  "exec.cancel": { params: CancelParams; result: Cancelled };
  /** write to, or close, the stdin of a command */
  "exec.input": { params: ExecInputParams; result: ExecInputResult };
  /** live and retained executions */
  "exec.list": { params: ExecListParams; result: ExecutionList };
  /** read output by byte offset */
  "exec.output": { params: OutputParams; result: OutputSlice };
  /** give the terminal of an execution another size */
  "exec.resize": { params: ExecResizeParams; result: Resized };
  /** the result of an execution, as long as it is retained */
  "exec.result": { params: ExecutionParams; result: ResultReply };
  /** run a command and wait for its result */
  "exec.run": { params: RunParams; result: RunReply };
  /** send a signal to everything a command started */
  "exec.signal": { params: ExecSignalParams; result: ExecSignalResult };
  /** start a process, and wait for it for so long at most */
  "exec.start": { params: StartParams; result: StartReply };
  /** run a command and push its output as it comes */
  "exec.stream": { params: RunParams; result: StreamStarted };
  /** wait for an end, a pattern, silence or some bytes */
  "exec.wait": { params: WaitParams; result: Waited };
  /** files by a pattern of their path */
  "fs.glob": { params: GlobParams; result: Globbed };
  /** lines by a regular expression */
  "fs.grep": { params: GrepParams; result: Matches };
  /** what is in a directory */
  "fs.list": { params: FsListParams; result: FileList };
  /** make a directory */
  "fs.mkdir": { params: MkdirParams; result: FsMkdirResult };
  /** give a file or directory another name */
  "fs.move": { params: MoveParams; result: FsMoveResult };
  /** some bytes of a file */
  "fs.read": { params: ReadParams; result: FileSlice };
  /** remove a file, or a directory with all that is in it */
  "fs.remove": { params: RemoveParams; result: FsRemoveResult };
  /** what is known of a file */
  "fs.stat": { params: StatParams; result: FileInfo };
  /** push what changes below a directory */
  "fs.watch": { params: WatchParams; result: Watching };
  /** write a file, all of it or nothing */
  "fs.write": { params: WriteParams; result: FsWriteResult };
  /** who decided what, and when */
  "hitl.audit": { params: AuditParams; result: Audit };
  /** one of them */
  "hitl.get": { params: RequestParams; result: ApprovalRequest };
  /** commands that wait for a person, or did */
  "hitl.list": { params: RequestListParams; result: RequestList };
  /** say yes or no to one of them */
  "hitl.respond": { params: RespondParams; result: ApprovalRequest };
  /** wait for the answer to one of them */
  "hitl.wait": { params: RequestWaitParams; result: ApprovalRequest };
  /** one more, also for the next daemon */
  "runtime.add": { params: RuntimeSpec; result: RuntimeInfo };
  /** one of them */
  "runtime.get": { params: RuntimeParams; result: RuntimeInfo };
  /** ask its engine, which is started there if need be */
  "runtime.health": { params: RuntimeParams; result: RuntimeHealth };
  /** the places where sessions can live, and how it stands with them */
  "runtime.list": { params: NoParams; result: RuntimeList };
  /** one less: at once, or when its last session has ended */
  "runtime.remove": { params: RuntimeRemoveParams; result: RuntimeRemoved };
  /** end its processes, keep its record */
  "session.close": { params: SessionParams; result: SessionInfo };
  /** start a session */
  "session.create": { params: SessionCreateParams; result: CreateReply };
  /** end a session, and remove its records and files */
  "session.delete": { params: SessionParams; result: SessionDeleteResult };
  /** end a session for good */
  "session.destroy": { params: SessionDestroyParams; result: Destroyed };
  /** events.subscribe, for one session */
  "session.events": { params: SubscribeParams; result: Subscribed };
  /** open a closed session again */
  "session.get": { params: GetParams; result: SessionInfo };
  /** what was run, newest first, with search */
  "session.history": { params: HistoryParams; result: History };
  /** one session, ended ones too for a while */
  "session.info": { params: SessionParams; result: SessionInfo };
  /** the sessions this connection may see */
  "session.list": { params: SessionListParams; result: SessionList };
  /** a fresh shell under the same id */
  "session.reset": { params: SessionParams; result: SessionInfo };
  /** present a token; only as the first request of a connection */
  "system.auth": { params: AuthParams; result: Authenticated };
  /** what this machine can do, and what could be better */
  "system.doctor": { params: NoParams; result: Diagnosis };
  /** limits, paths and capabilities of the daemon */
  "system.info": { params: NoParams; result: Info };
  /** the last lines of the daemon's log */
  "system.log": { params: LogParams; result: LogLines };
  /** is the daemon alive, and which version */
  "system.ping": { params: NoParams; result: Ping };
  /** end the daemon and all its sessions */
  "system.shutdown": { params: ShutdownParams; result: ShuttingDown };
  /** counters and sizes */
  "system.stats": { params: NoParams; result: Stats };
  /** start a program on a terminal */
  "terminal.create": { params: TerminalCreateParams; result: TerminalInfo };
  /** end everything a terminal started, at once or after a grace */
  "terminal.destroy": { params: TerminalDestroyParams; result: TerminalInfo };
  /** one terminal, ended ones too for a while */
  "terminal.get": { params: TerminalParams; result: TerminalInfo };
  /** type into a terminal */
  "terminal.input": { params: TerminalInputParams; result: TerminalInputResult };
  /** take a destroy back while it is still to come */
  "terminal.keep": { params: TerminalParams; result: TerminalInfo };
  /** the terminals this connection may see */
  "terminal.list": { params: TerminalListParams; result: TerminalList };
  /** give a terminal another size */
  "terminal.resize": { params: TerminalResizeParams; result: TerminalInfo };
  /** what a person would see */
  "terminal.screen": { params: ScreenParams; result: Screen };
  /** send a signal to whoever has the keyboard */
  "terminal.signal": { params: TerminalSignalParams; result: TerminalSignalResult };
  /** bytes that bring a fresh terminal to the same state */
  "terminal.snapshot": { params: SnapshotParams; result: Snapshot };
  /** make a token with a role; the reply alone holds it */
  "token.create": { params: CreateTokenParams; result: TokenCreated };
  /** the tokens there are, without their secrets */
  "token.list": { params: NoParams; result: TokenList };
  /** end a token, and the connections that use it */
  "token.revoke": { params: TokenParams; result: TokenRevoked };
  /** give a workspace a directory: a fresh one, or for the operator any */
  "workspace.create": { params: WorkspaceCreateParams; result: WorkspaceInfo };
  /** one workspace */
  "workspace.get": { params: WorkspaceParams; result: WorkspaceInfo };
  /** the workspaces this connection may use */
  "workspace.list": { params: NoParams; result: WorkspaceList };
}

/** What is sent without being asked for. */
export interface Pushes {
  "agent.done": DonePush;
  "agent.update": UpdatePush;
  "event": Event;
  "exec.exit": ExitPush;
  "exec.output": OutputPushed;
  "exec.refused": RefusedPush;
  "fs.changed": ChangedPush;
}
