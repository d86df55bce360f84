"""Pictures in files: SVG by matplotlib, drawn without a screen.

Called by the `matrix` command. The dashboard's charts are `harness.figures`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.ablations import Arm
    from harness.sdc_score import MatrixScore

INK, MUTED, GRID = LIGHT["ink"], LIGHT["ink-2"], LIGHT["line"]
GOOD, BAD, NONE = "#2a78d6", "#d1495b", "#c9ced6"


def svg(figure: Figure) -> bytes:
    """The figure as SVG; the same figure gives the same bytes."""
    import matplotlib as mpl

    out = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "faultyard", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure that needs no screen and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def quiet(axes: Any) -> None:
    """Thin grey axes without a frame."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
    axes.tick_params(colors=MUTED, length=0)
    axes.title.set_color(INK)


def matrix_picture(score: MatrixScore) -> bytes:
    """Surfaces × magnitudes; a cell says how many of how many were named."""
    surfaces = list(dict.fromkeys(case.surface for case in score.cases))
    surfaces.sort(key=lambda name: -sum(c.surface == name for c in score.cases))
    magnitudes = sorted({case.magnitude for case in score.cases}, key=_order)
    figure = new_figure(11, 1.6 + 0.42 * len(surfaces))
    axes = figure.add_subplot()
    for row, surface in enumerate(surfaces):
        for column, magnitude in enumerate(magnitudes):
            cases = [c for c in score.cases
                     if (c.surface, c.magnitude) == (surface, magnitude)]  # fmt: skip
            if not cases:
                continue
            named = sum(c.fate.value == "named" for c in cases)
            color = GOOD if named == len(cases) else BAD
            axes.add_patch(_tile(column, row, color))
            axes.text(column, row, f"{named}/{len(cases)}", ha="center", va="center",
                      color="white", fontsize=9)  # fmt: skip
    axes.set_xlim(-0.5, len(magnitudes) - 0.5)
    axes.set_ylim(len(surfaces) - 0.5, -0.5)
    axes.set_xticks(range(len(magnitudes)), magnitudes, rotation=35, ha="right")
    axes.set_yticks(range(len(surfaces)), surfaces)
    total = score.surfaces[-1].named
    axes.set_title(
        f"Exactly the faulty rank named: {total.k} of {total.n}; "
        f"clean jobs without blame: {score.clean.k} of {score.clean.n}",
        loc="left", fontsize=11,
    )  # fmt: skip
    quiet(axes)
    return svg(figure)


def ablation_picture(arms: Sequence[Arm]) -> bytes:
    """A pair of bars for each part: with it and without; a whisker is 95 % of right."""
    figure = new_figure(11, 0.9 + 0.4 * len(arms))
    axes = figure.add_subplot()
    for row, arm in enumerate(arms):
        _stack(axes, row, arm)
        false = (
            f" · blame in {arm.num_false} of {arm.num_clean} clean"
            if arm.num_false else ""
        )  # fmt: skip
        axes.text(1.02, row, f"{arm.num_right} of {arm.num_cases} right{false}",
                  va="center", color=MUTED, fontsize=9)  # fmt: skip
    names = [f"{arm.part}: {arm.cases}" if arm.is_whole else "without it"
             for arm in arms]  # fmt: skip
    axes.set_yticks(range(len(arms)), names)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.set_title("right (blue), missed (grey), never struck (white), somebody else "
                   "blamed (red)", loc="left", fontsize=11)  # fmt: skip
    quiet(axes)
    return svg(figure)


def _stack(axes: Any, row: int, arm: Arm) -> None:
    left = 0.0
    for count, color in ((arm.num_right, GOOD), (arm.num_missed, NONE),
                         (arm.num_unmet, "white"), (arm.num_wrong, BAD)):  # fmt: skip
        share = count / arm.num_cases if arm.num_cases else 0.0
        if share:
            axes.barh(row, share, left=left, color=color, height=0.66, edgecolor=NONE,
                      linewidth=0.8)  # fmt: skip
        left += share
    if arm.right.low is not None and arm.right.high is not None:
        axes.plot([arm.right.low, arm.right.high], [row, row], color=INK, linewidth=1.2)


def _tile(column: int, row: int, color: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, color=color, linewidth=0)


def _order(magnitude: str) -> int:
    from harness.sdc_matrix import NEAR_INVISIBLE, PATTERNS

    return [NEAR_INVISIBLE, *PATTERNS].index(magnitude)
