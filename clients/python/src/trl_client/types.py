"""The shapes of the wire: what methods take, and what they answer with.

Made by clients/generate from docs/openapi.json.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

__all__ = ['AgentFollowParams', 'AgentHistory', 'AgentHistoryParams', 'AgentInfo', 'AgentLocation', 'AgentMessage', 'AgentName', 'AgentNumberedUpdate', 'AgentSendParams', 'AgentSpec', 'AgentStarted', 'AgentState', 'AgentStopParams', 'AgentStopReason', 'AgentStopped', 'AgentToolCall', 'AgentToolContent', 'AgentUpdate', 'AnyRuntime', 'Approval', 'ApprovalBoundary', 'ApprovalRequest', 'ApprovalSpec', 'Audit', 'AuditEntry', 'AuditParams', 'AuthParams', 'Authenticated', 'Binary', 'Bucket', 'CancelParams', 'Cancelled', 'CaseDetail', 'CaseError', 'CaseInfo', 'CaseList', 'CaseListParams', 'CaseOrigin', 'CaseParams', 'CaseSpec', 'CaseTrustParams', 'CaseValidateParams', 'CaseValidated', 'Ceilings', 'Change', 'ChangeKind', 'ChangeWaiting', 'ChangedPush', 'CheckpointCreateParams', 'CheckpointDeleteResult', 'CheckpointId', 'CheckpointInfo', 'CheckpointList', 'CheckpointListParams', 'Confidence', 'CorruptInfo', 'CreateReply', 'CreateTokenParams', 'CreateWaiting', 'Decision', 'DeleteParams', 'Denied', 'Destroyed', 'Diagnosis', 'DirMade', 'Distribution', 'DonePush', 'Encoding', 'EngineInfo', 'ErrorCode', 'ErrorDetail', 'Event', 'Excerpt', 'ExecInputParams', 'ExecInputResult', 'ExecListParams', 'ExecResizeParams', 'ExecSignalParams', 'ExecSignalResult', 'Executable', 'ExecutionId', 'ExecutionInfo', 'ExecutionList', 'ExecutionParams', 'ExecutionStatus', 'ExitPush', 'FileChange', 'FileInfo', 'FileKind', 'FileList', 'FileMoved', 'FileOp', 'FilePath', 'FileRemoved', 'FileSlice', 'FileWritten', 'FilesInfo', 'Finding', 'FsListParams', 'FsMkdirResult', 'FsMoveResult', 'FsRemoveResult', 'FsWriteResult', 'GetParams', 'GlobParams', 'Globbed', 'GrepParams', 'Health', 'History', 'HistoryEntry', 'HistoryParams', 'Info', 'IoUsage', 'Kind', 'Limit', 'Limits', 'LimitsBackend', 'LimitsInfo', 'LogLines', 'LogParams', 'Match', 'Matched', 'Matches', 'MessageId', 'MessageState', 'MessageStream', 'MkdirParams', 'Mode', 'Mount', 'MoveParams', 'Net', 'Next', 'NoParams', 'NotRestored', 'Object', 'Omitted', 'OnDenied', 'OnDisconnect', 'OnExit', 'OptionKind', 'Origin', 'Outcome', 'OutputParams', 'OutputPushed', 'OutputSlice', 'OwnShell', 'PartName', 'Permission', 'PermissionOption', 'Ping', 'PlanEntry', 'Progress', 'Range', 'ReadParams', 'Reason', 'Refused', 'RefusedPush', 'RemoveParams', 'Renewal', 'RequestId', 'RequestList', 'RequestListParams', 'RequestParams', 'RequestState', 'RequestWaitParams', 'Resized', 'Resolution', 'RespondParams', 'RestoreParams', 'Restored', 'RestoredFile', 'RestoredFrom', 'RestoredPart', 'ResultReply', 'Resumed', 'Role', 'RuleSpec', 'RunOptions', 'RunParams', 'RunReply', 'RunResult', 'Running', 'RuntimeHealth', 'RuntimeInfo', 'RuntimeKind', 'RuntimeList', 'RuntimeParams', 'RuntimeRemoveParams', 'RuntimeRemoved', 'RuntimeSpec', 'RuntimeState', 'RuntimeWish', 'SandboxMode', 'SandboxParams', 'SandboxReport', 'Scope', 'Screen', 'ScreenCursor', 'ScreenFormat', 'ScreenParams', 'Segment', 'SessionCreateParams', 'SessionDeleteResult', 'SessionDestroyParams', 'SessionId', 'SessionInfo', 'SessionList', 'SessionListParams', 'SessionOptions', 'SessionParams', 'SessionRunOptions', 'SessionState', 'ShellState', 'ShellWord', 'ShutdownParams', 'ShuttingDown', 'SizePolicy', 'SlashCommand', 'Snapshot', 'SnapshotParams', 'SnapshotSpec', 'StartOptions', 'StartParams', 'StartReply', 'StartStdin', 'StatParams', 'Stats', 'StderrTo', 'StdinBytes', 'StdinName', 'Stream', 'StreamId', 'StreamStarted', 'SubscribeParams', 'Subscribed', 'TerminalCreateParams', 'TerminalDestroyParams', 'TerminalId', 'TerminalInfo', 'TerminalInputParams', 'TerminalInputResult', 'TerminalList', 'TerminalListParams', 'TerminalOptions', 'TerminalParams', 'TerminalResizeParams', 'TerminalSignalParams', 'TerminalSignalResult', 'TerminalState', 'Ticket', 'TokenCreated', 'TokenId', 'TokenInfo', 'TokenList', 'TokenParams', 'TokenRevoked', 'Umask', 'Until', 'UpdatePush', 'Usage', 'UsageScope', 'Verdict', 'WaitParams', 'Waited', 'Waiting', 'WatchParams', 'Watching', 'WorkspaceCreateParams', 'WorkspaceInfo', 'WorkspaceList', 'WorkspaceParams', 'WriteParams']


class _AgentFollowParams(TypedDict):
    session_id: "SessionId"


class AgentFollowParams(_AgentFollowParams, total=False):
    """`agent.follow`."""
    message_id: Optional["MessageId"]
    """The newest unless told otherwise."""
    since: Optional[int]
    """The last update that is known already."""


class AgentHistory(TypedDict):
    messages: List["AgentMessage"]
    """Oldest first."""
    more: bool
    """There are older ones."""


class _AgentHistoryParams(TypedDict):
    session_id: "SessionId"


class AgentHistoryParams(_AgentHistoryParams, total=False):
    """`agent.history`."""
    before: Optional["MessageId"]
    """Only what was sent before this one."""
    limit: Optional[int]
    """20 unless told otherwise, at most 100."""


class _AgentInfo(TypedDict):
    state: "AgentState"


class AgentInfo(_AgentInfo, total=False):
    """The agent of a session, in `session.info`."""
    agent_session_id: Optional[str]
    """Its own id of the conversation."""
    message_id: Optional["MessageId"]
    """The newest message."""
    name: Optional[str]
    version: Optional[str]
    warm_until: Optional[str]
    """Until when it is kept, at most."""


class _AgentLocation(TypedDict):
    path: str


class AgentLocation(_AgentLocation, total=False):
    line: Optional[int]


class _AgentMessage(TypedDict):
    created_at: str
    last_seq: int
    """Of its last update; 0 when there is none."""
    message_id: "MessageId"
    session_id: "SessionId"
    state: "MessageState"
    text: str
    updates: List["AgentNumberedUpdate"]


class AgentMessage(_AgentMessage, total=False):
    """A message and what came of it."""
    cut: bool
    """There was no room for its updates: `agent.follow` has them."""
    ended_at: Optional[str]
    error: Optional["Refused"]
    stop_reason: Optional["AgentStopReason"]


class _AgentName(TypedDict):
    name: str


class AgentName(_AgentName, total=False):
    title: Optional[str]
    version: Optional[str]


class AgentNumberedUpdate(TypedDict):
    """An update with its place in the message."""
    seq: int
    """From 1, without gaps."""
    time: str
    update: "AgentUpdate"


class AgentSendParams(TypedDict):
    """`agent.send_message`."""
    message: str
    """Text, at most 1 MiB."""
    session_id: "SessionId"


class _AgentSpec(TypedDict):
    command: List[str]
    """The program and its arguments."""


class AgentSpec(_AgentSpec, total=False):
    """The agent that answers messages to a session of this case."""
    env: Optional[Dict[str, str]]
    """Variables of the agent alone."""
    linger_s: Optional[int]
    """How long it is kept after one, for the next; 0 is not at all."""
    own_shell: Optional["OwnShell"]
    """Whether it may run commands without the daemon; `off` unless told otherwise."""
    timeout_s: Optional[int]
    """How long it may take over one message; 0 is for ever."""


class AgentStarted(TypedDict):
    agent: "AgentName"
    agent_session_id: str
    """Its own id of the conversation."""
    mcp: bool
    """It was given TRL's tools."""
    own_shell: "ShellWord"
    resumed: "Resumed"
    warm: bool
    """It was running."""


# Where the agent of a session stands.
AgentState = Literal["absent", "starting", "running", "stopping", "waiting", "warm"]


class _AgentStopParams(TypedDict):
    session_id: "SessionId"


class AgentStopParams(_AgentStopParams, total=False):
    """`agent.stop`."""
    message_id: Optional["MessageId"]
    """Only if it is this one that runs."""


# Why a message is over.
AgentStopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "error", "cancelled", "interrupted"]


class _AgentStopped(TypedDict):
    session_id: "SessionId"
    stopped: bool
    """Whether there was one to stop."""


class AgentStopped(_AgentStopped, total=False):
    message_id: Optional["MessageId"]
    """The message that ran."""


class _AgentToolCall(TypedDict):
    tool_call_id: str


class AgentToolCall(_AgentToolCall, total=False):
    """Only what is new of it."""
    content: Optional[List["AgentToolContent"]]
    locations: Optional[List["AgentLocation"]]
    raw_input: Any
    raw_output: Any
    status: Optional[str]
    """`pending`, `in_progress`, `completed` or `failed`."""
    title: Optional[str]
    tool_kind: Optional[str]
    """`read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`."""


AgentToolContent = Union[Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any]]


# Something an agent did.
AgentUpdate = Union["AgentStarted", Dict[str, Any], Dict[str, Any], "AgentToolCall", Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any], Dict[str, Any]]


class AnyRuntime(TypedDict):
    """`{any: {label: value}}`."""
    any: Dict[str, str]


# What is done when the rules want a person to be asked first.
Approval = Literal["wait", "return", "fail"]


# Whether the rules can be got round by the command itself.
ApprovalBoundary = Literal["enforced", "advisory"]


class _ApprovalRequest(TypedDict):
    approval_boundary: "ApprovalBoundary"
    command: str
    created_at: str
    digest: str
    """Stands for everything that is decided on; an answer repeats it, so that nobody approves what they did not see."""
    expires_at: str
    origin: str
    """Who asked for the command: `agent`, `operator`, or the id of a token."""
    request_id: "RequestId"
    runtime: str
    scopes: List["Scope"]
    """How far a yes may reach here."""
    segments: List["Segment"]
    """The parts of `command`, in its order."""
    state: "RequestState"
    working_dir: str


