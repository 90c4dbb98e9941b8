"""The description of the wire, docs/openapi.json, as the types a client library has.

1. `load` reads the document and gives every schema a name that lasts. Where several schemas share a name, the document
   numbers them (`CreateParams3`), and a new one could shift the numbers; such a schema is named for its method.
2. Params that a library's own functions take as options are cut out of the method's params (`OPTIONS`).

Writes nothing: `python.py` and `typescript.py` do.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs/openapi.json"
REF = "#/components/schemas/"

# Of the document's own envelopes: a library's users never see them.
ENVELOPES = {"Request", "Reply", "Refusal"}

# What functions take beside their arguments: the params of a method without those they have names of their own for.
OPTIONS = {
    "RunOptions": ("exec.run", {"command", "session_id", "stdin", "stdin_encoding", "on_disconnect"}),
    "SessionRunOptions": (
        "exec.run",
        {"command", "session_id", "stdin", "stdin_encoding", "on_disconnect", "case_id", "workspace_id", "sandbox", "runtime"},
    ),
    "StartOptions": ("exec.start", {"command", "argv", "session_id", "stdin", "follow"}),
    "SessionOptions": ("session.create", set()),
    "TerminalOptions": ("terminal.create", {"argv"}),
}


def pascal(words):
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[._-]", words))


def plain(schema):
    """A schema in which `true`, which is anything, is an object without words."""
    if schema is True:
        return {}
    whole = dict(schema)
    if "properties" in whole:
        whole["properties"] = {key: plain(value) for key, value in whole["properties"].items()}
    for key in {"anyOf", "oneOf"} & whole.keys():
        whole[key] = [plain(part) for part in whole[key]]
    if "items" in whole:
        whole["items"] = plain(whole["items"])
    return whole


class Wire:
    """Schemas by name, methods with the names of their params and results, and pushes."""

    def __init__(self, document):
        schemas = document["components"]["schemas"]
        methods = document["x-trl-methods"]
        self.version = document["info"]["version"]
        self._names = names(schemas, methods)
        self.schemas = {self._names[old]: plain(schemas[old]) for old in schemas if old not in ENVELOPES}
        self.methods = {
            name: (self.named(row["params"]), self.named(row["result"]), row["about"]) for name, row in methods.items()
        }
        self.pushes = {name: self.named(schema) for name, schema in document["x-trl-pushes"].items()}
        self.codes = schemas["ErrorCode"]["enum"]
        for name, (method, without) in OPTIONS.items():
            self.schemas[name] = options(self.schemas[self.methods[method][0]], method, without)
        self.schemas = dict(sorted(self.schemas.items()))

    def named(self, schema):
        return self._names[schema["$ref"].removeprefix(REF)]

    def resolve(self, schema):
        return self.schemas[self.named(schema)] if "$ref" in schema else schema


def names(schemas, methods):
    """From the name in the document to ours."""
    stems = [name.rstrip("0123456789") for name in schemas]
    shared = {stem for stem in stems if stems.count(stem) > 1}
    found = {name: name for name in schemas}
    for method, row in methods.items():
        for part, ending in (("params", "Params"), ("result", "Result")):
            name = row[part]["$ref"].removeprefix(REF)
            if name.rstrip("0123456789") in shared and found[name] == name:
                found[name] = pascal(method) + ending
    assert len(set(found.values())) == len(found), "two schemas have one name"
    numbered = [name for name in found.values() if name[-1].isdigit()]
    assert not numbered, f"the number may change, name them with #[schemars(rename)]: {numbered}"
    return found


def options(params, method, without):
    unknown = without - params["properties"].keys()
    assert not unknown, f"{method} has no {unknown}"
    kept = {key: value for key, value in params["properties"].items() if key not in without}
    return {"type": "object", "description": f"Options of `{method}`.", "properties": kept}


def load():
    return Wire(json.loads(SOURCE.read_text()))


def words(schema):
    """The strings a schema allows, when it is nothing but those."""
    if "enum" in schema:
        return schema["enum"]
    if "const" in schema:
        return [schema["const"]]
    parts = [words(part) for part in schema.get("oneOf", [])]
    return sum(parts, []) if parts and all(parts) else None
