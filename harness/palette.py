"""The colours of pages, figures and reports, for light and dark; one literal each.

Used by the web pages and the report (as CSS variables, `css`) and by the figures (by
name). Meaning is never carried by colour alone: every state has a glyph or a word too.
Contrast of text against its ground is held at WCAG AA by a test.
"""

from __future__ import annotations

from collections.abc import Mapping

Theme = Mapping[str, str]

LIGHT: Theme = {
    # grounds and ink
    "paper": "#f6f5f1",
    "sheet": "#ffffff",
    "well": "#efede7",
    "ink": "#1a1c1f",
    "ink-2": "#494d53",
    "ink-3": "#62666d",
    "line": "#dfdcd4",
    "line-2": "#b8b4aa",
    "accent": "#0a5866",
    "on-accent": "#ffffff",
    # states of verdicts and outcomes: text on paper or sheet
    "good": "#1b6243",
    "bad": "#a8201a",
    "warn": "#7a4f00",
    "unknown": "#54458f",
    "group": "#1b5596",
    # their pale grounds
    "good-bg": "#e2efe7",
    "bad-bg": "#f9e4e1",
    "warn-bg": "#f6ebd3",
    "unknown-bg": "#eae6f6",
    "group-bg": "#e1ebf6",
    # cells of heatmaps
    "cell-agree": "#cfe3d8",
    "cell-outlier": "#c93a30",
    "cell-undecided": "#e3b545",
    "cell-missing": "#d5d1e6",
    "cell-none": "#efede7",
    "cell-fast": "#9cc3dd",
    "cell-slow": "#e08a3c",
    "mark": "#1a1c1f",
    "on-outlier": "#ffffff",
    # one line per rank, told apart by dash as well
    "rank0": "#0a5866",
    "rank1": "#a5481a",
    "rank2": "#54458f",
    "rank3": "#2c6e31",
    "rank4": "#99215c",
    "rank5": "#6d5e00",
    "rank6": "#1b5596",
    "rank7": "#674636",
}

DARK: Theme = {
    "paper": "#111316",
    "sheet": "#191c20",
    "well": "#22262b",
    "ink": "#e9e7e2",
    "ink-2": "#bdbfc3",
    "ink-3": "#979ba2",
    "line": "#2d3238",
    "line-2": "#4b525b",
    "accent": "#6fc4d2",
    "on-accent": "#0b1a1d",
    "good": "#83d0a8",
    "bad": "#ff9086",
    "warn": "#e8bd5c",
    "unknown": "#bcaefa",
    "group": "#8fbdf5",
    "good-bg": "#18322a",
    "bad-bg": "#3d1f1d",
    "warn-bg": "#362b14",
    "unknown-bg": "#2a2540",
    "group-bg": "#1a2b40",
    "cell-agree": "#234a3b",
    "cell-outlier": "#e0564b",
    "cell-undecided": "#94701a",
    "cell-missing": "#443d63",
    "cell-none": "#22262b",
    "cell-fast": "#2f5f7d",
    "cell-slow": "#ad5f1e",
    "mark": "#e9e7e2",
    "on-outlier": "#111316",
    "rank0": "#6fc4d2",
    "rank1": "#f0a070",
    "rank2": "#bcaefa",
    "rank3": "#8fd08f",
    "rank4": "#f08fbf",
    "rank5": "#d8c45a",
    "rank6": "#8fbdf5",
    "rank7": "#d0aa98",
}

THEMES: Mapping[str, Theme] = {"light": LIGHT, "dark": DARK}

# For figures that live inside a page's own CSS: they follow its theme by themselves.
VARIABLES: Theme = {name: f"var(--{name})" for name in LIGHT}


def css() -> str:
    """Custom properties for both themes: by the system's wish, or by `data-theme`."""
    light, dark = _block(LIGHT), _block(DARK)
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media (prefers-color-scheme:dark){"
        f":root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root,:root[data-theme=dark]{{color-scheme:light;{light}}}}}\n"
    )


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio of two `#rrggbb` colours, 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _block(theme: Theme) -> str:
    return "".join(f"--{name}:{value};" for name, value in theme.items())


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
