"""Commands that wait for a person, and the answers. Answering takes the operator's token.

Made by clients/generate from _async/approvals.py.
"""

from __future__ import annotations

from typing import Any, List, Optional, cast

from .. import types
from .links import Links

# One question to the daemon lasts no longer than this, so that a connection is never silent for hours.
_LONGEST_WAIT_S = 600.0


class Approvals:
    def __init__(self, links: Links) -> None:
        self._links = links

    def list(
        self, *, session_id: Optional[str] = None, state: Optional[types.RequestState] = None
    ) -> List[types.ApprovalRequest]:
        """Those that wait, oldest first; with a `state` those in that one."""
        reply = self._ask("hitl.list", session_id=session_id, state=state)
        return cast(List[types.ApprovalRequest], reply["requests"])

    def get(self, request_id: str) -> types.ApprovalRequest:
        return cast(types.ApprovalRequest, self._ask("hitl.get", request_id=request_id))

    def wait(self, request_id: str, timeout_s: Optional[float] = None) -> types.ApprovalRequest:
        """The request once it is settled, or as it is after that long."""
        while True:
            limit = _LONGEST_WAIT_S if timeout_s is None else min(timeout_s, _LONGEST_WAIT_S)
            request = self._ask("hitl.wait", request_id=request_id, timeout_s=limit)
            timeout_s = None if timeout_s is None else timeout_s - limit
            if request["state"] != "pending" or (timeout_s is not None and timeout_s <= 0):
                return cast(types.ApprovalRequest, request)

    def respond(
        self,
        request: types.ApprovalRequest,
        decision: types.Decision,
        *,
        scope: Optional[types.Scope] = None,
        command: Optional[str] = None,
        reason: Optional[str] = None,
    ) -> types.ApprovalRequest:
        """Answers what was shown: the digest of the request goes along. `command` runs another text in its place."""
        reply = self._ask(
            "hitl.respond",
            request_id=request["request_id"],
            digest=request["digest"],
            decision=decision,
            scope=scope,
            command=command,
            reason=reason,
        )
        return cast(types.ApprovalRequest, reply)

    def approve(
        self, request: types.ApprovalRequest, *, scope: Optional[types.Scope] = None
    ) -> types.ApprovalRequest:
        return self.respond(request, "approve", scope=scope)

    def reject(self, request: types.ApprovalRequest, reason: Optional[str] = None) -> types.ApprovalRequest:
        return self.respond(request, "reject", reason=reason)

    def audit(self, **options: Any) -> List[types.AuditEntry]:
        """Who decided what, newest first."""
        return cast(List[types.AuditEntry], (self._ask("hitl.audit", **options))["entries"])

    def _ask(self, method: str, **params: Any) -> Any:
        return self._links.ask(method, params)
