"""Turns pydantic's errors into flaws that a user can answer: place, value, allowed.

Called by `scenario.from_data`. What is allowed is read from the JSON schema, so this
module knows no field by name.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from harness.errors import Flaw
from harness.scenario_text import Path, Source, short

Schema = dict[str, Any]

# pydantic's error types for bounds -> their key in `ctx`, and how we say it.
_BOUNDS = {
    "greater_than": ("gt", "above {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "below {}"),
    "less_than_equal": ("le", "{} or less"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_too_short": ("min_length", "at least {} character"),
    "string_pattern_mismatch": ("pattern", "text of the form {}"),
}
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "tuple": "a list",
    "model": "a mapping",
    "dict": "a mapping",
    "dataclass": "a mapping",
}


def explain_all(errors: Sequence[Any], schema: Schema, source: Source) -> list[Flaw]:
    """One flaw per error that is the user's; see `_is_noise` for the others."""
    return [
        _explain(error, schema, source)
        for error in errors
        if not _is_noise(error, errors)
    ]


def _explain(error: Any, schema: Schema, source: Source) -> Flaw:
    loc, kind = tuple(error["loc"]), error["type"]
    context: dict[str, Any] = error.get("ctx", {})
    path = _without_tags(loc, schema)
    message, allowed, value = error["msg"], "", short(error["input"])
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown_key(path, loc, schema, source)
    if kind == "missing":
        value, message = "", "is required"
    elif kind in ("literal_error", "enum"):
        message, allowed = "unknown value", str(context.get("expected", ""))
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_tag(path, context, source)
    elif kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        message, allowed = "is out of range", words.format(context[key])
    elif kind == "value_error":
        return _own_error(path, error, schema, loc, source)
    elif kind.partition("_")[0] in _TYPES:
        message, allowed = "is of the wrong type", _TYPES[kind.partition("_")[0]]
    return source.flaw(path, message, value, allowed)


def _unknown_key(path: Path, loc: Path, schema: Schema, source: Source) -> Flaw:
    names = sorted(_at(schema, loc[:-1]).get("properties", ()))
    close = difflib.get_close_matches(str(loc[-1]), names, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return source.flaw(path, f"unknown key{hint}", "", ", ".join(names))


def _unknown_tag(path: Path, context: dict[str, Any], source: Source) -> Flaw:
    key = str(context["discriminator"]).strip("'")
    tag = context.get("tag")
    if tag is None:
        return source.flaw((*path, key), "is required")
    expected = str(context["expected_tags"]).replace("'", "")
    message = "unknown value"
    if tag == "None":
        message += " (YAML reads a bare null as nothing: put it in quotes)"
    return source.flaw((*path, key), message, repr(tag), expected)


def _own_error(
    path: Path, error: Any, schema: Schema, loc: Path, source: Source
) -> Flaw:
    """Ours say `field is value; allowed: ...`: point at that field's own line."""
    text = str(error["ctx"]["error"])
    message, _, allowed = text.partition("; allowed: ")
    name, _, rest = message.partition(" ")
    if name in _at(schema, loc).get("properties", ()):
        return source.flaw((*path, name), rest, "", allowed)
    return source.flaw(path, message, "", allowed)


def _is_noise(error: Any, errors: Sequence[Any]) -> bool:
    """A union reports every alternative: keep those of the one that was meant.

    Settings are a mapping, the other alternatives are words such as `off`.
    """
    for position, part in enumerate(error["loc"]):
        if not isinstance(part, str) or not part.startswith("literal["):
            continue
        union = tuple(error["loc"][:position])
        beside = [other for other in errors if tuple(other["loc"][:position]) == union]
        return isinstance(error["input"], dict) and len(beside) > 1
    return error["type"] == "dataclass_type" and len(error["loc"]) > 1


def _without_tags(loc: Path, schema: Schema) -> Path:
    """The path as the user wrote it: pydantic puts the taken alternative into it."""
    path: list[str | int] = []
    here = schema
    for part in loc:
        inner = _step(here, part, schema)
        if not _is_tag(here, part, schema):
            path.append(part)
        here = inner
    return tuple(path)


def _at(schema: Schema, loc: Path) -> Schema:
    here = schema
    for part in loc:
        here = _step(here, part, schema)
    return here


def _step(here: Schema, part: str | int, schema: Schema) -> Schema:
    here = _resolve(here, schema)
    if isinstance(part, int):
        return _resolve(here.get("items", {}), schema)
    if part in here.get("properties", {}):
        return _resolve(here["properties"][part], schema)
    if part in (tags := _tags(here)):
        return _resolve(tags[part], schema)
    if "anyOf" in here:
        for choice in (_resolve(item, schema) for item in here["anyOf"]):
            if choice.get("title") == part or part.startswith("literal["):
                return choice
    inner = here.get("additionalProperties")
    return _resolve(inner, schema) if isinstance(inner, dict) else {}


def _is_tag(here: Schema, part: str | int, schema: Schema) -> bool:
    here = _resolve(here, schema)
    if isinstance(part, int) or part in here.get("properties", {}):
        return False
    return part in _tags(here) or "anyOf" in here


def _tags(here: Schema) -> dict[str, Schema]:
    mapping = here.get("discriminator", {}).get("mapping", {})
    return {tag: {"$ref": ref} for tag, ref in mapping.items()}


def _resolve(here: Schema, schema: Schema) -> Schema:
    """Without references, and without the `or absent` of an optional field."""
    while True:
        there = [item for item in here.get("anyOf", ()) if item != {"type": "null"}]
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        elif len(there) == 1:
            here = there[0]
        else:
            return here
