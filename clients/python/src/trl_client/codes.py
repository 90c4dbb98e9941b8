"""One exception for every code a request can be refused with.

Made by clients/generate from docs/openapi.json.
"""

from __future__ import annotations

from typing import Dict, Type

from .errors import Refused

__all__ = [
    "AgentUnavailable",
    "AlreadyResolved",
    "ApprovalDenied",
    "ApprovalExpired",
    "ApprovalRequired",
    "AuthFailed",
    "CaseInvalid",
    "CaseNotFound",
    "CheckpointCorrupt",
    "CheckpointNotFound",
    "ExecutionNotFound",
    "FileNotFound",
    "FileOutsideWorkspace",
    "Forbidden",
    "InternalError",
    "InvalidParams",
    "LimitExceeded",
    "MaxSessionsReached",
    "MessageNotFound",
    "PayloadTooLarge",
    "RequestNotFound",
    "ResourcePressure",
    "RuntimeNotFound",
    "RuntimeUnavailable",
    "SandboxDenied",
    "SandboxUnavailable",
    "SecretsRequired",
    "SessionBusy",
    "SessionClosed",
    "SessionLimitExceeded",
    "SessionNotFound",
    "SessionTerminated",
    "ShellNotFound",
    "ShellStartFailed",
    "ShuttingDown",
    "StorageFull",
    "TerminalNotFound",
    "UnknownMethod",
    "WorkingDirInvalid",
]


class SessionNotFound(Refused):
    """`SESSION_NOT_FOUND`."""


class SessionBusy(Refused):
    """`SESSION_BUSY`."""


class SessionClosed(Refused):
    """`SESSION_CLOSED`."""


class SessionTerminated(Refused):
    """`SESSION_TERMINATED`."""


class ExecutionNotFound(Refused):
    """`EXECUTION_NOT_FOUND`."""


class TerminalNotFound(Refused):
    """`TERMINAL_NOT_FOUND`."""


class RequestNotFound(Refused):
    """`REQUEST_NOT_FOUND`."""


class MaxSessionsReached(Refused):
    """`MAX_SESSIONS_REACHED`."""


class SessionLimitExceeded(Refused):
    """`SESSION_LIMIT_EXCEEDED`."""


class ResourcePressure(Refused):
    """`RESOURCE_PRESSURE`."""


class LimitExceeded(Refused):
    """`LIMIT_EXCEEDED`."""


class StorageFull(Refused):
    """`STORAGE_FULL`."""


class ShellNotFound(Refused):
    """`SHELL_NOT_FOUND`."""


class ShellStartFailed(Refused):
    """`SHELL_START_FAILED`."""


class WorkingDirInvalid(Refused):
    """`WORKING_DIR_INVALID`."""


class InvalidParams(Refused):
    """`INVALID_PARAMS`."""


class UnknownMethod(Refused):
    """`UNKNOWN_METHOD`."""


class PayloadTooLarge(Refused):
    """`PAYLOAD_TOO_LARGE`."""


class AuthFailed(Refused):
    """`AUTH_FAILED`."""


class Forbidden(Refused):
    """`FORBIDDEN`."""


class FileNotFound(Refused):
    """`FILE_NOT_FOUND`."""


class FileOutsideWorkspace(Refused):
    """`FILE_OUTSIDE_WORKSPACE`."""


class ApprovalRequired(Refused):
    """`APPROVAL_REQUIRED`."""


class ApprovalDenied(Refused):
    """`APPROVAL_DENIED`."""


class ApprovalExpired(Refused):
    """`APPROVAL_EXPIRED`."""


class AlreadyResolved(Refused):
    """`ALREADY_RESOLVED`."""


class SecretsRequired(Refused):
    """`SECRETS_REQUIRED`."""


class CaseNotFound(Refused):
    """`CASE_NOT_FOUND`."""


class CaseInvalid(Refused):
    """`CASE_INVALID`."""


class SandboxDenied(Refused):
    """`SANDBOX_DENIED`."""


class SandboxUnavailable(Refused):
    """`SANDBOX_UNAVAILABLE`."""


class CheckpointNotFound(Refused):
    """`CHECKPOINT_NOT_FOUND`."""


class CheckpointCorrupt(Refused):
    """`CHECKPOINT_CORRUPT`."""


class RuntimeNotFound(Refused):
    """`RUNTIME_NOT_FOUND`."""


class RuntimeUnavailable(Refused):
    """`RUNTIME_UNAVAILABLE`."""


class AgentUnavailable(Refused):
    """`AGENT_UNAVAILABLE`."""


class MessageNotFound(Refused):
    """`MESSAGE_NOT_FOUND`."""


class ShuttingDown(Refused):
    """`SHUTTING_DOWN`."""


class InternalError(Refused):
    """`INTERNAL_ERROR`."""


BY_CODE: Dict[str, Type[Refused]] = {
    "SESSION_NOT_FOUND": SessionNotFound,
    "SESSION_BUSY": SessionBusy,
    "SESSION_CLOSED": SessionClosed,
    "SESSION_TERMINATED": SessionTerminated,
    "EXECUTION_NOT_FOUND": ExecutionNotFound,
    "TERMINAL_NOT_FOUND": TerminalNotFound,
    "REQUEST_NOT_FOUND": RequestNotFound,
    "MAX_SESSIONS_REACHED": MaxSessionsReached,
    "SESSION_LIMIT_EXCEEDED": SessionLimitExceeded,
    "RESOURCE_PRESSURE": ResourcePressure,
    "LIMIT_EXCEEDED": LimitExceeded,
    "STORAGE_FULL": StorageFull,
    "SHELL_NOT_FOUND": ShellNotFound,
    "SHELL_START_FAILED": ShellStartFailed,
    "WORKING_DIR_INVALID": WorkingDirInvalid,
    "INVALID_PARAMS": InvalidParams,
    "UNKNOWN_METHOD": UnknownMethod,
    "PAYLOAD_TOO_LARGE": PayloadTooLarge,
    "AUTH_FAILED": AuthFailed,
    "FORBIDDEN": Forbidden,
    "FILE_NOT_FOUND": FileNotFound,
    "FILE_OUTSIDE_WORKSPACE": FileOutsideWorkspace,
    "APPROVAL_REQUIRED": ApprovalRequired,
    "APPROVAL_DENIED": ApprovalDenied,
    "APPROVAL_EXPIRED": ApprovalExpired,
    "ALREADY_RESOLVED": AlreadyResolved,
    "SECRETS_REQUIRED": SecretsRequired,
    "CASE_NOT_FOUND": CaseNotFound,
    "CASE_INVALID": CaseInvalid,
    "SANDBOX_DENIED": SandboxDenied,
    "SANDBOX_UNAVAILABLE": SandboxUnavailable,
    "CHECKPOINT_NOT_FOUND": CheckpointNotFound,
    "CHECKPOINT_CORRUPT": CheckpointCorrupt,
    "RUNTIME_NOT_FOUND": RuntimeNotFound,
    "RUNTIME_UNAVAILABLE": RuntimeUnavailable,
    "AGENT_UNAVAILABLE": AgentUnavailable,
    "MESSAGE_NOT_FOUND": MessageNotFound,
    "SHUTTING_DOWN": ShuttingDown,
    "INTERNAL_ERROR": InternalError,
}
