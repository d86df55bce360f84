"""The launch form, made from the scenario's JSON schema; and back into data. Pure.

    schema + data --build--> Group of Control | Group | Switch | Repeat --> _form.html
    submitted pairs --read--> data        (names are "f:" and the dotted path)

Knows no field by name: a new fault or setting appears by itself. An empty control means
"absent", so that the default applies and the scenario file does not mention it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "f:"
SWITCH = "__on"
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One value; `kind` is text, long, integer, number, choice, flag, list, mapping."""

    path: str
    label: str
    kind: str
    value: str
    placeholder: str  # the default, or "required"
    help: str
    choices: tuple[str, ...]
    is_required: bool
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Values that belong together."""

    path: str
    label: str
    help: str
    fields: tuple[Control | Group | Switch | Repeat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A group that can be switched off as a whole."""

    path: str
    label: str
    help: str
    is_on: bool
    off_word: str
    on_word: str
    group: Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A list of groups; `kinds` are what can be added ("" where there is one kind)."""

    path: str
    label: str
    help: str
    items: tuple[Group, ...]
    kinds: tuple[str, ...]


Field = Control | Group | Switch | Repeat
_KINDS = {
    "integer": "integer",
    "number": "number",
    "boolean": "flag",
    "array": "list",
    "object": "mapping",
}


def build(schema: Schema, data: Any) -> Group:
    """The form of `data`, which may be flawed or empty."""
    values = data if isinstance(data, dict) else {}
    return _group("", "", schema, values, schema)


def read(schema: Schema, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Plain data of a submitted form; what is no number stays text, to be flagged."""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        if not name.startswith(PREFIX):
            continue
        place = tree
        *parents, last = name.removeprefix(PREFIX).split(".")
        for part in parents:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value.replace("\r\n", "\n")
    found: dict[str, Any] = _read_object(schema, tree, schema)
    return found


def add_item(schema: Schema, data: dict[str, Any], path: str, kind: str) -> None:
    """Append an empty item to the list at `path`, of `kind` where there are several."""
    if path in schema["properties"]:
        data.setdefault(path, []).append({"kind": kind} if kind else {})


def drop_item(data: dict[str, Any], path: str) -> None:
    """Remove the item at `path`, such as `faults.1`; nothing where there is none."""
    name, _, index = path.partition(".")
    items = data.get(name)
    if isinstance(items, list) and index.isdigit() and int(index) < len(items):
        del items[int(index)]


