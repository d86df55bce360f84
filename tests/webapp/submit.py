"""What a browser would send for a form that `webapp.form` describes."""

from __future__ import annotations

from webapp.form import PREFIX, SWITCH, Control, Field, Group, Repeat, Switch


def pairs_of(group: Group) -> list[tuple[str, str]]:
    """All named values of a rendered form, in order."""
    return [pair for field in group.fields for pair in _of(field)]


def _of(field: Field) -> list[tuple[str, str]]:
    if isinstance(field, Control):
        return [(f"{PREFIX}{field.path}", field.value)]
    if isinstance(field, Switch):
        word = "on" if field.is_on else field.off_word
        return [(f"{PREFIX}{field.path}.{SWITCH}", word), *pairs_of(field.group)]
    if isinstance(field, Repeat):
        return [pair for item in field.items for pair in _item(field, item)]
    return pairs_of(field)


def _item(repeat: Repeat, item: Group) -> list[tuple[str, str]]:
    kind = item.label if item.label in repeat.kinds else ""
    name = "kind" if kind else "__item"
    return [(f"{PREFIX}{item.path}.{name}", kind), *pairs_of(item)]
