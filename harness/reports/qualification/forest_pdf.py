"""Draw the forest pictures of `harness.figures.forest` into a PDF. Pure.

Called by `pdf`. Understands what those figures use of Plotly's format; anything else is
an error here, so that no picture silently lacks a part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reportlab.lib import colors
from reportlab.platypus import Flowable

from harness.figures.style import Figure
from harness.reports.svg import nice_ticks

_SCALE = 0.62  # points per pixel of the figure's layout
_FONT, _SIZE = "Helvetica", 8


class Forest(Flowable):
    """One picture, `width` points wide."""

    def __init__(self, figure: Figure, width: float) -> None:
        super().__init__()
        self._figure = figure
        self.width = width
        self.height = _SCALE * figure["layout"]["height"]

    def wrap(self, *available: float) -> tuple[float, float]:
        """Its size."""
        return self.width, self.height

    def draw(self) -> None:
        """Paint it at the origin of the canvas."""
        layout = self._figure["layout"]
        margin = layout["margin"]
        left, right = _SCALE * margin["l"], self.width - _SCALE * margin["r"]
        bottom, top = _SCALE * margin["b"], self.height - _SCALE * margin["t"]
        low, high = layout["xaxis"]["range"]
        names = layout["yaxis"]["categoryarray"]
        height = (top - bottom) / max(1, len(names))

        def to_x(value: float) -> float:
            return float(left + (value - low) / (high - low) * (right - left))

        def to_y(name: str) -> float:
            return float(top - (names.index(name) + 0.5) * height)

        self._axes(low, high, names, (bottom, top, left), to_x, to_y)
        for shape in layout.get("shapes", ()):
            if shape["type"] != "line":
                raise ValueError(f"shape {shape['type']!r}; allowed: line")
            self._line(to_x(shape["x0"]), bottom, to_x(shape["x1"]), top,
                       shape["line"]["color"], 0.8, dashed=True)  # fmt: skip
        for trace in self._figure["data"]:
            self._trace(trace, to_x, to_y)

    def _axes(
        self, low: float, high: float, names: list[str],
        frame: tuple[float, float, float], to_x: Callable[[float], float],
        to_y: Callable[[str], float],
    ) -> None:  # fmt: skip
        bottom, top, left = frame
        axis = self._figure["layout"]["xaxis"]
        for value in nice_ticks(low, high):
            self._line(to_x(value), bottom, to_x(value), top, axis["gridcolor"], 0.5)
            self._text(to_x(value), bottom - 10, f"{value:.4g}", "middle",
                       axis["tickfont"]["color"])  # fmt: skip
        self._text(left, bottom - 21, axis["title"]["text"], "start",
                   axis["tickfont"]["color"])  # fmt: skip
        color = self._figure["layout"]["yaxis"]["tickfont"]["color"]
        for name in names:
            self._text(left - 6, to_y(name) - 3, name, "end", color)

    def _trace(
        self, trace: dict[str, Any], to_x: Callable[[float], float],
        to_y: Callable[[str], float],
    ) -> None:  # fmt: skip
        points = [(to_x(x), to_y(y))
                  for x, y in zip(trace["x"], trace["y"], strict=True)]  # fmt: skip
        if trace["mode"] == "lines":
            (x0, y0), (x1, y1) = points
            self._line(x0, y0, x1, y1, trace["line"]["color"], 2)
        elif trace["mode"] == "markers":
            for x, y in points:
                self._diamond(x, y, trace["marker"]["color"])
        elif trace["mode"] == "text":
            for (x, y), text in zip(points, trace["text"], strict=True):
                self._text(x, y - 3, text, "start", trace["textfont"]["color"])
        else:
            raise ValueError(f"mode {trace['mode']!r}; allowed: lines, markers, text")

    def _line(
        self, x0: float, y0: float, x1: float, y1: float, color: str, width: float, *,
        dashed: bool = False,
    ) -> None:  # fmt: skip
        self.canv.setStrokeColor(colors.HexColor(color))
        self.canv.setLineWidth(width)
        self.canv.setDash([4, 2] if dashed else [])
        self.canv.line(x0, y0, x1, y1)

    def _diamond(self, x: float, y: float, color: str) -> None:
        size = 3.4
        path = self.canv.beginPath()
        path.moveTo(x - size, y)
        for dx, dy in ((0, size), (size, 0), (0, -size)):
            path.lineTo(x + dx, y + dy)
        path.close()
        self.canv.setFillColor(colors.HexColor(color))
        self.canv.drawPath(path, stroke=0, fill=1)

    def _text(self, x: float, y: float, text: str, anchor: str, color: str) -> None:
        self.canv.setFont(_FONT, _SIZE)
        self.canv.setFillColor(colors.HexColor(color))
        draw = {"start": self.canv.drawString, "middle": self.canv.drawCentredString,
                "end": self.canv.drawRightString}[anchor]  # fmt: skip
        draw(x, y, text)
