"""Writes duplex_client/records.py from the venue's OpenAPI document.

    python3 generate.py openapi.json > duplex_client/records.py
"""

import json
import keyword
import sys

SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "null": "None", "number": "float"}


def kind(schema):
    """Returns the Python type of a schema."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    for some in ("anyOf", "oneOf"):
        if some in schema:
            return " | ".join(dict.fromkeys(kind(s) for s in schema[some]))
    types = schema.get("type", "object")
    if isinstance(types, list):
        return " | ".join(kind({**schema, "type": t}) for t in types)
    if "enum" in schema and types == "string":
        return f"Literal[{', '.join(json.dumps(v) for v in schema['enum'] if v is not None)}]"
    if types == "array":
        return f"list[{kind(schema['items'])}]"
    if types == "object":
        extra = schema.get("additionalProperties")
        return f"dict[str, {kind(extra)}]" if isinstance(extra, dict) else "dict[str, Any]"
    return SCALARS[types]


def member_type(member, schema, required):
    """Returns the annotation of a member. Types are quoted because records name later ones."""
    t = json.dumps(kind(schema)).replace('\\"', "'")
    return t if member in required else f"NotRequired[{t}]"


def record(name, schema):
    """Returns the lines of one record. A member that is not required may be absent."""
    required, members = schema.get("required", []), schema["properties"]
    if any(keyword.iskeyword(m) for m in members):  # a class cannot have such a member
        pairs = ", ".join(f"{json.dumps(m)}: {member_type(m, s, required)}" for m, s in members.items())
        return [f"{name} = TypedDict({json.dumps(name)}, {{{pairs}}})"]
    lines = [f"class {name}(TypedDict):"]
    for member, s in members.items():
        note = f"  # {' '.join(s['description'].split())}" if s.get("description") else ""
        lines.append(f"    {member}: {member_type(member, s, required)}{note}")
    return lines


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schemas = json.load(f)["components"]["schemas"]
    lines = ['"""Records of the REST interface. generate.py writes this file; do not edit it."""', "", "from typing import Any, Literal, NotRequired, TypedDict"]
    records = {name: schema for name, schema in sorted(schemas.items()) if "properties" in schema}
    for name, schema in records.items():
        lines += ["", "", *record(name, schema)]
    lines += [""]
    for name in sorted(schemas.keys() - records.keys()):  # after the records that they are made of
        lines += ["", f"{name} = {kind(schemas[name])}"]
    print("\n".join(lines))


main()
