"""The types of the wire for TypeScript: `types.gen.ts`."""

import json

from schema import words

SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def files(wire):
    text = "// Made by clients/generate from docs/openapi.json.\n"
    for name, schema in wire.schemas.items():
        text += f"\n{comment(schema, '')}export type {name} = {kind(wire, schema)};\n"
    text += "\n/** Every method of the wire. */\nexport interface Methods {\n"
    for method, (params, result, about) in wire.methods.items():
        text += f'  /** {about} */\n  "{method}": {{ params: {params}; result: {result} }};\n'
    text += "}\n\n/** What is sent without being asked for. */\nexport interface Pushes {\n"
    for push, name in wire.pushes.items():
        text += f'  "{push}": {name};\n'
    return {"types.gen.ts": text + "}\n"}


def comment(schema, indent):
    text = schema.get("description", "").replace("\n", " ")
    return f"{indent}/** {text} */\n" if text else ""


def kind(wire, schema, indent=""):
    if "$ref" in schema:
        return wire.named(schema)
    strings = words(schema)
    if strings is not None:
        return " | ".join(json.dumps(word) for word in strings)
    parts = [kind(wire, part, indent) for part in schema.get("anyOf") or schema.get("oneOf") or []]
    either = " | ".join(parts)
    if "properties" in schema:
        own = record(wire, schema, indent)
        return f"{own} & ({either})" if parts else own
    if parts:
        return either
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    return " | ".join(one(wire, name, schema, indent) for name in names) or "unknown"


def record(wire, schema, indent):
    inner = indent + "  "
    text = "{\n"
    for key, value in schema["properties"].items():
        mark = "" if key in schema.get("required", []) else "?"
        shown = kind(wire, value, inner)
        # With `exactOptionalPropertyTypes` a value that may be undefined could not be handed on otherwise.
        more = " | undefined" if mark else ""
        text += f"{comment(value, inner)}{inner}{key}{mark}: {shown}{more};\n"
    return text + indent + "}"


def one(wire, name, schema, indent):
    if name == "array":
        inside = kind(wire, schema["items"], indent)
        return f"({inside})[]" if " " in inside else f"{inside}[]"
    if name == "object":
        inside = schema.get("additionalProperties", {})
        return f"Record<string, {kind(wire, inside, indent)}>" if isinstance(inside, dict) and inside else (
            "Record<string, never>" if inside is False else "Record<string, unknown>"
        )
    return SIMPLE[name]
