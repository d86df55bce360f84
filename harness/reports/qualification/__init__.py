"""Formats of a qualification's report, one file each; `harness.qualification_report`
chooses. All print one value (`harness.qualification`), and compute nothing.
"""