class ApprovalRequest(_ApprovalRequest, total=False):
    """A command that waits for a person, or did."""
    case_id: Optional[str]
    executables: List["Executable"]
    """What its names stood for when it was asked about; they must still when it runs."""
    execution_id: Optional["ExecutionId"]
    """The command; absent for a terminal that is no execution."""
    permission: Optional["Permission"]
    """When it is an agent that asks, for something it does itself."""
    resolution: Optional["Resolution"]
    """The answer, once there is one."""
    session_id: Optional["SessionId"]
    """Where it is to run; absent for a terminal."""
    session_name: Optional[str]
    terminal_id: Optional["TerminalId"]
    """The terminal that is to be opened."""


class ApprovalSpec(TypedDict, total=False):
    """Of a case, or of everything (`approvals.yaml` beside the cases)."""
    default: Optional["Verdict"]
    """For commands that no rule knows."""
    rules: List["RuleSpec"]
    timeout_s: Optional[float]
    """After this long without an answer a request is denied."""


class Audit(TypedDict):
    entries: List["AuditEntry"]


class _AuditEntry(TypedDict):
    command: str
    seq: int
    time: str
    what: str
    """`requested`, `approved`, `rejected`, `expired`, `cancelled`, `denied` (by a rule), `granted` (an earlier
    answer)."""


class AuditEntry(_AuditEntry, total=False):
    """One decision."""
    by: Optional[str]
    """Who decided, if anybody did."""
    reason: Optional[str]
    request_id: Optional["RequestId"]
    scope: Optional["Scope"]
    session_id: Optional["SessionId"]


class AuditParams(TypedDict, total=False):
    """`hitl.audit`: decisions, newest first."""
    before: Optional[int]
    """Only those before this one."""
    limit: Optional[int]
    """100 unless told otherwise, at most 1000."""
    session_id: Optional["SessionId"]


class AuthParams(TypedDict):
    token: str


class Authenticated(TypedDict):
    role: "Role"


# How the program gets there.
Binary = Literal["copy", "installed"]


class Bucket(TypedDict):
    count: int
    le_ms: int


class CancelParams(TypedDict, total=False):
    execution_id: Optional["ExecutionId"]
    grace_s: Optional[float]
    """How long until `KILL`; 5."""
    session_id: Optional["SessionId"]
    signal: Optional[str]
    """What is sent first; `TERM`."""


class Cancelled(TypedDict):
    cancelled: bool
    """False when the command had ended by itself before the cancel reached it."""
    execution_id: "ExecutionId"


class _CaseDetail(TypedDict):
    case: "CaseSpec"
    """What has effect: of an untrusted case with what it narrows. Values of variables are shown to operators only."""
    case_id: str
    default: bool
    """Sessions that name no case get this one."""
    env_keys: List[str]
    """Names of its variables, secret ones included."""
    origin: "CaseOrigin"
    source: str
    """The file."""
    trusted: bool
    """All of it takes effect."""


class CaseDetail(_CaseDetail, total=False):
    """`case.get`: a case that sessions can be created from."""
    description: Optional[str]
    digest: Optional[str]
    """SHA-256 of the file, in hexadecimal; absent when it cannot be read."""
    errors: List["CaseError"]
    """Why no session can be created from it."""
    ignored: List[str]
    """Fields that have no effect until it is trusted."""


class _CaseError(TypedDict):
    message: str


class CaseError(_CaseError, total=False):
    """Something wrong with a case file."""
    column: Optional[int]
    field: Optional[str]
    """The field, such as `approval.rules.0.allow`."""
    hint: Optional[str]
    """What to write instead."""
    line: Optional[int]
    """From 1; absent when it is about the file as a whole."""


class _CaseInfo(TypedDict):
    case_id: str
    default: bool
    """Sessions that name no case get this one."""
    origin: "CaseOrigin"
    source: str
    """The file."""
    trusted: bool
    """All of it takes effect."""


class CaseInfo(_CaseInfo, total=False):
    """A case as `case.list` shows it."""
    description: Optional[str]
    digest: Optional[str]
    """SHA-256 of the file, in hexadecimal; absent when it cannot be read."""
    errors: List["CaseError"]
    """Why no session can be created from it."""
    ignored: List[str]
    """Fields that have no effect until it is trusted."""


class _CaseList(TypedDict):
    cases: List["CaseInfo"]
    """By their ids; those of the daemon first."""


class CaseList(_CaseList, total=False):
    left_out: int
    """Files beyond what is looked at."""


class CaseListParams(TypedDict, total=False):
    """`case.list`: the cases of the daemon, and of a workspace if one is named."""
    path: Optional[str]
    """Or the workspace's directory."""
    workspace_id: Optional[str]


# Where a case was found.
CaseOrigin = Literal["config", "workspace"]


class _CaseParams(TypedDict):
    case_id: str


class CaseParams(_CaseParams, total=False):
    path: Optional[str]
    """Or the workspace's directory."""
    workspace_id: Optional[str]


class CaseSpec(TypedDict, total=False):
    """A case file: `ID.yaml` in the directory of cases, or in `.trl/cases/` of a workspace."""
    absolute_ttl_s: Optional[float]
    """A session this old is closed whatever it does; 0 is never."""
    agent: Optional["AgentSpec"]
    approval: Optional["ApprovalSpec"]
    """Which commands run, which wait for a person, and which never do."""
    argv: Optional[List[str]]
    """The one program sessions of this case run, in place of a shell."""
    description: Optional[str]
    """For people."""
    env: Optional[Dict[str, str]]
    """Variables, below those of the session."""
    id: Optional[str]
    """The name of the file without `.yaml`, which it is in any case."""
    idle_ttl_s: Optional[float]
    """A session idle for so long is closed; 0 is never."""
    labels: Optional[Dict[str, str]]
    limits: Optional["Limits"]
    """What programs may use, and the most a request may ask for."""
    on_exit: Optional["OnExit"]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    renewal: Optional["Renewal"]
    runtime: Optional[str]
    """Where programs live; `host` unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """The boundary, and the widest a request may ask for."""
    secret_env: Optional[List[str]]
    """Names of variables whose values are secret: they come with the request or from the daemon's environment."""
    shell: Optional[str]
    """The shell program of a session, unless it asks for another."""
    snapshots: Optional["SnapshotSpec"]
    """Files of the working directory may be kept with checkpoints, up to this many."""
    timeout_s: Optional[float]
    """Default timeout of commands; 0 is none."""
    working_dir: Optional[str]
    """Where sessions start, unless they say so: an absolute path, in which `{workspace}`, `{home}` and
    `{session_id}` stand for what they say. What is missing of a path with one of these is made."""
    workspace: Optional[str]
    """The id of the workspace sessions are in."""


class _CaseTrustParams(TypedDict):
    case_id: str
    digest: str
    """Of the file as it was seen."""


class CaseTrustParams(_CaseTrustParams, total=False):
    """`case.trust`: let all of a workspace's case take effect, as long as the file stays as it is."""
    path: Optional[str]
    """Or the workspace's directory."""
    trust: Optional[bool]
    """`false` takes it back, whatever the file is by now."""
    workspace_id: Optional[str]


class _CaseValidateParams(TypedDict):
    text: str
    """The contents of a case file."""


class CaseValidateParams(_CaseValidateParams, total=False):
    """`case.validate`: is this text a case?"""
    case_id: Optional[str]
    """The name it is to have."""


class CaseValidated(TypedDict):
    digest: str
    """SHA-256 of the text, in hexadecimal."""
    errors: List["CaseError"]
    valid: bool


class Ceilings(TypedDict, total=False):
    """The most an agent token may have; what is absent is not bounded by the token."""
    cases: Optional[List[str]]
    """Only these cases, and none without a case."""
    max_sessions: Optional[int]
    """Sessions of its own at once."""
    runtimes: Optional[List[str]]
    sandbox: Optional["SandboxMode"]
    """The widest sandbox."""
    workspaces: Optional[List[str]]
    """Only these workspaces, and none without a workspace."""


Change = Literal["created", "overwritten", "removed"]


ChangeKind = Literal["created", "modified", "removed"]


class ChangeWaiting(TypedDict):
    """A change that is made when a person has said yes."""
    request_id: "RequestId"
    state: "SessionState"
    """`waiting_hitl`."""


class ChangedPush(TypedDict):
    """The push `fs.changed`: at most one change for each path."""
    changes: List["FileChange"]
    missed: bool
    """More happened than is told: look again."""
    stream_id: "StreamId"


class _CheckpointCreateParams(TypedDict):
    session_id: "SessionId"


class CheckpointCreateParams(_CheckpointCreateParams, total=False):
    files: Optional[bool]
    """The files of the session's working directory as well."""
    label: Optional[str]
    """What it is called in lists."""


class CheckpointDeleteResult(TypedDict):
    checkpoint_id: "CheckpointId"
    session_id: "SessionId"


CheckpointId = str


class _CheckpointInfo(TypedDict):
    checkpoint_id: "CheckpointId"
    commands: int
    """Commands the session had run."""
    created_at: str
    origin: "Origin"
    session_id: "SessionId"
    shell: str
    """The shell whose state it is."""
    size_bytes: int


class CheckpointInfo(_CheckpointInfo, total=False):
    """A checkpoint as `create` and `list` show it."""
    case_id: Optional[str]
    files: Optional["FilesInfo"]
    label: Optional[str]
    last_execution_id: Optional["ExecutionId"]
    """The last command in it: where its history stood."""
    left_out: List["PartName"]
    """Parts that hold secrets and are not in it."""
    pending_requests: List["RequestId"]
    """Approval requests that were waiting."""


class CheckpointList(TypedDict):
    checkpoints: List["CheckpointInfo"]
    """Newest first."""
    corrupt: List["CorruptInfo"]
    """Files that are not what was written, and are not used."""


class CheckpointListParams(TypedDict):
    session_id: "SessionId"


# How sure it is that the sandbox refused something.
Confidence = Literal["proven", "likely"]


class CorruptInfo(TypedDict):
    checkpoint_id: str
    why: str


# The reply to `session.create`.
CreateReply = Union["SessionInfo", "CreateWaiting"]


class _CreateTokenParams(TypedDict):
    name: str
    """For people."""
    role: "Role"


class CreateTokenParams(_CreateTokenParams, total=False):
    ceilings: Optional["Ceilings"]
    """Of an agent token."""
    expires_in_s: Optional[float]
    """Never, when absent."""


class CreateWaiting(TypedDict):
    """A session that is made when a person has said yes."""
    request_id: "RequestId"
    session_id: "SessionId"
    """What it will be called."""
    state: "SessionState"
    """`waiting_hitl`."""


Decision = Literal["approve", "reject"]


class DeleteParams(TypedDict):
    checkpoint_id: "CheckpointId"
    session_id: "SessionId"


class _Denied(TypedDict):
    confidence: "Confidence"
    message: str
    op: str
    """`unix-socket`, `network`, `mount`, `ptrace`, ... or `read`, `write`, `open` of a file."""


class Denied(_Denied, total=False):
    """Something a sandbox refused."""
    path: Optional[str]


class Destroyed(TypedDict):
    session_id: "SessionId"
    state: "SessionState"


class Diagnosis(TypedDict):
    """The reply to `system.doctor`."""
    rows: List["Finding"]
    status: "Health"
    """The worst of all findings."""
    version: str


class _DirMade(TypedDict):
    created: bool
    path: str


