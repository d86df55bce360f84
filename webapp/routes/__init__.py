"""Routes, one module per concept; each only fetches a view and renders it."""
