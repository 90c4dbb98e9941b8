"""All connections of a client: each thread that waits has one for itself."""

from __future__ import annotations

from typing import Any, Dict

from .pool import Pool


class Links(Pool):
    def ask(self, method: str, params: Dict[str, Any]) -> Any:
        return self.ask_alone(method, params)

    def close(self) -> None:
        self.drop_idle()
