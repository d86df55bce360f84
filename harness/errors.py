"""Errors of the harness that a user can answer, with their exit codes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing that is wrong in a file: where, which field, what is allowed."""

    file: str
    line: int | None
    field: str
    value: str
    allowed: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        text = f"{place}: {self.field}: {self.message}"
        if self.value:
            text += f"; got {self.value}"
        return f"{text}; allowed: {self.allowed}" if self.allowed else text


class ScenarioError(ValueError):
    """A scenario cannot be used; `flaws` says everything that is wrong with it."""

    def __init__(self, flaws: list[Flaw]) -> None:
        self.flaws = flaws
        super().__init__("\n".join(str(flaw) for flaw in flaws))


class UsageError(ValueError):
    """A command was asked for something it does not offer; says what it does."""


class UnknownRun(LookupError):
    """No run of that id in the runs folder."""


class InfrastructureError(RuntimeError):
    """Something of the machine failed, not the stack under test; exit code 3."""
