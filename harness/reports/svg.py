"""Draw our figures as static SVG: no script, prints well, opens from a file. Pure.

Called by the HTML report. Understands what `harness.figures` uses of Plotly's format:
heatmap and scatter traces, rect and line shapes, annotations, numeric and category
axes. Anything else is an error here, so that no picture silently lacks a part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from harness.figures.style import Figure
from harness.reports.marker import marker

WIDTH = 1080
# Above this many cells neighbours of one colour are drawn as one, or a long run's
# report would have tens of megabytes.
MAX_SINGLE_CELLS = 4_000
_TITLE_BREAK = "\n"
_TEXT_SHIFT = {"top": -5.0, "middle": 4.0, "bottom": 13.0}  # pixels downwards
_DASHES = {"solid": "", "dash": "9 5", "dot": "2 4", "dashdot": "9 4 2 4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where the plot stands, and how data become pixels."""

    left: float
    top: float
    right: float
    bottom: float
    to_x: Callable[[Any], float]
    to_y: Callable[[Any], float]
    num_rows: int


def draw(figure: Figure, title: str) -> str:
    """The figure as one `<svg>` element; `title` names it for screen readers."""
    layout = figure["layout"]
    height = layout["height"]
    frame = _frame(figure)
    parts = [*_grid(figure, frame)]
    below = [s for s in layout.get("shapes", ()) if s.get("layer") == "below"]
    above = [s for s in layout.get("shapes", ()) if s.get("layer") != "below"]
    parts += [_shape(shape, frame) for shape in below]
    for trace in figure["data"]:
        parts += _trace(trace, frame)
    parts += [_shape(shape, frame) for shape in above]
    parts += [_annotation(note, frame) for note in layout.get("annotations", ())]
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
    )


def _frame(figure: Figure) -> Frame:
    layout = figure["layout"]
    margin = layout["margin"]
    left, right = float(margin["l"]) + 8, float(WIDTH - margin["r"])
    top, bottom = float(margin["t"]), float(layout["height"] - margin["b"])
    rows = _categories(figure)
    x_range = _range(figure, "x")
    to_x = _linear(x_range, left, right)
    if rows:
        size = (bottom - top) / len(rows)
        place = {name: top + (index + 0.5) * size for index, name in enumerate(rows)}
        return Frame(left=left, top=top, right=right, bottom=bottom, to_x=to_x,
                     to_y=lambda name: place[name], num_rows=len(rows))  # fmt: skip
    low, high = _range(figure, "y")
    return Frame(left=left, top=top, right=right, bottom=bottom, to_x=to_x,
                 to_y=_linear((low, high), bottom, top), num_rows=0)  # fmt: skip


def _categories(figure: Figure) -> list[str]:
    """Rows from top to bottom; none for a numeric axis."""
    axis = figure["layout"].get("yaxis", {})
    if axis.get("type") != "category":
        return []
    rows = list(axis["categoryarray"])
    low, high = axis["range"]
    return rows if low > high else rows[::-1]


def _range(figure: Figure, name: str) -> tuple[float, float]:
    axis = figure["layout"].get(f"{name}axis", {})
    if "range" in axis:
        low, high = axis["range"]
        return float(low), float(high)
    values = [
        value
        for trace in figure["data"]
        for value in trace.get(name, ())
        if isinstance(value, (int, float))
    ]
    if not values:
        return 0.0, 1.0
    if any(trace["type"] == "heatmap" for trace in figure["data"]):
        return min(values) - 0.5, max(values) + 0.5
    return 0.0, max(values) * 1.05 or 1.0


def _linear(
    domain: tuple[float, float], start: float, end: float
) -> Callable[[Any], float]:
    low, high = domain
    scale = (end - start) / ((high - low) or 1.0)
    return lambda value: start + (float(value) - low) * scale


