"""Text stands out from its ground in both themes (WCAG AA)."""

from __future__ import annotations

import pytest

from harness import palette

INKS = ("ink", "ink-2", "ink-3", "accent", "good", "bad", "warn", "unknown", "group")
GROUNDS = ("paper", "sheet")
STATES = ("good", "bad", "warn", "unknown", "group")
# Non-text marks and lines need 3 : 1 (WCAG 1.4.11).
MARKS = (
    ("on-outlier", "cell-outlier"),
    ("mark", "cell-undecided"),
    ("mark", "cell-missing"),
    ("mark", "cell-slow"),
    ("mark", "cell-fast"),
    ("mark", "cell-none"),
    *((f"rank{index}", "sheet") for index in range(8)),
)


def pairs() -> list[tuple[str, str, float]]:
    """(text, ground, least contrast)."""
    found = [(ink, ground, 4.5) for ink in INKS for ground in GROUNDS]
    for state in STATES:
        found += [(ink, f"{state}-bg", 4.5) for ink in ("ink", "ink-2", state)]
    found += [
        ("on-accent", "accent", 4.5),
        ("ink", "well", 4.5),
        ("ink-3", "well", 4.5),
    ]
    found += [("sheet", "bad", 4.5)]  # the blamed rank in the row of peers
    found += [("paper", state, 4.5) for state in STATES]  # glyph on its disc
    return found + [(mark, ground, 3.0) for mark, ground in MARKS]


@pytest.mark.parametrize("theme", palette.THEMES)
@pytest.mark.parametrize(("text", "ground", "least"), pairs())
def test_contrast_is_sufficient(
    theme: str, text: str, ground: str, least: float
) -> None:
    colors = palette.THEMES[theme]
    assert palette.contrast(colors[text], colors[ground]) >= least


def test_contrast_has_the_known_extremes() -> None:
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#777777", "#777777") == 1


def test_both_themes_name_the_same_colors() -> None:
    assert palette.LIGHT.keys() == palette.DARK.keys() == palette.VARIABLES.keys()
