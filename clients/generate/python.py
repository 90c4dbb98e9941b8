"""The types of the wire for Python: `types.py`, `_async/calls.py`, `codes.py`."""

import keyword
import textwrap

from schema import pascal, words

MADE = '"""{about}\n\nMade by clients/generate from docs/openapi.json.\n"""\n\nfrom __future__ import annotations\n\n'
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def files(wire):
    return {
        "types.py": types(wire),
        "codes.py": codes(wire),
        "_async/calls.py": calls(wire),
    }


def types(wire):
    text = MADE.format(about="The shapes of the wire: what methods take, and what they answer with.")
    text += "from typing import Any, Dict, List, Literal, Optional, TypedDict, Union\n\n"
    text += f"__all__ = {sorted(wire.schemas)!r}\n"
    for name, schema in wire.schemas.items():
        text += "\n\n" + definition(wire, name, schema)
    return text


def definition(wire, name, schema):
    if words(schema) is not None:
        return alias(name, kind(wire, schema), schema)
    if "properties" in schema:
        variants = schema.get("oneOf")
        if variants and all("kind" in variant["properties"] for variant in variants):
            return tagged(wire, name, schema, variants)
        return record(name, schema.get("description"), *fields(wire, schema))
    return alias(name, kind(wire, schema), schema)


def alias(name, value, schema):
    return f"{comment(schema)}{name} = {value}\n"


def comment(schema):
    text = schema.get("description", "")
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 110))


def fields(wire, schema):
    """Properties with their types, and which of them are always there. Of several forms, those of all are."""
    found, always = dict(schema.get("properties", {})), set(schema.get("required", []))
    forms = [wire.resolve(form) for form in schema.get("anyOf", [])]
    for form in forms:
        found = {**form["properties"], **found}
    if forms:
        always |= set.intersection(*(set(form.get("required", [])) for form in forms))
    return {key: (kind(wire, value), value.get("description")) for key, value in found.items()}, always


def tagged(wire, name, schema, variants):
    """One record per kind."""
    text, union = "", []
    for variant in variants:
        whole = {
            "properties": {**variant["properties"], **schema["properties"]},
            "required": variant["required"] + schema["required"],
        }
        one = name + pascal(variant["properties"]["kind"]["const"])
        union.append(f'"{one}"')
        text += record(one, variant.get("description"), *fields(wire, whole)) + "\n\n"
    return text + alias(name, f"Union[{', '.join(union)}]", schema)


def record(name, about, found, always):
    if any(keyword.iskeyword(key) for key in found):
        assert always == set(found), f"{name} has a keyword for a key, and keys that may be missing"
        inner = ", ".join(f'"{key}": {value}' for key, (value, _) in found.items())
        return f'{name} = TypedDict("{name}", {{{inner}}})\n'
    optional = [key for key in found if key not in always]
    if not optional or not always:
        total = ", total=False" if optional else ""
        return f"class {name}(TypedDict{total}):\n" + body(about, found, found)
    return (
        f"class _{name}(TypedDict):\n"
        + body(None, found, [key for key in found if key in always])
        + f"\n\nclass {name}(_{name}, total=False):\n"
        + body(about, found, optional)
    )


def body(about, found, keys):
    lines = []
    if about:
        lines.append(f'    """{wrapped(about)}"""')
    for key in keys:
        value, meaning = found[key]
        lines.append(f"    {key}: {value}")
        if meaning:
            lines.append(f'    """{wrapped(meaning)}"""')
    return "\n".join(lines or ["    pass"]) + "\n"


def wrapped(text):
    return "\n    ".join(textwrap.wrap(text.replace("\\", "\\\\"), 110))


def kind(wire, schema):
    """A type, with names in quotes where it stands outside of a class."""
    if "$ref" in schema:
        return f'"{wire.named(schema)}"'
    strings = words(schema)
    if strings is not None:
        return f"Literal[{', '.join(repr(word).replace(chr(39), chr(34)) for word in strings)}]"
    parts = schema.get("anyOf") or schema.get("oneOf")
    if parts:
        return union([kind(wire, part) for part in parts])
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    return union([one(wire, name, schema) for name in names]) if names else "Any"


def one(wire, name, schema):
    if name == "array":
        return f"List[{kind(wire, schema['items'])}]"
    if name == "object":
        inside = schema.get("additionalProperties", {})
        return f"Dict[str, {kind(wire, inside) if isinstance(inside, dict) else 'Any'}]"
    return SIMPLE[name]


def union(parts):
    others = [part for part in parts if part != "None"]
    if not others:
        return "None"
    inner = others[0] if len(others) == 1 else f"Union[{', '.join(others)}]"
    return f"Optional[{inner}]" if "None" in parts else inner


def codes(wire):
    text = MADE.format(about="One exception for every code a request can be refused with.")
    text += "from typing import Dict, Type\n\nfrom .errors import Refused\n\n"
    text += "__all__ = [\n" + "".join(f"    \"{class_of(code)}\",\n" for code in sorted(wire.codes)) + "]\n"
    for code in wire.codes:
        text += f'\n\nclass {class_of(code)}(Refused):\n    """`{code}`."""\n'
    text += "\n\nBY_CODE: Dict[str, Type[Refused]] = {\n"
    text += "".join(f'    "{code}": {class_of(code)},\n' for code in wire.codes)
    return text + "}\n"


def class_of(code):
    return "".join(word.capitalize() for word in code.split("_"))


def calls(wire):
    text = MADE.format(about="Every method of the wire, by its name.")
    text += "from typing import TYPE_CHECKING, Any, Literal, overload\n\nfrom .. import types\n\n"
    text += "if TYPE_CHECKING:\n    from typing_extensions import Unpack\n\n\n"
    text += 'class AsyncCalls:\n    """What `call` takes and gives for each method."""\n'
    for method, (params, result, _) in wire.methods.items():
        given = f", **params: Unpack[types.{params}]" if wire.schemas[params].get("properties") else ""
        text += f'\n    @overload\n    async def call(self, method: Literal["{method}"]{given}) -> types.{result}: ...\n'
    text += "\n    @overload\n    async def call(self, method: str, **params: Any) -> Any: ...\n"
    text += "\n    async def call(self, method: str, **params: Any) -> Any:\n"
    text += '        """Calls any method of the wire; params that are None are left out."""\n'
    text += "        return await self._ask(method, params)\n"
    text += "\n    async def _ask(self, method: str, params: Any) -> Any:\n        raise NotImplementedError\n"
    return text