def _grid(figure: Figure, frame: Frame) -> list[str]:
    layout = figure["layout"]
    parts: list[str] = []
    axis = layout.get("xaxis", {})
    if axis.get("visible") is False:
        return parts  # a map, not a chart
    if "tickvals" in axis:
        ticks = list(zip(axis["tickvals"], axis["ticktext"], strict=True))
    else:
        ticks = [(v, _plain(v)) for v in nice_ticks(*_range(figure, "x"))]
    for value, text in ticks:
        x = frame.to_x(value)
        if "tickvals" not in axis:
            parts.append(_line(x, frame.top, x, frame.bottom, axis["gridcolor"], 1))
        for row, part in enumerate(str(text).split("<br>")):
            parts.append(_text(x, frame.bottom + 15 + 13 * row, part, axis, "middle"))
    y_axis = layout.get("yaxis", {})
    if frame.num_rows:
        for name in _categories(figure):
            y = frame.to_y(name) + 4
            parts.append(_text(frame.left - 8, y, name, y_axis, "end"))
        return parts
    for value in nice_ticks(*_range(figure, "y")):
        y = frame.to_y(value)
        parts.append(_line(frame.left, y, frame.right, y, y_axis["gridcolor"], 1))
        parts.append(_text(frame.left - 8, y + 4, _plain(value), y_axis, "end"))
    return parts


