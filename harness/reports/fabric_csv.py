"""The fabric's counters as one CSV table (RFC 4180): a row for each path. Pure.

Called by the dashboard and by `faultyard report --format fabric-csv`. Numbers are those
of page and JSON, unrounded; an empty field was not measured.
"""

from __future__ import annotations

import csv
import io

from harness.views.run import RunView

COLUMNS = ("source_leaf", "target_leaf", "spine", "state", "step", "num_packets",
           "expected", "threshold", "sensitivity", "count", "z", "still_needed",
           "reason_code")  # fmt: skip


def render(view: RunView) -> bytes:
    """All paths of the newest comparisons; only the heading without a fabric."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(COLUMNS)
    for row in view.fabric.rows if view.fabric else ():
        for cell in row.cells:
            found = (row.source_leaf, row.target_leaf, cell.spine, cell.state,
                     row.step, row.num_packets, row.expected, row.threshold,
                     row.sensitivity, cell.count, cell.z, row.still_needed,
                     row.reason_code)  # fmt: skip
            table.writerow(["" if value is None else value for value in found])
    return text.getvalue().encode()