class DirMade(_DirMade, total=False):
    """A directory that is there now."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


class Distribution(TypedDict):
    """How many took how long."""
    buckets: List["Bucket"]
    """By rising bound; each counts all that took no longer. What took longer than the last is in `count` alone."""
    count: int
    sum_ms: int


class _DonePush(TypedDict):
    message_id: "MessageId"
    seq: int
    """One more than that of the last update."""
    session_id: "SessionId"
    stop_reason: "AgentStopReason"
    time: str


class DonePush(_DonePush, total=False):
    """The push `agent.done`, the last of a stream."""
    error: Optional["Refused"]
    stream_id: Optional["StreamId"]
    """Absent in events of plain HTTP."""


Encoding = Literal["utf-8", "base64", "utf-8-lossy"]


class EngineInfo(TypedDict):
    """The other end."""
    arch: str
    host: str
    os: str
    pid: int
    version: str


# Stable codes: clients branch on them, so they are never renamed.
ErrorCode = Literal["SESSION_NOT_FOUND", "SESSION_BUSY", "SESSION_CLOSED", "SESSION_TERMINATED", "EXECUTION_NOT_FOUND", "TERMINAL_NOT_FOUND", "REQUEST_NOT_FOUND", "MAX_SESSIONS_REACHED", "SESSION_LIMIT_EXCEEDED", "RESOURCE_PRESSURE", "LIMIT_EXCEEDED", "STORAGE_FULL", "SHELL_NOT_FOUND", "SHELL_START_FAILED", "WORKING_DIR_INVALID", "INVALID_PARAMS", "UNKNOWN_METHOD", "PAYLOAD_TOO_LARGE", "AUTH_FAILED", "FORBIDDEN", "FILE_NOT_FOUND", "FILE_OUTSIDE_WORKSPACE", "APPROVAL_REQUIRED", "APPROVAL_DENIED", "APPROVAL_EXPIRED", "ALREADY_RESOLVED", "SECRETS_REQUIRED", "CASE_NOT_FOUND", "CASE_INVALID", "SANDBOX_DENIED", "SANDBOX_UNAVAILABLE", "CHECKPOINT_NOT_FOUND", "CHECKPOINT_CORRUPT", "RUNTIME_NOT_FOUND", "RUNTIME_UNAVAILABLE", "AGENT_UNAVAILABLE", "MESSAGE_NOT_FOUND", "SHUTTING_DOWN", "INTERNAL_ERROR"]


class _ErrorDetail(TypedDict):
    code: "ErrorCode"


class ErrorDetail(_ErrorDetail, total=False):
    hint: str
    message: str


class EventSessionCreated(TypedDict):
    kind: Literal["session.created"]
    session_id: "SessionId"
    shell: str
    seq: int
    time: str


class EventSessionState(TypedDict):
    kind: Literal["session.state"]
    session_id: "SessionId"
    state: "SessionState"
    seq: int
    time: str


class EventSessionEnded(TypedDict):
    """Closed or terminated, and why."""
    kind: Literal["session.ended"]
    reason: str
    session_id: "SessionId"
    state: "SessionState"
    seq: int
    time: str


class EventShellReplaced(TypedDict):
    """The shell was lost and replaced, during a command or while idle."""
    kind: Literal["shell.replaced"]
    session_id: "SessionId"
    shell_state: "ShellState"
    seq: int
    time: str


class _EventExecStarted(TypedDict):
    execution_id: "ExecutionId"
    kind: Literal["exec.started"]
    seq: int
    time: str


class EventExecStarted(_EventExecStarted, total=False):
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]


class _EventExecFinished(TypedDict):
    cancelled: bool
    execution_id: "ExecutionId"
    exit_code: int
    kind: Literal["exec.finished"]
    timed_out: bool
    seq: int
    time: str


class EventExecFinished(_EventExecFinished, total=False):
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]


class EventTerminalCreated(TypedDict):
    kind: Literal["terminal.created"]
    shell: str
    terminal_id: "TerminalId"
    seq: int
    time: str


class EventTerminalEnded(TypedDict):
    exit_code: int
    kind: Literal["terminal.ended"]
    reason: str
    terminal_id: "TerminalId"
    seq: int
    time: str


class _EventHitlRequested(TypedDict):
    kind: Literal["hitl.requested"]
    request_id: "RequestId"
    seq: int
    time: str


class EventHitlRequested(_EventHitlRequested, total=False):
    """A command waits for a person; `hitl.list` and `hitl.get` show it."""
    execution_id: Optional["ExecutionId"]
    session_id: Optional["SessionId"]


class _EventHitlResolved(TypedDict):
    kind: Literal["hitl.resolved"]
    request_id: "RequestId"
    state: "RequestState"
    seq: int
    time: str


class EventHitlResolved(_EventHitlResolved, total=False):
    """It waits no longer."""
    session_id: Optional["SessionId"]


class EventAgentStarted(TypedDict):
    """The session's agent has a message."""
    kind: Literal["agent.started"]
    message_id: "MessageId"
    session_id: "SessionId"
    seq: int
    time: str


class EventAgentFinished(TypedDict):
    """It is done with it."""
    kind: Literal["agent.finished"]
    message_id: "MessageId"
    session_id: "SessionId"
    stop_reason: "AgentStopReason"
    seq: int
    time: str


class _EventSandboxMade(TypedDict):
    kind: Literal["sandbox.made"]
    path: str
    """The git directory, relative to that."""
    reasons: List[str]
    """Hooks and settings: `hooks/NAME`, `config: core.fsmonitor`, `commondir`."""
    workspace: str
    """The directory the sandbox was around."""
    seq: int
    time: str


class EventSandboxMade(_EventSandboxMade, total=False):
    """A sandbox has ended, and a git directory that was made meanwhile makes git run programs for whoever uses it
    next."""
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]


EventEventsMissed = TypedDict("EventEventsMissed", {"from": int, "kind": Literal["events.missed"], "to": int, "seq": int, "time": str})


# One thing that happened.
Event = Union["EventSessionCreated", "EventSessionState", "EventSessionEnded", "EventShellReplaced", "EventExecStarted", "EventExecFinished", "EventTerminalCreated", "EventTerminalEnded", "EventHitlRequested", "EventHitlResolved", "EventAgentStarted", "EventAgentFinished", "EventSandboxMade", "EventEventsMissed"]


class _Excerpt(TypedDict):
    head: str
    """All of it, when there is no `tail`."""


class Excerpt(_Excerpt, total=False):
    """The beginning and the end of a stream, as text, without what is secret."""
    bytes: Optional[int]
    """Of the whole stream. Absent while that is not known: the command runs, or its daemon was killed before its
    end."""
    tail: Optional[str]


class _ExecInputParams(TypedDict):
    execution_id: "ExecutionId"


class ExecInputParams(_ExecInputParams, total=False):
    """`exec.input`."""
    close: Optional[bool]
    """End of input after `data`."""
    data: Optional[str]
    encoding: Optional["Encoding"]
    input_id: Optional[str]
    """The same id is taken once: a request whose reply was lost can be sent again."""
    max_output_bytes: Optional[int]
    """Shown in the reply, per stream."""
    yield_ms: Optional[int]
    """Then wait so long for the end, and tell what was written; between 250 and 30000. Without `data` it only waits."""


class _ExecInputResult(TypedDict):
    execution_id: "ExecutionId"
    written_bytes: int
    """What the process, or the pipe to it, has taken by now; the rest stands in line."""


class ExecInputResult(_ExecInputResult, total=False):
    progress: Optional["Progress"]
    """With `yield_ms`."""


class ExecListParams(TypedDict, total=False):
    session_id: Optional["SessionId"]


class ExecResizeParams(TypedDict):
    cols: int
    execution_id: "ExecutionId"
    rows: int


class ExecSignalParams(TypedDict):
    execution_id: "ExecutionId"
    signal: str
    """`INT`, `SIGINT` or `2`."""


class ExecSignalResult(TypedDict):
    execution_id: "ExecutionId"
    processes: int
    """How many processes got it."""


class _Executable(TypedDict):
    name: str
    what: str
    """`file`, `builtin`, `function`, `alias`, `keyword`, `missing`, `directory` (`.`), `trap`, `variable` or
    `unknown`."""


class Executable(_Executable, total=False):
    """What a name in a command stands for."""
    identity: Optional[str]
    """Device, inode, size and time of change of the file; of a fresh process also its rights and SHA-256."""
    path: Optional[str]


ExecutionId = str


class _ExecutionInfo(TypedDict):
    command: str
    created_at: str
    elapsed_ms: int
    execution_id: "ExecutionId"
    status: "ExecutionStatus"
    stderr_bytes: int
    stdout_bytes: int


class ExecutionInfo(_ExecutionInfo, total=False):
    exit_code: Optional[int]
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]
    """Where it runs, if it has a terminal."""


class ExecutionList(TypedDict):
    executions: List["ExecutionInfo"]


class ExecutionParams(TypedDict):
    """Parameters of methods that only name an execution."""
    execution_id: "ExecutionId"


ExecutionStatus = Literal["queued", "running", "done", "waiting_hitl", "unknown"]


class _ExitPush(TypedDict):
    cancelled: bool
    duration_ms: int
    execution_id: "ExecutionId"
    exit_code: int
    """128+n when it was killed by signal n."""
    shell_state: "ShellState"
    stderr_bytes: int
    stdout_bytes: int
    stream_id: "StreamId"
    timed_out: bool
    waited_ms: int
    working_dir: str


class ExitPush(_ExitPush, total=False):
    """The push `exec.exit`, the last of a stream."""
    background_pids: Optional[List[int]]
    """Processes it left running."""
    denied: Optional["Denied"]
    """What that refused."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    usage: Optional["Usage"]
    """What it used; only with limits."""


class _FileChange(TypedDict):
    is_dir: bool
    kind: "ChangeKind"
    path: str


class FileChange(_FileChange, total=False):
    """A rename is two of these."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


class _FileInfo(TypedDict):
    kind: "FileKind"
    mode: str
    """Permission bits in octal digits."""
    modified_at: str
    path: str
    size: int
    version: str
    """Another for any other content."""


class FileInfo(_FileInfo, total=False):
    """One file, as `fs.stat` and `fs.list` show it; a link is a link."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""
    target: Optional[str]
    """What a link says, wherever that leads."""
    target_encoding: Optional["Encoding"]
    """Beside a target that is not UTF-8."""


FileKind = Literal["file", "dir", "symlink", "other"]


class FileList(TypedDict):
    """In the order of names, those of a directory right after it."""
    entries: List["FileInfo"]
    truncated: bool
    """There are more."""


class _FileMoved(TypedDict):
    path: str
    to: str


class FileMoved(_FileMoved, total=False):
    """What has another name now."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""
    to_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


FileOp = Literal["read", "write"]


class _FilePath(TypedDict):
    path: str


class FilePath(_FilePath, total=False):
    """A path that was found."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


class _FileRemoved(TypedDict):
    path: str


class FileRemoved(_FileRemoved, total=False):
    """What is gone."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


class _FileSlice(TypedDict):
    data: str
    encoding: "Encoding"
    offset: int
    size: int
    """Of the whole file."""
    version: str


class FileSlice(_FileSlice, total=False):
    """Some bytes of a file."""
    next: Optional[int]
    """Where to go on; absent at the end."""


class _FileWritten(TypedDict):
    created: bool
    """Nothing was there before."""
    path: str
    size: int
    version: str


class FileWritten(_FileWritten, total=False):
    """What was written."""
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


