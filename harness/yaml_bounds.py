"""Refuse YAML that grows when it is read, before anything reads it whole.

Called by `scenario.parse`. A few hundred bytes of aliases can stand for billions of
values, and a deep nest ends in a stack overflow; a scenario needs neither. Only looks
at the stream of parser events, so its cost is that of the text's length.
"""

from __future__ import annotations

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

MAX_CHARS = 256 * 1024
MAX_DEPTH = 32
MAX_NODES = 20_000


class YamlTooWild(ValueError):
    """The text is too long, too deep, has too many values, or aliases."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line  # from 1; None: no single line is to blame


def check(text: str) -> None:
    """Look through the text once.

    Raises:
        YamlTooWild: it passes a bound.
        yaml.YAMLError: it is no YAML.
    """
    if len(text) > MAX_CHARS:
        raise YamlTooWild(f"{len(text)} characters; allowed: {MAX_CHARS}", None)
    depth = 0
    for num_nodes, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, AliasEvent):
            raise YamlTooWild("an alias (*name); write the value out instead", line)
        if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            depth -= 1
        if depth > MAX_DEPTH:
            raise YamlTooWild(f"nested deeper than {MAX_DEPTH}", line)
        if num_nodes > MAX_NODES:
            raise YamlTooWild(f"more than {MAX_NODES} values", line)
