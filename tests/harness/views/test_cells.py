"""Cells of the grids are consensus' own words, character by character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.figures import columns
from harness.views import evidence as ev
from harness.views import timing as tm
from scout.consensus import Status, exact
from vocab.events import SurfaceEvidence, TimingEvidence


@given(st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=1, max_size=9))
def test_cells_repeat_consensus(values: list[str | None]) -> None:
    found = exact(values)
    cells = [
        ev.cell(bit, found.status.value, is_present=value is not None)
        for bit, value in zip(found.bitmap, values, strict=True)
    ]
    for char, value, outlier in zip(cells, values, found.outliers, strict=True):
        if value is None:
            assert char == ev.MISSING
        elif found.status is Status.INCONCLUSIVE:
            assert char == ev.UNDECIDED
        else:
            assert char == (ev.OUTLIER if outlier else ev.AGREES)


def test_a_rank_of_another_group_is_not_compared() -> None:
    surface = SurfaceEvidence(
        surface="hidden.parameters", recipe="hidden", layer=None, values=("a", "a"),
        status="agree", bitmap="00", k=2, n=2,
    )  # fmt: skip
    assert ev._cell_of(surface, ()) == (ev.NOT_COMPARED, None)
    assert ev._cell_of(surface, (1,)) == (ev.AGREES, "a")


def test_slower_and_faster_are_told_apart() -> None:
    item = TimingEvidence(
        surface="hidden.forward", recipe="hidden", layer=None,
        wall_s=(0.1, 0.1, 0.1, 0.5, 0.01), on_cpu_s=(0.1, 0.1, 0.1, 0.5, 0.01),
        run_wait_s=(0.0,) * 5, status="attributed", bitmap="00011", statistic=None,
    )  # fmt: skip
    times = tm.charged_of(item)
    cells = "".join(tm._cell(item, peer, times[peer], 0.1) for peer in range(5))
    assert cells == "000+<"


@given(st.text(alphabet="01", min_size=1, max_size=40))
def test_every_stretch_of_outliers_has_one_mark_inside_it(row: str) -> None:
    spans = [columns.CheckSpan(check=0, step=1, first=0, last=len(row) - 1,
                              last_check=0, last_step=1)]  # fmt: skip
    places = columns.middles(row, "1", spans)
    assert len(places) == len([part for part in row.split("0") if part])
    assert all(row[int(place)] == "1" for place in places)