def nice_ticks(low: float, high: float, wanted: int = 8) -> list[float]:
    """About `wanted` round values inside [low, high]."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def _trace(trace: dict[str, Any], frame: Frame) -> list[str]:
    if trace["type"] == "heatmap":
        return _heatmap(trace, frame)
    if trace["type"] != "scatter":
        raise ValueError(f"trace type {trace['type']!r}; allowed: heatmap, scatter")
    parts: list[str] = []
    points = [
        (frame.to_x(x), frame.to_y(y))
        for x, y in zip(trace["x"], trace["y"], strict=True)
    ]
    hovers = trace.get("hovertext") or trace.get("text") or [""] * len(points)
    if "lines" in trace["mode"] and points:
        parts.append(_polyline(points, trace["line"]))
    if "markers" in trace["mode"]:
        style = trace["marker"]
        symbols = style["symbol"]
        for index, (x, y) in enumerate(points):
            symbol = symbols if isinstance(symbols, str) else symbols[index]
            shape = marker(symbol, x, y, style["size"], style["color"])
            parts.append(f"<g>{_title(hovers[index])}{shape}</g>")
    if "text" in trace["mode"]:
        height, _, side = trace["textposition"].partition(" ")
        shift, anchor = _TEXT_SHIFT[height], "end" if side == "left" else "start"
        font = {"tickfont": trace["textfont"]}
        for (x, y), text in zip(points, trace["text"], strict=True):
            parts.append(_text(x, y + shift, text, font, anchor))
    return parts


def _heatmap(trace: dict[str, Any], frame: Frame) -> list[str]:
    num_columns = len(trace["x"])
    if not num_columns:
        return []
    width = (frame.right - frame.left) / num_columns
    height = (frame.bottom - frame.top) / frame.num_rows
    merges = num_columns * len(trace["y"]) > MAX_SINGLE_CELLS
    parts = []
    for name, row, texts in zip(trace["y"], trace["z"], trace["text"], strict=True):
        y = frame.to_y(name) - height / 2 + trace["ygap"] / 2
        fills = [color_at(value, trace) for value in row]
        for first, size in stretches(fills, merges=merges):
            fill = fills[first]
            if fill is None:
                continue
            gap = min(trace["xgap"], width / 4)
            text = (
                texts[first] if size == 1 else f"{texts[first]}<br>and {size - 1} more"
            )
            parts.append(
                f'<rect x="{frame.left + first * width:.2f}" y="{y:.1f}" '
                f'width="{size * width - gap:.2f}" '
                f'height="{height - trace["ygap"]:.1f}" style="fill:{fill}">'
                f"{_title(text)}</rect>"
            )
    return parts


def stretches(fills: Sequence[str | None], *, merges: bool) -> list[tuple[int, int]]:
    """(first, size) of neighbours of one colour, or of each cell if not `merges`."""
    found: list[tuple[int, int]] = []
    for column, fill in enumerate(fills):
        if merges and found and fills[found[-1][0]] == fill:
            first, size = found[-1]
            found[-1] = (first, size + 1)
        else:
            found.append((column, 1))
    return found


def color_at(value: float | None, trace: dict[str, Any]) -> str | None:
    """The colour of one cell; a mix of two stops where the scale is not stepped."""
    if value is None:
        return None
    low, high = trace["zmin"], trace["zmax"]
    share = (value - low) / (high - low)
    stops = trace["colorscale"]
    for (a, first), (b, second) in zip(stops, stops[1:], strict=False):
        if a <= share <= b and b > a:
            if first == second:
                return str(first)
            part = 5 * round(20 * (share - a) / (b - a))
            return f"color-mix(in srgb,{second} {part}%,{first})"
    return str(stops[-1][1])


def _shape(shape: dict[str, Any], frame: Frame) -> str:
    x0, x1 = frame.to_x(shape["x0"]), frame.to_x(shape["x1"])
    size = frame.bottom - frame.top
    y0, y1 = frame.bottom - shape["y0"] * size, frame.bottom - shape["y1"] * size
    if shape["type"] == "line":
        line = shape["line"]
        dash = line.get("dash", "solid")
        return _line(x0, y0, x1, y1, line["color"], line["width"], dash)
    if shape["type"] != "rect":
        raise ValueError(f"shape {shape['type']!r}; allowed: rect, line")
    return (
        f'<rect x="{min(x0, x1):.1f}" y="{min(y0, y1):.1f}" '
        f'width="{max(abs(x1 - x0), 1.5):.1f}" height="{abs(y1 - y0):.1f}" '
        f'style="fill:{escape(shape["fillcolor"], quote=True)};'
        f'opacity:{shape.get("opacity", 1)}"/>'
    )


def _annotation(note: dict[str, Any], frame: Frame) -> str:
    x = frame.to_x(note["x"])
    y = frame.bottom - note["y"] * (frame.bottom - frame.top) - 4
    anchor = "end" if note.get("xanchor") == "right" else "start"
    return _text(x, y, note["text"], {"tickfont": note["font"]}, anchor)


def _polyline(points: Sequence[tuple[float, float]], line: dict[str, Any]) -> str:
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for x, y in points[1:]:
        step = f"H{x:.1f}V{y:.1f}" if line.get("shape") == "hv" else f"L{x:.1f} {y:.1f}"
        path += step
    dash = _DASHES[line.get("dash", "solid")]
    color = escape(line["color"], quote=True)
    return (
        f'<path d="{path}" fill="none" stroke-dasharray="{dash}" '
        f'style="stroke:{color};stroke-width:{line["width"]}"/>'
    )


def _line(
    x0: float, y0: float, x1: float, y1: float, color: str, width: float,
    dash: str = "solid",
) -> str:  # fmt: skip
    return (
        f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" '
        f'stroke-dasharray="{_DASHES[dash]}" '
        f'style="stroke:{escape(color, quote=True)};stroke-width:{width}"/>'
    )


def _text(x: float, y: float, text: str, axis: dict[str, Any], anchor: str) -> str:
    font = axis["tickfont"]
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'style="fill:{font["color"]};font-size:{font["size"]}px">'
        f"{escape(_bare(text))}</text>"
    )


def _title(hover: str) -> str:
    return f"<title>{escape(_bare(hover))}</title>" if hover else ""


def _bare(text: str) -> str:
    """Plotly's little markup, taken off."""
    for tag in ("<b>", "</b>"):
        text = text.replace(tag, "")
    return text.replace("<br>", _TITLE_BREAK)


def _plain(value: float) -> str:
    return f"{value:g}"
