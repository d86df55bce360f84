"""Reports of a run, one file per format; `harness.report.render` chooses.

`templates/` and `static/` hold the parts of a run's picture that the report and the web
pages share, so that both print the same words and figures.
"""