class FilesInfo(TypedDict):
    """What is kept of a directory's files."""
    bytes: int
    count: int
    dir: str


class _Finding(TypedDict):
    id: str
    """Stable, for programs."""
    status: "Health"
    title: str
    """For people."""
    value: str


class Finding(_Finding, total=False):
    """One line of a diagnosis."""
    hint: Optional[str]
    """What could be done about it."""


class FsListParams(TypedDict, total=False):
    """`fs.list`."""
    depth: Optional[int]
    """How many levels; 1 unless told otherwise."""
    limit: Optional[int]
    """Entries at most; 1000 unless told otherwise."""
    path: Optional[str]
    """From the root of the workspace; the root itself when absent."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# What came of a change to files.
FsMkdirResult = Union["DirMade", "ChangeWaiting"]


# What came of a change to files.
FsMoveResult = Union["FileMoved", "ChangeWaiting"]


# What came of a change to files.
FsRemoveResult = Union["FileRemoved", "ChangeWaiting"]


# What came of a change to files.
FsWriteResult = Union["FileWritten", "ChangeWaiting"]


class _GetParams(TypedDict):
    session_id: "SessionId"


class GetParams(_GetParams, total=False):
    secret_env: Optional[Dict[str, str]]
    """Secrets are never kept, so a closed session that had some needs them again."""


class _GlobParams(TypedDict):
    pattern: str
    """`*` stays within a name, `**` does not."""


class GlobParams(_GlobParams, total=False):
    """`fs.glob`."""
    include_ignored: Optional[bool]
    """Also what `.gitignore` and `.ignore` name, and `.git`."""
    limit: Optional[int]
    """Files at most; 1000 unless told otherwise."""
    path: Optional[str]
    """The directory to search; the pattern is held against paths from there."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


class Globbed(TypedDict):
    """In the order of names."""
    files: List["FilePath"]
    truncated: bool
    """There are more."""


class _GrepParams(TypedDict):
    pattern: str
    """A regular expression of Rust's `regex`, held against each line."""


class GrepParams(_GrepParams, total=False):
    """`fs.grep`."""
    context: Optional[int]
    """Lines before and after each match; at most 100."""
    glob: Optional[str]
    """Only files whose path matches, as in `fs.glob`."""
    ignore_case: Optional[bool]
    include_ignored: Optional[bool]
    """Also what `.gitignore` and `.ignore` name, and `.git`."""
    limit: Optional[int]
    """Matches at most; 1000 unless told otherwise."""
    literal: Optional[bool]
    """The pattern is the text itself."""
    path: Optional[str]
    """The directory or file to search."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# How a fact is to be taken.
Health = Literal["ok", "warn", "bad", "info"]


class _History(TypedDict):
    entries: List["HistoryEntry"]


class History(_History, total=False):
    """Newest first."""
    next: Optional[int]
    """Ask for what is `before` this; absent when there is no more."""


class _HistoryEntry(TypedDict):
    cancelled: bool
    command: str
    """Without what is secret; of a very long one the beginning."""
    execution_id: "ExecutionId"
    seq: int
    """Its place in the history; later ones are larger."""
    session_id: "SessionId"
    started_at: str
    status: "ExecutionStatus"
    stderr: "Excerpt"
    stdout: "Excerpt"
    timed_out: bool
    working_dir: str


class HistoryEntry(_HistoryEntry, total=False):
    """One execution."""
    duration_ms: Optional[int]
    exit_code: Optional[int]
    request_id: Optional["RequestId"]
    """The approval it was run on."""
    signal: Optional[str]


class HistoryParams(TypedDict, total=False):
    before: Optional[int]
    """Only those before this one: `next` of the page before."""
    limit: Optional[int]
    """50 unless told otherwise, 500 at most."""
    query: Optional[str]
    """Words that must all begin a word of the command or of the output that was kept."""
    session_id: Optional["SessionId"]
    """None: of all sessions."""


class _Info(TypedDict):
    max_sessions: int
    methods: List[str]
    pid: int
    protocol: int
    role: "Role"
    runtime_dir: str
    runtime_dir_in_memory: bool
    """Whether session files live in memory; otherwise command text and stdin go through FIFOs."""
    version: str


class Info(_Info, total=False):
    pinned_to: Optional[str]
    """The session this connection belongs to, when it comes from inside one."""
    socket: Optional[str]


class IoUsage(TypedDict):
    read_bytes: int
    written_bytes: int


# The name of a [`Happening`] without its fields.
Kind = Literal["session.created", "session.state", "session.ended", "shell.replaced", "exec.started", "exec.finished", "terminal.created", "terminal.ended", "hitl.requested", "hitl.resolved", "agent.started", "agent.finished", "sandbox.made", "events.missed"]


# One of them, by its name in [`Limits`].
Limit = Literal["memory_bytes", "cpu", "cpu_time_s", "pids", "open_files", "file_size_bytes", "disk_bytes", "output_bytes", "wall_s"]


class Limits(TypedDict, total=False):
    """What the programs of a session, a terminal or an execution may use. Absent is as the settings say, 0 is no
    limit."""
    cpu: Optional[float]
    """Processors' worth of time they get in any moment: 0.5 is half of one."""
    cpu_time_s: Optional[float]
    """Processor time of one command, or of a terminal's life."""
    disk_bytes: Optional[int]
    """Disk space of the workspace. No daemon can hold anybody to it yet: anything but 0 is refused."""
    file_size_bytes: Optional[int]
    """How large a file each process may make."""
    memory_bytes: Optional[int]
    """Memory of all of them together."""
    open_files: Optional[int]
    """Descriptors of each process."""
    output_bytes: Optional[int]
    """What one command may print, or a terminal in its life."""
    pids: Optional[int]
    """Processes and threads of all of them together; a session's shell and its rollback point do not count."""
    wall_s: Optional[float]
    """How long one command may take, or a terminal live."""


# What holds programs to their limits.
LimitsBackend = Literal["cgroup2", "cgroup1", "rlimits"]


class _LimitsInfo(TypedDict):
    backend: "LimitsBackend"
    enforced: List["Limit"]
    not_enforced: List["Limit"]


class LimitsInfo(_LimitsInfo, total=False):
    """Limits as they were asked for, and what came of it."""
    cpu: Optional[float]
    """Processors' worth of time they get in any moment: 0.5 is half of one."""
    cpu_time_s: Optional[float]
    """Processor time of one command, or of a terminal's life."""
    disk_bytes: Optional[int]
    """Disk space of the workspace. No daemon can hold anybody to it yet: anything but 0 is refused."""
    file_size_bytes: Optional[int]
    """How large a file each process may make."""
    memory_bytes: Optional[int]
    """Memory of all of them together."""
    open_files: Optional[int]
    """Descriptors of each process."""
    output_bytes: Optional[int]
    """What one command may print, or a terminal in its life."""
    pids: Optional[int]
    """Processes and threads of all of them together; a session's shell and its rollback point do not count."""
    wall_s: Optional[float]
    """How long one command may take, or a terminal live."""


class LogLines(TypedDict):
    """The reply to `system.log`: oldest first."""
    lines: List[str]


class LogParams(TypedDict, total=False):
    limit: Optional[int]
    """The newest of them; all that are kept when absent."""


class _Match(TypedDict):
    line: int
    """From 1."""
    offset: int
    """Where the line begins, in bytes."""
    path: str
    text: str


class Match(_Match, total=False):
    """A line that matches. Texts are lossy UTF-8 and cut after 1000 bytes; `fs.read` has the bytes."""
    after: List[str]
    before: List[str]
    path_encoding: Optional["Encoding"]
    """Beside a path that is not UTF-8."""


Matched = TypedDict("Matched", {"from": int, "stream": "Stream", "to": int})


class Matches(TypedDict):
    """By file and line."""
    matches: List["Match"]
    truncated: bool
    """There are more."""


MessageId = str


MessageState = Literal["running", "done", "waiting"]


class _MessageStream(TypedDict):
    message_id: "MessageId"
    stream_id: "StreamId"


class MessageStream(_MessageStream, total=False):
    """The reply to `agent.send_message` and `agent.follow`; pushes come after it."""
    events: Optional[str]
    """Over plain HTTP, which has no pushes: where to read them."""


class _MkdirParams(TypedDict):
    path: str


class MkdirParams(_MkdirParams, total=False):
    """`fs.mkdir`."""
    approval: Optional["Approval"]
    """What is done while a person is asked; `wait` unless told otherwise."""
    create_dirs: Optional[bool]
    """Make missing directories on the way, and do not mind one that is there."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# How much a program may do.
Mode = Literal["off", "read-only", "workspace-write", "custom"]


class _Mount(TypedDict):
    source: str


class Mount(_Mount, total=False):
    """A directory of the machine that a container sees."""
    read_only: bool
    target: Optional[str]
    """The same path unless told otherwise."""


class _MoveParams(TypedDict):
    path: str
    to: str


class MoveParams(_MoveParams, total=False):
    """`fs.move`."""
    approval: Optional["Approval"]
    """What is done while a person is asked; `wait` unless told otherwise."""
    overwrite: Optional[bool]
    """Replace what is at `to`."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    to_encoding: Optional["Encoding"]
    """`base64` for a `to` that is not UTF-8."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# Which network a program has.
Net = Literal["none", "all", "loopback"]


class Next(TypedDict):
    """Offsets of both streams."""
    stderr: int
    stdout: int


NoParams = Dict[str, Any]


class _NotRestored(TypedDict):
    what: str
    why: str


class NotRestored(_NotRestored, total=False):
    """Something that is not as it was, and why."""
    name: str


class _Object(TypedDict):
    mode: "Mode"


class Object(_Object, total=False):
    """The object as it is read."""
    best_effort: Optional[bool]
    deny: Optional[List[str]]
    net: Optional["Net"]
    read: Optional[List[str]]
    write: Optional[List[str]]


class Omitted(TypedDict, total=False):
    """Ranges that fell out of the middle of the streams."""
    stderr: Optional["Range"]
    stdout: Optional["Range"]


# What a denial means to whoever asked.
OnDenied = Literal["report", "fail"]


# What happens to a command when the connection that asked for it goes away.
OnDisconnect = Literal["continue", "cancel"]


# What a command that ends its shell (`exit 3`) does to the session.
OnExit = Literal["rollback", "terminate"]


OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always", "other"]


# Why a checkpoint was made.
Origin = Literal["request", "close", "interval", "approval"]


class _Outcome(TypedDict):
    cancelled: bool
    duration_ms: int
    execution_id: "ExecutionId"
    exit_code: int
    """128+n when it was killed by signal n."""
    shell_state: "ShellState"
    stderr_bytes: int
    stdout_bytes: int
    timed_out: bool
    waited_ms: int
    working_dir: str


class Outcome(_Outcome, total=False):
    """How a command ended: everything but its text."""
    background_pids: Optional[List[int]]
    """Processes it left running."""
    denied: Optional["Denied"]
    """What that refused."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    usage: Optional["Usage"]
    """What it used; only with limits."""


class _OutputParams(TypedDict):
    execution_id: "ExecutionId"


class OutputParams(_OutputParams, total=False):
    limit: Optional[int]
    since: Optional[int]
    stream: Optional["Stream"]


class _OutputPushed(TypedDict):
    data: str
    encoding: "Encoding"
    execution_id: "ExecutionId"
    offset: int
    """Where `data` begins in the stream."""
    stream: "Stream"
    stream_id: "StreamId"


