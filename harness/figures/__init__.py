"""Pictures of a run: pure functions `view, theme -> Plotly figure` (a plain dict).

The page hands them to Plotly, the report to `harness.reports.svg`. They use a small
part of Plotly's format on purpose (heatmap and scatter traces, shapes, annotations).
"""
