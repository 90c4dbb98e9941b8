"""Files of a workspace or of a session, through the daemon.

Made by clients/generate from _async/files.py.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, cast

from .. import types
from ..errors import ApprovalPending
from ..values import Data, to_bytes, to_wire
from .feed import Watch
from .links import Links


class Files:
    """Paths are relative to the root. One that is no UTF-8 needs `call` and its `path_encoding`."""

    def __init__(self, links: Links, place: Dict[str, Any]) -> None:
        self._links, self._place = links, place

    def read(self, path: str) -> bytes:
        """All of it, in as many pieces as it takes."""
        pieces, offset = [], 0
        while True:
            piece = self._ask("fs.read", path=path, offset=offset)
            pieces.append(to_bytes(piece["data"], piece["encoding"]))
            if piece.get("next") is None:
                return b"".join(pieces)
            offset = piece["next"]

    def read_text(self, path: str) -> str:
        return (self.read(path)).decode("utf-8", "replace")

    def write(
        self,
        path: str,
        data: Data,
        *,
        create_dirs: Optional[bool] = None,
        mode: Optional[int] = None,
        if_version: Optional[str] = None,
    ) -> types.FileWritten:
        """All of it or nothing. `if_version` makes it conditional: a version, or "" for "only where nothing is"."""
        text, encoding = to_wire(data)
        given = {"data": text, "encoding": encoding, "create_dirs": create_dirs, "mode": mode, "if_version": if_version}
        return cast(types.FileWritten, self._change("fs.write", path=path, **given))

    def stat(self, path: Optional[str] = None) -> types.FileInfo:
        return cast(types.FileInfo, self._ask("fs.stat", path=path))

    def list(
        self, path: Optional[str] = None, *, depth: Optional[int] = None, limit: Optional[int] = None
    ) -> types.FileList:
        return cast(types.FileList, self._ask("fs.list", path=path, depth=depth, limit=limit))

    def mkdir(self, path: str, *, create_dirs: Optional[bool] = None) -> types.DirMade:
        return cast(types.DirMade, self._change("fs.mkdir", path=path, create_dirs=create_dirs))

    def move(self, path: str, to: str, *, overwrite: Optional[bool] = None) -> types.FileMoved:
        return cast(types.FileMoved, self._change("fs.move", path=path, to=to, overwrite=overwrite))

    def remove(self, path: str, *, recursive: Optional[bool] = None) -> types.FileRemoved:
        return cast(types.FileRemoved, self._change("fs.remove", path=path, recursive=recursive))

    def glob(self, pattern: str, **options: Any) -> List[str]:
        """Files by a pattern of their path; `.gitignore` is honoured."""
        reply = self._ask("fs.glob", pattern=pattern, **options)
        return [str(found["path"]) for found in reply["files"]]

    def grep(self, pattern: str, **options: Any) -> types.Matches:
        """Lines by a regular expression; options as in `fs.grep`: `glob`, `context`, `literal`, `ignore_case`, ..."""
        return cast(types.Matches, self._ask("fs.grep", pattern=pattern, **options))

    def watch(self, path: Optional[str] = None, *, recursive: Optional[bool] = None) -> Watch:
        """What changes below a directory, until it is closed."""
        return Watch(self._links, "fs.watch", {**self._place, "path": path, "recursive": recursive})

    def _change(self, method: str, **params: Any) -> Any:
        reply = self._ask(method, **params)
        if "request_id" in reply:
            raise ApprovalPending("a person has to say yes first", details=reply)
        return reply

    def _ask(self, method: str, **params: Any) -> Any:
        return self._links.ask(method, {**self._place, **params})