class OutputPushed(_OutputPushed, total=False):
    """The push `exec.output`, as it is read."""
    gap: Optional["Range"]
    """The range this reader was too slow for, just before `data`."""


class _OutputSlice(TypedDict):
    data: str
    done: bool
    """No more will come: every writer is gone and `next` is the end."""
    encoding: "Encoding"
    next: int
    """Ask for this next."""
    offset: int
    """Where `data` begins."""


class OutputSlice(_OutputSlice, total=False):
    gap: Optional["Range"]


OwnShell = Literal["on", "off"]


class _PartName(TypedDict):
    what: str
    """`variable`, `function`, `alias`, `trap`, `option`, `directory` and so on."""


class PartName(_PartName, total=False):
    """One part of a shell's state, by what it is and what it is called."""
    name: str


class _Permission(TypedDict):
    message_id: "MessageId"
    options: List["PermissionOption"]
    title: str


class Permission(_Permission, total=False):
    """The permission an agent asks for, in its approval request."""
    tool_call_id: Optional[str]
    tool_kind: Optional[str]


class PermissionOption(TypedDict):
    """One of the answers an agent offers."""
    kind: "OptionKind"
    name: str
    option_id: str


class Ping(TypedDict):
    protocol: int
    uptime_s: int
    version: str


class PlanEntry(TypedDict):
    content: str
    priority: str
    """`high`, `medium` or `low`."""
    status: str
    """`pending`, `in_progress` or `completed`."""


class _Progress(TypedDict):
    execution_id: "ExecutionId"
    next: "Next"
    """Where the next call goes on."""
    status: "ExecutionStatus"
    stderr: str
    stderr_encoding: "Encoding"
    stdout: str
    stdout_encoding: "Encoding"


class Progress(_Progress, total=False):
    """How far an execution has come: what it wrote since the last call that was told, and its end, once it has
    ended."""
    elapsed_ms: int
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    background_pids: Optional[List[int]]
    """Processes it left running."""
    cancelled: bool
    denied: Optional["Denied"]
    """What that refused."""
    duration_ms: int
    exit_code: int
    """128+n when it was killed by signal n."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    shell_state: "ShellState"
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    stderr_bytes: int
    stdout_bytes: int
    timed_out: bool
    usage: Optional["Usage"]
    """What it used; only with limits."""
    waited_ms: int
    working_dir: str
    gap: Optional["Omitted"]
    """Ranges of the streams that are not in this reply, of what it should have told."""
    request_id: Optional["RequestId"]
    """While a person has to be asked before it begins."""
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]
    """Where it runs, with `tty`; everything it writes is `stdout` then."""


Range = TypedDict("Range", {"from": int, "to": int})


class _ReadParams(TypedDict):
    path: str


class ReadParams(_ReadParams, total=False):
    """`fs.read`."""
    limit: Optional[int]
    """Bytes at most."""
    offset: Optional[int]
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# Why a wait ended.
Reason = Literal["exit", "pattern", "idle", "bytes", "timeout"]


class _Refused(TypedDict):
    code: "ErrorCode"
    message: str


class Refused(_Refused, total=False):
    """Why."""
    hint: Optional[str]


class _RefusedPush(TypedDict):
    error: "Refused"
    execution_id: "ExecutionId"


class RefusedPush(_RefusedPush, total=False):
    """The push `exec.refused`, the last of a stream whose command was not run after all."""
    stream_id: Optional["StreamId"]
    """Absent in events of plain HTTP."""


class _RemoveParams(TypedDict):
    path: str


class RemoveParams(_RemoveParams, total=False):
    """`fs.remove`."""
    approval: Optional["Approval"]
    """What is done while a person is asked; `wait` unless told otherwise."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    recursive: Optional[bool]
    """A directory with all that is in it."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


# When the rollback point is renewed.
Renewal = Literal["exact", "idle"]


RequestId = str


class RequestList(TypedDict):
    requests: List["ApprovalRequest"]
    """Oldest first."""


class RequestListParams(TypedDict, total=False):
    session_id: Optional["SessionId"]
    state: Optional["RequestState"]
    """`pending` unless told otherwise."""


class RequestParams(TypedDict):
    """Parameters of methods that only name a request."""
    request_id: "RequestId"


# Where a request stands.
RequestState = Literal["pending", "approved", "rejected", "expired", "cancelled"]


class _RequestWaitParams(TypedDict):
    request_id: "RequestId"


class RequestWaitParams(_RequestWaitParams, total=False):
    timeout_s: Optional[float]
    """0 is none: it ends with the request."""


class Resized(TypedDict):
    cols: int
    execution_id: "ExecutionId"
    rows: int
    terminal_id: "TerminalId"


class _Resolution(TypedDict):
    resolved_at: str


class Resolution(_Resolution, total=False):
    """How a request was settled."""
    by: Optional[str]
    """`operator` or the id of a token; absent when nobody answered."""
    command: Optional[str]
    """What was run in its place."""
    reason: Optional[str]
    scope: Optional["Scope"]


class _RespondParams(TypedDict):
    decision: "Decision"
    digest: str
    """Of the request as it was seen."""
    request_id: "RequestId"


class RespondParams(_RespondParams, total=False):
    command: Optional[str]
    """To run in its place; only with `approve`, and only once."""
    reason: Optional[str]
    """Told to whoever asked."""
    scope: Optional["Scope"]
    """`once` unless told otherwise; only with `approve`."""


class _RestoreParams(TypedDict):
    checkpoint_id: "CheckpointId"
    session_id: "SessionId"


class RestoreParams(_RestoreParams, total=False):
    files: Optional[bool]
    """The files as well, if the checkpoint has some."""
    files_digest: Optional[str]
    """With `files`: the one of a preview. If something else would be done by now, nothing is."""
    preview: Optional[bool]
    """Change nothing; only say which files would change."""


class _Restored(TypedDict):
    checkpoint_id: "CheckpointId"
    not_restored: List["NotRestored"]
    restored: List["RestoredPart"]
    session_id: "SessionId"


class Restored(_Restored, total=False):
    """What a restore did."""
    files: Optional[List["RestoredFile"]]
    """Paths that were changed, or would be."""
    files_digest: Optional[str]
    """Of a preview: stands for what was shown."""


class RestoredFile(TypedDict):
    """What restoring does to a file."""
    change: "Change"
    path: str


class _RestoredFrom(TypedDict):
    checkpoint_id: "CheckpointId"
    created_at: str


class RestoredFrom(_RestoredFrom, total=False):
    """From which checkpoint a session that was opened again has its state."""
    lost_commands: int
    """Commands that ran after it: what they changed in the shell is lost."""
    not_restored: List["NotRestored"]
    """What it has not; all of it is known once its shell runs."""


class RestoredPart(TypedDict):
    """So many parts of one kind are as they were."""
    count: int
    what: str


class _ResultReply(TypedDict):
    execution_id: "ExecutionId"
    status: "ExecutionStatus"


class ResultReply(_ResultReply, total=False):
    """`exec.result`: the status, and the result once there is one."""
    recorded: "HistoryEntry"
    background_pids: Optional[List[int]]
    """Processes it left running."""
    cancelled: bool
    denied: Optional["Denied"]
    """What that refused."""
    duration_ms: int
    exit_code: int
    """128+n when it was killed by signal n."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    shell_state: "ShellState"
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    stderr: str
    stderr_bytes: int
    stderr_encoding: "Encoding"
    stdout: str
    stdout_bytes: int
    stdout_encoding: "Encoding"
    timed_out: bool
    usage: Optional["Usage"]
    """What it used; only with limits."""
    waited_ms: int
    working_dir: str


# What it knows of earlier messages.
Resumed = Literal["new", "same", "loaded"]


# What a connection may do.
Role = Literal["viewer", "agent", "operator"]


class RuleSpec(TypedDict, total=False):
    """One rule: a verdict on commands that begin with given words. `deny` wins over `ask`, `ask` over `allow`,
    wherever they stand."""
    allow: List[str]
    """Each a command's first words, such as `git status`."""
    ask: List[str]
    deny: List[str]
    match: List[str]
    """Commands this rule must decide: checked when it is read."""
    not_match: List[str]
    """Commands it must not decide."""
    reason: Optional[str]
    """Told to whoever asked for the command."""


class RunOptions(TypedDict, total=False):
    """Options of `exec.run`."""
    approval: Optional["Approval"]
    """When a person has to be asked; `wait` unless told otherwise."""
    case_id: Optional[str]
    """Of a throw-away session; the configured one, if there is one, unless told otherwise."""
    env: Optional[Dict[str, str]]
    """For this command only."""
    idempotency_key: Optional[str]
    """The same key returns the same execution instead of running twice."""
    max_output_bytes: Optional[int]
    """Bytes kept in memory per stream."""
    on_denied: Optional["OnDenied"]
    open_stdin: Optional[bool]
    """Keep stdin open (after `stdin`, if given) for `exec.input`."""
    queue: Optional[bool]
    """Wait for the session instead of `SESSION_BUSY`."""
    runtime: Optional["RuntimeWish"]
    """Where a throw-away session lives; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """Of a throw-away session, whose workspace is `working_dir`; a session has its own."""
    timeout_s: Optional[float]
    """0 is none; the session's default otherwise."""
    working_dir: Optional[str]
    """For this command only."""
    workspace_id: Optional[str]
    """Of a throw-away session."""


class _RunParams(TypedDict):
    command: str


class RunParams(_RunParams, total=False):
    """`exec.run` and `exec.stream`."""
    approval: Optional["Approval"]
    """When a person has to be asked; `wait` unless told otherwise."""
    case_id: Optional[str]
    """Of a throw-away session; the configured one, if there is one, unless told otherwise."""
    env: Optional[Dict[str, str]]
    """For this command only."""
    idempotency_key: Optional[str]
    """The same key returns the same execution instead of running twice."""
    max_output_bytes: Optional[int]
    """Bytes kept in memory per stream."""
    on_denied: Optional["OnDenied"]
    on_disconnect: Optional["OnDisconnect"]
    open_stdin: Optional[bool]
    """Keep stdin open (after `stdin`, if given) for `exec.input`."""
    queue: Optional[bool]
    """Wait for the session instead of `SESSION_BUSY`."""
    runtime: Optional["RuntimeWish"]
    """Where a throw-away session lives; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """Of a throw-away session, whose workspace is `working_dir`; a session has its own."""
    session_id: Optional["SessionId"]
    """None: a throw-away session."""
    stdin: Optional[str]
    stdin_encoding: Optional["Encoding"]
    timeout_s: Optional[float]
    """0 is none; the session's default otherwise."""
    working_dir: Optional[str]
    """For this command only."""
    workspace_id: Optional[str]
    """Of a throw-away session."""


# The reply to `exec.run`.
RunReply = Union["RunResult", "Waiting"]


class _RunResult(TypedDict):
    cancelled: bool
    duration_ms: int
    execution_id: "ExecutionId"
    exit_code: int
    """128+n when it was killed by signal n."""
    shell_state: "ShellState"
    stderr: str
    stderr_bytes: int
    stderr_encoding: "Encoding"
    stdout: str
    stdout_bytes: int
    stdout_encoding: "Encoding"
    timed_out: bool
    waited_ms: int
    working_dir: str