def families(kinds: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Kinds of items by their first word, in order: what can be added, in groups."""
    found: dict[str, list[str]] = {}
    for kind in kinds:
        found.setdefault(kind.partition(".")[0], []).append(kind)
    return list(found.items())


# --- schema to form -----------------------------------------------------------------


def _group(path: str, name: str, spec: Schema, values: Any, root: Schema) -> Group:
    values = values if isinstance(values, dict) else {}
    required = spec.get("required", ())
    fields = []
    for key, raw in spec.get("properties", {}).items():
        inner = f"{path}.{key}" if path else key
        field = _field(inner, key, raw, values.get(key), key in required, root)
        if field is not None:
            fields.append(field)
    return Group(path=path, label=_label(name), help=spec.get("description", ""),
                 fields=tuple(fields))  # fmt: skip


def _field(
    path: str, name: str, raw: Schema, value: Any, required: bool, root: Schema
) -> Field | None:
    spec = _resolve(raw, root)
    text = spec.get("description", "")
    if "const" in spec:
        return None  # nothing to choose
    off = _off_word(spec, root)
    if off is not None:
        inner = _resolve(spec["anyOf"][0], root)
        chosen = spec.get("default") if value is None else value
        on_word = next(iter(_constants(inner).values()), "on")
        return Switch(path=path, label=_label(name), help=inner.get("description", ""),
                      is_on=chosen != off and chosen is not False,
                      off_word=off, on_word=str(on_word),
                      group=_group(path, name, inner, value, root))  # fmt: skip
    if spec.get("type") == "object" and "properties" in spec:
        return _group(path, name, spec, value, root)
    if spec.get("type") == "array":
        variants = _variants(spec, root)
        if variants:
            items = tuple(
                _item(f"{path}.{i}", item, variants, root)
                for i, item in enumerate(value if isinstance(value, list) else [])
            )
            kinds = tuple(variants)
            return Repeat(path=path, label=_label(name), help=text, items=items,
                          kinds=kinds)  # fmt: skip
    return _control(path, name, spec, value, required)


def _item(path: str, value: Any, variants: dict[str, Schema], root: Schema) -> Group:
    values = value if isinstance(value, dict) else {}
    kind = values.get("kind") if "" not in variants else ""
    spec = variants.get(str(kind), {})
    label = str(kind) if kind else path.rpartition(".")[0]
    group = _group(path, label, spec, values, root)
    return Group(path=path, label=label, help=group.help, fields=group.fields)


def _control(path: str, name: str, spec: Schema, value: Any, required: bool) -> Control:
    kind = _kind(spec)
    default = spec.get("default")
    placeholder = "required" if required else _text(default, kind)
    return Control(
        path=path,
        label=_label(name),
        kind=kind,
        value="" if value is None else _text(value, kind),
        placeholder=placeholder,
        help=spec.get("description", ""),
        choices=tuple(str(choice) for choice in spec.get("enum", ())),
        is_required=required,
        low=spec.get("minimum", spec.get("exclusiveMinimum")),
        high=spec.get("maximum", spec.get("exclusiveMaximum")),
    )


def _kind(spec: Schema) -> str:
    if "enum" in spec:
        return "choice"
    if spec.get("type") == "string" and spec.get("maxLength", 0) > 500:
        return "long"
    return _KINDS.get(spec.get("type", ""), "text")


def _text(value: Any, kind: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind == "list" and isinstance(value, (list, tuple)):
        return ", ".join(_text(item, "text") for item in value)
    if kind == "mapping" and isinstance(value, dict):
        return "\n".join(f"{key}: {item}" for key, item in value.items())
    return str(value)


def _label(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[:-2]} (s)" if words.endswith(" s") else words


# --- form to data -------------------------------------------------------------------


def _read_object(spec: Schema, tree: Any, root: Schema) -> Any:
    found: dict[str, Any] = {}
    values = tree if isinstance(tree, dict) else {}
    for key, raw in spec.get("properties", {}).items():
        if key in values:
            value = _read_field(_resolve(raw, root), values[key], root)
            if value is not None:
                found[key] = value
    return found


def _read_field(spec: Schema, tree: Any, root: Schema) -> Any:
    off = _off_word(spec, root)
    if off is not None:
        if isinstance(tree, dict) and tree.get(SWITCH) == off:
            return None if spec.get("default") == off else off
        inner = _resolve(spec["anyOf"][0], root)
        return {**_constants(inner), **_read_object(inner, tree, root)} or None
    if spec.get("type") == "object" and "properties" in spec:
        return _read_object(spec, tree, root) or None
    if isinstance(tree, dict):
        return _read_items(spec, tree, root)
    return _read_value(spec, str(tree).strip())


def _read_items(spec: Schema, tree: dict[str, Any], root: Schema) -> Any:
    variants = _variants(spec, root)
    items = []
    for _, item in sorted(tree.items(), key=lambda pair: _index(pair[0])):
        values = item if isinstance(item, dict) else {}
        kind = "" if "" in variants else str(values.get("kind", ""))
        inner = _read_object(variants.get(kind, {}), values, root)
        items.append({"kind": kind, **inner} if kind else inner)
    return items or None


def _read_value(spec: Schema, text: str) -> Any:
    if not text:
        return None
    kind = _kind(spec)
    if kind == "list":
        inner = spec.get("items", {})
        parts = [part.strip() for part in text.strip("[]").split(",")]
        return [_read_value(inner, part) for part in parts if part]
    if kind == "mapping":
        inner = spec.get("additionalProperties", {})
        rows = [row.partition(":") for row in text.splitlines() if row.strip()]
        return {
            key.strip(): _read_value(inner, value.strip()) for key, _, value in rows
        }
    if kind == "flag":
        return {"yes": True, "no": False}.get(text, text)
    if kind in ("integer", "number"):
        return _number(text)
    return text


def _number(text: str) -> int | float | str:
    for parse in (int, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


def _index(text: str) -> int:
    return int(text) if text.isdigit() else 0


# --- schema -------------------------------------------------------------------------


def _resolve(raw: Schema, root: Schema) -> dict[str, Any]:
    """The schema behind a reference or an optional; its own words win."""
    spec = dict(raw)
    if "$ref" in spec:
        target = root["$defs"][spec.pop("$ref").rpartition("/")[2]]
        spec = {**target, **spec}
    choices = spec.get("anyOf", ())
    present = [choice for choice in choices if choice.get("type") != "null"]
    if len(choices) == 2 and len(present) == 1:
        inner = _resolve(present[0], root)
        del spec["anyOf"]
        spec = {**inner, **spec}
    return spec


def _off_word(spec: Schema, root: Schema) -> str | None:
    """The word that switches a group off, where the schema offers one."""
    for choice in spec.get("anyOf", ()):
        if isinstance(choice.get("const"), str):
            return str(choice["const"])
    return None


def _constants(spec: Schema) -> dict[str, Any]:
    """Fields of an object that must be given and have one value only."""
    fields = spec.get("properties", {})
    return {
        name: fields[name]["const"]
        for name in spec.get("required", ())
        if "const" in fields.get(name, ())
    }


def _variants(spec: Schema, root: Schema) -> dict[str, Schema]:
    """Schemas of a list's items by `kind`; "" for the only one; none of scalars."""
    items = spec.get("items", {})
    mapping = items.get("discriminator", {}).get("mapping")
    if mapping:
        return {kind: _resolve({"$ref": ref}, root) for kind, ref in mapping.items()}
    inner = _resolve(items, root)
    return {"": inner} if "properties" in inner else {}
