"""Where ranks run: one interface (`base`), one file per implementation (DESIGN 2.6)."""
