"""Faults: one file each, with parameters, inject and heal (DESIGN sec. 3).

Faults act through hooks, signals, cgroups and tc, never through product code. Each
proves that it fired (`FaultInjected`, read back from what it changed) and that it
healed. `registry.FAULTS` lists them all.
"""
