"""Writes records.py, messages.py and api.py of duplex_client from the venue's documents.

    python3 generate.py openapi.json asyncapi.json [FOLDER]
"""

import json
import keyword
import pathlib
import re
import sys

SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "null": "None", "number": "float"}

# Operations whose method has another name, or that client.py and aio.py write themselves.
NAMES = {
    "cancel_all_orders": "cancel_all",
    "cancel_order": "cancel",
    "cancel_order_by_client_order_id": "cancel_by_client_order_id",
    "decrease_order": "decrease",
    "preview_order": "preview",
    "redeem_pairs": "redeem",
    "place_order": "",
    "replace_order": "",
}


def kind(schema):
    """Returns the Python type of a schema."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    for some in ("anyOf", "oneOf"):
        if some in schema:
            return " | ".join(dict.fromkeys(kind(s) for s in schema[some]))
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
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
    if any(keyword.iskeyword(m) or not m.isidentifier() for m in members):  # a class cannot have such a member
        pairs = ", ".join(f"{json.dumps(m)}: {member_type(m, s, required)}" for m, s in members.items())
        return [f"{name} = TypedDict({json.dumps(name)}, {{{pairs}}})"]
    lines = [f"class {name}(TypedDict):"]
    for member, s in members.items():
        note = f"  # {' '.join(s['description'].split())}" if s.get("description") else ""
        lines.append(f"    {member}: {member_type(member, s, required)}{note}")
    return lines


def module(about, schemas, more=()):
    """Returns a module with a record for each schema."""
    lines = [f'"""{about} generate.py writes this file; do not edit it."""', "", "from typing import Any, Literal, NotRequired, TypedDict"]
    records = {name: schema for name, schema in sorted(schemas.items()) if "properties" in schema}
    for name, schema in records.items():
        lines += ["", "", *record(name, schema)]
    lines += [""]
    for name in sorted(schemas.keys() - records.keys()):  # after the records that they are made of
        lines += ["", f"{name} = {kind(schemas[name])}"]
    return "\n".join([*lines, *more]) + "\n"


def messages(document):
    """Returns the module of the event lane. Message is what a subscription sends."""
    schemas = document["components"]["schemas"]
    names = ["SubscribedMessage", "DrainingMessage"]  # an answer that is also a message, and the notice before a stop
    for operation in document["operations"].values():
        if operation["action"] == "send":
            for m in operation["messages"]:
                payload = document["components"]["messages"][m["$ref"].rsplit("/", 1)[1]]["payload"]["$ref"]
                names.append(payload.rsplit("/", 1)[1])
    union = " | ".join(sorted(set(names)))
    return module("Messages of the event lane.", schemas, ["", f"Message = {union}"])


def typed(schema):
    """Returns the annotation of a parameter or a body: records are those of records.py."""
    return re.sub(r"\b([A-Z]\w*)\b(?!\[)", lambda m: m[1] if m[1] in ("Any", "None", "Literal") else f"records.{m[1]}", kind(schema)) if "Literal" not in kind(schema) else kind(schema)


class Operation:
    """A route, and the parts of its method."""

    def __init__(self, path, method, spec, schemas):
        self.id, self.name, self.http = spec["operationId"], NAMES.get(spec["operationId"], spec["operationId"]), method.upper()
        parameters = [p for p in spec.get("parameters", []) if p["in"] in ("path", "query")]
        self.path = [p for p in parameters if p["in"] == "path"]
        self.query = [p for p in parameters if p["in"] == "query"]
        body = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        self.body = typed(body) if body else ""
        answer = next(r for status, r in spec["responses"].items() if status.startswith("2"))["content"]["application/json"]["schema"]
        self.answer = typed(answer)
        self.doc = " ".join((spec.get("description") or spec.get("summary") or self.id).split())
        self.target = re.sub(r"\{(\w+)\}", lambda m: "{" + self.value(m[1]) + "}", path)
        self.paged = any(p["name"] == "cursor" for p in self.query)
        if self.paged:
            page = schemas[answer["$ref"].rsplit("/", 1)[1]]["properties"]
            self.rows, schema = next((n, s) for n, s in page.items() if s.get("type") == "array" or "array" in s.get("type", []))
            self.row = typed(schema["items"])

    @staticmethod
    def value(name):
        """Returns the expression of a parameter in a target. A client_order_id may be any text."""
        return f"client_order_id and client_order_id_of({name})" if name == "client_order_id" else name

    def arguments(self, skip=()):
        """Returns the declarations of the arguments."""
        out = ["self"] + [f"{p['name']}: {typed(p['schema'])}" for p in self.path]
        if self.body:
            out.append(f"body: {self.body}")
        either = lambda schema: "str | " if schema.get("type") == "array" else ""  # one value, or several
        named = [f"{p['name']}: {either(p['schema'])}{typed(p['schema'])} | None = None" for p in self.query if p["name"] not in skip]
        return ", ".join(out + (["*", *named] if named else []))

    def request(self):
        """Returns the arguments of the call."""
        target = f'f"{self.target}"' if self.path else f'"{self.target}"'
        if self.path and "client_order_id" in self.target:
            target = f'f"{self.target}"'.replace("{client_order_id and client_order_id_of(client_order_id)}", "{client_order_id_of(client_order_id)}")
        if self.query:
            pairs = ", ".join(f'"{p["name"]}": {self.value(p["name"])}' for p in self.query)
            target = f"query({target}, {{{pairs}}})"
        if not self.body:
            return f'"{self.http}", {target}'
        body = {"place_orders": '{"orders": [with_client_order_id(o) for o in body["orders"]]}', "put_quotes": '{"quotes": [quote_with_client_order_ids(q) for q in body["quotes"]]}', "preview_order": "with_client_order_id(body)"}.get(self.id, "body")
        return f'"{self.http}", {target}, {body}'

    def method(self, asynchronous):
        """Returns the lines of the method, and of its iterator if it has pages."""
        a, w = ("async ", "await ") if asynchronous else ("", "")
        lines = ["", f"    {a}def {self.name}({self.arguments()}) -> {self.answer}:", f'        """{self.doc}"""', f"        return {w}self.call({self.request()})"]
        if not self.paged:
            return lines
        every = "all_" + re.sub(r"^(list|get)_", "", self.id)
        given = [p["name"] for p in self.path] + [f"{p['name']}={p['name']}" for p in self.query if p["name"] != "cursor"]
        rows = [f"            for row in page[{json.dumps(self.rows)}]:", "                yield row"] if asynchronous else [f"            yield from page[{json.dumps(self.rows)}]"]
        return lines + [
            "",
            f"    {a}def {every}({self.arguments(skip=('cursor',))}) -> {'AsyncIterator' if asynchronous else 'Iterator'}[{self.row}]:",
            f'        """Iterates over all pages of {self.name}."""',
            '        cursor = ""',
            "        while True:",
            f"            page = {w}self.{self.name}({', '.join([*given, 'cursor=cursor or None'])})",
            *rows,
            '            cursor = page["cursor"]',
            "            if not cursor:",
            "                return",
        ]


def api(document):
    """Returns the module with a method for each route."""
    operations = [Operation(path, method, spec, document["components"]["schemas"]) for path, methods in document["paths"].items() for method, spec in methods.items() if method != "parameters"]
    lines = [
        '"""A method for each route. generate.py writes this file; do not edit it."""',
        "",
        "from collections.abc import AsyncIterator, Iterator",
        "from typing import Any, Literal",
        "",
        "from . import records",
        "from .core import client_order_id as client_order_id_of",
        "from .core import query, quote_with_client_order_ids, with_client_order_id",
    ]
    for asynchronous, name in ((False, "Api"), (True, "AsyncApi")):
        lines += ["", "", f"class {name}:", f'    """The routes of a venue{", for asyncio" if asynchronous else ""}."""', "", f"    {'async ' if asynchronous else ''}def call(self, method: str, target: str, body: Any = None) -> Any:", '        """Sends one request and returns the body of its response."""', "        raise NotImplementedError"]
        for o in sorted(operations, key=lambda o: o.name):
            if o.name:
                lines += o.method(asynchronous)
    return "\n".join(lines) + "\n"


def main():
    openapi, asyncapi = (json.loads(pathlib.Path(p).read_text("utf-8")) for p in sys.argv[1:3])
    folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else pathlib.Path(__file__).parent / "duplex_client")
    for name, text in (("records", module("Records of the REST interface.", openapi["components"]["schemas"])), ("messages", messages(asyncapi)), ("api", api(openapi))):
        (folder / f"{name}.py").write_text(text, "utf-8")


main()
