"""The dashboard: pages, their JSON twins and live streams over a runs folder.

Reads runs through `harness.views` only, starts them through `harness.launch` only, and
computes no verdict. Nothing happens at import: `app.create_app(settings)` makes it.
"""