class RunResult(_RunResult, total=False):
    """A result with its text."""
    background_pids: Optional[List[int]]
    """Processes it left running."""
    denied: Optional["Denied"]
    """What that refused."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    usage: Optional["Usage"]
    """What it used; only with limits."""


class Running(TypedDict):
    """The command a session is busy with."""
    command: str
    elapsed_ms: int
    execution_id: "ExecutionId"


class _RuntimeHealth(TypedDict):
    healthy: bool
    name: str


class RuntimeHealth(_RuntimeHealth, total=False):
    """`runtime.health`: it was asked just now."""
    round_trip_us: Optional[int]
    """To its engine and back."""
    trouble: Optional[str]


class _RuntimeInfo(TypedDict):
    configured: bool
    """From the settings, or added since."""
    kind: "RuntimeKind"
    sessions: int
    """Sessions and terminals it has."""
    state: "RuntimeState"


class RuntimeInfo(_RuntimeInfo, total=False):
    """A runtime as `runtime.list`, `get` and `add` show it."""
    argv: List[str]
    """`command`: the program; `{key}` in it is the name of the link."""
    binary: "Binary"
    container: Optional[str]
    """`docker`: all sessions are in this one, which is there already."""
    engine: Optional["EngineInfo"]
    """What its engine says of itself, once it was met."""
    image: Optional[str]
    """`docker`: each session has a container of this image."""
    labels: Optional[Dict[str, str]]
    """By which it is chosen."""
    limits: Optional["Limits"]
    """`docker`: what a container may use."""
    max_sessions: Optional[int]
    """Sessions and terminals it may have at once."""
    mounts: List["Mount"]
    name: Optional[str]
    """Of `runtime.add`; in the settings it is the name of the section."""
    network: Optional[str]
    """`docker`: the name of a network, or `none`."""
    options: List[str]
    """`ssh`: words before the target, such as `-p 2222`."""
    reconnects: int
    """How often a connection to its engine took the place of one that broke."""
    socket: Optional[str]
    """`docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise."""
    target: Optional[str]
    """`ssh`: where to, as `ssh` takes it."""
    trouble: Optional[str]
    """The last thing that went wrong, while it is not up."""
    user: Optional[str]
    """`docker`: whose process it is there."""
    weight: Optional[float]
    """How much it can take, compared with others; 1 unless told otherwise."""


# How a runtime is reached.
RuntimeKind = Literal["host", "ssh", "docker", "command"]


class RuntimeList(TypedDict):
    runtimes: List["RuntimeInfo"]


class RuntimeParams(TypedDict):
    """`runtime.get`, `runtime.health`."""
    name: str


class _RuntimeRemoveParams(TypedDict):
    name: str


class RuntimeRemoveParams(_RuntimeRemoveParams, total=False):
    """`runtime.remove`."""
    drain: Optional[bool]
    """Only stop giving it new sessions, and remove it when the last has ended."""
    force: Optional[bool]
    """Close the sessions it has, rather than refuse because of them."""


class _RuntimeRemoved(TypedDict):
    configured: bool
    """From the settings, or added since."""
    kind: "RuntimeKind"
    removed: bool
    """Or it goes when its last session has ended."""
    sessions: int
    """Sessions and terminals it has."""
    state: "RuntimeState"


class RuntimeRemoved(_RuntimeRemoved, total=False):
    """The reply to `runtime.remove`."""
    argv: List[str]
    """`command`: the program; `{key}` in it is the name of the link."""
    binary: "Binary"
    container: Optional[str]
    """`docker`: all sessions are in this one, which is there already."""
    engine: Optional["EngineInfo"]
    """What its engine says of itself, once it was met."""
    image: Optional[str]
    """`docker`: each session has a container of this image."""
    labels: Optional[Dict[str, str]]
    """By which it is chosen."""
    limits: Optional["Limits"]
    """`docker`: what a container may use."""
    max_sessions: Optional[int]
    """Sessions and terminals it may have at once."""
    mounts: List["Mount"]
    name: Optional[str]
    """Of `runtime.add`; in the settings it is the name of the section."""
    network: Optional[str]
    """`docker`: the name of a network, or `none`."""
    options: List[str]
    """`ssh`: words before the target, such as `-p 2222`."""
    reconnects: int
    """How often a connection to its engine took the place of one that broke."""
    socket: Optional[str]
    """`docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise."""
    target: Optional[str]
    """`ssh`: where to, as `ssh` takes it."""
    trouble: Optional[str]
    """The last thing that went wrong, while it is not up."""
    user: Optional[str]
    """`docker`: whose process it is there."""
    weight: Optional[float]
    """How much it can take, compared with others; 1 unless told otherwise."""


class _RuntimeSpec(TypedDict):
    kind: "RuntimeKind"


class RuntimeSpec(_RuntimeSpec, total=False):
    """A runtime as it is written down: `[runtimes.<name>]` in the settings, and `runtime.add`."""
    argv: List[str]
    """`command`: the program; `{key}` in it is the name of the link."""
    binary: "Binary"
    container: Optional[str]
    """`docker`: all sessions are in this one, which is there already."""
    image: Optional[str]
    """`docker`: each session has a container of this image."""
    labels: Optional[Dict[str, str]]
    """By which it is chosen."""
    limits: Optional["Limits"]
    """`docker`: what a container may use."""
    max_sessions: Optional[int]
    """Sessions and terminals it may have at once."""
    mounts: List["Mount"]
    name: Optional[str]
    """Of `runtime.add`; in the settings it is the name of the section."""
    network: Optional[str]
    """`docker`: the name of a network, or `none`."""
    options: List[str]
    """`ssh`: words before the target, such as `-p 2222`."""
    socket: Optional[str]
    """`docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise."""
    target: Optional[str]
    """`ssh`: where to, as `ssh` takes it."""
    user: Optional[str]
    """`docker`: whose process it is there."""
    weight: Optional[float]
    """How much it can take, compared with others; 1 unless told otherwise."""


# How it stands with a runtime.
RuntimeState = Literal["connecting", "up", "idle", "waiting", "draining"]


# Where a session is to live: a name, or any that has labels.
RuntimeWish = Union[str, "AnyRuntime"]


# How much a sandbox lets through, narrowest first.
SandboxMode = Literal["read-only", "workspace-write", "off"]


# The boundary that is asked for: a mode's name, or an object.
SandboxParams = Union["Mode", "Object"]


class _SandboxReport(TypedDict):
    backend: str
    """What enforces it: `landlock+seccomp+namespaces` at best, `none` without a sandbox."""
    enforced: List[str]
    mode: "Mode"
    not_enforced: List[str]


class SandboxReport(_SandboxReport, total=False):
    """The boundary there is."""
    abi: Optional[int]
    """The kernel's version of Landlock."""
    net: Optional["Net"]
    workspace: Optional[str]
    """The directory it is around, without links: a name may have led elsewhere since it was last used."""


# How far a yes reaches.
Scope = Literal["once", "session", "always"]


class _Screen(TypedDict):
    alternate: bool
    """The alternate screen, as full-screen programs use it."""
    cols: int
    cursor: "ScreenCursor"
    """Column and row, from 0."""
    offset: int
    """Bytes of output this shows."""
    rows: int
    terminal_id: "TerminalId"
    title: str
    working_dir: str
    """Where the shell says it is."""


class Screen(_Screen, total=False):
    """What a person would see."""
    lines: Any
    """With `json`: rows of spans of equal attributes."""
    text: Optional[str]
    """With `text` and `ansi`."""


class ScreenCursor(TypedDict):
    col: int
    row: int
    visible: bool


# How a screen is written down.
ScreenFormat = Literal["text", "ansi", "json"]


class _ScreenParams(TypedDict):
    terminal_id: "TerminalId"


class ScreenParams(_ScreenParams, total=False):
    format: Optional["ScreenFormat"]


class _Segment(TypedDict):
    text: str
    """As it is written."""
    verdict: "Verdict"


class Segment(_Segment, total=False):
    """One simple command of a command line, as the rules see it."""
    at: Optional["Range"]
    """Its bytes in `command`; absent when it does not stand there literally."""
    parts: List[str]
    """The commands that stand in a text that cannot be taken apart, as far as they can be read."""
    reason: Optional[str]
    """Why, for people."""
    rule: Optional[str]
    """The rule that decided, as the case has it."""
    would_allow: Optional[str]
    """The prefix that a yes for the session or for always would allow from then on."""


class SessionCreateParams(TypedDict, total=False):
    approval: Optional["Approval"]
    """What is done while a person is asked about it; `wait` unless told otherwise."""
    argv: Optional[List[str]]
    """A direct command in place of a shell: the session lives as long as it does."""
    case_id: Optional[str]
    """The case it is created from; the configured one, if there is one, unless told otherwise."""
    env: Optional[Dict[str, str]]
    labels: Optional[Dict[str, str]]
    limits: Optional["Limits"]
    """What its programs may use."""
    name: Optional[str]
    on_exit: Optional["OnExit"]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    renewal: Optional["Renewal"]
    runtime: Optional["RuntimeWish"]
    """Where its processes live; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """The boundary around it; the configured one unless told otherwise."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    shell: Optional[str]
    """The shell program; `/bin/sh` unless told otherwise."""
    timeout_s: Optional[float]
    """Default timeout of this session's commands; 0 is none."""
    working_dir: Optional[str]
    """The workspace's, when there is one; else the user's home."""
    workspace_id: Optional[str]
    """The workspace whose files are the session's; an unknown one gets a directory of its own."""


class SessionDeleteResult(TypedDict):
    deleted: bool
    session_id: "SessionId"


class _SessionDestroyParams(TypedDict):
    session_id: "SessionId"


class SessionDestroyParams(_SessionDestroyParams, total=False):
    force: Optional[bool]
    """Kill at once instead of asking first."""


SessionId = str


class _SessionInfo(TypedDict):
    command_count: int
    created_at: str
    env_keys: List[str]
    """Names only, never values."""
    labels: Dict[str, str]
    last_activity: str
    on_exit: "OnExit"
    owner: str
    """Who made it: `agent`, `operator`, or the id of a token."""
    pending_requests: List[str]
    """Approval requests waiting for a person."""
    renewal: "Renewal"
    runtime: str
    session_id: "SessionId"
    shell: str
    """The shell program, or the first word of a direct command."""
    state: "SessionState"
    timeout_s: int
    """Default command timeout in whole seconds; 0 is none."""
    working_dir: str


class SessionInfo(_SessionInfo, total=False):
    """A session as `create`, `list`, `info`, `get`, `close`, `reset` and `destroy` show it."""
    agent: Optional["AgentInfo"]
    """Its agent, when its case names one."""
    case_digest: Optional[str]
    """Of that case's file as it was then."""
    case_id: Optional[str]
    """The case it was created from."""
    ended: Optional[str]
    """Why it ended, once it has."""
    execution_id: Optional["ExecutionId"]
    """The one execution of a direct-command session."""
    ignored: List[str]
    """Fields of that case without effect, as nobody trusted it."""
    limits: Optional["LimitsInfo"]
    """What its programs may use, and what holds them to it."""
    name: Optional[str]
    pid: Optional[int]
    """The shell's process, while there is one."""
    restored_from: Optional["RestoredFrom"]
    """The checkpoint its shell has its state from."""
    running: Optional["Running"]
    sandbox: "SandboxReport"
    workspace_id: Optional[str]


class SessionList(TypedDict):
    sessions: List["SessionInfo"]


class SessionListParams(TypedDict, total=False):
    case_id: Optional[str]
    label: Optional[str]
    """`key` or `key=value`."""
    name: Optional[str]
    """Of exactly this name."""
    runtime: Optional[str]
    """That live in this runtime."""
    state: Optional["SessionState"]
    workspace_id: Optional[str]


class SessionOptions(TypedDict, total=False):
    """Options of `session.create`."""
    approval: Optional["Approval"]
    """What is done while a person is asked about it; `wait` unless told otherwise."""
    argv: Optional[List[str]]
    """A direct command in place of a shell: the session lives as long as it does."""
    case_id: Optional[str]
    """The case it is created from; the configured one, if there is one, unless told otherwise."""
    env: Optional[Dict[str, str]]
    labels: Optional[Dict[str, str]]
    limits: Optional["Limits"]
    """What its programs may use."""
    name: Optional[str]
    on_exit: Optional["OnExit"]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    renewal: Optional["Renewal"]
    runtime: Optional["RuntimeWish"]
    """Where its processes live; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """The boundary around it; the configured one unless told otherwise."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    shell: Optional[str]
    """The shell program; `/bin/sh` unless told otherwise."""
    timeout_s: Optional[float]
    """Default timeout of this session's commands; 0 is none."""
    working_dir: Optional[str]
    """The workspace's, when there is one; else the user's home."""
    workspace_id: Optional[str]
    """The workspace whose files are the session's; an unknown one gets a directory of its own."""


class SessionParams(TypedDict):
    """Parameters of methods that only name a session."""
    session_id: "SessionId"


class SessionRunOptions(TypedDict, total=False):
    """Options of `exec.run`."""
    approval: Optional["Approval"]
    """When a person has to be asked; `wait` unless told otherwise."""
    env: Optional[Dict[str, str]]
    """For this command only."""
    idempotency_key: Optional[str]
    """The same key returns the same execution instead of running twice."""
    max_output_bytes: Optional[int]
    """Bytes kept in memory per stream."""
    on_denied: Optional["OnDenied"]
    open_stdin: Optional[bool]
    """Keep stdin open (after `stdin`, if given) for `exec.input`."""
    queue: Optional[bool]
    """Wait for the session instead of `SESSION_BUSY`."""
    timeout_s: Optional[float]
    """0 is none; the session's default otherwise."""
    working_dir: Optional[str]
    """For this command only."""


# Where a session stands. Drawn in `docs/architecture.md`.
SessionState = Literal["uninitialized", "creating", "ready", "running", "waiting_hitl", "idle", "closed", "terminated"]


# What became of the session's shell.
ShellState = Literal["kept", "rolled_back", "reset", "ended"]


# Whether an agent runs commands without TRL.
ShellWord = Literal["on", "off", "unknown"]


class ShutdownParams(TypedDict, total=False):
    force: Optional[bool]


class ShuttingDown(TypedDict):
    sessions: int


# Whose window decides how large a terminal is.
SizePolicy = Literal["driver", "pinned", "smallest"]


class SlashCommand(TypedDict):
    description: str
    name: str


class Snapshot(TypedDict):
    """Bytes that bring a fresh terminal of this size to the same state."""
    cols: int
    data: str
    encoding: "Encoding"
    gen: str
    offset: int
    """Live output continues here."""
    rows: int
    terminal_id: "TerminalId"


class _SnapshotParams(TypedDict):
    terminal_id: "TerminalId"


class SnapshotParams(_SnapshotParams, total=False):
    history_lines: Optional[int]
    """Lines of history to put before the screen; all there are when absent."""


class SnapshotSpec(TypedDict, total=False):
    """How much is kept of files."""
    max_bytes: Optional[int]
    """Of all together; 256 MiB unless told otherwise."""
    max_file_bytes: Optional[int]
    """A larger file is left out; 32 MiB unless told otherwise."""
    max_files: Optional[int]
    """50 000 unless told otherwise; with more than that none is taken."""


class StartOptions(TypedDict, total=False):
    """Options of `exec.start`."""
    approval: Optional["Approval"]
    """When a person has to be asked; `wait` unless told otherwise."""
    case_id: Optional[str]
    """The case of a fresh process; the configured one, if there is one, unless told otherwise."""
    cols: Optional[int]
    env: Optional[Dict[str, str]]
    idempotency_key: Optional[str]
    """The same key returns the same execution instead of starting another."""
    limits: Optional["Limits"]
    """What a fresh process may use."""
    max_output_bytes: Optional[int]
    """Bytes kept in memory per stream, and shown in one reply."""
    name: Optional[str]
    on_disconnect: Optional["OnDisconnect"]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    queue: Optional[bool]
    """In a session: wait for it instead of `SESSION_BUSY`."""
    rows: Optional[int]
    runtime: Optional["RuntimeWish"]
    """Where a fresh process lives; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """The boundary around a fresh process, whose workspace is `working_dir`; a session has its own."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    shell: Optional[str]
    """The shell for `command`; `/bin/sh` unless told otherwise."""
    stderr: Optional["StderrTo"]
    """Of a fresh process on pipes: `stdout` puts both streams in one, in the order they were written."""
    timeout_s: Optional[float]
    """How long the process may run; 0, which is the default of a fresh process, is for ever."""
    tty: Optional[bool]
    """On a terminal of its own, which people can watch and type into."""
    umask: Optional["Umask"]
    """Of a fresh process; `0022` unless told otherwise."""
    working_dir: Optional[str]
    workspace_id: Optional[str]
    """Of a fresh process."""
    yield_ms: Optional[int]
    """How long this call waits for the end; 10000, and between 250 and 30000."""


class StartParams(TypedDict, total=False):
    """`exec.start`: a fresh process unless a session is named."""
    approval: Optional["Approval"]
    """When a person has to be asked; `wait` unless told otherwise."""
    argv: Optional[List[str]]
    """Or a program and its arguments, with no shell between."""
    case_id: Optional[str]
    """The case of a fresh process; the configured one, if there is one, unless told otherwise."""
    cols: Optional[int]
    command: Optional[str]
    """Text for a shell."""
    env: Optional[Dict[str, str]]
    follow: Optional[bool]
    """Reply as soon as it has begun, and push every byte and the end as `exec.stream` does; it waits for whoever
    reads."""
    idempotency_key: Optional[str]
    """The same key returns the same execution instead of starting another."""
    limits: Optional["Limits"]
    """What a fresh process may use."""
    max_output_bytes: Optional[int]
    """Bytes kept in memory per stream, and shown in one reply."""
    name: Optional[str]
    on_disconnect: Optional["OnDisconnect"]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    queue: Optional[bool]
    """In a session: wait for it instead of `SESSION_BUSY`."""
    rows: Optional[int]
    runtime: Optional["RuntimeWish"]
    """Where a fresh process lives; the configured runtime unless told otherwise."""
    sandbox: Optional["SandboxParams"]
    """The boundary around a fresh process, whose workspace is `working_dir`; a session has its own."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    session_id: Optional["SessionId"]
    """Run `command` in this session's shell."""
    shell: Optional[str]
    """The shell for `command`; `/bin/sh` unless told otherwise."""
    stderr: Optional["StderrTo"]
    """Of a fresh process on pipes: `stdout` puts both streams in one, in the order they were written."""
    stdin: Optional["StartStdin"]
    """`open` unless told otherwise."""
    timeout_s: Optional[float]
    """How long the process may run; 0, which is the default of a fresh process, is for ever."""
    tty: Optional[bool]
    """On a terminal of its own, which people can watch and type into."""
    umask: Optional["Umask"]
    """Of a fresh process; `0022` unless told otherwise."""
    working_dir: Optional[str]
    workspace_id: Optional[str]
    """Of a fresh process."""
    yield_ms: Optional[int]
    """How long this call waits for the end; 10000, and between 250 and 30000."""


# The reply to `exec.start`.
StartReply = Union["Progress", "StreamStarted"]


# What a process reads.
StartStdin = Union["StdinName", "StdinBytes"]


class StatParams(TypedDict, total=False):
    """`fs.stat`."""
    path: Optional[str]
    """From the root of the workspace; the root itself when absent."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


class _Stats(TypedDict):
    active_sessions: int
    approval_wait_ms: "Distribution"
    """How long people took to answer."""
    command_duration_ms: "Distribution"
    """How long commands ran, since the daemon started."""
    command_wait_ms: "Distribution"
    """How long they waited before that."""
    connections: int
    events_seq: int
    execution_build_us: int
    execution_builds: int
    """Commands that began, and microseconds from their requests to their processes, without queues and people."""
    memory_rss_bytes: int
    open_fds: int
    output_bytes: int
    """What commands and terminals wrote since the daemon started."""
    output_memory_bytes: int
    records_dropped: int
    records_failed: int
    records_written: int
    """Writes to the store, those it refused, and executions it was not told of."""
    resets: int
    resident_sessions: int
    """Sessions that take commands."""
    retained_executions: int
    rollbacks: int
    running_executions: int
    session_hits: int
    """Sessions that were asked for and found in memory, and those that were looked for in the store."""
    session_misses: int
    sessions_created: int
    store_queue_bytes: int
    """Writes that wait."""
    threads: int
    timeouts: int
    total_commands_run: int
    uptime_s: int


class Stats(_Stats, total=False):
    pending_requests: int
    """Requests that wait for a person."""
    runtime_reconnects: int
    """Connections to engines elsewhere that took the place of broken ones."""
    runtime_sessions: Dict[str, int]
    """What each of those the caller may use has."""
    runtimes: Dict[str, int]
    """How many runtimes there are in each state they can be in."""


# Where errors go.
StderrTo = Literal["stdout", "stderr"]


class _StdinBytes(TypedDict):
    data: str


class StdinBytes(_StdinBytes, total=False):
    encoding: Optional["Encoding"]


StdinName = Literal["open", "null"]


Stream = Literal["stdout", "stderr", "tty"]


StreamId = str


class _StreamStarted(TypedDict):
    execution_id: "ExecutionId"
    stream_id: "StreamId"


class StreamStarted(_StreamStarted, total=False):
    """The reply to `exec.stream`."""
    events: Optional[str]
    """Over plain HTTP, which has no pushes: where to read them."""
    request_id: Optional["RequestId"]
    """When a person is asked before it begins."""


class SubscribeParams(TypedDict, total=False):
    kinds: Optional[List["Kind"]]
    """Only these kinds; all when absent."""
    session_id: Optional["SessionId"]
    since: Optional[int]
    """Also what happened after this sequence number, as far as it is remembered."""


class Subscribed(TypedDict):
    seq: int
    """The newest event at the time of subscribing."""
    stream_id: "StreamId"


class TerminalCreateParams(TypedDict, total=False):
    approval: Optional["Approval"]
    """When a person has to be asked: `wait` unless told otherwise, or `fail`."""
    argv: Optional[List[str]]
    """A direct command in place of a shell."""
    case_id: Optional[str]
    """The case it is created from; the configured one, if there is one, unless told otherwise."""
    cols: Optional[int]
    env: Optional[Dict[str, str]]
    labels: Optional[Dict[str, str]]
    limits: Optional["Limits"]
    """What its programs may use."""
    name: Optional[str]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    rows: Optional[int]
    runtime: Optional["RuntimeWish"]
    """Only `host` so far."""
    sandbox: Optional["SandboxParams"]
    """The boundary around it; the configured one unless told otherwise."""
    scrollback_bytes: Optional[int]
    """Newest bytes replayed to a client that asks for nothing better."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    shell: Optional[str]
    """The shell program, started as an interactive one; the user's own unless told otherwise."""
    size_policy: Optional["SizePolicy"]
    working_dir: Optional[str]
    workspace_id: Optional[str]
    """The group of terminals it is listed under, whose cases it may be created from."""


class _TerminalDestroyParams(TypedDict):
    terminal_id: "TerminalId"


class TerminalDestroyParams(_TerminalDestroyParams, total=False):
    grace_s: Optional[float]
    """Until then `terminal.keep` takes it back; at once when absent."""


TerminalId = str


class _TerminalInfo(TypedDict):
    clients: int
    """Clients that are attached."""
    cols: int
    created_at: str
    env_keys: List[str]
    """Names only, never values."""
    gen: str
    """This incarnation of the terminal: offsets of another mean nothing here."""
    head: int
    """Bytes of output so far."""
    labels: Dict[str, str]
    last_activity: str
    ring_start: int
    """The oldest byte that can still be replayed."""
    rows: int
    runtime: str
    shell: str
    """The program."""
    size_policy: "SizePolicy"
    state: "TerminalState"
    terminal_id: "TerminalId"
    title: str
    """What the program calls itself."""
    working_dir: str
    """Where the shell says it is, or where it was started."""


class TerminalInfo(_TerminalInfo, total=False):
    """A terminal as `create`, `list` and `get` show it."""
    case_digest: Optional[str]
    """Of that case's file as it was then."""
    case_id: Optional[str]
    """The case it was created from."""
    destroy_in_s: Optional[float]
    """When it will be destroyed, if nobody takes that back."""
    ended: Optional[str]
    """Why it ended, once it has."""
    exit_code: Optional[int]
    """128 + n when a signal ended the program."""
    ignored: List[str]
    """Fields of that case without effect, as nobody trusted it."""
    limits: Optional["LimitsInfo"]
    """What its programs may use, and what holds them to it."""
    name: Optional[str]
    pid: Optional[int]
    sandbox: "SandboxReport"
    signal: Optional[str]
    usage: Optional["Usage"]
    """What they used, once it has ended; only with limits."""
    workspace_id: Optional[str]


class _TerminalInputParams(TypedDict):
    terminal_id: "TerminalId"


class TerminalInputParams(_TerminalInputParams, total=False):
    data: Optional[str]
    """Typed as it is."""
    encoding: Optional["Encoding"]
    keys: Optional[List[str]]
    """Pressed after that, by name: `Up`, `C-c`, `F5`; sent as the program wants them."""


class TerminalInputResult(TypedDict):
    terminal_id: "TerminalId"
    written_bytes: int


class TerminalList(TypedDict):
    terminals: List["TerminalInfo"]


class TerminalListParams(TypedDict, total=False):
    workspace_id: Optional[str]


class TerminalOptions(TypedDict, total=False):
    """Options of `terminal.create`."""
    approval: Optional["Approval"]
    """When a person has to be asked: `wait` unless told otherwise, or `fail`."""
    case_id: Optional[str]
    """The case it is created from; the configured one, if there is one, unless told otherwise."""
    cols: Optional[int]
    env: Optional[Dict[str, str]]
    labels: Optional[Dict[str, str]]
    limits: Optional["Limits"]
    """What its programs may use."""
    name: Optional[str]
    pass_env: Optional[List[str]]
    """Names to take from the daemon's own environment."""
    rows: Optional[int]
    runtime: Optional["RuntimeWish"]
    """Only `host` so far."""
    sandbox: Optional["SandboxParams"]
    """The boundary around it; the configured one unless told otherwise."""
    scrollback_bytes: Optional[int]
    """Newest bytes replayed to a client that asks for nothing better."""
    secret_env: Optional[Dict[str, str]]
    """Like `env`, for values that must never be shown or kept."""
    shell: Optional[str]
    """The shell program, started as an interactive one; the user's own unless told otherwise."""
    size_policy: Optional["SizePolicy"]
    working_dir: Optional[str]
    workspace_id: Optional[str]
    """The group of terminals it is listed under, whose cases it may be created from."""


class TerminalParams(TypedDict):
    """Parameters of methods that only name a terminal."""
    terminal_id: "TerminalId"


class TerminalResizeParams(TypedDict):
    cols: int
    rows: int
    terminal_id: "TerminalId"


class TerminalSignalParams(TypedDict):
    signal: str
    terminal_id: "TerminalId"


class TerminalSignalResult(TypedDict):
    processes: int
    """How many processes got it."""
    terminal_id: "TerminalId"


# Where a terminal stands.
TerminalState = Literal["running", "exited"]


class Ticket(TypedDict):
    """What a browser presents once in place of a token (`POST /api/tickets`)."""
    expires_in_s: int
    ticket: str


class _TokenCreated(TypedDict):
    created_at: str
    name: str
    role: "Role"
    token: str
    token_id: "TokenId"


class TokenCreated(_TokenCreated, total=False):
    """The one reply that holds the token itself."""
    ceilings: "Ceilings"
    expires_at: Optional[str]
    last_used_at: Optional[str]
    """To the minute."""


TokenId = str


class _TokenInfo(TypedDict):
    created_at: str
    name: str
    role: "Role"
    token_id: "TokenId"


class TokenInfo(_TokenInfo, total=False):
    """A token without its secret."""
    ceilings: "Ceilings"
    expires_at: Optional[str]
    last_used_at: Optional[str]
    """To the minute."""


class TokenList(TypedDict):
    tokens: List["TokenInfo"]


class TokenParams(TypedDict):
    token_id: "TokenId"


class TokenRevoked(TypedDict):
    revoked: bool
    token_id: "TokenId"


# The permissions that files are made without, in octal digits as `umask` prints them.
Umask = str


class Until(TypedDict, total=False):
    """The first that holds ends the wait."""
    bytes: Optional[int]
    """So many bytes were written from `since` on."""
    exit: Optional[bool]
    """The end always ends the wait; `true` says that nothing else does."""
    idle_ms: Optional[int]
    """Nothing was written for so long."""
    pattern: Optional[str]
    """A regular expression that the output matches, from `since` on."""
    since: Optional[int]
    """Where `pattern` and `bytes` begin in the stream; 0."""
    stream: Optional["Stream"]
    """Only this stream counts."""


class _UpdatePush(TypedDict):
    message_id: "MessageId"
    seq: int
    """From 1, without gaps."""
    session_id: "SessionId"
    time: str
    update: "AgentUpdate"


class UpdatePush(_UpdatePush, total=False):
    """The push `agent.update`."""
    stream_id: Optional["StreamId"]
    """Absent in events of plain HTTP."""


class _Usage(TypedDict):
    backend: "LimitsBackend"
    """What held it to its limits."""
    cpu_ms: int
    memory_peak_bytes: int
    not_enforced: List["Limit"]
    """Limits it was not held to."""
    oom_killed: bool
    """The kernel ended a process for want of memory."""
    scope: "UsageScope"


class Usage(_Usage, total=False):
    """What was used: time and disk since the command began, memory at its most since the session did."""
    io: Optional["IoUsage"]
    """Of disks, where the kernel counts it."""
    limit_hit: Optional["Limit"]
    """The limit that was met."""


# Whose usage it is.
UsageScope = Literal["session", "execution"]


# What the rules say of a part of a command, the strictest last.
Verdict = Literal["allow", "deny", "ask"]


class _WaitParams(TypedDict):
    execution_id: "ExecutionId"


class WaitParams(_WaitParams, total=False):
    """`exec.wait`: until one of these holds, the end in any case. Waiting ends nothing."""
    max_output_bytes: Optional[int]
    """Shown in the reply, per stream."""
    timeout_s: Optional[float]
    """30 unless told otherwise, at most 600."""
    until: Optional["Until"]
    """The end, when absent."""


class _Waited(TypedDict):
    execution_id: "ExecutionId"
    next: "Next"
    """Where the next call goes on."""
    reason: "Reason"
    status: "ExecutionStatus"
    stderr: str
    stderr_encoding: "Encoding"
    stdout: str
    stdout_encoding: "Encoding"


class Waited(_Waited, total=False):
    """How far an execution has come: what it wrote since the last call that was told, and its end, once it has
    ended."""
    elapsed_ms: int
    sandbox: "SandboxReport"
    """The boundary it ran in."""
    background_pids: Optional[List[int]]
    """Processes it left running."""
    cancelled: bool
    denied: Optional["Denied"]
    """What that refused."""
    duration_ms: int
    exit_code: int
    """128+n when it was killed by signal n."""
    lost_commands: Optional[int]
    """With `renewal: idle`: how many finished commands the rollback lost as well."""
    omitted: Optional["Omitted"]
    shell_state: "ShellState"
    signal: Optional[str]
    """`KILL`, `TERM`, ... when the shell itself died of it."""
    stderr_bytes: int
    stdout_bytes: int
    timed_out: bool
    usage: Optional["Usage"]
    """What it used; only with limits."""
    waited_ms: int
    working_dir: str
    gap: Optional["Omitted"]
    """Ranges of the streams that are not in this reply, of what it should have told."""
    matched: Optional["Matched"]
    request_id: Optional["RequestId"]
    """While a person has to be asked before it begins."""
    session_id: Optional["SessionId"]
    terminal_id: Optional["TerminalId"]
    """Where it runs, with `tty`; everything it writes is `stdout` then."""


class Waiting(TypedDict):
    """A command that has not begun: a person is asked first."""
    execution_id: "ExecutionId"
    request_id: "RequestId"
    state: "SessionState"
    """`waiting_hitl`."""


class WatchParams(TypedDict, total=False):
    """`fs.watch`."""
    path: Optional[str]
    """From the root of the workspace; the root itself when absent."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    recursive: Optional[bool]
    """Everything below as well."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""


class Watching(TypedDict):
    """What changes is pushed as `fs.changed`, for as long as the connection lasts."""
    stream_id: "StreamId"
    truncated: bool
    """There are more directories than are watched."""


class _WorkspaceCreateParams(TypedDict):
    workspace_id: str


class WorkspaceCreateParams(_WorkspaceCreateParams, total=False):
    dir: Optional[str]
    """An absolute path, for the operator to give; a fresh directory of the daemon's when absent."""


class WorkspaceInfo(TypedDict):
    created_at: str
    dir: str
    owner: str
    """Who made it: `agent`, `operator`, or the id of a token."""
    workspace_id: str


class WorkspaceList(TypedDict):
    workspaces: List["WorkspaceInfo"]


class WorkspaceParams(TypedDict):
    workspace_id: str


class _WriteParams(TypedDict):
    data: str
    path: str


class WriteParams(_WriteParams, total=False):
    """`fs.write`."""
    approval: Optional["Approval"]
    """What is done while a person is asked; `wait` unless told otherwise."""
    create_dirs: Optional[bool]
    """Make missing directories on the way."""
    encoding: Optional["Encoding"]
    if_version: Optional[str]
    """Only in place of the file of this version; empty: only where nothing is."""
    mode: Optional[str]
    """Permission bits in octal digits, such as `0755`; those of the old file, or the usual ones."""
    path_encoding: Optional["Encoding"]
    """`base64` for a path that is not UTF-8."""
    session_id: Optional["SessionId"]
    """Of this session: its workspace, or the directory it was created in."""
    workspace_id: Optional[str]
    """Of this workspace; one of the two is named."""
