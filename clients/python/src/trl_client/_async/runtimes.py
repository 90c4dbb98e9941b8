"""The places where sessions can live. Adding and removing takes the operator's token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, cast

from .. import types
from .links import AsyncLinks

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncRuntimes:
    def __init__(self, links: AsyncLinks) -> None:
        self._links = links

    async def list(self) -> List[types.RuntimeInfo]:
        return cast(List[types.RuntimeInfo], (await self._ask("runtime.list"))["runtimes"])

    async def get(self, name: str) -> types.RuntimeInfo:
        return cast(types.RuntimeInfo, await self._ask("runtime.get", name=name))

    async def health(self, name: str) -> types.RuntimeHealth:
        """Asks its engine, which is started there if need be."""
        return cast(types.RuntimeHealth, await self._ask("runtime.health", name=name))

    async def add(self, **spec: Unpack[types.RuntimeSpec]) -> types.RuntimeInfo:
        """One more, also for the next daemon."""
        return cast(types.RuntimeInfo, await self._ask("runtime.add", **spec))

    async def remove(
        self, name: str, *, drain: Optional[bool] = None, force: Optional[bool] = None
    ) -> types.RuntimeRemoved:
        return cast(types.RuntimeRemoved, await self._ask("runtime.remove", name=name, drain=drain, force=force))

    async def _ask(self, method: str, **params: Any) -> Any:
        return await self._links.ask(method, params)
