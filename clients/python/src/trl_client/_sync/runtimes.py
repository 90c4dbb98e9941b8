"""The places where sessions can live. Adding and removing takes the operator's token.

Made by clients/generate from _async/runtimes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, cast

from .. import types
from .links import Links

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Runtimes:
    def __init__(self, links: Links) -> None:
        self._links = links

    def list(self) -> List[types.RuntimeInfo]:
        return cast(List[types.RuntimeInfo], (self._ask("runtime.list"))["runtimes"])

    def get(self, name: str) -> types.RuntimeInfo:
        return cast(types.RuntimeInfo, self._ask("runtime.get", name=name))

    def health(self, name: str) -> types.RuntimeHealth:
        """Asks its engine, which is started there if need be."""
        return cast(types.RuntimeHealth, self._ask("runtime.health", name=name))

    def add(self, **spec: Unpack[types.RuntimeSpec]) -> types.RuntimeInfo:
        """One more, also for the next daemon."""
        return cast(types.RuntimeInfo, self._ask("runtime.add", **spec))

    def remove(
        self, name: str, *, drain: Optional[bool] = None, force: Optional[bool] = None
    ) -> types.RuntimeRemoved:
        return cast(types.RuntimeRemoved, self._ask("runtime.remove", name=name, drain=drain, force=force))

    def _ask(self, method: str, **params: Any) -> Any:
        return self._links.ask(method, params)
