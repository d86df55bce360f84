"""The fabric's counters as one picture for a document: SVG, light. Pure.

Called by `faultyard report --format fabric-svg`; the figure is that of page and report.
"""

from __future__ import annotations

from harness.figures import spines
from harness.palette import LIGHT
from harness.reports import svg
from harness.views.run import RunView

TITLE = "Packets of every path beside its threshold"


def render(view: RunView) -> bytes:
    """The picture; without a fabric an empty chart."""
    drawn = svg.draw(spines.figure(view, LIGHT), TITLE)
    ground = f'<rect width="100%" height="100%" fill="{LIGHT["sheet"]}"/>'
    head, _, body = drawn.partition(">")
    start = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    style = "<style>text{font-family:system-ui,sans-serif}</style>"
    return f"{start}>{style}{ground}{body}\n".encode()
