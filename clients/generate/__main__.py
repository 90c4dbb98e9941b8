"""Writes the parts of the client libraries that are made from docs/openapi.json, or with `--check` says which are old.

Needs nothing but Python.
"""

import sys
from pathlib import Path

import python
import schema
import typescript
import unasync

CLIENTS = Path(__file__).resolve().parents[1]
PACKAGE = CLIENTS / "python/src/trl_client"


def made():
    wire = schema.load()
    for name, text in python.files(wire).items():
        yield PACKAGE / name, text
    for name, text in typescript.files(wire).items():
        yield CLIENTS / "typescript/src" / name, text


def synchronous():
    """After the others: one of them is what these are made from."""
    for name, text in unasync.files(PACKAGE / "_async").items():
        yield PACKAGE / "_sync" / name, text


def main(check):
    old = []
    for part in (made, synchronous):
        for path, text in part():
            if path.exists() and path.read_text() == text:
                continue
            old.append(str(path.relative_to(CLIENTS)))
            if not check:
                path.write_text(text)
    if check and old:
        sys.exit(f"not up to date: {', '.join(old)}; `cargo xtask docs` writes them")


main("--check" in sys.argv[1:])
