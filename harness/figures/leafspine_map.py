"""The leaf-spine as a map: up from the leaves that send, down to those that receive.

Pure.    leaf0 ──up──► spine0 ──down──► leaf0
"""

from __future__ import annotations

from typing import Any

from harness.figures import style
from harness.palette import Theme
from harness.views.fabric import (
    BLAMED,
    DOWN,
    FAILING,
    PASSING,
    SUSPECT,
    UNMEASURED,
    FabricView,
    LinkView,
)
from harness.views.run import RunView

MAX_LINKS = 256  # beyond, links on which nothing fails are not drawn
# state: colour, width, dash
STYLES = {
    DOWN: ("line-2", 1.0, "dot"),
    UNMEASURED: ("line-2", 1.0, "dash"),
    PASSING: ("good", 1.2, "solid"),
    FAILING: ("warn", 2.2, "dash"),
    SUSPECT: ("group", 3.0, "dashdot"),
    BLAMED: ("bad", 4.5, "solid"),
}
_NAMED = (SUSPECT, BLAMED)


def figure(view: RunView, theme: Theme) -> style.Figure:
    """Every directed link by its state, the blamed ones on top and named."""
    fabric = view.fabric
    data: list[dict[str, Any]] = []
    rows = 2
    if fabric is not None:
        rows = max(fabric.num_leaves, fabric.num_spines)
        drawn = [x for x in fabric.links if len(fabric.links) <= MAX_LINKS
                 or x.state in (FAILING, *_NAMED)]  # fmt: skip
        order = list(STYLES)
        drawn.sort(key=lambda link: order.index(link.state))
        data = [_line(fabric, link, rows, theme) for link in drawn]
        data += [_names(fabric, rows, column, theme) for column in range(3)]
    hidden = style.axis(theme, visible=False, fixedrange=True)
    return {
        "data": data,
        "layout": style.layout(
            theme,
            70 + 48 * min(rows, 16),
            margin={"l": 8, "r": 8, "t": 30, "b": 10},
            xaxis={**hidden, "range": [-0.4, 2.4]},
            yaxis={**hidden, "range": [-0.3, rows + 0.3]},
            shapes=[],
            annotations=[
                _heading(list(fabric.links) if fabric else [], way, theme)
                for way in ("up", "down")
            ],
            meta={"min_width": 420},
        ),
    }


def _height(index: int, num: int, rows: int) -> float:
    return rows - (index + 0.5) * rows / num


def _line(
    fabric: FabricView, link: LinkView, rows: int, theme: Theme
) -> dict[str, Any]:
    color, width, dash = STYLES[link.state]
    leaf = _height(link.leaf, fabric.num_leaves, rows)
    spine = _height(link.spine, fabric.num_spines, rows)
    x, y = ([0, 1], [leaf, spine]) if link.direction == "up" else (
        [1, 2], [spine, leaf]
    )  # fmt: skip
    hover = (
        f"<b>{link.link}</b> {link.state}<br>"
        f"{link.num_failing} of {link.num_measured} measured paths over it fail"
    )
    middle = [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2]  # carries the hover, too
    return {
        "type": "scatter", "mode": "lines", "name": link.link,
        "x": [x[0], middle[0], x[1]], "y": [y[0], middle[1], y[1]],
        "line": {"color": theme[color], "width": width, "dash": dash},
        "hovertext": [hover] * 3, "hoverinfo": "text",
    }  # fmt: skip


def _heading(links: list[LinkView], direction: str, theme: Theme) -> dict[str, Any]:
    """Over one half of the map: its direction, and who is blamed or suspected there."""
    here = [x for x in links if x.direction == direction and x.state in _NAMED]
    names = [f"{x.link} {x.state}" for x in here[:2]]
    if len(here) > 2:
        names.append(f"{len(here) - 2} more")
    worst = BLAMED if any(x.state == BLAMED for x in here) else SUSPECT
    return {
        "text": ", ".join(names) or direction, "showarrow": False,
        "x": 0.04 if direction == "up" else 1.04, "y": 1, "xref": "x", "yref": "paper",
        "xanchor": "left", "yanchor": "bottom",
        "font": {"color": theme[STYLES[worst][0] if here else "ink-3"], "size": 12},
    }  # fmt: skip


def _names(fabric: FabricView, rows: int, column: int, theme: Theme) -> dict[str, Any]:
    is_spine = column == 1
    num = fabric.num_spines if is_spine else fabric.num_leaves
    names = [f"{'spine' if is_spine else 'leaf'}{index}" for index in range(num)]
    if num > 16:
        names = [name if i % (num // 16) == 0 else "" for i, name in enumerate(names)]
    return {
        "type": "scatter", "mode": "markers+text", "name": f"column{column}",
        "x": [column] * num,
        "y": [_height(index, num, rows) for index in range(num)],
        "marker": {"symbol": "circle", "size": 8, "color": theme["ink-2"]},
        "text": [f" {name} " for name in names],
        "textposition": ("middle left", "top right", "middle right")[column],
        "textfont": {"color": theme["ink"], "size": 12},
        "hovertext": names, "hoverinfo": "text",
    }  # fmt: skip
